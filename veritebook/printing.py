"""Print the built book into one PDF with Chromium.

Jupyter Book's own PDF builders were tried: LaTeX draws neither MathML nor inline SVG,
and one page made by Sphinx (``singlehtml``) repeats the ids that chapters share, so
links and clipped figures end up in the wrong chapter. Here each page's ids get the
page's name in front. The PDF has contents with page numbers, an outline and tags.
"""

from __future__ import annotations

import io
import json
import os
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import jinja2
import yaml

from verite.errors import DataError, MissingDataError
from verite.files import atomic_path, read_text, write_text
from verite.provenance import commit
from veritebook.places import Places, find_places

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
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

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PAPER = {"width": 658, "height": 900}
"""CSS pixels of A4 inside the margins of ``print.css``."""

OMITTED = "script, noscript, .headerlink, .copybtn, .d-print-none, .verite-sliders"
REFERENCES = ("aria-labelledby", "aria-describedby", "aria-controls", "for", "headers")

# Whatever is wider than the paper is scaled down as a whole.
FIT = """() => {
    const wide = ".verite-scroll, .pst-scrollable-table-container, div.math, "
        + ".verite-figure";
    for (const box of document.querySelectorAll(wide)) {
        const ratio = Math.floor(1000 * box.clientWidth / box.scrollWidth) / 1000;
        if (ratio < 1) for (const part of box.children) part.style.zoom = ratio;
    }
}"""
NUMBER = """numbers => document.querySelectorAll("[data-page-of]").forEach(
    slot => { slot.textContent = numbers[slot.dataset.pageOf]; })"""

SHEET = jinja2.Environment(autoescape=True).from_string(
    """<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<title>{{ title }}</title>
{% for address in styles %}<link rel="stylesheet" href="{{ address }}">{% endfor %}
<style>{% for page in pages %}
@page p{{ loop.index }} { @top-right { content: {{ page.css_title|safe }} } }
#{{ page.slug }} { page: p{{ loop.index }} }{% endfor %}</style></head>
<body><main class="bd-content"><article class="bd-article">
<section class="front"><h1>{{ title }}</h1>
{% for line in front %}<p>{{ line }}</p>{% endfor %}</section>
<nav class="book-contents" aria-label="Contents"><h1>Contents</h1>
{% for caption, group in pages|groupby("part") %}
{% if group[0].caption %}<p class="part">{{ group[0].caption }}</p>{% endif %}
<ol>{% for page in group %}<li><a href="#{{ page.slug }}">{{ page.title }}</a>
<span data-page-of="{{ page.slug }}"></span></li>{% endfor %}</ol>{% endfor %}</nav>
{% for page in pages %}<section id="{{ page.slug }}" class="sheet">
{% if page.first and page.caption %}<h1 class="part">{{ page.caption }}</h1>{% endif %}
{{ page.body|safe }}</section>{% endfor %}</article></main></body></html>"""
)


class Part(NamedTuple):
    """Pages of the contents under one heading; the first page has none."""

    caption: str
    pages: tuple[str, ...]


def print_book(*, say: Callable[[str], None] = print) -> Path:
    """Build the book, running what is stale, and print it; return the PDF's path.

    Raises
    ------
    MissingDataError
        There is no browser, or no library to drive it.
    RunError
        The book could not be built.
    """
    from veritebook.book import build_book

    places = find_places()
    with open_browser() as browser:  # first: a missing browser ends before the build
        html_root = build_book(say=say).parent
        say("printing")
        config = yaml.safe_load(read_text(places.root / "_config.yml"))
        about = metadata("verite")
        notes = f"{about['Summary']} Version {about['Version']}, commit {commit()}."
        settings = {key: str(config.get(key, "")) for key in ("title", "author")}
        sheet = html_root.parent / "verite-executed.html"
        contents = read_contents(places)
        write_text(sheet, one_page(html_root, contents, settings | {"notes": notes}))
        try:
            print_sheet(browser, sheet, places.pdf)
        finally:
            sheet.unlink()
    return places.pdf


def read_contents(places: Places) -> list[Part]:
    """Read ``_toc.yml``: the root first, then the parts in their order."""
    contents: dict[str, Any] = yaml.safe_load(read_text(places.root / "_toc.yml"))
    parts = [Part("", (contents["root"],))]
    for part in contents["parts"]:
        pages = tuple(chapter["file"] for chapter in part["chapters"])
        parts.append(Part(part.get("caption", ""), pages))
    return parts


def one_page(
    html_root: Path, parts: Sequence[Part], settings: Mapping[str, str]
) -> str:
    """Join the built pages of a book into one.

    Ids get their page's name in front. Links between pages become links inside the
    page; links to other files of the site become plain text. Folded content is opened.
    Headings go down one level: the first is for parts.

    Parameters
    ----------
    html_root
        Folder of the built pages; the result belongs beside it.
    settings
        ``title``, and optionally ``author`` and ``notes``, for the title page.

    Raises
    ------
    DataError
        A page was not built, or has no article.
    """
    names = [name for part in parts for name in part.pages]
    pages = []
    for number, part in enumerate(parts):
        for name in part.pages:
            article = _article(html_root, name, names)
            title = " ".join(article.find("h2").get_text().split())
            page = {"part": number, "caption": part.caption, "slug": _slug(name)}
            page |= {"first": name == part.pages[0], "title": title}
            css_title = json.dumps(title, ensure_ascii=False).replace("<", r"\3c ")
            pages.append(
                page | {"css_title": css_title, "body": article.decode_contents()}
            )
    front = [settings[key] for key in ("author", "notes") if settings.get(key)]
    styles = list(_styles(html_root, names[0]))
    return SHEET.render(
        title=settings["title"], front=front, pages=pages, styles=styles
    )


def _article(html_root: Path, page: str, pages: Sequence[str]) -> Any:
    """Content of a built page, with ids and links that are unique in the whole book."""
    path = html_root / f"{page}.html"
    if not path.is_file():
        raise DataError(f"{path}: this page was not built. Build the book: verite book")
    article = _parse(path).select_one("article")
    if article is None:
        raise DataError(f"{path}: expected an <article>, found none. Build the book.")
    for part in article.select(OMITTED):
        part.decompose()
    for folded in article.select("details"):
        folded["open"] = ""
    own = f"{_slug(page)}--"
    for tag in article.find_all(True):
        if level := re.fullmatch(r"h([1-5])", tag.name):
            tag.name = f"h{int(level[1]) + 1}"
        attributes: dict[str, Any] = dict(tag.attrs)
        for name, value in attributes.items():
            if name == "id":
                tag[name] = own + value
            elif name in REFERENCES:
                ids = value if isinstance(value, list) else value.split()
                tag[name] = " ".join(own + id_ for id_ in ids)
            elif name in {"href", "xlink:href", "src"}:
                tag[name] = _address(value, page, pages)
                if not tag[name] and name == "href":
                    tag.name = "span"
                    del tag[name]
            elif isinstance(value, str):
                tag[name] = value.replace("url(#", f"url(#{own}")
    return article


def _address(address: str, page: str, pages: Sequence[str]) -> str:
    """Target of a link inside the joined page; empty for other files of the site.

    >>> _address("../b.html#x", "a/a", ["a/a", "b"])
    '#b--x'
    >>> _address("#x", "a/a", ["a/a", "b"])
    '#a-a--x'
    """
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return address
    target = _from_root(page, parts.path) if parts.path else f"{page}.html"
    name = target.removesuffix(".html")
    if name in pages:
        return f"#{_slug(name)}" + (f"--{parts.fragment}" if parts.fragment else "")
    return f"html/{target}" if re.search(r"\.(png|jpe?g|svg|gif|webp)$", target) else ""


def _styles(html_root: Path, page: str) -> Iterator[str]:
    links = _parse(html_root / f"{page}.html").select('link[rel="stylesheet"]')
    for link in links:
        yield "html/" + _from_root(page, urlsplit(str(link["href"])).path)
    yield "html/_static/print.css"


def _from_root(page: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def _slug(page: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "-", page)


def _parse(path: Path) -> BeautifulSoup:
    from bs4 import BeautifulSoup

    return BeautifulSoup(read_text(path), "html.parser")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start Chromium: the machine's, or else the one that Playwright installed.

    Raises
    ------
    MissingDataError
        There is none, or no library to drive it.
    """
    try:
        import pypdf  # noqa: F401 - needed at the end; better to fail at the start
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise MissingDataError(
            f"a PDF needs the library {error.name}. Install the extra: pip install"
            ' "verite[pdf]"'
        ) from error
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    # Chromium has no sandbox for root.
    sandbox = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=program, args=["--disable-gpu", *sandbox]
            )
        except Error as error:
            raise MissingDataError(
                f"a PDF is printed by Chromium; {program or 'no browser'} could not be"
                " started. Install it: apt install chromium, or: playwright install"
                f" chromium.\n{str(error).splitlines()[0]}"
            ) from error
        try:
            yield browser
        finally:
            browser.close()


def lay_out(browser: Browser, sheet: Path) -> Page:
    """Open the joined page as it will be printed, wide content scaled to fit."""
    page = browser.new_page(viewport=PAPER, color_scheme="light")  # type: ignore[arg-type]
    page.emulate_media(media="print")
    page.goto(sheet.resolve().as_uri(), timeout=120_000)
    page.evaluate(FIT)
    return page


def print_sheet(browser: Browser, sheet: Path, target: Path) -> None:
    """Print the joined page twice: the first time finds each chapter's page number."""
    from pypdf import PdfReader

    page = lay_out(browser, sheet)
    draft = page.pdf(prefer_css_page_size=True, print_background=True)
    reader = PdfReader(io.BytesIO(draft))
    numbers = {}
    for name, destination in reader.named_destinations.items():
        if (number := reader.get_destination_page_number(destination)) is not None:
            numbers[name.lstrip("/")] = number + 1
    page.evaluate(NUMBER, numbers)
    printed = page.pdf(
        prefer_css_page_size=True, print_background=True, tagged=True, outline=True
    )
    with atomic_path(target) as temporary:
        temporary.write_bytes(printed)
