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


def test_all_pairs_are_true_and_have_the_publishers_ids_topics_and_paths(
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


def test_one_path_is_one_image_and_one_text_one_caption(write: Write) -> None:
    write(
        row(1, "A boat"),
        row(2, "A quay", image_path=row(1)["image_path"]),
        row(3, "A boat"),
        row(4, "a boat"),
    )
    pairs = load("visualnews").pairs
    assert pairs["image_id"].tolist() == ["1", "1", "3", "4"]
    assert pairs["text_id"].tolist() == ["1", "2", "1", "4"]


def test_pairs_that_share_article_image_or_caption_are_one_group_through_others_too(
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


def test_the_pairs_can_be_split_and_given_to_a_maker(write: Write) -> None:
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
    ("broken", "fault"),
    [
        (row(2, id="2"), r"row 1 \(id 2\): expected 'id' as int, found '2'"),
        (row(2, id=True), r"row 1 \(id True\): expected 'id' as int, found True"),
        (
            row(2, caption=None),
            r"row 1 \(id 2\): expected 'caption' as str, found None",
        ),
        (row(2, topic=3), r"row 1 \(id 2\): expected 'topic' as str, found 3"),
        (row(2, image_path={"path": "2.jpg"}), "expected a JSON list of flat objects"),
        ({"id": 2}, r"row 1 \(id 2\): expected 'caption' as str, found None"),
        ([row(2)], "expected a JSON list of flat objects"),
        (3, "expected a JSON list of flat objects"),
    ],
)
def test_a_malformed_row_is_an_error_that_names_it(
    write: Write, broken: object, fault: str
) -> None:
    write(row(1), broken, row(3))
    with pytest.raises(DataError, match=rf"data\.json.*{fault}"):
        load("visualnews")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[\n{"id": 1,', r"data\.json, line 2: expected JSON"),
        ("{}", "expected a JSON list of flat objects"),
        ("[]", "expected a JSON list of flat objects"),
        ('{"id": {"caption": "A boat"}}', "expected a JSON list of flat objects"),
    ],
)
def test_a_file_that_is_no_list_of_pairs_is_an_error(
    write: Write, text: str, fault: str
) -> None:
    write(text=text)
    with pytest.raises(DataError, match=fault):
        load("visualnews")


def test_an_id_that_stands_twice_is_an_error_that_names_the_rows(write: Write) -> None:
    write(row(1), row(2), row(1), row(3), row(2))
    with pytest.raises(
        DataError,
        match="found id 1 in row 0, id 1 in row 2, id 2 in row 1, id 2 in row 4",
    ):
        load("visualnews")


def test_an_empty_caption_is_an_error_that_names_the_pair(write: Write) -> None:
    write(row(1), row(2, caption=" "))
    with pytest.raises(DataError, match=r"an empty caption \(pair_id 2"):
        load("visualnews")
