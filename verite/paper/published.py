"""The published numbers, read from ``tables/*.csv``, and their comparison with ours.

Inputs have the same names as everywhere in this project: ``image+text`` is the paper's
D(I,C), ``image;text`` its D-(I;C), ``text`` D-(C) and ``image`` D-(I). Where a table
gives several numbers per input, its columns have two parts: ``image+text: true``
(Table 5), ``true-vs-mc: text`` (Table 6), ``image+text vs text: d`` (Table 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import pandas as pd

from verite.errors import DataError, ParameterError, name_some

__all__ = ["compare", "read_cells", "split_row", "table", "wide"]

_NAMES: tuple[int | str, ...] = (1, 2, 3, 4, 5, 6, 7, "prose")


def table(name: int | str) -> pd.DataFrame:
    """One published table, a row per cell, in printed order.

    Parameters
    ----------
    name
        1 to 7, or ``"prose"`` for the numbers that appear in running text alone.

    Returns
    -------
    pandas.DataFrame
        ``table``, ``row``, ``column``, ``value`` (NaN where a cell is a dash or lost),
        ``unit`` (``pairs``, ``%`` or ``d``), ``note`` (why a cell is empty, or its
        source) and ``decimals``, the number of decimals printed.

    Raises
    ------
    ParameterError
        There is no such table.

    >>> cells = table(3)
    >>> len(cells)
    36
    >>> cells.loc[cells["value"] > 70, ["row", "column", "value"]].values.tolist()
    [['CHASMA-D', 'text', 72.6]]
    """
    if name not in _NAMES:
        known = ", ".join(map(str, _NAMES))
        raise ParameterError(f"the paper has no table {name!r}. Known: {known}.")
    return read_cells("verite.paper", name).copy()


def wide(name: int | str) -> pd.DataFrame:
    """One published table in its printed shape: values only, in printed order.

    >>> wide(4).loc["MEIR", ["text", "image+text"]].tolist()
    [72.2, 73.9]
    """
    cells = table(name)
    shape = cells.pivot_table("value", "row", "column", sort=False, dropna=False)
    return shape.loc[cells["row"].unique(), cells["column"].unique()]


def split_row(name: int, row: str) -> pd.DataFrame:
    """One row of Table 5, 6 or 7 as a table, the two parts of its columns apart.

    The first part of each column becomes ``row``, the second ``column``; cells that are
    printed as a dash are left out.

    >>> split_row(7, "VERITE")[["row", "column", "value"]].head(2).values.tolist()
    [['image+text vs text', 'delta', 27.94], ['image+text vs text', 'd', -3.56]]
    """
    cells = table(name).query("row == @row").dropna(subset="value")
    parts = cells["column"].str.split(": ", n=1, expand=True)
    return cells.assign(row=parts[0], column=parts[1])


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
        Tidy tables with the columns of ``on`` and ``value``, and optionally ``low``,
        ``high`` and ``n``, all in one unit. None leaves its column empty.
    on
        The columns that identify a number.

    Returns
    -------
    pandas.DataFrame
        The columns of ``on``, then ``published``, ``reference``, ``this build``,
        ``reference − published``, ``this build − reference``, and those of
        ``reference low`` to ``this build n`` that were given. Every number of any table
        has a row: first in the order of ``published``, then what only the others hold.

    Raises
    ------
    DataError
        A column is missing, or a number appears twice.

    >>> columns = ["row", "column", "value", "low", "high", "n"]
    >>> ours = pd.DataFrame([["MEIR", "text", 70.0, 68.0, 72.0, 900]], columns=columns)
    >>> beside = compare(table(4).query("row == 'MEIR'"), None, ours)
    >>> beside[["column", "published", "reference", "this build", "this build n"]][:2]
      column  published  reference  this build  this build n
    0   text       72.2        NaN        70.0         900.0
    1  image       65.5        NaN         NaN           NaN
    """
    key = list(on)
    names = ("published", "reference", "this build")
    sides = dict(zip(names, (published, reference, ours), strict=True))
    parts: dict[str, pd.DataFrame] = {}
    for name, frame in sides.items():
        if frame is None:
            continue
        if missing := [column for column in (*key, "value") if column not in frame]:
            raise DataError(
                f"{name}: missing column {name_some(missing)}. Found:"
                f" {name_some(frame.columns, 20)}."
            )
        if (repeated := frame.duplicated(key)).any():
            cells = frame.loc[repeated, key].astype(str).agg(" / ".join, axis=1)
            raise DataError(f"{name}: duplicate values for {name_some(cells)}.")
        columns = {"value": name}
        if name != "published":
            columns |= {part: f"{name} {part}" for part in ("low", "high", "n")}
        present = [column for column in columns if column in frame]
        parts[name] = frame[[*key, *present]].rename(columns=columns)
    if not parts:
        raise DataError("nothing to compare: expected at least one table, found None.")
    result = pd.concat([part[key] for part in parts.values()])
    result = result.drop_duplicates(ignore_index=True)
    for part in parts.values():
        result = result.merge(part, on=key, how="left")
    for name in names:
        result[name] = result[name].astype(float) if name in parts else float("nan")
    result["reference − published"] = result["reference"] - result["published"]
    result["this build − reference"] = result["this build"] - result["reference"]
    front = [*key, *names, "reference − published", "this build − reference"]
    return result[[*front, *(column for column in result if column not in front)]]


@cache
def read_cells(package: str, name: int | str) -> pd.DataFrame:
    """A published table from ``tables/`` of a package that holds a paper's numbers.

    Do not change it: it is read once.

    >>> int(read_cells("verite.paper", 3)["decimals"].max())
    1
    """
    file = f"table{name}.csv" if isinstance(name, int) else f"{name}.csv"
    with (files(package) / "tables" / file).open(encoding="utf8") as stream:
        cells = pd.read_csv(stream, dtype=str, keep_default_na=False)
    printed = cells["value"]
    return cells.assign(
        table=name,
        value=pd.to_numeric(printed.mask(printed == "")).astype(float),
        decimals=printed.str.partition(".")[2].str.len(),
    )
