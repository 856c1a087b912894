"""Predictions as people keep them.

A CSV, or a data frame, with an id and a label a row.
"""

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

The first is taken if it is there; of the others there may be one, or several that say
the same.
The last two are what pandas makes of row numbers."""

PREDICTION_COLUMNS = ("prediction", "predicted", "pred", "y_pred", "predicted_label")
"""Names of the column of predictions, of which there may be one.

``label`` is none: in pair tables that is the truth.
"""

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
"""Spellings of labels that are understood, in any case, with spaces or underscores for
hyphens. ``false``, 0 and 1 are not
among them: in one file ``false`` is a false pair, in the next it says that a pair is no
misinformation."""

_AMBIGUOUS = ("true", "false", "0", "1", "0.0", "1.0")
_LONG = 40  # characters: more is no label but a text
_USED = ("seed", "caption", "image_path", "image_id", "label")
_NOTHING = ("", "nan", "none", "null", "na", "<na>")


def read_predictions(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    id_column: str | None = None,
    prediction_column: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Read predictions, and bring ids and labels into one form.

    Parameters
    ----------
    source
        A comma-separated file, or a table.
    id_column, prediction_column
        Their names, if they are not among :data:`ID_COLUMNS` and
        :data:`PREDICTION_COLUMNS`.
    labels
        What spellings mean, such as ``{"0": "true", "1": "misinformation"}``, on top of
        :data:`SPELLINGS`.

    Returns
    -------
    pandas.DataFrame
        Text columns ``id``, ``prediction`` (labels of :mod:`verite.pairs`), ``seed`` if
        there was one, and columns to check against the benchmark: ``caption``,
        ``image_path``, ``image_id``, ``label``.

    Raises
    ------
    DataError
        No table, no row, a column is not there or there are several, an id or a
        prediction is empty, or a label is unknown.

    >>> read_predictions(pd.DataFrame({"row": [0, 1], "pred": ["OOC", "Out of context"]}))["prediction"].tolist()
    ['out-of-context', 'out-of-context']
    """
    if isinstance(source, pd.DataFrame):
        where, table = (
            "predictions",
            source.astype(object).where(source.notna(), "").astype(str),
        )
        table.columns = pd.Index([str(name) for name in source.columns])
    else:
        where = str(source)
        table = read_table(
            source, "Expected a table of predictions: pair_id,prediction."
        )
        table = table.rename(columns=str.strip)
    if len(table.columns) == 1:
        _refuse_one_column(where, table.columns[0])
    id_name = _find(
        table, id_column, ID_COLUMNS, f"{where}: column of ids", "--id-column"
    )
    name = _find(
        table,
        prediction_column,
        PREDICTION_COLUMNS,
        f"{where}: column of predictions",
        "--prediction-column",
    )
    if id_name == name:
        raise ParameterError(
            f"{where}: ids and predictions cannot both be in column {name!r}."
        )
    if table.empty:
        raise DataError(f"{where}: expected predictions under the header, found none.")
    ids = table[id_name].str.strip()
    if (empty := ids == "").any():
        raise DataError(
            f"{where}: expected an id in each row, found none in {int(empty.sum()):,}"
            f" row(s) (row {name_some(empty.index[empty])})."
        )
    rest = table.loc[
        :,
        [column in _USED and column not in (id_name, name) for column in table.columns],
    ]
    if len(set(rest.columns)) < len(rest.columns):
        raise DataError(
            f"{where}: two columns have one name:"
            f" {name_some(rest.columns[rest.columns.duplicated()])}. Rename one of"
            " them."
        )
    head = pd.DataFrame(
        {"id": ids, "prediction": to_labels(table[name], ids, labels or {}, where)}
    )
    return pd.concat([head, rest], axis=1).reset_index(drop=True)


def to_labels(
    values: Iterable[str],
    ids: Sequence[str] | pd.Series,
    labels: Mapping[str, str],
    where: str,
) -> list[str]:
    """Map spellings to labels: ``labels`` first, then :data:`SPELLINGS`.

    Raises
    ------
    DataError
        A cell is empty or holds a spelling that is unknown or ambiguous; the message
        names ids.
    ParameterError
        ``labels`` gives a meaning that is no label.

    >>> to_labels(["0", "MC"], ["a", "b"], {"0": "true"}, "here")
    ['true', 'miscaptioned']
    """
    known = (*LABELS, MISINFORMATION)
    for spelling, meaning in labels.items():
        if meaning not in known:
            raise ParameterError(
                f"--label {spelling}={meaning}: expected one of {', '.join(known)}"
                f" after the sign, found {meaning!r}."
            )
    cells, keys = [value.strip() for value in values], list(ids)
    given = {spelling.strip(): meaning for spelling, meaning in labels.items()}
    # Where there is a False, True may be the answer to another question.
    spellings = {
        key: label
        for key, label in SPELLINGS.items()
        if key != "true" or not any(cell.casefold() == "false" for cell in cells)
    }
    found = [given.get(cell) or spellings.get(_plain(cell), "") for cell in cells]
    bad = [at for at, label in enumerate(found) if not label]
    if nothing := [keys[at] for at in bad if cells[at].casefold() in _NOTHING]:
        raise DataError(
            f"{where}: no prediction for {len(nothing):,} row(s) (id"
            f" {name_some(map(repr, nothing))}). Leave these rows out, and choose what"
            " they count with --missing wrong or --missing skip."
        )
    if bad:
        seen = list(dict.fromkeys(cells[at] for at in bad))
        example = (
            shlex.quote(seen[0])
            if seen[0].isprintable() and len(seen[0]) <= _LONG
            else "SPELLING"
        )
        unclear = (
            "may mean either class, so it is not guessed"
            if _plain(seen[0]) in _AMBIGUOUS
            else "is no label known here"
        )
        raise DataError(
            f"{where}: {name_some(map(_shown, seen))} {unclear} ({len(bad):,} row(s),"
            f" id {name_some(repr(keys[at]) for at in bad)}). Known:"
            f" {', '.join(SPELLINGS)}. Say what each means: --label {example}=LABEL."
        )
    return found


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= _LONG else cell[:_LONG] + "...")


def _plain(cell: str) -> str:
    return "-".join(cell.casefold().replace("_", " ").replace("-", " ").split())


def _find(
    table: pd.DataFrame, asked: str | None, known: Sequence[str], what: str, option: str
) -> str:
    names = list(table.columns)
    there = (
        [name for name in known if name in names]
        if asked is None
        else [name for name in names if name == asked]
    )
    listed = f"Found: {name_some(map(repr, names), 20)}."
    if not there:
        if asked is not None:
            raise ParameterError(f"{what}: there is no {asked!r}. {listed}")
        raise DataError(
            f"{what}: expected one of {', '.join(map(repr, known))}. {listed} Name"
            f" yours with {option}."
        )
    chosen = there[0]
    if twice := [name for name in there if names.count(name) > 1]:
        raise DataError(
            f"{what}: {twice[0]!r} stands {names.count(twice[0])} times in the header."
            " Rename one of them."
        )
    if chosen != "pair_id" and not all(
        table[name].equals(table[chosen]) for name in there
    ):
        raise DataError(
            f"{what}: {name_some(map(repr, there))} may all be it. Say which with"
            f" {option}."
        )
    return chosen


def _refuse_one_column(where: str, header: str) -> None:
    raise DataError(
        f"{where}: expected an id and a prediction in each row, found the one column"
        f" {header!r}. Predictions are never paired by position: add the pair_id that"
        " `verite data pairs` writes, or the publisher's row number."
    )
