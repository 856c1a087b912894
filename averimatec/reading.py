"""Reading JSON that people wrote, checked by pydantic.

All wrong fields of a file are reported at once: where, what was expected, what was
found. The field types clean what files differ in: nulls, blanks, lists of one, dates.
"""

from __future__ import annotations

import datetime
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError
from pydantic.fields import Field
from pydantic_core import PydanticCustomError

from verite.errors import DataError
from verite.files import read_text

_EXPECTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dataclass_type": "an object",
    "dict_type": "an object",
    "missing": "text",
    "string_type": "text",
    "too_short": "text",
    "tuple_type": "a list",
}
"""What pydantic's kinds of errors are called here."""


def expected(what: str) -> PydanticCustomError:
    """Error for a validator to raise: the field should hold ``what``."""
    return PydanticCustomError("expected", "{what}", {"what": what})


def _clean(value: Any) -> Any:
    return "" if value is None else value.strip() if isinstance(value, str) else value


def _listed(value: Any) -> Any:
    values = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple):
        return values
    return [item for item in values if not isinstance(item, str) or item.strip()]


def _day(value: Any) -> Any:
    if value is None or value == "":
        return None
    if isinstance(value, datetime.date):
        return value
    text = str(value).strip().partition("T")[0]
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    try:
        if not re.fullmatch(r"\d{4}-\d\d?-\d\d?|\d\d?-\d\d?-\d{4}", text):
            raise ValueError
        return datetime.date(*(numbers if numbers[0] > 31 else numbers[::-1]))
    except ValueError:
        raise expected("a day such as 2023-07-08 or 8-7-2023") from None


def _number_as_text(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole else value


Text = Annotated[str, BeforeValidator(_clean)]
RequiredText = Annotated[Text, Field(min_length=1)]
Identifier = Annotated[str, BeforeValidator(_number_as_text)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed)]
"""Several texts, or one that is not in a list."""
FileName = Annotated[Text, AfterValidator(lambda name: PurePosixPath(name).name)]
FileNames = Annotated[tuple[FileName, ...], BeforeValidator(_listed)]
"""File names, without the folders that some files put in front."""
Day = Annotated[datetime.date | None, BeforeValidator(_day)]
"""A day, year first or day first."""


def read_rows(path: str | os.PathLike[str]) -> list[Any]:
    """Read a JSON array, or one JSON value per line."""
    text = read_text(path)
    try:
        if text.lstrip().startswith("["):
            return list(json.loads(text))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {error.lineno}: expected JSON ({error.msg}). The file may"
            " be cut short."
        ) from error
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            rows += [json.loads(line)] if line.strip() else []
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}, line {number}: expected a JSON array or one object per line,"
                f" found {_short(line)}."
            ) from error
    return rows


def parse_rows(
    kind: Any,
    rows: Sequence[Any],
    name: Callable[[Any, int], str],
    path: str | os.PathLike[str],
) -> tuple[Any, ...]:
    """Check rows against a dataclass or another type.

    Parameters
    ----------
    name
        What errors call a row, from the row and its place. Names must differ.

    Raises
    ------
    DataError
        Fields are wrong, or two rows have one name.
    """
    adapter = TypeAdapter(kind)
    values, problems = [], []
    for place, row in enumerate(rows):
        try:
            values.append(adapter.validate_python(row))
        except ValidationError as error:
            label = name(row, place) if isinstance(row, dict) else f"row {place}"
            problems += problems_of(error, label)
    names = Counter(name(row, i) for i, row in enumerate(rows) if isinstance(row, dict))
    problems += [f"duplicate: {label}" for label, n in names.items() if n > 1]
    raise_problems(path, problems)
    return tuple(values)


def problems_of(error: ValidationError, label: str) -> list[str]:
    """One line per error of pydantic: location, expected, found."""
    lines = []
    for item in error.errors(include_url=False):
        where = label
        for part in item["loc"]:
            where += f"[{part}]" if isinstance(part, int) else f", {part}"
        found = "nothing" if item["type"] == "missing" else _short(item["input"])
        wanted = _EXPECTED.get(item["type"], item["msg"])
        lines.append(f"{where}: expected {wanted}, found {found}")
    return lines


def raise_problems(path: str | os.PathLike[str], problems: Sequence[str]) -> None:
    """Raise an error that lists the first problems, if there are any."""
    if problems:
        rest = f"; and {len(problems) - 5:,} more" if len(problems) > 5 else ""
        raise DataError(
            f"{path}: {len(problems):,} problem(s). {'; '.join(problems[:5])}{rest}."
        )


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
