"""Two editions of one notebook: a student's without its folded solutions, an instructor's with them in plain sight.

A solution is a block of a Markdown cell, fenced by four backticks, that is named ``{dropdown} Solution to N``.
Everything else of a notebook, cells that check an answer among it, stands in both editions.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from verite.companion.notebooks import Notebook, open_notebook
from verite.errors import DataError, name_some

__all__ = ["exercises", "for_instructors", "for_students", "solutions"]

_SOLUTION = re.compile(r"^(?P<fence>`{4,})\{dropdown\} +Solution to (?P<number>\d+)[ \t]*\n(?P<text>.*?)\n(?P=fence)[ \t]*$", re.M | re.S)
_LEFT = re.compile(r"\bsolution to \d", re.IGNORECASE)
_EXERCISE = re.compile(r"^(\d+)\. ", re.M)
_CITATION = re.compile(r"\{cite\}`(?P<author>[a-z]+)(?P<year>\d{4})[a-z]*`")
_NAMELESS = re.compile(r"\[\]\((?P<name>[\w-]+)\.ipynb\)")


def exercises(notebook: Notebook) -> list[int]:
    r"""Numbers of a notebook's exercises: of the list under its last heading *Exercises*.

    >>> from types import SimpleNamespace as Cell
    >>> node = Cell(cells=[Cell(cell_type="markdown", source="## Exercises\n\n1. Look.\n2. Think.")])
    >>> exercises(Cell(node=node))
    [1, 2]
    """
    text = _markdown(notebook).rpartition("## Exercises\n")
    return [int(number) for number in _EXERCISE.findall(_SOLUTION.sub("", text[2]))] if text[1] else []


def solutions(notebook: Notebook) -> dict[int, str]:
    """Solutions of a notebook by the number of the exercise, as Markdown without their fence.

    Raises
    ------
    DataError
        An exercise has two, or a solution belongs to no exercise.
    """
    found = [(int(match["number"]), match["text"].strip()) for match in _SOLUTION.finditer(_markdown(notebook))]
    numbers = [number for number, _ in found]
    wrong = sorted({number for number in numbers if numbers.count(number) > 1 or number not in exercises(notebook)})
    if wrong:
        raise DataError(
            f"{notebook.path}: expected one solution for one exercise, found otherwise for {name_some(wrong)}. Number them alike."
        )
    return dict(found)


def for_students(notebook: Notebook) -> Any:
    """Make the student's edition: no solution, and below the exercises a cell for each answer.

    Returns
    -------
    nbformat.NotebookNode
        Without outputs.

    Raises
    ------
    DataError
        Something that calls itself a solution would be left: it is written in another form than this module knows.
    """
    return _edition(notebook, teaching=False)


def for_instructors(notebook: Notebook) -> Any:
    """Make the instructor's edition: solutions as plain Markdown, which Jupyter shows without the book's directives.

    Returns
    -------
    nbformat.NotebookNode
        Without outputs.
    """
    return _edition(notebook, teaching=True)


def _edition(notebook: Notebook, *, teaching: bool) -> Any:
    solutions(notebook)  # numbered as they should be
    node = copy.deepcopy(notebook.node)
    node.metadata.pop("jupytext", None)  # it would have Jupyter look for the source beside the notebook
    cells = []
    for cell in node.cells:
        if cell.cell_type == "markdown":
            shown = r"**Solution to \g<number>.**\n\n\g<text>" if teaching else ""
            text = _CITATION.sub(_cited, _SOLUTION.sub(shown, cell.source))
            cell.source = _NAMELESS.sub(_named, text).strip()
            if not cell.source:
                continue
        if not teaching and _LEFT.search(cell.source):
            raise DataError(
                f"{notebook.path}: a solution would be left in the student's edition. Expected it in a Markdown cell, as a block of four "
                "backticks named {dropdown} Solution to N."
            )
        cells.append(cell)
        if not teaching and "## Exercises\n" in cell.source:
            cells += [_answer(notebook.name, number) for number in exercises(notebook)]
    node.cells = cells
    return node


def _answer(name: str, number: int) -> Any:
    from nbformat import v4

    text = f"**Your answer to exercise {number}:**"
    return v4.new_markdown_cell(text, id=f"{name}-answer-{number}"[-64:], metadata={"tags": ["answer"]})  # type: ignore[no-untyped-call]


def _cited(citation: re.Match[str]) -> str:
    """Name author and year, which Jupyter shows where the book would show its own reference."""
    return f"[{citation['author'].capitalize()} {citation['year']}]"


def _named(link: re.Match[str]) -> str:
    """Give a link its page's title, which the book would fill in."""
    return f"[{open_notebook(link['name']).title}]({link['name']}.ipynb)"


def _markdown(notebook: Notebook) -> str:
    return "\n\n".join(cell.source for cell in notebook.node.cells if cell.cell_type == "markdown")
