"""What a search is asked, checked once, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError, name_some

__all__ = ["Neighbours", "Question", "Search", "check_kin", "keep_best"]


class Neighbours(NamedTuple):
    """The nearest candidates of each query, the nearest first.

    Where a query has fewer than ``k``, the rest is an empty id and NaN.
    """

    ids: np.ndarray
    """Candidate ids, shape ``(queries, k)``."""
    similarities: np.ndarray
    """Cosines from -1 to 1, float64, shape ``(queries, k)``."""


Search = Callable[..., Neighbours]
"""Any function that is called like :func:`verite.search.nearest`."""


class Question(NamedTuple):
    """Queries and candidates of one search: ids, rows of the matrices, and groups."""

    query_ids: np.ndarray
    candidate_ids: np.ndarray
    query_rows: np.ndarray
    candidate_rows: np.ndarray
    groups: tuple[np.ndarray, np.ndarray] | None
    """Of queries and candidates: integers, equal where groups are."""
    ranks: np.ndarray
    """Place of each candidate's id in alphabetical order."""

    @classmethod
    def ask(
        cls,
        queries: Embeddings,
        candidates: Embeddings,
        *,
        query_ids: Iterable[str] | None = None,
        candidate_ids: Iterable[str] | None = None,
        query_groups: Iterable[str] | None = None,
        candidate_groups: Iterable[str] | None = None,
    ) -> Question:
        """Check the arguments of :func:`verite.search.nearest`; None means all ids."""
        check_kin(queries, candidates)
        q, c = (
            np.array(list(vectors.ids if ids is None else ids), dtype=object)
            for vectors, ids in ((queries, query_ids), (candidates, candidate_ids))
        )
        if repeated := sorted(set(c[pd.Series(c, dtype=object).duplicated()])):
            raise DataError(f"nearest: duplicate candidate ids: {name_some(repeated)}.")
        if (query_groups is None) != (candidate_groups is None):
            raise ParameterError("nearest: give groups of both sides, or of none.")
        groups = None
        if query_groups is not None and candidate_groups is not None:
            names = np.array([*query_groups, *candidate_groups], dtype=object)
            if len(names) != len(q) + len(c):
                raise DataError(
                    f"nearest: expected {len(q) + len(c):,} groups, one per query and"
                    f" candidate, found {len(names):,}."
                )
            codes = pd.factorize(names)[0]
            groups = codes[: len(q)], codes[len(q) :]
        ranks = np.empty(len(c), dtype=np.intp)
        ranks[np.argsort(c, kind="stable")] = np.arange(len(c))
        return cls(q, c, queries.positions(q), candidates.positions(c), groups, ranks)

    def answer(self, k: int) -> Neighbours:
        """An answer to be filled."""
        shape = (len(self.query_ids), k)
        return Neighbours(np.full(shape, "", dtype=object), np.full(shape, np.nan))


def keep_best(
    rows: np.ndarray, scores: np.ndarray, columns: np.ndarray, ranks: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Keep the ``k`` highest scores of each row, in order; equal ones by rank.

    Returns rows, scores, columns, and the place (from 0) of each within its row.
    """
    order = np.lexsort((ranks[columns], -scores, rows))
    rows, scores, columns = rows[order], scores[order], columns[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)
    few = place < k
    return rows[few], scores[few], columns[few], place[few]


def check_kin(first: Embeddings, second: Embeddings) -> None:
    """Raise a DataError for vectors of different encoders or widths."""
    for what in ("dimensions", "encoder"):
        one, other = getattr(first, what), getattr(second, what)
        if one != other:
            raise DataError(
                f"{first.where} and {second.where} do not compare: {what} {one} and"
                f" {other}. Encode both with one model."
            )
