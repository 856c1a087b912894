"""Write a course: both editions of every notebook, and what is in them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import verite
from verite.errors import ParameterError, VeriteError
from verite.files import read_text, sha256, write_json, write_text
from veritebook.course.editions import (
    exercises,
    for_instructors,
    for_students,
    solutions,
)
from veritebook.notebooks import Notebook, list_notebooks, open_notebook

__all__ = ["WEEKS", "build_course", "course_notebooks"]

WEEKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Pairs, and who has to look at what", ("multimodal-misinformation", "annotation")),
    ("Benchmarks that one eye can pass", ("vmu-twitter", "cosmos", "bias-lab")),
    ("Building one that it cannot", ("building-verite", "audit-your-benchmark")),
    ("Making misleading pairs", ("synthetic-data", "chasma")),
    (
        "Detectors, and what they learn",
        ("detector", "detector-on-verite", "results", "modality-balancing"),
    ),
    (
        "Measures, errors, evidence",
        (
            "measuring-bias",
            "errata",
            "from-pairs-to-claims",
            "verification-with-evidence",
        ),
    ),
)
"""Title of each week, and its notebooks in the order in which they are read."""

_INDEX = "course.json"
_EDITIONS = {"student": for_students, "instructor": for_instructors}


def course_notebooks() -> list[Notebook]:
    """Read the course's notebooks.

    The exercise in annotation, which is no chapter, and all chapters.
    """
    import jupytext

    path = Path(__file__).with_name("annotation.md")
    node = jupytext.read(path, fmt="md:myst")
    for at, cell in enumerate(node.cells):
        cell["id"] = f"annotation-{at}"
    return [
        Notebook("annotation", path, node, ()),
        *(open_notebook(name) for name in list_notebooks()),
    ]


def build_course(out: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write ``student/`` and ``instructor/``, each with all notebooks and a list of
    them, and ``course.json``.

    All of it is made beside ``out`` and takes its place in one step; whatever fails
    before leaves ``out`` as it was. The same sources give the same bytes.

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
    target = Path(os.path.realpath(out))
    before = _look(target, force)
    notebooks = course_notebooks()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=f".part-{target.name}-", dir=target.parent
        ) as scratch:
            made, old = Path(scratch) / "made", Path(scratch) / "old"
            if target.is_dir():
                shutil.copytree(target, made, symlinks=True)
                for name in before:
                    (made / name).unlink(missing_ok=True)
            names = _write(made, notebooks)
            if target.is_dir():
                target.rename(old)
            try:
                made.rename(target)
            except BaseException:
                with contextlib.suppress(
                    OSError
                ):  # the course that was there comes back
                    old.rename(target)
                raise
    except OSError as error:
        if isinstance(error, VeriteError):
            raise
        raise VeriteError(
            f"cannot write {out}: {error.strerror} ({error.filename}). Choose another"
            " folder, or free it."
        ) from error
    return [Path(out) / name for name in [_INDEX, *names]]


def _look(target: Path, force: bool) -> list[str]:
    """Names of the files of the course that is there; none if there is nothing."""
    if target.is_file():
        raise ParameterError(f"{target} is a file. Name a folder that is to be made.")
    if not target.exists() or not any(target.iterdir()):
        return []
    if not (target / _INDEX).is_file():
        raise ParameterError(
            f"{target} holds other things, and no {_INDEX}. Choose another folder."
        )
    if not force:
        raise ParameterError(
            f"a course is in {target}, perhaps with changes of yours. Choose another"
            " folder, or replace it with --force."
        )
    try:
        listed = json.loads(read_text(target / _INDEX))["files"]
        return [
            name
            for name in listed
            if name.split("/")[0] in _EDITIONS and ".." not in name
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParameterError(
            f"{target / _INDEX} is not the list of a course. Choose another folder."
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
    known = {one.name: one for one in notebooks}
    rest = tuple(sorted(set(known) - {name for _, names in WEEKS for name in names}))
    lines = [f"# VERITE, executed: notebooks, {edition}'s edition", ""]
    lines += [
        (
            "Install the package, which brings everything that the notebooks call, in a"
            " clone of its repository:"
        ),
        "",
    ]
    lines += [
        "```bash",
        'pip install --constraint constraints.txt ".[book]"',
        "pip install jupyterlab",
        "```",
        "",
    ]
    lines += ["Then open the notebooks in this folder with `jupyter lab`.", ""]
    lines += [
        (
            "The notebooks run without a download and without a GPU, on a made-up"
            " world. It teaches; it is not evidence."
        ),
        "",
    ]
    for number, (title, names) in enumerate((*WEEKS, ("Further notebooks", rest)), 1):
        there = [known[name] for name in names if name in known]
        if there:
            lines += [
                f"## {title}" if names is rest else f"## Week {number}: {title}",
                "",
            ]
            lines += [
                f"- [{one.title}]({one.name}.ipynb), {_count(one, edition)}"
                for one in there
            ]
            lines.append("")
    return "\n".join(lines)


def _count(notebook: Notebook, edition: str) -> str:
    many = f"{len(exercises(notebook))} exercises"
    return (
        many
        if edition == "student"
        else f"{many}, solutions of {len(solutions(notebook))}"
    )
