"""The pairs of one fact-checked article."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from verite.building import unpack
from verite.building.articles import COLUMNS
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Articles with an out-of-context image, without one, and with a missing value.

    The missing value is what a data frame holds where nothing was written.
    """
    rng = np.random.default_rng(0)
    named = [
        ("an article with an out-of-context image", _article("7", "pier")),
        ("an article without an out-of-context image", _article("8", "")),
        (
            "an article whose out-of-context image is a missing value",
            _article("9", np.nan),
        ),
    ]
    drawn = [
        (
            "an article drawn by chance",
            _article(str(number), rng.choice(["pier", "barn", ""]).item()),
        )
        for number in range(10, 15)
    ]
    return [Case(what, (article,), _pairs(article)) for what, article in named + drawn]


def _article(number: str, elsewhere: str | float) -> dict[str, Any]:
    link = (
        f"https://pictures.example/{elsewhere}.jpg"
        if isinstance(elsewhere, str) and elsewhere
        else elsewhere
    )
    return {
        "true_url": f"https://pictures.example/boat-{number}.jpg",
        "true_caption": f"An image shows boat {number} at the pier.",
        "false_url": link,
        "false_caption": f"An image shows boat {number} on fire.",
    }


def _pairs(article: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What :func:`verite.building.unpack` makes of an article.

    Links take the place of the names of files.
    """
    written = {name: "" if pd.isna(value) else value for name, value in article.items()}
    made = unpack(pd.DataFrame([dict.fromkeys(COLUMNS, "") | written | {"id": "a"}]))
    links = {"true_a": article["true_url"], "false_a": article["false_url"]}
    return list(
        zip(made["image_id"].map(links), made["caption"], made["label"], strict=True)
    )
