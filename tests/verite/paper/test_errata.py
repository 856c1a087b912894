"""The printed paper against its own cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from verite.paper import errata, table, wide

LAST = "Table 6, R-NESt + CHASMA-D + NC-t2t"
MEANS = "section 5, test sets, NEI and CHASMA"
CORRECTED = "section 5, VMU-Twitter, corrected protocol"
GAIN = "VERITE, best with CHASMA-D, image+text"


@pytest.fixture(scope="module")
def findings() -> pd.DataFrame:
    return errata().set_index("where")


@pytest.mark.parametrize(
    ("where", "printed", "recomputed", "verdict"),
    [
        # Fact 1: Delta % agrees for VERITE and the test sets.
        ("Table 7, VERITE, image+text vs text: delta", 27.94, 27.94, "agrees"),
        ("Table 7, VERITE, image+text vs image: delta", 43.27, 43.27, "agrees"),
        ("Table 7, VERITE, image;text vs text: delta", 21.38, 21.38, "agrees"),
        ("Table 7, VERITE, image;text vs image: delta", 36.28, 36.28, "agrees"),
        ("Table 7, Test sets, image+text vs text: delta", 25.33, 25.33, "agrees"),
        ("Table 7, Test sets, image+text vs image: delta", 49.39, 49.39, "agrees"),
        ("Table 7, Test sets, image;text vs text: delta", 25.67, 25.67, "agrees"),
        ("Table 7, Test sets, image;text vs image: delta", 49.92, 49.92, "agrees"),
        # Fact 2: d agrees for VERITE, with sample variances.
        ("Table 7, VERITE, image+text vs text: d", -3.56, -3.56, "agrees"),
        ("Table 7, VERITE, image+text vs image: d", -10.41, -10.41, "agrees"),
        ("Table 7, VERITE, image;text vs text: d", -2.19, -2.19, "agrees"),
        ("Table 7, VERITE, image;text vs image: d", -4.68, -4.68, "agrees"),
        # Fact 3: the d columns of the test sets are swapped.
        ("Table 7, Test sets, image+text vs text: d", -2.33, -1.02, "differs"),
        ("Table 7, Test sets, image+text vs image: d", -1.02, -2.33, "differs"),
        ("Table 7, Test sets, image;text vs text: d", -2.36, -1.05, "differs"),
        ("Table 7, Test sets, image;text vs image: d", -1.05, -2.36, "differs"),
        # Fact 5: two percentages of Table 6 do not follow from their accuracies.
        (f"{LAST}, true-vs-ooc: image+text delta", 42.8, 43.7, "differs"),
        (f"{LAST}, true-vs-mc: image+text delta", 1.3, 4.8, "differs"),
        # Fact 6: the prose on VMU-Twitter contradicts Table 7.
        ("section 5, VMU-Twitter, image;text vs image: delta", -3.92, -3.82, "differs"),
        ("Table 7, VMU-Twitter, image;text vs image: delta", -3.82, -3.82, "agrees"),
        (f"{CORRECTED}, image;text vs image: delta", -4.56, -4.57, "needs rounding"),
        (f"{CORRECTED}, image+text vs image: delta", -5.35, -5.36, "needs rounding"),
        # Fact 7: the mean over NEI datasets and CHASMA includes Fakeddit.
        (f"{MEANS}, text", 81.4, 79.5, "differs"),
        (f"{MEANS}, image;text", 86.6, 84.9, "differs"),
        (f"{MEANS}, image+text", 85.9, 84.2, "differs"),
        # Fact 8: the gain of 9 percent is relative.
        (f"section 5, {GAIN} over CLIP-NESt: delta", 9.22, 9.22, "agrees"),
        (f"section 5, {GAIN}", 52.1, 52.1, "agrees"),
    ],
)
def test_finding(findings, where, printed, recomputed, verdict) -> None:
    row = findings.loc[where]
    decimals = max(len(str(recomputed).partition(".")[2]), 1)
    found = row["printed"], round(row["recomputed"], decimals), row["verdict"]
    assert found == (printed, recomputed, verdict)
    assert row["low"] <= row["high"]


@pytest.mark.parametrize(
    ("where", "end"),
    [
        ("Table 7, VERITE, image+text vs text: d", "variances, gives -3.80."),
        ("Table 7, VERITE, image;text vs image: d", "variances, gives -5.00."),
        (f"{MEANS}, text", "the mean is 81.37."),
        (f"{MEANS}, image+text", "the mean is 85.92."),
        (
            f"abstract and introduction, {GAIN} over CLIP-NESt, rounded: delta",
            "52.1 over 47.7 is a gain of 4.4 points.",
        ),
        ("Table 7, COSMOS, image+text vs text: delta", "88% of the way"),
        ("Table 7, COSMOS, image+text vs image: delta", "87% of the way"),
    ],
)
def test_explanation(findings, where, end) -> None:
    assert end in findings.loc[where, "explanation"]


@pytest.mark.parametrize(
    ("column", "printed", "recomputed", "low", "high"),
    [
        ("image+text vs text: delta", -3.47, -3.63, -3.805, -3.453),
        ("image+text vs text: d", 0.41, 0.42, 0.402, 0.432),
        ("image+text vs image: delta", 4.09, 3.91, 3.718, 4.111),
        ("image+text vs image: d", -0.28, -0.26, -0.282, -0.247),
    ],
)
def test_fact_4_cosmos_is_reachable_through_rounding_alone(
    findings, column, printed, recomputed, low, high
) -> None:
    row = findings.loc[f"Table 7, COSMOS, {column}"]
    assert row["verdict"] == "needs rounding"
    assert (row["printed"], round(row["recomputed"], 2)) == (printed, recomputed)
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=5e-4)


def test_fact_9_table_5_weighs_its_classes(findings) -> None:
    fact = "accuracies of Table 5 follow from their classes"
    rows = findings[findings["fact"] == fact]
    assert (len(rows), set(rows["verdict"])) == (8, {"agrees"})
    largest = (rows["printed"] - rows["recomputed"]).abs().max()
    assert largest == pytest.approx(0.031, abs=5e-4)
    # It cannot tell 324 from 325 out-of-context pairs.
    cells = wide(5)
    labels = ["true", "miscaptioned", "out-of-context"]
    classes = cells[[f"image+text: {label}" for label in labels]]
    means = np.average(classes, axis=1, weights=[338, 338, 325])
    assert np.abs(means - cells["image+text"]).max() < 0.05


def test_every_derived_figure_of_tables_6_and_7_is_checked(findings) -> None:
    six = table(6).query("column.str.endswith('delta')")
    seven = table(7).dropna(subset="value")
    for number, cells in ((6, six), (7, seven)):
        wheres = f"Table {number}, " + cells["row"] + ", " + cells["column"]
        assert set(wheres) <= set(findings.index)
    agree = findings["verdict"] == "agrees"
    assert (findings.index.str.startswith("Table 6") & agree).sum() == 18
