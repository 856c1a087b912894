"""Makers of misleading pairs, by the names that the paper prints (section 4.1).

To add one, write a function with the decorator :func:`~verite.synthesis.base.maker` in
a module of its own and import it below.

>>> MAKERS["RSt"].label, MAKERS["CHASMA"].label
('out-of-context', 'miscaptioned')
"""

from __future__ import annotations

from verite.synthesis.aggregate import aggregate
from verite.synthesis.base import EXTRA, MAKERS, Maker, made_share, maker_named

# In the order in which MAKERS lists them.
from verite.synthesis.out_of_context import cst, nc_t2t, rst  # isort: skip
from verite.synthesis.swaps import clip_nest, meir, r_nest  # isort: skip
from verite.synthesis.chasma import chasma, chasma_d, pool_use, without_repeats  # isort: skip

__all__ = [
    "EXTRA",
    "MAKERS",
    "Maker",
    "aggregate",
    "chasma",
    "chasma_d",
    "clip_nest",
    "cst",
    "made_share",
    "maker_named",
    "meir",
    "nc_t2t",
    "pool_use",
    "r_nest",
    "rst",
    "without_repeats",
]
