"""Delta % and Cohen's d, in both conventions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.errors import DataError, ParameterError
from verite.evaluation import cohens_d, delta_percent
from verite.paper import wide

accuracies = st.lists(st.floats(20, 99), min_size=2, max_size=9)


@pytest.mark.parametrize(
    ("number", "multimodal", "unimodal", "printed"),
    [
        (5, "image+text", "text", 27.94),
        (5, "image+text", "image", 43.27),
        (5, "image;text", "text", 21.38),
        (5, "image;text", "image", 36.28),
        (4, "image+text", "text", 25.33),
        (4, "image+text", "image", 49.39),
        (4, "image;text", "text", 25.67),
        (4, "image;text", "image", 49.92),
    ],
)
def test_fact_1_the_papers_delta_gives_the_rows_verite_and_test_sets_of_table_7(
    number: int, multimodal: str, unimodal: str, printed: float
) -> None:
    cells = wide(number)
    assert round(delta_percent(cells[unimodal], cells[multimodal]), 2) == printed


def test_fact_1_the_cards_delta_is_not_the_negative_of_the_papers() -> None:
    cells = wide(5)
    by_hand = np.mean(
        [
            (u - m) / m * 100
            for u, m in zip(cells["text"], cells["image+text"], strict=True)
        ]
    )
    card = delta_percent(cells["text"], cells["image+text"], convention="card")
    assert card == pytest.approx(by_hand)
    assert card == pytest.approx(-21.44, abs=0.005)
    assert card != pytest.approx(
        -delta_percent(cells["text"], cells["image+text"]), abs=5
    )


@pytest.mark.parametrize(
    ("multimodal", "unimodal", "paper", "card"),
    [
        ("image+text", "text", -3.56, -3.80),
        ("image+text", "image", -10.41, -11.13),
        ("image;text", "text", -2.19, -2.34),
        ("image;text", "image", -4.68, -5.00),
    ],
)
def test_fact_2_table_7_takes_sample_variances_and_the_card_population_variances(
    multimodal: str, unimodal: str, paper: float, card: float
) -> None:
    cells = wide(5)
    uni, multi = cells[unimodal].to_numpy(), cells[multimodal].to_numpy()
    assert round(cohens_d(uni, multi), 2) == paper
    assert round(cohens_d(uni, multi, ddof=0), 2) == card
    # The card's definition once more, from sums: population variances, each weighted by
    # its n - 1.
    spread = [((side - side.mean()) ** 2).sum() / len(side) for side in (uni, multi)]
    weights = [len(uni) - 1, len(multi) - 1]
    assert cohens_d(uni, multi, ddof=0) == pytest.approx(
        (uni.mean() - multi.mean()) / np.average(spread, weights=weights) ** 0.5
    )


@given(
    st.integers(2, 9).flatmap(
        lambda n: st.tuples(*[st.lists(st.floats(20, 99), min_size=n, max_size=n)] * 2)
    )
)
def test_the_signs_of_the_two_conventions_are_opposite_where_every_dataset_agrees(
    sides: tuple[list[float], list[float]],
) -> None:
    uni, gain = np.array(sides[0]), np.array(sides[1])
    assert (
        delta_percent(uni, uni + gain)
        > 0
        > delta_percent(uni, uni + gain, convention="card")
    )


@given(accuracies, accuracies)
def test_exchanging_the_sides_negates_d(uni: list[float], multi: list[float]) -> None:
    if max(np.ptp(uni), np.ptp(multi)) < 1e-3:
        return
    assert cohens_d(uni, multi) == pytest.approx(-cohens_d(multi, uni))


@given(accuracies, accuracies, st.floats(0.01, 100))
def test_the_unit_of_the_accuracies_does_not_matter(
    uni: list[float], multi: list[float], unit: float
) -> None:
    if max(np.ptp(uni), np.ptp(multi)) < 1e-3:
        return
    assert cohens_d(np.multiply(uni, unit), np.multiply(multi, unit)) == pytest.approx(
        cohens_d(uni, multi)
    )


def test_delta_is_the_mean_of_the_ratios_not_the_ratio_of_the_means() -> None:
    assert delta_percent([50, 100], [100, 100]) == 50
    assert delta_percent(150, 200) == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("uni", "multi"), [([50, 60], [70]), ([0, 60], [70, 80]), ([50, np.nan], [70, 80])]
)
def test_delta_refuses_what_has_no_ratio(uni: list[float], multi: list[float]) -> None:
    with pytest.raises(DataError):
        delta_percent(uni, multi)


def test_delta_refuses_sides_whose_training_datasets_are_ordered_differently() -> None:
    uni = pd.Series([50.0, 60.0], index=["MEIR", "CSt"])
    with pytest.raises(DataError, match="different indexes"):
        delta_percent(uni, uni.sort_index())


def test_another_convention_is_refused() -> None:
    with pytest.raises(ParameterError, match="'paper'"):
        delta_percent(50, 60, convention="mine")  # type: ignore[arg-type]


def test_d_of_one_training_dataset_is_refused() -> None:
    with pytest.raises(DataError, match="at least 2"):
        cohens_d([83.7], [80.5, 79.7])


@pytest.mark.parametrize("value", [50.0, 0.1])
def test_d_without_any_spread_is_refused(value: float) -> None:
    with pytest.raises(DataError, match="undefined"):
        cohens_d([value] * 3, [value * 1.1] * 3)
