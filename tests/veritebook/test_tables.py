from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from verite.paper import compare
from veritebook.tables import Table, compared


def rows_of(table):
    root = ET.fromstring(table.html())
    return root, [[cell.text for cell in row] for row in root.iter("tr")]


def test_headers_say_whether_they_head_a_row_or_a_column():
    root, _ = rows_of(
        Table(
            pd.DataFrame({"n": [1, 2]}, index=pd.Index(["a", "b"], name="what")),
            "Counts",
        )
    )
    assert [(cell.get("scope"), cell.text) for cell in root.iter("th")] == [
        ("col", "what"),
        ("col", "n"),
        ("row", "a"),
        ("row", "b"),
    ]
    assert root.find("table/caption").text == "Counts"


def test_equal_row_headers_below_each_other_are_written_once():
    root, rows = rows_of(
        Table(
            pd.DataFrame({"n": [1, 2, 3]}, index=pd.Index(["a", "a", "b"], name="what"))
        )
    )
    assert rows == [["what", "n"], ["a", "1"], ["2"], ["b", "3"]]
    assert [cell.get("rowspan") for cell in root.findall("table/tbody/tr/th")] == [
        "2",
        None,
    ]


def test_whatever_stands_in_a_table_is_escaped():
    page = Table(pd.DataFrame({"<b>": ["<script>alert(1)</script>"]}), "<i>").html()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "<i>" not in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234567, "1,234,567"),
        (12.345, "12.3"),
        (np.nan, "–"),
        (None, "–"),
        (True, "yes"),
        ("text", "text"),
    ],
)
def test_values_are_shown_for_reading(value, shown):
    assert Table(pd.DataFrame({"x": pd.Series([value], dtype=object)})).cells()[
        "x"
    ].tolist() == [shown]


def test_a_table_without_rows_says_none():
    _, rows = rows_of(Table(pd.DataFrame({"n": []}, index=pd.Index([], name="what"))))
    assert rows == [["what", "n"], ["none"]]


def test_a_comparison_keeps_the_name_it_was_given():
    ours = pd.DataFrame(
        {
            "row": ["MEIR"],
            "column": ["text"],
            "value": [70.0],
            "low": [68.0],
            "high": [72.0],
            "n": [1900],
        }
    )
    assert compared(compare(None, None, ours), "c", name="Table 4").name == "Table 4"


def test_a_comparison_shows_three_columns_intervals_and_n():
    published = pd.DataFrame({"row": ["MEIR"], "column": ["text"], "value": [72.2]})
    ours = pd.DataFrame(
        {
            "row": ["MEIR"],
            "column": ["text"],
            "value": [70.04],
            "low": [68.0],
            "high": [72.0],
            "n": [1900],
        }
    )
    _, rows = rows_of(
        compared(
            compare(published, None, ours), "c", "this build (newsroom, synthetic)"
        )
    )
    assert rows == [
        [
            "row",
            "column",
            "published",
            "reference",
            "this build (newsroom, synthetic)",
            "N",
        ],
        ["MEIR", "text", "72.2", "–", "70.0 [68.0, 72.0]", "1,900"],
    ]
