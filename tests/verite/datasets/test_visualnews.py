from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verite.datasets import load
from verite.errors import DataError
from verite.pairs import grouped_split
from verite.synthesis import maker_named

Write = Callable[..., None]


def row(number: int, caption: str = "", /, **other: object) -> dict[str, Any]:
    made = {
        "id": number,
        "caption": caption or f"Boat {number} at sea",
        "topic": "boats",
        "source": "harbour_times",
        "image_path": f"./harbour_times/images/0000/{number:03}.jpg",
        "article_path": f"./harbour_times/articles/{number}.txt",
    }
    return made | other


@pytest.fixture
def write(data_home: Path) -> Write:
    def to_file(*rows: object, text: str | None = None) -> None:
        folder = data_home / "visualnews" / "origin"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "data.json").write_text(
            json.dumps(rows) if text is None else text, encoding="utf8"
        )

    return to_file


def test_pairs(
    write: Write,
) -> None:
    write(row(39), row(7, topic="weather"))
    pairs = load("visualnews").pairs
    assert (
        pairs["pair_id"].tolist()
        == pairs["image_id"].tolist()
        == pairs["text_id"].tolist()
        == ["39", "7"]
    )
    assert pairs["label"].tolist() == ["true", "true"]
    assert pairs["topic"].tolist() == ["boats", "weather"]
    assert pairs["source"].unique().tolist() == ["harbour_times"]
    assert pairs["image_path"].tolist() == [
        "harbour_times/images/0000/039.jpg",
        "harbour_times/images/0000/007.jpg",
    ]
    assert pairs["split"].unique().tolist() == [""]


def test_ids(write: Write) -> None:
    write(
        row(1, "A boat"),
        row(2, "A quay", image_path=row(1)["image_path"]),
        row(3, "A boat"),
        row(4, "a boat"),
    )
    pairs = load("visualnews").pairs
    assert pairs["image_id"].tolist() == ["1", "1", "3", "4"]
    assert pairs["text_id"].tolist() == ["1", "2", "1", "4"]


def test_groups(
    write: Write,
) -> None:
    write(
        row(1),
        row(2, "A quay", article_path=row(1)["article_path"]),
        row(3, "a QUAY"),
        row(4, image_path=row(3)["image_path"]),
        row(5),
        row(6, "A pier"),
        row(7, "A pier"),
    )
    assert load("visualnews").pairs["group"].tolist() == [
        "1",
        "1",
        "1",
        "1",
        "5",
        "6",
        "6",
    ]


def test_split_and_maker(write: Write) -> None:
    write(*(row(number, topic=f"topic {number % 2}") for number in range(40)))
    pairs = grouped_split(
        load("visualnews").pairs, {"train": 0.8, "validation": 0.1, "test": 0.1}, seed=0
    )
    assert pairs["split"].value_counts().to_dict() == {
        "train": 32,
        "validation": 4,
        "test": 4,
    }
    made = maker_named("RSt")(pairs, rng=np.random.default_rng(0))
    assert made["label"].value_counts().to_dict() == {"true": 40, "out-of-context": 40}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (row(2, id="2"), "row 1: expected 'id' as int, found '2'"),
        (row(2, id=True), "row 1: expected 'id' as int, found True"),
        (row(2, caption=None), "row 1: expected 'caption' as str, found None"),
        (row(2, image_path={"path": "2.jpg"}), "row 1: expected 'image_path' as str"),
        ([row(2)], "row 1: expected 'id' as int, found None"),
        (row(3), "duplicate ids: 3"),
        (row(2, caption=" "), r"empty caption .*pair_id 2"),
    ],
)
def test_malformed(write: Write, broken: object, message: str) -> None:
    write(row(1), broken, row(3))
    with pytest.raises(DataError, match=rf"data\.json.*{message}"):
        load("visualnews")


@pytest.mark.parametrize("text", ["{}", "[]", '{"id": {"caption": "A boat"}}'])
def test_no_list(write: Write, text: str) -> None:
    write(text=text)
    with pytest.raises(DataError, match=r"data\.json: expected a JSON list of objects"):
        load("visualnews")
