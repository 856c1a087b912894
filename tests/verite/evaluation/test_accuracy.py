"""Accuracies and confusions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.errors import DataError
from verite.evaluation import accuracy, class_accuracies, confusion
from verite.pairs import LABELS

answers = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=60
)


def test_accuracy_is_the_share_of_right_answers() -> None:
    assert (
        accuracy(
            ["true", "true", "miscaptioned", "true"],
            ["true", "miscaptioned", "miscaptioned", "true"],
        )
        == 0.75
    )


@given(answers)
def test_accuracy_is_the_class_accuracies_weighted_by_their_rows(
    rows: list[tuple[str, str]],
) -> None:
    truth, predicted = (list(column) for column in zip(*rows, strict=True))
    weights = pd.Series(truth).value_counts()
    parts = class_accuracies(truth, predicted)
    assert accuracy(truth, predicted) == pytest.approx(
        (parts * weights).sum() / len(rows)
    )


@given(answers)
def test_the_diagonal_of_the_confusion_holds_the_right_answers(
    rows: list[tuple[str, str]],
) -> None:
    truth, predicted = (list(column) for column in zip(*rows, strict=True))
    counts = confusion(truth, predicted)
    assert counts.to_numpy().sum() == len(rows)
    assert np.trace(counts) / len(rows) == pytest.approx(accuracy(truth, predicted))


def test_a_class_that_no_row_carries_has_no_accuracy() -> None:
    assert np.isnan(class_accuracies(["true"], ["miscaptioned"])["out-of-context"])


def test_confusion_counts_truth_down_and_predictions_across() -> None:
    counts = confusion(
        ["true", "true", "miscaptioned"], ["out-of-context", "true", "true"]
    )
    assert counts.loc["true", "out-of-context"] == 1
    assert counts.loc["out-of-context", "true"] == 0
    assert (counts.index.name, counts.columns.name) == ("truth", "predicted")


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="2 of truth, 1 of predicted"):
        accuracy(["true", "true"], ["true"])


def test_columns_without_rows_are_refused() -> None:
    with pytest.raises(DataError, match="found none"):
        accuracy([], [])


def test_a_series_that_was_sorted_alone_is_refused() -> None:
    truth = pd.Series(["true", "miscaptioned"], index=["a", "b"])
    with pytest.raises(DataError, match="different indexes"):
        accuracy(truth, truth.iloc[::-1])


@pytest.mark.parametrize("odd", ["True", "misinformation", np.nan])
def test_an_unknown_label_is_named(odd: str) -> None:
    with pytest.raises(DataError, match=f"predicted holds an unknown label: {odd}"):
        confusion(["true"], [odd])
