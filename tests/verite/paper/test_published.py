"""The published tables, and their comparison with ours."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from verite.errors import DataError, ParameterError
from verite.paper import compare, table, wide

SHAPES = {1: (14, 3), 2: (9, 2), 3: (9, 4), 4: (9, 4), 5: (8, 7), 6: (5, 10), 7: (4, 8)}
FIRST_ROW = {
    1: "VisualNews",
    3: "RSt",
    4: "RSt",
    5: "CLIP-NESt",
    6: "Fakeddit",
    7: "Test sets",
}


@pytest.mark.parametrize("number", SHAPES)
def test_every_table_has_its_printed_shape(number: int) -> None:
    assert wide(number).shape == SHAPES[number]


@pytest.mark.parametrize("name", [*SHAPES, "prose"])
def test_a_cell_stands_once_and_is_empty_only_with_a_reason(name: int | str) -> None:
    cells = table(name)
    assert list(cells.columns) == [
        "table",
        "row",
        "column",
        "value",
        "unit",
        "note",
        "decimals",
    ]
    assert not cells.duplicated(["row", "column"]).any()
    assert set(cells["unit"]) <= {"%", "pairs", "d"}
    assert (cells.loc[cells["value"].isna(), "note"] != "").all()
    accuracies = cells[(cells["unit"] == "%") & ~cells["column"].str.endswith("delta")][
        "value"
    ].dropna()
    assert accuracies.between(0, 100).all()


@pytest.mark.parametrize("number", FIRST_ROW)
def test_every_cell_equals_the_papers_text(real_data: Path, number: int) -> None:
    texts = sorted((real_data.parent / "papers").glob("000_*.txt"))
    if not texts:
        pytest.skip("needs the paper's text beside the data")
    lines = [line.strip() for line in texts[0].read_text(encoding="utf8").splitlines()]
    lines = lines[lines.index(f"Table {number}") :]
    lines = lines[lines.index(FIRST_ROW[number]) :]

    found: list[str] = []
    for line in lines:
        cell = line.replace(r"\(-\)", "-").replace(",", "").replace("*", "")
        found.extend(
            re.findall(r"\S+", cell.replace("(", "").replace(")", ""))
            if re.match(r"-?\d", cell)
            else [cell.replace(" ", "")]
        )
    found = [cell for cell in found if cell != "TestingDataset"]

    cells = table(number)
    expected: list[str] = []
    for row in cells["row"].unique():
        expected.append(re.sub(r" \((training|testing)\)$", "", row).replace(" ", ""))
        printed = cells[cells["row"] == row]
        expected.extend(
            "–" if np.isnan(value) else f"{value:.{decimals}f}"
            for value, decimals in zip(
                printed["value"], printed["decimals"], strict=True
            )
        )
    assert found[: len(expected)] == expected


@pytest.mark.parametrize("name", [2, "prose"])
def test_every_number_taken_from_prose_stands_there(
    real_data: Path, name: int | str
) -> None:
    texts = sorted((real_data.parent / "papers").glob("000_*.txt"))
    if not texts:
        pytest.skip("needs the paper's text beside the data")
    printed = texts[0].read_text(encoding="utf8").replace(r"\(-\)", "-")
    cells = table(name).dropna(subset="value")
    cells = cells[~cells["note"].str.contains("implied")]
    for value, decimals, unit in cells[["value", "decimals", "unit"]].itertuples(
        index=False
    ):
        forms = (
            [rf"{value:.{decimals}f}\\?%"]
            if unit == "%"
            else [f"{value:,.0f}", rf"{value / 1000:.0f}[Kk]"]
        )
        assert any(re.search(rf"(?<![\d.,-]){form}", printed) for form in forms), value


def test_table_2_cells_follow_from_table_7() -> None:
    accuracies = wide(2)["accuracy"]
    deltas = wide(7).loc["VMU-Twitter"]
    image = accuracies["image"]
    both = image * (1 + deltas["image+text vs image: delta"] / 100)
    text = both / (1 + deltas["image+text vs text: delta"] / 100)
    assert round(both, 1) == accuracies["image+text"] == 79.7
    assert round(text, 1) == accuracies["text"] == 74.7
    # Another way to the same cell, over D-(I;C).
    assert accuracies["image;text"] / (
        1 + deltas["image;text vs text: delta"] / 100
    ) == pytest.approx(text, abs=0.05)


def test_cells_that_the_text_lost_stay_empty() -> None:
    assert wide(2)["accuracy"][["EANN", "MVAE", "SpotFake"]].isna().all()


def test_the_classes_of_verite_add_up_to_1000() -> None:
    assert wide(1).loc["VERITE"].tolist() == [338, 324, 338]


def test_printed_decimals_are_kept() -> None:
    cells = table(6).set_index(["row", "column"])
    assert cells.loc[("R-NESt", "true-vs-mc: image;text delta"), "decimals"] == 2
    assert cells.loc[("R-NESt", "true-vs-mc: image+text delta"), "decimals"] == 1


def test_changing_a_table_does_not_change_the_published_one() -> None:
    mine = table(3)
    mine["value"] = 0.0
    assert table(3)["value"].max() == 72.6


@pytest.mark.parametrize("name", [0, 8, "table3"])
def test_a_table_that_does_not_exist_is_refused(name: int | str) -> None:
    with pytest.raises(ParameterError, match="1, 2, 3, 4, 5, 6, 7, prose"):
        table(name)


def tidy(**values: float) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"row": "VERITE", "column": column, "value": value}
            for column, value in values.items()
        ]
    )


def test_three_columns_stand_beside_each_other_with_their_differences() -> None:
    beside = compare(
        tidy(text=43.7),
        tidy(text=47.7).assign(low=45.0, high=50.0, n=1001),
        tidy(text=47.2).assign(low=44.0, high=49.0, n=600),
    )
    row = beside.iloc[0]
    assert row["reference − published"] == pytest.approx(4.0)
    assert row["this build − reference"] == pytest.approx(-0.5)
    assert row[
        ["reference low", "reference high", "reference n", "this build n"]
    ].tolist() == [45.0, 50.0, 1001, 600]


def test_every_number_of_any_side_has_a_row_in_printed_order() -> None:
    beside = compare(
        tidy(text=1.0, image=2.0), tidy(image=3.0, extra=4.0), tidy(other=5.0, text=6.0)
    )
    assert beside["column"].tolist() == ["text", "image", "extra", "other"]
    assert beside["this build"].tolist() == pytest.approx(
        [6.0, np.nan, np.nan, 5.0], nan_ok=True
    )


def test_a_side_that_is_not_there_is_an_empty_column() -> None:
    beside = compare(tidy(text=1.0), None, tidy(text=2.0))
    assert beside["reference"].isna().all()
    assert list(beside) == [
        "row",
        "column",
        "published",
        "reference",
        "this build",
        "reference − published",
        "this build − reference",
    ]


def test_other_keys_can_name_a_number() -> None:
    ours = pd.DataFrame(
        {"metric": ["accuracy"], "protocol": ["three-class"], "value": [0.5]}
    )
    assert compare(None, None, ours, on=("protocol", "metric"))[
        "this build"
    ].tolist() == [0.5]


def test_a_number_that_is_there_twice_is_refused() -> None:
    with pytest.raises(DataError, match=r"reference: .* VERITE / text"):
        compare(tidy(text=1.0), pd.concat([tidy(text=1.0), tidy(text=2.0)]), None)


def test_a_table_without_values_is_refused() -> None:
    with pytest.raises(DataError, match="this build: missing column value"):
        compare(tidy(text=1.0), None, tidy(text=1.0).drop(columns="value"))


def test_nothing_at_all_is_refused() -> None:
    with pytest.raises(DataError, match="nothing to compare"):
        compare(None, None, None)
