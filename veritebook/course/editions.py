"""Two editions of one notebook.

A student's without its folded solutions, an instructor's with them in plain sight.

A solution is a block of a Markdown cell, fenced by four backticks, that is named
``{dropdown} Solution to N``. Python in it, fenced by three, becomes a cell of the
instructor's edition, which runs. Everything else of a notebook, cells that check an
answer among it, stands in both editions.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from verite.errors import DataError, name_some
from veritebook.course.plain import in_plain_words
from veritebook.notebooks import Notebook

__all__ = ["exercises", "for_instructors", "for_students", "solutions"]

_SOLUTION = re.compile(
    r"^(?P<fence>`{4,})\{dropdown\} +Solution to (?P<number>\d+)["
    r" \t]*\n(?P<text>.*?)\n(?P=fence)[ \t]*$",
    re.M | re.S,
)
_PYTHON = re.compile(r"^```python\n(.*?)\n```[ \t]*$", re.M | re.S)
_LEFT = re.compile(r"\bsolution to \d", re.IGNORECASE)
_EDGE = "\0"
_EXERCISE = re.compile(r"^(\d+)\. ", re.M)


def exercises(notebook: Notebook) -> list[int]:
    r"""Numbers of a notebook's exercises.

    Of the list under its last heading *Exercises*.

    >>> from types import SimpleNamespace as Cell
    >>> text = "## Exercises\n\n1. Look.\n2. Think."
    >>> cell = Cell(cell_type="markdown", source=text)
    >>> exercises(Cell(node=Cell(cells=[cell])))
    [1, 2]
    """
    text = _markdown(notebook).rpartition("## Exercises\n")
    return (
        [int(number) for number in _EXERCISE.findall(_SOLUTION.sub("", text[2]))]
        if text[1]
        else []
    )


def solutions(notebook: Notebook) -> dict[int, str]:
    """Solutions of a notebook by the number of the exercise.

    Each is Markdown, without its fence.

    Raises
    ------
    DataError
        An exercise has two, or a solution belongs to no exercise.
    """
    found = [
        (int(match["number"]), match["text"].strip())
        for match in _SOLUTION.finditer(_markdown(notebook))
    ]
    numbers = [number for number, _ in found]
    wrong = sorted(
        {
            number
            for number in numbers
            if numbers.count(number) > 1 or number not in exercises(notebook)
        }
    )
    if wrong:
        raise DataError(
            f"{notebook.path}: expected one solution for one exercise, found otherwise"
            f" for {name_some(wrong)}. Number them alike."
        )
    return dict(found)


def for_students(notebook: Notebook) -> Any:
    """Make the student's edition.

    No solution, and below the exercises a cell for each answer.

    Returns
    -------
    nbformat.NotebookNode
        Without outputs.

    Raises
    ------
    DataError
        Something that calls itself a solution would be left: it is written in another
        form than this module knows.
    """
    return _edition(notebook, teaching=False)


def for_instructors(notebook: Notebook) -> Any:
    """Make the instructor's edition.

    Solutions as plain Markdown, and their Python as cells tagged ``solution``.

    Returns
    -------
    nbformat.NotebookNode
        Without outputs.
    """
    return _edition(notebook, teaching=True)


def _edition(notebook: Notebook, *, teaching: bool) -> Any:
    solutions(notebook)  # numbered as they should be
    node = copy.deepcopy(notebook.node)
    node.metadata.pop(
        "jupytext", None
    )  # it would have Jupyter look for the source beside the notebook
    cells = []
    for cell in (part for whole in node.cells for part in _parts(whole, teaching)):
        if cell.cell_type == "markdown":
            cell.source = in_plain_words(cell.source, notebook).strip()
            if not cell.source:
                continue
        if not teaching and _LEFT.search(cell.source):
            raise DataError(
                f"{notebook.path}: a solution would be left in the student's edition."
                " Expected it in a Markdown cell, as a block of four backticks named"
                " {dropdown} Solution to N."
            )
        cells.append(cell)
        if not teaching and "## Exercises\n" in cell.source:
            cells += [_answer(notebook.name, number) for number in exercises(notebook)]
    node.cells = cells
    return node


def _parts(cell: Any, teaching: bool) -> list[Any]:
    """Leave a cell's solutions out.

    Or show them, and split the cell where they hold Python.
    """
    from nbformat import v4

    if cell.cell_type != "markdown":
        return [cell]
    text = _SOLUTION.sub(_shown if teaching else "", cell.source)
    first, *rest = text.split(_EDGE)
    cell.source = first
    parts = [cell]
    for at, source in enumerate(rest, 1):
        # Between the edges: Python, Markdown, Python, ...
        new, tags = (
            (v4.new_code_cell, {"tags": ["solution"]})
            if at % 2
            else (v4.new_markdown_cell, {})
        )
        parts.append(new(source, id=f"{cell.id}-{at}"[-64:], metadata=tags))  # type: ignore[no-untyped-call]
    return parts


def _shown(solution: re.Match[str]) -> str:
    text = _PYTHON.sub(lambda python: f"{_EDGE}{python[1]}{_EDGE}", solution["text"])
    return f"**Solution to {solution['number']}.**\n\n{text}"


def _answer(name: str, number: int) -> Any:
    from nbformat import v4

    text = f"**Your answer to exercise {number}:**"
    return v4.new_markdown_cell(
        text, id=f"{name}-answer-{number}"[-64:], metadata={"tags": ["answer"]}
    )  # type: ignore[no-untyped-call]


def _markdown(notebook: Notebook) -> str:
    return "\n\n".join(
        cell.source for cell in notebook.node.cells if cell.cell_type == "markdown"
    )
