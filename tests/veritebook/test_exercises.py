"""The exercises of each chapter.

What they ask for, and that their folded solutions run and are right.
"""

from __future__ import annotations

import re
import shlex
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from wrong_answers import WRONG

from verite.cli import app
from verite.errors import ParameterError
from verite.options import join_options
from veritebook.course import check, exercises, solutions
from veritebook.course.build import course_notebooks
from veritebook.course.checking import _same, cases_of
from veritebook.notebooks import list_notebooks

SOURCES = {one.name: one for one in course_notebooks()}


def blocks(text, language):
    """Code of a language in a solution."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def commands(text):
    """Lines of a solution that call the package, as words.

    What comes before, such as a variable, left out.
    """
    lines = "".join(blocks(text, "bash")).replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[line.index("verite") + 1 :] for line in words if "verite" in line]


def parsed(words):
    """Path of a command, and what its options and arguments say; nothing is run."""
    command, path, rest = get_command(app), [], join_options(words)
    while hasattr(command, "commands"):
        path.append(rest.pop(0))
        command = command.commands[path[-1]]
    return " ".join(path), command.make_context(path[-1], rest).params


def executed(name, code):
    """Run code of a chapter with nothing of its page but the check.

    Return what the checks in it said.
    """
    said = []
    page = SimpleNamespace(check=lambda function: said.append(check(name, function)))
    # What the annotation calls, and no page.
    exec(  # noqa: S102 - code of a chapter
        code,
        {
            "page": page,
            "check": lambda chapter, function: said.append(check(chapter, function)),
        },
    )
    return said


@pytest.mark.parametrize("name", list_notebooks())
def test_a_chapter_has_three_to_six_exercises_each_with_a_solution(name):
    asked = exercises(SOURCES[name])
    assert asked == list(range(1, len(asked) + 1))
    assert 3 <= len(asked) <= 6
    assert sorted(solutions(SOURCES[name])) == asked


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_every_command_of_a_solution_is_one_that_the_command_line_knows(name):
    for text in solutions(SOURCES[name]).values():
        for words in commands(text):
            assert parsed(words)[0]


@pytest.mark.parametrize("name", list_notebooks())
def test_the_function_of_a_chapter_is_not_written_and_says_what_it_shall_return(name):
    for cell in SOURCES[name].node.cells:
        if "exercise" in cell.metadata.get("tags", ()):
            [answer] = executed(name, cell.source)
            assert str(answer) == "Not written yet: the function returns None."


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_the_python_of_the_solutions_runs_and_one_of_them_writes_the_function(name):
    answers = [
        answer
        for text in solutions(SOURCES[name]).values()
        for code in blocks(text, "python")
        for answer in executed(name, code)
    ]
    assert [str(answer) for answer in answers if not answer.right] == []
    assert len(answers) == (name in WRONG)


@pytest.mark.parametrize("name", sorted(WRONG))
def test_functions_that_one_might_well_write_and_that_are_wrong_are_told_so(name):
    assert len(WRONG[name]) > 1
    for function in WRONG[name]:
        answer = check(name, function)
        assert not answer.right
        assert re.match("Not right yet|Your function stopped", str(answer)), answer


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_check_does_not_tell_what_is_right(name):
    """None of a chapter's expected values stands in what is said of a function that
    returns something else.
    """
    said = str(check(name, lambda *_: "something else"))
    assert "something else" in said
    for case in cases_of(name):
        if isinstance(case.expected, float) and case.expected not in (0, 1):
            assert f"{case.expected:.3f}"[:5] not in said


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_function_that_is_not_written_is_no_mistake(name):
    assert (
        str(check(name, lambda *_: None))
        == "Not written yet: the function returns None."
    )


def test_a_function_that_fails_is_an_answer_and_no_traceback():
    assert str(check("annotation", lambda first: 1)).startswith(
        "Your function stopped at two people who always agree: TypeError: "
    )


def test_a_function_that_forgets_one_case_is_told_which():
    said = str(
        check("annotation", lambda first, second: 1.0 if first == second else None)
    )
    assert said.startswith(
        "Not right yet: 1 of 5 checks pass. The first that fails: two people who never"
        " agree. Yours gave None."
    )


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
        ("true", np.array(["true", "true"]), False),
        (np.array([1.0, 2.0]), [[1, 2], [3]], False),
        ([("a", 1)], np.array([["a", "1"]]), False),
        (["a", "b"], pd.Series(["a", "b"], ["x", "y"]), True),
        (pd.Series([1, 2], ["a", "b"]), pd.Series([1.0, 2.0], ["a", "b"]), True),
        (pd.Series([1, 2], ["a", "b"]), pd.Series([1, 2], ["b", "a"]), False),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), False),
    ],
)
def test_values_are_equal_by_what_they_say(expected, found, equal):
    assert _same(expected, found) is equal
