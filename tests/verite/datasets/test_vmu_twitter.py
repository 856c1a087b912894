from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from verite.dataset import Dataset
from verite.datasets import available, load
from verite.datasets.vmu_twitter import renaming
from verite.errors import DataError, MissingDataError
from verite.tables import read_columns

HEADERS = {
    "mediaeval2015/devset/tweets.txt": (
        "tweetId\ttweetText\tuserId\timageId(s)\tusername\ttimestamp\tlabel"
    ),
    "mediaeval2015/testset/tweets.txt": (
        "tweetId\ttweetText\tuserId\timageId(s)\tusername\ttimestamp\tlabel"
    ),
    "mediaeval2016/devset/posts.txt": (
        "post_id\tpost_text\tuser_id\timage_id(s)\tusername\ttimestamp\tlabel"
    ),
    "mediaeval2016/testset/posts_groundtruth.txt": (
        "post_id\tpost_text\tuser_id\tusername\timage_id\ttimestamp\tlabel"
    ),
}
OLD_DEV, OLD_TEST, DEV, TEST = HEADERS
Posts = dict[str, list[tuple[str, str, str, str]]]


@pytest.fixture
def posts() -> Posts:
    """Post, text, images, label, for each of the four files."""
    return {
        OLD_DEV: [
            ("1", "a shark", "stormA_fake_1", "fake"),
            ("2", "a quay", "stormB_fake_2", "fake"),
            ("2", "a quay", "stormB_real_1", "real"),
            ("3", "a joke", "stormA_fake_1", "humor"),
            ("9", "gone since", "stormA_fake_1", "fake"),
        ],
        OLD_TEST: [("4", "a moon", "moon_1 ", "fake")],
        DEV: [
            ("1", "a shark", "storm_fake_7", "fake"),
            ("2", "a quay", "storm_real_8", "real"),
            ("4", "a moon", "moon_1, moon_2,", "fake"),
        ],
        TEST: [("5", 'a "kid', "kid_1", "real"), ("6", 'a "kid', "kid_1", "real")],
    }


@pytest.fixture
def write(data_home: Path) -> Callable[[Posts], None]:
    def to_files(posts: Posts) -> None:
        for name, header in HEADERS.items():
            lines = [header]
            for post, text, images, label in posts[name]:
                middle = ["u", "n", images] if name == TEST else ["u", images, "n"]
                lines.append("\t".join([post, text, *middle, "then", label]))
            path = data_home / "vmu-twitter" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf8")

    return to_files


def rows(dataset: Dataset) -> set[tuple[str, str, str]]:
    return set(
        dataset.pairs[["post_id", "image_id", "label"]].itertuples(
            index=False, name=None
        )
    )


def test_rows(posts: Posts, write: Callable[[Posts], None]) -> None:
    write(posts)
    assert rows(load("vmu-twitter")) == {
        ("1", "storm_fake_7", "misinformation"),
        ("2", "storm_real_8", "true"),
        ("4", "moon_1", "misinformation"),
        ("4", "moon_2", "misinformation"),
        ("9", "storm_fake_7", "misinformation"),
        ("5", "kid_1", "true"),
        ("6", "kid_1", "true"),
    }


def test_ids_and_groups(posts: Posts, write: Callable[[Posts], None]) -> None:
    write(posts)
    pairs = load("vmu-twitter").pairs.set_index("pair_id")
    assert pairs.loc["5_kid_1", "text_id"] == pairs.loc["6_kid_1", "text_id"] == "5"
    assert (pairs["group"] == pairs["image_id"]).all()
    assert pairs.loc["9_storm_fake_7", "edition"] == "2015"


def test_comparable(posts: Posts, write: Callable[[Posts], None]) -> None:
    write(posts)
    dataset = load("vmu-twitter", protocol="comparable")
    assert set(dataset.pairs["split"]) == {"train", "test"}
    assert dataset.part("validation").equals(dataset.part("test"))


def test_available_images(
    posts: Posts, write: Callable[[Posts], None], data_home: Path
) -> None:
    write(posts)
    assert not available("vmu-twitter", with_images="available")
    with pytest.raises(MissingDataError, match=r"images_available\.txt.*one a line"):
        load("vmu-twitter", with_images="available")
    (data_home / "vmu-twitter" / "images_available.txt").write_text(
        "kid_1.png\nmoon_2.jpg\r\n\n", encoding="utf8"
    )
    pairs = load("vmu-twitter", with_images="available").pairs
    assert dict(zip(pairs["image_id"], pairs["image_path"], strict=True)) == {
        "kid_1": "kid_1.png",
        "moon_2": "moon_2.jpg",
    }
    (data_home / "vmu-twitter" / "images_available.txt").write_text(
        "none.png\n", encoding="utf8"
    )
    with pytest.raises(
        DataError, match="none of its 1 file names is an image of a post"
    ):
        load("vmu-twitter", with_images="available")


def test_unknown_label(posts: Posts, write: Callable[[Posts], None]) -> None:
    posts[DEV][1] = ("2", "a quay", "storm_real_8", "Real")
    write(posts)
    message = r"posts\.txt, line 3: expected label fake or real or humor, found 'Real'"
    with pytest.raises(DataError, match=message):
        load("vmu-twitter")


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (("8", "  ", "moon_1", "fake"), "empty caption"),
        (("8", "no image", " , ", "fake"), "empty image_id"),
    ],
)
def test_empty_cells(
    posts: Posts,
    write: Callable[[Posts], None],
    row: tuple[str, str, str, str],
    fault: str,
) -> None:
    posts[DEV].append(row)
    write(posts)
    with pytest.raises(DataError, match=fault):
        load("vmu-twitter")


def test_two_new_names() -> None:
    old = pd.DataFrame({"post_id": ["1", "2"], "image_id": ["a", "a"]})
    new = pd.DataFrame({"post_id": ["1", "2"], "image_id": ["b", "c"]})
    with pytest.raises(DataError, match="the image a of 2015 several names"):
        renaming(old, new)


@pytest.fixture(scope="module")
def everything(real_data: Path) -> pd.DataFrame:
    return load("vmu-twitter", protocol="comparable").pairs


def test_real_counts(
    everything: pd.DataFrame,
) -> None:
    posts = everything.drop_duplicates("post_id")
    counts = posts.groupby(["split", "label"]).size()
    assert counts["train"].to_dict() == {"misinformation": 9_404, "true": 6_225}
    assert counts["test"].to_dict() == {"misinformation": 1_230, "true": 998}
    assert everything["split"].value_counts().to_dict() == {
        "train": 15_872,
        "test": 2_228,
    }
    assert set(everything["edition"]) == {"2016"}


def test_real_available(real_data: Path) -> None:
    pairs = load("vmu-twitter", with_images="available", protocol="comparable").pairs
    counts = pairs.groupby(["split", "label"]).size()
    assert counts["train"].sum() == 14_003
    assert counts["test"].to_dict() == {"misinformation": 643, "true": 474}


def test_real_images(
    everything: pd.DataFrame,
) -> None:
    assert everything.groupby("image_id")["label"].nunique().eq(1).all()
    assert everything["image_id"].value_counts().max() == 1_786


def test_real_renaming(real_data: Path) -> None:
    columns = [
        ("post_id", "post_id", "tweetId"),
        ("image_id", "image_id(s)", "imageId(s)"),
        "label",
    ]
    tables = {}
    for name in (OLD_DEV, OLD_TEST, DEV):
        table, _ = read_columns(
            real_data / "vmu-twitter" / name, columns, delimiter="\t", quoted=False
        )
        table = table[table["label"] != "humor"].assign(
            image_id=lambda t: t["image_id"].str.split(r"\s*,\s*", regex=True)
        )
        tables[name] = table.explode("image_id").assign(
            image_id=lambda t: t["image_id"].str.strip()
        )
    old, new = (
        pd.concat([tables[OLD_DEV], tables[OLD_TEST]]).drop_duplicates(),
        tables[DEV],
    )
    assert set(old["post_id"]) == set(new["post_id"])
    names = renaming(old, new)
    assert (len(names), len(set(names.values()))) == (385, 385)
    assert sum(before != after for before, after in names.items()) == 203

    def count(table: pd.DataFrame) -> int:
        return len(table.drop_duplicates(["post_id", "image_id"]))

    assert (
        count(pd.concat([old, new])) == 26_095
    )  # what a union gives that does not know the names
    renamed = old.assign(image_id=old["image_id"].replace(names))
    assert count(pd.concat([renamed, new])) == count(new) + 1 == 15_873
    two_labels = old.groupby("post_id")["label"].nunique().loc[lambda n: n > 1].index
    assert len(two_labels) == 1
    assert new.loc[new["post_id"].isin(two_labels), "label"].tolist() == ["real"]


@pytest.mark.parametrize("seed", [0, 1])
def test_real_validation(everything: pd.DataFrame, seed: int) -> None:
    pairs = load("vmu-twitter", seed=seed).pairs
    assert pairs.groupby("image_id")["split"].nunique().eq(1).all()
    held, development = (
        pairs[pairs["split"] == "validation"],
        everything[everything["split"] == "train"],
    )
    share = held["label"].value_counts() / development["label"].value_counts()
    assert share.between(0.099, 0.1).all()
    assert held["image_id"].nunique() > 30
    assert (
        pairs[pairs["split"] == "test"]["pair_id"].tolist()
        == everything[everything["split"] == "test"]["pair_id"].tolist()
    )


def test_real_seeds(real_data: Path) -> None:
    first, again, other = (load("vmu-twitter", seed=seed).pairs for seed in (0, 0, 1))
    assert first.equals(again)
    held, others = (
        set(pairs.loc[pairs["split"] == "validation", "image_id"])
        for pairs in (first, other)
    )
    assert len(held & others) < len(held) / 2
