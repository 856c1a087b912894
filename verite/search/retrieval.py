"""The fast exact search: preparation, and blocks of queries as resumable work."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from verite.blocks import content_key, run_blocks
from verite.embeddings import Embeddings
from verite.search.blockwise import Task, search_block, share
from verite.search.question import Neighbours, Question
from verite.search.screening import FEW, TILE, Vectors, as_codes, int8_is_faster

__all__ = ["nearest"]

_WORTH_CODES = 1024  # queries; for fewer, writing candidates as integers costs more
_VERSION = 1  # of kept blocks; raise it whenever results change


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

    The cosine is that of the stored vectors, computed in float64 and rounded to twelve
    decimals; equal ones come in the order of their ids. Nothing else decides the
    result: not block sizes, threads, processes, devices, screens or the order of
    candidates. Only blocks are copied to memory, so both matrices may be larger.

    Parameters
    ----------
    queries, candidates
        Vectors of one encoder. They need not be normalised.
    query_ids, candidate_ids
        Which vectors to search for, perhaps repeated, and which may be found, each
        once; None means all.
    query_groups, candidate_groups
        The group of each query and candidate, in the order of the ids. A query never
        finds a candidate of its own group.
    highest
        Find only candidates whose cosine is at most this.
    query_block, candidate_block
        Queries per block, the unit that an executor runs and that is kept on disk, and
        candidates that are multiplied at once, about 6 kB of memory each.
    device
        Where torch multiplies.
    screen
        What the first product is made of: ``"int8"``, ``"float32"``, or ``"auto"``,
        whichever is faster on this machine.
    executor
        Runs blocks; None runs them here, one after the other. Threads share both
        matrices. Others open copies in ``directory`` (or a temporary folder), which
        remote workers must reach by the same path.
    directory
        Where finished blocks are kept, so that a search which was stopped can resume.
    progress
        Name of the progress bar; empty shows none.

    Raises
    ------
    DataError
        Widths or encoders differ; an id has no vector; candidate ids repeat; groups and
        ids differ in number; a vector's length is below 1e-30 or above 1e30.
    ParameterError
        Only one side has groups, or torch is set to less than float32 precision.
    RunError
        A worker process died. Finished blocks are in ``directory``.

    >>> V = Embeddings(list("ab"), np.eye(2, dtype=np.float32) + 1, encoder="toy")
    >>> nearest(V, V, query_groups="ab", candidate_groups="ab").ids.tolist()
    [['b'], ['a']]
    """
    question = Question.ask(
        queries,
        candidates,
        query_ids=query_ids,
        candidate_ids=candidate_ids,
        query_groups=query_groups,
        candidate_groups=candidate_groups,
    )
    found = question.answer(k)
    Q = Vectors(queries.matrix, question.query_rows)
    C = Vectors(candidates.matrix, question.candidate_rows)
    if not len(Q) or not len(C):
        return found
    Q.lengths(queries.where)
    lengths, groups = C.lengths(candidates.where), question.groups
    few = _without_crowds(C, lengths, question, k)
    C, lengths = Vectors(C.matrix, C.rows[few]), lengths[few]
    if screen == "auto":
        large = len(Q) >= _WORTH_CODES and len(C) >= TILE and k <= FEW
        fast = device == "cpu" and large and int8_is_faster()
        screen = "int8" if fast else "float32"
    task = Task(
        queries=Q,
        candidates=C,
        lengths=lengths,
        ranks=question.ranks[few],
        groups=None if groups is None else (groups[0], groups[1][few]),
        codes=as_codes(C, lengths, Q, candidate_block) if screen == "int8" else None,
        k=k,
        highest=np.inf if highest is None else highest,
        query_block=query_block,
        candidate_block=candidate_block,
        device=device,
    )
    with contextlib.ExitStack() as stack:
        home, sent = None, task
        if directory is not None:
            home = Path(directory, _key(task))
            home.mkdir(parents=True, exist_ok=True)
        if executor and not isinstance(executor, concurrent.futures.ThreadPoolExecutor):
            folder = tempfile.TemporaryDirectory(prefix="arrays-", dir=directory)
            sent = share(task, Path(stack.enter_context(folder)))
        blocks = {f"{at:09d}": (sent, at) for at in range(0, len(Q), query_block)}
        results = run_blocks(
            search_block, blocks, directory=home, executor=executor, progress=progress
        ).values()
    columns = np.concatenate([block["columns"] for block in results])
    found.ids[:] = np.where(columns < 0, "", question.candidate_ids[few][columns])
    found.similarities[:] = [row for block in results for row in block["similarities"]]
    return found


def _key(task: Task) -> str:
    """Digest of all that the result depends on; device and screen are left out."""
    vectors = task.queries.digest(), task.candidates.digest()
    groups = task.groups or (np.empty(0), np.empty(0))
    options = task.k, task.highest, task.query_block
    return content_key(_VERSION, *vectors, task.ranks, *groups, *options)


def _without_crowds(
    C: Vectors, lengths: np.ndarray, question: Question, k: int
) -> np.ndarray:
    """Positions of candidates, of many equal ones only those that can be found.

    Equal vectors tie, and the smaller id comes first. So k of them are enough per
    group, and 2k in all, for a query passes over one group at most.
    """
    drop = np.zeros(len(C), dtype=bool)
    values, counts = np.unique(lengths, return_counts=True)
    # Equal vectors have equal lengths; few others do.
    for length in values[counts > 2 * k]:
        rows = np.flatnonzero(lengths == length)
        rows = rows[np.argsort(question.ranks[rows])]
        table = pd.DataFrame({"vector": [row.tobytes() for row in C.read(rows)]})
        table["group"] = 0 if question.groups is None else question.groups[1][rows]
        few = table[table.groupby(["vector", "group"]).cumcount() < k]
        few = few[few.groupby("vector").cumcount() < 2 * k]
        drop[np.delete(rows, few.index)] = True
    return np.flatnonzero(~drop)
