"""Verdict accuracy that counts a verdict only where enough evidence was found."""

from __future__ import annotations

import numpy as np

from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Claims with their evidence recall and whether the verdict is right.

    There are several thresholds.
    """
    rng = np.random.default_rng(0)
    nan = float("nan")
    made = {
        "evidence and verdicts that are all right": ([1.0, 1.0], [True, True], 0.3),
        "right verdicts without evidence": ([0.0, 0.0], [True, True], 0.0),
        "a recall that equals the threshold": ([0.5, 1.0], [True, True], 0.5),
        "enough evidence and a wrong verdict": ([1.0, 1.0], [False, True], 0.2),
        "a claim whose recall is not known": ([nan, 1.0, 0.0], [True, True, True], 0.2),
        "claims whose recall is never known": ([nan, nan], [True, False], 0.2),
    }
    for threshold in (0.2, 0.3, 0.4):
        recall = (rng.integers(0, 6, 30) / 5).tolist()
        made[f"30 claims drawn by chance, threshold {threshold}"] = (
            recall,
            (rng.random(30) < 0.7).tolist(),
            threshold,
        )
    return [
        Case(what, arguments, _accuracy(*arguments)) for what, arguments in made.items()
    ]


def _accuracy(recall: list[float], right: list[bool], threshold: float) -> float:
    found = np.array(recall)
    known = ~np.isnan(found)
    return (
        float(np.mean((found > threshold)[known] & np.array(right)[known]))
        if known.any()
        else float("nan")
    )
