"""Accuracy, overall and of each class, and the table of confusions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, confusion_matrix, recall_score

from verite.errors import DataError, name_some
from verite.evaluation._checks import Column, check_aligned
from verite.pairs import LABELS

__all__ = ["accuracy", "class_accuracies", "confusion"]


def accuracy(truth: Column, predicted: Column) -> float:
    """Share of rows whose predicted label is the true one (paper, section 4.2).

    Range 0 to 1, higher is better. What a constant answer reaches depends on the table:
    see :meth:`verite.evaluation.Protocol.chance`.

    Raises
    ------
    DataError
        The two differ in length or index, or are empty.

    >>> accuracy(["true", "true", "miscaptioned"], ["true", "miscaptioned", "miscaptioned"])
    0.6666666666666666
    """
    check_aligned(truth=truth, predicted=predicted)
    return float(
        accuracy_score(
            np.asarray(truth, dtype=object), np.asarray(predicted, dtype=object)
        )
    )


def class_accuracies(
    truth: Column, predicted: Column, labels: Sequence[str] = LABELS
) -> pd.Series[float]:
    """Accuracy among the rows of each true label.

    The columns True, MC and OOC of the paper's Table 5.

    This is the recall of each class, range 0 to 1. The overall accuracy is their mean,
    weighted by how many rows each class has.

    Returns
    -------
    pandas.Series
        One value for each of ``labels``, in their order; NaN for a label that no row
        carries.

    Raises
    ------
    DataError
        A label outside ``labels``; columns that differ in length or index, or are
        empty.

    >>> class_accuracies(["true", "true", "miscaptioned"], ["true", "miscaptioned", "miscaptioned"]).to_dict()
    {'true': 0.5, 'out-of-context': nan, 'miscaptioned': 1.0}
    """
    known = _known(truth, predicted, labels)
    values = recall_score(
        *known, labels=list(labels), average=None, zero_division=np.nan
    )
    return pd.Series(values, index=pd.Index(labels, name="label"), name="accuracy")


def confusion(
    truth: Column, predicted: Column, labels: Sequence[str] = LABELS
) -> pd.DataFrame:
    """Count rows by true label (down) and predicted label (across).

    Raises
    ------
    DataError
        A label outside ``labels``; columns that differ in length or index, or are
        empty.

    >>> confusion(["true", "miscaptioned"], ["miscaptioned", "miscaptioned"], ["true", "miscaptioned"]).loc["true"].to_dict()
    {'true': 0, 'miscaptioned': 1}
    """
    known = _known(truth, predicted, labels)
    counts = confusion_matrix(*known, labels=list(labels))
    return pd.DataFrame(
        counts,
        index=pd.Index(labels, name="truth"),
        columns=pd.Index(labels, name="predicted"),
    )


def _known(
    truth: Column, predicted: Column, labels: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    check_aligned(truth=truth, predicted=predicted)
    columns = np.asarray(truth, dtype=object), np.asarray(predicted, dtype=object)
    for name, column in zip(("truth", "predicted"), columns, strict=True):
        unknown = sorted({str(value) for value in column} - set(labels))
        if unknown:
            raise DataError(
                f"{name} holds an unknown label: {name_some(unknown)}. Known here:"
                f" {', '.join(labels)}."
            )
    return columns
