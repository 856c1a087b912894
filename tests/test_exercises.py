"""The exercises of each chapter: what they ask for, and that their folded solutions run and are right."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from wrong_answers import WRONG

from verite.course import check, solutions
from verite.course.build import course_notebooks
from verite.course.checking import _same, cases_of
from verite.errors import ParameterError

SOURCES = {one.name: one for one in course_notebooks()}


def solved(name):
    """Run the Python of a chapter's solutions; return what the checks in it said."""
    said = []
    page = SimpleNamespace(check=lambda function: said.append(check(name, function)))
    for text in solutions(SOURCES[name]).values():
        for code in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
            # What the annotation calls, and no page.
            exec(code, {"page": page, "check": lambda chapter, function: said.append(check(chapter, function))})  # noqa: S102 - our own solution
    return said


@pytest.mark.parametrize("name", sorted(WRONG))
def test_the_solution_to_the_function_is_right(name):
    [answer] = solved(name)
    assert answer.right, answer


@pytest.mark.parametrize("name", sorted(WRONG))
def test_functions_that_one_might_well_write_and_that_are_wrong_are_told_so(name):
    assert WRONG[name]
    for function in WRONG[name]:
        answer = check(name, function)
        assert not answer.right
        assert re.match("Not right yet|Your function stopped", str(answer)), answer


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_check_does_not_tell_what_is_right(name):
    """None of a chapter's expected values stands in what is said of a function that returns something else."""
    said = str(check(name, lambda *_: "something else"))
    assert "something else" in said
    for case in cases_of(name):
        if isinstance(case.expected, float) and case.expected not in (0, 1):
            assert f"{case.expected:.3f}"[:5] not in said


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_function_that_is_not_written_is_no_mistake(name):
    assert str(check(name, lambda *_: None)) == "Not written yet: the function returns None."


def test_a_function_that_fails_is_an_answer_and_no_traceback():
    assert str(check("annotation", lambda first: 1)).startswith("Your function stopped at two people who always agree: TypeError: ")


def test_a_function_may_change_what_it_is_given():
    def share(first, second):
        pairs = [(first.pop(), second.pop()) for _ in range(len(first))]
        return sum(a == b for a, b in pairs) / len(pairs)

    assert check("annotation", share).right
    assert check("annotation", share).right


def test_a_page_without_a_function_has_nothing_to_check():
    with pytest.raises(ParameterError, match="nowhere has no function to write"):
        check("nowhere", print)


@pytest.mark.parametrize(
    ("expected", "found", "equal"),
    [
        (0.5, np.float32(0.5), True),
        (0.5, 0.5 + 1e-7, False),
        (0.5, "0.5", False),
        (1, True, True),
        (True, 1, False),
        (np.array([1.0, np.nan]), [1, np.nan], True),
        (np.array([1, 2]), np.array([[1, 2]]), False),
        ([1, [2, 3]], [1, [2, 3]], True),
        ([1, [2, 3]], [1, [2]], False),
        (["a", "b"], ["a", "b"], True),
        ({"a": 0.1}, {"a": 0.1}, True),
        ({"a": 0.1}, {"b": 0.1}, False),
        ({1, 2}, {2, 1}, True),
        ("true", "true", True),
        (pd.Series([1, 2], ["a", "b"]), pd.Series([1.0, 2.0], ["a", "b"]), True),
        (pd.Series([1, 2], ["a", "b"]), pd.Series([1, 2], ["b", "a"]), False),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), False),
    ],
)
def test_values_are_equal_by_what_they_say(expected, found, equal):
    assert _same(expected, found) is equal
