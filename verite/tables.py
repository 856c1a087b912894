"""Reading tables of any common format, as text.

No value becomes a number or a missing value: ``NA`` is two letters, ``007`` keeps its
zeros, and an empty cell is an empty string.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pandas as pd

from verite.errors import DataError, ParameterError, name_some
from verite.files import read_text, require_file

__all__ = ["read_columns", "read_table"]

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LONGEST_CELL = 2**31 - 1  # characters; the csv module's default is 131,072
_SNIFFED_RECORDS = 50
_NAMED = 6  # malformed lines after which an error names them
_SURROGATES = re.compile("[\ud800-\udfff]")  # allowed in JSON, not in UTF-8


class _Records(NamedTuple):
    header: list[str]
    """From the first line that is not blank."""
    rows: list[list[str]]
    lines: list[int]
    """The line on which each row begins, counted from 1."""
    malformed: dict[int, str]
    """What is wrong, by line."""


def read_table(path: str | os.PathLike[str], hint: str = "") -> pd.DataFrame:
    r"""Read CSV, TSV, JSON lines or parquet as a table of strings.

    The delimiter of a text file is the one of comma, semicolon, tab and bar that gives
    the first records one width, the largest. In a file with tabs, quotation marks are
    taken as letters if it makes sense only that way.

    Parameters
    ----------
    hint
        Appended to the error if the file is missing or empty.

    Returns
    -------
    pandas.DataFrame
        Strings; ``attrs["format"]`` describes the format.

    Raises
    ------
    DataError
        Not UTF-8, not a table, duplicate column names, or a row of another width.
    ParameterError
        The file is parquet, and pyarrow is not installed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "pairs.txt"
    >>> _ = path.write_text("id;caption\n007;A boat, a dog\n", encoding="utf8")
    >>> read_table(path).to_numpy().tolist()
    [['007', 'A boat, a dog']]
    """
    suffix = require_file(path, hint).suffix.lower()
    if suffix in (".parquet", ".pq"):
        table, kind = _read_parquet(path), "parquet"
    else:
        text = read_text(path, hint)
        if suffix in (".jsonl", ".ndjson", ".json") or text.lstrip()[:1] == "{":
            table, kind = _read_json_lines(text, path), "JSON lines"
        else:
            table, kind = _read_delimited(text, path)
    table.attrs["format"] = kind
    return table


def read_columns(
    path: str | os.PathLike[str],
    columns: Iterable[str | tuple[str, ...]],
    *,
    delimiter: str = ",",
    quoted: bool = True,
    skip: bool = False,
) -> tuple[pd.DataFrame, tuple[int, ...]]:
    """Read some columns of a delimited table, with the line number of each row.

    A malformed record does not affect its neighbours: reading resumes on the next line.

    Parameters
    ----------
    columns
        The columns to return; a tuple gives a column's name here and then the names it
        has in files.
    quoted
        False where a quotation mark is a character like any other.
    skip
        Leave malformed lines out instead of raising an error.

    Returns
    -------
    table : pandas.DataFrame
        Strings; the index holds line numbers, the header being line 1.
    malformed : tuple of int
        Lines that were left out.

    Raises
    ------
    DataError
        Not UTF-8, a column is missing, no rows, or (without ``skip``) a malformed line.
    """
    quoting: int = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    with _long_cells():
        records = _parse(
            _split_lines(read_text(path)), delimiter, quoting, None if skip else _NAMED
        )
    positions: dict[str, int] = {}
    for column in columns:
        name, *names = (column, column) if isinstance(column, str) else column
        known = [name for name in names if name in records.header]
        if not known:
            raise DataError(
                f"{path}: missing column {' or '.join(map(repr, names))}. Found:"
                f" {name_some(map(repr, records.header), 20)}. Use the publisher's own"
                " file."
            )
        positions[name] = records.header.index(known[0])
    if not skip:
        _check_widths(records, path)
    if not records.rows:
        raise DataError(f"{path}: expected rows under the header, found none.")
    table = pd.DataFrame(
        [[row[at] for at in positions.values()] for row in records.rows],
        columns=list(positions),
        index=pd.Index(records.lines, name="line"),
        dtype="str",
    )
    return table, tuple(records.malformed)


def _read_delimited(
    text: str, path: str | os.PathLike[str]
) -> tuple[pd.DataFrame, str]:
    if not text.strip():
        raise DataError(f"{path}: expected a header line, found only white space.")
    lines = _split_lines(text)
    with _long_cells():
        dialects = _sniff(lines)
        # The first records may fit a dialect that fails later in the file.
        for delimiter, quoting in [*dialects, dialects[0]]:
            records = _parse(lines, delimiter, quoting, _NAMED)
            if not records.malformed:
                break
    duplicates = {name for name in records.header if records.header.count(name) > 1}
    if duplicates:
        raise DataError(
            f"{path}: duplicate column names:"
            f" {name_some(map(repr, sorted(duplicates)))}. Rename all but one of each."
        )
    _check_widths(records, path)
    note = "" if quoting == csv.QUOTE_MINIMAL else ", quotation marks taken as letters"
    table = pd.DataFrame(records.rows, columns=records.header, dtype="str")
    return table, f"cells separated by {_DELIMITERS[delimiter]}{note}"


def _sniff(lines: list[str]) -> list[tuple[str, int]]:
    """List the dialects that give the first records one width."""
    dialects: list[tuple[str, int]] = []
    # Elsewhere than in files with tabs, a lone quotation mark means that a file is cut.
    for quoting, delimiters in (
        (csv.QUOTE_MINIMAL, _DELIMITERS),
        (csv.QUOTE_NONE, "\t"),
    ):
        widest, best = 1, ""
        for delimiter in delimiters:
            with contextlib.suppress(csv.Error):
                reader = _reader(lines, delimiter, quoting)
                rows = itertools.islice(reader, _SNIFFED_RECORDS)
                widths = {len(row) for row in rows if not _is_blank(row)}
                if len(widths) == 1 and max(widths) > widest:
                    widest, best = max(widths), delimiter
        if best:
            dialects.append((best, quoting))
    # Otherwise rows differ in width, which becomes an error, or there is one column.
    likely = max(_DELIMITERS, key=lines[0].count)
    return dialects or [(likely, csv.QUOTE_MINIMAL)]


def _parse(
    lines: list[str], delimiter: str, quoting: int, limit: int | None
) -> _Records:
    """Parse all records, or as many as come before ``limit`` malformed ones."""
    start = next(at for at, line in enumerate(lines) if line.strip()) + 1
    records = _Records([], [], [], {})
    try:
        records.header.extend(
            next(_reader(lines[start - 1 : start], delimiter, quoting))
        )
    except csv.Error as error:
        records.malformed[start] = str(error)
    while start < len(lines) and len(records.malformed) != limit:
        base = start
        reader = _reader(itertools.islice(lines, base, None), delimiter, quoting)
        try:
            for row in reader:
                if not _is_blank(row):
                    if len(row) != len(records.header):
                        raise csv.Error(str(len(row)))
                    records.rows.append(row)
                    records.lines.append(start + 1)
                start = base + reader.line_num
        except csv.Error as error:
            records.malformed[start + 1] = str(error)
            start += 1
    return records


def _check_widths(records: _Records, path: str | os.PathLike[str]) -> None:
    if records.malformed:
        problems = [f"line {line}: {why}" for line, why in records.malformed.items()]
        raise DataError(
            f"{path}: expected {len(records.header)} cells in each row, as in the"
            f" header, found {name_some(problems)}. Correct these lines, or fetch the"
            " file again."
        )


def _split_lines(text: str) -> list[str]:
    # A lone carriage return is a line end only where there is no other.
    text = text if "\n" in text else text.replace("\r", "\n")
    return [line + "\n" for line in text.removesuffix("\n").split("\n")]


def _reader(lines: Iterable[str], delimiter: str, quoting: Any) -> Any:
    strict = quoting == csv.QUOTE_MINIMAL
    return csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=strict)


def _is_blank(row: list[str]) -> bool:
    return len(row) <= 1 and not "".join(row).strip()


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read_json_lines(text: str, path: str | os.PathLike[str]) -> pd.DataFrame:
    # Not splitlines(): it would also split at separators that JSON strings may hold.
    rows: list[dict[str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_unique_keys)
        except (json.JSONDecodeError, DataError) as error:
            raise DataError(
                f"{path}, line {number}: expected one JSON object per line, found"
                f" {error}."
            ) from error
        if not isinstance(row, dict):
            raise DataError(
                f"{path}, line {number}: expected a JSON object, found"
                f" {type(row).__name__}."
            )
        rows.append({key: _as_text(value) for key, value in row.items()})
    return pd.DataFrame(rows).fillna("").astype("str") if rows else pd.DataFrame()


def _unique_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(items)) < len(items):
        names = [name for name, _ in items]
        duplicates = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"duplicate keys: {name_some(duplicates)}")
    return dict(items)


def _read_parquet(path: str | os.PathLike[str]) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path)
    except ImportError as error:
        raise ParameterError(
            f"{path}: reading parquet needs pyarrow (pip install 'verite[parquet]'). Or"
            " save the table as CSV or JSON lines."
        ) from error
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: cannot be read as parquet: {error}.") from error
    frame.columns = frame.columns.map(str)
    return frame.map(_as_text).astype("str")


def _as_text(value: Any) -> str:
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        value = value.tolist()
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return ""
    if not isinstance(value, str | int | float | list | dict):
        value = str(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _SURROGATES.sub("\ufffd", text)
