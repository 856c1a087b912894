"""Exact nearest neighbours by cosine, faster than one float32 product of all vectors.

To find the nearest of n captions for m images takes m x n products of vectors. Computed
exactly, in float64, that is slow. Computed in float32, or with 8-bit integers, it is
fast but wrong in the last digits, so the wrong neighbour may win. But the error has a
provable bound e. If the k-th best coarse cosine of a query is s, then k candidates have
a true cosine of s - e or more, and a candidate below s - 2e cannot be among the k best.
So we compute all cosines coarsely, keep the few candidates at or above s - 2e, and
compute only these in float64. The result is exact, whatever made the first product.
Equal cosines are ordered by id, so the result does not depend on the order of rows.

:mod:`~verite.search.plain` does just this with numpy: read it first. The fast version
adds the 8-bit product (:mod:`~verite.search.screening`), tiles and threads
(:mod:`~verite.search.blockwise`), and blocks that can be resumed or sent to a cluster
(:mod:`~verite.search.retrieval`). Pools larger than memory can also go to a FAISS index
on disk (:mod:`~verite.search.approximate`), which is not exact and measures its recall.
"""

from __future__ import annotations

from verite.search.plain import cosines, nearest_plain
from verite.search.question import Neighbours, Search
from verite.search.retrieval import nearest

__all__ = ["Neighbours", "Search", "cosines", "nearest", "nearest_plain"]
