"""The figures agree with those of verite.evaluation and of scikit-learn, and
consistency with counting by hand.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from verite.evaluation import PROTOCOLS, paired_test, score
from verite.pairs import LABELS
from verite.scoring import compare, consistency, find_unscorable, measure


def tables(seeds: int = 1) -> st.SearchStrategy[pd.DataFrame]:
    row = st.tuples(
        st.sampled_from(LABELS),
        st.lists(st.sampled_from(LABELS), min_size=seeds, max_size=seeds),
        st.integers(0, 5),
    )
    # One true row and one false, so that there is something to score.
    return st.lists(row, min_size=1, max_size=30).map(
        lambda rows: made(
            [*rows, ("true", ["true"] * seeds, 9), (LABELS[2], [LABELS[1]] * seeds, 8)]
        )
    )


def made(rows: list[tuple[str, list[str], int]]) -> pd.DataFrame:
    cells = [
        (
            str(at),
            f"i{group}{at % 2}",
            f"t{group}{at % 3}",
            label,
            f"g{group}",
            answer,
            seed,
        )
        for at, (label, answers, group) in enumerate(rows)
        for seed, answer in enumerate(answers)
    ]
    table = pd.DataFrame(
        cells,
        columns=[
            "pair_id",
            "image_id",
            "text_id",
            "label",
            "group",
            "prediction",
            "seed",
        ],
    )
    return table if len(set(table["seed"])) > 1 else table.drop(columns="seed")


@settings(deadline=None, max_examples=25)
@given(tables(), st.sampled_from(sorted(PROTOCOLS)))
def test_figures(table: pd.DataFrame, protocol: str) -> None:
    if protocol in find_unscorable(table):
        return
    found = measure(table, protocol, resamples=5).set_index("metric")
    rows = PROTOCOLS[protocol].select(table)
    truth, called = (
        rows["label"].tolist(),
        PROTOCOLS[protocol].to_classes(rows["prediction"]).tolist(),
    )
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # scikit-learn's, of classes that are predicted but absent
        expected = {
            "accuracy": metrics.accuracy_score(truth, called),
            "balanced accuracy": metrics.balanced_accuracy_score(truth, called),
            "macro-F1": metrics.f1_score(truth, called, average="macro"),
        }
    assert found["value"][list(expected)].to_dict() == pytest.approx(expected)
    plain = score(table, protocol, resamples=5).set_index("metric")
    pd.testing.assert_frame_equal(found.loc[plain.index, plain.columns], plain)


@settings(deadline=None, max_examples=25)
@given(tables(), st.sampled_from(sorted(PROTOCOLS)))
def test_best_constant(table: pd.DataFrame, protocol: str) -> None:
    if protocol in find_unscorable(table):
        return
    found = measure(table, protocol, resamples=2).set_index("metric")["constant"]
    truth = PROTOCOLS[protocol].select(table)["label"].tolist()
    constants = [[answer] * len(truth) for answer in set(truth)]
    assert found["accuracy"] == pytest.approx(
        max(metrics.accuracy_score(truth, one) for one in constants)
    )
    assert found["balanced accuracy"] == pytest.approx(
        max(metrics.balanced_accuracy_score(truth, one) for one in constants)
    )
    best = max(
        metrics.f1_score(truth, one, average="macro", zero_division=0)
        for one in constants
    )
    assert found["macro-F1"] == pytest.approx(best)
    assert found.filter(like="accuracy: ").isna().all()


@settings(deadline=None, max_examples=20)
@given(tables(seeds=3))
def test_spread(table: pd.DataFrame) -> None:
    found = measure(table, "all-false", resamples=2).set_index("metric")["sd"]
    runs = [
        measure(run, "all-false", resamples=2).set_index("metric")["value"]
        for _, run in table.groupby("seed")
    ]
    expected = pd.concat(runs, axis=1).std(axis=1)
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), atol=1e-12)


def test_interval_of_macro_f1() -> None:
    table = made(
        [
            ("true", ["true"], 0),
            ("miscaptioned", ["miscaptioned"], 0),
            ("true", ["miscaptioned"], 1),
            ("miscaptioned", ["true"], 1),
        ]
    )
    found = measure(table, "true-vs-mc").set_index("metric").loc["macro-F1"]
    assert (found["low"], found["value"], found["high"]) == (0.0, 0.5, 1.0)


def test_missing_prediction() -> None:
    table = made(
        [
            ("true", ["true"], 0),
            ("true", [""], 1),
            ("miscaptioned", ["miscaptioned"], 2),
            ("miscaptioned", ["miscaptioned"], 3),
        ]
    )
    found = measure(table, "true-vs-mc", resamples=2).set_index("metric")["value"]
    assert found["accuracy"] == 0.75
    assert found["accuracy: true"] == 0.5
    # true: 2·1 / (2 + 1); misinformation: 2·2 / (2 + 2), for the missing answer is not
    # among those called so.
    assert found["macro-F1"] == pytest.approx((2 / 3 + 1) / 2)


def test_binary_predictions() -> None:
    table = made(
        [
            ("true", ["true"], 0),
            ("miscaptioned", ["misinformation"], 1),
            ("out-of-context", ["misinformation"], 2),
        ]
    )
    reasons = find_unscorable(table)
    assert list(reasons) == ["three-class"]
    assert "2 predictions are `misinformation`" in reasons["three-class"]


def test_binary_benchmark() -> None:
    table = made([("true", ["true"], 0), ("misinformation", ["out-of-context"], 1)])
    reasons = find_unscorable(table)
    assert set(reasons) == {"three-class", "true-vs-ooc", "true-vs-mc"}
    assert reasons["true-vs-mc"] == "the benchmark's labels are binary"
    assert measure(table, "all-false", resamples=2)["value"].tolist() == [1.0] * 5


def balanced(answers: list[str], seeds: list[list[str]] | None = None) -> pd.DataFrame:
    """Two articles: true, miscaptioned, out-of-context."""
    rows = [
        ("i1", "t1", "true"),
        ("i1", "u1", "miscaptioned"),
        ("j1", "t1", "out-of-context"),
    ]
    rows += [
        ("i2", "t2", "true"),
        ("i2", "u2", "miscaptioned"),
        ("j2", "t2", "out-of-context"),
    ]
    table = pd.DataFrame(rows, columns=["image_id", "text_id", "label"]).assign(
        group=["a"] * 3 + ["b"] * 3
    )
    table["pair_id"] = [str(at) for at in range(6)]
    if seeds is None:
        return table.assign(prediction=answers)
    return pd.concat(
        [table.assign(prediction=one, seed=str(at)) for at, one in enumerate(seeds)],
        ignore_index=True,
    )


def test_consistency() -> None:
    found = consistency(
        balanced([*LABELS[::2], LABELS[1], "true", "true", "out-of-context"]),
        "three-class",
    ).set_index("over")
    assert found["value"].to_dict() == {"image": 0.5, "caption": 1.0}
    assert found["n"].to_dict() == {"image": 2, "caption": 2}
    assert (found.loc["image", "low"], found.loc["image", "high"]) == (0.0, 1.0)


def test_consistency_in_two_classes() -> None:
    answers = ["true", "out-of-context", "miscaptioned"] * 2
    assert consistency(balanced(answers), "three-class")["value"].tolist() == [0.0, 0.0]
    assert consistency(balanced(answers), "all-false")["value"].tolist() == [1.0, 1.0]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(LABELS), min_size=2, max_size=2),
    st.sampled_from(["three-class", "all-false"]),
)
def test_image_alone_is_never_consistent(answers: list[str], protocol: str) -> None:
    """Nor is a constant answer: the level that is printed as `constant`."""
    first, second = answers
    found = consistency(
        balanced([first, first, "out-of-context", second, second, "out-of-context"]),
        protocol,
        resamples=2,
    )
    assert found.set_index("over").loc["image", ["value", "constant"]].tolist() == [
        0.0,
        0.0,
    ]


@pytest.mark.parametrize(
    ("protocol", "classes"),
    [("three-class", LABELS), ("all-false", ("true", "misinformation"))],
)
def test_consistency_by_chance(protocol: str, classes: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    table = pd.concat(
        [balanced(["true"] * 6).assign(group=str(at)) for at in range(500)],
        ignore_index=True,
    )
    for name in ("image_id", "text_id"):
        table[name] += table["group"]
    table["pair_id"] = [str(at) for at in range(len(table))]
    table["prediction"] = rng.choice(np.array(classes, dtype=object), len(table))
    found = consistency(table, protocol, resamples=2)
    assert found["random"].tolist() == pytest.approx([1 / len(classes) ** 2] * 2)
    assert found["value"].to_numpy() == pytest.approx(
        found["random"].to_numpy(), abs=0.04
    )
    skewed = np.array(["true", "true", "true", classes[-1]], dtype=object)
    found = consistency(
        table.assign(prediction=rng.choice(skewed, len(table))), protocol, resamples=2
    )
    assert found["shuffled"].to_numpy() == pytest.approx(
        found["value"].to_numpy(), abs=0.04
    )
    assert found["shuffled"][0] == pytest.approx(3 / 16, abs=0.02)


def test_consistency_over_seeds() -> None:
    right, wrong = ["true", "miscaptioned", "out-of-context"] * 2, ["true"] * 6
    found = consistency(balanced([], [right, wrong]), "three-class")
    assert found["value"].tolist() == [0.5, 0.5]
    assert found["n"].tolist() == [2, 2]


def test_nothing_balanced() -> None:
    table = balanced(["true"] * 6)
    table = table.assign(image_id=table["pair_id"], text_id=table["pair_id"])
    assert consistency(table, "three-class").empty


def test_shared_images() -> None:
    table = balanced(["true", "miscaptioned", "true", "true", "true", "true"]).assign(
        group=list("abcdef")
    )
    found = consistency(table, "three-class").set_index("over").loc["image"]
    assert (found["value"], found["low"], found["high"], found["n"]) == (
        0.5,
        0.0,
        1.0,
        2,
    )


@settings(deadline=None, max_examples=20)
@given(tables(seeds=2), st.sampled_from(["three-class", "all-false"]))
def test_compare(table: pd.DataFrame, protocol: str) -> None:
    one, other = (
        table,
        table[table["seed"] == 0].drop(columns="seed").assign(prediction="true"),
    )
    found = compare(one, other, protocol, seed=3, resamples=50).iloc[0]
    classes = PROTOCOLS[protocol].to_classes
    pairs = other.set_index("pair_id")
    correct = (
        pd.Series(classes(one["prediction"]) == classes(one["label"]))
        .groupby(one["pair_id"], sort=True)
        .mean()
    )
    constant = pd.Series(classes(pairs["label"]) == "true", index=pairs.index).loc[
        correct.index
    ]
    test = paired_test(
        correct, constant, pairs["group"].loc[correct.index], seed=3, resamples=50
    )
    assert tuple(found[list(test._fields)]) == pytest.approx(tuple(test), nan_ok=True)


def test_compare_common_pairs() -> None:
    table = balanced(["true"] * 6)
    assert compare(table[:4], table[2:], "all-false")["n"].tolist() == [2]
