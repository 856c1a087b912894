"""Exact nearest neighbours by cosine, a block of queries against all candidates at a
time.

A coarse product finds the few candidates that can be the nearest
(:mod:`verite.search.screening`); only these are scored in double precision
(:mod:`verite.search.blockwise`). How coarse depends on the processor, and rounding on
blocks, threads and device, but the error has a bound. Whatever lies within it of the
best is scored again, so what comes out does not depend on any of them.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from verite.blocks import content_key, run_blocks
from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError, name_some
from verite.search.blockwise import Shared, Task, exact_cosines, search_block, share
from verite.search.screening import (
    FEW,
    TILE,
    Vectors,
    as_codes,
    int8_is_exact,
    int8_is_faster,
    row_lengths,
)

__all__ = [
    "Neighbours",
    "Search",
    "check_kin",
    "cosines",
    "digest",
    "group_codes",
    "nearest",
]

SCREENS = ("auto", "int8", "float32")
_CHUNK = 8192  # vectors read together: 25 MB at 768 dimensions
_WORTH_CODES = 1024  # queries; for fewer, writing candidates as whole numbers takes longer than it saves
_VERSION = 1  # of what is kept in a directory; to be raised whenever results change


class Neighbours(NamedTuple):
    """For each query the nearest candidates, the nearest first.

    Where a query has fewer than ``k``, the rest of its ``ids`` is empty and of its
    ``similarities`` NaN.
    """

    ids: np.ndarray
    """Candidate ids, shape ``(queries, k)``."""
    similarities: np.ndarray
    """Cosines from -1 to 1, float64 of shape ``(queries, k)``."""


Search = Callable[..., Neighbours]
"""What makers search with.

:func:`nearest`, or ``functools.partial(nearest, device="cuda")``, or one's own of the
same shape.
"""


def nearest(
    queries: Embeddings,
    candidates: Embeddings,
    k: int = 1,
    *,
    query_ids: Iterable[str] | None = None,
    candidate_ids: Iterable[str] | None = None,
    query_groups: Iterable[str] | None = None,
    candidate_groups: Iterable[str] | None = None,
    highest: float | None = None,
    query_block: int = 4096,
    candidate_block: int = 8192,
    device: str = "cpu",
    screen: str = "auto",
    executor: concurrent.futures.Executor | None = None,
    directory: str | os.PathLike[str] | None = None,
    progress: str = "",
) -> Neighbours:
    """Find the ``k`` candidates with the highest cosine for each query, exactly.

    The cosine is that of the vectors as stored, computed in double precision and
    rounded to twelve decimals. Ids and similarities are the same for all block sizes,
    numbers of threads, processes, devices, screens and orders of candidates; candidates
    of equal cosine come in the order of their ids. Only blocks are copied to memory, so
    both matrices may be larger.

    Parameters
    ----------
    queries, candidates
        Vectors of one encoder. They need not be normalised.
    k
        1 or more.
    query_ids
        Which vectors to ask for, in which order, perhaps some twice; all, if None.
    candidate_ids
        Which vectors may be found, each once; all, if None.
    query_groups, candidate_groups
        The group of each query and candidate, in the order of the ids: a query never
        finds a candidate of its own group.
    highest
        Find only candidates whose cosine is at most this.
    query_block
        Queries of a block: what an executor runs at once, and what is kept when a
        search is stopped.
    candidate_block
        Candidates that are multiplied at once. Memory is about 6 kB for each of them.
    device
        Where torch multiplies.
    screen
        What the first product is made of: ``"int8"``, one byte for each number of a
        candidate, kept in memory; ``"float32"``; or ``"auto"``, whichever this machine
        is faster with.
    executor
        Where blocks of queries run; None runs them here, one after the other. Threads
        share both matrices. Others open them from files: those that ``queries`` and
        ``candidates`` are mapped from, or else copies in ``directory``, which workers
        on other machines must reach by the same path.
    directory
        Where finished blocks are kept, so that a search which was stopped goes on where
        it was; None keeps nothing.
    progress
        What the progress bar is called; empty shows none.

    Raises
    ------
    DataError
        Widths or encoders differ; an id has no vector; a candidate is named twice;
        groups and ids differ in number; a vector's length is below 1e-30 or above 1e30.
    ParameterError
        ``k`` or a block is below 1; there are groups on one side only; the screen is
        unknown, or int8 is asked for where it does not run; torch is set to multiply
        with less than single precision.
    RunError
        A worker process died. Blocks that were finished are in ``directory``.

    >>> V = Embeddings(["a", "b", "c"], np.array([[1, 0], [3, 4], [4, 3]], dtype=np.float32), encoder="toy")
    >>> nearest(V, V, query_groups="abc", candidate_groups="abc")
    Neighbours(ids=array([['c'],
           ['c'],
           ['b']], dtype=object), similarities=array([[0.8 ],
           [0.96],
           [0.96]]))
    """
    for name, value in (
        ("k", k),
        ("query_block", query_block),
        ("candidate_block", candidate_block),
    ):
        if value < 1:
            raise ParameterError(
                f"nearest: expected {name} of 1 or more, found {value}."
            )
    if screen not in SCREENS:
        raise ParameterError(
            f"nearest: expected a screen of {', '.join(SCREENS)}, found {screen!r}."
        )
    if screen == "int8" and (device != "cpu" or not int8_is_exact()):
        raise ParameterError(
            f"nearest: screen='int8' does not run on this {device}. Leave it at 'auto'."
        )
    check_kin(queries, candidates)
    asked = np.array(
        list(queries.ids if query_ids is None else query_ids), dtype=object
    )
    offered = np.array(
        list(candidates.ids if candidate_ids is None else candidate_ids), dtype=object
    )
    if twice := sorted(set(offered[pd.Series(offered, dtype=object).duplicated()])):
        raise DataError(
            f"nearest: each candidate must be named once; {name_some(twice)} stands"
            " several times."
        )
    groups = group_codes(asked, query_groups, offered, candidate_groups)
    Q, C = (
        Vectors(queries.matrix, queries.positions(asked)),
        Vectors(candidates.matrix, candidates.positions(offered)),
    )
    if not len(Q) or not len(C):
        return Neighbours(
            np.full((len(Q), k), "", dtype=object), np.full((len(Q), k), np.nan)
        )
    lengths = _lengths(C, candidates.where)
    if not (Q.matrix is C.matrix and len(Q) == len(C)):
        _lengths(Q, queries.where)
    ranks = _ranks(offered)
    kept = _without_crowds(C, lengths, ranks, None if groups is None else groups[1], k)
    offered, C, lengths, ranks = (
        offered[kept],
        Vectors(C.matrix, C.rows[kept]),
        lengths[kept],
        ranks[kept],
    )
    fast = (
        device == "cpu"
        and len(Q) >= _WORTH_CODES
        and len(C) >= TILE
        and k <= FEW
        and int8_is_faster()
    )
    task = Task(
        Q, C, lengths, ranks, query_groups=groups[0] if groups else None, candidate_groups=groups[1][kept] if groups else None,
        codes=as_codes(C, lengths, Q, block=candidate_block) if screen == "int8" or (screen == "auto" and fast) else None,
        k=k, highest=highest, query_block=query_block, candidate_block=candidate_block, device=device,
    )  # fmt: skip
    found = list(_run(task, executor, directory, progress))
    columns = np.concatenate([block["columns"] for block in found])
    similarities = np.concatenate(
        [np.array(block["similarities"], dtype=np.float64) for block in found]
    )
    return Neighbours(np.where(columns < 0, "", offered[columns]), similarities)


def cosines(
    first: Embeddings,
    first_ids: Iterable[str],
    second: Embeddings,
    second_ids: Iterable[str],
) -> np.ndarray:
    """Cosine of each of ``first_ids`` with its neighbour in ``second_ids``, as
    :func:`nearest` computes it: float64, -1 to 1.

    >>> V = Embeddings(["a", "b"], np.array([[1, 0], [3, 4]], dtype=np.float32), encoder="toy")
    >>> cosines(V, ["a", "a"], V, ["a", "b"])
    array([1. , 0.6])
    """
    check_kin(first, second)
    a, b = list(first_ids), list(second_ids)
    if len(a) != len(b):
        raise DataError(
            f"cosines: {len(a):,} ids beside {len(b):,}. Give two of one length."
        )
    starts = range(0, len(a), _CHUNK)
    return np.concatenate(
        [
            np.empty(0),
            *(
                exact_cosines(
                    first.rows(a[at : at + _CHUNK]), second.rows(b[at : at + _CHUNK])
                )
                for at in starts
            ),
        ]
    )


def _run(
    task: Task,
    executor: concurrent.futures.Executor | None,
    directory: str | os.PathLike[str] | None,
    progress: str,
) -> Iterable[dict[str, Any]]:
    """Results of all blocks, in order."""
    starts = range(0, len(task.queries), task.query_block)
    name = _name(task) if directory is not None else ""
    home = None if directory is None else Path(directory) / name
    with contextlib.ExitStack() as stack:
        sent: Task | Shared = task
        if executor is not None and not isinstance(
            executor, concurrent.futures.ThreadPoolExecutor
        ):
            if directory is not None:
                Path(directory).mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="arrays-", dir=directory)
            )
            sent = share(task, Path(folder))
        blocks = {f"{start:09d}": (sent, start) for start in starts}
        return run_blocks(
            search_block, blocks, directory=home, executor=executor, progress=progress
        ).values()


def _name(task: Task) -> str:
    """Digest of all that the result depends on, and of nothing else.

    Device, screen and candidate blocks do not matter.
    """
    groups = [
        np.empty(0) if one is None else one
        for one in (task.query_groups, task.candidate_groups)
    ]
    vectors = digest(task.queries), digest(task.candidates)
    return content_key(
        _VERSION, *vectors, task.ranks, *groups, task.k, task.highest, task.query_block
    )


def digest(vectors: Vectors) -> str:
    """SHA-256 of vectors in their order."""
    found = hashlib.sha256()
    for block in vectors.blocks():
        found.update(block.tobytes())
    return found.hexdigest()


def _lengths(vectors: Vectors, where: str) -> np.ndarray:
    lengths = np.concatenate([row_lengths(block) for block in vectors.blocks()])
    if lengths.min() < 1e-30 or lengths.max() > 1e30:
        raise DataError(
            f"{where}: expected vectors with a length from 1e-30 to 1e30, found"
            f" {lengths.min():.1e} to {lengths.max():.1e}. Normalise them."
        )
    return lengths


def _without_crowds(
    C: Vectors,
    lengths: np.ndarray,
    ranks: np.ndarray,
    groups: np.ndarray | None,
    k: int,
) -> np.ndarray:
    """Which candidates to keep so that of many equal vectors no more are scored than
    can be found.

    Equal vectors tie, and the smaller id comes first. So of each group k of them
    suffice, and of all groups together 2k, for a query passes over one group at most.
    """
    kept = np.ones(len(C), dtype=bool)
    values, counts = np.unique(lengths, return_counts=True)
    for length in values[
        counts > 2 * k
    ]:  # equal vectors have equal lengths; few others do
        rows = np.flatnonzero(lengths == length)
        rows = rows[np.argsort(ranks[rows])]
        vectors = np.ascontiguousarray(C.read(rows))
        same = np.unique(
            vectors.view(np.dtype((np.void, vectors.strides[0]))).ravel(),
            return_inverse=True,
        )[1]
        table = pd.DataFrame(
            {"vector": same, "group": 0 if groups is None else groups[rows]}
        )
        few = table[table.groupby(["vector", "group"]).cumcount() < k]
        few = few[few.groupby("vector").cumcount() < 2 * k]
        kept[np.delete(rows, few.index)] = False
    return np.flatnonzero(kept)


def _ranks(ids: np.ndarray) -> np.ndarray:
    """Place of each id in alphabetical order."""
    ranks = np.empty(len(ids), dtype=np.intp)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return ranks


def group_codes(
    asked: np.ndarray,
    query_groups: Iterable[str] | None,
    offered: np.ndarray,
    candidate_groups: Iterable[str] | None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Whole numbers for groups, equal where groups are; None where there are none.

    Raises
    ------
    ParameterError
        There are groups on one side only.
    DataError
        Groups and ids differ in number.
    """
    if query_groups is None and candidate_groups is None:
        return None
    if query_groups is None or candidate_groups is None:
        raise ParameterError(
            "nearest: expected groups of queries and of candidates, found those of one"
            " side only. Give both or none."
        )
    named = [list(query_groups), list(candidate_groups)]
    for what, names, ids in (
        ("queries", named[0], asked),
        ("candidates", named[1], offered),
    ):
        if len(names) != len(ids):
            raise DataError(
                f"nearest: {len(names):,} groups beside {len(ids):,} {what}. Give one"
                " for each, in the order of the ids."
            )
    codes = pd.factorize(np.array(named[0] + named[1], dtype=object))[0]
    return codes[: len(asked)], codes[len(asked) :]


def check_kin(first: Embeddings, second: Embeddings) -> None:
    """Refuse vectors of different encoders or widths, with a DataError."""
    kin: Sequence[tuple[str, object, object]] = (
        ("dimensions", first.dimensions, second.dimensions),
        ("encoder", first.encoder, second.encoder),
    )
    for what, one, other in kin:
        if one != other:
            raise DataError(
                f"{first.where} and {second.where} do not compare: {what} {one} and"
                f" {other}. Encode both with one model."
            )
