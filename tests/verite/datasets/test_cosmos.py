from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from verite.datasets import load
from verite.errors import DataError


def row(
    number: int,
    label: int,
    caption1: str,
    caption2: str = "A second caption.",
    /,
    **other: object,
) -> dict[str, Any]:
    made = {
        "img_local_path": f"test/{number}.jpg",
        "caption1": caption1,
        "caption2": caption2,
        "context_label": label,
    }
    return (
        made
        | {"article_url": f"https://news.example/{number}", "caption1_entities": []}
        | other
    )


def write(home: Path, lines: list[str]) -> None:
    (home / "cosmos").mkdir(exist_ok=True)
    (home / "cosmos" / "test_data.json").write_text(
        "\n".join(lines) + "\n", encoding="utf8"
    )


@pytest.fixture
def made(data_home: Path) -> Path:
    rows = [
        row(0, 0, "A boat\u2028at sea."),
        row(1, 1, "A dog."),
        row(2, 1, "a  DOG. "),
        row(3, 0, "A quay.", img_local_path="test/0.jpg"),
        row(4, 0, "A dog."),
    ]
    write(data_home, [json.dumps(entry, ensure_ascii=False) for entry in rows])
    return data_home


def test_context_label_1_is_misinformation(made: Path) -> None:
    assert load("cosmos").pairs["label"].tolist() == [
        "true",
        "misinformation",
        "misinformation",
        "true",
        "true",
    ]


def test_ids_are_those_of_rows_and_paths(made: Path) -> None:
    pairs = load("cosmos").pairs
    assert pairs["pair_id"].tolist() == [f"cosmos_{number}" for number in range(5)]
    assert pairs["image_id"].tolist() == [
        "test/0",
        "test/1",
        "test/2",
        "test/0",
        "test/4",
    ]
    assert pairs["text_id"].tolist() == [
        "text_0",
        "text_1",
        "text_2",
        "text_3",
        "text_1",
    ]
    assert pairs["article_url"].tolist()[1] == "https://news.example/1"


def test_pairs_that_share_an_image_or_a_folded_caption_are_one_group(
    made: Path,
) -> None:
    assert load("cosmos").pairs["group"].tolist() == [
        "pair_0",
        "pair_1",
        "pair_1",
        "pair_0",
        "pair_1",
    ]


def test_the_second_caption_is_an_option_with_the_same_labels(made: Path) -> None:
    first, second = load("cosmos").pairs, load("cosmos", caption="caption2").pairs
    assert set(second["caption"]) == {"A second caption."}
    assert second["text_id"].nunique() == second["group"].nunique() == 1
    assert second["label"].tolist() == first["label"].tolist()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"img_local_path": "test/1.jpg", ', "expected one JSON object a line"),
        ("[1, 2]", "expected a JSON object, found list"),
        (
            json.dumps({"img_local_path": "test/1.jpg"}),
            "expected 'caption1' as str, found nothing",
        ),
        (
            json.dumps(row(1, 1, "A dog.", caption1=None)),
            "expected 'caption1' as str, found None",
        ),
        (
            json.dumps(row(1, 1, "A dog.", context_label="1")),
            "expected 'context_label' as int, found '1'",
        ),
        (
            json.dumps(row(1, 1, "A dog.", context_label=True)),
            "expected 'context_label' as int, found True",
        ),
        (
            json.dumps(row(1, 1, "A dog.", context_label=2)),
            r"expected context_label 0 \(true\) or 1 \(out of context\), found 2",
        ),
    ],
)
def test_a_malformed_line_is_an_error_that_names_it(
    data_home: Path, line: str, fault: str
) -> None:
    write(data_home, [json.dumps(row(0, 0, "A boat.")), "", line])
    with pytest.raises(DataError, match=rf"test_data\.json, line 3: {fault}"):
        load("cosmos")


def test_an_empty_caption_is_an_error_that_names_the_pair(data_home: Path) -> None:
    write(data_home, [json.dumps(row(0, 0, "A boat.")), json.dumps(row(1, 1, " "))])
    with pytest.raises(DataError, match=r"an empty caption \(pair_id cosmos_1"):
        load("cosmos")


# The real file
# -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(real_data: Path) -> pd.DataFrame:
    return load("cosmos").pairs


def test_the_public_part_has_500_pairs_of_each_class_each_with_its_own_image(
    real: pd.DataFrame,
) -> None:
    assert real["label"].value_counts().to_dict() == {
        "true": 500,
        "misinformation": 500,
    }
    assert real["image_id"].nunique() == 1_000


def test_146_first_captions_repeat_an_earlier_one_and_148_but_for_case_and_space(
    real: pd.DataFrame,
) -> None:
    assert real["caption"].duplicated().sum() == 146
    assert real["text_id"].nunique() == 1_000 - 146
    assert real["group"].nunique() == 1_000 - 148


def test_an_article_of_snopes_means_misinformation(real: pd.DataFrame) -> None:
    snopes = real["article_url"].str.startswith("https://www.snopes.com/")
    assert (snopes == (real["label"] == "misinformation")).mean() == pytest.approx(
        0.979
    )


@pytest.mark.parametrize(
    ("column", "expected"), [("text_id", 0.998), ("image_id", 1.0)]
)
def test_either_modality_alone_could_tell_nearly_every_pair(
    real: pd.DataFrame, column: str, expected: float
) -> None:
    assert pd.crosstab(real[column], real["label"]).max(axis=1).sum() / len(
        real
    ) == pytest.approx(expected)
