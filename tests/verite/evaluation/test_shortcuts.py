"""How far trivial rules get."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from verite.datasets import load
from verite.errors import DataError, ParameterError
from verite.evaluation import (
    PROTOCOLS,
    accuracy,
    best_threshold,
    length_probe,
    similarity_threshold,
    tfidf_probe,
    unimodal_ceiling,
)
from verite.pairs import LABELS

scored = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from(["true", "miscaptioned"])),
    min_size=2,
    max_size=30,
).filter(lambda rows: len({label for _, label in rows}) == 2)


@given(scored)
def test_no_threshold_in_either_direction_does_better(
    rows: list[tuple[int, str]],
) -> None:
    scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    truth = labels == "true"
    every = [np.mean((scores >= cut) == truth) for cut in np.arange(-3.5, 4.5)]
    found = best_threshold(scores, labels)
    assert found.accuracy == pytest.approx(max(*every, *(1 - share for share in every)))
    assert np.mean(
        (scores >= found.threshold) == (truth == found.true_above)
    ) == pytest.approx(found.accuracy)


def test_scores_that_tell_nothing_give_the_majority() -> None:
    assert best_threshold(
        [1, 1, 1], ["true", "miscaptioned", "true"]
    ).accuracy == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1, 2], ["true"], "2 of scores, 1 of labels"),
        ([1, np.nan], ["true", "miscaptioned"], "1 row"),
        ([1, 2], ["true"] * 2, "2 true among 2"),
    ],
)
def test_a_threshold_needs_a_score_and_a_label_a_row_and_two_classes(
    scores: list[float], labels: list[str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        best_threshold(scores, labels)


def shared_words() -> pd.DataFrame:
    rows = [
        (f"{event}-{label}", f"event{event} {word}", label, f"g{event}")
        for event in range(30)
        for label, word in (
            ("true", "shown"),
            ("out-of-context", "shown"),
            ("miscaptioned", "claimed"),
        )
    ]
    return pd.DataFrame(rows, columns=["pair_id", "caption", "label", "group"])


def test_the_tfidf_probe_finds_a_giveaway_word_and_nothing_else() -> None:
    table = tfidf_probe(shared_words(), folds=3)
    wrong = table.query("label == 'miscaptioned' and prediction != 'miscaptioned'")
    assert wrong.empty
    assert accuracy(table["label"], table["prediction"]) == pytest.approx(2 / 3)
    assert table.groupby("group")["fold"].nunique().eq(1).all()
    assert sorted(table["fold"].unique()) == [0, 1, 2]


def test_the_tfidf_probe_follows_its_seed() -> None:
    pairs = shared_words()
    first, same, other = (tfidf_probe(pairs, seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, same)
    assert not first["fold"].equals(other["fold"])


def test_a_training_fold_of_one_class_is_refused() -> None:
    rows = [["1", "a boat", "true", "g"], ["2", "a dog", "miscaptioned", "h"]]
    pairs = pd.DataFrame(rows, columns=["pair_id", "caption", "label", "group"])
    with pytest.raises(DataError, match="all 1 training pairs are"):
        tfidf_probe(pairs, folds=2)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from(LABELS)), min_size=1))
def test_the_ceiling_is_what_a_free_model_of_the_id_reaches(rows) -> None:
    pairs = pd.DataFrame(rows, columns=["image_id", "label"])
    one_hot, y = np.eye(9)[pairs["image_id"]], pairs["label"]
    reached = DecisionTreeClassifier(random_state=0).fit(one_hot, y).score(one_hot, y)
    ceiling = unimodal_ceiling(pairs, "image")
    assert ceiling.value == pytest.approx(reached)
    assert ceiling.majority <= ceiling.value <= 1


def test_a_balanced_table_gives_one_modality_nothing() -> None:
    rows = [["i", "s", "true"], ["i", "t", "false"], ["j", "s", "true"]]
    rows.append(["j", "t", "false"])
    pairs = pd.DataFrame(rows, columns=["image_id", "text_id", "label"])
    assert unimodal_ceiling(pairs, "image").value == 0.5
    assert unimodal_ceiling(pairs, "text").value == 1
    with pytest.raises(ParameterError, match="image, text"):
        unimodal_ceiling(pairs, "audio")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("protocol", "image", "text"),
    [
        ("three-class", 66.2, 67.5),
        ("true-vs-ooc", 100.0, 51.0),
        ("true-vs-mc", 50.0, 100.0),
    ],
)
def test_fact_13_the_ceilings_of_verite(real_data, protocol, image, text) -> None:
    pairs = load("verite", embeddings=False).pairs
    assert round(100 * unimodal_ceiling(pairs, "image", protocol).value, 1) == image
    assert round(100 * unimodal_ceiling(pairs, "text", protocol).value, 1) == text


def test_facts_12_and_13_counts_of_verite(real_data: Path) -> None:
    pairs = load("verite", embeddings=False).pairs
    image, text = unimodal_ceiling(pairs, "image"), unimodal_ceiling(pairs, "text")
    assert (image.n, image.distinct, text.distinct) == (1001, 663, 675)
    assert round(image.majority, 3) == round(text.majority, 3) == 0.338


def test_fact_14_caption_length_alone_tells_true_from_miscaptioned(
    real_data: Path,
) -> None:
    pairs = PROTOCOLS["true-vs-mc"].select(load("verite", embeddings=False).pairs)
    words = pairs["caption"].str.split().str.len().groupby(pairs["label"]).mean()
    assert words.round(1).to_dict() == {"true": 21.9, "misinformation": 18.9}
    found = length_probe(pairs)
    assert (
        round(100 * found.accuracy, 1),
        found.threshold,
        found.true_above,
        found.n,
    ) == (62.0, 21, True, 676)


def test_fact_14_words_alone_beat_chance_on_three_classes(real_data: Path) -> None:
    pairs = load("verite", embeddings=False).pairs
    reached = [
        100 * accuracy(found["label"], found["prediction"])
        for found in (tfidf_probe(pairs, seed=seed) for seed in range(3))
    ]
    # Folds move it by a point or so; 44.6 was found with folds that are not shuffled.
    assert np.mean(reached) == pytest.approx(44.6, abs=2)
    assert min(reached) > 100 * PROTOCOLS["three-class"].chance(pairs) + 5
    assert max(reached) < 100 * unimodal_ceiling(pairs, "text").value


@pytest.mark.parametrize(
    ("protocol", "reached"), [("true-vs-ooc", 78.3), ("true-vs-mc", 58.1)]
)
def test_fact_15_similarity_tells_out_of_context_apart_but_hardly_miscaptioned(
    real_data: Path, protocol: str, reached: float
) -> None:
    data = load("verite")
    pairs = PROTOCOLS[protocol].select(data.pairs)
    found = similarity_threshold(data.similarities(pairs), pairs["label"])
    assert round(100 * found.accuracy, 1) == reached
    assert found.true_above


def test_fact_15_mean_similarity_of_each_class(real_data: Path) -> None:
    data = load("verite")
    means = pd.Series(data.similarities()).groupby(data.pairs["label"]).mean()
    assert means.round(3).to_dict() == pytest.approx(
        {"true": 0.304, "miscaptioned": 0.292, "out-of-context": 0.240}
    )
