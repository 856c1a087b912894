"""Numbers for figures and tables of cells, and the role ``shown`` that cites them.

``{shown}`name``` becomes "Table 2", a link, for what a cell of the same page shows
under that name, and ``{shown}`page/name``` "Table 2 of *title*" for what another page
shows. Figures and tables are numbered apart, page by page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, ClassVar, NamedTuple, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains import Domain
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx.util.nodes import make_refnode

_LOG = logging.getLogger(__name__)

# As veritebook.figures and veritebook.tables write them.
_FIGURE = re.compile(
    r'<figure class="verite-figure"(?:'
    r' data-name="(?P<name>[^"]*)")?>(?P<body>.*?)'
    r"(?:<figcaption>(?P<caption>.*?)</figcaption>)?</figure>",
    re.DOTALL,
)
_TABLE = re.compile(
    r'aria-label="[^"]*"><table class="verite-table"(?:'
    r' data-name="(?P<name>[^"]*)")?>(?:<caption>(?P<caption>.*?)</caption>)?'
)
_SVG_ID = re.compile(r'(\bid="|url\(#|href="#)(f\d+-)')
_UNNUMBERED = "parameters"  # the table with which every chapter begins


class Shown(NamedTuple):
    """A figure or a table with a name."""

    number: str
    """Such as "Table 2"."""
    anchor: str
    """Its id, unique in the whole book."""


class ShownDomain(Domain):
    """What each page shows, by name; filled when pages are read."""

    name = "verite"
    label = "VERITE"
    initial_data: ClassVar[dict[str, Any]] = {"shown": {}, "asked": {}, "said": {}}
    dangling_warnings: ClassVar[dict[str, str]] = {
        "shown": (
            "no figure or table is called %(target)r. Expected a name that a cell"
            " gives, such as page.table(..., name=...)."
        )
    }

    def clear_doc(self, docname: str) -> None:
        """Forget a page that is read anew."""
        self.data["shown"].pop(docname, None)
        self.data["asked"].pop(docname, None)

    def merge_domaindata(
        self, docnames: Iterable[str], otherdata: dict[str, Any]
    ) -> None:
        """Take over what another process has read."""
        for page in docnames:
            for what in ("shown", "asked"):
                if page in otherdata[what]:
                    self.data[what][page] = otherdata[what][page]

    def find(self, asking: str, target: str) -> tuple[str, Shown] | None:
        """Page and entry of what the page ``asking`` calls ``target``."""
        pages = self.data["shown"]
        if target in pages.get(asking, {}):
            return asking, pages[asking][target]
        page, _, name = target.partition("/")
        for docname in sorted(pages):
            if PurePosixPath(docname).name == page and name in pages[docname]:
                return docname, pages[docname][name]
        return None

    def words(self, asking: str, target: str) -> tuple[str, str]:
        """Number, and title of the page if it is another; empty for unknown names."""
        if (found := self.find(asking, target)) is None:
            return "", ""
        page, shown = found
        return shown.number, "" if page == asking else self.env.titles[page].astext()

    def resolve_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        typ: str,
        target: str,
        node: Any,
        contnode: nodes.Element,
    ) -> nodes.reference | None:
        """Turn a reference into a link."""
        if (found := self.find(fromdocname, target)) is None:
            return None
        number, title = self.words(fromdocname, target)
        words: list[nodes.Node] = [nodes.Text(number)]
        if title:
            words += [nodes.Text(" of "), nodes.emphasis("", title)]
        return make_refnode(builder, fromdocname, found[0], found[1].anchor, words)

    def resolve_any_xref(self, *_: Any) -> list[tuple[str, nodes.reference]]:
        """Nothing: names are asked for by their own role only."""
        return []


class ShownRole(SphinxRole):
    """The role ``shown``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Note what is asked for; it is looked up when all pages are read."""
        page = self.env.docname
        self.env.domaindata["verite"]["asked"].setdefault(page, []).append(self.text)
        node = addnodes.pending_xref(
            "",
            nodes.inline("", self.text),
            refdomain="verite",
            reftype="shown",
            reftarget=self.text,
            refdoc=page,
            refwarn=True,
        )
        self.set_source_info(node)
        return [node], []


class _Numbers:
    """Figures and tables of one page, in order."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.counts: Counter[str] = Counter()
        self.known: dict[str, Shown] = {}

    def number(self, kind: str, name: str | None, node: nodes.Node) -> tuple[str, str]:
        """Its number, and the attributes by which it is found."""
        self.counts[kind] += 1
        number = f"{kind.capitalize()}\N{NO-BREAK SPACE}{self.counts[kind]}"
        if not name:
            return number, ""
        anchor = f"{self.page}-{kind}-{nodes.make_id(name)}"
        if anchor in {shown.anchor for shown in self.known.values()}:
            _LOG.warning(
                "two figures or tables of this page are called %r. Give one of them"
                " another name.",
                name,
                location=node,
            )
        self.known[name] = Shown(number, anchor)
        return number, f' id="{anchor}" data-name="{name}"'

    def figure(self, found: re.Match[str], node: nodes.Node) -> str:
        """The HTML of a figure with its number."""
        number, named = self.number("figure", found["name"], node)
        caption = f"<figcaption>{_captioned(number, found['caption'])}</figcaption>"
        return f'<figure class="verite-figure"{named}>{found["body"]}{caption}</figure>'

    def table(self, found: re.Match[str], node: nodes.Node) -> str:
        """The HTML of a table, up to its caption, with its number.

        The name of the region that scrolls the table has the number as well.
        """
        if found["name"] == _UNNUMBERED:
            return found.group()
        number, named = self.number("table", found["name"], node)
        label = f"{number}. {found['caption']}" if found["caption"] else number
        caption = f"<caption>{_captioned(number, found['caption'])}</caption>"
        return f'aria-label="{label}"><table class="verite-table"{named}>{caption}'


def _captioned(number: str, caption: str | None) -> str:
    label = f'<span class="verite-number">{number}.</span>'
    return f"{label} {caption}" if caption else label


def _number(app: Sphinx, doctree: nodes.document) -> None:
    """Write numbers and ids into the HTML that cells gave."""
    page = PurePosixPath(app.env.docname).name
    numbers = _Numbers(page)
    for node in doctree.findall(nodes.raw):
        text = node.astext()
        if "html" in node["format"].split() and 'class="verite-' in text:
            text = _FIGURE.sub(
                lambda found, node=node: numbers.figure(found, node), text
            )
            text = _TABLE.sub(lambda found, node=node: numbers.table(found, node), text)
            # Each notebook counts the ids in its pictures from one; where the whole
            # book is one page they would meet.
            node.children = [nodes.Text(_SVG_ID.sub(rf"\g<1>{page}-\2", text))]
    if numbers.known:
        app.env.domaindata["verite"]["shown"][app.env.docname] = numbers.known


def _changed_elsewhere(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Pages that have to be written anew, though not read.

    A number or a title that they refer to is another one now.
    """
    domain = cast(ShownDomain, env.get_domain("verite"))
    said = {
        page: [domain.words(page, target) for target in targets]
        for page, targets in domain.data["asked"].items()
    }
    before, domain.data["said"] = domain.data["said"], said
    return [page for page, words in said.items() if words != before.get(page)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_domain(ShownDomain)
    app.add_role("shown", ShownRole())
    app.connect("doctree-read", _number)
    app.connect("env-updated", _changed_elsewhere)
    return {
        "version": "1",
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
