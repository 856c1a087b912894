"""The published numbers, read from ``tables/*.csv``.

The one place in the project where they stand.

Inputs go by one word each, as everywhere in this project: ``image+text`` is the paper's
D(I,C), ``image;text`` its D-(I;C), ``text`` D-(C) and ``image`` D-(I). Where a table
gives more than an accuracy for an input, the column says so behind a colon:
``image+text: true`` (Table 5), ``true-vs-mc: text`` (Table 6), ``image+text vs text:
d`` (Table 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files

import pandas as pd

from verite.errors import DataError, ParameterError, name_some
from verite.files import read_csv

__all__ = ["compare", "read_cells", "table", "wide"]

_NAMES: tuple[int | str, ...] = (1, 2, 3, 4, 5, 6, 7, "prose")
_EXTRAS = ("low", "high", "n")


def table(name: int | str) -> pd.DataFrame:
    """One published table, a row a cell, in printed order.

    Parameters
    ----------
    name
        1 to 7, or ``"prose"`` for the numbers that stand in running text alone.

    Returns
    -------
    pandas.DataFrame
        ``table``, ``row``, ``column``, ``value`` (NaN where a cell is a dash or lost),
        ``unit`` (``pairs``, ``%`` or ``d``), ``note`` (why a cell is empty or where it
        was taken from) and ``decimals``, the number of decimals printed. A copy: change
        it freely.

    Raises
    ------
    ParameterError
        There is no such table.

    >>> cells = table(3)
    >>> len(cells)
    36
    >>> cells.loc[cells["value"] > 70, ["row", "column", "value", "unit"]].to_dict("records")
    [{'row': 'CHASMA-D', 'column': 'text', 'value': 72.6, 'unit': '%'}]
    """
    return _read(name).copy()


def wide(name: int | str) -> pd.DataFrame:
    """One published table in its printed shape.

    Values only, rows and columns in printed order.

    Raises
    ------
    ParameterError
        There is no such table.

    >>> wide(4).loc["MEIR", ["text", "image+text"]].tolist()
    [72.2, 73.9]
    """
    cells = _read(name)
    return (
        cells.set_index(["row", "column"])["value"]
        .unstack()
        .loc[cells["row"].unique(), cells["column"].unique()]
    )


def compare(
    published: pd.DataFrame | None,
    reference: pd.DataFrame | None,
    ours: pd.DataFrame | None,
    *,
    on: Sequence[str] = ("row", "column"),
) -> pd.DataFrame:
    """Put published, reference and our own numbers beside each other.

    Parameters
    ----------
    published, reference, ours
        Tidy tables with the columns of ``on`` and ``value``, and where known ``low``,
        ``high`` and ``n``, all in one unit; further columns are ignored. None where
        there is nothing: its column stays empty.
    on
        What names a number.

    Returns
    -------
    pandas.DataFrame
        The columns of ``on``, then ``published``, ``reference``, ``this build``,
        ``reference − published``, ``this build − reference``, and the columns
        ``reference low`` … ``this build n`` that were given. Every number of any of the
        three has a row: first in the order of ``published``, then what only the others
        hold.

    Raises
    ------
    DataError
        A column is missing, or a number is there twice.

    >>> ours = pd.DataFrame({"row": ["MEIR"], "column": ["text"], "value": [70.0], "low": [68.0], "high": [72.0], "n": [900]})
    >>> beside = compare(table(4).query("row == 'MEIR'"), None, ours)
    >>> beside[["column", "published", "reference", "this build", "this build n"]].iloc[:2]
      column  published  reference  this build  this build n
    0   text       72.2        NaN        70.0         900.0
    1  image       65.5        NaN         NaN           NaN
    """
    key = list(on)
    parts: dict[str, pd.DataFrame] = {}
    for name, frame in {
        "published": published,
        "reference": reference,
        "this build": ours,
    }.items():
        if frame is None:
            continue
        if missing := [column for column in (*key, "value") if column not in frame]:
            raise DataError(
                f"{name}: missing column {name_some(missing)}. Found:"
                f" {name_some(frame.columns, 20)}."
            )
        if (twice := frame.duplicated(key)).any():
            cells = (
                " / ".join(map(str, cell))
                for cell in frame.loc[twice, key].itertuples(index=False)
            )
            raise DataError(
                f"{name}: one value for each {' and '.join(key)} expected, several"
                f" found for {name_some(cells)}."
            )
        extras = (
            []
            if name == "published"
            else [extra for extra in _EXTRAS if extra in frame]
        )
        parts[name] = frame[[*key, "value", *extras]].rename(
            columns={"value": name, **{extra: f"{name} {extra}" for extra in extras}}
        )
    if not parts:
        raise DataError(
            "nothing to compare: published, reference and ours are all None."
        )
    result = pd.concat([part[key] for part in parts.values()]).drop_duplicates(
        ignore_index=True
    )
    for part in parts.values():
        result = result.merge(part, on=key, how="left")
    for name in ("published", "reference", "this build"):
        result[name] = result[name].astype(float) if name in parts else float("nan")
    result["reference − published"] = result["reference"] - result["published"]
    result["this build − reference"] = result["this build"] - result["reference"]
    front = [
        *key,
        "published",
        "reference",
        "this build",
        "reference − published",
        "this build − reference",
    ]
    return result[[*front, *(column for column in result if column not in front)]]


def read_cells(package: str, name: int | str) -> pd.DataFrame:
    """A published table from ``tables/`` of a package, for papers whose numbers stand
    in files like these.

    >>> read_cells("verite.paper", 3)["decimals"].max()
    np.int64(1)
    """
    resource = (
        files(package)
        / "tables"
        / (f"table{name}.csv" if isinstance(name, int) else f"{name}.csv")
    )
    with as_file(resource) as path:
        cells = read_csv(path)
    printed = cells["value"]
    return cells.assign(
        table=name,
        value=pd.to_numeric(printed.mask(printed == "")).astype(float),
        decimals=printed.str.partition(".")[2].str.len(),
    )


@cache
def _read(name: int | str) -> pd.DataFrame:
    if name not in _NAMES:
        raise ParameterError(
            f"the paper has no table {name!r}. Known: {', '.join(map(str, _NAMES))}."
        )
    return read_cells("verite.paper", name)
