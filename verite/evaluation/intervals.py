"""Intervals and tests that keep groups whole.

Rows of one group (an article, an event, an image; one pair under several seeds) rise
and fall together. Treating them as independent makes intervals too narrow, so whole
groups are drawn here, never rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from verite.errors import DataError, ParameterError

__all__ = [
    "Column",
    "Interval",
    "PairedTest",
    "check_aligned",
    "grouped_bootstrap",
    "paired_test",
]

Column = Sequence[Any] | np.ndarray | pd.Series
"""One value per row."""

_CELLS = 2**22  # numbers drawn together: 32 MB


def check_aligned(**columns: Sized) -> None:
    """Check that columns describe the same rows.

    Two Series with different indexes are an error even where their lengths agree: one
    of them was sorted or filtered without the other.

    Raises
    ------
    DataError
        Different lengths or indexes, or no row.
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        found = ", ".join(f"{count:,} of {name}" for name, count in lengths.items())
        raise DataError(
            f"expected one value per row in each column, found {found}. Join them by"
            " pair_id first."
        )
    labelled = pd.Series | pd.DataFrame
    indexed = [name for name, part in columns.items() if isinstance(part, labelled)]
    for first, other in pairwise(indexed):
        if not columns[first].index.equals(columns[other].index):  # type: ignore[attr-defined]
            raise DataError(
                f"{first} and {other} have different indexes. Join them by pair_id"
                " first."
            )


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

    It assumes that groups are independent draws from one population and takes the
    fitted model as given: several seeds in the table average the noise of training out,
    they do not put its spread into the interval. Where rows repeat under several seeds,
    give each repetition the group of its pair. With fewer than about 20 groups the
    interval is too narrow; of one group it is NaN; of all-correct rows it is [1, 1],
    which is no proof of perfection.

    Parameters
    ----------
    values
        Shape (n,): whether each row is correct, or any number per row. Or (n, k)
        together with ``statistic``.
    groups
        Shape (n,): what each row belongs to.
    seed, resamples
        The seed of the draws, and how many there are.
    level
        Share of the resampled figures that the interval spans.
    statistic
        A function of k arrays, the means of the k columns in each resample, that
        returns one figure per resample: ``lambda text, both: 100 * (both - text) /
        text`` for two columns of correct answers.

    Raises
    ------
    DataError
        Columns that differ in length or index, are empty, or hold NaN or infinity.

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
    """Test whether two sets of predictions on the same rows differ.

    A sign-flip permutation test over groups: if a and b were interchangeable, swapping
    all their answers within a group would change nothing but the sign of that group's
    difference. The p-value is two-sided: twice the smaller share of sign assignments
    whose difference is at least, or at most, the one observed, capped at 1. With B
    random assignments (``flips``) a share is (1 + count) / (1 + B); where 2 to the
    number of groups is at most B, all are tried and the test is exact. The 95 %
    interval of the difference is :func:`grouped_bootstrap`'s.

    It assumes independent groups and takes the trained detectors as given. With several
    seeds in the table it compares the averages over those seeds.

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
    sums = sums[sums[:, 0] != sums[:, 1]]  # no difference has no sign to flip
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
    """Sums ``(groups, k)`` and counts of rows ``(groups,)``, in order of first rows."""
    columns = values.reshape(len(values), -1)
    bad = ~np.isfinite(columns).all(axis=1)
    codes, names = pd.factorize(pd.Series(list(groups), dtype=object))
    if bad.any() or (codes < 0).any():
        raise DataError(
            "expected a finite number and a group in each row, found none in"
            f" {int((bad | (codes < 0)).sum()):,} row(s)."
        )
    counts = np.bincount(codes, minlength=len(names)).astype(float)
    sums = [np.bincount(codes, column, len(names)) for column in columns.T]
    return np.column_stack(sums), counts
