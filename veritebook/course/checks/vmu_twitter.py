"""The flip rate: how often a verdict changes when one side of a pair is exchanged."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verite.evaluation import with_flips
from verite.pairs import BINARY_LABELS
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Verdicts on pairs, and on the same pairs with other captions.

    Steady, turned, unlike in number, and drawn by chance.
    """
    rng = np.random.default_rng(0)
    drawn = [
        [rng.choice(BINARY_LABELS, count).tolist() for count in (len(counts), *counts)]
        for counts in ([3, 3], [1, 4, 2, 5], [0, 6, 1])
    ]
    given = [
        (
            "verdicts that never change",
            ["true", "misinformation"],
            [["true"], ["misinformation", "misinformation"]],
        ),
        (
            "verdicts that always change",
            ["true", "misinformation"],
            [["misinformation"], ["true", "true"]],
        ),
        (
            "pairs tried with unlike numbers of captions",
            ["true", "true"],
            [["misinformation"], ["true", "true", "true"]],
        ),
        (
            "a pair that was tried with none",
            ["true", "misinformation"],
            [["true", "misinformation"], []],
        ),
        *((f"{len(own)} pairs drawn by chance", own, others) for own, *others in drawn),
    ]
    return [
        Case(what, (own, others), _rate(own, others)) for what, own, others in given
    ]


def _rate(own: list[str], others: list[list[str]]) -> float:
    rows = [
        (f"{pair}:{at}", f"{pair}", verdict)
        for pair, tried in enumerate(others)
        for at, verdict in enumerate(tried)
    ]
    changed = pd.DataFrame(rows, columns=["pair_id", "original", "verdict"])
    verdicts = pd.concat(
        [
            pd.Series(own, [f"{pair}" for pair in range(len(own))]),
            changed.set_index("pair_id")["verdict"],
        ]
    )
    return float(with_flips(changed, verdicts)["flipped"].mean())
