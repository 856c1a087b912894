"""The unimodal ceiling.

What a detector reaches that knows every image, or every caption, by heart.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from verite.evaluation import unimodal_ceiling
from verite.pairs import LABELS
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Images with a label each.

    :func:`verite.evaluation.unimodal_ceiling` gives what they allow.
    """
    rng = np.random.default_rng(0)
    made = {
        "images that stand once": (["a", "b", "c"], ["true", "out-of-context", "true"]),
        "an image under two labels": (["a", "a"], ["true", "miscaptioned"]),
        "an image more often under one label than under the other": (
            ["a", "a", "a", "b"],
            ["true", "miscaptioned", "true", "true"],
        ),
        "pairs of one image that do not stand beside each other": (
            ["a", "b", "a", "b"],
            ["true", "true", "miscaptioned", "true"],
        ),
    }
    for images in (3, 10, 30):
        keys = [f"image {number}" for number in rng.integers(images, size=40)]
        made[f"40 pairs of about {images} images, drawn by chance"] = (
            keys,
            rng.choice(LABELS, 40).tolist(),
        )
    return [
        Case(what, arguments, _ceiling(*arguments)) for what, arguments in made.items()
    ]


def _ceiling(images: list[str], labels: list[str]) -> float:
    return unimodal_ceiling(
        pd.DataFrame({"image_id": images, "label": labels}), "image"
    ).value
