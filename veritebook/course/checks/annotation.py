"""The share of pairs on which two people agree."""

from __future__ import annotations

import numpy as np

from verite.pairs import LABELS
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Two lists of labels each: equal, different, and drawn by chance."""
    rng = np.random.default_rng(0)
    drawn = [
        (rng.choice(LABELS, size).tolist(), rng.choice(LABELS, size).tolist())
        for size in (3, 8, 20)
    ]
    return [
        Case("two people who always agree", (["true", "true"], ["true", "true"]), 1.0),
        Case("two people who never agree", (["true"], ["miscaptioned"]), 0.0),
        *(
            Case(
                f"{len(first)} pairs, {first} and {second}",
                (first, second),
                np.mean([a == b for a, b in zip(first, second, strict=True)]),
            )
            for first, second in drawn
        ),
    ]
