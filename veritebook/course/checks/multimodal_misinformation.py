"""The accuracy of the best cut on a cosine, in either direction.

The cut is chosen on the same pairs that it is measured on.
"""

from __future__ import annotations

import numpy as np

from verite.evaluation import similarity_threshold
from verite.pairs import MISINFORMATION, TRUE
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Cosines with whether each pair is true.

    Cut cleanly, upside down, tied, of one class, and drawn by chance.
    """
    rng = np.random.default_rng(0)
    drawn = [
        (np.round(rng.normal(0.3, 0.1, size), places).tolist(), rng.random(size) < 0.6)
        for size, places in ((9, 3), (40, 3), (60, 1))
    ]
    given = [
        (
            "true pairs that all lie above the false ones",
            [0.31, 0.30, 0.22, 0.21],
            [True, True, False, False],
        ),
        (
            "true pairs that all lie below the false ones",
            [0.10, 0.20, 0.30],
            [True, True, False],
        ),
        (
            "pairs of one cosine, which no cut can part",
            [0.25, 0.25, 0.25, 0.25],
            [False, False, True, True],
        ),
        (
            "classes of unlike size that lie mixed",
            [0.1, 0.2, 0.3, 0.4, 0.5],
            [False, False, True, False, False],
        ),
        *(
            (f"{len(cosines)} pairs drawn by chance", cosines, true.tolist())
            for cosines, true in drawn
        ),
    ]
    return [
        Case("pairs that are all true", ([0.2, 0.3], [True, True]), 1.0),
        *(
            Case(what, (cosines, true), _best(cosines, true))
            for what, cosines, true in given
        ),
    ]


def _best(cosines: list[float], true: list[bool]) -> float:
    return similarity_threshold(cosines, np.where(true, TRUE, MISINFORMATION)).accuracy
