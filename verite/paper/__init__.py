"""The published figures as tidy tables, their comparison with ours, and errata."""

from verite.paper.claims import claims
from verite.paper.errata import errata
from verite.paper.published import compare, split_row, table, wide
from verite.paper.rounding import Rounded, d_bounds, delta_bounds

__all__ = [
    "Rounded",
    "claims",
    "compare",
    "d_bounds",
    "delta_bounds",
    "errata",
    "split_row",
    "table",
    "wide",
]
