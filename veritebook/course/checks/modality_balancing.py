"""Accuracy on the two halves of VERITE-B, and on both together."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verite.evaluation import score
from verite.pairs import LABELS, MISCAPTIONED, MISINFORMATION, OUT_OF_CONTEXT, TRUE
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Labels and answers, classes of equal and of different size.

    :func:`verite.evaluation.score` measures each half.
    """
    rng = np.random.default_rng(0)
    three = [TRUE, OUT_OF_CONTEXT, MISCAPTIONED]
    made = {
        "a detector that finds out-of-context pairs only": (
            three,
            [TRUE, MISINFORMATION, TRUE],
        ),
        "a detector that calls all pairs true": (2 * three, 6 * [TRUE]),
        "a detector that calls all pairs misinformation": (
            2 * three,
            6 * [MISINFORMATION],
        ),
        "halves of different size": (
            [TRUE, *three, MISCAPTIONED, MISCAPTIONED],
            [TRUE, MISINFORMATION, TRUE, *3 * [MISINFORMATION]],
        ),
    }
    for size in (20, 40, 80):
        labels = three + rng.choice(LABELS, size - 3, p=[0.5, 0.3, 0.2]).tolist()
        made[f"{size} answers drawn by chance"] = (
            labels,
            rng.choice([TRUE, MISINFORMATION], size).tolist(),
        )
    return [
        Case(what, arguments, _halves(*arguments)) for what, arguments in made.items()
    ]


def _halves(labels: list[str], answers: list[str]) -> tuple[float, float, float]:
    numbers = [str(number) for number in range(len(labels))]
    table = pd.DataFrame(
        {"pair_id": numbers, "group": numbers, "label": labels, "prediction": answers}
    )
    away, false = (
        float(score(table, name, resamples=100)["value"].iloc[0])
        for name in ("true-vs-ooc", "true-vs-mc")
    )
    return away, false, (away + false) / 2
