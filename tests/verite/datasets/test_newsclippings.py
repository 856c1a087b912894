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


def test_a_falsified_pair_has_the_caption_of_one_and_the_image_of_another(
    write: Callable[..., None],
) -> None:
    write()
    pairs = load("newsclippings").pairs.set_index("pair_id")
    assert pairs.loc["0", ["label", "caption", "image_path", "method", "donor_id"]].tolist() == [
        "true", "Boat 0 at sea", "times/images/0.jpg", "", "",
    ]  # fmt: skip
    assert pairs.loc["0:1", ["label", "text_id", "image_id", "image_path", "method", "donor_id", "similarity"]].tolist() == [
        "out-of-context", "0", "1", "times/images/1.jpg", SUBSET, "1", 0.9,
    ]  # fmt: skip


def test_the_publishers_splits_are_kept(write: Callable[..., None]) -> None:
    write()
    pairs = load("newsclippings").pairs
    assert pairs.groupby("split")["pair_id"].agg(list).to_dict() == {
        "train": ["0", "0:1", "2", "2:3"],
        "validation": ["4", "4:5"],
        "test": ["6", "6:7"],
    }


def test_pairs_that_share_an_image_or_a_story_are_one_group_within_a_split(
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


def test_rows_whose_image_or_caption_stands_in_another_split_are_marked(
    write: Callable[..., None],
) -> None:
    rows = [news(number) for number in range(10)]
    rows[7]["caption"] = "boat 2 AT sea"
    write(rows=rows, val=[note(4, 4), note(4, 1)])
    leaks = load("newsclippings").pairs.set_index("pair_id")["leaks"]
    assert leaks[leaks].index.tolist() == ["0:1", "2", "2:3", "4:1", "6:7"]


def test_a_merged_subset_tells_the_subset_of_each_pair(
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


def test_a_place_that_the_list_of_subsets_does_not_have_is_an_error(
    write: Callable[..., None],
) -> None:
    write(
        "merged_balanced",
        top={"source_datasets": ["by_text"]},
        train=[note(0, 0, source_dataset=1)],
    )
    with pytest.raises(
        DataError,
        match=(
            r"merged_balanced/train\.json: expected 'source_datasets' as a list of"
            r" names .*IndexError"
        ),
    ):
        load("newsclippings", subset="merged_balanced")


def test_a_pair_that_is_annotated_twice_counts_once(write: Callable[..., None]) -> None:
    write(train=[note(0, 0), note(0, 1), note(0, 0), note(0, 2)])
    pairs = load("newsclippings").pairs
    assert pairs.loc[pairs["split"] == "train", "pair_id"].tolist() == [
        "0",
        "0:1",
        "0:2",
    ]


def test_a_pair_without_a_score_has_no_similarity(write: Callable[..., None]) -> None:
    write(train=[note(0, 0, similarity_score=None), note(0, 1, 0.25)])
    assert load("newsclippings").pairs["similarity"].isna().tolist()[:2] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (note(2, 3, id="2"), r"annotation 1 \(id 2\): expected 'id' as int, found '2'"),
        (note(2, 3, image_id=None), "expected 'image_id' as int, found None"),
        (note(2, 3, falsified=1), "expected 'falsified' as bool, found 1"),
        (
            note(2, 3, similarity_score="0.5"),
            "expected 'similarity_score' as float, found '0.5'",
        ),
        (
            note(2, 3, falsified=False),
            "falsified exactly if its image is another's; not so in annotation 1",
        ),
        (
            note(2, 2, falsified=True),
            "falsified exactly if its image is another's; not so in annotation 1",
        ),
        ([2, 3], "expected an object with a list of 'annotations'"),
    ],
)
def test_a_malformed_annotation_is_an_error_that_names_it(
    write: Callable[..., None], broken: object, fault: str
) -> None:
    write(val=[note(4, 4), broken])
    with pytest.raises(DataError, match=rf"{SUBSET}/val\.json.*{fault}"):
        load("newsclippings")


@pytest.mark.parametrize(
    "content", [[], {}, {"annotations": []}, {"annotations": {"id": 1}}]
)
def test_a_file_without_annotations_is_an_error(
    write: Callable[..., None], data_home: Path, content: object
) -> None:
    write()
    put(data_home / "newsclippings" / "data" / SUBSET / "test.json", content)
    with pytest.raises(
        DataError, match=r"test\.json: expected an object with a list of 'annotations'"
    ):
        load("newsclippings")


def test_an_id_that_visual_news_does_not_have_is_named(
    write: Callable[..., None],
) -> None:
    write(train=[note(0, 0), note(0, 12), note(11, 11)])
    with pytest.raises(
        DataError,
        match=rf"data\.json: no id 11, 12, which the annotations of {SUBSET} name",
    ):
        load("newsclippings")


def test_a_pair_in_two_splits_is_an_error(write: Callable[..., None]) -> None:
    write(test=[note(0, 0), note(0, 1)])
    with pytest.raises(
        DataError, match="pair_id must be unique; '0' stands in rows 0, 6"
    ):
        load("newsclippings")


def test_a_missing_split_is_named(write: Callable[..., None], data_home: Path) -> None:
    write()
    missing = data_home / "newsclippings" / "data" / SUBSET / "val.json"
    missing.unlink()
    with pytest.raises(
        MissingDataError, match=rf"{missing}.*run the repository's download\.sh"
    ):
        load("newsclippings")


# The file of captions
# --------------------------------------------------------------------------------------------


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


def test_both_rows_are_true_and_the_firsts_caption_with_the_seconds_image_is_out_of_context(
    tell: Callable[..., pd.DataFrame],
) -> None:
    pairs = tell(told(0), told(1))
    assert pairs[["pair_id", "label", "text_id", "image_path"]].to_numpy().tolist() == [
        ["newsclippings_0", "true", "text_0", "times/images/0.jpg"],
        ["newsclippings_0:1", "out-of-context", "text_0", "times/images/1.jpg"],
        ["newsclippings_1", "true", "text_1", "times/images/1.jpg"],
    ]
    assert pairs.loc[1, ["caption", "donor_id", "method", "split", "source"]].tolist() == [
        "Boat 0 at sea", "newsclippings_1", "merged_balanced", "test", "times",
    ]  # fmt: skip


def test_a_true_pair_that_stands_again_counts_once_and_binds_those_beside_it(
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


def test_entities_get_the_types_of_their_fields(
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
        ["Ada Lux", "PERSON"], ["Bo Marr", "PERSON"], ["Arland", "GPE"], ["Friday", "DATE"],
        ["Pier Fair", "EVENT"], ["Mary Rose", "PRODUCT"],
    ]  # fmt: skip


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
def test_names_count_as_the_caption_writes_them(
    tell: Callable[..., pd.DataFrame], caption: str, listed: object, expected: list[str]
) -> None:
    assert [name for name, _ in entities_of(tell, caption, location=listed)] == expected


def test_a_date_needs_no_capital(tell: Callable[..., pd.DataFrame]) -> None:
    assert entities_of(tell, "A boat last year", date="last year", event="boat") == [
        ["last year", "DATE"]
    ]


def test_a_row_without_fields_has_no_entities(
    tell: Callable[..., pd.DataFrame],
) -> None:
    bare = {
        key: value
        for key, value in told(0).items()
        if key in ("image_path", "true_caption")
    }
    assert tell(bare, told(1))["entities"].tolist() == ["[]"] * 3


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (
            told(1, people=3),
            "row 1: expected 'people' as text or a list of texts, found 3",
        ),
        (
            told(1, location=["Arland", None]),
            "row 1: expected 'location' as text or a list of texts",
        ),
        (
            told(1, true_caption=None),
            "row 1: expected 'true_caption' as text, found None",
        ),
        (told(1, image_path=" "), "row 1: expected 'image_path' as text, found ' '"),
        ("Boat", "row 1: expected a JSON object, found str"),
        (
            told(1, "Boat 0 at sea"),
            "another image with its own caption; row 0 and the next share one",
        ),
        (
            told(0, "Another"),
            "another image with its own caption; row 0 and the next share one",
        ),
    ],
)
def test_a_malformed_row_is_an_error_that_names_it(
    tell: Callable[..., pd.DataFrame], broken: object, fault: str
) -> None:
    with pytest.raises(DataError, match=rf"context_newsclippings_test\.json.*{fault}"):
        tell(told(0), broken)


def test_a_row_without_its_partner_is_an_error(
    tell: Callable[..., pd.DataFrame],
) -> None:
    with pytest.raises(DataError, match="an even number of rows"):
        tell(told(0), told(1), told(2))


# The real file
# -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(real_data: Path) -> pd.DataFrame:
    return load("newsclippings", subset="captions").pairs


@pytest.fixture(scope="module")
def raw(real_data: Path) -> pd.DataFrame:
    return pd.read_json(real_data / "newsclippings" / "context_newsclippings_test.json")


def test_each_image_has_one_caption_in_the_file_so_both_rows_of_two_are_true(
    raw: pd.DataFrame,
) -> None:
    assert len(raw) == 7_264
    assert raw.groupby("image_path")["true_caption"].nunique().unique().tolist() == [1]
    first, second = raw["image_path"][::2], raw["image_path"][1::2]
    assert len(set(first) & set(second)) == 1_117


def test_a_caption_is_nearer_to_that_of_the_image_beside_it_than_to_another(
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


def test_there_are_6147_true_pairs_and_3632_out_of_context_in_groups_of_nine_at_most(
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


def test_captions_have_no_punctuation(real: pd.DataFrame) -> None:
    assert not real["caption"].str.contains(r"[^\w\s]").any()
