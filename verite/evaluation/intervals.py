"""How sure a figure is: intervals and tests that keep groups whole.

Rows of one group (an article, an event, an image; one pair under several seeds) rise
and fall together. Taking them for independent makes intervals too narrow, so whole
groups are drawn here, never rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from verite.errors import DataError, ParameterError
from verite.evaluation._checks import Column, check_aligned

__all__ = ["Interval", "PairedTest", "grouped_bootstrap", "paired_test"]

_CELLS = 2**22  # numbers drawn together: 32 MB


class Interval(NamedTuple):
    """A figure with its interval."""

    value: float
    low: float
    high: float
    n: int
    """Rows."""
    groups: int
    """Groups: what was resampled."""


class PairedTest(NamedTuple):
    """Difference of two means on the same rows."""

    difference: float
    """Mean of a minus mean of b."""
    low: float
    high: float
    p_value: float
    n: int
    """Rows."""


def grouped_bootstrap(
    values: Column | pd.DataFrame,
    groups: Column,
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
    statistic: Callable[..., Any] | None = None,
) -> Interval:
    """Percentile bootstrap interval of a mean, drawing whole groups with replacement.

    Only the sum and the number of rows of each group enter, so the work does not grow
    with the rows. Where rows repeat under several seeds, give each repetition the group
    of its pair.

    It assumes that groups are independent draws from one population, and takes the
    fitted model as given: the spread of training is not in it. Several seeds in the
    table average the noise of training out, they do not put its spread into the
    interval. With fewer than about 20 groups it is too narrow. One group alone, or a
    table without errors, has no spread to show: the interval of one group is NaN, that
    of all-correct rows is [1, 1], which is no proof of perfection.

    Parameters
    ----------
    values
        Shape (n,): whether each row is correct, or any number a row. Or (n, k) together
        with ``statistic``.
    groups
        Shape (n,): what each row belongs to.
    seed
        Of the draws: the same seed gives the same interval.
    resamples
        How many times to draw.
    level
        Share of the resampled figures that the interval spans.
    statistic
        A function of k arrays, the means of the k columns in each resample; it returns
        one figure a resample. For example ``lambda text, both: 100 * (both - text) /
        text`` on two columns of correct answers.

    Raises
    ------
    DataError
        Columns that differ in length or index, are empty, or hold NaN or infinity.
    ParameterError
        ``resamples`` or ``level`` out of range.

    >>> grouped_bootstrap([1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "c"], seed=0)
    Interval(value=0.5, low=0.0, high=1.0, n=6, groups=3)
    """
    if resamples < 1 or not 0 < level < 1:
        raise ParameterError(
            "expected resamples of at least 1 and a level between 0 and 1, found"
            f" {resamples} and {level}."
        )
    check_aligned(values=values, groups=groups)
    sums, counts = _by_group(np.asarray(values, dtype=float), groups)
    of = statistic or (lambda mean: mean)

    def resampled(*columns: np.ndarray, axis: int = -1) -> Any:
        *totals, rows = (column.sum(axis=axis) for column in columns)
        return of(*(total / rows for total in totals))

    columns = (*sums.T, counts)
    value = float(resampled(*columns))
    low = high = np.nan
    if len(counts) > 1:
        drawn = stats.bootstrap(
            columns,
            resampled,
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=resamples,
            confidence_level=level,
            batch=max(1, _CELLS // len(counts)),
            rng=np.random.default_rng(seed),
        )
        low, high = drawn.confidence_interval
    return Interval(value, float(low), float(high), int(counts.sum()), len(counts))


def paired_test(
    correct_a: Column,
    correct_b: Column,
    groups: Column,
    *,
    seed: int,
    resamples: int = 2000,
    flips: int = 10_000,
) -> PairedTest:
    """Do two sets of predictions on the same rows differ? A sign-flip permutation test
    over groups.

    If a and b were interchangeable, swapping all their answers within a group would
    change nothing but the sign of that group's difference. The p-value is two-sided:
    twice the smaller share of sign assignments whose difference is at least, or at
    most, the one observed, capped at 1. With B random assignments (``flips``) a share
    is (1 + count) / (1 + B); with few groups (2 to their number at most B) all
    assignments are tried and the test is exact. The 95 % interval is
    :func:`grouped_bootstrap`'s, of the difference, from ``resamples`` draws.

    It assumes independent groups, and takes the trained detectors as given. With
    several seeds in the table it compares the averages over those seeds.

    Raises
    ------
    DataError
        Columns that differ in length or index, are empty, or hold NaN or infinity.

    >>> a = [1, 1, 1, 1, 0, 1, 1, 1]
    >>> b = [0, 1, 0, 0, 0, 0, 1, 0]
    >>> test = paired_test(a, b, groups=range(8), seed=0)
    >>> test.difference, test.p_value  # five groups changed, all one way: 2 · (1/2)⁵
    (0.625, 0.0625)
    """
    check_aligned(correct_a=correct_a, correct_b=correct_b, groups=groups)
    both = np.column_stack(
        [np.asarray(correct_a, dtype=float), np.asarray(correct_b, dtype=float)]
    )
    interval = grouped_bootstrap(
        both, groups, seed=seed, resamples=resamples, statistic=lambda a, b: a - b
    )
    sums, counts = _by_group(both, groups)
    sums = sums[
        sums[:, 0] != sums[:, 1]
    ]  # a group without a difference has no sign to flip
    p_value = 1.0
    if len(sums) > 1:
        p_value = stats.permutation_test(
            tuple(sums.T),
            lambda a, b, axis: (a - b).sum(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=flips,
            batch=max(1, _CELLS // len(sums)),
            rng=np.random.default_rng(seed),
        ).pvalue
    return PairedTest(
        interval.value, interval.low, interval.high, float(p_value), int(counts.sum())
    )


def _by_group(values: np.ndarray, groups: Column) -> tuple[np.ndarray, np.ndarray]:
    """Sums, shape (groups, k), and numbers of rows, shape (groups,).

    Groups in the order of their first row.
    """
    columns = values.reshape(len(values), -1)
    if not np.isfinite(columns).all():
        raise DataError(
            "expected a number in each row, found NaN or infinity in"
            f" {int((~np.isfinite(columns)).any(axis=1).sum()):,} row(s)."
        )
    codes, names = pd.factorize(
        pd.Series(list(groups), dtype=object), use_na_sentinel=True
    )
    if (codes < 0).any():
        raise DataError(
            f"expected a group in each row, found none in {int((codes < 0).sum()):,}"
            " row(s)."
        )
    sums = np.column_stack(
        [
            np.bincount(codes, weights=column, minlength=len(names))
            for column in columns.T
        ]
    )
    return sums, np.bincount(codes, minlength=len(names)).astype(float)
