"""One block of queries against all candidates.

A shortlist, scored again ever more exactly, and the best of it.

A search is a list of such blocks. Each needs the same :class:`Task`, which threads
share and other processes open from files, and returns positions and cosines that do not
depend on where it ran.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verite.embeddings import mapped_file, release
from verite.errors import ParameterError
from verite.search.screening import (
    DECIMALS,
    LOWEST,
    TILE,
    Codes,
    Mask,
    Shortlist,
    Vectors,
    in_threads,
    int8_is_exact,
    rounding_bound,
    row_lengths,
    screen_float32,
    screen_int8,
    unit,
)  # fmt: skip

__all__ = ["Shared", "Task", "exact_cosines", "search_block", "share"]

_CHUNK = 8192  # vectors scored again together: 50 MB a side at 768 dimensions
_MANY = 1_000_000  # pairs of one group in a tile; more of them are found by comparing, a block at a time


@dataclass(frozen=True)
class Task:
    """All that blocks of one search have in common."""

    queries: Vectors
    candidates: Vectors
    lengths: np.ndarray
    """Of the candidates."""
    ranks: np.ndarray
    """Place of each candidate's id in alphabetical order."""
    query_groups: np.ndarray | None
    candidate_groups: np.ndarray | None
    """Whole numbers, equal where groups are."""
    codes: Codes | None
    k: int
    highest: float | None
    query_block: int
    candidate_block: int
    device: str

    @functools.cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Candidates in the order of their groups, and where each group begins there."""
        if self.query_groups is None or self.candidate_groups is None:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        order = np.argsort(self.candidate_groups, kind="stable")
        every = np.arange(max(self.candidate_groups.max(), self.query_groups.max()) + 2)
        return order, np.searchsorted(self.candidate_groups[order], every)

    @functools.cached_property
    def places(self) -> np.ndarray:
        """Where each candidate stands among the codes."""
        return (
            np.arange(len(self.candidates))
            if self.codes is None
            else np.argsort(self.codes.order)
        )


class _Best(NamedTuple):
    rows: np.ndarray
    scores: np.ndarray
    columns: np.ndarray


def search_block(task: Task | Shared, start: int) -> dict[str, Any]:
    """Positions of the nearest candidates of ``query_block`` queries from ``start`` on,
    and their cosines, as JSON can hold them.

    Where a query has fewer than ``k``, the rest is -1 and None.
    """
    import torch

    if torch.get_float32_matmul_precision() != "highest":
        raise ParameterError(
            "nearest: torch multiplies float32 with"
            f" {torch.get_float32_matmul_precision()!r} precision, and would miss"
            " neighbours. Call torch.set_float32_matmul_precision('highest') first."
        )
    whole = task.open() if isinstance(task, Shared) else task
    asked = whole.queries.read(slice(start, start + whole.query_block))
    release(whole.queries.matrix)
    columns = np.full((len(asked), whole.k), -1)
    scores = np.full((len(asked), whole.k), np.nan)
    size = (
        TILE if _by_codes(whole) else 2 * TILE
    )  # the other screen divides candidates by their lengths for each tile

    def tile(left: int) -> None:
        rows = np.arange(left, min(left + size, len(asked)))
        best = _search(whole, asked[rows], start + rows)
        place = np.arange(len(best.rows)) - np.searchsorted(best.rows, best.rows)
        columns[left + best.rows, place], scores[left + best.rows, place] = (
            best.columns,
            best.scores,
        )

    in_threads(tile, range(0, len(asked), size), one=whole.device != "cpu")
    release(whole.candidates.matrix)
    similarities = np.where(np.isnan(scores), None, scores.astype(object))  # type: ignore[call-overload]
    return {"columns": columns.tolist(), "similarities": similarities.tolist()}


def exact_cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosines of rows, the same for two rows whatever stands beside them.

    A product of two float32 is exact in float64, and each row is summed by itself, so
    equal vectors score equally.
    """
    a, b = first.astype(np.float64), second.astype(np.float64)
    length = np.sqrt((a * a).sum(axis=1)) * np.sqrt((b * b).sum(axis=1))
    return np.asarray(np.round((a * b).sum(axis=1) / length, DECIMALS))


def _by_codes(task: Task) -> bool:
    return (
        task.codes is not None and int8_is_exact()
    )  # a worker may run on another processor


def _search(task: Task, asked: np.ndarray, queries: np.ndarray) -> _Best:
    Q = unit(asked.copy(), row_lengths(asked))
    best = _Best(np.empty(0, dtype=np.intp), np.empty(0), np.empty(0, dtype=np.intp))
    remaining = np.arange(len(asked))
    if task.codes is not None and _by_codes(task):
        mask = _mask(task, queries, task.codes.order, task.places, lowest=LOWEST)
        found = screen_int8(Q, task.codes, task.k, highest=task.highest, mask=mask)
        best = _add(best, _closer(task, Q.numpy(), found), asked, task)
        remaining = found.crowded
    if len(remaining):
        every = np.arange(len(task.candidates))
        lists = screen_float32(
            Q[remaining].to(task.device), task.candidates, task.lengths, task.k,
            block=task.candidate_block, highest=task.highest, mask=_mask(task, queries[remaining], every, every, lowest=-np.inf),
        )  # fmt: skip
        for found in lists:
            best = _add(best, found._replace(rows=remaining[found.rows]), asked, task)
    return best


def _mask(
    task: Task,
    queries: np.ndarray,
    order: np.ndarray,
    places: np.ndarray,
    *,
    lowest: float,
) -> Mask:
    """What puts the lowest value into products of queries and candidates of one group,
    the candidates in some order.
    """
    import torch

    if task.query_groups is None or task.candidate_groups is None:
        return lambda product, left, right: None
    members, begins = task.members
    groups, candidate_groups = task.query_groups[queries], task.candidate_groups
    sizes = begins[groups + 1] - begins[groups]
    if sizes.sum() > _MANY:

        def compare(product: torch.Tensor, left: int, right: int) -> None:
            own = torch.from_numpy(
                groups[:, None] == candidate_groups[None, order[left:right]]
            )
            product[:, : right - left].masked_fill_(own.to(product.device), lowest)

        return compare
    rows = np.repeat(np.arange(len(queries)), sizes)
    columns = places[
        members[
            np.repeat(begins[groups] - np.cumsum(sizes) + sizes, sizes)
            + np.arange(len(rows))
        ]
    ]
    by_column = np.argsort(columns, kind="stable")
    rows, columns = rows[by_column], columns[by_column]

    def put(product: torch.Tensor, left: int, right: int) -> None:
        own = slice(*np.searchsorted(columns, [left, right]))
        product[
            torch.from_numpy(rows[own]).to(product.device),
            torch.from_numpy(columns[own] - left).to(product.device),
        ] = lowest

    return put


def _closer(task: Task, Q: np.ndarray, found: Shortlist) -> Shortlist:
    """Keep what single precision leaves among the best ``k`` of each query."""
    order = np.argsort(found.rows, kind="stable")
    rows, columns = found.rows[order], found.columns[order]
    ends = np.searchsorted(rows, np.arange(len(Q) + 1))
    bound = rounding_bound(Q.shape[1])
    kept = []
    for row, (left, right) in enumerate(itertools.pairwise(ends)):
        if right - left <= task.k:
            kept.append(np.arange(left, right))
            continue
        own = columns[left:right]
        cosine = task.candidates.read(own) @ Q[row] / task.lengths[own]
        sure = (
            cosine if task.highest is None else cosine[cosine <= task.highest - bound]
        )
        bar = (
            np.partition(sure, -task.k)[-task.k] - 2 * bound
            if len(sure) >= task.k
            else -np.inf
        )
        kept.append(left + np.flatnonzero(cosine >= bar))
    at = np.concatenate(kept) if kept else np.empty(0, dtype=np.intp)
    return found._replace(rows=rows[at], columns=columns[at])


def _add(best: _Best, found: Shortlist, asked: np.ndarray, task: Task) -> _Best:
    """Score a shortlist in double precision and keep the best ``k`` of each query, in
    order.
    """
    for at in range(0, len(found.rows), _CHUNK):
        row, column = found.rows[at : at + _CHUNK], found.columns[at : at + _CHUNK]
        score = exact_cosines(asked[row], task.candidates.read(column))
        allowed = (
            np.ones(len(row), dtype=bool)
            if task.highest is None
            else score <= task.highest
        )
        joined = _Best(
            *(
                np.concatenate([old, new[allowed]])
                for old, new in zip(best, (row, score, column), strict=True)
            )
        )
        order = np.lexsort((task.ranks[joined.columns], -joined.scores, joined.rows))
        joined = _Best(*(values[order] for values in joined))
        kept = (
            np.arange(len(order)) - np.searchsorted(joined.rows, joined.rows) < task.k
        )
        best = _Best(*(values[kept] for values in joined))
    return best


class _File(NamedTuple):
    """Where an array lies in a file."""

    path: str
    dtype: str
    offset: int
    shape: tuple[int, ...]

    def open(self) -> np.ndarray:
        # Copy on write: torch wants arrays that may be written to, and nothing here
        # does.
        return (
            np.memmap(self.path, self.dtype, "c", self.offset, self.shape)
            if 0 not in self.shape
            else np.empty(self.shape, self.dtype)
        )


class Shared(NamedTuple):
    """A task whose arrays lie in files, so that it is small enough to send to each
    block.
    """

    parts: tuple[tuple[str, Any], ...]

    def open(self) -> Task:
        """The task, with its arrays mapped from the files."""
        return _opened(self)


def share(task: Task, folder: Path) -> Shared:
    """Write a task's arrays to a folder.

    Matrices that are mapped from a file stay where they are.
    """
    return Shared(
        tuple(
            (field.name, _put(getattr(task, field.name), folder / field.name))
            for field in fields(task)
        )
    )


def _put(value: Any, path: Path) -> Any:
    if isinstance(value, np.ndarray):
        if (mapped := _mapping(value)) is not None:
            return mapped
        path = path.with_suffix(".bin")
        value.tofile(path)
        return _File(str(path.resolve()), value.dtype.str, 0, value.shape)
    if isinstance(value, Vectors | Codes):
        return type(value).__name__, tuple(
            _put(one, path.with_name(f"{path.name}-{name}"))
            for name, one in zip(value._fields, value, strict=True)
        )
    return value


def _mapping(array: np.ndarray) -> _File | None:
    if (
        isinstance(array, np.memmap)
        and mapped_file(array) is not None
        and array.filename
        and array.flags.c_contiguous
    ):
        return _File(
            str(Path(array.filename).resolve()),
            array.dtype.str,
            array.offset,
            array.shape,
        )
    return None


@functools.lru_cache(maxsize=2)
def _opened(shared: Shared) -> Task:
    kinds: dict[str, Any] = {"Vectors": Vectors, "Codes": Codes}

    def take(value: Any) -> Any:
        if isinstance(value, _File):
            return value.open()
        if isinstance(value, tuple):
            return kinds[value[0]](*map(take, value[1]))
        return value

    return Task(**{name: take(value) for name, value in shared.parts})
