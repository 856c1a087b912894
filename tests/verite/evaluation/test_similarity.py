"""Similarity as the only feature.

The best intervals, whole groups held out, and what it reaches on VERITE.
"""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from verite.datasets import load
from verite.datasets.evidence import load_evidence
from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError
from verite.evaluation import (
    PROTOCOLS,
    SIMILARITY_MODELS,
    ThresholdClassifier,
    best_threshold,
    evidence_similarity,
    recall_at,
    score,
    similarity_baseline,
    similarity_line,
)
from verite.pairs import LABELS, grouped_folds


def rows_of(labels, size):
    return st.lists(
        st.tuples(st.integers(-2, 3), st.sampled_from(labels)),
        min_size=1,
        max_size=size,
    )


def reached(rows: list[tuple[int, str]]) -> float:
    values, labels = (
        np.array([[float(value)] for value, _ in rows]),
        np.array([label for _, label in rows]),
    )
    return float(
        np.mean(ThresholdClassifier().fit(values, labels).predict(values) == labels)
    )


@given(rows_of(LABELS, 15))
def test_no_cuts_and_no_order_of_the_classes_do_better(
    rows: list[tuple[int, str]],
) -> None:
    values, labels = (
        np.array([value for value, _ in rows]),
        np.array([label for _, label in rows]),
    )
    cuts = [cut for cut in product(np.arange(-2.5, 4), repeat=2) if cut[0] <= cut[1]]
    best = max(
        np.mean(np.array(order)[np.searchsorted(cut, values)] == labels)
        for order in permutations(LABELS)
        for cut in cuts
    )
    assert reached(rows) == pytest.approx(best)


@given(
    rows_of(("true", "miscaptioned"), 30).filter(
        lambda rows: len({label for _, label in rows}) == 2
    )
)
def test_with_two_classes_it_is_the_best_threshold(rows: list[tuple[int, str]]) -> None:
    assert reached(rows) == pytest.approx(
        best_threshold(*zip(*rows, strict=True)).accuracy
    )


def test_the_threshold_is_a_scikit_learn_classifier_of_one_number() -> None:
    model = clone(ThresholdClassifier()).fit(np.array([[0.1], [0.2]]), ["a", "b"])
    assert model.score([[0.0], [0.16]], ["a", "b"]) == 1.0
    with pytest.raises(ParameterError, match="one number per pair, found .2, 2."):
        model.fit(np.eye(2), ["a", "b"])


def world(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """60 groups of three pairs.

    Out-of-context pairs have a low similarity, the others the same.
    """
    rows = [
        (f"{group}-{label}", label, f"g{group}")
        for group in range(60)
        for label in LABELS
    ]
    pairs = pd.DataFrame(rows, columns=["pair_id", "label", "group"])
    noise = np.random.default_rng(seed).normal(size=len(pairs)) * 0.02
    return pairs, np.where(pairs["label"] == "out-of-context", 0.2, 0.3) + noise


@pytest.mark.parametrize("model", SIMILARITY_MODELS)
@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_predictions_are_scored_under_their_protocol(model: str, protocol: str) -> None:
    pairs, similarity = world()
    found = similarity_baseline(pairs, similarity, protocol=protocol, model=model)
    assert (
        found["pair_id"].tolist()
        == pairs.loc[pairs["label"].isin(PROTOCOLS[protocol].keeps), "pair_id"].tolist()
    )
    value = score(found, protocol, resamples=10).iloc[0]["value"]
    low, high = {
        "three-class": (0.5, 0.75),
        "true-vs-ooc": (0.95, 1),
        "true-vs-mc": (0.3, 0.65),
        "all-false": (0.6, 0.8),
    }[protocol]
    assert low <= value <= high


def test_each_pair_is_predicted_by_a_model_that_saw_no_pair_of_its_group() -> None:
    pairs, similarity = world()
    found = similarity_baseline(pairs, similarity)
    assert found.groupby("group")["fold"].nunique().eq(1).all()
    for rest, out in grouped_folds(pairs, 5, 0):
        model = ThresholdClassifier().fit(
            similarity[rest, None], pairs["label"].to_numpy()[rest]
        )
        assert (
            found["prediction"].to_numpy()[out].tolist()
            == model.predict(similarity[out, None]).tolist()
        )


@settings(deadline=None, max_examples=5)
@given(st.permutations(range(180)))
def test_predictions_do_not_depend_on_the_order_of_the_rows(order: list[int]) -> None:
    pairs, similarity = world()
    straight = similarity_baseline(pairs, similarity).set_index("pair_id")["prediction"]
    mixed = similarity_baseline(pairs.iloc[order], similarity[order]).set_index(
        "pair_id"
    )["prediction"]
    assert mixed.loc[straight.index].equals(straight)


def test_two_similarities_go_together_into_tree_and_forest() -> None:
    pairs, similarity = world()
    second = np.where(pairs["label"] == "miscaptioned", 0.5, 0.1) + world(1)[1] * 0
    both = pd.DataFrame({"one": similarity, "two": second}, index=pairs.index)
    for model in ("tree", "forest"):
        assert (
            score(
                similarity_baseline(pairs, both, model=model),
                "three-class",
                resamples=10,
            ).iloc[0]["value"]
            > 0.95
        )
    with pytest.raises(
        ParameterError, match="one number per pair, found .* Use the tree or the forest"
    ):
        similarity_baseline(pairs, both)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pairs, x: (pairs, x[:-1]), "180 of pairs, 179 of similarities"),
        (lambda pairs, x: (pairs, np.r_[np.nan, x[1:]]), "NaN or infinity in 1 row"),
        (
            lambda pairs, x: (pairs, pd.Series(x, index=pairs.index[::-1])),
            "different indexes",
        ),
        (
            lambda pairs, x: (pairs.assign(label="misinformation"), x),
            "Binary labels are scored under all-false",
        ),
    ],
)
def test_numbers_that_do_not_belong_to_the_pairs_are_refused(
    change: object, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        similarity_baseline(*change(*world()))  # type: ignore[operator]


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_the_line_is_the_baselines_score(protocol: str) -> None:
    pairs, similarity = world()
    line = similarity_line(pairs, similarity, protocol=protocol, resamples=50)
    table = similarity_baseline(pairs, similarity, protocol=protocol)
    scored = score(table, protocol, resamples=50).iloc[0]
    expected = tuple(scored[["value", "low", "high", "n"]])
    assert (line.value, line.low, line.high, line.n) == expected


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ParameterError, match="threshold or tree or forest, found 'svm"):
        similarity_baseline(*world(), model="svm")


def test_evidence_similarity_is_the_nearest_text_and_nothing_without_one() -> None:
    found = evidence_similarity(
        ["red boat", "dog", "dog"], [["a bridge", "red boat"], [], ["a bridge"]]
    )
    assert found.tolist() == [pytest.approx(1.0), 0.0, 0.0]
    with pytest.raises(DataError, match="1 of captions, 2 of evidence"):
        evidence_similarity(["dog"], [[], []])
    with pytest.raises(DataError, match="hold no word"):
        evidence_similarity(["!"], [[]])


def test_fact_16_similarities_on_verite(real_data: Path) -> None:
    data = load("verite")
    pairs, cosine = data.pairs, data.similarities()
    texts = load_evidence(pairs)["texts"].tolist()
    words = evidence_similarity(pairs["caption"].tolist(), texts)
    means = pd.Series(words).groupby(pairs["label"]).mean().round(3).to_dict()
    assert means == {"true": 0.105, "out-of-context": 0.071, "miscaptioned": 0.213}
    both = np.column_stack([cosine, words])
    for x, protocol, model, expected in (
        (cosine, "true-vs-ooc", "threshold", 77),
        (cosine, "three-class", "threshold", 50),
        (words, "true-vs-mc", "threshold", 61),
        (both, "three-class", "forest", 58),
    ):
        line = similarity_line(pairs, x, protocol=protocol, model=model, resamples=10)
        assert 100 * line.value == pytest.approx(expected, abs=2)  # folds move it


def vectors(matrix: object, ids: str = "abcd", encoder: str = "toy") -> Embeddings:
    rows = np.asarray(matrix, dtype=np.float32)
    return Embeddings(ids[: len(rows)], rows, encoder=encoder)


def test_recall_joins_by_id_in_both_directions() -> None:
    turned = vectors(3 * np.eye(4)[::-1], "dcba")
    assert all(found.all() for found in recall_at(vectors(np.eye(4)), turned, k=1))
    images, texts = vectors([[1, 0], [0, 1]]), vectors([[1, 0], [2, 1]])
    to_text, to_image = recall_at(images, texts, k=1)
    assert to_text.tolist() == [True, True]
    assert to_image.tolist() == [True, False]


def test_vectors_that_are_all_alike_find_nothing() -> None:
    alike = vectors(np.ones((4, 2)))
    assert not any(found.any() for found in recall_at(alike, alike, k=3))
    assert all(found.all() for found in recall_at(alike, alike, k=4))


@pytest.mark.parametrize(
    ("texts", "k", "error", "message"),
    [
        (vectors(np.eye(4), encoder="other"), 1, DataError, "'toy'.*'other'"),
        (vectors(np.eye(4), ids="abcx"), 1, DataError, "unpaired ids d, x"),
        (vectors(np.eye(4)), 0, ParameterError, "k of 1 or more"),
    ],
)
def test_what_cannot_be_compared_is_refused(texts, k, error, message) -> None:
    with pytest.raises(error, match=message):
        recall_at(vectors(np.eye(4)), texts, k)
