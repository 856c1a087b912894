"""Check the function that a chapter asks its readers to write, by calling it.

Right or wrong is told, the answer is not.
"""

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
        Ends the sentence "The first that fails: …", such as ``"two captions that are
        equally near"``.
    arguments
        For the function, by position.
    expected
        What it should return: a number, a text, a list, an array or a table. The
        package's own function gives it, where there is one.
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
    """Cases of a chapter's function: what ``veritebook/course/checks/NAME.py`` lists.

    Raises
    ------
    ParameterError
        No function is asked for there.
    """
    module = f"veritebook.course.checks.{name.replace('-', '_')}"
    try:
        cases: list[Case] = importlib.import_module(module).cases()
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ParameterError(
            f"{name} has no function to write, so there is nothing to check."
        ) from None
    return cases


def check(name: str, function: Callable[..., Any]) -> Answer:
    """Call a reader's function on a chapter's cases and count the right answers.

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
    wrong, written = [], False
    for case in cases:
        try:
            found = function(*copy.deepcopy(case.arguments))
        except Exception as error:  # whatever a reader's function does is an answer
            return Answer(
                f"Your function stopped at {case.what}: {type(error).__name__}: {error}"
            )
        written = written or found is not None
        if not _same(case.expected, found):
            wrong.append(
                f"The first that fails: {case.what}. Yours gave {_short(found)}."
            )
    if not written:
        return Answer("Not written yet: the function returns None.")
    if wrong:
        return Answer(
            f"Not right yet: {len(cases) - len(wrong)} of {len(cases)} checks pass."
            f" {wrong[0]}"
        )
    return Answer(f"Right: all {len(cases)} checks pass.", right=True)


def _same(expected: Any, found: Any) -> bool:
    """Whether two values are equal.

    Numbers to nine digits, texts exactly, lists and arrays alike, tables with their
    names.
    """
    if isinstance(expected, pd.DataFrame | pd.Series):
        same_kind = (
            type(found) is type(expected)
            and found.shape == expected.shape
            and expected.index.equals(found.index)
        )
        named = same_kind and (
            isinstance(expected, pd.Series) or expected.columns.equals(found.columns)
        )
        return bool(named) and _same(expected.to_numpy(), found.to_numpy())
    expected, found = (
        np.asarray(value).tolist() if hasattr(value, "__array__") else value
        for value in (expected, found)
    )
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(_same(expected[key], found[key]) for key in expected)
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(expected)
            and all(map(_same, expected, found))
        )
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return isinstance(found, int | float) and bool(
            np.isclose(found, expected, rtol=1e-9, atol=1e-12, equal_nan=True)
        )
    return isinstance(found, type(expected)) and bool(found == expected)


def _short(value: Any) -> str:
    shown = reprlib.Repr()
    shown.maxlevel, shown.maxlist, shown.maxstring, shown.maxother = 3, 8, 60, 80
    with np.printoptions(legacy="1.25"):  # 0.5, and not np.float64(0.5)
        return shown.repr(value)
