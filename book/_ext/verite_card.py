"""The card at the head of each chapter.

What its run took, and how to run it with other values.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxRole

from verite.files import read_text
from veritebook.course.build import course_notebooks, notebooks_of_week
from veritebook.course.plain import in_plain_words
from veritebook.launch import (
    binder_url,
    colab_url,
    rerun_command,
    write_launch_notebooks,
)
from veritebook.notebooks import Notebook, list_notebooks, open_notebook
from veritebook.places import Places
from veritebook.record import read_record
from veritebook.status import in_gigabytes, in_words

_FOLDER = "notebooks/executed/"
_HOW = "book/read-and-rerun"


def _took(record: Mapping[str, Any]) -> str:
    cores = record["machine"].rpartition(", ")[2]  # "Linux x86_64, 2 cores"
    memory = in_gigabytes(record["peak memory MB"])
    return f"{in_words(record['seconds'])} and {memory} on {cores}"


def _costs(record: Mapping[str, Any], reference: Mapping[str, Any]) -> list[nodes.Node]:
    """The line about time and memory; none where nothing is known."""
    runs = {"This page took": record, "its reference run took": reference}
    text = "; ".join(f"{what} {_took(run)}" for what, run in runs.items() if run)
    if not text:
        return []
    heading = nodes.strong("", "Time and memory.")
    line = nodes.Text(f" {text[0].upper()}{text[1:]}.")
    return [nodes.paragraph("", "", heading, line)]


def _refer(page: str, words: str, asking: str, *, explicit: bool) -> nodes.Node:
    """Link from the page ``asking`` to another page of the book."""
    return addnodes.pending_xref(
        "",
        nodes.inline("", words),
        refdomain="std",
        reftype="doc",
        reftarget=f"/{page}",
        refdoc=asking,
        refexplicit=explicit,
        refwarn=True,
    )


def _link(words: str, address: str) -> nodes.reference:
    return nodes.reference("", words, refuri=address, internal=False)


def _links(app: Sphinx, docname: str) -> list[nodes.Node]:
    """The notebook to download, and where else it can be run."""
    up = "../" * docname.count("/")
    found = [_link("Download this notebook", f"{up}_sources/{docname}.ipynb")]
    if repository := app.config.verite_repository:
        name = PurePosixPath(docname).name
        found += [
            _link("Open it on Binder", binder_url(repository, name)),
            _link("Open it on Colab", colab_url(repository, name)),
        ]
    items = [nodes.list_item("", nodes.paragraph("", "", one)) for one in found]
    return [nodes.bullet_list("", *items)]


def _rerun(app: Sphinx, docname: str, values: Mapping[str, Any]) -> list[nodes.Node]:
    """The folded part: the command with the page's own values, and the links."""
    command = rerun_command(PurePosixPath(docname).name, values)
    before = nodes.paragraph(
        "", "In a clone of this book's repository, with its environment active"
    )
    if _HOW in app.env.found_docs:
        how = _refer(_HOW, "how to get them", docname, explicit=True)
        before += [nodes.Text(" ("), how, nodes.Text(")")]
    before += nodes.Text(", change what you like and run:")
    head = "<summary>Rerun with your own values</summary>"
    folded = [
        nodes.raw("", f'<details class="verite-rerun">{head}', format="html"),
        before,
        nodes.literal_block(command, command, language="text"),
        *_links(app, docname),
        nodes.raw("", "</details>", format="html"),
    ]
    # On paper nothing folds, nothing is copied, and no notebook lies beside the page;
    # links to Binder start a machine for who checks them.
    return [addnodes.only("", *folded, expr="builder_html")]


def _add_card(app: Sphinx, doctree: nodes.document) -> None:
    docname = app.env.docname
    name = docname.removeprefix(_FOLDER)
    title = next(iter(doctree.findall(nodes.title)), None)
    if docname == name or title is None or name not in list_notebooks():
        return
    places = Places(Path(app.srcdir))
    kept = places.reference / f"{name}.json"
    for path in (places.executed / name / "record.json", kept):
        if path.is_file():
            app.env.note_dependency(str(path))
    record = read_record(places, name)
    reference = json.loads(read_text(kept)) if kept.is_file() else {}
    values = record.get("parameters") or {
        one.name: one.default for one in open_notebook(name).parameters
    }
    parts = _costs(record, reference) + _rerun(app, docname, values)
    title.parent.insert(1, nodes.container("", *parts, classes=["verite-card"]))


def _find_repository(app: Sphinx, config: Config) -> None:
    config.verite_repository = config.verite_repository or os.environ.get(
        "GITHUB_REPOSITORY", ""
    )


def _write_notebooks(app: Sphinx, failed: Exception | None) -> None:
    """Put downloads into words that Jupyter shows; make what the Colab links open."""
    if failed is not None or app.builder.name != "html":
        return
    for path in (Path(app.outdir) / "_sources" / _FOLDER).glob("*.ipynb"):
        node = nbformat.read(path, as_version=4)
        notebook = Notebook(path.stem, path, node, ())
        for cell in node.cells:
            if cell.cell_type == "markdown":
                cell.source = in_plain_words(cell.source, notebook)
        nbformat.write(node, path)
    if app.config.verite_repository:
        write_launch_notebooks(
            Path(app.outdir).parent / "launch", app.config.verite_repository
        )


class WeekRole(SphinxRole):
    """Links to the chapters of a week of the course, from their headers."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Refer to each chapter by its title, in the order of the book."""
        links: list[nodes.Node] = []
        for notebook in notebooks_of_week(int(self.text), course_notebooks()[:-1]):
            page, title = f"{_FOLDER}{notebook.name}", notebook.title
            link = _refer(page, title, self.env.docname, explicit=False)
            links += [nodes.Text(", "), link] if links else [link]
        return links, []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_config_value("verite_repository", "", "env", [str])
    app.add_role("week", WeekRole())
    app.connect("config-inited", _find_repository)
    app.connect("doctree-read", _add_card)
    app.connect("build-finished", _write_notebooks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
