"""The printed paper against its own cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from verite.paper import errata, table, wide


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return errata().set_index("where")


def check(
    found: pd.DataFrame, where: str, printed: float, recomputed: float, verdict: str
) -> pd.Series:
    row = found.loc[where]
    decimals = max(len(str(recomputed).partition(".")[2]), 1)
    assert (row["printed"], round(row["recomputed"], decimals), row["verdict"]) == (
        printed,
        recomputed,
        verdict,
    )
    assert row["low"] <= row["high"]
    return row


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        ("VERITE", "image+text vs text", 27.94),
        ("VERITE", "image+text vs image", 43.27),
        ("VERITE", "image;text vs text", 21.38),
        ("VERITE", "image;text vs image", 36.28),
        ("Test sets", "image+text vs text", 25.33),
        ("Test sets", "image+text vs image", 49.39),
        ("Test sets", "image;text vs text", 25.67),
        ("Test sets", "image;text vs image", 49.92),
    ],
)
def test_fact_1_delta_agrees_for_verite_and_the_test_sets(
    found: pd.DataFrame, row: str, column: str, value: float
) -> None:
    check(found, f"Table 7, {row}, {column}: delta", value, value, "agrees")


@pytest.mark.parametrize(
    ("column", "value", "card"),
    [
        ("image+text vs text", -3.56, "-3.80"),
        ("image+text vs image", -10.41, "-11.13"),
        ("image;text vs text", -2.19, "-2.34"),
        ("image;text vs image", -4.68, "-5.00"),
    ],
)
def test_fact_2_d_agrees_for_verite_with_sample_variances(
    found: pd.DataFrame, column: str, value: float, card: str
) -> None:
    row = check(found, f"Table 7, VERITE, {column}: d", value, value, "agrees")
    assert row["explanation"].endswith(f"population variances, gives {card}.")


@pytest.mark.parametrize(
    ("column", "printed", "recomputed"),
    [
        ("image+text vs text", -2.33, -1.02),
        ("image+text vs image", -1.02, -2.33),
        ("image;text vs text", -2.36, -1.05),
        ("image;text vs image", -1.05, -2.36),
    ],
)
def test_fact_3_the_d_columns_of_the_test_sets_are_swapped(
    found: pd.DataFrame, column: str, printed: float, recomputed: float
) -> None:
    check(found, f"Table 7, Test sets, {column}: d", printed, recomputed, "differs")


@pytest.mark.parametrize(
    ("column", "printed", "recomputed", "low", "high"),
    [
        ("image+text vs text: delta", -3.47, -3.63, -3.805, -3.453),
        ("image+text vs text: d", 0.41, 0.42, 0.402, 0.432),
        ("image+text vs image: delta", 4.09, 3.91, 3.718, 4.111),
        ("image+text vs image: d", -0.28, -0.26, -0.282, -0.247),
    ],
)
def test_fact_4_the_cosmos_row_is_reachable_through_rounding_alone(
    found: pd.DataFrame,
    column: str,
    printed: float,
    recomputed: float,
    low: float,
    high: float,
) -> None:
    row = check(
        found, f"Table 7, COSMOS, {column}", printed, recomputed, "needs rounding"
    )
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=5e-4)


def test_fact_4_the_deltas_of_cosmos_need_nearly_all_that_rounding_allows(
    found: pd.DataFrame,
) -> None:
    assert (
        "88% of the way"
        in found.loc["Table 7, COSMOS, image+text vs text: delta", "explanation"]
    )
    assert (
        "87% of the way"
        in found.loc["Table 7, COSMOS, image+text vs image: delta", "explanation"]
    )


def test_fact_5_two_percentages_of_table_6_do_not_follow_from_their_accuracies(
    found: pd.DataFrame,
) -> None:
    last = "Table 6, R-NESt + CHASMA-D + NC-t2t"
    check(found, f"{last}, true-vs-ooc: image+text delta", 42.8, 43.7, "differs")
    check(found, f"{last}, true-vs-mc: image+text delta", 1.3, 4.8, "differs")
    others = found[
        found.index.str.startswith("Table 6") & (found["verdict"] == "agrees")
    ]
    assert len(others) == 18


def test_fact_6_the_prose_on_vmu_twitter_contradicts_table_7(
    found: pd.DataFrame,
) -> None:
    check(
        found,
        "section 5, VMU-Twitter, image;text vs image: delta",
        -3.92,
        -3.82,
        "differs",
    )
    check(
        found,
        "Table 7, VMU-Twitter, image;text vs image: delta",
        -3.82,
        -3.82,
        "agrees",
    )


@pytest.mark.parametrize(
    ("inputs", "printed", "named", "with_fakeddit"),
    [
        ("text", 81.4, 79.5, "81.37"),
        ("image;text", 86.6, 84.9, "86.62"),
        ("image+text", 85.9, 84.2, "85.92"),
    ],
)
def test_fact_7_the_mean_over_nei_datasets_and_chasma_includes_fakeddit(
    found: pd.DataFrame, inputs: str, printed: float, named: float, with_fakeddit: str
) -> None:
    row = check(
        found,
        f"section 5, test sets, NEI and CHASMA, {inputs}",
        printed,
        named,
        "differs",
    )
    assert row["explanation"].endswith(f"the mean is {with_fakeddit}.")
    assert round(float(with_fakeddit), 1) == printed


def test_fact_8_the_gain_of_9_percent_is_relative(found: pd.DataFrame) -> None:
    where = "VERITE, best with CHASMA-D, image+text over CLIP-NESt"
    check(found, f"section 5, {where}: delta", 9.22, 9.22, "agrees")
    row = check(
        found, f"abstract and introduction, {where}, rounded: delta", 9.2, 9.2, "agrees"
    )
    assert row["explanation"].endswith("52.1 over 47.7 is a gain of 4.4 points.")


def test_fact_8_the_old_name_stands_for_chasma_d(found: pd.DataFrame) -> None:
    check(
        found, "section 5, VERITE, best with CHASMA-D, image+text", 52.1, 52.1, "agrees"
    )
    rows = wide(5)["image+text"]
    assert rows.index[rows == 52.1].tolist() == ["CLIP-NESt + CHASMA-D"]


def test_fact_9_accuracies_of_table_5_are_their_classes_weighted_338_324_338(
    found: pd.DataFrame,
) -> None:
    rows = found[found["fact"] == "accuracies of Table 5 follow from their classes"]
    assert len(rows) == 8
    assert (rows["verdict"] == "agrees").all()
    assert (rows["printed"] - rows["recomputed"]).abs().max() == pytest.approx(
        0.031, abs=5e-4
    )


def test_fact_9_cannot_tell_324_from_325_out_of_context_pairs() -> None:
    cells = wide(5)
    labels = ["true", "miscaptioned", "out-of-context"]
    classes = cells[[f"image+text: {label}" for label in labels]].to_numpy()
    assert (
        np.abs(
            np.average(classes, axis=1, weights=[338, 338, 325]) - cells["image+text"]
        ).max()
        < 0.05
    )


def test_the_corrected_protocols_percentages_were_cut_not_rounded(
    found: pd.DataFrame,
) -> None:
    where = "section 5, VMU-Twitter, corrected protocol"
    check(found, f"{where}, image;text vs image: delta", -4.56, -4.57, "needs rounding")
    check(found, f"{where}, image+text vs image: delta", -5.35, -5.36, "needs rounding")


def test_every_figure_derived_in_tables_6_and_7_is_checked(found: pd.DataFrame) -> None:
    cells = pd.concat(
        [
            table(6).query("column.str.endswith('delta')"),
            table(7).dropna(subset="value"),
        ]
    )
    wheres = (
        "Table "
        + cells["table"].astype(str)
        + ", "
        + cells["row"]
        + ", "
        + cells["column"]
    )
    assert set(wheres) <= set(found.index)


def test_an_explanation_names_both_numbers(found: pd.DataFrame) -> None:
    for row in found.itertuples():
        assert f"printed {row.printed:.1f}"[:-1] in row.explanation
        assert row.explanation.startswith("Recomputed ")
