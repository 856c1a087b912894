from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from verite.datasets import load
from verite.errors import DataError
from veritebook.page import Page
from veritebook.results import read_results

VALUES = {"size": 3, "source": "auto", "share": 0.5, "loud": False}


@pytest.fixture
def page(checkout, monkeypatch, tmp_path):
    checkout()
    monkeypatch.setenv("VERITE_RUN_DIR", str(tmp_path / "run"))
    return Page("small", VALUES)


def test_the_parameters_table_shows_meaning_default_and_value(checkout, monkeypatch):
    checkout()
    cells = Page("small", VALUES | {"size": 7}).parameters().cells()
    assert cells.iloc[0].tolist() == ["size", "How many rows. At least 1.", "3", "7"]
    assert cells.iloc[1, 1] == "Data to read. One of: auto, newsroom."


def test_auto_takes_the_newsroom_where_the_real_data_are_not_at_hand(
    page, monkeypatch, tmp_path
):
    monkeypatch.setenv("VERITE_DATA", str(tmp_path / "nothing"))
    data = page.load("auto", real="verite", encoder="ViT-L-14", events=3, seed=0)
    assert (data.name, len(data.pairs), page.synthetic) == ("newsroom", 9, True)
    assert "It teaches" in page.source_note()._repr_mimebundle_()["text/plain"]


def test_auto_takes_the_real_data_where_they_are(page, real_data):
    data = page.load("auto", real="verite", encoder="ViT-B-32", events=3, seed=0)
    assert (data.name, len(data.pairs), page.synthetic) == ("verite", 1001, False)
    page.add_results(
        pd.DataFrame({"row": ["a"], "column": ["b"], "value": [1]}),
        table="t",
        unit="",
        protocol="",
    )
    read = page.finish().record["data"]
    assert "verite/VERITE.csv" in read
    assert all(len(digest) == 64 for digest in read.values())


def test_results_are_kept_in_one_shape_and_scaled(page):
    frame = pd.DataFrame(
        {
            "row": ["a"],
            "column": ["b"],
            "value": [0.5],
            "low": [0.4],
            "high": [0.6],
            "n": [10],
            "more": ["x"],
        }
    )
    kept = page.add_results(frame, table="t", unit="%", scale=100, protocol="p")
    assert kept.iloc[0].tolist() == [
        "t",
        "a",
        "b",
        50.0,
        40.0,
        60.0,
        10,
        "%",
        "p",
        "paper",
    ]
    assert frame["value"].tolist() == [0.5]


def test_results_without_a_value_are_an_error(page):
    with pytest.raises(
        DataError, match="results of 't' have no column, value. Found: row"
    ):
        page.add_results(pd.DataFrame({"row": ["a"]}), table="t", unit="", protocol="")


def test_a_page_without_results_cannot_finish(page):
    with pytest.raises(DataError, match="notebook small has kept no results"):
        page.finish()


def test_written_results_are_read_as_they_were(page):
    page.add_results(
        pd.DataFrame({"row": ["a"], "column": ["b"], "value": [1 / 3]}),
        table="t",
        unit="",
        protocol="p",
    )
    page.finish()
    found = read_results(page.folder / "results.csv").iloc[0]
    assert found["value"] == pytest.approx(1 / 3)
    assert np.isnan(found["low"])
    assert found["protocol"] == "p"


def test_a_file_that_holds_no_results_is_named(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(
        DataError, match="x.csv: not a results file, missing table, row"
    ):
        read_results(tmp_path / "x.csv")


def test_the_comparison_reads_the_committed_reference(page, tmp_path):
    (tmp_path / "book" / "reference").mkdir(parents=True)
    (tmp_path / "book" / "reference" / "small.csv").write_text(
        "table,row,column,value,low,high,n,unit,protocol,source\nt,a,b,2,1,3,9,,p,verite\nother,a,b,5,,,,,p,verite\n"
    )
    page.add_results(
        pd.DataFrame({"row": ["a"], "column": ["b"], "value": [4]}),
        table="t",
        unit="",
        protocol="p",
    )
    published = pd.DataFrame({"row": ["a"], "column": ["b"], "value": [1.5]})
    assert page.compare("t", published, "c").cells().iloc[0].tolist() == [
        "a",
        "b",
        "1.5",
        "2.0 [1.0, 3.0]",
        "4.0",
    ]


ONE = pd.DataFrame({"row": ["a"], "column": ["b"], "value": [4]})


def test_a_page_on_real_data_can_hold_tables_of_a_newsroom_that_say_so(page, real_data):
    page.load("auto", real="verite", encoder="ViT-B-32", events=3, seed=0)
    world = page.uses(load("newsroom", events=3))
    page.add_results(ONE, table="real", unit="", protocol="p")
    kept = page.add_results(ONE, table="made up", unit="", protocol="p", dataset=world)
    assert kept["source"].tolist() == ["newsroom"]
    headings = [
        page.compare(table, None, "c").cells().columns[-1]
        for table in ("real", "made up")
    ]
    assert headings == ["this build", "this build (newsroom, synthetic)"]
    assert (
        "What follows was made from Newsroom"
        in page.source_note(world)._repr_mimebundle_()["text/plain"]
    )
    assert page.finish().record["dataset"] == "verite, newsroom"
    assert read_results(page.folder / "results.csv").set_index("table")[
        "source"
    ].to_dict() == {"real": "verite", "made up": "newsroom"}


def test_a_table_holds_figures_of_one_data_set(page):
    page.add_results(ONE, table="t", unit="", protocol="p")
    world = load("newsroom", events=2, encoder=None)
    with pytest.raises(
        DataError,
        match=(
            "results of 't' were made from paper so far, and these from newsroom. Give"
            " them a table"
        ),
    ):
        page.add_results(
            ONE.assign(row="c"), table="t", unit="", protocol="p", dataset=world
        )


def test_the_reference_column_says_where_it_is_of_a_newsroom_though_the_page_is_not(
    page, tmp_path
):
    (tmp_path / "book" / "reference").mkdir(parents=True)
    (tmp_path / "book" / "reference" / "small.csv").write_text(
        "table,row,column,value,low,high,n,unit,protocol,source\nt,a,b,2,1,3,9,,p,verite\nmade"
        " up,a,b,5,,,,,p,newsroom\n"
    )
    shown = {
        table: page.compare(table, None, "c").cells().columns.tolist()
        for table in ("t", "made up")
    }
    assert shown == {
        "t": ["row", "column", "published", "reference", "this build"],
        "made up": [
            "row",
            "column",
            "published",
            "reference (newsroom, synthetic)",
            "this build",
        ],
    }


def test_the_foot_of_a_page_repeats_the_command_and_escapes(page):
    page.settings["source"] = "<b>"
    page.add_results(
        pd.DataFrame({"row": ["a"], "column": ["b"], "value": [4]}),
        table="t",
        unit="",
        protocol="p",
    )
    foot = page.finish()
    assert (
        foot.command
        == "verite run small -p size 3 -p source '<b>' -p share 0.5 -p loud False"
    )
    assert "<b>" not in foot._repr_mimebundle_()["text/html"]
    assert json.loads((page.folder / "record.json").read_text())["seeds"] == {}
