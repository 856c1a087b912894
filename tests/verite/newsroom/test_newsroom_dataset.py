from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from verite.dataset import Dataset
from verite.errors import ParameterError, VeriteError
from verite.newsroom import PRESETS, VISIBLE, make
from verite.pairs import (
    LABELS,
    MISCAPTIONED,
    OUT_OF_CONTEXT,
    TRUE,
    grouped_folds,
    validate,
)


def pairs_of(events: int, **options: Any) -> pd.DataFrame:
    return make(events=events, encoder=None, **options).pairs


# The same seed


def test_the_same_seed_gives_the_same_table() -> None:
    assert pairs_of(12, seed=3).equals(pairs_of(12, seed=3))
    assert not pairs_of(12, seed=3).equals(pairs_of(12, seed=4))


@pytest.mark.parametrize("preset", ["verite", "vmu-twitter"])
def test_the_same_seed_gives_the_same_image_files(tmp_path: Path, preset: str) -> None:
    for name in ("one", "two"):
        make(events=4, seed=3, preset=preset, image_dir=tmp_path / name, encoder=None)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 8
    assert files == sorted(path.name for path in (tmp_path / "two").iterdir())
    assert all(
        (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        for name in files
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_a_smaller_newsroom_is_the_beginning_of_a_larger_one(preset: str) -> None:
    small, large = pairs_of(10, preset=preset), pairs_of(40, preset=preset)
    assert small.equals(large.iloc[: len(small)])


def test_no_two_images_are_the_same_picture(tmp_path: Path) -> None:
    make(events=60, image_dir=tmp_path, encoder=None)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 120


# Built as VERITE is


def test_the_table_is_valid_and_has_the_expected_counts(
    newsroom: Dataset,
) -> None:
    validate(newsroom.pairs, extra=set(newsroom.pairs.columns))
    assert (
        newsroom.pairs["label"].value_counts().to_dict()
        == dict(newsroom.card.expected)
        == dict.fromkeys(LABELS, 400)
    )


def test_groups_are_events_of_three_pairs(newsroom: Dataset) -> None:
    labels = newsroom.pairs.groupby("group")["label"].agg(list)
    assert len(labels) == 400
    assert all(sorted(group) == sorted(LABELS) for group in labels)
    for name in ("image_id", "text_id"):
        assert (
            not newsroom.pairs.drop_duplicates([name, "group"])[name].duplicated().any()
        )


@pytest.mark.parametrize(
    ("name", "other_class"), [("image_id", MISCAPTIONED), ("text_id", OUT_OF_CONTEXT)]
)
def test_true_images_and_captions_appear_in_two_classes(
    newsroom: Dataset, name: str, other_class: str
) -> None:
    classes = newsroom.pairs.groupby(name)["label"].agg(
        lambda labels: tuple(sorted(labels))
    )
    alone = OUT_OF_CONTEXT if other_class == MISCAPTIONED else MISCAPTIONED
    assert classes.value_counts().to_dict() == {
        tuple(sorted((TRUE, other_class))): 400,
        (alone,): 400,
    }


@pytest.mark.parametrize("name", ["image_id", "text_id"])
def test_one_modality_alone_cannot_pass_two_thirds(
    newsroom: Dataset, name: str
) -> None:
    best = newsroom.pairs.groupby([name, "label"]).size().groupby(
        level=0
    ).max().sum() / len(newsroom.pairs)
    assert best == pytest.approx(2 / 3)


def test_method_names_the_changed_attributes(
    newsroom: Dataset, read_caption: Callable[[str], dict[str, object]]
) -> None:
    rows = newsroom.pairs.set_index("pair_id")
    numbers = set()
    for _, row in rows[rows["label"] == MISCAPTIONED].iterrows():
        donor = rows.loc[row["donor_id"]]
        assert (donor["label"], donor["group"], donor["image_id"]) == (
            TRUE,
            row["group"],
            row["image_id"],
        )
        true, false = read_caption(donor["caption"]), read_caption(row["caption"])
        changed = [name for name in VISIBLE if true[name] != false[name]]
        assert row["method"] == f"change {', '.join(changed)}"
        numbers.add(len(changed))
    assert numbers == {1, 2}


def test_topic_and_entities_are_those_of_the_caption(
    newsroom: Dataset, read_caption: Callable[[str], dict[str, object]]
) -> None:
    for _, row in newsroom.pairs.iloc[:90].iterrows():
        told = read_caption(row["caption"])
        names = {kind: name for name, kind in json.loads(row["entities"])}
        assert (row["topic"], names["PERSON"], names["GPE"]) == (
            told["topic"],
            told["person"],
            told["country"],
        )
        assert names["DATE"] in row["caption"]


# A single modality tells nothing


def test_false_captions_are_as_long_as_true_ones(newsroom: Dataset) -> None:
    words = newsroom.pairs.drop_duplicates("text_id").assign(
        words=lambda table: table["caption"].str.split().str.len()
    )
    means = words.groupby("label")["words"].agg(["mean", "sem"])
    assert abs(means["mean"].diff().iloc[-1]) < 3 * means["sem"].max() * np.sqrt(2)


def test_words_alone_stay_at_chance(newsroom: Dataset) -> None:
    pairs = newsroom.pairs
    words = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(pairs["caption"])
    labels = pairs["label"].to_numpy(dtype=object)
    predicted = np.empty(len(pairs), dtype=object)
    for rest, held_out in grouped_folds(pairs, 5, seed=0):
        predicted[held_out] = (
            LogisticRegression(max_iter=500)
            .fit(words[rest], labels[rest])
            .predict(words[held_out])
        )
    # Chance is a third. Pairs of one event hang together, so its standard error on
    # 1,200 pairs is at most that of 400: 2.4 %.
    assert abs((predicted == labels).mean() - 1 / 3) < 0.06


# The card, files and parameters


def test_paths_are_filled_only_where_files_were_written(
    newsroom: Dataset, tmp_path: Path
) -> None:
    assert newsroom.images is newsroom.texts is None
    assert newsroom.card.synthetic
    assert set(newsroom.pairs["image_path"]) == {""}
    written = make(events=2, image_dir=tmp_path, encoder=None).pairs
    for _, row in written.iterrows():
        with Image.open(row["image_path"]) as picture:
            assert min(picture.size) >= 96
            assert Path(row["image_path"]).stem == row["image_id"]
    assert pairs_of(2).equals(written.assign(image_path=""))


def test_a_full_disk_leaves_old_images_whole_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(events=2, image_dir=tmp_path, encoder=None)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fill_the_disk(picture: Image.Image, path: Path, **options: object) -> None:
        path.write_bytes(b"half a pic")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", fill_the_disk)
    with pytest.raises(VeriteError, match="No space left"):
        make(events=2, image_dir=tmp_path, encoder=None)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_in_the_place_of_the_image_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("not a folder")
    with pytest.raises(VeriteError, match="cannot write"):
        make(events=1, image_dir=tmp_path / "images", encoder=None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("events", value) for value in (0, -1, 2.0, "5", True, None)),
        *(("seed", value) for value in (-1, 0.5, "x", None)),
    ],
)
def test_what_is_no_whole_number_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=name):
        make(**{"events": 1, "encoder": None, name: value})
