"""Intervals and tests that keep groups whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from verite.errors import DataError, ParameterError
from verite.evaluation import delta_percent, grouped_bootstrap, paired_test

rows = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.integers(0, 9)), min_size=2, max_size=60
)


@settings(max_examples=40)
@given(rows)
def test_an_interval_contains_its_value(table: list[tuple[bool, bool, int]]) -> None:
    correct, _, groups = zip(*table, strict=True)
    interval = grouped_bootstrap(correct, groups, seed=0, resamples=200)
    assert interval.value == pytest.approx(np.mean(correct))
    assert (interval.n, interval.groups) == (len(table), len(set(groups)))
    assert interval.groups == 1 or interval.low <= interval.value <= interval.high


@settings(max_examples=40)
@given(rows)
def test_the_order_of_rows_within_groups_changes_nothing(
    table: list[tuple[bool, bool, int]],
) -> None:
    table.sort(key=lambda row: row[2])
    correct, _, groups = zip(*table, strict=True)
    again, _, _ = zip(*sorted(table, key=lambda row: (row[2], row[0])), strict=True)
    assert grouped_bootstrap(correct, groups, seed=0, resamples=50) == pytest.approx(
        grouped_bootstrap(again, groups, seed=0, resamples=50), nan_ok=True
    )


def test_intervals_of_little_data() -> None:
    assert grouped_bootstrap([1] * 9, list("aaabbbccc"), seed=3)[:3] == (1, 1, 1)
    interval = grouped_bootstrap([1, 0, 1, 1], ["a"] * 4, seed=0)
    assert interval.value == 0.75
    assert np.isnan([interval.low, interval.high]).all()


def test_groups_of_size_one_agree_with_a_bootstrap_of_rows() -> None:
    correct = np.random.default_rng(4).random(300) < 0.55
    ours = grouped_bootstrap(correct, range(300), seed=1, resamples=5000)
    scipy = stats.bootstrap(
        (correct,),
        np.mean,
        method="percentile",
        n_resamples=5000,
        rng=np.random.default_rng(2),
    )
    assert ours[1:3] == pytest.approx(tuple(scipy.confidence_interval), abs=0.005)


def test_groups_that_rise_and_fall_together_widen_the_interval() -> None:
    # 50 groups of four equal rows carry as much as 50 rows: the interval is twice as
    # wide as that of 200 rows.
    correct = np.repeat(np.random.default_rng(0).random(50) < 0.5, 4)
    alone = grouped_bootstrap(correct, range(200), seed=0)
    together = grouped_bootstrap(correct, np.repeat(range(50), 4), seed=0)
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(
        2, rel=0.1
    )


def test_more_seeds_do_not_narrow_the_interval() -> None:
    correct = np.random.default_rng(0).random(80) < 0.6
    once = grouped_bootstrap(correct, range(80), seed=0)
    thrice = grouped_bootstrap(np.tile(correct, 3), np.tile(range(80), 3), seed=0)
    assert thrice[:3] == pytest.approx(once[:3])


def test_the_interval_covers_the_true_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(300):
        of_group = rng.beta(2, 2, size=60)
        interval = grouped_bootstrap(
            rng.random(180) < np.repeat(of_group, 3),
            np.repeat(range(60), 3),
            seed=seed,
            resamples=400,
        )
        covered += interval.low <= 0.5 <= interval.high
    assert 0.90 <= covered / 300 <= 0.98


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    correct = np.random.default_rng(0).random(100)
    first, same, other = (
        grouped_bootstrap(correct, range(100), seed=seed) for seed in (7, 7, 8)
    )
    assert first == same
    assert first != other


def test_a_statistic_of_several_columns_is_taken_of_their_means() -> None:
    correct = np.random.default_rng(0).random((200, 2)) < [0.4, 0.6]
    interval = grouped_bootstrap(
        correct,
        range(200),
        seed=0,
        statistic=lambda text, both: 100 * (both - text) / text,
    )
    assert interval.value == pytest.approx(
        delta_percent(correct[:, 0].mean(), correct[:, 1].mean())
    )
    assert interval.low < interval.value < interval.high


@settings(max_examples=40)
@given(rows)
def test_swapping_a_and_b_negates_the_difference_and_keeps_p(
    table: list[tuple[bool, bool, int]],
) -> None:
    a, b, groups = zip(*table, strict=True)
    ab, ba = (
        paired_test(a, b, groups, seed=0, flips=200),
        paired_test(b, a, groups, seed=0, flips=200),
    )
    assert ab.difference == pytest.approx(-ba.difference)
    assert (ab.low, ab.high) == pytest.approx((-ba.high, -ba.low), nan_ok=True)
    assert ab.p_value == pytest.approx(ba.p_value)


def test_with_few_groups_the_test_is_exact() -> None:
    a, b = [1] * 6 + [0] * 2, [0] * 7 + [1]
    # Seven groups differ, six one way: a share of (1 + 7) / 2⁷ is at least as lopsided
    # on each side.
    assert paired_test(a, b, range(8), seed=0).p_value == pytest.approx(2 * 8 / 2**7)
    assert (
        paired_test(a, b, range(8), seed=1)[3] == paired_test(a, b, range(8), seed=0)[3]
    )


def test_with_many_groups_of_one_row_it_agrees_with_mcnemars_exact_test() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random(400) < 0.6, rng.random(400) < 0.53
    exact = stats.binomtest(int((a & ~b).sum()), int((a != b).sum())).pvalue
    assert paired_test(a, b, range(400), seed=0).p_value == pytest.approx(
        exact, abs=0.01
    )


def test_the_smallest_p_value_follows_from_the_number_of_flips() -> None:
    test = paired_test([1] * 100, [0] * 100, range(100), seed=0, flips=999)
    assert test.p_value == pytest.approx(2 / 1000)


@pytest.mark.parametrize("same", [[1, 0, 1, 1], [0, 0, 0, 0]])
def test_equal_predictions_do_not_differ(same: list[int]) -> None:
    test = paired_test(same, same, "aabb", seed=0)
    assert (test.difference, test.low, test.high, test.p_value) == (0, 0, 0, 1)


def test_p_values_are_uniform_where_nothing_differs() -> None:
    rng = np.random.default_rng(1)
    ps = [
        paired_test(
            *(rng.random((2, 90)) < 0.5),
            np.repeat(range(30), 3),
            seed=s,
            flips=200,
            resamples=10,
        ).p_value
        for s in range(200)
    ]
    assert np.mean(np.array(ps) <= 0.1) == pytest.approx(0.1, abs=0.05)


@pytest.mark.parametrize(
    ("values", "groups"), [([1, np.nan], ["a", "b"]), ([1, 0], ["a", None])]
)
def test_a_row_without_a_value_or_a_group_is_refused(values, groups) -> None:
    with pytest.raises(DataError, match="1 row"):
        grouped_bootstrap(values, groups, seed=0)


def test_errors_of_a_user() -> None:
    with pytest.raises(DataError, match="3 of values, 2 of groups"):
        grouped_bootstrap([1, 0, 1], ["a", "b"], seed=0)
    with pytest.raises(DataError, match="0 of values"):
        grouped_bootstrap([], [], seed=0)
    a = pd.Series([1, 0], index=["p", "q"])
    with pytest.raises(DataError, match="correct_a and correct_b have different"):
        paired_test(a, a.iloc[::-1], ["g", "h"], seed=0)
    for options in ({"resamples": 0}, {"level": 95}):
        with pytest.raises(ParameterError):
            grouped_bootstrap([1, 0], ["a", "b"], seed=0, **options)  # type: ignore[arg-type]
