from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from verite.datasets.base import Dataset
from verite.errors import ParameterError, VeriteError
from verite.newsroom import make
from verite.pairs import LABELS, MISCAPTIONED, OUT_OF_CONTEXT, TRUE, grouped_folds, validate


def same(one: Dataset, other: Dataset) -> bool:
    return one.pairs.equals(other.pairs) and one.tokens().tobytes() == other.tokens().tobytes()


def out_of_fold_accuracy(pairs: pd.DataFrame, features: Any, model: Any) -> float:
    labels = pairs["label"].to_numpy(dtype=object)
    predicted = np.empty(len(pairs), dtype=object)
    for rest, held_out in grouped_folds(pairs, 5, seed=0):
        predicted[held_out] = model.fit(features[rest], labels[rest]).predict(features[held_out])
    return float((predicted == labels).mean())


def classifier() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2000))


# The same seed


def test_the_same_seed_gives_the_same_tables_and_vectors() -> None:
    assert same(make(events=12, seed=3), make(events=12, seed=3))
    assert not same(make(events=12, seed=3), make(events=12, seed=4))


def test_the_same_seed_gives_the_same_image_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make(events=4, seed=3, image_dir=tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 8
    assert files == sorted(path.name for path in (tmp_path / "two").iterdir())
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in files)


def test_a_smaller_newsroom_is_the_beginning_of_a_larger_one(newsroom: Dataset) -> None:
    small = make(events=10, seed=0)
    assert small.pairs.equals(newsroom.pairs.iloc[:30])
    np.testing.assert_allclose(small.tokens(), newsroom.tokens()[:30], atol=1e-6)


def test_no_two_images_are_the_same_picture(newsroom: Dataset) -> None:
    assert newsroom.images is not None
    assert len(np.unique(newsroom.images.matrix, axis=0)) == 800


# Built as VERITE is


def test_the_table_is_a_valid_pair_table_of_the_expected_counts(newsroom: Dataset) -> None:
    validate(newsroom.pairs)
    assert newsroom.pairs["label"].value_counts().to_dict() == dict(newsroom.card.expected) == dict.fromkeys(LABELS, 400)


def test_groups_are_events_of_three_pairs(newsroom: Dataset) -> None:
    labels = newsroom.pairs.groupby("group")["label"].agg(list)
    assert len(labels) == 400
    assert all(sorted(group) == sorted(LABELS) for group in labels)
    for name in ("image_id", "text_id"):
        assert not newsroom.pairs.drop_duplicates([name, "group"])[name].duplicated().any()


@pytest.mark.parametrize(("name", "other_class"), [("image_id", MISCAPTIONED), ("text_id", OUT_OF_CONTEXT)])
def test_every_true_image_and_caption_stands_in_two_classes_and_every_other_once(newsroom: Dataset, name: str, other_class: str) -> None:
    classes = newsroom.pairs.groupby(name)["label"].agg(lambda labels: tuple(sorted(labels)))
    alone = OUT_OF_CONTEXT if other_class == MISCAPTIONED else MISCAPTIONED
    assert classes.value_counts().to_dict() == {tuple(sorted((TRUE, other_class))): 400, (alone,): 400}


@pytest.mark.parametrize("name", ["image_id", "text_id"])
def test_one_modality_alone_cannot_pass_two_thirds(newsroom: Dataset, name: str) -> None:
    best = newsroom.pairs.groupby([name, "label"]).size().groupby(level=0).max().sum() / len(newsroom.pairs)
    assert best == pytest.approx(2 / 3)


def test_a_false_caption_differs_in_exactly_what_its_method_says(
    newsroom: Dataset, read_caption: Callable[[str], dict[str, object]]
) -> None:
    rows = newsroom.pairs.set_index("pair_id")
    numbers = set()
    for _, row in rows[rows["label"] == MISCAPTIONED].iterrows():
        donor = rows.loc[row["donor_id"]]
        assert (donor["label"], donor["group"], donor["image_id"]) == (TRUE, row["group"], row["image_id"])
        true, false = read_caption(donor["caption"]), read_caption(row["caption"])
        changed = [name for name in true if true[name] != false[name]]
        assert row["method"] == f"change {', '.join(changed)}"
        numbers.add(len(changed))
    assert numbers == {1, 2}


def test_an_out_of_context_image_shows_the_same_topic_and_four_to_six_changes(newsroom: Dataset) -> None:
    methods = newsroom.pairs.loc[newsroom.pairs["label"] == OUT_OF_CONTEXT, "method"].str.removeprefix("change ").str.split(", ")
    assert set(methods.str.len()) == {4, 5, 6}
    assert not any("topic" in changed for changed in methods)


# A single modality tells nothing, both together do


def test_false_captions_are_as_long_as_true_ones(newsroom: Dataset) -> None:
    captions = {label: newsroom.pairs.loc[newsroom.pairs["label"] == label, "caption"].reset_index(drop=True) for label in LABELS}
    assert captions[TRUE].str.split().str.len().equals(captions[MISCAPTIONED].str.split().str.len())
    gap = captions[MISCAPTIONED].str.len() - captions[TRUE].str.len()
    assert abs(gap.mean()) < 3 * gap.std() / np.sqrt(len(gap))


# Chance is a third. Pairs of one event hang together, so its standard error on 1,200 pairs is at most that of 400: 2.4 %.
def at_chance(accuracy: float) -> bool:
    return abs(accuracy - 1 / 3) < 0.06


def test_words_alone_stay_at_chance(newsroom: Dataset) -> None:
    words = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(newsroom.pairs["caption"])
    assert at_chance(out_of_fold_accuracy(newsroom.pairs, words, LogisticRegression(max_iter=500)))


@pytest.mark.parametrize("modality", [0, 1], ids=["image", "text"])
def test_one_modality_alone_stays_at_chance(newsroom: Dataset, modality: int) -> None:
    assert at_chance(out_of_fold_accuracy(newsroom.pairs, newsroom.tokens()[:, modality], classifier()))


def test_image_and_text_together_are_far_above_chance(newsroom: Dataset) -> None:
    V, T = newsroom.tokens().transpose(1, 0, 2)
    together = np.concatenate([V, T, V * T, np.abs(V - T)], axis=1)
    assert out_of_fold_accuracy(newsroom.pairs, together, classifier()) > 0.8


def test_truthful_pairs_agree_most_and_out_of_context_pairs_least(newsroom: Dataset) -> None:
    V, T = newsroom.tokens().transpose(1, 0, 2)
    cosine = pd.Series((V * T).sum(axis=1)).groupby(newsroom.pairs["label"]).mean()
    assert cosine[TRUE] > cosine[MISCAPTIONED] + 0.1
    assert cosine[MISCAPTIONED] > cosine[OUT_OF_CONTEXT] + 0.1


# The card, files and parameters


def test_the_card_says_that_it_is_no_evidence(newsroom: Dataset) -> None:
    assert newsroom.card.synthetic
    assert "no evidence" in newsroom.card.notes
    assert newsroom.images is not None
    assert newsroom.images.encoder == "newsroom-cca-64"


def test_paths_are_filled_only_where_files_were_written(newsroom: Dataset, tmp_path: Path) -> None:
    assert set(newsroom.pairs["image_path"]) == {""}
    written = make(events=2, image_dir=tmp_path)
    for _, row in written.pairs.iterrows():
        with Image.open(row["image_path"]) as picture:
            assert picture.size == (64, 64)
            assert Path(row["image_path"]).stem == row["image_id"]
    assert same(make(events=2), Dataset("newsroom", written.pairs.assign(image_path=""), written.card, written.images, written.texts))


def test_a_full_disk_leaves_old_images_whole_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(events=2, image_dir=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fill_the_disk(picture: Image.Image, path: Path, **options: object) -> None:
        path.write_bytes(b"half a pic")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", fill_the_disk)
    with pytest.raises(VeriteError, match="No space left"):
        make(events=2, image_dir=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_in_the_place_of_the_image_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("not a folder")
    with pytest.raises(VeriteError, match="cannot write"):
        make(events=1, image_dir=tmp_path / "images")


@pytest.mark.parametrize("events", [0, -1, 2.0, "5", True, None])
def test_a_number_of_events_that_is_no_whole_number_above_zero_is_refused(events: Any) -> None:
    with pytest.raises(ParameterError, match="events"):
        make(events=events)


@pytest.mark.parametrize("seed", [-1, 0.5, "x", None])
def test_a_seed_that_is_no_whole_number_is_refused(seed: Any) -> None:
    with pytest.raises(ParameterError, match="seed"):
        make(events=1, seed=seed)
