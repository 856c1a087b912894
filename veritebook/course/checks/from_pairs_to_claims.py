"""Randolph's kappa from a table of counts."""

from __future__ import annotations

import numpy as np

from averimatec import randolph_kappa
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """How many people chose each verdict, claim by claim.

    :func:`averimatec.randolph_kappa` gives the kappa.
    """
    rng = np.random.default_rng(0)
    made = {
        "people who always agree": [[3, 0], [0, 3]],
        "two people who never agree": [[1, 1], [1, 1]],
        "one verdict everywhere": [[2, 0, 0, 0], [2, 0, 0, 0]],
        "a verdict that nobody chose": [[2, 1, 0], [1, 2, 0], [3, 0, 0]],
        "claims with more people and with fewer": [[5, 0, 1], [1, 1, 0], [0, 2, 1]],
    }
    for people in (2, 3, 7):
        made[f"{people} people, drawn by chance"] = rng.multinomial(
            people, [0.6, 0.2, 0.1, 0.1], 12
        ).tolist()
    return [
        Case(what, (counts,), randolph_kappa(np.array(counts), resamples=100).value)
        for what, counts in made.items()
    ]
