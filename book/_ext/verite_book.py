"""What the book needs of Sphinx.

Formulas that need no script, pages that ask no other host and that every reader can
use.

Numbered figures and tables are in ``verite_shown.py``, the card at the head of each
chapter in ``verite_card.py``.

Formulas are turned into MathML when the book is built. Browsers draw it by themselves
and screen readers read it, where the usual script would be fetched from elsewhere by
each reader.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

_LOG = logging.getLogger(__name__)


def _mathml(node: nodes.Element, display: str) -> str:
    latex = node.astext()
    try:
        return str(convert(latex, display=display))
    # The converter raises many kinds; each means that a formula is not shown.
    except Exception as error:
        _LOG.warning(
            "this formula could not be turned into MathML (%s): %s",
            error,
            latex,
            location=node,
        )
        return f"<code>{latex}</code>"


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    number = ""
    if node["number"]:
        anchor = writer.builder.env.domaindata["math"]["objects"].get(node["label"])
        number = f'<span class="eqno">({node["number"]})</span>'
        if anchor is None:
            _LOG.warning(
                "equation %s has a number and no anchor", node["label"], location=node
            )
    identity = f' id="{node["ids"][0]}"' if node["ids"] else ""
    # On a narrow screen a long formula scrolls: who has no mouse must be able to reach
    # it.
    name = f"Equation {node['number']}" if node["number"] else "Equation"
    writer.body.append(
        f'<div class="math"{identity} tabindex="0" role="group"'
        f' aria-label="{name}">{number}{_mathml(node, "block")}</div>'
    )
    raise nodes.SkipNode


def _stay_at_home(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Drop what sphinx-thebe brings.

    Jupyter Book loads it on every page, this book does not use it, and it would ask
    another host.
    """
    for kind in ("script_files", "css_files"):
        context[kind] = [
            file
            for file in context.get(kind, [])
            if "thebe" not in f"{getattr(file, 'filename', file)}"
            f" {getattr(file, 'attributes', '')}"
        ]


_MENDED = (
    # A script of 1.5 MB that draws icons anew: the theme's style sheet has them all as
    # a font, a tenth of that.
    (
        re.compile(
            r'[^\n]*<script src="[^"]*scripts/fontawesome\.js[^"]*"></script>\n?'
        ),
        "",
    ),
    # A script of the theme turns "auto" into one of its two sets of colours; who runs
    # no script would have neither.
    (re.compile(r'(<html [^>]*data-theme=)"auto"'), r'\1"light"'),
    # docutils gives the entries of a bibliography a role that ARIA has given up and
    # that may not stand in a list.
    (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
    # What stands in the sidebar above the contents belongs to no landmark by which
    # screen readers find their way.
    (
        re.compile(r'<div id="pst-primary-sidebar"'),
        '<div id="pst-primary-sidebar" role="complementary" aria-label="Book"',
    ),
)
"""What the theme and docutils write into every page, and what stands there instead."""


def _mend_pages(app: Sphinx, failed: Exception | None) -> None:
    if failed is None and app.builder.format == "html":
        for path in Path(app.outdir).rglob("*.html"):
            text = mended = path.read_text(encoding="utf8")
            for found, instead in _MENDED:
                mended = found.sub(instead, mended)
            if mended != text:
                path.write_text(mended, encoding="utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.setup_extension("verite_shown")
    app.setup_extension("verite_card")
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("html-page-context", _stay_at_home, priority=900)
    app.connect("build-finished", _mend_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
