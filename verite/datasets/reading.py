"""Where the data are, and how loaders read the publishers' files.

Each data set has a folder with the publisher's own file names inside. These folders are
in ``VERITE_DATA``, or in the user's cache if that is not set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import platformdirs

from verite.dataset import Card
from verite.errors import DataError, ParameterError
from verite.files import read_text, require_file, sha256

__all__ = [
    "Reader",
    "check_rows",
    "check_values",
    "choose",
    "first_of",
    "home",
    "read_json",
]

_ADVICE = "Use the publisher's own file."


def home() -> Path:
    """Folder of all data: ``$VERITE_DATA``, or ``verite`` in the user's cache.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, VERITE_DATA="somewhere"):
    ...     home().name
    'somewhere'
    """
    named = os.environ.get("VERITE_DATA")
    if not named:
        return platformdirs.user_cache_path("verite", appauthor=False)
    folder = Path(named).expanduser()
    if folder.exists() and not folder.is_dir():
        raise DataError(f"VERITE_DATA: expected a folder, found a file: {folder}.")
    return folder


class Reader:
    """Opens the files of one data set, and notes the SHA-256 of each.

    Attributes
    ----------
    digests
        SHA-256 of each file that was opened, by its path below :func:`home`.
    """

    def __init__(self, card: Card) -> None:
        self.card = card
        self.digests: dict[str, str] = {}

    def path(self, name: str) -> Path:
        """Full path of a file; if it is missing, the error says how to get it.

        Raises
        ------
        MissingDataError
            The file does not exist.
        DataError
            It is a folder, or empty.
        """
        if any(file.url for file in self.card.files if file.path == name):
            hint = (
                f"Get it with `verite data fetch {self.card.name}`, or set VERITE_DATA"
                f" to a folder that holds {name}."
            )
        else:
            hint = f"It cannot be downloaded. {self.card.not_public}"
        path = require_file(home() / name, hint)
        self.digests[name] = sha256(path)
        return path


def read_json(path: Path, *, lines: bool = False) -> Any:
    """Read a JSON file, or the list of values of a JSON-lines file.

    Raises
    ------
    DataError
        Not UTF-8, or not JSON; the message names the line.
    """
    text = read_text(path)
    # Not splitlines(), which also splits at separators that JSON strings may hold.
    parts = text.split("\n") if lines else [text]
    values = []
    for number, part in enumerate(parts):
        if lines and not part.strip():
            continue
        try:
            values.append(json.loads(part))
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}, line {number + error.lineno}: expected JSON, found"
                f" {error.msg}. {_ADVICE}"
            ) from error
    return values if lines else values[0]


def check_rows(
    path: Path, rows: object, kinds: Mapping[str, tuple[type, ...]]
) -> pd.DataFrame:
    """Make a table of a JSON list of objects, whose values have the types given.

    Raises
    ------
    DataError
        No list, no rows, or a value of another type.

    >>> check_rows(Path("a.json"), [{"id": "3"}], {"id": (int,)})
    Traceback (most recent call last):
        ...
    verite.errors.DataError: a.json, row 0: expected 'id' as int, found '3'. Use the \
publisher's own file.
    """
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{path}: expected a JSON list of objects. {_ADVICE}")
    columns: dict[str, list[Any]] = {}
    for name, types in kinds.items():
        columns[name] = [
            row.get(name) if isinstance(row, dict) else None for row in rows
        ]
        if not set(map(type, columns[name])) <= set(types):
            row = next(
                row
                for row, value in enumerate(columns[name])
                if type(value) not in types
            )
            raise DataError(
                f"{path}, row {row}: expected {name!r} as {types[0].__name__}, found"
                f" {columns[name][row]!r}. {_ADVICE}"
            )
    return pd.DataFrame(columns)


def check_values(path: Path, column: pd.Series, known: Iterable[object]) -> None:
    """Check that a column holds known values only; its index names the place.

    Raises
    ------
    DataError
        Another value.

    >>> labels = pd.Series(["fake", "Real"], name="label")
    >>> check_values(Path("a.tsv"), labels, ["fake", "real"])
    Traceback (most recent call last):
        ...
    verite.errors.DataError: a.tsv, row 1: expected label fake or real, found 'Real'. \
Use the publisher's own file.
    """
    known = list(known)
    unknown = column[~column.isin(known)]
    if len(unknown):
        [value] = unknown.head(1).tolist()
        raise DataError(
            f"{path}, {column.index.name or 'row'} {unknown.index[0]}: expected"
            f" {column.name} {' or '.join(map(str, known))}, found {value!r}."
            f" {_ADVICE}"
        )


def choose(option: str, value: object, known: Iterable[str]) -> None:
    """Check the value of an option.

    >>> choose("protocol", "Corrected", ["comparable", "corrected"])
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: protocol: expected comparable or corrected, found \
'Corrected'.
    """
    known = list(known)
    if value not in known:
        raise ParameterError(
            f"{option}: expected {' or '.join(known)}, found {value!r}."
        )


def first_of(names: pd.Series, values: pd.Series) -> pd.Series:
    """Name each row after the first row with the same value: one id per value.

    >>> names = pd.Series(["t0", "t1", "t2"])
    >>> first_of(names, pd.Series(["A boat.", "A dog.", "A boat."])).tolist()
    ['t0', 't1', 't0']
    """
    return names.groupby(values, sort=False).transform("first")
