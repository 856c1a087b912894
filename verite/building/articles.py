"""The table that a benchmark is built from: one fact-checked article per row."""

from __future__ import annotations

import os

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
"""Required columns, named as in VERITE_articles.csv.

``snopes_url`` is the page of any fact-checker. ``false_url`` and ``query`` may be
empty: then the article has no out-of-context image yet.
"""


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table of articles.

    Captions stay as they are; other cells lose the white space around them.

    Returns
    -------
    pandas.DataFrame
        Strings: :data:`COLUMNS`, then what else the file has, such as ``topic`` and
        ``rating``, or columns named after a criterion with a person's ``yes`` or
        ``no``.

    Raises
    ------
    MissingDataError
        There is no such file.
    DataError
        A column is missing; there is no row; an id is empty, repeats or has other
        characters than letters, digits, ``_`` and ``-``; an article lacks its image or
        a caption; its two captions, or its two images, are the same.
    """
    table = read_table(
        path, "Expected a table of articles such as VERITE_articles.csv."
    )
    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise DataError(
            f"{path}: missing column {name_some(map(repr, missing), 7)}. Found:"
            f" {name_some(map(repr, table.columns), 20)}. Name the columns as"
            " VERITE_articles.csv does."
        )
    if table.empty:
        raise DataError(f"{path}: expected at least one article, found only a header.")
    unnamed = table.columns.str.fullmatch(r"|Unnamed: .*")
    extra = table.columns[~unnamed].drop([*COLUMNS])
    table = table[[*COLUMNS, *extra]]
    for name in table.columns.drop(["true_caption", "false_caption"]):
        table[name] = table[name].str.strip()
    captions = table[["true_caption", "false_caption"]].map(
        lambda text: text.strip().casefold()
    )
    # An id becomes part of file names.
    rules = [
        (
            ~table["id"].str.fullmatch(r"[\w-]{1,100}"),
            "expected an id of 1 to 100 letters, digits, _ or -",
        ),
        (table["id"].duplicated(), "duplicate ids"),
        *(
            (table[name].str.strip() == "", f"no value in {name!r}")
            for name in ("true_url", "true_caption", "false_caption")
        ),
        (
            captions["true_caption"] == captions["false_caption"],
            "the true and the false caption are the same",
        ),
        (
            table["true_url"] == table["false_url"],
            "false_url equals true_url: an out-of-context image must be another one",
        ),
    ]
    for bad, problem in rules:
        if bad.any():
            ids, rows = name_some(table.loc[bad, "id"]), name_some(bad[bad].index + 1)
            raise DataError(
                f"{path}: {problem}: article {ids}, row {rows}. Correct these rows, or"
                " leave them out."
            )
    return table
