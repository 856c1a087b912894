"""Predictions and a benchmark in, every figure out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from verite.datasets.reading import choose
from verite.errors import DataError
from verite.files import sha256
from verite.scoring.benchmark import Benchmark, Matched, match, open_benchmark
from verite.scoring.measures import compare, consistency, measure, scorable
from verite.scoring.predictions import read_predictions

__all__ = ["MISSING", "Scores", "score_predictions"]

MISSING = ("error", "wrong", "skip")
"""What pairs without a prediction are.

An error, counted as wrong answers, or left out.
"""

Source = str | os.PathLike[str] | pd.DataFrame


@dataclass(frozen=True)
class Scores:
    """What a system reaches on a benchmark.

    Attributes
    ----------
    table
        A row for each protocol and figure: see :func:`verite.scoring.measure`.
    unscored
        Protocols that could not be scored, and why.
    consistency
        See :func:`verite.scoring.consistency`; empty where the benchmark is not
        balanced.
    comparison
        See :func:`verite.scoring.compare`; empty without a second system.
    benchmark, matched, other
        What was scored; ``other`` is the second system's.
    about
        Digests, seeds, settings: what the figures hang on.
    """

    table: pd.DataFrame
    unscored: Mapping[str, str]
    consistency: pd.DataFrame
    comparison: pd.DataFrame
    benchmark: Benchmark
    matched: Matched
    other: Matched | None
    about: Mapping[str, Any]


def score_predictions(
    predictions: Source,
    benchmark: str | Path | pd.DataFrame,
    *,
    against: Source | None = None,
    missing: str = "error",
    options: Mapping[str, Any] | None = None,
    id_column: str | None = None,
    prediction_column: str | None = None,
    labels: Mapping[str, str] | None = None,
    seed: int = 0,
    resamples: int = 2000,
) -> Scores:
    """Score predictions under every protocol that they and the benchmark allow.

    Parameters
    ----------
    predictions, against
        A CSV or a table with an id and a label a row: see
        :func:`verite.scoring.read_predictions`. ``against`` is a second system's, to
        compare with.
    benchmark
        ``verite``, ``vmu-twitter``, ``cosmos``, a CSV of pairs, or a pair table.
    missing
        One of :data:`MISSING`.
    options
        Of the benchmark: ``{"version": "paper"}`` for VERITE's first release.
    id_column, prediction_column, labels
        How to read the predictions, of both systems.
    seed, resamples
        Of the intervals and the test.

    Raises
    ------
    ParameterError
        An option does not exist, or something has to be said.
    MissingDataError
        A file is not there.
    DataError
        Predictions cannot be read, or are not for these pairs.

    >>> pairs = pd.DataFrame({
    ...     "pair_id": ["p1", "p2"], "image_id": "i", "text_id": ["t1", "t2"], "caption": ["A boat.", "A dog."], "image_path": "",
    ...     "label": ["true", "misinformation"], "group": ["a", "b"], "split": "", "dataset": "mine",
    ... })
    >>> found = score_predictions(pd.DataFrame({"pair_id": ["p1", "p2"], "prediction": ["real", "real"]}), pairs)
    >>> found.table[["protocol", "metric", "value", "n"]].head(1)
        protocol    metric  value  n
    0  all-false  accuracy    0.5  2
    """
    choose("--missing", missing, MISSING)
    how: dict[str, Any] = {
        "id_column": id_column,
        "prediction_column": prediction_column,
        "labels": labels,
    }
    answers = read_predictions(predictions, **how)
    opened = open_benchmark(benchmark, answers, options)
    matched = match(answers, opened, missing)
    unscored = scorable(matched.table)
    protocols = [name for name, reason in unscored.items() if not reason]
    if not protocols:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in unscored.items())
        raise DataError(f"no protocol can be scored ({reasons}).")
    draws = {"seed": seed, "resamples": resamples}
    table = pd.concat(
        [measure(matched.table, name, **draws) for name in protocols], ignore_index=True
    )
    # VERITE-B's two protocols hold only one kind of balanced pairs each, which the
    # other two hold as well.
    balanced = [name for name in ("three-class", "all-false") if name in protocols]
    consistent = pd.concat(
        [consistency(matched.table, name, **draws) for name in balanced],
        ignore_index=True,
    )
    other, compared = (
        None,
        pd.DataFrame(columns=["protocol", "difference", "low", "high", "p_value", "n"]),
    )
    if against is not None:
        other, theirs = _second(against, how, benchmark, options, opened, missing)
        common = [name for name in protocols if not theirs[name]]
        if not common:
            raise DataError(
                "the two predictions can be scored under no common protocol. They share"
                " too few pairs."
            )
        compared = pd.concat(
            [compare(matched.table, other.table, name, **draws) for name in common],
            ignore_index=True,
        )
    about = {
        "benchmark": opened.name,
        "version": opened.version,
        "pairs": len(opened.pairs),
        "note": opened.note,
        "benchmark_files": dict(opened.files),
        "predictions": _digest(predictions),
        "against": _digest(against),
        "missing": missing,
        "intervals": {
            "level": 0.95,
            "resamples": resamples,
            "resampled": "groups",
            "seed": seed,
        },
    }
    why = {name: reason for name, reason in unscored.items() if reason}
    return Scores(table, why, consistent, compared, opened, matched, other, about)


def _second(
    against: Source,
    how: Mapping[str, Any],
    benchmark: str | Path | pd.DataFrame,
    options: Mapping[str, Any] | None,
    opened: Benchmark,
    missing: str,
) -> tuple[Matched, dict[str, str]]:
    try:
        answers = read_predictions(against, **how)
        theirs = open_benchmark(benchmark, answers, options)
        if theirs.version != opened.version:
            raise DataError(
                f"they are of version {theirs.version}, the first of version"
                f" {opened.version}. Compare on one version."
            )
        matched = match(answers, theirs, missing)
    except DataError as error:
        raise DataError(f"--against: {error}") from error
    return matched, scorable(matched.table)


def _digest(source: Source | None) -> dict[str, str]:
    if source is None or isinstance(source, pd.DataFrame):
        return {}
    return {Path(source).name: sha256(source)}
