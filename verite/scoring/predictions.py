"""Predictions in a file or a data frame: an id and a label per row."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from verite.errors import DataError, ParameterError, name_some
from verite.pairs import LABELS, MISCAPTIONED, MISINFORMATION, OUT_OF_CONTEXT, TRUE
from verite.tables import read_table

__all__ = [
    "ID_COLUMNS",
    "PREDICTION_COLUMNS",
    "SPELLINGS",
    "read_predictions",
    "to_labels",
]

ID_COLUMNS = ("pair_id", "id", "post_id", "row", "index", "Unnamed: 0", "")
"""Names of the column of ids.

The first is preferred; of the others there may be one, or several that are equal. The
last two are what pandas makes of row numbers.
"""

PREDICTION_COLUMNS = ("prediction", "predicted", "pred", "y_pred", "predicted_label")
"""Names of the column of predictions; ``label`` is the truth in pair tables."""

SPELLINGS: Mapping[str, str] = {
    "true": TRUE,
    "real": TRUE,
    "out-of-context": OUT_OF_CONTEXT,
    "ooc": OUT_OF_CONTEXT,
    "miscaptioned": MISCAPTIONED,
    "mc": MISCAPTIONED,
    "misinformation": MISINFORMATION,
    "fake": MISINFORMATION,
}
"""Known spellings of labels, in any case, with spaces or underscores for hyphens.

Not ``false``, 0 and 1: in one file ``false`` is a false pair, in another it says that a
pair is not misinformation.
"""

_AMBIGUOUS = ("true", "false", "0", "1", "0.0", "1.0")
_EMPTY = ("", "nan", "none", "null", "na", "<na>")
_CHECKED = ("seed", "caption", "image_path", "image_id", "label")


def read_predictions(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    id_column: str | None = None,
    prediction_column: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Read predictions, with ids and labels in one form.

    Parameters
    ----------
    source
        A file that :func:`verite.tables.read_table` reads, or a table.
    id_column, prediction_column
        Their names, if they are not among :data:`ID_COLUMNS` and
        :data:`PREDICTION_COLUMNS`.
    labels
        Meanings of further spellings, such as ``{"0": "true", "1": "misinformation"}``.

    Returns
    -------
    pandas.DataFrame
        Text columns ``id``, ``prediction`` (labels of :mod:`verite.pairs`), ``seed`` if
        there was one, and columns to check against the benchmark: ``caption``,
        ``image_path``, ``image_id``, ``label``.

    Raises
    ------
    DataError
        No table or no row, a column is missing or ambiguous, an id or a prediction is
        empty, or a label is unknown.

    >>> table = pd.DataFrame({"row": [0, 1], "pred": ["OOC", "Out of context"]})
    >>> read_predictions(table)["prediction"].tolist()
    ['out-of-context', 'out-of-context']
    """
    if isinstance(source, pd.DataFrame):
        where = "predictions"
        table = source.astype(object).where(source.notna(), "").astype(str)
        table = table.reset_index(drop=True)
        if table.columns.has_duplicates:
            names = table.columns[table.columns.duplicated()]
            raise DataError(f"{where}: duplicate column names: {name_some(names)}.")
    else:
        where = str(source)
        table = read_table(source, "Expected a table of pair_id and prediction.")
    table = table.rename(columns=lambda name: str(name).strip())
    if len(table.columns) == 1:
        raise DataError(
            f"{where}: expected an id and a prediction in each row, found the column"
            f" {table.columns[0]!r} only. Predictions are never paired by position: add"
            " the pair_id that `verite data pairs` writes, or the publisher's row"
            " number."
        )
    if table.empty:
        raise DataError(f"{where}: expected predictions under the header, found none.")
    ids = _find(table, id_column, ID_COLUMNS, f"{where}: column of ids", "--id-column")
    name = _find(
        table,
        prediction_column,
        PREDICTION_COLUMNS,
        f"{where}: column of predictions",
        "--prediction-column",
    )
    if ids == name:
        raise ParameterError(
            f"{where}: ids and predictions cannot both be in column {name!r}."
        )
    result = pd.DataFrame({"id": table[ids].str.strip()})
    if (empty := result["id"] == "").any():
        raise DataError(
            f"{where}: {int(empty.sum()):,} row(s) without an id (row"
            f" {name_some(empty.index[empty] + 1)})."
        )
    result["prediction"] = to_labels(table[name], result["id"], labels or {}, where)
    checked = [column for column in _CHECKED if column in table]
    return result.join(
        table[[column for column in checked if column not in (ids, name)]]
    )


def to_labels(
    values: Iterable[str], ids: Iterable[str], labels: Mapping[str, str], where: str
) -> list[str]:
    """Map spellings to labels: ``labels`` first, then :data:`SPELLINGS`.

    Raises
    ------
    DataError
        A cell is empty or holds a spelling that is unknown or ambiguous.
    ParameterError
        ``labels`` gives a meaning that is no label.

    >>> to_labels(["0", "MC"], ["a", "b"], {"0": "true"}, "here")
    ['true', 'miscaptioned']
    """
    known = (*LABELS, MISINFORMATION)
    for spelling, label in labels.items():
        if label not in known:
            raise ParameterError(
                f"--label {spelling}={label}: expected one of {', '.join(known)} after"
                f" the sign, found {label!r}."
            )
    cells = [value.strip() for value in values]
    given = {spelling.strip(): label for spelling, label in labels.items()}
    spellings = dict(SPELLINGS)
    if any(cell.casefold() == "false" for cell in cells):
        del spellings["true"]  # it may be the answer to another question
    mapped = [given.get(cell) or spellings.get(_simplify(cell), "") for cell in cells]
    bad = [
        (key, cell) for key, cell, m in zip(ids, cells, mapped, strict=True) if not m
    ]
    if empty := [key for key, cell in bad if cell.casefold() in _EMPTY]:
        raise DataError(
            f"{where}: no prediction for {len(empty):,} row(s) (id"
            f" {name_some(map(repr, empty))}). Leave these rows out, and choose what"
            " they count with --missing wrong or --missing skip."
        )
    if bad:
        first = bad[0][1]
        short = first.isprintable() and len(first) <= 40
        reason = (
            "is ambiguous" if _simplify(first) in _AMBIGUOUS else "is no known label"
        )
        unknown = dict.fromkeys(cell[:40] for _, cell in bad)
        raise DataError(
            f"{where}: {name_some(map(repr, unknown))} {reason} ({len(bad):,} row(s),"
            f" id {name_some(repr(key) for key, _ in bad)}). Known:"
            f" {', '.join(SPELLINGS)}. Give others a meaning: --label"
            f" {shlex.quote(first) if short else 'SPELLING'}=LABEL."
        )
    return mapped


def _simplify(cell: str) -> str:
    return "-".join(cell.casefold().replace("_", " ").replace("-", " ").split())


def _find(
    table: pd.DataFrame, name: str | None, known: Sequence[str], what: str, option: str
) -> str:
    columns = list(table.columns)
    listed = f"Columns: {name_some(map(repr, columns), 20)}."
    if name is not None:
        if name not in columns:
            raise ParameterError(f"{what}: there is no {name!r}. {listed}")
        return name
    candidates = [column for column in known if column in columns]
    if not candidates:
        raise DataError(
            f"{what}: expected one of {', '.join(map(repr, known))}. {listed} Name"
            f" yours with {option}."
        )
    first = candidates[0]
    if first != "pair_id" and any(
        not table[other].equals(table[first]) for other in candidates
    ):
        raise DataError(
            f"{what}: {name_some(map(repr, candidates))} are all possible. Choose one"
            f" with {option}."
        )
    return first
