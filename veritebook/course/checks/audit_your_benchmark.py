"""How rare an accuracy is among those under labels that were dealt anew."""

from __future__ import annotations

import numpy as np

from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Accuracies in hundredths, so that ties are ties.

    P counts the observed one among those that do as well.
    """
    rng = np.random.default_rng(0)
    made = {
        "an accuracy that no other reaches": (0.9, [0.5, 0.4, 0.6]),
        "an accuracy below all others": (0.1, [0.5, 0.4, 0.6]),
        "an accuracy that another one equals": (0.6, [0.5, 0.4, 0.6]),
        "no labels dealt anew": (0.7, []),
    }
    for size in (19, 99, 200):
        made[f"{size} accuracies drawn by chance"] = (
            0.55,
            (rng.binomial(100, 0.5, size) / 100).tolist(),
        )
    return [
        Case(
            what,
            (observed, dealt),
            (1 + sum(each >= observed for each in dealt)) / (1 + len(dealt)),
        )
        for what, (observed, dealt) in made.items()
    ]
