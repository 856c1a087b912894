"""The exact search in its plainest form: a float32 product, then float64 for a few.

:func:`verite.search.nearest` returns the same ids and cosines, faster.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from verite.embeddings import Embeddings
from verite.errors import DataError
from verite.search.question import Neighbours, Question, check_kin, keep_best

__all__ = ["cosines", "exact_cosines", "nearest_plain", "rounding_bound", "row_lengths"]

DECIMALS = 12
"""Cosines are rounded to this many decimals; those that then agree count as equal."""

U = 2.0**-24  # unit roundoff of float32
_TILE = 256  # queries multiplied at once
_CHUNK = 8192  # vectors scored at once: 50 MB a side at 768 dimensions


def nearest_plain(
    queries: Embeddings,
    candidates: Embeddings,
    k: int = 1,
    *,
    highest: float = np.inf,
    **which: Iterable[str] | None,
) -> Neighbours:
    """Find the ``k`` candidates with the highest cosine for each query, exactly.

    Parameters and result are those of :func:`verite.search.nearest`; ``which`` are its
    ids and groups. All candidates must fit in memory.

    >>> V = Embeddings(["a", "b"], np.eye(2, dtype=np.float32) + 1, encoder="toy")
    >>> nearest_plain(V, V, candidate_ids=["b"]).similarities.tolist()
    [[0.8], [1.0]]
    """
    question = Question.ask(queries, candidates, **which)
    found, count = question.answer(k), len(question.candidate_ids)
    if count == 0:
        return found
    C = candidates.matrix[question.candidate_rows].astype(np.float32)
    C_unit, bound = _unit(C), rounding_bound(C.shape[1])
    for start in range(0, len(question.query_rows), _TILE):
        tile = slice(start, start + _TILE)
        Q = queries.matrix[question.query_rows[tile]].astype(np.float32)
        coarse = _unit(Q) @ C_unit.T  # (queries, candidates), off by at most the bound
        if question.groups is not None:
            own = question.groups[0][tile, None] == question.groups[1]
            coarse[own] = -np.inf
        # What may be above or below `highest` is scored and decided afterwards; only
        # what is below for sure may set the bar.
        coarse[coarse > highest + bound] = -np.inf
        sure = np.where(coarse > highest - bound, -np.inf, coarse)
        at = count - min(k, count)
        bar = np.partition(sure, at, axis=1)[:, at] - 2 * bound
        rows, columns = (coarse >= np.maximum(bar, -2)[:, None]).nonzero()
        scores = exact_cosines(Q[rows], C[columns])
        few = scores <= highest
        rows, scores, columns, place = keep_best(
            rows[few], scores[few], columns[few], question.ranks, k
        )
        found.ids[start + rows, place] = question.candidate_ids[columns]
        found.similarities[start + rows, place] = scores
    return found


def exact_cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosine of each row of ``first`` with the same row of ``second``, in float64.

    The product of two float32 is exact in float64, and each row is summed by itself, so
    equal vectors have equal cosines whatever is beside them.
    """
    a, b = first.astype(np.float64), second.astype(np.float64)
    length = np.sqrt((a * a).sum(axis=1)) * np.sqrt((b * b).sum(axis=1))
    return np.asarray(np.round((a * b).sum(axis=1) / length, DECIMALS))


def cosines(
    first: Embeddings,
    first_ids: Iterable[str],
    second: Embeddings,
    second_ids: Iterable[str],
) -> np.ndarray:
    """Cosine of each of ``first_ids`` with the id beside it in ``second_ids``.

    float64, from -1 to 1, as :func:`verite.search.nearest` computes it.

    >>> V = Embeddings(["a", "b"], np.eye(2, dtype=np.float32) + 1, encoder="toy")
    >>> cosines(V, ["a", "a"], V, ["a", "b"])
    array([1. , 0.8])
    """
    check_kin(first, second)
    a, b = list(first_ids), list(second_ids)
    if len(a) != len(b):
        raise DataError(
            f"cosines: expected two lists of one length, found {len(a)} and {len(b)}."
        )
    parts = [slice(at, at + _CHUNK) for at in range(0, len(a), _CHUNK)]
    scores = [
        exact_cosines(first.rows(a[part]), second.rows(b[part])) for part in parts
    ]
    return np.concatenate([np.empty(0), *scores])


def rounding_bound(dimensions: int) -> float:
    """How far a float32 product of two unit vectors can be from their exact cosine.

    Normalised elements are off by a relative 2u each, u = 2⁻²⁴, and a sum of n products
    by n·u/(1 - n·u) of the sum of their sizes, which is at most 1 for unit vectors, in
    whatever order they are added (Higham, *Accuracy and Stability of Numerical
    Algorithms*, section 3.1). A few more u cover the comparisons themselves, and the
    last of :data:`DECIMALS` covers rounded cosines.

    >>> f"{rounding_bound(768):.1e}"
    '4.6e-05'
    """
    error = (dimensions + 8) * U
    return error / (1 - error) + 10.0**-DECIMALS


def row_lengths(vectors: np.ndarray) -> np.ndarray:
    """Length of each row, summed in float64."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return np.asarray(np.sqrt(squares))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / row_lengths(vectors)[:, None], dtype=np.float32)
