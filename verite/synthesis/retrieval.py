"""Exact nearest neighbours by cosine, a block of queries against a block of candidates at a time.

A matrix product in single precision finds the few candidates that can be the nearest; only these are scored again in
double precision. The product's rounding depends on the block's size, the threads and the device, but its error has a
bound (:func:`rounding_bound`). Whatever lies within twice the bound of the best is scored again, so what comes out
does not depend on any of them.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError, name_some

__all__ = ["DECIMALS", "Neighbours", "Search", "cosines", "nearest", "rounding_bound"]

DECIMALS = 12
"""Cosines are rounded to so many decimals; those that then agree are equal, and the smaller id comes first."""

_CHUNK = 8192  # vectors scored again together: 50 MB a side at 768 dimensions


class Neighbours(NamedTuple):
    """For each query the nearest candidates, the nearest first.

    Where a query has fewer than ``k``, the rest of its ``ids`` is empty and of its ``similarities`` NaN.
    """

    ids: np.ndarray
    """Candidate ids, shape ``(queries, k)``."""
    similarities: np.ndarray
    """Cosines from -1 to 1, float64 of shape ``(queries, k)``."""


Search = Callable[..., Neighbours]
"""What makers search with: :func:`nearest`, or ``functools.partial(nearest, device="cuda")``, or one's own of the same shape."""


class _Side(NamedTuple):
    vectors: Embeddings
    ids: np.ndarray
    groups: np.ndarray | None  # whole numbers, equal where groups are
    order: np.ndarray  # positions of the ids in their alphabetical order
    ranks: np.ndarray  # place of each id in that order


class _Best(NamedTuple):
    rows: np.ndarray
    scores: np.ndarray
    ranks: np.ndarray


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
    query_block: int = 1024,
    candidate_block: int = 16_384,
    device: str = "cpu",
    executor: concurrent.futures.Executor | None = None,
) -> Neighbours:
    """Find the ``k`` candidates with the highest cosine for each query, exactly.

    The cosine is that of the vectors as stored, computed in double precision and rounded to :data:`DECIMALS`. Ids and
    similarities are the same for all block sizes, numbers of threads, devices and orders of candidates; candidates of
    equal cosine come in the order of their ids. Only blocks are copied to memory, so both matrices may be larger.

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
        The group of each query and candidate, in the order of the ids: a query never finds a candidate of its own group.
    highest
        Find only candidates whose cosine is at most this.
    query_block, candidate_block
        Rows of a block, 1 or more. Memory is about ``query_block`` times ``candidate_block`` times nine bytes.
    device
        Where torch multiplies.
    executor
        Where blocks of queries run; None runs them here, one after the other. Workers of another process each get a
        copy of both matrices.

    Raises
    ------
    DataError
        Widths or encoders differ; an id has no vector; a candidate is named twice; groups and ids differ in number.
    ParameterError
        ``k`` or a block is below 1; there are groups on one side only; torch is set to multiply with less than single precision.

    >>> V = Embeddings(["a", "b", "c"], np.array([[1, 0], [3, 4], [4, 3]], dtype=np.float32), encoder="toy")
    >>> nearest(V, V, query_groups="abc", candidate_groups="abc")
    Neighbours(ids=array([['c'],
           ['c'],
           ['b']], dtype=object), similarities=array([[0.8 ],
           [0.96],
           [0.96]]))
    """
    for name, value in (("k", k), ("query_block", query_block), ("candidate_block", candidate_block)):
        if value < 1:
            raise ParameterError(f"nearest: expected {name} of 1 or more, found {value}.")
    _check_kin(queries, candidates)
    if (query_groups is None) != (candidate_groups is None):
        raise ParameterError("nearest: expected groups of queries and of candidates, found those of one side only. Give both or none.")
    asked = np.array(list(queries.ids if query_ids is None else query_ids), dtype=object)
    offered = np.array(list(candidates.ids if candidate_ids is None else candidate_ids), dtype=object)
    if twice := sorted(set(offered[pd.Series(offered, dtype=object).duplicated()])):
        raise DataError(f"nearest: each candidate must be named once; {name_some(twice)} stands several times.")
    codes: list[np.ndarray | None] = [None, None]
    if query_groups is not None and candidate_groups is not None:
        named = [list(query_groups), list(candidate_groups)]
        for what, names, ids in (("queries", named[0], asked), ("candidates", named[1], offered)):
            if len(names) != len(ids):
                raise DataError(f"nearest: {len(names):,} groups beside {len(ids):,} {what}. Give one for each, in the order of the ids.")
        both = pd.factorize(np.array(named[0] + named[1], dtype=object))[0]
        codes = [both[: len(asked)], both[len(asked) :]]
    # Blocks are independent and come back in order: a version that keeps finished ones on the disk goes in between here.
    work = partial(
        _search_block,
        _Side(queries, asked, codes[0], *_alphabetical(asked)),
        _Side(candidates, offered, codes[1], *_alphabetical(offered)),
        k=k,
        highest=highest,
        query_block=query_block,
        candidate_block=candidate_block,
        device=device,
    )
    starts = range(0, len(asked), query_block)
    found = list((map if executor is None else executor.map)(work, starts))
    if not found:
        return Neighbours(np.empty((0, k), dtype=object), np.empty((0, k)))
    return Neighbours(np.concatenate([block.ids for block in found]), np.concatenate([block.similarities for block in found]))


def cosines(first: Embeddings, first_ids: Iterable[str], second: Embeddings, second_ids: Iterable[str]) -> np.ndarray:
    """Cosine of each of ``first_ids`` with its neighbour in ``second_ids``, as :func:`nearest` computes it: float64, -1 to 1.

    >>> V = Embeddings(["a", "b"], np.array([[1, 0], [3, 4]], dtype=np.float32), encoder="toy")
    >>> cosines(V, ["a", "a"], V, ["a", "b"])
    array([1. , 0.6])
    """
    _check_kin(first, second)
    a, b = list(first_ids), list(second_ids)
    if len(a) != len(b):
        raise DataError(f"cosines: {len(a):,} ids beside {len(b):,}. Give two of one length.")
    parts = [_score(first.rows(a[start : start + _CHUNK]), second.rows(b[start : start + _CHUNK])) for start in range(0, len(a), _CHUNK)]
    return np.concatenate([np.empty(0), *parts])


def rounding_bound(dimensions: int) -> float:
    """How far a product of two unit vectors in single precision can be from their cosine, whatever the order of its sums.

    Normalised elements are off by a relative u = 2⁻²⁴ each, a sum of n products by n·u/(1 - n·u) of the sum of their
    sizes, and that is at most 1 for unit vectors (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1).
    A few more u stand for the comparisons themselves, and the last place of :data:`DECIMALS` for rounded cosines.

    >>> f"{rounding_bound(768):.1e}"
    '4.6e-05'
    """
    u = 2.0**-24
    return (dimensions + 8) * u / (1 - (dimensions + 8) * u) + 10.0**-DECIMALS


def _search_block(
    queries: _Side, candidates: _Side, start: int, *, k: int, highest: float | None, query_block: int, candidate_block: int, device: str
) -> Neighbours:
    import torch

    if torch.get_float32_matmul_precision() != "highest":
        raise ParameterError(
            f"nearest: torch multiplies float32 with {torch.get_float32_matmul_precision()!r} precision, and would miss neighbours. "
            "Call torch.set_float32_matmul_precision('highest') first."
        )
    asked = queries.vectors.rows(queries.ids[start : start + query_block])
    count, bound = len(asked), rounding_bound(queries.vectors.dimensions)
    Q = torch.from_numpy(_unit(asked)).to(device)
    rough = torch.full((count, k), -torch.inf, device=device)  # the k highest products so far
    best = _Best(np.empty(0, dtype=np.intp), np.empty(0), np.empty(0, dtype=np.intp))
    for left in range(0, len(candidates.ids), candidate_block):
        right = min(left + candidate_block, len(candidates.ids))
        offered = candidates.vectors.rows(candidates.ids[left:right])
        product = Q @ torch.from_numpy(_unit(offered)).to(device).T  # (queries, candidates)
        if queries.groups is not None and candidates.groups is not None:
            own = queries.groups[start : start + query_block, None] == candidates.groups[None, left:right]
            product.masked_fill_(torch.from_numpy(own).to(device), -torch.inf)
        # Only what is allowed for sure may raise the bar; what may be allowed is scored again and decided then.
        sure = product
        if highest is not None:
            sure = product.masked_fill(product > highest - bound, -torch.inf)
            product.masked_fill_(product > highest + bound, -torch.inf)
        rough = torch.cat([rough, sure.topk(min(k, right - left), dim=1)[0]], dim=1).topk(k, dim=1)[0]
        bar = rough[:, -1:] - 2 * bound
        rows, columns = ((product >= bar) & (product > -torch.inf)).nonzero(as_tuple=True)
        best = _add(best, rows.cpu().numpy(), columns.cpu().numpy(), asked, offered, candidates.ranks[left:right], k, highest)
    place = np.arange(len(best.rows)) - np.searchsorted(best.rows, best.rows)
    ids = np.full((count, k), "", dtype=object)
    similarities = np.full((count, k), np.nan)
    ids[best.rows, place] = candidates.ids[candidates.order[best.ranks]]
    similarities[best.rows, place] = best.scores
    return Neighbours(ids, similarities)


def _add(
    best: _Best,
    rows: np.ndarray,
    columns: np.ndarray,
    asked: np.ndarray,
    offered: np.ndarray,
    rank: np.ndarray,
    k: int,
    highest: float | None,
) -> _Best:
    """Score candidates in double precision and keep the best ``k`` of each row, in order."""
    for at in range(0, len(rows), _CHUNK):
        row, column = rows[at : at + _CHUNK], columns[at : at + _CHUNK]
        score = _score(asked[row], offered[column])
        allowed = np.ones(len(row), dtype=bool) if highest is None else score <= highest
        row, score, ranks = row[allowed], score[allowed], rank[column[allowed]]
        joined = _Best(*(np.concatenate([old, new]) for old, new in zip(best, (row, score, ranks), strict=True)))
        order = np.lexsort((joined.ranks, -joined.scores, joined.rows))
        joined = _Best(*(values[order] for values in joined))
        kept = np.arange(len(order)) - np.searchsorted(joined.rows, joined.rows) < k
        best = _Best(*(values[kept] for values in joined))
    return best


def _score(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosines of rows, the same for two rows whatever stands beside them.

    A product of two float32 is exact in float64, and each row is summed by itself, so equal vectors score equally.
    """
    a, b = first.astype(np.float64), second.astype(np.float64)
    length = np.sqrt((a * a).sum(axis=1)) * np.sqrt((b * b).sum(axis=1))
    return np.asarray(np.round((a * b).sum(axis=1) / length, DECIMALS))


def _alphabetical(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
    ranks = np.empty(len(ids), dtype=np.intp)
    ranks[order] = np.arange(len(ids))
    return order, ranks


def _unit(vectors: np.ndarray) -> np.ndarray:
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.sqrt((wide * wide).sum(axis=1, keepdims=True)), dtype=np.float32)


def _check_kin(first: Embeddings, second: Embeddings) -> None:
    kin: Sequence[tuple[str, object, object]] = (
        ("dimensions", first.dimensions, second.dimensions),
        ("encoder", first.encoder, second.encoder),
    )
    for what, one, other in kin:
        if one != other:
            raise DataError(f"{first.where} and {second.where} do not compare: {what} {one} and {other}. Encode both with one model.")
