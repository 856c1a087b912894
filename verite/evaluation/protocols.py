"""Protocols: which rows are scored, and into which classes their labels fall.

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
from verite.evaluation.intervals import Interval, grouped_bootstrap
from verite.pairs import (
    BINARY_LABELS,
    LABELS,
    MISCAPTIONED,
    MISINFORMATION,
    OUT_OF_CONTEXT,
    TRUE,
    to_binary,
)

__all__ = ["PROTOCOLS", "Protocol", "protocol_named", "score"]


@dataclass(frozen=True)
class Protocol:
    """A way to score predictions.

    >>> PROTOCOLS["true-vs-mc"].to_classes(["true", "out-of-context", "miscaptioned"]).tolist()
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

        Raises
        ------
        DataError
            An unknown label, or ``misinformation`` under three classes.
        """
        if self.classes == BINARY_LABELS:
            return to_binary(labels)
        values = np.asarray(list(labels), dtype=object)
        unknown = sorted({str(value) for value in values} - set(self.classes))
        if unknown:
            raise DataError(
                f"protocol {self.name!r} expects the labels {', '.join(self.classes)},"
                f" found {name_some(unknown)}. Binary predictions can be scored under"
                " true-vs-ooc, true-vs-mc and all-false."
            )
        return values

    def select(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows of a table that this protocol scores, with ``label`` mapped to its
        classes; a copy.

        Works on pair tables and on tables of predictions alike.

        Raises
        ------
        DataError
            No row is left, or the labels are binary and the protocol needs to tell the
            false classes apart.
        """
        if unknown := sorted(
            {str(label) for label in table["label"]} - {*LABELS, *self.keeps}
        ):
            raise DataError(
                f"protocol {self.name!r} must tell {', '.join(self.keeps)} rows apart,"
                f" found the label {name_some(unknown)}. Tables with binary labels are"
                " scored under all-false."
            )
        rows = table[table["label"].isin(self.keeps)]
        if rows.empty:
            raise DataError(
                f"protocol {self.name!r}: no row is {' or '.join(self.keeps)} among"
                f" {len(table):,}."
            )
        return rows.assign(label=self.to_classes(rows["label"]))

    def chance(self, table: pd.DataFrame) -> float:
        """Accuracy of the best constant answer on a table.

        The share of its largest class, 0 to 1.

        >>> table = pd.DataFrame({"label": ["true", "out-of-context", "miscaptioned"]})
        >>> PROTOCOLS["all-false"].chance(table), PROTOCOLS["true-vs-ooc"].chance(table)
        (0.6666666666666666, 0.5)
        """
        return float(self.select(table)["label"].value_counts(normalize=True).max())


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("three-class", "Three classes", LABELS, LABELS),
        Protocol(
            "true-vs-ooc",
            "True vs OOC (VERITE-B)",
            (TRUE, OUT_OF_CONTEXT),
            BINARY_LABELS,
        ),
        Protocol(
            "true-vs-mc", "True vs MC (VERITE-B)", (TRUE, MISCAPTIONED), BINARY_LABELS
        ),
        Protocol(
            "all-false",
            "True vs all misinformation",
            (*LABELS, MISINFORMATION),
            BINARY_LABELS,
        ),
    )
}
"""The protocols by name."""


def protocol_named(protocol: str | Protocol) -> Protocol:
    """Return a protocol by its name; a :class:`Protocol` is passed through.

    Raises
    ------
    ParameterError
        There is none of that name.
    """
    if isinstance(protocol, Protocol):
        return protocol
    if protocol not in PROTOCOLS:
        raise ParameterError(
            f"unknown protocol: {protocol!r}. Known: {', '.join(PROTOCOLS)}."
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
    """Accuracy and accuracy of each class under a protocol, each with its interval.

    Parameters
    ----------
    predictions
        Columns ``pair_id``, ``label`` (the true one), ``prediction`` and ``group``;
        where several seeds were run, ``seed``, one row for each pair and seed. Further
        columns are ignored.
    seed, resamples, level
        Of the intervals: see :func:`verite.evaluation.grouped_bootstrap`. For the
        accuracy of a class the groups that hold rows of that class are drawn.

    Returns
    -------
    pandas.DataFrame
        Columns ``protocol``, ``metric`` (``accuracy``, then ``accuracy: true`` and so
        on), ``value``, ``low``, ``high`` (shares, 0 to 1) and ``n``, the number of
        distinct pairs. A class without rows has n 0 and NaN.

    Raises
    ------
    DataError
        A column is missing; a pair stands twice under one seed, or with two labels or
        groups; labels do not fit the protocol.
    ParameterError
        Unknown protocol.

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
            interval = grouped_bootstrap(
                correct[part],
                rows["group"].to_numpy()[part],
                seed=seed,
                resamples=resamples,
                level=level,
            )
        results.append(
            (
                chosen.name,
                metric,
                interval.value,
                interval.low,
                interval.high,
                rows.loc[part, "pair_id"].nunique(),
            )
        )
    return pd.DataFrame(
        results, columns=["protocol", "metric", "value", "low", "high", "n"]
    )


def _check(predictions: pd.DataFrame) -> None:
    needed = ("pair_id", "label", "prediction", "group")
    missing = [name for name in needed if name not in predictions]
    if missing:
        raise DataError(
            f"predictions: missing column {name_some(missing)}. Expected"
            f" {', '.join(needed)}; found {name_some(predictions.columns, 20)}."
        )
    key = ["pair_id", "seed"] if "seed" in predictions else ["pair_id"]
    twice = predictions.duplicated(key)
    if twice.any():
        found = name_some(predictions.loc[twice, "pair_id"].unique())
        raise DataError(
            f"predictions: expected one row for each {' and '.join(key)}, found more"
            f" for {found}. Score one detector at a time; tell repetitions apart by a"
            " column `seed`."
        )
    facts = predictions[["pair_id", "label", "group"]].drop_duplicates()
    torn = facts["pair_id"].duplicated()
    if torn.any():
        raise DataError(
            "predictions: a pair has one label and one group;"
            f" {name_some(facts.loc[torn, 'pair_id'])} has several."
        )
