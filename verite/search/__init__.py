"""Exact nearest-neighbour search by cosine, over candidates in memory or in mapped files."""

from __future__ import annotations

from verite.search.retrieval import Neighbours, cosines, nearest

__all__ = ["Neighbours", "cosines", "nearest"]
