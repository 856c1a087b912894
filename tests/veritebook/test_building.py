"""Which notebooks are run again, and what happens when one fails."""

from __future__ import annotations

import json
import os

import pytest

from verite.errors import DataError, MissingDataError, ParameterError, RunError
from veritebook import record
from veritebook.book import build_book, run_stale, stale_notebooks
from veritebook.places import find_places
from veritebook.results import read_results
from veritebook.runs import run_notebook, run_references
from veritebook.status import write_status

SMALL = """\
import pandas as pd
from veritebook import Page

page = Page("{name}", globals())
rows = pd.DataFrame({{"row": ["a"], "column": "x", "value": [1.0]}})
page.add_results(rows, table="t", unit="", protocol="none")
page.finish()
"""
BROKEN = "1 / 0\n"


def small(name):
    return SMALL.format(name=name)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """A checkout of one notebook that ran, shared by tests that restore it."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    (folder / "notebooks").mkdir()
    (folder / "notebooks" / "one.md").write_text(
        "---\nkernelspec: {display_name: Python 3, language: python, name:"
        " python3}\n---\n\n# One\n\n```{code-cell} ipython3\n:tags:"
        " [parameters]\n\nsize: int = 3  # size\n```\n\n```{code-cell}"
        f" ipython3\n{small('one')}```\n"
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        run_notebook("one")
    return folder


@pytest.fixture
def ran_once(whole_run, monkeypatch):
    monkeypatch.chdir(whole_run)
    return whole_run


def test_a_notebook_is_stale_until_it_ran_and_again_when_its_source_changes(checkout):
    folder = checkout(one=small("one"))
    assert stale_notebooks(find_places()) == ["one"]
    run_notebook("one")
    assert stale_notebooks(find_places()) == []
    source = folder / "notebooks" / "one.md"
    source.write_text(source.read_text() + "\nOne more line.\n")
    assert stale_notebooks(find_places()) == ["one"]


def test_a_run_with_other_parameters_leaves_the_page_stale(checkout):
    checkout(one=small("one"))
    run_notebook("one", {"size": "5"})
    assert stale_notebooks(find_places()) == ["one"]


def test_other_versions_or_data_make_pages_stale(checkout, monkeypatch):
    checkout(one=small("one"))
    run_notebook("one")
    with monkeypatch.context() as patched:
        patched.setattr(record, "versions", lambda: {"numpy": "another"})
        assert stale_notebooks(find_places()) == ["one"]
    assert stale_notebooks(find_places()) == []
    with monkeypatch.context() as patched:
        patched.setattr(
            "verite.datasets.checksums", lambda names: {"verite/VERITE.csv": "changed"}
        )
        assert stale_notebooks(find_places()) == ["one"]


def test_a_page_that_was_lost_is_made_again(checkout):
    folder = checkout(one=small("one"))
    os.remove(run_notebook("one").notebook)
    assert stale_notebooks(find_places()) == ["one"]
    assert (folder / "notebooks" / "executed" / "one" / "record.json").exists()


@pytest.mark.parametrize("name", ["one.ipynb", "one/results.csv", "one/record.json"])
@pytest.mark.parametrize("content", ["", "[]", "{}", "\xff"])
def test_a_damaged_result_is_made_again(ran_once, name, content):
    path = ran_once / "notebooks" / "executed" / name
    whole = path.read_bytes()
    path.write_bytes(content.encode("latin-1"))
    assert stale_notebooks(find_places()) == ["one"]
    path.write_bytes(whole)
    assert stale_notebooks(find_places()) == []


def test_a_new_reference_run_makes_its_page_stale(checkout):
    folder = checkout(one=small("one"))
    run_notebook("one")
    (folder / "book" / "reference").mkdir(parents=True)
    (folder / "book" / "reference" / "one.csv").write_text(
        "table,row,column,value,low,high,n,unit,protocol,source\n"
    )
    assert stale_notebooks(find_places()) == ["one"]


def test_notebooks_run_side_by_side_and_one_that_fails_does_not_stop_the_others(
    checkout, capsys
):
    folder = checkout(good=small("good"), bad=BROKEN, other=small("other"))
    said = []
    failed = run_stale(find_places(), ["bad", "good", "other"], said.append)
    assert failed == ["bad"]
    assert [
        name
        for name in ("good", "other")
        if (folder / "notebooks" / "executed" / f"{name}.ipynb").exists()
    ] == ["good", "other"]
    assert any("bad: failed" in line and "ZeroDivisionError" in line for line in said)


def test_the_book_is_not_built_over_a_failed_notebook(checkout):
    folder = checkout(bad=BROKEN)
    with pytest.raises(
        RunError, match=r"1 notebook\(s\) failed: bad. The book was not built"
    ):
        build_book(say=lambda line: None)
    assert not (folder / "_build").exists()


def test_outside_of_a_checkout_the_message_says_to_clone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "veritebook.places._PACKAGE", tmp_path / "site-packages" / "verite"
    )
    with pytest.raises(
        MissingDataError,
        match="no checkout of the book at or above .*Clone the repository",
    ):
        find_places()


def test_the_status_page_lists_runs_and_is_left_alone_when_nothing_changed(checkout):
    checkout(one=small("one"))
    run = run_notebook("one")
    found = {
        "one": json.loads((run.folder / "record.json").read_text()),
        "never-run": {},
    }
    write_status(find_places(), found)
    path = find_places().generated / "status.md"
    text, written = path.read_text(), path.stat().st_mtime_ns
    assert "| [A small notebook](../notebooks/executed/one.ipynb) |" in text
    assert "| python | 3." in text
    write_status(find_places(), found)
    assert path.stat().st_mtime_ns == written


def test_a_reference_run_keeps_results_and_record(checkout):
    folder = checkout(one=small("one"))
    source = folder / "notebooks" / "one.md"
    source.write_text(
        source.read_text().replace(
            "---\n\n# A", "verite: {reference: {size: 2}}\n---\n\n# A"
        )
    )
    [path] = run_references(say=lambda line: None)
    assert path == folder / "book" / "reference" / "one.csv"
    assert json.loads(path.with_suffix(".json").read_text())["parameters"]["size"] == 2


def test_a_reference_run_on_made_up_data_is_refused(checkout):
    body = small("one").replace(
        "page.add_results",
        "page.load('newsroom', real='verite', events=3, seed=0)\npage.add_results",
    )
    folder = checkout(one=body)
    source = folder / "notebooks" / "one.md"
    source.write_text(
        source.read_text().replace(
            "---\n\n# A", "verite: {reference: {size: 2}}\n---\n\n# A"
        )
    )
    with pytest.raises(
        DataError, match="notebook one ran on newsroom, which is synthetic"
    ):
        run_references(["one"], say=lambda line: None)
    assert not (folder / "book" / "reference").exists()


def test_a_reference_run_may_hold_tables_of_a_newsroom_that_the_header_names_and_no_others(  # noqa: E501 - a test name
    checkout,
):
    body = small("one").replace(
        "page.add_results",
        "from verite.datasets import load\nworld = load('newsroom', events=3,"
        " encoder=None)\nmade_up = pd.DataFrame({'row': ['a'], 'column': 'x', 'value':"
        " [1.0]})\npage.add_results(made_up, table='made up', unit='', protocol='none',"
        " dataset=world)\npage.add_results",
    )
    folder = checkout(one=body)
    source = folder / "notebooks" / "one.md"
    plain = source.read_text()
    source.write_text(
        plain.replace(
            "---\n\n# A",
            "verite: {newsroom: [other], reference: {size: 2}}\n---\n\n# A",
        )
    )
    with pytest.raises(
        DataError, match=r"notebook one ran on newsroom, which is synthetic \(made up\)"
    ):
        run_references(["one"], say=lambda line: None)
    source.write_text(
        plain.replace(
            "---\n\n# A",
            "verite: {newsroom: [made up], reference: {size: 2}}\n---\n\n# A",
        )
    )
    [path] = run_references(["one"], say=lambda line: None)
    assert set(read_results(path).set_index("table")["source"].items()) == {
        ("t", "paper"),
        ("made up", "newsroom"),
    }


def test_a_notebook_without_reference_parameters_says_so(checkout):
    checkout(one=small("one"))
    with pytest.raises(ParameterError, match="notebook one has no reference run"):
        run_references(["one"], say=lambda line: None)
