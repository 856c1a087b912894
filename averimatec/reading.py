"""Reading JSON that people wrote.

Field by field, with everything that is wrong named at once.
"""

from __future__ import annotations

import datetime
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from verite.errors import DataError
from verite.files import read_text

__all__ = ["Fields", "letters", "raise_problems", "read_rows", "repeated", "short"]

_NOTHING = object()


def letters(text: str) -> str:
    """Letters of a text in lower case: what is left when spellings differ.

    >>> letters("Conflicting Evidence/Cherry-picking")
    'conflictingevidencecherrypicking'
    """
    return re.sub(r"[^a-z]", "", text.lower())


class Fields:
    """A JSON object, read field by field.

    What is wrong is noted with its place, and reading goes on.
    """

    def __init__(self, row: Mapping[str, Any], where: str, problems: list[str]) -> None:
        self._row, self._where, self._problems = row, where, problems

    def wrong(self, name: str, expected: str, found: object) -> None:
        """Note what is wrong with a field."""
        self._problems.append(
            f"{self._where}, {name}: expected {expected}, found {short(found)}"
        )

    def text(self, name: str, *, required: bool = False) -> str:
        """A text, empty where there is none."""
        value = self._row.get(name)
        if isinstance(value, str) and (value.strip() or not required):
            return value.strip()
        if value is not None or required:
            self.wrong(name, "text", value if name in self._row else _NOTHING)
        return ""

    def texts(self, name: str) -> tuple[str, ...]:
        """Several texts, or one that stands alone."""
        value = self._row.get(name)
        found = [] if value is None else [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(
            isinstance(each, str) for each in found
        ):
            self.wrong(name, "a list of texts", value)
            return ()
        return tuple(each.strip() for each in found if each.strip())

    def images(self, name: str) -> tuple[str, ...]:
        """Names of images, without the folders that some files put in front."""
        return tuple(PurePosixPath(each).name for each in self.texts(name))

    def choice(
        self,
        name: str,
        known: Mapping[str, str],
        expected: Sequence[str],
        *,
        required: bool = True,
    ) -> str:
        """One of some spellings."""
        text = self.text(name, required=required)
        found = known.get(letters(text), "")
        if text and not found:
            self.wrong(name, f"one of {', '.join(expected)}", text)
        return found

    def objects(self, name: str) -> list[Fields]:
        """Several objects."""
        value = self._row.get(name)
        if value is not None and (
            not isinstance(value, list)
            or not all(isinstance(each, dict) for each in value)
        ):
            self.wrong(name, "a list of objects", value)
            return []
        return [
            Fields(each, f"{self._where}, {name}[{place}]", self._problems)
            for place, each in enumerate(value or [])
        ]

    def object(self, name: str) -> Fields:
        """One object, empty where there is none."""
        value = self._row.get(name)
        if value is not None and not isinstance(value, dict):
            self.wrong(name, "an object", value)
        return Fields(
            value if isinstance(value, dict) else {},
            f"{self._where}, {name}",
            self._problems,
        )

    def day(self, name: str) -> datetime.date | None:
        """A day, year first or day first."""
        text = self.text(name)
        if not text:
            return None
        numbers = [int(part) for part in re.findall(r"\d+", text)]
        try:
            if not re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}-\d{1,2}-\d{4}", text):
                raise ValueError
            return datetime.date(*(numbers if numbers[0] > 31 else numbers[::-1]))
        except ValueError:
            self.wrong(name, "a day such as 2023-07-08 or 8-7-2023", text)
            return None

    def flag(self, name: str) -> bool | None:
        """Yes or no, None where it is not said."""
        value = self._row.get(name)
        if value is not None and not isinstance(value, bool):
            self.wrong(name, "true or false", value)
            return None
        return value


def read_rows(path: str | os.PathLike[str]) -> list[Any]:
    """Read a JSON array, or one JSON value a line."""
    text = read_text(path)
    try:
        if text.lstrip().startswith("["):
            found = json.loads(text)
            return list(found)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {error.lineno}: expected JSON, found something else"
            f" ({error.msg}). It may be cut short."
        ) from error
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            rows += [json.loads(line)] if line.strip() else []
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}, line {number}: expected a JSON array, or an object a line,"
                f" found {short(line)}."
            ) from error
    return rows


def raise_problems(
    path: str | os.PathLike[str], problems: Sequence[str], advice: str
) -> None:
    """Raise what :class:`Fields` noted, if anything."""
    if problems:
        listed = "; ".join(problems[:5]) + (
            f"; and {len(problems) - 5:,} more" if len(problems) > 5 else ""
        )
        raise DataError(
            f"{path}: {len(problems):,} field(s) cannot be read. {listed}. {advice}"
        )


def short(value: object) -> str:
    """A value as an error shows it: at most 60 characters."""
    if value is _NOTHING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def repeated(names: Iterable[str]) -> list[str]:
    """Names that stand there more than once.

    >>> repeated(["a", "b", "a"])
    ['a']
    """
    return [name for name, count in Counter(names).items() if count > 1]
