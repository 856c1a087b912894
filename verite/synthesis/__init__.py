"""Makers of misleading pairs, by the names the paper prints (section 4.1), and the
exact search they use.

>>> sorted(MAKERS)
['CHASMA', 'CHASMA-D', 'CLIP-NESt', 'CSt', 'MEIR', 'NC-t2t', 'R-NESt', 'RSt']
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from verite.errors import ParameterError
from verite.synthesis.aggregate import aggregate
from verite.synthesis.base import EXTRA, Maker, made_share
from verite.synthesis.chasma import PoolUse, chasma, chasma_d, pool_use, without_repeats
from verite.synthesis.entities import ONTONOTES_TYPES
from verite.synthesis.out_of_context import cst, nc_t2t, rst
from verite.synthesis.swaps import clip_nest, meir, r_nest

__all__ = [
    "EXTRA",
    "MAKERS",
    "ONTONOTES_TYPES",
    "Maker",
    "PoolUse",
    "aggregate",
    "made_share",
    "maker_named",
    "pool_use",
    "without_repeats",
]

MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "RSt": rst,
        "CSt": cst,
        "NC-t2t": nc_t2t,
        "R-NESt": r_nest,
        "CLIP-NESt": clip_nest,
        "MEIR": meir,
        "CHASMA": chasma,
        "CHASMA-D": chasma_d,
    }
)
"""Makers by name; each is called ``make(pairs, images, texts, *, rng, ...)``."""


def maker_named(name: str) -> Maker:
    """Maker of one of the paper's training datasets.

    Raises
    ------
    ParameterError
        There is no such maker.

    >>> maker_named("chasma")
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: no maker is called 'chasma'. There are: RSt, CSt, NC-t2t, R-NESt, CLIP-NESt, MEIR, CHASMA, CHASMA-D.
    """
    if name not in MAKERS:
        raise ParameterError(
            f"no maker is called {name!r}. There are: {', '.join(MAKERS)}."
        )
    return MAKERS[name]
