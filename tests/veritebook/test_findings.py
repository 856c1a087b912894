"""The first page's picture and table come from the chapters' results."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from verite.files import write_csv
from veritebook.findings import FINDINGS, write_findings
from veritebook.places import Places, find_places
from veritebook.results import RESULT_COLUMNS, read_results


@pytest.fixture
def places(tmp_path):
    """Results of one chapter on real data, of another on the newsroom, and a reference
    run of the first.
    """
    places = Places(tmp_path)
    row = {"row": "Three classes", "unit": "points", "n": 300, "protocol": "p"}
    difference = {
        **row,
        "table": "differences",
        "column": "image+text − text",
        "value": 5.0,
        "low": 4.0,
        "high": 6.0,
    }
    world = {
        "table": "presets",
        "row": "cosmos",
        "unit": "%",
        "n": 300,
        "protocol": "p",
        "source": "newsroom",
    }
    worlds = [
        {**world, "column": what, "value": value}
        for what, value in (("text", 76.7), ("image", 61.5), ("image+text", 70.0))
    ]
    for path, rows in (
        (
            places.executed / "detector-on-verite" / "results.csv",
            [{**difference, "source": "newsroom"}],
        ),
        (
            places.reference / "detector-on-verite.csv",
            [{**difference, "value": 5.7, "low": 4.0, "high": 7.3, "source": "verite"}],
        ),
        (places.executed / "bias-lab" / "results.csv", worlds),
    ):
        write_csv(path, pd.DataFrame(rows).reindex(columns=list(RESULT_COLUMNS)))
    return places


def written(places):
    write_findings(places)
    return (places.generated / "findings.md").read_text(encoding="utf8")


def test_reference_and_this_build_stand_beside_each_other_with_their_intervals(places):
    cells = re.sub(r' class="number"', "", written(places))
    assert (
        "<td>5.7 [4.0, 7.3] points</td><td>verite</td><td>5.0 [4.0, 6.0]"
        " points</td><td>newsroom</td>" in cells
    )


def test_a_chapter_that_was_not_run_leaves_a_gap(places):
    cells = re.sub(r' class="number"', "", written(places))
    assert cells.count("<td>–</td><td>–</td><td>–</td><td>–</td>") == len(FINDINGS) - 1


def test_the_picture_tells_its_figures_in_words_and_leaves_out_what_was_not_measured(
    places,
):
    text = written(places)
    assert "newsroom like COSMOS: text 26.7, image 11.5, image+text 20.0." in text
    assert "VERITE: " not in text.split("aria-label=")[1].split('"')[1]


def test_real_words_stand_in_the_picture_above_their_own_chance(places):
    row = {
        "table": "TF-IDF",
        "column": "accuracy",
        "unit": "%",
        "n": 300,
        "protocol": "p",
        "source": "vmu-twitter",
    }
    rows = [
        {**row, "row": "TF-IDF on captions", "value": 66.2},
        {**row, "row": "larger class", "value": 55.2},
    ]
    write_csv(
        places.reference / "vmu-twitter.csv",
        pd.DataFrame(rows).reindex(columns=list(RESULT_COLUMNS)),
    )
    assert "VMU-Twitter, words only: text 11.0" in written(places)


def test_a_newsroom_in_place_of_real_posts_is_left_out_of_the_picture(places):
    row = {
        "table": "TF-IDF",
        "column": "accuracy",
        "unit": "%",
        "n": 300,
        "protocol": "p",
        "source": "newsroom",
    }
    path = places.executed / "cosmos" / "results.csv"
    write_csv(
        path,
        pd.DataFrame([{**row, "row": "groups kept whole", "value": 80.0}]).reindex(
            columns=list(RESULT_COLUMNS)
        ),
    )
    assert "COSMOS, words only: " not in written(places)


def test_a_difference_can_be_turned_round(places):
    balanced = {
        "table": "differences",
        "row": "CHASMA-D",
        "column": "image+text − text, true-vs-mc",
        "unit": "points",
        "n": 300,
    }
    row = {
        **balanced,
        "value": -4.0,
        "low": -6.8,
        "high": -1.3,
        "protocol": "p",
        "source": "verite",
    }
    write_csv(
        places.reference / "modality-balancing.csv",
        pd.DataFrame([row]).reindex(columns=list(RESULT_COLUMNS)),
    )
    assert "4.0 [1.3, 6.8] points" in written(places)


def test_an_unchanged_page_is_not_written_again(places):
    written(places)
    path = places.generated / "findings.md"
    before = path.stat().st_mtime_ns
    write_findings(places)
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "one",
    [
        one
        for one in FINDINGS
        if (find_places().reference / f"{one.chapter}.csv").is_file()
    ],
)
def test_each_finding_stands_among_its_chapters_reference_results(one):
    found = read_results(find_places().reference / f"{one.chapter}.csv")
    assert (
        (found["table"] == one.table)
        & (found["row"] == one.row)
        & (found["column"] == one.column)
    ).sum() == 1
