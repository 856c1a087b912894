"""Reading a benchmark's table as somebody made it.

Any common format, nothing turned into a number or a gap.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from verite.errors import DataError, ParameterError, name_some
from verite.files import read_text, require_file

__all__ = ["read_table"]

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LONGEST = 2**31 - 1  # characters of a cell; the library's own limit is 131,072
_SNIFFED = 50  # records
Quoting = Literal[0, 3]
"""``csv.QUOTE_MINIMAL`` or ``csv.QUOTE_NONE``."""
_HALVES = re.compile("[\ud800-\udfff]")  # JSON can hold half a character, UTF-8 cannot


def read_table(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read CSV, TSV, JSON lines or parquet as a table of strings.

    What separates cells is found by trying: whichever of comma, semicolon, tab and bar
    gives the first records one width, the widest. Where quotation marks are letters
    like others, as in many files with tabs, that is found too.

    Returns
    -------
    table : pandas.DataFrame
        Strings; an empty cell is an empty string.
    notes : list of str
        What was found out about the format.

    Raises
    ------
    MissingDataError
        There is no such file.
    DataError
        Not UTF-8, not a table, a column named twice, rows of another width, or no row.
    ParameterError
        The file is parquet, and no library is installed that reads it.
    """
    kind = require_file(path).suffix.lower()
    if kind in (".parquet", ".pq"):
        table, notes = _read_parquet(path), ["format: parquet"]
    elif kind in (".jsonl", ".ndjson"):
        table, notes = _read_json_lines(path), ["format: JSON lines"]
    else:
        text = read_text(path)
        if kind == ".json" or text.lstrip()[:1] == "{":
            table, notes = _read_json_lines(path), ["format: JSON lines"]
        else:
            table, notes = _read_delimited(text, path)
    if table.empty:
        raise DataError(f"{path}: expected rows, found none.")
    return table, notes


def _read_delimited(text: str, path: Path) -> tuple[pd.DataFrame, list[str]]:
    if not text.strip():
        raise DataError(f"{path}: expected a header line, found only white space.")
    with _long_cells():
        delimiter, quoting = _dialect(text, path)
        try:
            records = [
                (number, row)
                for number, row in _records(text, delimiter, quoting)
                if row
            ]
        except csv.Error as error:
            raise DataError(
                f"{path}: not a table that can be read: {error}."
            ) from error
    header, rows = records[0][1], records[1:]
    _check_names(header, path)
    bad = [
        f"line {number}: {len(row)}" for number, row in rows if len(row) != len(header)
    ]
    if bad:
        raise DataError(
            f"{path}: expected {len(header)} cells in each row, as in the first, found"
            f" {name_some(bad)}. Mend these lines."
        )
    unquoted = (
        ", quotation marks taken as they are" if quoting == csv.QUOTE_NONE else ""
    )
    table = pd.DataFrame([row for _, row in rows], columns=header, dtype="str")
    return table, [f"format: cells separated by {_DELIMITERS[delimiter]}{unquoted}"]


def _dialect(text: str, path: Path) -> tuple[str, Quoting]:
    """The delimiter and the kind of quoting that give the first records one width, the
    widest.
    """
    found: list[tuple[int, str, Quoting]] = []
    kinds: tuple[Quoting, ...] = (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)
    for quoting in kinds:
        best: tuple[int, str, Quoting] = (1, "", quoting)
        for delimiter in _DELIMITERS:
            widths = set()
            with contextlib.suppress(csv.Error):
                for (_, row), _ in zip(
                    _records(text, delimiter, quoting), range(_SNIFFED), strict=False
                ):
                    widths.update([len(row)] if row else [])
                if len(widths) == 1 and max(widths) > best[0]:
                    best = (max(widths), delimiter, quoting)
        if best[0] > 1:
            found.append(best)
    # A whole file of tabs may begin well and stumble over a lone quotation mark later.
    for _, delimiter, quoting in [
        one for one in found if _is_whole(text, one)
    ] or found:
        return delimiter, quoting
    header = text.split("\n", 1)[0]
    likely = max(_DELIMITERS, key=header.count)
    if not header.count(likely):
        raise DataError(
            f"{path}: expected columns separated by comma, semicolon, tab or bar, found"
            f" none in {header[:80]!r}."
        )
    return likely, csv.QUOTE_MINIMAL  # rows of several widths, which the caller names


def _is_whole(text: str, found: tuple[int, str, Quoting]) -> bool:
    with contextlib.suppress(csv.Error):
        return all(
            len(row) in (0, found[0]) for _, row in _records(text, found[1], found[2])
        )
    return False


def _records(
    text: str, delimiter: str, quoting: Quoting
) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=quoting,
        strict=quoting != csv.QUOTE_NONE,
    )
    start = 1
    for row in reader:
        yield start, row
        start = reader.line_num + 1


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(_LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read_json_lines(path: Path) -> pd.DataFrame:
    # Not splitlines(): it would also split at separators that JSON strings may hold.
    rows: list[dict[str, str]] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_object)
        except (json.JSONDecodeError, DataError) as error:
            raise DataError(
                f"{path}, line {number}: expected one JSON object a line, found"
                f" {error}."
            ) from error
        if not isinstance(row, dict):
            raise DataError(
                f"{path}, line {number}: expected a JSON object, found"
                f" {type(row).__name__}."
            )
        rows.append({key: _as_text(value) for key, value in row.items()})
    return pd.DataFrame(rows).fillna("").astype("str") if rows else pd.DataFrame()


def _object(items: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in items]
    if len(set(names)) < len(names):
        raise DataError(
            "a key named twice:"
            f" {name_some(sorted({name for name in names if names.count(name) > 1}))}"
        )
    return dict(items)


def _as_text(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _HALVES.sub("\ufffd", text)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path)
    except ImportError as error:
        raise ParameterError(
            f"{path}: reading parquet needs pyarrow (pip install 'verite[parquet]'). Or"
            " save the table as CSV or JSON lines."
        ) from error
    except (ValueError, OSError) as error:
        raise DataError(
            f"{path}: expected a parquet file, found something else ({error})."
        ) from error
    _check_names([str(name) for name in frame.columns], path)
    values = {
        str(name): [
            "" if _is_missing(value) else _as_text(_plain(value))
            for value in frame[name]
        ]
        for name in frame.columns
    }
    return pd.DataFrame(values, dtype="str")


def _plain(value: Any) -> object:
    if hasattr(value, "tolist"):  # a number or an array of numpy's
        return value.tolist()
    return (
        value
        if isinstance(value, str | int | float | bool | list | dict)
        else str(value)
    )


def _is_missing(value: object) -> bool:
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, float) and value != value)
    )


def _check_names(names: list[str], path: Path) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"{path}: a column must be named once; {name_some(map(repr, twice))} stands"
            " several times. Rename one of each."
        )
