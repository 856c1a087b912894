"""From predictions and a benchmark to every figure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from verite.datasets.reading import choose
from verite.errors import DataError
from verite.evaluation import PROTOCOLS
from verite.files import sha256
from verite.scoring.benchmark import Benchmark, Matched, match, open_benchmark
from verite.scoring.measures import (
    COMPARISON,
    compare,
    consistency,
    find_unscorable,
    measure,
)
from verite.scoring.predictions import read_predictions

__all__ = ["MISSING", "Scores", "score_predictions"]

MISSING = ("error", "wrong", "skip")
"""What pairs without a prediction are: an error, wrong answers, or left out."""

Source = str | os.PathLike[str] | pd.DataFrame


@dataclass(frozen=True)
class Scores:
    """What a system reaches on a benchmark.

    Attributes
    ----------
    table
        A row per protocol and figure: see :func:`verite.scoring.measure`.
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
        Digests, seeds and settings.
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
        A file or a table with an id and a label per row: see
        :func:`verite.scoring.read_predictions`. ``against`` is a second system's, to
        compare with.
    benchmark
        ``verite``, ``vmu-twitter``, ``cosmos``, a file of pairs, or a pair table.
    missing
        One of :data:`MISSING`.
    options
        Of the benchmark: ``{"version": "paper"}`` for VERITE's first release.
    id_column, prediction_column, labels
        How to read the predictions of both systems.
    seed, resamples
        Of the intervals and the test.

    Raises
    ------
    ParameterError
        An option does not exist, or must be given.
    MissingDataError
        A file is missing.
    DataError
        Predictions cannot be read, or are not for these pairs.

    >>> pairs = pd.DataFrame({
    ...     "pair_id": ["p1", "p2"], "image_id": "i", "text_id": ["t1", "t2"],
    ...     "caption": ["A boat.", "A dog."], "image_path": "",
    ...     "label": ["true", "misinformation"], "group": ["a", "b"], "split": "",
    ...     "dataset": "mine",
    ... })
    >>> answers = pd.DataFrame({"pair_id": ["p1", "p2"], "prediction": "real"})
    >>> score_predictions(answers, pairs).table[["metric", "value", "n"]].head(1)
         metric  value  n
    0  accuracy    0.5  2
    """
    choose("--missing", missing, MISSING)
    reading: dict[str, Any] = {
        "id_column": id_column,
        "prediction_column": prediction_column,
        "labels": labels,
    }
    answers = read_predictions(predictions, **reading)
    opened = open_benchmark(benchmark, answers, options)
    matched = match(answers, opened, missing)
    unscored = find_unscorable(matched.table)
    protocols = [name for name in PROTOCOLS if name not in unscored]
    if not protocols:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in unscored.items())
        raise DataError(f"no protocol can be scored ({reasons}).")
    draws = {"seed": seed, "resamples": resamples}
    figures = [measure(matched.table, name, **draws) for name in protocols]
    # VERITE-B's two protocols hold only one kind of balanced pairs each, which the
    # other two hold as well.
    balanced = [name for name in ("three-class", "all-false") if name in protocols]
    units = [consistency(matched.table, name, **draws) for name in balanced]
    other, comparisons = None, [pd.DataFrame(columns=COMPARISON)]
    if against is not None:
        try:
            answers = read_predictions(against, **reading)
            theirs = open_benchmark(benchmark, answers, options)
            if theirs.version != opened.version:
                raise DataError(
                    f"they are of {theirs}, the first of {opened}. Compare on one"
                    " version."
                )
            other = match(answers, theirs, missing)
        except DataError as error:
            raise DataError(f"--against: {error}") from error
        unshared = find_unscorable(other.table)
        comparisons = [
            compare(matched.table, other.table, name, **draws)
            for name in protocols
            if name not in unshared
        ]
        if not comparisons:
            raise DataError(
                "the two predictions can be scored under no common protocol."
            )
    return Scores(
        table=pd.concat(figures, ignore_index=True),
        unscored=unscored,
        consistency=pd.concat(units, ignore_index=True),
        comparison=pd.concat(comparisons, ignore_index=True),
        benchmark=opened,
        matched=matched,
        other=other,
        about={
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
        },
    )


def _digest(source: Source | None) -> dict[str, str]:
    if source is None or isinstance(source, pd.DataFrame):
        return {}
    return {Path(source).name: sha256(source)}
