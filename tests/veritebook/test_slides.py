"""Slides of the lectures, and the figures that they take from executed notebooks."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from nbformat import v4, write

from verite.errors import DataError, MissingDataError, RunError
from veritebook.places import Places
from veritebook.slides import build_slides, find_shown

REPOSITORY = Path(__file__).resolve().parents[2]
LECTURES = sorted((REPOSITORY / "book" / "teaching" / "slides").glob("*.md"))
FIGURE = (
    '<figure class="verite-figure" data-name="{}"><svg role="img" aria-label="a'
    ' line"><g id="f1-a"/><use href="#f1-a"/></svg></figure>'
)


def output(html):
    return v4.new_output("display_data", {"text/html": html, "text/plain": "x"})


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """A checkout with one executed notebook that shows a figure, a table, a row of
    pictures, and two things of one name.
    """
    (tmp_path / "_toc.yml").write_text("root: index\n")
    folder = tmp_path / "notebooks" / "executed"
    folder.mkdir(parents=True)
    table = (
        '<div class="verite-scroll"><table class="verite-table" data-name="new &amp;'
        ' old"><tr><td>5</td></tr></table></div>'
    )
    pictures = (
        '<div class="verite-pictures" data-name="classes"><figure'
        ' class="verite-picture"></figure></div>'
    )
    shown = [
        FIGURE.format("line"),
        table,
        pictures,
        FIGURE.format("twice"),
        FIGURE.format("twice"),
    ]
    cells = [
        v4.new_markdown_cell("# A small page\n\nWords."),
        v4.new_code_cell("", outputs=[output(html) for html in shown]),
    ]
    write(v4.new_notebook(cells=cells), folder / "small.ipynb")
    (folder / "small").mkdir()
    record = dict.fromkeys(
        [
            "inputs",
            "page",
            "results",
            "versions",
            "parameters",
            "data",
            "started",
            "seconds",
            "commit",
        ],
        "",
    )
    (folder / "small" / "record.json").write_text(
        json.dumps({**record, "dataset": "verite, newsroom"})
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_figure_is_found_by_its_name_with_its_page_and_its_data(executed):
    found = find_shown("small", "line")
    assert 'aria-label="a line"' in found.html
    assert (found.title, found.source) == (
        "A small page",
        "page made from verite, newsroom",
    )


def test_ids_of_a_figure_carry_the_name_of_their_page_so_that_figures_of_two_pages_do_not_meet(  # noqa: E501 - a test name
    executed,
):
    assert re.findall(r'(?:id|href)="([^"]+)"', find_shown("small", "line").html) == [
        "small-f1-a",
        "#small-f1-a",
    ]


def test_pictures_say_that_they_are_drawn_whatever_the_rest_of_the_page_was_made_from(
    executed,
):
    assert find_shown("small", "classes").source == "drawn by the newsroom"


def test_a_name_that_is_not_there_is_told_with_those_that_are(executed):
    with pytest.raises(
        DataError,
        match=(
            r"shows 0 things under the name 'lime', expected one\. It has: line, new &"
            r" old, classes"
        ),
    ):
        find_shown("small", "lime")


def test_a_name_that_stands_twice_is_refused(executed):
    with pytest.raises(DataError, match="shows 2 things under the name 'twice'"):
        find_shown("small", "twice")


def test_a_notebook_that_was_not_run_is_told_with_what_runs_it(executed):
    with pytest.raises(MissingDataError, match=r"Run it first: verite run large\."):
        find_shown("large", "line")


def deck(root, text):
    """Put a lecture beside the real configuration of the slides."""
    places = Places(root)
    shutil.copytree(
        REPOSITORY / "book" / "static", root / "book" / "static", dirs_exist_ok=True
    )
    shutil.copytree(
        REPOSITORY / "book" / "teaching" / "slides",
        places.slides,
        ignore=shutil.ignore_patterns("*.md", "__pycache__"),
    )
    (places.slides / "unimodal-bias.md").write_text(text)
    return places


def test_slides_carry_the_figure_its_source_and_the_speakers_notes(executed):
    text = (
        "# Title\n\n## One\n\n```{shown} small/line\n```\n\n```{revealjs-notes}\nSay"
        " <this>.\n```\n"
    )
    built = (
        build_slides(deck(executed, text), say=lambda _: None) / "unimodal-bias.html"
    )
    page = built.read_text(encoding="utf8")
    assert 'aria-label="a line"' in page
    assert (
        'From <a href="../notebooks/executed/small.html">A small page</a> (page made'
        " from verite, newsroom)" in page
    )
    assert '<aside class="notes">Say &lt;this&gt;.</aside>' in page
    assert re.search(r'<html\s+lang="en"', page)
    sources = re.findall(r'(?:src|href)="([^"#]+\.(?:js|css)[^"]*)"', page)
    assert len(sources) >= 4
    for source in sources:
        assert (built.parent / source.partition("?")[0]).is_file(), source


def test_a_figure_that_is_not_there_fails_the_build_and_names_the_line(executed):
    with pytest.raises(
        RunError,
        match=(
            r"unimodal-bias\.md:5: .*small\.ipynb shows 0 things under the name 'lime'"
        ),
    ):
        build_slides(
            deck(executed, "# Title\n\n## One\n\n```{shown} small/lime\n```\n"),
            say=lambda _: None,
        )


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_what_slides_show_is_named_in_the_sources_of_the_notebooks(path):
    shown = re.findall(
        r"^```\{shown\} ([\w-]+)/(.+)$",
        path.read_text(encoding="utf8"),
        flags=re.MULTILINE,
    )
    assert len(shown) >= 12
    for page, name in shown:
        assert f'"{name}"' in (REPOSITORY / "notebooks" / f"{page}.md").read_text(
            encoding="utf8"
        ), (page, name)
