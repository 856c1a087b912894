"""Delta % and Cohen's d, in both conventions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
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
def test_delta_gives_table_7(number, multimodal, unimodal, printed) -> None:
    cells = wide(number)
    assert round(delta_percent(cells[unimodal], cells[multimodal]), 2) == printed


def test_the_cards_delta_is_not_the_papers_negated() -> None:
    uni, multi = wide(5)["text"], wide(5)["image+text"]
    card = delta_percent(uni, multi, convention="card")
    assert card == pytest.approx(np.mean((uni - multi) / multi * 100))
    assert card == pytest.approx(-21.44, abs=0.005)
    assert card != pytest.approx(-delta_percent(uni, multi), abs=5)


@pytest.mark.parametrize(
    ("multimodal", "unimodal", "paper", "card"),
    [
        ("image+text", "text", -3.56, -3.80),
        ("image+text", "image", -10.41, -11.13),
        ("image;text", "text", -2.19, -2.34),
        ("image;text", "image", -4.68, -5.00),
    ],
)
def test_d_takes_sample_variances_and_the_card_population_variances(
    multimodal, unimodal, paper, card
) -> None:
    uni, multi = wide(5)[unimodal], wide(5)[multimodal]
    assert round(cohens_d(uni, multi), 2) == paper
    assert round(cohens_d(uni, multi, ddof=0), 2) == card
    # The card's definition, from sums: population variances weighted by n - 1.
    spread = [((side - side.mean()) ** 2).sum() / len(side) for side in (uni, multi)]
    pooled = np.average(spread, weights=[len(uni) - 1, len(multi) - 1]) ** 0.5
    expected = (uni.mean() - multi.mean()) / pooled
    assert cohens_d(uni, multi, ddof=0) == pytest.approx(expected)


@given(st.lists(st.tuples(st.floats(20, 99), st.floats(20, 99)), min_size=2))
def test_the_two_conventions_have_opposite_signs(rows) -> None:
    uni, gain = np.array(rows).T
    card = delta_percent(uni, uni + gain, convention="card")
    assert delta_percent(uni, uni + gain) > 0 > card


@given(accuracies, accuracies, st.floats(0.01, 100))
def test_d_is_antisymmetric_and_has_no_unit(uni, multi, unit) -> None:
    assume(max(np.ptp(uni), np.ptp(multi)) >= 1e-3)
    d = cohens_d(uni, multi)
    assert d == pytest.approx(-cohens_d(multi, uni))
    assert d == pytest.approx(
        cohens_d(np.multiply(uni, unit), np.multiply(multi, unit))
    )


def test_delta_is_the_mean_of_the_ratios() -> None:
    assert delta_percent([50, 100], [100, 100]) == 50
    assert delta_percent(150, 200) == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("uni", "multi"), [([50, 60], [70]), ([0, 60], [70, 80]), ([50, np.nan], [70, 80])]
)
def test_delta_refuses_what_has_no_ratio(uni, multi) -> None:
    with pytest.raises(DataError):
        delta_percent(uni, multi)


def test_errors_of_a_user() -> None:
    uni = pd.Series([50.0, 60.0], index=["MEIR", "CSt"])
    with pytest.raises(DataError, match="different indexes"):
        delta_percent(uni, uni.sort_index())
    with pytest.raises(ParameterError, match="'paper'"):
        delta_percent(50, 60, convention="mine")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="at least 2"):
        cohens_d([83.7], [80.5, 79.7])


@pytest.mark.parametrize("value", [50.0, 0.1])
def test_d_without_any_spread_is_refused(value) -> None:
    with pytest.raises(DataError, match="undefined"):
        cohens_d([value] * 3, [value * 1.1] * 3)
