"""The table that a benchmark is built from.

One row a fact-checked article, in the format of VERITE_articles.csv.
"""

from __future__ import annotations

import os
import re

import pandas as pd

from verite.errors import DataError, name_some
from verite.tables import read_table

__all__ = ["COLUMNS", "read"]

COLUMNS = (
    "id",
    "true_url",
    "true_caption",
    "false_url",
    "false_caption",
    "query",
    "snopes_url",
)
"""Columns that the table must have, named as the publisher names them.

``snopes_url`` is the page of any fact-checker.

``false_url`` and ``query`` may be empty: then the article has no out-of-context image
yet.
"""

_NEEDED = ("true_url", "true_caption", "false_caption")
_ID = re.compile(r"[\w-]{1,100}")  # it becomes part of the names of files


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table of articles.

    Captions are left as they are, other cells lose the white space around them.

    Returns
    -------
    pandas.DataFrame
        Strings. :data:`COLUMNS` first, then what else the file has: ``topic`` and
        ``rating`` are read by the report and the criteria, and so are columns that are
        named after a criterion and hold a person's ``yes`` or ``no``.

    Raises
    ------
    MissingDataError
        There is no such file.
    DataError
        A column is missing; there is no row; an id is empty, stands twice or holds more
        than letters, digits, ``_`` and ``-``; an article lacks its image or a caption;
        its two captions, or its two images, are the same.
    """
    table = read_table(
        path, "Expected a table of articles such as VERITE_articles.csv."
    )
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise DataError(
            f"{path}: missing column {name_some(map(repr, missing), 7)}. Found:"
            f" {name_some(map(repr, table.columns), 20)}. Name the columns as"
            " VERITE_articles.csv does."
        )
    if table.empty:
        raise DataError(f"{path}: expected at least one article, found only a header.")
    rest = [
        name
        for name in table.columns
        if name not in ("", *COLUMNS) and not name.startswith("Unnamed: ")
    ]
    table = table[[*COLUMNS, *rest]]
    for name in table.columns.difference(["true_caption", "false_caption"]):
        table[name] = table[name].str.strip()

    bad = table.index[~table["id"].map(lambda key: bool(_ID.fullmatch(key)))]
    if len(bad):
        raise DataError(
            f"{path}: an id needs 1 to 100 letters, digits, _ or -, for files are named"
            f" after it; found {name_some(map(repr, table.loc[bad, 'id']))} (row"
            f" {name_some(bad + 1)})."
        )
    twice = table.loc[table["id"].duplicated(), "id"].unique()
    if len(twice):
        raise DataError(
            f"{path}: each id must stand once; {name_some(twice)} stands several times."
        )
    for name in _NEEDED:
        _refuse(
            table,
            table[name].str.strip() == "",
            f"{path}: expected a value in {name!r}, found none",
            "Fill it in, or leave the row out.",
        )
    same = (
        table["true_caption"].str.strip().str.casefold()
        == table["false_caption"].str.strip().str.casefold()
    )
    _refuse(
        table,
        same,
        f"{path}: the true and the false caption are the same",
        "One of them must be wrong.",
    )
    own = table["true_url"] == table["false_url"]
    _refuse(
        table,
        own,
        f"{path}: the out-of-context image is the article's own (false_url equals"
        " true_url)",
        "Choose another one.",
    )
    return table


def _refuse(table: pd.DataFrame, rows: pd.Series, what: str, advice: str) -> None:
    if rows.any():
        raise DataError(f"{what}: article {name_some(table.loc[rows, 'id'])}. {advice}")
