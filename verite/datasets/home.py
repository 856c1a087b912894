"""Where the data lie, and how a loader opens them.

There is one folder a data set, with the publisher's own file names inside.
``VERITE_DATA`` names the folder that holds these folders; where it is not set they lie
in the user's cache.
"""

from __future__ import annotations

import csv
import functools
import itertools
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import platformdirs

from verite.dataset import Card
from verite.datasets.registry import FILES
from verite.errors import DataError, ParameterError, name_some
from verite.files import read_text, require_file, sha256

__all__ = ["Reader", "choose", "first_of", "home", "read_json", "read_table"]


def home() -> Path:
    """Folder of all data: ``$VERITE_DATA``, or ``verite`` in the user's cache.

    >>> import os
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, VERITE_DATA="somewhere"):
    ...     home().name
    'somewhere'
    """
    named = os.environ.get("VERITE_DATA")
    if named:
        folder = Path(named).expanduser()
        if folder.exists() and not folder.is_dir():
            raise DataError(f"VERITE_DATA: expected a folder, found a file: {folder}.")
        return folder
    return platformdirs.user_cache_path("verite", appauthor=False)


class Reader:
    """Opens the files of one data set and remembers what it opened.

    Attributes
    ----------
    digests
        SHA-256 of each file that was opened, by its path below :func:`home`.
    """

    def __init__(self, card: Card) -> None:
        self.card = card
        self.digests: dict[str, str] = {}

    def path(self, name: str) -> Path:
        """Full path of a file that is there.

        Raises
        ------
        MissingDataError
            It is not there; the message says how to get it.
        DataError
            It is a folder, or empty.
        """
        if next(file.url for file in FILES[self.card.name] if file.path == name):
            hint = (
                f"Get it with `verite data fetch {self.card.name}`, or set VERITE_DATA"
                f" to a folder that holds {name}."
            )
        else:
            hint = f"It has to be put there by hand. {self.card.not_public}"
        path = require_file(home() / name, hint)
        self.digests[name] = sha256(path)
        return path


def read_table(
    path: Path,
    columns: Iterable[str | tuple[str, ...]],
    *,
    delimiter: str = ",",
    quoted: bool = True,
    skip: bool = False,
) -> tuple[pd.DataFrame, tuple[int, ...]]:
    """Read a delimited table as text, each row under the number of the line it begins
    on.

    Beyond :func:`verite.files.read_csv` it knows the line of each row, so that an error
    about a cell can name it, and a record that does not parse takes no good line behind
    it along: reading goes on with the next.

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
    lines = [line + "\n" for line in read_text(path).removesuffix("\n").split("\n")]
    parse = functools.partial(
        csv.reader,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    header = next(parse(lines[:1]), [])
    place: dict[str, int] = {}
    for column in columns:
        name, *others = (column,) if isinstance(column, str) else column
        known = [other for other in others or [name] if other in header]
        if not known:
            raise DataError(
                f"{path}: missing column {' or '.join(map(repr, others or [name]))}."
                f" Found: {name_some(map(repr, header), 20)}. Use the publisher's own"
                " file."
            )
        place[name] = header.index(known[0])

    rows: list[list[str]] = []
    numbers: list[int] = []
    malformed: dict[int, str] = {}
    start = 1
    while start < len(lines):
        base = start
        reader = parse(itertools.islice(lines, base, None))
        try:
            for row in reader:
                if row and len(row) != len(header):
                    raise csv.Error(f"{len(row)} fields")
                if row:
                    rows.append([row[at] for at in place.values()])
                    numbers.append(start + 1)
                start = base + reader.line_num
        except csv.Error as error:
            malformed[start + 1] = str(error)
            start += 1
    if malformed and not skip:
        line, found = next(iter(malformed.items()))
        raise DataError(
            f"{path}, line {line}: expected {len(header)} fields as in the header,"
            f" found {found} ({len(malformed):,} malformed line(s)). The file was cut"
            " or edited: fetch it again."
        )
    if not rows:
        raise DataError(
            f"{path}: expected rows under the header, found none. Fetch the file again."
        )
    return pd.DataFrame(
        rows, columns=list(place), index=pd.Index(numbers, name="line"), dtype="str"
    ), tuple(malformed)


def read_json(path: Path, each: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Read a JSON file, with ``each`` object replaced by what it returns.

    Raises
    ------
    DataError
        Not UTF-8, or not JSON; the message names the line.
    """
    try:
        return json.loads(read_text(path), object_hook=each)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {error.lineno}: expected JSON, found {error}. The file was"
            " cut or edited: fetch it again."
        ) from error


def choose(option: str, value: object, known: Iterable[str]) -> None:
    """Check the value of an option.

    >>> choose("protocol", "corrected", ["comparable", "corrected"])
    >>> choose("protocol", "Corrected", ["comparable", "corrected"])
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: protocol: expected comparable or corrected, found 'Corrected'.
    """
    listed = list(known)
    if value not in listed:
        raise ParameterError(
            f"{option}: expected {' or '.join(listed)}, found {value!r}."
        )


def first_of(names: pd.Series, values: pd.Series) -> pd.Series:
    """Name each row after the first row that holds the same value.

    One id a distinct caption or image.

    >>> first_of(pd.Series(["t0", "t1", "t2"]), pd.Series(["A boat.", "A dog.", "A boat."])).tolist()
    ['t0', 't1', 't0']
    """
    return names.groupby(values, sort=False).transform("first")
