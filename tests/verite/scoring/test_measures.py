"""The figures agree with those of verite.evaluation and of scikit-learn, and
consistency with counting by hand.
"""

from __future__ import annotations

from functools import partial

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


METRICS = {
    "accuracy": metrics.accuracy_score,
    "balanced accuracy": metrics.balanced_accuracy_score,
    "macro-F1": partial(metrics.f1_score, average="macro", zero_division=0),
}
COLUMNS = ["pair_id", "image_id", "text_id", "label", "group", "prediction", "seed"]


def made(rows: list[tuple[str, list[str], int]]) -> pd.DataFrame:
    """Pairs of (label, answers of the seeds, group)."""
    cells = [
        (str(i), f"i{g}{i % 2}", f"t{g}{i % 3}", label, f"g{g}", answer, seed)
        for i, (label, answers, g) in enumerate(rows)
        for seed, answer in enumerate(answers)
    ]
    table = pd.DataFrame(cells, columns=COLUMNS)
    return table if len(set(table["seed"])) > 1 else table.drop(columns="seed")


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true:UserWarning")
@settings(deadline=None, max_examples=25)
@given(tables(), st.sampled_from(sorted(PROTOCOLS)))
def test_figures(table: pd.DataFrame, protocol: str) -> None:
    if protocol in find_unscorable(table):
        return
    figures = measure(table, protocol, resamples=5).set_index("metric")
    plain = score(table, protocol, resamples=5).set_index("metric")
    pd.testing.assert_frame_equal(figures.loc[plain.index, plain.columns], plain)
    rows = PROTOCOLS[protocol].select(table)
    truth = rows["label"].tolist()
    predicted = PROTOCOLS[protocol].to_classes(rows["prediction"]).tolist()
    constants = [[label] * len(truth) for label in set(truth)]
    for name, metric in METRICS.items():
        row = figures.loc[name]
        assert row["value"] == pytest.approx(metric(truth, predicted))
        best = max(metric(truth, constant) for constant in constants)
        assert row["constant"] == pytest.approx(best)
    assert figures["constant"].filter(like="accuracy: ").isna().all()


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


def balanced(*runs: list[str]) -> pd.DataFrame:
    """Two articles of three pairs each; one list of answers per seed."""
    rows = [
        (f"{i}{article}", f"{t}{article}", label, article, f"{label} {article}")
        for article in "ab"
        for i, t, label in (
            ("i", "t", "true"),
            ("i", "u", "miscaptioned"),
            ("j", "t", "out-of-context"),
        )
    ]
    columns = ["image_id", "text_id", "label", "group", "pair_id"]
    table = pd.DataFrame(rows, columns=columns)
    if len(runs) == 1:
        return table.assign(prediction=runs[0])
    tables = [table.assign(prediction=run, seed=str(i)) for i, run in enumerate(runs)]
    return pd.concat(tables, ignore_index=True)


RIGHT = ["true", "miscaptioned", "out-of-context"]


def test_consistency() -> None:
    table = balanced([*RIGHT, "true", "true", "out-of-context"])
    rows = consistency(table, "three-class").set_index("over")
    assert rows["value"].to_dict() == {"image": 0.5, "caption": 1.0}
    assert rows["n"].to_dict() == {"image": 2, "caption": 2}
    assert (rows.loc["image", "low"], rows.loc["image", "high"]) == (0.0, 1.0)


def test_consistency_in_two_classes() -> None:
    table = balanced(["true", "out-of-context", "miscaptioned"] * 2)
    assert consistency(table, "three-class")["value"].tolist() == [0.0, 0.0]
    assert consistency(table, "all-false")["value"].tolist() == [1.0, 1.0]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(LABELS), min_size=2, max_size=2),
    st.sampled_from(["three-class", "all-false"]),
)
def test_image_alone_is_never_consistent(answers: list[str], protocol: str) -> None:
    """Nor is a constant answer: the level that is printed as `constant`."""
    first, second = answers
    table = balanced([first, first, RIGHT[2], second, second, RIGHT[2]])
    row = consistency(table, protocol, resamples=2).set_index("over").loc["image"]
    assert (row["value"], row["constant"]) == (0.0, 0.0)


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
    rows = consistency(balanced(RIGHT * 2, ["true"] * 6), "three-class")
    assert rows["value"].tolist() == [0.5, 0.5]
    assert rows["n"].tolist() == [2, 2]


def test_nothing_balanced() -> None:
    table = balanced(["true"] * 6)
    table = table.assign(image_id=table["pair_id"], text_id=table["pair_id"])
    assert consistency(table, "three-class").empty


def test_shared_images() -> None:
    table = balanced([*RIGHT[:2], "true", "true", "true", "true"])
    rows = consistency(table.assign(group=list("abcdef")), "three-class")
    row = rows.set_index("over").loc["image", ["value", "low", "high", "n"]]
    assert row.tolist() == [0.5, 0.0, 1.0, 2]


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
