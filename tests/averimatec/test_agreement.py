from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averimatec import fleiss_kappa, qa_agreement, randolph_kappa, rating_counts
from verite.errors import DataError, ParameterError

# Ten subjects, fourteen raters, five categories: the worked example of Wikipedia's
# "Fleiss' kappa", which gives 0.210.
WORKED = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)

# Diagnoses of 30 patients by six psychiatrists, a digit a rater: Fleiss (1971), as the
# R package irr prints them with
# kappa = 0.4302445 (kappam.fleiss).
DIAGNOSES = (
    "444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444"
    " 124444 222333 144444 224445 333335 111455 111112 224444 133555 555555 244444"
    " 224555 114444 144445 222224 111155 224444 133333 555555"
)


def test_fleiss_kappa_of_the_worked_example() -> None:
    assert fleiss_kappa(WORKED).value == pytest.approx(0.210, abs=0.0005)


def test_fleiss_kappa_of_fleiss_own_diagnoses() -> None:
    ratings = pd.DataFrame([list(patient) for patient in DIAGNOSES.split()])
    assert fleiss_kappa(rating_counts(ratings, "12345")).value == pytest.approx(
        0.4302445, abs=1e-7
    )


# The two kappas that Randolph's online calculator (justusrandolph.net/kappa) gives, as
# statsmodels' tests cite them.
@pytest.mark.parametrize(
    ("table", "fixed", "free"),
    [
        ([[7, 1], [3, 5]], 0.161905, 0.214286),
        ([[7, 0], [0, 7]], 1, 1),
        ([[6, 1, 0], [0, 7, 0]], 0.708333, 0.785714),
    ],
)
def test_both_kappas_are_those_of_randolphs_calculator(
    table: list[list[int]], fixed: float, free: float
) -> None:
    assert fleiss_kappa(np.array(table)).value == pytest.approx(fixed, abs=1e-6)
    assert randolph_kappa(np.array(table)).value == pytest.approx(free, abs=1e-6)


def test_both_kappas_are_those_of_statsmodels() -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    assert fleiss_kappa(WORKED).value == pytest.approx(inter_rater.fleiss_kappa(WORKED))
    assert randolph_kappa(WORKED).value == pytest.approx(
        inter_rater.fleiss_kappa(WORKED, method="randolph")
    )


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.sampled_from([(4, 0, 0), (2, 1, 1), (1, 3, 0), (0, 0, 4), (2, 2, 0)]),
        min_size=2,
        max_size=8,
    )
)
def test_the_free_kappa_is_never_below_the_fixed_one_of_equally_many_raters(
    rows: list[tuple[int, ...]],
) -> None:
    counts = np.array([(4, 0, 0), (0, 4, 0), *rows])  # Warrens (2010)
    assert (
        randolph_kappa(counts, resamples=10).value
        >= fleiss_kappa(counts, resamples=10).value - 1e-12
    )


def test_raters_may_differ_in_number_and_subjects_with_one_rating_are_left_out() -> (
    None
):
    found = randolph_kappa(np.array([[2, 0], [1, 2], [1, 0]]))
    assert found.n == 2
    assert found.value == pytest.approx(((1 + 1 / 3) / 2 - 0.5) / 0.5)


def test_categories_that_nobody_chose_count_for_the_free_kappa_alone() -> None:
    padded = np.hstack([WORKED, np.zeros((10, 3), dtype=int)])
    assert fleiss_kappa(padded).value == pytest.approx(fleiss_kappa(WORKED).value)
    assert randolph_kappa(padded).value > randolph_kappa(WORKED).value


def test_the_interval_holds_the_kappa_and_follows_the_seed() -> None:
    first, again, other = (fleiss_kappa(WORKED, seed=seed) for seed in (0, 0, 1))
    assert first.low < first.value < first.high
    assert first == again != other


def test_raters_who_all_say_one_thing_have_no_fleiss_kappa() -> None:
    found = fleiss_kappa(np.array([[3, 0], [3, 0]]))
    assert np.isnan(found.value)
    assert randolph_kappa(np.array([[3, 0], [3, 0]])).value == 1


def test_missing_ratings_are_not_counted_and_unknown_ones_are_an_error() -> None:
    ratings = pd.DataFrame(
        {"one": ["Refuted", None], "two": ["Refuted", "Supported"]}, index=["a", "b"]
    )
    assert rating_counts(ratings).sum(axis=1).to_dict() == {"a": 2, "b": 1}
    with pytest.raises(DataError, match="found False"):
        rating_counts(ratings.replace("Refuted", "False"))


@pytest.mark.parametrize(
    "table", [np.array([[1, -1]]), np.array([[1.5, 2]]), np.array([1, 2])]
)
def test_tables_that_are_no_counts_are_an_error(table: np.ndarray) -> None:
    with pytest.raises(DataError, match="whole numbers of 0 or more"):
        fleiss_kappa(table)


def test_one_category_is_no_choice() -> None:
    with pytest.raises(ParameterError, match="two categories or more"):
        randolph_kappa(np.array([[2], [3]]))


def test_subjects_without_two_ratings_are_an_error() -> None:
    with pytest.raises(DataError, match="two ratings or more"):
        fleiss_kappa(np.array([[1, 0]]))


def test_recall_and_precision_of_twice_annotated_pairs_are_averaged_in_both_ways() -> (
    None
):
    counts = pd.DataFrame(
        {
            "original": [4, 1, 0],
            "original_covered": [2, 1, 0],
            "again": [2, 2, 1],
            "again_covered": [1, 2, 0],
        }
    )
    found = qa_agreement(counts).set_index(["measure", "average"])
    assert found["value"].to_dict() == {
        ("recall", "mean"): 0.75,
        ("recall", "pooled"): 0.6,
        ("precision", "mean"): 0.5,
        ("precision", "pooled"): 0.6,
    }
    assert found["n"].to_dict()["recall", "mean"] == 2


def test_more_covered_than_there_are_is_an_error() -> None:
    with pytest.raises(
        DataError,
        match="original_covered must be from 0 to original; it is not in row 1",
    ):
        qa_agreement(
            pd.DataFrame(
                {
                    "original": [2, 2],
                    "original_covered": [2, 3],
                    "again": [1, 1],
                    "again_covered": [1, 1],
                }
            )
        )
