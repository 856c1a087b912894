"""The share of images, or of captions, all of whose pairs are right."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verite.pairs import LABELS
from verite.scoring import consistency
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Units of one to three pairs each.

    What counts is what :func:`verite.scoring.consistency` counts.
    """
    rng = np.random.default_rng(0)
    made = {
        "two images, one of which is right both times": (
            ["a", "a", "b", "b"],
            [True, True, True, False],
        ),
        "pairs of one image that do not stand beside each other": (
            ["a", "b", "a", "b"],
            [True, False, True, True],
        ),
        "an image with one pair only": (["a", "a", "b"], [True, True, False]),
        "an image with three pairs": (
            ["a", "a", "a", "b", "b"],
            [True, True, False, True, True],
        ),
    }
    for _ in range(3):
        units = np.repeat(
            [f"image {number}" for number in range(12)], rng.integers(1, 4, 12)
        )
        units = rng.permutation(units)
        made[f"{len(units)} pairs drawn by chance"] = (
            units.tolist(),
            (rng.random(len(units)) < 0.8).tolist(),
        )
    return [
        *(
            Case(what, arguments, _share(*arguments))
            for what, arguments in made.items()
        ),
        Case(
            "nothing but images with one pair", (["a", "b"], [True, True]), float("nan")
        ),
    ]


def _share(units: list[str], right: list[bool]) -> float:
    """The share, as the package counts it.

    It takes a pair table in which no image appears twice under one label.
    """
    at = pd.Series(units).groupby(units).cumcount()
    table = pd.DataFrame(
        {
            "pair_id": range(len(units)),
            "group": units,
            "image_id": units,
            "text_id": range(len(units)),
        }
    )
    table["label"] = [LABELS[number] for number in at]
    table["prediction"] = [
        LABELS[number if hit else (number + 1) % 3]
        for number, hit in zip(at, right, strict=True)
    ]
    found = consistency(
        table.astype({"pair_id": str, "text_id": str}), "three-class", resamples=100
    )
    return float(found.loc[found["over"] == "image", "value"].iloc[0])
