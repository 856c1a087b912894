"""A made-up VERITE in both versions.

6 articles, 18 pairs; the first release lacks row 8 and has another caption in row 1.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture
def verite_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "data"
    monkeypatch.setenv("VERITE_DATA", str(home))
    rows = []
    for article in range(6):
        true, false = (
            f"A boat, seen at pier {article}.",
            f"A boat that sank at pier {article}.",
        )
        rows += [
            (true, f"images/true_{article}.jpg", "true"),
            (false, f"images/true_{article}.jpg", "miscaptioned"),
        ]
        rows += [(true, f"images/false_{article}.jpg", "out-of-context")]
    release = pd.DataFrame(rows, columns=["caption", "image_path", "label"])
    paper = release.drop(index=8).reset_index(drop=True)
    paper.loc[1, "caption"] = "A boat that sunk at pier 0."
    (home / "verite").mkdir(parents=True)
    (home / "figments").mkdir()
    release.to_csv(home / "verite" / "VERITE.csv")
    paper.to_csv(home / "figments" / "FIGMENTS.csv")
    articles = pd.DataFrame(
        {
            "id": range(6),
            "snopes_url": [f"https://facts.example/{article}" for article in range(6)],
        }
    )
    articles.to_csv(home / "verite" / "VERITE_articles.csv")
    return home


@pytest.fixture
def release(verite_home: Path) -> pd.DataFrame:
    """The publisher's own file as users have it, with right answers."""
    return with_answers(verite_home / "verite" / "VERITE.csv")


@pytest.fixture
def paper(verite_home: Path) -> pd.DataFrame:
    return with_answers(verite_home / "figments" / "FIGMENTS.csv")


def with_answers(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path, dtype=str).rename(columns={"Unnamed: 0": "row"})
    return table.assign(prediction=table["label"])
