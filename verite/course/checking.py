"""Check the function that a chapter asks its readers to write, by calling it: right or wrong is told, the answer is not."""

from __future__ import annotations

import copy
import html
import importlib
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from verite.errors import ParameterError

__all__ = ["Answer", "Case", "cases_of", "check"]


@dataclass(frozen=True)
class Case:
    """One call of the function, and what it is about.

    Parameters
    ----------
    what
        Ends the sentence "The first that fails: …", such as ``"two captions that are equally near"``.
    arguments
        For the function, by position.
    expected
        What it should return: a number, a text, a list, an array or a table. The package's own function gives it, where there is one.
    """

    what: str
    arguments: tuple[Any, ...]
    expected: Any


class Answer:
    """What the check says; shown on the page, and plain as text."""

    def __init__(self, text: str, *, right: bool = False) -> None:
        self.text, self.right = text, right

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        kind = "right" if self.right else "open"
        return f'<p class="verite-note verite-{kind}">{html.escape(self.text)}</p>'


def cases_of(name: str) -> list[Case]:
    """Cases of a chapter's function: what ``verite/course/checks/NAME.py`` lists.

    Raises
    ------
    ParameterError
        No function is asked for there.
    """
    module = f"verite.course.checks.{name.replace('-', '_')}"
    try:
        cases: list[Case] = importlib.import_module(module).cases()
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ParameterError(f"{name} has no function to write, so there is nothing to check.") from None
    return cases


def check(name: str, function: Callable[..., Any]) -> Answer:
    """Call a reader's function on the cases of a chapter and say how many come out right.

    Parameters
    ----------
    name
        The chapter's.
    function
        The reader's. It gets copies, so that it may change what it is given.

    Raises
    ------
    ParameterError
        No function is asked for there.
    """
    cases = cases_of(name)
    wrong = []
    for case in cases:
        try:
            found = function(*copy.deepcopy(case.arguments))
        except Exception as error:  # whatever a reader's function does is an answer
            return Answer(f"Your function stopped at {case.what}: {type(error).__name__}: {error}")
        if found is None:
            return Answer("Not written yet: the function returns None.")
        if not _same(case.expected, found):
            wrong.append(f"The first that fails: {case.what}. Yours gave {_short(found)}.")
    if wrong:
        return Answer(f"Not right yet: {len(cases) - len(wrong)} of {len(cases)} checks pass. {wrong[0]}")
    return Answer(f"Right: all {len(cases)} checks pass.", right=True)


def _same(expected: Any, found: Any) -> bool:
    """Whether two values are equal: numbers to nine digits, texts and lists exactly, tables with their names."""
    if isinstance(expected, pd.DataFrame | pd.Series):
        same_kind = type(found) is type(expected) and found.shape == expected.shape and expected.index.equals(found.index)
        named = same_kind and (isinstance(expected, pd.Series) or expected.columns.equals(found.columns))
        return bool(named) and _same(expected.to_numpy(), found.to_numpy())
    if isinstance(expected, dict):
        return isinstance(found, dict) and found.keys() == expected.keys() and all(_same(expected[key], found[key]) for key in expected)
    if isinstance(expected, set | str | bool | np.bool_):
        return type(found) is not int and bool(np.all(found == expected))
    try:
        first, second = np.asarray(expected), np.asarray(found)
    except ValueError:  # a list of lists of several lengths
        return bool(expected == found)
    if first.shape != second.shape:
        return False
    if first.dtype.kind in "fiu" and second.dtype.kind in "fiub":
        return bool(np.allclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True))
    return bool(np.all(first == second))


def _short(value: Any) -> str:
    shown = reprlib.Repr()
    shown.maxlevel, shown.maxlist, shown.maxstring, shown.maxother = 3, 8, 60, 80
    return shown.repr(value.item() if isinstance(value, np.generic) else value)
