"""Denominators that printed shares allow."""

from __future__ import annotations

import numpy as np

from verite.paper import table
from veritebook.course.checking import Case

__all__ = ["cases"]

_HALF = 0.005  # half a unit of the second decimal


def cases() -> list[Case]:
    """Shares of made-up counts, and the shares that the paper prints.

    Both are in per cent, with two decimals.
    """
    rng = np.random.default_rng(0)
    printed = table("prose").query("row == 'VERITE, topics'")["value"].tolist()
    made = {
        "a half": ([50.0], 10),
        "a third and two thirds": ([33.33, 66.67], 12),
        "a share of nothing": ([0.0], 5),
        "shares that no number gives": ([12.34, 56.78], 20),
        "the paper's shares of topics": (printed, 400),
    }
    for size in (23, 57, 149):
        counts = rng.integers(1, size, 3)
        made[f"three shares of {size}, drawn by chance"] = (
            np.round(100 * counts / size, 2).tolist(),
            180,
        )
    return [
        Case(what, arguments, _fitting(*arguments)) for what, arguments in made.items()
    ]


def _fitting(shares: list[float], longest: int) -> list[int]:
    sizes = np.arange(1, longest + 1)[:, None]
    counts = np.round(np.array(shares) * sizes / 100)
    fits = (np.abs(100 * counts / sizes - np.array(shares)) <= _HALF + 1e-9).all(axis=1)
    return [int(size) for size in sizes[fits, 0]]
