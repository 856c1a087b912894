"""A made-up table of articles, in the format of VERITE_articles.csv."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest


def rows() -> list[dict[str, str]]:
    """Five articles; 3 and 4 share a false caption, 4 has no out-of-context image, 1
    and 2 stand on one page.
    """
    facts = [
        (
            "0",
            "An image shows a red boat near a bridge in 2019.",
            "An image shows a red boat near a wreck in 2021.",
            "red boat",
        ),
        (
            "1",
            "Photo of two dogs at a fair in spring.",
            "Photo of two wolves that did not leave a fair.",
            "dogs fair",
        ),
        (
            "2",
            "A photograph shows a tall tower under repair.",
            "A photograph allegedly shows a tower that fell.",
            "tower",
        ),
        (
            "3",
            "Image shows a crowd at a concert.",
            "Image shows a crowd at a riot.",
            "concert crowd",
        ),
        ("4", "Image shows a queue for bread.", "Image shows a crowd at a riot.", ""),
    ]
    return [
        {
            "": key,
            "id": key,
            "true_url": f"https://pictures.example/true-{key}.jpg",
            "false_caption": false,
            "true_caption": true,
            "false_url": f"https://elsewhere.example/{key}.jpg" if query else "",
            "query": query,
            "snopes_url": (
                f"https://www.snopes.com/fact-check/page-{'1' if key == '2' else key}/"
            ),
        }
        for key, true, false, query in facts
    ]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write the table; give changes by article, as ``write({"0".

    {"true_url": ""}})``, and further columns.
    """

    def to_file(
        changes: dict[str, dict[str, str]] | None = None, **columns: list[str]
    ) -> Path:
        frame = pd.DataFrame(
            [row | (changes or {}).get(row["id"], {}) for row in rows()]
        ).assign(**columns)
        path = tmp_path / "articles.csv"
        frame.to_csv(path, index=False)
        return path

    return to_file
