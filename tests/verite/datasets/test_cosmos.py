from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from verite.datasets import load
from verite.errors import DataError


def row(number: int, label: object, caption: object, **other: object) -> dict[str, Any]:
    return {
        "img_local_path": f"test/{number}.jpg",
        "caption1": caption,
        "caption2": "A second caption.",
        "context_label": label,
        "article_url": f"https://news.example/{number}",
        **other,
    }


def write(home: Path, *rows: object) -> None:
    (home / "cosmos").mkdir(exist_ok=True)
    text = "\n".join(json.dumps(entry, ensure_ascii=False) for entry in rows)
    (home / "cosmos" / "test_data.json").write_text(text + "\n\n", encoding="utf8")


def test_pairs(data_home: Path) -> None:
    write(
        data_home,
        row(0, 0, "A boat\u2028at sea."),
        row(1, 1, "A dog."),
        row(2, 1, "a  DOG. "),
        row(3, 0, "A quay.", img_local_path="test/0.jpg"),
        row(4, 0, "A dog."),
    )
    pairs = load("cosmos").pairs
    assert pairs["label"].eq("misinformation").tolist() == [0, 1, 1, 0, 0]
    assert pairs["pair_id"].tolist() == [f"cosmos_{number}" for number in range(5)]
    assert pairs["image_id"].tolist() == [f"test/{n}" for n in (0, 1, 2, 0, 4)]
    assert pairs["text_id"].tolist() == [f"text_{n}" for n in (0, 1, 2, 3, 1)]
    assert pairs["group"].tolist() == [f"pair_{n}" for n in (0, 1, 1, 0, 1)]
    assert pairs["article_url"].tolist()[1] == "https://news.example/1"
    second = load("cosmos", caption="caption2").pairs
    assert set(second["caption"]) == {"A second caption."}
    assert second["text_id"].nunique() == second["group"].nunique() == 1
    assert second["label"].tolist() == pairs["label"].tolist()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (3, "expected 'img_local_path' as str, found None"),
        (row(1, 1, None), "expected 'caption1' as str, found None"),
        (row(1, True, "A dog."), "expected 'context_label' as int, found True"),
        (row(1, 2, "A dog."), "expected context_label 0 or 1, found 2"),
        (row(1, 1, " "), r"empty caption .*pair_id cosmos_1"),
    ],
)
def test_malformed(data_home: Path, broken: object, message: str) -> None:
    write(data_home, row(0, 0, "A boat."), broken)
    with pytest.raises(DataError, match=rf"test_data\.json.*{message}"):
        load("cosmos")


@pytest.fixture(scope="module")
def real(real_data: Path) -> pd.DataFrame:
    return load("cosmos").pairs


def test_real_counts(real: pd.DataFrame) -> None:
    assert real["label"].value_counts().tolist() == [500, 500]
    assert real["image_id"].nunique() == 1_000
    assert real["caption"].duplicated().sum() == 146
    assert real["text_id"].nunique() == 1_000 - 146
    assert real["group"].nunique() == 1_000 - 148  # case and white space aside


def test_real_shortcuts(real: pd.DataFrame) -> None:
    snopes = real["article_url"].str.startswith("https://www.snopes.com/")
    misleading = real["label"] == "misinformation"
    assert (snopes == misleading).mean() == pytest.approx(0.979)
    for column, ceiling in {"text_id": 0.998, "image_id": 1.0}.items():
        best = pd.crosstab(real[column], real["label"]).max(axis=1).sum()
        assert best / len(real) == pytest.approx(ceiling)
