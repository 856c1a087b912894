"""Building a benchmark like VERITE: the steps of the paper's Fig. 2 as tools.

:func:`read` opens a table of fact-checked articles, :func:`check` flags each against
the criteria, :mod:`~verite.building.captions` looks at what captions give away,
:func:`rank_candidates` proposes out-of-context images, :func:`unpack` makes the pairs
(:func:`pack` reverses it) and :func:`balance` checks them. :func:`build` does all of
it: ``verite build ARTICLES.csv --out FOLDER``.
"""

from verite.building.articles import read
from verite.building.candidates import SAME_PICTURE, rank_candidates
from verite.building.command import build
from verite.building.criteria import CRITERIA, check
from verite.building.unpacking import Balance, balance, pack, unpack

__all__ = [
    "CRITERIA",
    "SAME_PICTURE",
    "Balance",
    "balance",
    "build",
    "check",
    "pack",
    "rank_candidates",
    "read",
    "unpack",
]
