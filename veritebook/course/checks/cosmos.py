"""Captions that leak: the share of pairs whose caption stands in another fold, too."""

from __future__ import annotations

import numpy as np
import pandas as pd

from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Captions with their folds.

    None twice, twice in one fold and in two, twice but for case and spaces, and drawn
    by chance.
    """
    rng = np.random.default_rng(0)
    boats = ["A boat.", "a  BOAT.", " A boat. ", "A boat!", "a\tboat."]
    drawn = [
        (rng.choice(boats, size).tolist(), rng.integers(0, folds, size).tolist())
        for size, folds in ((4, 2), (12, 5), (30, 8))
    ]
    given = [
        ("captions that all differ", ["A boat.", "A dog.", "A tree."], [0, 1, 2]),
        ("one caption twice in one fold", ["A boat.", "A boat.", "A dog."], [0, 0, 1]),
        ("one caption in two folds", ["A boat.", "A boat.", "A dog."], [0, 1, 1]),
        (
            "a caption three times, twice in one fold",
            ["A boat.", "A dog.", "A boat.", "A boat."],
            [0, 0, 0, 1],
        ),
        ("captions that differ in case", ["A Boat.", "a boat."], [0, 1]),
        ("captions that differ in white space", [" A  boat.", "A boat.\n"], [0, 1]),
        ("captions that differ in a comma", ["A boat, red.", "A boat red."], [0, 1]),
        *(
            (f"{len(captions)} captions drawn by chance", captions, folds)
            for captions, folds in drawn
        ),
    ]
    return [
        Case(what, (captions, folds), _leaked(captions, folds))
        for what, captions, folds in given
    ]


def _leaked(captions: list[str], folds: list[int]) -> float:
    frame = pd.DataFrame({"caption": captions, "fold": folds})
    alike = frame["caption"].str.casefold().str.split().str.join(" ")
    return float((frame.groupby(alike)["fold"].transform("nunique") > 1).mean())
