from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from verite.dataset import Dataset
from verite.datasets import load
from verite.errors import DataError

COLUMNS = [
    "author",
    "clean_title",
    "created_utc",
    "domain",
    "hasImage",
    "id",
    "image_url",
    "linked_submission_id",
    "num_comments",
    "score",
    "subreddit",
    "title",
    "upvote_ratio",
    "2_way_label",
    "3_way_label",
    "6_way_label",
]
FILES = (
    "multimodal_train.tsv",
    "multimodal_validate.tsv",
    "multimodal_test_public.tsv",
)
TRAIN, VALIDATE, TEST = FILES


def line(
    post: str,
    *,
    title: str = "A Boat!",
    two: str = "1",
    six: str = "0",
    url: str = "",
    linked: str = "",
) -> str:
    cells = dict.fromkeys(COLUMNS, "") | {
        "id": post,
        "clean_title": f"boat {post}",
        "title": title,
        "image_url": url or f"https://images.example/{post}",
        "linked_submission_id": linked,
        "domain": "images.example",
        "subreddit": "boats",
        "2_way_label": two,
        "6_way_label": six,
    }
    return "\t".join(cells.values())


@pytest.fixture
def write(data_home: Path) -> Callable[..., None]:
    def to_files(**lines: list[str]) -> None:
        (data_home / "fakeddit").mkdir(exist_ok=True)
        for name, part in zip(FILES, ("train", "validate", "test"), strict=True):
            text = (
                "\n".join(["\t".join(COLUMNS), *lines.get(part, [line(part)])]) + "\n"
            )
            (data_home / "fakeddit" / name).write_text(text, encoding="utf8")

    return to_files


def test_labels(
    write: Callable[..., None],
) -> None:
    write(train=[line("a"), line("b", two="0", six="4")])
    pairs = load("fakeddit").pairs.set_index("pair_id")
    assert pairs.loc[["a", "b"], "label"].tolist() == ["true", "misinformation"]
    assert pairs.loc[["a", "b"], "6_way_label"].tolist() == [0, 4]
    assert pairs.loc["a", ["subreddit", "domain", "image_path"]].tolist() == [
        "boats",
        "images.example",
        "a.jpg",
    ]


def test_splits(write: Callable[..., None]) -> None:
    write()
    pairs = load("fakeddit").pairs
    assert dict(zip(pairs["pair_id"], pairs["split"], strict=True)) == {
        "train": "train",
        "validate": "validation",
        "test": "test",
    }


def test_skipped_lines(
    write: Callable[..., None],
) -> None:
    write(
        train=[line("a"), "cut\toff", line("b"), line("c") + "\tmore"],
        test=[line("d"), line("e", title='"open')],
    )
    dataset = load("fakeddit")
    assert dataset.skipped == {f"fakeddit/{TRAIN}": (3, 5), f"fakeddit/{TEST}": (3,)}
    assert set(dataset.pairs["pair_id"]) == {"a", "b", "validate", "d"}


def test_title_of_two_lines(write: Callable[..., None]) -> None:
    write(train=[line("a", title='"He said ""boat""\nand left"'), line("b")])
    dataset = load("fakeddit", caption="title")
    assert dataset.pairs.loc[0, "caption"] == 'He said "boat"\nand left'
    assert dataset.pairs["pair_id"].tolist()[:2] == ["a", "b"]
    assert dataset.skipped == {}


def test_title(write: Callable[..., None]) -> None:
    write()
    assert load("fakeddit").pairs["caption"].tolist()[0] == "boat train"
    assert load("fakeddit", caption="title").pairs["caption"].tolist()[0] == "A Boat!"


def test_images(
    write: Callable[..., None],
) -> None:
    same = "https://images.example/same"
    write(
        train=[line("a", url=same), line("b", url=same)],
        validate=[line("c").replace("https://images.example/c", ""), line("d")],
    )
    pairs = load("fakeddit").pairs.set_index("pair_id")
    assert pairs["image_id"].to_dict() == {
        "a": "a",
        "b": "a",
        "c": "c",
        "d": "d",
        "test": "test",
    }
    assert pairs.loc["a", "group"] == pairs.loc["b", "group"]


def test_leaks(
    write: Callable[..., None],
) -> None:
    same = "https://images.example/same"
    write(
        train=[
            line("a", url=same),
            line("b"),
            line("c", linked="elsewhere"),
            line("d", linked="elsewhere"),
        ],
        validate=[line("e", linked="b")],
        test=[line("f", url=same)],
    )
    pairs = load("fakeddit").pairs.set_index("pair_id")
    assert pairs["leaks"].to_dict() == {
        "a": True,
        "b": True,
        "c": False,
        "d": False,
        "e": True,
        "f": True,
    }
    assert pairs["group"].to_dict() == {
        "a": "train:a",
        "b": "train:b",
        "c": "train:c",
        "d": "train:c",
        "e": "validation:b",
        "f": "test:a",
    }


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (line("b", two="True"), "line 3: expected 2_way_label 0 or 1, found 'True'"),
        (line("b", six="6"), "line 3: expected 6_way_label 0 .* or 5, found '6'"),
    ],
)
def test_unknown_label(write: Callable[..., None], broken: str, message: str) -> None:
    write(validate=[line("a"), broken])
    with pytest.raises(DataError, match=rf"{VALIDATE}, {message}"):
        load("fakeddit")


@pytest.fixture(scope="module")
def real(real_data: Path) -> Dataset:
    return load("fakeddit")


def test_real_quoted_titles(real: Dataset, real_data: Path) -> None:
    odd = whole = 0
    for name in FILES:
        lines = (
            (real_data / "fakeddit" / name)
            .read_text(encoding="utf8")
            .removesuffix("\n")
            .split("\n")[1:]
        )
        odd += sum(text.count("\t") != len(COLUMNS) - 1 for text in lines)
        whole += sum(text.count("\t") == len(COLUMNS) - 1 for text in lines)
    assert (odd, whole) == (15, 29_982)
    assert real.skipped == {}
    assert len(real.pairs) == 29_982 + 7
    written = load("fakeddit", caption="title").pairs["caption"]
    assert written.str.contains("\n").sum() == 7


def test_real_labels(real: Dataset) -> None:
    assert ((real.pairs["label"] == "true") == (real.pairs["6_way_label"] == 0)).all()
    assert real.pairs["label"].value_counts().to_dict() == {
        "misinformation": 18_008,
        "true": 11_981,
    }


def test_real_artwork(real: Dataset) -> None:
    artwork = real.pairs["subreddit"] == "psbattle_artwork"
    assert artwork.sum() == 8_888
    assert (artwork == (real.pairs["6_way_label"] == 4)).all()


def test_real_leaks(
    real: Dataset,
) -> None:
    assert real.pairs["leaks"].groupby(real.pairs["split"]).sum().to_dict() == {
        "test": 916,
        "train": 894,
        "validation": 910,
    }
    assert pd.Series(real.pairs["leaks"]).mean() == pytest.approx(0.0907, abs=5e-5)
