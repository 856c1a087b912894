"""Results in one shape, intervals, paired differences, and the shared plots."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from verite.evaluation import grouped_bootstrap, paired_test, unimodal_ceiling
from veritebook import plots
from veritebook.estimates import Estimates
from veritebook.figures import Figure
from veritebook.results import tidy
from veritebook.scenes import list_posts, show_posts

DRAWS = {"seed": 1, "resamples": 100}


@pytest.fixture
def page():
    page = Estimates()
    page.settings = {**DRAWS, "folds": 3}
    return page


@pytest.fixture
def answers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "pair_id": [str(at) for at in range(40)] * 2,
            "inputs": ["text"] * 40 + ["image"] * 40,
            "group": [str(at // 2) for at in range(40)] * 2,
            "seed": 0,
        }
    )
    return frame.assign(right=rng.integers(2, size=80).astype(float))


def test_tidy_takes_what_evaluation_returns():
    interval = grouped_bootstrap([0, 1, 1], list("abc"), **DRAWS)
    pairs = pd.DataFrame({"image_id": list("aab"), "label": ["true", "x", "x"]})
    frame = tidy(
        {
            ("a", "x"): interval,
            ("b", "x"): unimodal_ceiling(pairs, "image"),
            ("c", "y"): 3,
        }
    )
    assert frame[["row", "column", "n"]].fillna(0).to_numpy().tolist() == [
        ["a", "x", 3], ["b", "x", 3], ["c", "y", 0],
    ]  # fmt: skip
    assert frame["value"].tolist() == pytest.approx([2 / 3, 2 / 3, 3])
    assert tidy({"a": 1})["row"].tolist() == ["a"]
    assert tidy(frame) is frame


def test_intervals_are_those_of_each_part(page, answers):
    frame = page.intervals(answers, row="inputs").set_index("row")
    part = answers[answers["inputs"] == "image"]
    expected = grouped_bootstrap(part["right"], part["group"], **DRAWS)
    row = frame.loc["image", ["value", "low", "high"]]
    assert row.tolist() == list(expected[:3])
    assert list(page.intervals(answers, row="inputs", column="seed")["column"]) == [
        0,
        0,
    ]


def test_missing_values_are_left_out_of_an_interval(page):
    with_gap = page.interval([1.0, np.nan, 0.0], list("abc"))
    assert with_gap == page.interval([1.0, 0.0], list("ac"))


def test_a_difference_aligns_the_rows_and_counts_groups(page, answers):
    a, b = (part for _, part in answers.groupby("inputs", sort=False))
    found = page.difference(a.sample(frac=1, random_state=0), b)
    a, b = (part.sort_values(["seed", "pair_id"]) for part in (a, b))
    test = paired_test(
        *(x["right"].to_numpy() for x in (a, b)), a["group"].to_numpy(), **DRAWS
    )
    assert (found["value"], found["low"], found["p"]) == (
        test.difference,
        test.low,
        test.p_value,
    )
    assert found["n"] == 20


def test_plots_of_chapters_become_figures():
    table = tidy(
        {
            ("a", "text"): {"value": 60, "low": 50, "high": 70},
            ("b", "image"): {"value": 40},
        }
    )
    panels = {"published": table[["row", "column", "value"]], "ours": table}
    counts = {"x": np.array([3, 1])}
    made = [
        plots.dot_plot(panels, ["a", "b"], ["text", "image", "image+text"], chance=50),
        plots.dot_plot({"": table}, ["a", "b"], {"text": "o"}, colour_rows=True),
        plots.histograms(
            {"true": [1, 2], "x": [2]}, [0, 1, 2, 3], "words", shares=True
        ),
        plots.usage_curves(counts, {"x": "text"}, ("a", "b"), log=True),
        plots.diagram(
            [(0, 0, 9, 9, "box", "text")], [(9, 5, 20, 5)], [(20, 5, "note")]
        ),
    ]
    for figure in made:
        assert Figure(figure, "alt")._repr_mimebundle_()["image/png"]


def test_posts_are_drawn_with_their_captions():
    posts = list_posts("verite", 1, seed=0)
    shown = show_posts(posts, ["True", "Elsewhere", "False"])._repr_mimebundle_()
    assert f"True. {posts[0].caption}" in shown["text/plain"]
    assert shown["text/html"].count("<img") == 3
