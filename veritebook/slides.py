"""Slides for lectures, whose figures are those of the executed notebooks."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from verite.errors import DataError, MissingDataError, RunError, name_some
from veritebook.notebooks import Notebook
from veritebook.places import Places, find_places

__all__ = ["Shown", "build_slides", "find_shown"]

_NAMES = re.compile(r'data-name="([^"]*)"')
_IDS = re.compile(r'(\bid="|url\(#|href="#)(f\d+-)')


@dataclass(frozen=True)
class Shown:
    """A figure, a table or a row of pictures of an executed notebook."""

    html: str
    title: str
    """Of the page that shows it."""
    source: str
    """Where it is from, in words.

    What the page was made from, by its record; empty if there is none.
    """


def find_shown(page: str, name: str) -> Shown:
    """Find what an executed notebook shows under a name.

    Parameters
    ----------
    page
        Name of the notebook.
    name
        As the notebook gives it: ``page.figure(..., name=...)``, or the key of
        ``page.compare(...)``.

    Raises
    ------
    MissingDataError
        The notebook was not run.
    DataError
        It shows nothing under this name, or several things.
    """
    import nbformat

    from veritebook.record import read_record

    places = find_places()
    path = places.executed / f"{page}.ipynb"
    if not path.is_file():
        raise MissingDataError(
            f"no executed notebook {path}. Run it first: verite run {page}."
        )
    node = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    outputs = [
        "".join(output.get("data", {}).get("text/html", ""))
        for cell in node.cells
        for output in cell.get("outputs", [])
    ]
    named = [
        (html.unescape(called), output)
        for output in outputs
        for called in _NAMES.findall(output)
    ]
    found = [output for called, output in named if called == name]
    if len(found) != 1:
        raise DataError(
            f"{path.name} shows {len(found)} things under the name {name!r}, expected"
            f" one. It has: {name_some((n for n, _ in named), 40)}."
        )
    # Pages number their figures' ids alike, and a slide deck takes figures of many.
    own = _IDS.sub(rf"\g<1>{page}-\g<2>", found[0])
    dataset = read_record(places, page).get("dataset", "")
    source = f"page made from {dataset}" if dataset else ""
    if 'class="verite-pictures"' in own:
        source = "drawn by the newsroom"
    return Shown(own, Notebook(page, path, node, ()).title, source)


def build_slides(places: Places, say: Callable[[str], None] = print) -> Path:
    """Build the slides beside the book's pages; return the folder.

    Raises
    ------
    MissingDataError
        sphinx-revealjs is not installed.
    RunError
        The build gave a warning, such as a figure that is not there.
    """
    if find_spec("sphinx_revealjs") is None:
        raise MissingDataError(
            "slides need the library sphinx-revealjs. Install the extra: pip install"
            ' "verite[book]".'
        )
    say("building the slides")
    options = "--fail-on-warning --nitpicky --keep-going --quiet --fresh-env"
    folders = [places.root / "_build" / ".slides", places.slides, places.built_slides]
    command = [sys.executable, "-m", "sphinx", "-b", "revealjs", *options.split()]
    command += ["--doctree-dir", *map(str, folders)]
    # Warnings of the tool's own imports; those of the build are errors.
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(  # noqa: S603 - our own command
        command,
        cwd=places.root,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        raise RunError(
            f"the slides were not built:\n{done.stdout[-4000:]}{done.stderr[-8000:]}"
        )
    return places.built_slides
