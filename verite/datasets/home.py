"""Where the data lie, and how a loader opens them.

There is one folder a data set, with the publisher's own file names inside.
``VERITE_DATA`` names the folder that holds these folders; where it is not set they lie
in the user's cache.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import platformdirs

from verite.dataset import Card
from verite.datasets.registry import FILES
from verite.errors import DataError, ParameterError
from verite.files import read_text, require_file, sha256

__all__ = ["Reader", "choose", "first_of", "home", "read_json"]


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
