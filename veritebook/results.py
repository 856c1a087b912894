"""Results of a notebook: tidy rows, one number each, with interval, N and protocol."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from verite.errors import DataError, name_some
from verite.tables import read_table

__all__ = ["NUMBERS", "RESULT_COLUMNS", "SYNTHETIC", "Results", "read_results", "tidy"]

RESULT_COLUMNS = (
    "table",
    "row",
    "column",
    "value",
    "low",
    "high",
    "n",
    "unit",
    "protocol",
    "source",
)
"""Columns of a results file: a number per row, with 95 % interval, N and protocol."""

NUMBERS = ("value", "low", "high", "n")

SYNTHETIC = frozenset({"newsroom"})
"""Sources of results that are synthetic."""

Results = pd.DataFrame | Mapping[Any, Any] | Iterable[Mapping[str, Any]]
"""A tidy table, or rows as dicts, or values by row name or by (row, column)."""


def tidy(results: Results) -> pd.DataFrame:
    """Put results into a table with columns ``row``, ``column``, ``value`` and others.

    The values of a mapping are numbers, or what :mod:`verite.evaluation` returns: an
    interval, a ceiling, a threshold.

    >>> tidy({("text", "accuracy"): 0.5, ("image", "accuracy"): {"value": 0.7, "n": 3}})
         row    column  value    n
    0   text  accuracy    0.5  NaN
    1  image  accuracy    0.7  3.0
    """
    if isinstance(results, pd.DataFrame):
        return results
    if isinstance(results, Mapping):
        results = [_names(key) | _numbers(value) for key, value in results.items()]
    return pd.DataFrame(list(results))


def _names(key: Any) -> dict[str, Any]:
    names = key if isinstance(key, tuple) else (key,)
    return dict(zip(("row", "column"), names, strict=False))


def _numbers(value: Any) -> dict[str, Any]:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if not isinstance(value, Mapping | pd.Series):
        return {"value": value}
    numbers = dict(value)
    for name in ("accuracy", "difference"):
        if name in numbers and "value" not in numbers:
            numbers["value"] = numbers.pop(name)
    return numbers


def read_results(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a results file; numbers as numbers, empty cells as gaps.

    Raises
    ------
    DataError
        A column is missing.
    """
    frame = read_table(path)
    missing = [name for name in RESULT_COLUMNS if name not in frame.columns]
    if missing:
        raise DataError(f"{path}: not a results file, missing {name_some(missing)}.")
    for name in NUMBERS:
        frame[name] = pd.to_numeric(
            frame[name].where(frame[name] != ""), errors="raise"
        )
    return frame
