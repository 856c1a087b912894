"""The book on paper: a made-up one of two pages."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from verite.errors import DataError, MissingDataError
from veritebook.places import Places
from veritebook.printing import (
    Part,
    lay_out,
    one_page,
    open_browser,
    print_sheet,
    read_contents,
)

REPOSITORY = Path(__file__).resolve().parents[2]
PARTS = [Part("", ("index",)), Part("Middle & end", ("deep/one", "deep/two"))]

FIGURE = """
<figure class="verite-figure"><svg role="img" aria-label="a line"
 viewBox="0 0 300 250" style="width:100%;max-width:600px;height:auto">
<defs><clipPath id="f1-c"><rect width="9" height="9"/></clipPath>
<path id="f1-m" d="M 0 0"/></defs>
<text x="10" y="20">headmost</text>
<use href="#f1-m" clip-path="url(#f1-c)"/>
<text x="10" y="240">footmost</text></svg></figure>
"""
WIDE = "".join(f"<td>column-{at}</td>" for at in range(30))
LONG = "".join(
    f"<tr><th scope='row'>row-{at}</th><td>{at}</td></tr>" for at in range(22)
)
ONE = f"""
<section id="one"><h1>Page one<a class="headerlink" href="#one">#</a></h1>
<p>See <a href="#same">here</a>, <a href="two.html#same">there</a>,
<a href="../index.html">the beginning</a>,
<a href="../_sources/one.ipynb">the notebook</a> and
<a href="https://example.org/x">elsewhere</a>.</p>
<section id="same"><h2>A section</h2>{"<p>Words upon words.</p>" * 14}{FIGURE}
<div class="verite-scroll" tabindex="0">
<table class="verite-table"><tbody><tr>{WIDE}</tr></tbody>
</table></div>
<pre>{"never-ending-" * 60}</pre><div class="verite-sliders" data-figures="[]"></div>
<details><summary>All figures</summary>
<table><tr><td>a table in place of sliders</td></tr></table></details>
{"<p>Words upon words.</p>" * 10}<table>{LONG}</table>
<script>document.title = "changed"</script>
</section></section>
"""
TWO = (
    '<section id="two"><h1>Page two</h1><section id="same"><h2>Another'
    f" section</h2><p>The end.</p>{FIGURE}</section></section>"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of three built pages."""
    root = tmp_path_factory.mktemp("site") / "html"
    for name, article in {
        "index": "<h1>Welcome all</h1><p>Welcome.</p>",
        "deep/one": ONE,
        "deep/two": TWO,
    }.items():
        path = root / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "<html><head></head><body><nav>menu</nav><article"
            f" class='bd-article'>{article}</article></body></html>"
        )
    (root / "_static").mkdir()
    shutil.copy(REPOSITORY / "book" / "static" / "print.css", root / "_static")
    return root


@pytest.fixture(scope="module")
def sheet(site: Path) -> Path:
    path = site.parent / "book.html"
    path.write_text(
        one_page(site, PARTS, {"title": "A <small> book", "author": "Nobody"}),
        encoding="utf8",
    )
    return path


@pytest.fixture(scope="module")
def soup(sheet: Path) -> BeautifulSoup:
    return BeautifulSoup(sheet.read_text(encoding="utf8"), "html.parser")


def test_ids_are_unique_and_inner_links_lead_to_one(soup):
    ids = Counter(tag["id"] for tag in soup.select("[id]"))
    assert max(ids.values()) == 1
    links = [
        tag[name]
        for tag in soup.find_all(True)
        for name in ("href", "clip-path")
        if name in tag.attrs
    ]
    inner = {re.sub(r"^url\(|[#)]", "", link) for link in links if "#" in link}
    assert inner <= set(ids)
    assert {"deep-one--same", "deep-two--same", "index", "deep-one--f1-c"} <= inner


def test_links_to_files_become_text_and_those_to_hosts_stay(soup):
    assert soup.find(string="the notebook").parent.name == "span"
    assert soup.find("a", string="elsewhere")["href"] == "https://example.org/x"


def test_folds_are_opened_and_interactive_parts_left_out(soup):
    assert all("open" in tag.attrs for tag in soup.select("details"))
    assert not soup.select("script, .verite-sliders, .headerlink")
    assert "a table in place of sliders" in soup.text


def test_headings_are_parts_then_pages_then_sections(soup):
    assert [(tag.name, tag.text) for tag in soup.select("h1, h2, h3")] == [
        ("h1", "A <small> book"),
        ("h1", "Contents"),
        ("h2", "Welcome all"),
        ("h1", "Middle & end"),
        ("h2", "Page one"),
        ("h3", "A section"),
        ("h2", "Page two"),
        ("h3", "Another section"),
    ]
    contents = [link.text for link in soup.select(".book-contents a")]
    assert contents == ["Welcome all", "Page one", "Page two"]


def test_a_missing_page_is_named(site):
    with pytest.raises(DataError, match=r"missing\.html: this page was not built"):
        one_page(site, [Part("", ("missing",))], {"title": "x"})


def test_the_contents_are_those_of_the_book():
    parts = read_contents(Places(REPOSITORY))
    assert parts[0] == Part("", ("book/index",))
    assert "notebooks/executed/chasma" in next(
        part.pages for part in parts if part.caption == "The paper, executed"
    )


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with (
        pytest.raises(MissingDataError, match=r'pip install "verite\[pdf\]"'),
        open_browser(),
    ):
        pass


def test_a_missing_browser_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("veritebook.printing.shutil.which", lambda name: None)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with pytest.raises(MissingDataError, match="apt install chromium"), open_browser():
        pass


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, where the machine has it."""
    try:
        with open_browser() as running:
            yield running
    except MissingDataError as error:
        pytest.skip(f"needs Chromium: {error}")


@pytest.fixture(scope="module")
def printed(browser, sheet):
    from pypdf import PdfReader

    target = sheet.parent / "book.pdf"
    print_sheet(browser, sheet, target)
    return PdfReader(target)


def test_the_contents_have_page_numbers(printed):
    texts = [page.extract_text() for page in printed.pages]
    said = dict(re.findall(r"(Welcome all|Page one|Page two)\s+(\d+)", texts[1]))
    assert set(said) == {"Welcome all", "Page one", "Page two"}
    for title, number in said.items():
        assert title in texts[int(number) - 1]
        assert int(number) > 2


def test_the_pdf_has_outline_tags_and_title(printed):
    def titles(entries):
        return [
            (
                each
                if isinstance(each, str)
                else titles(each)
                if isinstance(each, list)
                else each.title
            )
            for each in entries
        ]

    assert titles(printed.outline) == [
        "A <small> book",
        "Contents",
        ["Welcome all"],
        "Middle & end",
        ["Page one", ["A section"], "Page two", ["Another section"]],
    ]
    assert printed.root_object["/MarkInfo"]["/Marked"]
    assert printed.root_object["/Lang"] == "en"
    assert printed.metadata.title == "A <small> book"
    assert all(len(page.extract_text().split()) > 2 for page in printed.pages)


def test_figures_and_tables_stay_whole_on_a_page(printed):
    texts = [page.extract_text() for page in printed.pages]
    for first, last in (("headmost", "footmost"), ("row-0 0\n", "row-21")):
        assert any(first in text for text in texts)
        for text in texts:
            assert (first in text) == (last in text)


def test_links_inside_the_book_lead_to_their_pages(printed):
    targets = {
        note["/Dest"]
        for page in printed.pages
        for note in (each.get_object() for each in page.get("/Annots", []))
        if "/Dest" in note
    }
    assert {"/deep-one--same", "/deep-two--same", "/index"} <= targets
    assert targets <= set(printed.named_destinations)


def test_nothing_is_wider_than_the_paper(browser, sheet):
    tab = lay_out(browser, sheet)
    widest = (
        "Math.max(...[...document.querySelectorAll('.sheet *')].map(part =>"
        " part.getBoundingClientRect().right))"
    )
    width = tab.evaluate("innerWidth")
    assert tab.evaluate(widest) <= width + 1
    tab.evaluate("document.querySelector('.verite-scroll > table').style.zoom = 1")
    assert tab.evaluate(widest) > width + 100
    tab.close()
