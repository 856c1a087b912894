from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from verite.building import balance, pack, read, unpack
from verite.building.unpacking import links
from verite.datasets import load
from verite.errors import DataError
from verite.pairs import validate


def test_an_article_gives_three_pairs_and_one_without_an_out_of_context_image_two(
    write: Callable[..., Path],
) -> None:
    pairs = unpack(read(write()), "mine")
    assert pairs["label"].tolist() == ["true", "miscaptioned", "out-of-context"] * 4 + [
        "true",
        "miscaptioned",
    ]
    assert pairs["image_id"].tolist()[:3] == ["true_0", "true_0", "false_0"]
    assert pairs["text_id"].tolist()[:3] == ["true_0", "false_0", "true_0"]
    assert pairs["image_path"].tolist()[2] == "images/false_0.jpg"
    assert set(pairs["dataset"]) == {"mine"}


def test_articles_with_one_page_one_caption_or_one_link_are_one_group(
    write: Callable[..., Path],
) -> None:
    pairs = unpack(read(write({"4": {"false_url": "https://elsewhere.example/0.jpg"}})))
    groups = pairs.groupby(pairs["pair_id"].str[0])["group"].first().to_dict()
    assert groups == {
        "0": "article_0",
        "1": "article_1",
        "2": "article_1",
        "3": "article_0",
        "4": "article_0",
    }


def test_one_link_is_one_image_and_a_topic_is_handed_on(
    write: Callable[..., Path],
) -> None:
    articles = read(
        write(
            {"3": {"false_url": "https://elsewhere.example/0.jpg"}}, topic=list("abcde")
        )
    )
    pairs = unpack(articles)
    assert pairs.loc[
        pairs["pair_id"] == "3-out-of-context", ["image_id", "image_path", "topic"]
    ].to_numpy().tolist() == [["false_0", "images/false_0.jpg", "d"]]
    assert links(articles)["id"].tolist() == [
        "true_0",
        "false_0",
        "true_1",
        "false_1",
        "true_2",
        "false_2",
        "true_3",
        "true_4",
    ]
    assert set(links(articles)["id"]) == set(pairs["image_id"])


def test_balance_names_what_stands_too_often_or_too_seldom(
    write: Callable[..., Path],
) -> None:
    found = balance(
        unpack(read(write({"0": {"false_url": "https://pictures.example/true-1.jpg"}})))
    )
    assert (found.images, found.images_balanced) == (
        5,
        4,
    )  # an article's own image serves another as out-of-context
    assert (found.captions, found.captions_balanced) == (5, 4)
    assert found.no_image == ("true_4",)
    assert found.repeated == ("true_1", "false_3")


def test_pairs_are_packed_into_the_articles_that_they_were_made_of(
    write: Callable[..., Path],
) -> None:
    articles = read(write(topic=list("abcde"))).iloc[
        [0, 1, 3]
    ]  # 2 shares a page with 1, and 4 a caption with 3
    packed = pack(unpack(articles), "https://mine.example")
    shared = ["true_caption", "false_caption", "topic"]
    assert packed[shared].to_numpy().tolist() == articles[shared].to_numpy().tolist()
    assert packed["id"].tolist() == ["article_0", "article_1", "article_3"]
    assert packed.loc[0, ["true_url", "false_url", "query", "snopes_url"]].tolist() == [
        "https://mine.example/true_0",
        "https://mine.example/false_0",
        "",
        "https://mine.example/article_0",
    ]


def test_a_newsroom_packed_and_unpacked_has_its_pairs_again(tmp_path: Path) -> None:
    pairs = load("newsroom", events=20, encoder=None).pairs
    pack(pairs).to_csv(tmp_path / "articles.csv", index=False)
    again = unpack(read(tmp_path / "articles.csv"))
    key = ["label", "caption"]
    assert (
        again.sort_values(key)[key].to_numpy().tolist()
        == pairs.sort_values(key)[key].to_numpy().tolist()
    )
    both = again.merge(pairs, on=["label", "caption"])
    for name in ("image_id", "text_id", "group"):
        assert (
            both.groupby(f"{name}_x")[f"{name}_y"].nunique().max()
            == both.groupby(f"{name}_y")[f"{name}_x"].nunique().max()
            == 1
        )


def test_an_article_without_an_out_of_context_pair_is_packed_with_an_empty_link(
    write: Callable[..., Path],
) -> None:
    packed = pack(unpack(read(write()).iloc[[4]]))
    assert packed["false_url"].tolist() == [""]


@pytest.mark.parametrize(
    "change", [{"label": "true"}, {"image_id": "another"}, {"label": "out-of-context"}]
)
def test_a_group_that_is_no_article_is_one_message(
    change: dict[str, str], write: Callable[..., Path]
) -> None:
    pairs = unpack(read(write()).iloc[[0, 1]])
    at = pairs.index[pairs["pair_id"] == "0-miscaptioned"]
    for name, value in change.items():
        pairs.loc[at, name] = value
    with pytest.raises(
        DataError,
        match=r"expected each group to be one article: .* Leave out: article_0",
    ):
        pack(pairs)


def test_an_out_of_context_pair_with_a_caption_of_its_own_is_no_article(
    write: Callable[..., Path],
) -> None:
    pairs = unpack(read(write()).iloc[[0, 1]])
    pairs.loc[pairs["pair_id"] == "1-out-of-context", "caption"] = "Other words."
    with pytest.raises(DataError, match=r"Leave out: article_1\."):
        pack(pairs)


@pytest.fixture(scope="module")
def unpacked(real_data: Path) -> pd.DataFrame:
    return unpack(read(real_data / "verite" / "VERITE_articles.csv"))


def test_unpacking_the_real_table_gives_the_releases_own_pairs(
    unpacked: pd.DataFrame,
) -> None:
    released = load("verite", embeddings=False).pairs
    assert unpacked["label"].value_counts().to_dict() == {
        "true": 338,
        "miscaptioned": 338,
        "out-of-context": 325,
    }
    for column in ("image_id", "caption", "image_path", "label", "group"):
        assert unpacked[column].tolist() == released[column].tolist()
    # Ids of pairs and captions are named after articles here, after row numbers there;
    # they tell the same ones apart.
    np.testing.assert_array_equal(
        pd.factorize(unpacked["text_id"])[0], pd.factorize(released["text_id"])[0]
    )
    assert unpacked["pair_id"].nunique() == 1001
    validate(unpacked)


def test_the_release_is_balanced_but_for_thirteen_captions(
    unpacked: pd.DataFrame,
) -> None:
    found = balance(unpacked)
    assert (
        found.images,
        found.images_balanced,
        found.captions,
        found.captions_balanced,
    ) == (338, 338, 338, 325)
    without = (163, 178, 193, 212, 218, 227, 228, 248, 268, 289, 314, 331, 337)
    assert found.no_image == tuple(f"true_{article}" for article in without)
    assert found.repeated == ("false_328",)
