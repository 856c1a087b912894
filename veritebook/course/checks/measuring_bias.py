"""Cohen's d between the accuracies of unimodal and of multimodal detectors."""

from __future__ import annotations

import numpy as np

from verite.evaluation import cohens_d
from verite.paper import wide
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Accuracies of the paper, and some drawn by chance.

    :func:`verite.evaluation.cohens_d` gives d.
    """
    rng = np.random.default_rng(0)
    table = wide(3)
    made = {
        "both sides with one mean": ([50.0, 60.0], [55.0, 55.0]),
        "multimodal detectors that are ahead": ([50.0, 52.0], [60.0, 64.0]),
        "sides whose spread is very different": (
            [50.0, 50.1, 50.2],
            [30.0, 60.0, 90.0],
        ),
        "text and image+text on COSMOS": (
            table["text"].tolist(),
            table["image+text"].tolist(),
        ),
    }
    for size in (3, 5, 8):
        uni, multi = rng.normal(55, 5, size).tolist(), rng.normal(60, 8, size).tolist()
        made[f"{size} training sets drawn by chance"] = (uni, multi)
    return [
        Case(what, arguments, cohens_d(*arguments)) for what, arguments in made.items()
    ]
