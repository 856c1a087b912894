"""Which rows a protocol scores, and how."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from verite.errors import DataError, ParameterError
from verite.evaluation import PROTOCOLS, accuracy, score
from verite.pairs import LABELS, to_binary


def predictions(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "pair_id": [f"p{i}" for i in range(n)],
            "label": [LABELS[i % 3] for i in range(n)],
            "prediction": rng.choice(LABELS, n),
            "group": [f"g{i // 3}" for i in range(n)],
        }
    )


def value(scores: pd.DataFrame, metric: str = "accuracy") -> float:
    return float(scores.set_index("metric").loc[metric, "value"])


def test_three_class_scores_every_row_and_each_class() -> None:
    table = predictions()
    scores = score(table, "three-class")
    assert scores["metric"].tolist() == [
        "accuracy",
        "accuracy: true",
        "accuracy: out-of-context",
        "accuracy: miscaptioned",
    ]
    assert scores["n"].tolist() == [300, 100, 100, 100]
    assert value(scores) == (table["label"] == table["prediction"]).mean()
    assert (scores["low"] < scores["value"]).all()
    assert (scores["value"] < scores["high"]).all()


@pytest.mark.parametrize(
    ("protocol", "dropped"),
    [("true-vs-ooc", "miscaptioned"), ("true-vs-mc", "out-of-context")],
)
def test_a_pair_accuracy_leaves_the_third_class_out(
    protocol: str, dropped: str
) -> None:
    table = predictions()
    scores = score(table, protocol)
    kept = table[table["label"] != dropped]
    assert scores["metric"].tolist() == [
        "accuracy",
        "accuracy: true",
        "accuracy: misinformation",
    ]
    assert scores["n"].tolist() == [200, 100, 100]
    assert value(scores) == pytest.approx(
        (to_binary(kept["label"]) == to_binary(kept["prediction"])).mean()
    )


def test_naming_the_other_false_class_is_right_under_two_classes() -> None:
    table = predictions(3).assign(prediction=["true", "miscaptioned", "out-of-context"])
    assert value(score(table, "all-false")) == 1
    assert value(score(table, "three-class")) == pytest.approx(1 / 3)


def test_binary_predictions_fit_two_classes_only() -> None:
    table = predictions()
    binary = table.assign(prediction=to_binary(table["prediction"]))
    two = score(binary, "true-vs-mc")
    pd.testing.assert_frame_equal(two, score(table, "true-vs-mc"))
    with pytest.raises(DataError, match="true-vs-ooc, true-vs-mc and all-false"):
        score(binary, "three-class")


@pytest.mark.parametrize("protocol", ["three-class", "true-vs-ooc", "true-vs-mc"])
def test_a_benchmark_with_binary_labels_is_scored_under_all_false_alone(
    protocol: str,
) -> None:
    table = predictions().assign(label=lambda t: to_binary(t["label"]))
    assert score(table, "all-false")["n"].tolist() == [300, 100, 200]
    with pytest.raises(DataError, match="all-false"):
        score(table, protocol)


def test_chance_is_the_share_of_the_largest_class() -> None:
    labels = ["true"] * 338 + ["out-of-context"] * 325 + ["miscaptioned"] * 338
    table = pd.DataFrame({"label": labels})
    chances = [round(protocol.chance(table), 4) for protocol in PROTOCOLS.values()]
    assert dict(zip(PROTOCOLS, chances, strict=True)) == {
        "three-class": 0.3377,
        "true-vs-ooc": 0.5098,
        "true-vs-mc": 0.5,
        "all-false": 0.6623,
    }


def test_repetitions_count_once_and_stay_in_their_group() -> None:
    once = predictions()
    thrice = pd.concat([once.assign(seed=seed) for seed in range(3)], ignore_index=True)
    pd.testing.assert_frame_equal(
        score(thrice, "three-class"), score(once, "three-class")
    )


def test_errors_of_a_user() -> None:
    table = predictions(2)
    seeds = [table.assign(seed=0), table.assign(seed=1, label="true")]
    for bad, protocol, error, message in (
        (pd.concat([table, table]), "three-class", DataError, "duplicate pair_id: p0"),
        (pd.concat(seeds), "three-class", DataError, "several labels .* p1"),
        (table.drop(columns="group"), "three-class", DataError, "missing column group"),
        (table, "binary", ParameterError, "'binary'. Known: three-class, true-vs-ooc"),
        (table[1:], "true-vs-mc", DataError, "no row is true or miscaptioned"),
    ):
        with pytest.raises(error, match=message):
            score(bad, protocol)


def test_accuracy_is_the_share_of_right_answers_on_aligned_rows() -> None:
    truth = pd.Series(["true", "miscaptioned"], index=["a", "b"])
    assert accuracy(truth, ["true", "true"]) == 0.5
    with pytest.raises(DataError, match="2 of truth, 1 of predicted"):
        accuracy(truth, ["true"])
    with pytest.raises(DataError, match="different indexes"):
        accuracy(truth, truth.iloc[::-1])


def test_a_class_without_rows_is_shown_empty() -> None:
    table = predictions().query("label != 'out-of-context'")
    scores = score(table, "three-class").set_index("metric")
    assert scores.loc["accuracy: out-of-context", "n"] == 0
    assert np.isnan(scores.loc["accuracy: out-of-context", "value"])
