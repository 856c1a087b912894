"""One block of queries against all candidates: shortlist, score exactly, keep the best.

A search is a list of such blocks. All need the same :class:`Task`, which threads share
and other processes open from files. Results do not depend on where a block ran.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from verite.errors import ParameterError
from verite.mapped import release
from verite.search import screening
from verite.search.plain import exact_cosines, rounding_bound, row_lengths
from verite.search.question import keep_best
from verite.search.screening import Codes, Mask, Pairs, Vectors

if TYPE_CHECKING:
    import torch

_CHUNK = 8192  # vectors scored at once: 50 MB a side at 768 dimensions


class Task(NamedTuple):
    """All that the blocks of one search have in common."""

    queries: Vectors
    candidates: Vectors
    lengths: np.ndarray  # of the candidates
    ranks: np.ndarray  # of the candidates' ids, in alphabetical order
    groups: tuple[np.ndarray, np.ndarray] | None  # of queries and candidates
    codes: Codes | None
    k: int
    highest: float
    query_block: int
    candidate_block: int
    device: str


def search_block(task: Task, start: int) -> dict[str, Any]:
    """Search for ``query_block`` queries from ``start`` on.

    Returns positions of the candidates and cosines as JSON can hold them: -1 and None
    where a query has fewer than ``k``.
    """
    import torch

    precision = torch.get_float32_matmul_precision()
    if precision != "highest":
        raise ParameterError(
            f"nearest: torch multiplies float32 with {precision!r} precision, which"
            " could miss neighbours. Call torch.set_float32_matmul_precision('highest')"
            " first."
        )
    task = _open(task) if any(isinstance(part, Path) for part in task) else task
    vectors = task.queries.read(slice(start, start + task.query_block))
    release(task.queries.matrix)
    columns = np.full((len(vectors), task.k), -1)
    scores = np.full((len(vectors), task.k), np.nan)
    # A worker may run on a processor without exact 8-bit products.
    codes = task.codes if screening.int8_is_exact() else None
    # The float32 product divides candidates by their lengths for each tile.
    size = screening.TILE if codes is not None else 2 * screening.TILE

    def tile(left: int) -> None:
        at = np.arange(left, min(left + size, len(vectors)))
        rows, best, found, place = _search_tile(task, codes, vectors[at], start + at)
        columns[left + rows, place], scores[left + rows, place] = found, best

    threads = 0 if task.device == "cpu" else 1
    screening.in_threads(tile, range(0, len(vectors), size), threads)
    release(task.candidates.matrix)
    similarities = [[None if s != s else s for s in row] for row in scores.tolist()]
    return {"columns": columns.tolist(), "similarities": similarities}


_Best = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _search_tile(
    task: Task, codes: Codes | None, vectors: np.ndarray, at: np.ndarray
) -> _Best:
    """Rows, scores, columns and places of the nearest of a few queries."""
    Q = screening.unit(vectors.copy(), row_lengths(vectors))
    none = np.empty(0, dtype=np.intp)
    best: _Best = none, np.empty(0), none, none
    rest = np.arange(len(vectors))
    if codes is not None:
        mask = _mask(task, at, codes.order, screening.LOWEST)
        pairs, rest = screening.screen_int8(
            Q, codes, task.k, highest=task.highest, mask=mask
        )
        best = _score(best, _refine(task, Q.numpy(), pairs), vectors, task)
    if len(rest):
        blocks = screening.screen_float32(
            Q[rest].to(task.device),
            task.candidates,
            task.lengths,
            task.k,
            block=task.candidate_block,
            highest=task.highest,
            mask=_mask(task, at[rest], None, -np.inf),
        )
        for rows, columns in blocks:
            best = _score(best, (rest[rows], columns), vectors, task)
    return best


def _mask(task: Task, at: np.ndarray, order: np.ndarray | None, lowest: float) -> Mask:
    """Mask for some queries and for candidates in some order."""
    import torch

    if task.groups is None:
        return lambda product, left, right: None
    groups, candidate_groups = task.groups[0][at], task.groups[1]

    def mask(product: torch.Tensor, left: int, right: int) -> None:
        block = slice(left, right)
        codes = candidate_groups[block if order is None else order[block]]
        # Members of each query's group are side by side once the block is sorted.
        sorter = np.argsort(codes)
        begin, end = (
            np.searchsorted(codes, groups, side, sorter) for side in ("left", "right")
        )
        sizes = end - begin
        rows = np.repeat(np.arange(len(groups)), sizes)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns = sorter[begin[rows] + within]
        own = (torch.from_numpy(x).to(product.device) for x in (rows, columns))
        product[tuple(own)] = lowest

    return mask


def _refine(task: Task, Q: np.ndarray, pairs: Pairs) -> Pairs:
    """Keep what float32 leaves among the best ``k`` of each query."""
    order = np.argsort(pairs[0], kind="stable")
    rows, columns = pairs[0][order], pairs[1][order]
    ends = np.searchsorted(rows, np.arange(len(Q) + 1))
    bound = rounding_bound(Q.shape[1])
    few = np.ones(len(rows), dtype=bool)
    for row, (left, right) in enumerate(itertools.pairwise(ends)):
        if right - left > task.k:
            own = columns[left:right]
            cosine = task.candidates.read(own) @ Q[row] / task.lengths[own]
            sure = cosine[cosine <= task.highest - bound]
            if len(sure) >= task.k:
                bar = np.partition(sure, -task.k)[-task.k] - 2 * bound
                few[left:right] = cosine >= bar
    return rows[few], columns[few]


def _score(best: _Best, pairs: Pairs, vectors: np.ndarray, task: Task) -> _Best:
    """Score a shortlist in float64 and merge it into the best ``k`` of each query."""
    for at in range(0, len(pairs[0]), _CHUNK):
        rows, columns = (side[at : at + _CHUNK] for side in pairs)
        scores = exact_cosines(vectors[rows], task.candidates.read(columns))
        few = scores <= task.highest
        best = keep_best(
            np.concatenate([best[0], rows[few]]),
            np.concatenate([best[1], scores[few]]),
            np.concatenate([best[2], columns[few]]),
            task.ranks,
            task.k,
        )
    return best


def share(task: Task, folder: Path) -> Task:
    """Copy of a task with files in place of arrays, small enough for each block."""
    numbers = itertools.count()

    def store(array: np.ndarray) -> Path:
        path = folder.resolve() / f"{next(numbers)}.npy"
        np.save(path, array)
        return path

    return cast("Task", _replace(task, np.ndarray, store))


@functools.lru_cache(maxsize=2)
def _open(task: Task) -> Task:
    # Copy on write ("c"): torch wants arrays that may be written to.
    opened = _replace(task, Path, lambda path: np.load(path, mmap_mode="c"))
    return cast("Task", opened)


def _replace(value: Any, kind: type, function: Callable[[Any], Any]) -> Any:
    """Replace all of one kind in nested tuples."""
    if isinstance(value, kind) or not isinstance(value, tuple):
        return function(value) if isinstance(value, kind) else value
    items = [_replace(item, kind, function) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
