"""Accuracy under a protocol: which rows are scored, and into which classes.

An accuracy means nothing without its protocol: the same predictions reach different
figures under each, and chance differs too. The paper scores VERITE in three classes
(section 4.2, Table 5) and, as VERITE-B, in two pair accuracies (Table 6).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from verite.errors import DataError, ParameterError, name_some
from verite.evaluation.intervals import (
    Column,
    Interval,
    check_aligned,
    grouped_bootstrap,
)
from verite.pairs import (
    BINARY_LABELS,
    LABELS,
    MISCAPTIONED,
    MISINFORMATION,
    OUT_OF_CONTEXT,
    TRUE,
    to_binary,
)

__all__ = ["PROTOCOLS", "Protocol", "accuracy", "protocol_named", "score"]


def accuracy(truth: Column, predicted: Column) -> float:
    """Share of rows whose predicted label is the true one (paper, section 4.2).

    Range 0 to 1, higher is better. A constant answer reaches :meth:`Protocol.chance`.

    Raises
    ------
    DataError
        The two differ in length or index, or are empty.

    >>> accuracy(["true", "true", "miscaptioned"], ["true", "miscaptioned", "true"])
    0.3333333333333333
    """
    check_aligned(truth=truth, predicted=predicted)
    return float(np.mean(np.asarray(truth, object) == np.asarray(predicted, object)))


@dataclass(frozen=True)
class Protocol:
    """A way to score predictions.

    >>> labels = ["true", "out-of-context", "miscaptioned"]
    >>> PROTOCOLS["true-vs-mc"].to_classes(labels).tolist()
    ['true', 'misinformation', 'misinformation']
    """

    name: str
    title: str
    keeps: tuple[str, ...]
    """True labels whose rows are scored."""
    classes: tuple[str, ...]
    """What truth and prediction are mapped to."""

    def to_classes(self, labels: Iterable[str]) -> np.ndarray:
        """Map labels to this protocol's classes.

        Under two classes a prediction of either false label is ``misinformation``, so
        calling an out-of-context pair miscaptioned counts as right.
        """
        if self.classes == BINARY_LABELS:
            return to_binary(labels)
        values = np.asarray(list(labels), dtype=object)
        if unknown := sorted(set(map(str, values)) - set(self.classes)):
            raise DataError(
                f"protocol {self.name!r}: unknown label {name_some(unknown)}. Binary"
                " predictions are scored under true-vs-ooc, true-vs-mc and all-false."
            )
        return values

    def select(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows of a table that this protocol scores, ``label`` mapped to its classes.

        Works on pair tables and on tables of predictions alike.

        Raises
        ------
        DataError
            No row is left, or the labels are binary and the protocol needs to tell the
            false classes apart.
        """
        labels = set(map(str, table["label"]))
        if unknown := sorted(labels - {*LABELS, *self.keeps}):
            raise DataError(
                f"protocol {self.name!r} expects {', '.join(self.keeps)}, found"
                f" {name_some(unknown)}. Binary labels are scored under all-false."
            )
        rows = table[table["label"].isin(self.keeps)]
        if rows.empty:
            raise DataError(
                f"protocol {self.name!r}: no row is {' or '.join(self.keeps)}."
            )
        return rows.assign(label=self.to_classes(rows["label"]))

    def chance(self, table: pd.DataFrame) -> float:
        """Accuracy of the best constant answer: the share of the largest class.

        >>> table = pd.DataFrame({"label": ["true", "out-of-context", "miscaptioned"]})
        >>> PROTOCOLS["all-false"].chance(table), PROTOCOLS["true-vs-ooc"].chance(table)
        (0.6666666666666666, 0.5)
        """
        return float(self.select(table)["label"].value_counts(normalize=True).max())


_OOC, _MC = (TRUE, OUT_OF_CONTEXT), (TRUE, MISCAPTIONED)
_ALL = (*LABELS, MISINFORMATION)
PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("three-class", "Three classes", LABELS, LABELS),
        Protocol("true-vs-ooc", "True vs OOC (VERITE-B)", _OOC, BINARY_LABELS),
        Protocol("true-vs-mc", "True vs MC (VERITE-B)", _MC, BINARY_LABELS),
        Protocol("all-false", "True vs all misinformation", _ALL, BINARY_LABELS),
    )
}
"""The protocols by name."""


def protocol_named(protocol: str | Protocol) -> Protocol:
    """Return a protocol by its name; a :class:`Protocol` is passed through."""
    if isinstance(protocol, Protocol):
        return protocol
    if protocol not in PROTOCOLS:
        raise ParameterError(
            f"unknown protocol {protocol!r}. Known: {', '.join(PROTOCOLS)}."
        )
    return PROTOCOLS[protocol]


def score(
    predictions: pd.DataFrame,
    protocol: str | Protocol,
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Accuracy overall and of each class under a protocol, each with its interval.

    The accuracy of a class is its recall; its interval draws the groups that hold rows
    of that class.

    Parameters
    ----------
    predictions
        Columns ``pair_id``, ``label`` (the true one), ``prediction`` and ``group``;
        where several seeds were run, ``seed``, one row per pair and seed.
    seed, resamples, level
        See :func:`verite.evaluation.grouped_bootstrap`.

    Returns
    -------
    pandas.DataFrame
        Columns ``protocol``, ``metric`` (``accuracy``, then ``accuracy: true`` and so
        on), ``value``, ``low``, ``high`` (shares, 0 to 1) and ``n``, the number of
        distinct pairs. A class without rows has n 0 and NaN.

    Raises
    ------
    DataError
        A column is missing; a pair has two predictions, labels or groups; labels do
        not fit the protocol.

    >>> table = pd.DataFrame({
    ...     "pair_id": ["1", "2", "3", "4"], "group": ["a", "a", "b", "b"],
    ...     "label": ["true", "miscaptioned", "true", "out-of-context"],
    ...     "prediction": ["true", "out-of-context", "true", "true"],
    ... })
    >>> score(table, "all-false")[["metric", "value", "n"]]
                         metric  value  n
    0                  accuracy   0.75  4
    1            accuracy: true   1.00  2
    2  accuracy: misinformation   0.50  2
    """
    chosen = protocol_named(protocol)
    _check(predictions)
    rows = chosen.select(predictions)
    correct = rows["label"].to_numpy() == chosen.to_classes(rows["prediction"])
    parts = {"accuracy": np.full(len(rows), True)} | {
        f"accuracy: {name}": (rows["label"] == name).to_numpy()
        for name in chosen.classes
    }
    results = []
    for metric, part in parts.items():
        interval = Interval(np.nan, np.nan, np.nan, 0, 0)
        if part.any():
            groups = rows["group"].to_numpy()[part]
            interval = grouped_bootstrap(
                correct[part], groups, seed=seed, resamples=resamples, level=level
            )
        n = rows.loc[part, "pair_id"].nunique()
        results.append((chosen.name, metric, *interval[:3], n))
    columns = ["protocol", "metric", "value", "low", "high", "n"]
    return pd.DataFrame(results, columns=columns)


def _check(predictions: pd.DataFrame) -> None:
    needed = ("pair_id", "label", "prediction", "group")
    if missing := [name for name in needed if name not in predictions]:
        raise DataError(
            f"predictions: missing column {name_some(missing)}. Found:"
            f" {name_some(predictions.columns, 20)}."
        )
    key = ["pair_id", "seed"] if "seed" in predictions else ["pair_id"]
    if (repeated := predictions.duplicated(key)).any():
        pairs = name_some(predictions.loc[repeated, "pair_id"].unique())
        raise DataError(
            f"predictions: duplicate {' and '.join(key)}: {pairs}. Score one detector"
            " at a time; number repetitions in a column `seed`."
        )
    facts = predictions[["pair_id", "label", "group"]].drop_duplicates()
    if (torn := facts["pair_id"].duplicated()).any():
        raise DataError(
            "predictions: several labels or groups for"
            f" {name_some(facts.loc[torn, 'pair_id'])}."
        )
