"""Slides of the two lectures.

A Sphinx project of its own, whose figures are those of the executed notebooks.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from verite.errors import VeriteError
from veritebook.slides import find_shown

_LOG = logging.getLogger(__name__)
_BOOK = Path(__file__).resolve().parents[3]

project = "VERITE, executed: slides"
html_copy_source = False
html_favicon = "../../static/favicon.svg"
language = "en"
root_doc = "unimodal-bias"
extensions = ["myst_parser", "sphinx_revealjs"]
myst_enable_extensions = ["colon_fence"]

revealjs_html_theme = "revealjs-simple"  # the other one forbids readers to zoom
revealjs_style_theme = "slides.css"
revealjs_static_path = ["static", "../../static"]
revealjs_css_files = ["verite.css"]
revealjs_script_plugins = [
    {"src": "revealjs/plugin/notes/notes.js", "name": "RevealNotes"}
]
revealjs_script_conf = {
    "width": 1280,
    "height": 720,
    "margin": 0.04,
    "center": False,
    "hash": True,
    "slideNumber": "c/t",
    "transition": "none",
    "pdfMaxPagesPerSlide": 1,
}


class Shown(SphinxDirective):
    """``{shown} PAGE/NAME`` puts what an executed notebook shows on a slide.

    That is a figure, a table or a row of pictures.
    """

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Find it, and say below from where it comes and what it was made from."""
        page, _, name = self.arguments[0].partition("/")
        self.env.note_dependency(
            str(_BOOK / "notebooks" / "executed" / f"{page}.ipynb")
        )
        try:
            shown = find_shown(page, name)
        except VeriteError as error:
            _LOG.warning("%s", error, location=self.get_location())
            return []
        address = f"../notebooks/executed/{html.escape(page)}.html"
        link = f'<a href="{address}">{html.escape(shown.title)}</a>'
        source = f" ({html.escape(shown.source)})" if shown.source else ""
        return [
            nodes.raw(
                "",
                f'{shown.html}<p class="source">From {link}{source}</p>',
                format="html",
            )
        ]


def setup(app: Any) -> None:
    """Register with Sphinx."""
    app.add_directive("shown", Shown)
