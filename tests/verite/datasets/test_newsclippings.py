from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from verite.datasets import load
from verite.errors import DataError, MissingDataError

SUBSET = "semantics_clip_text_text"


def news(number: int, /, **other: object) -> dict[str, Any]:
    made = {
        "id": number,
        "caption": f"Boat {number} at sea",
        "topic": "boats",
        "source": "times",
    }
    return (
        made
        | {
            "image_path": f"./times/images/{number}.jpg",
            "article_path": f"./times/articles/{number}.txt",
        }
        | other
    )


def note(
    caption: int, image: int, score: float = 0.5, /, **other: object
) -> dict[str, Any]:
    return {
        "id": caption,
        "image_id": image,
        "similarity_score": score,
        "falsified": caption != image,
    } | other


def put(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf8")


@pytest.fixture
def write(data_home: Path) -> Callable[..., None]:
    """Write ten rows of VisualNews, and annotations.

    Two pairs of pairs for training and one for each other split.
    """

    def to_files(
        subset: str = SUBSET,
        rows: list[dict[str, Any]] | None = None,
        top: dict[str, Any] | None = None,
        **parts: Any,
    ) -> None:
        put(
            data_home / "visualnews" / "origin" / "data.json",
            rows or [news(number) for number in range(10)],
        )
        standard = {
            "train": [note(0, 0), note(0, 1, 0.9), note(2, 2), note(2, 3, 0.8)],
            "val": [note(4, 4), note(4, 5)],
            "test": [note(6, 6), note(6, 7)],
        }
        for part, notes in (standard | parts).items():
            put(
                data_home / "newsclippings" / "data" / subset / f"{part}.json",
                {"annotations": notes} | (top or {}),
            )

    return to_files


def test_falsified_pair(
    write: Callable[..., None],
) -> None:
    write()
    pairs = load("newsclippings").pairs.set_index("pair_id")
    assert pairs.loc[
        "0", ["label", "caption", "image_path", "method", "donor_id"]
    ].tolist() == [
        "true",
        "Boat 0 at sea",
        "times/images/0.jpg",
        "",
        "",
    ]
    assert pairs.loc[
        "0:1",
        [
            "label",
            "text_id",
            "image_id",
            "image_path",
            "method",
            "donor_id",
            "similarity",
        ],
    ].tolist() == [
        "out-of-context",
        "0",
        "1",
        "times/images/1.jpg",
        SUBSET,
        "1",
        0.9,
    ]


def test_splits(write: Callable[..., None]) -> None:
    write()
    pairs = load("newsclippings").pairs
    assert pairs.groupby("split")["pair_id"].agg(list).to_dict() == {
        "train": ["0", "0:1", "2", "2:3"],
        "validation": ["4", "4:5"],
        "test": ["6", "6:7"],
    }


def test_groups(
    write: Callable[..., None],
) -> None:
    rows = [news(number) for number in range(10)]
    rows[3]["article_path"] = rows[8]["article_path"]
    write(
        rows=rows,
        train=[
            note(0, 0),
            note(0, 1),
            note(1, 1),
            note(1, 3),
            note(8, 8),
            note(8, 9),
            note(2, 2),
            note(2, 4),
        ],
        val=[note(5, 5)],
    )
    pairs = load("newsclippings").pairs
    train = pairs[pairs["split"] == "train"].set_index("pair_id")["group"]
    assert set(train.drop(["2", "2:4"])) == {"train:0"}
    assert train["2"] == train["2:4"] != train["0"]


def test_leaks(
    write: Callable[..., None],
) -> None:
    rows = [news(number) for number in range(10)]
    rows[7]["caption"] = "boat 2 AT sea"
    write(rows=rows, val=[note(4, 4), note(4, 1)])
    leaks = load("newsclippings").pairs.set_index("pair_id")["leaks"]
    assert leaks[leaks].index.tolist() == ["0:1", "2", "2:3", "4:1", "6:7"]


def test_merged_subset(
    write: Callable[..., None],
) -> None:
    top = {"source_datasets": ["by_text", "by_scene"]}
    parts = {
        part: [note(n, n, source_dataset=0), note(n, n + 1, source_dataset=1)]
        for n, part in ((0, "train"), (2, "val"), (4, "test"))
    }
    write("merged_balanced", top=top, **parts)
    assert (
        load("newsclippings", subset="merged_balanced").pairs["method"].tolist()
        == ["", "by_scene"] * 3
    )


def test_unknown_subset(
    write: Callable[..., None],
) -> None:
    write(
        "merged_balanced",
        top={"source_datasets": ["by_text"]},
        train=[note(0, 0, source_dataset=1)],
    )
    message = r"merged_balanced/train\.json: expected 'source_dataset' .* IndexError"
    with pytest.raises(DataError, match=message):
        load("newsclippings", subset="merged_balanced")


def test_duplicate_annotations(write: Callable[..., None]) -> None:
    write(train=[note(0, 0), note(0, 1), note(0, 0), note(0, 2)])
    pairs = load("newsclippings").pairs
    assert pairs.loc[pairs["split"] == "train", "pair_id"].tolist() == [
        "0",
        "0:1",
        "0:2",
    ]


def test_without_score(write: Callable[..., None]) -> None:
    write(train=[note(0, 0, similarity_score=None), note(0, 1, 0.25)])
    assert load("newsclippings").pairs["similarity"].isna().tolist()[:2] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (note(2, 3, id="2"), "row 1: expected 'id' as int, found '2'"),
        (note(2, 3, falsified=1), "row 1: expected 'falsified' as bool, found 1"),
        (note(2, 3, similarity_score="1"), "expected 'similarity_score' as float"),
        (note(2, 3, falsified=False), "another's; not so in row 1"),
        (note(2, 2, falsified=True), "another's; not so in row 1"),
        ([2, 3], "row 1: expected 'id' as int, found None"),
    ],
)
def test_malformed_annotation(
    write: Callable[..., None], broken: object, message: str
) -> None:
    write(val=[note(4, 4), broken])
    with pytest.raises(DataError, match=rf"{SUBSET}/val\.json.*{message}"):
        load("newsclippings")


@pytest.mark.parametrize("content", [[], {}, {"annotations": []}])
def test_no_annotations(
    write: Callable[..., None], data_home: Path, content: object
) -> None:
    write()
    put(data_home / "newsclippings" / "data" / SUBSET / "test.json", content)
    with pytest.raises(DataError, match=r"test\.json: expected a JSON list of objects"):
        load("newsclippings")


def test_unknown_id(write: Callable[..., None]) -> None:
    write(train=[note(0, 0), note(0, 12), note(11, 11)])
    message = rf"data\.json: no id 11, 12, which are annotated in {SUBSET}"
    with pytest.raises(DataError, match=message):
        load("newsclippings")


def test_pair_in_two_splits(write: Callable[..., None]) -> None:
    write(test=[note(0, 0), note(0, 1)])
    with pytest.raises(DataError, match="pair_id"):
        load("newsclippings")


def test_missing_split(write: Callable[..., None], data_home: Path) -> None:
    write()
    missing = data_home / "newsclippings" / "data" / SUBSET / "val.json"
    missing.unlink()
    with pytest.raises(
        MissingDataError, match=rf"{missing}.*run the repository's download\.sh"
    ):
        load("newsclippings")


def told(number: int, caption: str = "", /, **fields: object) -> dict[str, Any]:
    none = "not enough information"
    made = dict.fromkeys(
        ("people", "things", "event", "date", "location", "motivation", "source"), none
    )
    path = f"./visual_news/origin/./times/images/{number}.jpg"
    return (
        made
        | {"image_path": path, "true_caption": caption or f"Boat {number} at sea"}
        | fields
    )


@pytest.fixture
def tell(data_home: Path) -> Callable[..., pd.DataFrame]:
    def to_pairs(*rows: object) -> pd.DataFrame:
        put(data_home / "newsclippings" / "context_newsclippings_test.json", rows)
        return load("newsclippings", subset="captions").pairs

    return to_pairs


def entities_of(
    tell: Callable[..., pd.DataFrame], caption: str, **fields: object
) -> list[list[str]]:
    found: list[list[str]] = json.loads(
        tell(told(0, caption, **fields), told(1))["entities"][0]
    )
    return found


def test_captions(
    tell: Callable[..., pd.DataFrame],
) -> None:
    pairs = tell(told(0), told(1))
    assert pairs[["pair_id", "label", "text_id", "image_path"]].to_numpy().tolist() == [
        ["newsclippings_0", "true", "text_0", "times/images/0.jpg"],
        ["newsclippings_0:1", "out-of-context", "text_0", "times/images/1.jpg"],
        ["newsclippings_1", "true", "text_1", "times/images/1.jpg"],
    ]
    assert pairs.loc[
        1, ["caption", "donor_id", "method", "split", "source"]
    ].tolist() == [
        "Boat 0 at sea",
        "newsclippings_1",
        "merged_balanced",
        "test",
        "times",
    ]


def test_repeated_pair(
    tell: Callable[..., pd.DataFrame],
) -> None:
    pairs = tell(told(0), told(1), told(1), told(2), told(3), told(4)).set_index(
        "pair_id"
    )
    assert pairs.index.tolist() == [
        f"newsclippings_{name}"
        for name in ("0", "0:1", "1", "1:3", "3", "4", "4:5", "5")
    ]
    assert pairs["group"].tolist() == ["pair_0"] * 5 + ["pair_4"] * 3


def test_entity_types(
    tell: Callable[..., pd.DataFrame],
) -> None:
    caption = (
        "Ada Lux and Bo Marr see the Mary Rose at the Pier Fair in Arland on Friday"
    )
    fields = {
        "people": ["Ada Lux", "Bo Marr"],
        "things": "Mary Rose",
        "event": "Pier Fair",
        "location": "Arland",
        "date": "Friday",
    }
    assert entities_of(tell, caption, **fields) == [
        ["Ada Lux", "PERSON"],
        ["Bo Marr", "PERSON"],
        ["Arland", "GPE"],
        ["Friday", "DATE"],
        ["Pier Fair", "EVENT"],
        ["Mary Rose", "PRODUCT"],
    ]


@pytest.mark.parametrize(
    ("caption", "listed", "expected"),
    [
        ("A boat in Arland", "Borvia", []),
        ("A boat in New Arlandia", "Arland", []),
        ("A boat in Port Lux Arland", "Port Lux, Arland", ["Port Lux Arland"]),
        ("A boat in Arland s Port Lux", "Port Lux, Arland", ["Port Lux", "Arland"]),
        ("A boat in Arland s Port Lux", "Port Lux, Borvia", ["Port Lux"]),
        ("A boat in Arland s port", "Arland's port", ["Arland s port"]),
        ("A boat in Arland s port", "Arland (the island, not the town)", ["Arland"]),
        ("The proArland St Lux", "pro-Arland St. Lux", []),
        ("The MidArland St Lux", "Mid-Arland St. Lux", ["MidArland St Lux"]),
        ("A boat in Arland", ["Arland", "Arland"], ["Arland"]),
        ("A boat in the harbour", "the harbour", []),
        ("The Harbour", "the Harbour", ["the Harbour"]),
        ("A boat in Arland", "", []),
        ("A boat in Arland", "Not enough information.", []),
    ],
)
def test_names_in_caption(
    tell: Callable[..., pd.DataFrame], caption: str, listed: object, expected: list[str]
) -> None:
    assert [name for name, _ in entities_of(tell, caption, location=listed)] == expected


def test_date(tell: Callable[..., pd.DataFrame]) -> None:
    assert entities_of(tell, "A boat last year", date="last year", event="boat") == [
        ["last year", "DATE"]
    ]


def test_no_entities(
    tell: Callable[..., pd.DataFrame],
) -> None:
    bare = {
        key: value
        for key, value in told(0).items()
        if key in ("image_path", "true_caption")
    }
    assert tell(bare, told(1))["entities"].tolist() == ["[]"] * 3


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (told(1, people=3), "row 1: expected 'people' as text or a list of texts"),
        (told(1, location=["Arland", None]), "row 1: expected 'location' as text"),
        (told(1, true_caption=None), "row 1: expected 'true_caption' as str, found"),
        ("Boat", "row 1: expected 'true_caption' as str, found None"),
        (told(1, "Boat 0 at sea"), "row 0 and the next share one"),
        (told(0, "Another"), "row 0 and the next share one"),
    ],
)
def test_malformed_row(
    tell: Callable[..., pd.DataFrame], broken: object, message: str
) -> None:
    with pytest.raises(DataError, match=rf"newsclippings_test\.json.*{message}"):
        tell(told(0), broken)


def test_odd_number_of_rows(
    tell: Callable[..., pd.DataFrame],
) -> None:
    with pytest.raises(DataError, match="an even number of rows"):
        tell(told(0), told(1), told(2))


@pytest.fixture(scope="module")
def real(real_data: Path) -> pd.DataFrame:
    return load("newsclippings", subset="captions").pairs


@pytest.fixture(scope="module")
def raw(real_data: Path) -> pd.DataFrame:
    return pd.read_json(real_data / "newsclippings" / "context_newsclippings_test.json")


def test_real_captions_are_true(
    raw: pd.DataFrame,
) -> None:
    assert len(raw) == 7_264
    assert raw.groupby("image_path")["true_caption"].nunique().unique().tolist() == [1]
    first, second = raw["image_path"][::2], raw["image_path"][1::2]
    assert len(set(first) & set(second)) == 1_117


def test_real_captions_fit(
    raw: pd.DataFrame,
) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    first, second = raw["true_caption"][::2], raw["true_caption"][1::2]
    vectors = TfidfVectorizer().fit(raw["true_caption"])
    one, other = vectors.transform(first), vectors.transform(second)
    beside = float(one.multiply(other).sum(axis=1).mean())
    shuffled = float(
        one.multiply(other[np.random.default_rng(0).permutation(other.shape[0])])
        .sum(axis=1)
        .mean()
    )
    assert beside == pytest.approx(0.080, abs=0.001)
    assert shuffled == pytest.approx(0.0135, abs=0.001)


def test_real_counts(
    real: pd.DataFrame,
) -> None:
    assert real["label"].value_counts().to_dict() == {
        "true": 6_147,
        "out-of-context": 3_632,
    }
    assert real["image_id"].nunique() == 6_147
    assert real["text_id"].nunique() == 6_146
    assert real["group"].nunique() == 2_993
    assert real["group"].value_counts().max() == 9


def test_real_punctuation(real: pd.DataFrame) -> None:
    assert not real["caption"].str.contains(r"[^\w\s]").any()
