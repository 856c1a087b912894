"""Write a course: both editions of every notebook, and what is in them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import yaml

import verite
from verite.errors import MissingDataError, ParameterError
from verite.files import (
    atomic_path,
    check_overwrite,
    read_text,
    sha256,
    write_json,
    write_text,
)
from veritebook.course.editions import (
    exercises,
    for_instructors,
    for_students,
    solutions,
)
from veritebook.notebooks import Notebook, list_notebooks, open_notebook, read_notebook
from veritebook.places import find_places

__all__ = ["WEEKS", "build_course", "course_notebooks", "notebooks_of_week"]

WEEKS = (
    "Pairs, and who has to look at what",
    "Benchmarks that one eye can pass",
    "Building one that it cannot",
    "Making misleading pairs",
    "Detectors, and what they learn",
    "Measures, errors, evidence",
)
"""Title of each week; the header of a notebook says to which week it belongs."""

_INDEX = "course.json"
_EDITIONS = {"student": for_students, "instructor": for_instructors}


def course_notebooks() -> list[Notebook]:
    """Read the course's notebooks in the order of the book.

    The exercise in annotation, which is no chapter, is the last.
    """
    names = list_notebooks()
    try:
        contents = yaml.safe_load(read_text(find_places().root / "_toc.yml"))
        files = [
            chapter["file"]
            for part in contents.get("parts", [])
            for chapter in part["chapters"]
        ]
        places = {file.rpartition("/")[2]: at for at, file in enumerate(files)}
        names.sort(key=lambda name: places.get(name, len(places)))
    except MissingDataError:
        pass  # installed without the book
    path = Path(__file__).with_name("annotation.md")
    return [*(open_notebook(name) for name in names), read_notebook(path)]


def notebooks_of_week(week: int, notebooks: list[Notebook]) -> list[Notebook]:
    """Notebooks whose header names a week, 1 for the first and 0 for none."""
    return [notebook for notebook in notebooks if notebook.week == week]


def build_course(out: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write both editions of all notebooks, a list of each, and ``course.json``.

    Nothing is written before all of it is made. The same sources give the same bytes.

    Parameters
    ----------
    out
        Folder to make.
    force
        Replace a course that is there. Other files in its folder, such as students'
        labels, stay.

    Returns
    -------
    list of Path
        What was written, ``course.json`` first.

    Raises
    ------
    ParameterError
        There is something at ``out`` already: a course and ``force`` is off, or
        something that is no course.
    DataError
        A notebook's solutions are not written as :mod:`veritebook.course.editions`
        expects them.
    VeriteError
        The folder cannot be written to.
    """
    target = Path(out)
    before = _listed(target)
    check_overwrite(target / _INDEX, force)
    with tempfile.TemporaryDirectory() as scratch:
        names = _write(Path(scratch), course_notebooks())
        for name in set(before) - set(names):
            (target / name).unlink(missing_ok=True)
        for name in [*names, _INDEX]:
            with atomic_path(target / name) as temporary:
                shutil.copyfile(Path(scratch) / name, temporary)
    return [target / name for name in [_INDEX, *names]]


def _listed(target: Path) -> list[str]:
    """Names of the files of the course that is there; none if there is nothing."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return []
    try:
        names = json.loads(read_text(target / _INDEX))["files"]
        return [
            name
            for name in names
            if name.split("/")[0] in _EDITIONS and ".." not in name
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParameterError(
            f"{target} holds something else than a course (no list in {_INDEX})."
            " Choose another folder."
        ) from error


def _write(folder: Path, notebooks: list[Notebook]) -> list[str]:
    """Write both editions and the index.

    Return the names of the files, the index aside.
    """
    import nbformat

    names = []
    for edition, make in _EDITIONS.items():
        (folder / edition).mkdir(parents=True, exist_ok=True)
        for notebook in notebooks:
            node = make(notebook)
            nbformat.validate(node)
            nbformat.write(node, folder / edition / f"{notebook.name}.ipynb")  # type: ignore[no-untyped-call]
            names.append(f"{edition}/{notebook.name}.ipynb")
        write_text(folder / edition / "index.md", _listing(edition, notebooks))
        names.append(f"{edition}/index.md")
    files = {name: sha256(folder / name) for name in sorted(names)}
    about: dict[str, Any] = {
        "verite": verite.__version__,
        "notebooks": {
            one.name: {
                "title": one.title,
                "exercises": exercises(one),
                "solutions": sorted(solutions(one)),
            }
            for one in notebooks
        },
        "files": files,
    }
    write_json(folder / _INDEX, about)
    return list(files)


def _listing(edition: str, notebooks: list[Notebook]) -> str:
    """List an edition's notebooks by week, and say how to open them."""
    lines = [
        f"# VERITE, executed: notebooks, {edition}'s edition",
        "",
        (
            "Install the package, which brings everything that the notebooks call, in a"
            " clone of its repository:"
        ),
        "",
        "```bash",
        'pip install --constraint constraints.txt ".[book]"',
        "pip install jupyterlab",
        "```",
        "",
        "Then open the notebooks in this folder with `jupyter lab`.",
        "",
        (
            "The notebooks run without a download and without a GPU, on a made-up"
            " world. It teaches; it is not evidence."
        ),
        "",
    ]
    titles = [f"Week {week}: {title}" for week, title in enumerate(WEEKS, 1)]
    for week, title in enumerate(["Further notebooks", *titles]):
        part = [
            f"- [{notebook.title}]({notebook.name}.ipynb), {_count(notebook, edition)}"
            for notebook in notebooks_of_week(week, notebooks)
        ]
        if part:
            lines += [f"## {title}", "", *part, ""]
    return "\n".join(lines)


def _count(notebook: Notebook, edition: str) -> str:
    number = f"{len(exercises(notebook))} exercises"
    if edition == "student":
        return number
    return f"{number}, solutions of {len(solutions(notebook))}"
