"""Commands of the book: ``verite run``, ``book``, ``slides``, ``pdf``, ``course``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from verite.errors import ParameterError
from verite.files import check_overwrite, read_text
from verite.options import parse_options

__all__ = ["app"]

app = typer.Typer()
course = typer.Typer(
    help="A course from the book: notebooks for students and for instructors.",
    no_args_is_help=True,
)
app.add_typer(course, name="course")


@app.command("run")
def run_command(
    name: Annotated[
        str, typer.Argument(help="Name of a notebook.", show_default=False)
    ] = "",
    parameter: Annotated[
        list[str],
        typer.Option(
            "-p", "--parameter", metavar="KEY VALUE", help="A parameter and its value."
        ),
    ] = [],  # noqa: B006
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the executed notebook and its results.", show_default=False
        ),
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List the notebooks and their parameters.")
    ] = False,
) -> None:
    """Run one notebook with your own values.

    Verite run NAME -p key value -p key value.
    """
    from veritebook.notebooks import describe, list_notebooks, open_notebook
    from veritebook.runs import run_notebook

    if list_all:
        for one in list_notebooks():
            notebook = open_notebook(one)
            print(f"{one}: {notebook.title}")
            print("\n".join(describe(each) for each in notebook.parameters))
        return
    if not name:
        raise ParameterError(
            f"which notebook? There are: {', '.join(list_notebooks())}. See verite run"
            " --list."
        )
    done = run_notebook(name, parse_options(parameter), out)
    print(f"notebook:  {done.notebook}")
    record = done.folder / "record.json"
    if record.exists():
        print(
            f"results:   {done.folder / 'results.csv'}\nrecord:    {record}\nmade from:"
            f" {json.loads(read_text(record))['dataset']}"
        )


@app.command("notebook")
def notebook_command(
    name: str,
    out: Annotated[Path, typer.Argument(help="File to write, such as out.ipynb.")],
    force: Annotated[bool, typer.Option(help="Replace a file that is there.")] = False,
) -> None:
    """Write a notebook as a plain .ipynb, for papermill, Jupyter or Colab."""
    from veritebook.notebooks import open_notebook

    check_overwrite(out, force)
    open_notebook(name).write_plain(out)
    print(out)


@app.command("book")
def book_command(
    force: Annotated[
        bool, typer.Option(help="Run every notebook, stale or not.")
    ] = False,
) -> None:
    """Run the notebooks that are stale, then build the book."""
    from veritebook.book import build_book

    print(build_book(force=force, say=lambda line: print(line, flush=True)))


@app.command("slides")
def slides_command() -> None:
    """Run stale notebooks, then build the slides from their figures."""
    from veritebook.book import refresh
    from veritebook.places import find_places
    from veritebook.slides import build_slides

    places = find_places()
    refresh(places, say=lambda line: print(line, flush=True))
    print(build_slides(places, say=lambda line: print(line, flush=True)))


@app.command("pdf")
def pdf_command() -> None:
    """Build the book, running what is stale, and print all of it into one PDF.

    Needs Chromium.
    """
    from veritebook.printing import print_book

    print(print_book(say=lambda line: print(line, flush=True)))


@app.command("reference")
def reference_command(
    name: Annotated[
        list[str],
        typer.Argument(
            help="Notebooks; all that name reference parameters if none is given."
        ),
    ] = [],  # noqa: B006
) -> None:
    """Run chapters on real data; keep aggregate results in book/reference/."""
    from veritebook.runs import run_references

    for path in run_references(name, say=lambda line: print(line, flush=True)):
        print(path)


@course.callback()
def _course() -> None:
    """Keep ``build`` a word of its own.

    Typer would leave the name of a lone command out.
    """


@course.command("build")
def course_build(
    out: Annotated[
        Path,
        typer.Argument(
            help="Folder for student/, instructor/ and course.json.", show_default=False
        ),
    ],
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace a course that is there; other files in its folder stay.",
        ),
    ] = False,
) -> None:
    """Write the students' and the instructors' edition: verite course build OUT."""
    from veritebook.course import build_course

    written = build_course(out, force=force)
    for edition in ("student", "instructor"):
        notebooks = [
            path
            for path in written
            if path.parent.name == edition and path.suffix == ".ipynb"
        ]
        print(
            f"{edition}'s edition: {len(notebooks)} notebooks, listed in"
            f" {out / edition / 'index.md'}"
        )
    print(f"list of all files, with checksums: {written[0]}")
