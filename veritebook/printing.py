"""The whole book as one PDF.

Its built pages set one after the other, printed by a browser.

The pages hold MathML and inline SVG, which a browser draws and LaTeX does not. The PDF
has a title page, contents with page numbers, an outline and tags for screen readers.
"""

from __future__ import annotations

import html
import io
import json
import os
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from verite.errors import DataError, MissingDataError
from verite.files import atomic_path, read_text, write_text
from verite.provenance import commit
from veritebook.places import Places, find_places

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag
    from playwright.sync_api import Browser, Page

__all__ = [
    "Part",
    "lay_out",
    "one_page",
    "open_browser",
    "print_book",
    "print_sheet",
    "read_contents",
]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_WIDTH, _HEIGHT = (
    658,
    900,
)  # of what is printed on, in CSS pixels: A4 without the margins of print.css
_REFERENCES = ("aria-labelledby", "aria-describedby", "aria-controls", "for", "headers")
_DROPPED = "script, noscript, .headerlink, .copybtn, .d-print-none, .verite-sliders"

_FIT = """() => {
    for (const box of document.querySelectorAll(".verite-scroll, .pst-scrollable-table-container, div.math, .verite-figure")) {
        const ratio = box.clientWidth / box.scrollWidth;
        if (ratio < 1) for (const part of box.children) part.style.zoom = Math.floor(1000 * ratio) / 1000;
    }
}"""
"""What is still wider than the paper is drawn smaller, as one."""

_NUMBER = """numbers => document.querySelectorAll("[data-page-of]").forEach(slot => { slot.textContent = numbers[slot.dataset.pageOf]; })"""


@dataclass(frozen=True)
class Part:
    """Pages of the contents under one heading.

    Those that stand before the first heading have none.
    """

    caption: str
    pages: tuple[str, ...]


def print_book(*, say: Callable[[str], None] = print) -> Path:
    """Build the book, running what is stale, and print it; return the PDF.

    Parameters
    ----------
    say
        Where lines of progress go.

    Raises
    ------
    MissingDataError
        There is no browser, or no library to drive it.
    RunError
        The book could not be built.
    """
    from veritebook.book import build_book

    places = find_places()
    with open_browser() as browser:  # first of all: a build takes long
        html_root = build_book(say=say).parent
        say("printing")
        sheet = html_root.parent / "verite-executed.html"
        write_text(sheet, one_page(html_root, read_contents(places), _settings(places)))
        try:
            print_sheet(browser, sheet, places.pdf)
        finally:
            sheet.unlink()
    return places.pdf


def read_contents(places: Places) -> list[Part]:
    """Read ``_toc.yml``: the root first, then the parts in their order.

    Returns
    -------
    list of Part
        Pages are named as the contents name them: from the root, without a suffix.
    """
    contents: dict[str, Any] = yaml.safe_load(read_text(places.root / "_toc.yml"))
    parts = contents.get("parts") or [{"chapters": contents.get("chapters", [])}]
    return [
        Part("", (contents["root"],)),
        *(
            Part(
                part.get("caption", ""),
                tuple(chapter["file"] for chapter in part["chapters"]),
            )
            for part in parts
        ),
    ]


def one_page(
    html_root: Path, parts: Sequence[Part], settings: Mapping[str, str]
) -> str:
    """Set the built pages of a book one after the other.

    Ids get their page's name in front, so that none meets another; links between pages
    become links inside the page, links to files of the site become plain text. What is
    folded is opened. Headings go down one level: the first is for parts.

    Parameters
    ----------
    html_root
        Folder of the built pages. What is returned is meant to stand beside it.
    parts
        What to print, see :func:`read_contents`.
    settings
        ``title``, and where known ``author`` and ``notes``, for the title page.

    Raises
    ------
    DataError
        A page was not built, or holds no article.
    """
    pages = [page for part in parts for page in part.pages]
    titles: dict[str, str] = {}
    bodies: list[str] = []
    for part in parts:
        for page in part.pages:
            article = _article(html_root, page, pages)
            heading = article.find("h2")
            titles[page] = (
                " ".join(heading.get_text().split()) if heading is not None else page
            )
            above = (
                f'<h1 class="part">{html.escape(part.caption)}</h1>'
                if part.caption and page == part.pages[0]
                else ""
            )
            bodies.append(
                f'<section id="{_slug(page)}"'
                f' class="sheet">{above}{article.decode_contents()}</section>'
            )
    named = "".join(
        f"@page p{number} {{ @top-right {{ content: {_css_text(titles[page])} }} }}"
        f" #{_slug(page)} {{ page: p{number} }}\n"
        for number, page in enumerate(pages)
    )
    styles = "".join(
        f'<link rel="stylesheet" href="{html.escape(address)}">'
        for address in _styles(html_root, pages[0])
    )
    title = html.escape(settings["title"])
    front = "".join(
        f"<p>{html.escape(settings[key])}</p>"
        for key in ("author", "notes")
        if settings.get(key)
    )
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta'
        f' charset="utf-8"><title>{title}</title>{styles}'
        f'<style>{named}</style></head><body><main class="bd-content"><article'
        ' class="bd-article">'
        "<section"
        f' class="front"><h1>{title}</h1>{front}</section>{_contents(parts, titles)}{"".join(bodies)}'
        "</article></main></body></html>"
    )


def _settings(places: Places) -> dict[str, str]:
    config: dict[str, Any] = yaml.safe_load(read_text(places.root / "_config.yml"))
    about = metadata("verite")
    notes = f"{about['Summary']} Version {about['Version']}, commit {commit()}."
    return {
        "title": str(config["title"]),
        "author": str(config.get("author", "")),
        "notes": notes,
    }


def _article(html_root: Path, page: str, pages: Sequence[str]) -> Tag:
    """The words and figures of a built page, fit to stand beside those of others."""
    path = html_root / f"{page}.html"
    if not path.is_file():
        raise DataError(
            f"{path}: this page of the contents was not built. Build the book first:"
            " verite book."
        )
    article = _parse(read_text(path)).select_one("article")
    if article is None:
        raise DataError(
            f"{path}: expected an <article> with the words of the page, found none."
        )
    for part in article.select(_DROPPED):
        part.decompose()
    for folded in article.select("details"):
        folded["open"] = ""
    for tag in article.find_all(True):
        if level := re.fullmatch(r"h([1-5])", tag.name):
            tag.name = f"h{int(level[1]) + 1}"
        for name, value in list(tag.attrs.items()):
            tag[name] = _moved(tag.name, name, value, page, pages)
            if not tag[name] and name == "href":
                tag.name = (  # it leads nowhere on paper, and shall not look as if it did
                    "span"
                )
                del tag[name]
    return article


def _moved(tag: str, name: str, value: Any, page: str, pages: Sequence[str]) -> Any:
    """The value of an attribute on the one page."""
    own = f"{_slug(page)}--"
    if name == "id":
        return own + value
    if name in _REFERENCES:
        return " ".join(
            own + each for each in (value if isinstance(value, list) else value.split())
        )
    if name in {"href", "xlink:href", "src"}:
        return _address(value, page, pages)
    if isinstance(value, str) and "url(#" in value:
        return value.replace("url(#", f"url(#{own}")
    return value


def _address(address: str, page: str, pages: Sequence[str]) -> str:
    """Where a link of a page leads on the one page.

    Nowhere if it led to another file of the site, but for pictures.

    >>> _address("../b.html#x", "a/a", ["a/a", "b"])
    '#b--x'
    >>> _address("#x", "a/a", ["a/a", "b"])
    '#a-a--x'
    """
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return address
    target = (
        posixpath.normpath(posixpath.join(posixpath.dirname(page), parts.path))
        if parts.path
        else f"{page}.html"
    )
    found = target.removesuffix(".html")
    if found in pages:
        return f"#{_slug(found)}" + (f"--{parts.fragment}" if parts.fragment else "")
    return f"html/{target}" if re.search(r"\.(png|jpe?g|svg|gif|webp)$", target) else ""


def _styles(html_root: Path, page: str) -> Iterator[str]:
    """The style sheets of a built page and the one for paper, seen from beside the
    site.
    """
    for link in _parse(read_text(html_root / f"{page}.html")).select(
        'link[rel="stylesheet"]'
    ):
        yield "html/" + posixpath.normpath(
            posixpath.join(posixpath.dirname(page), urlsplit(str(link["href"])).path)
        )
    yield "html/_static/print.css"


def _contents(parts: Sequence[Part], titles: Mapping[str, str]) -> str:
    lines = []
    for part in parts:
        caption = (
            f'<p class="part">{html.escape(part.caption)}</p>' if part.caption else ""
        )
        entries = "".join(
            f'<li><a href="#{_slug(page)}">{html.escape(titles[page])}</a><span'
            f' data-page-of="{_slug(page)}"></span></li>'
            for page in part.pages
        )
        lines.append(f"{caption}<ol>{entries}</ol>")
    return (
        '<nav class="book-contents"'
        f' aria-label="Contents"><h1>Contents</h1>{"".join(lines)}</nav>'
    )


def _slug(page: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "-", page)


def _css_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("<", r"\3c ")


def _parse(text: str) -> BeautifulSoup:
    from bs4 import BeautifulSoup

    return BeautifulSoup(text, "html.parser")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start Chromium, the machine's or else the one that Playwright installed, as a
    context.

    Raises
    ------
    MissingDataError
        There is none, or no library to drive it.
    """
    try:
        import pypdf  # noqa: F401 - reads on which page a chapter begins; asked for here, before anything runs
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise MissingDataError(
            f"a PDF needs the library {error.name}. Install the extra: pip install"
            ' "verite[pdf]".'
        ) from error
    program = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    flags = [
        "--disable-gpu",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ]  # Chromium has no sandbox for root
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=program, args=flags)
        except Error as error:
            raise MissingDataError(
                f"a PDF is printed by Chromium, and {program or 'none'} could be"
                " started. Install it: apt install chromium, or: playwright install"
                f" chromium.\n{str(error).splitlines()[0]}"
            ) from error
        try:
            yield browser
        finally:
            browser.close()


def lay_out(browser: Browser, sheet: Path) -> Page:
    """Open what :func:`one_page` gave as it will be on paper, with whatever is too wide
    made to fit; return the tab.
    """
    page = browser.new_page(
        viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light"
    )
    page.emulate_media(media="print")
    page.goto(sheet.resolve().as_uri(), timeout=120_000)
    page.evaluate(_FIT)
    return page


def print_sheet(browser: Browser, sheet: Path, target: Path) -> None:
    """Print what :func:`one_page` gave, twice.

    The first time says on which pages the chapters begin.

    Parameters
    ----------
    sheet
        HTML file, beside the folder ``html`` of the built pages.
    target
        PDF to write, all or nothing.
    """
    page = lay_out(browser, sheet)
    page.evaluate(
        _NUMBER,
        _first_pages(page.pdf(prefer_css_page_size=True, print_background=True)),
    )
    printed = page.pdf(
        prefer_css_page_size=True, print_background=True, tagged=True, outline=True
    )
    with atomic_path(target) as temporary:
        temporary.write_bytes(printed)


def _first_pages(printed: bytes) -> dict[str, int]:
    """On which page, from 1, each target of a link stands."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(printed))
    pages = {
        name: reader.get_destination_page_number(target)
        for name, target in reader.named_destinations.items()
    }
    return {
        name.lstrip("/"): number + 1
        for name, number in pages.items()
        if number is not None
    }
