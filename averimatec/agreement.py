r"""Agreement of raters who judge the same claims (paper, section 5 and appendix E).

With n_ij of the raters of subject i choosing category j of k, and m_i raters, the
observed agreement is the share of pairs of raters that agree,

.. math::

    P_i = \frac{\sum_j n_{ij} (n_{ij} - 1)}{m_i (m_i - 1)}, \qquad
    \bar P = \frac{1}{N} \sum_i P_i

and both kappas are :math:`(\bar P - P_e) / (1 - P_e)`. They differ in the agreement by
chance: Fleiss (1971) takes the categories' shares in all ratings, :math:`P_e = \sum_j
p_j^2`; Randolph (2005) takes raters who are free to choose any, :math:`P_e = 1/k`.
Where one verdict is far more common than others, as Refuted is here, Fleiss' kappa is
much smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from averimatec.claims import VERDICTS
from verite.errors import DataError, ParameterError, name_some
from verite.evaluation import Interval, grouped_bootstrap


def rating_counts(
    ratings: pd.DataFrame, categories: Sequence[str] = VERDICTS
) -> pd.DataFrame:
    """Count how many raters chose each category.

    Parameters
    ----------
    ratings
        One row per subject, one column per rater; empty (NaN or None) where a rater did
        not judge.
    categories
        All that raters could choose, chosen or not: Randolph's kappa depends on how
        many there are.

    Returns
    -------
    pandas.DataFrame
        One row per subject, one column per category.

    >>> ratings = pd.DataFrame({"a": ["Refuted", "Supported"], "b": ["Refuted", None]})
    >>> rating_counts(ratings).to_numpy().tolist()
    [[0, 2, 0, 0], [1, 0, 0, 0]]
    """
    values = pd.unique(ratings.to_numpy().ravel())
    unknown = [str(v) for v in values if not pd.isna(v) and v not in categories]
    if unknown:
        raise DataError(
            f"expected ratings among {', '.join(categories)}, found"
            f" {name_some(sorted(unknown))}."
        )
    return pd.DataFrame(
        {category: (ratings == category).sum(axis=1) for category in categories},
        index=ratings.index,
    )


def fleiss_kappa(
    counts: pd.DataFrame | np.ndarray, *, seed: int = 0, resamples: int = 2000
) -> Interval:
    """Fleiss' kappa, for any number of raters, which may differ between subjects.

    Parameters
    ----------
    counts
        Shape (subjects, categories): how many raters chose each, see
        :func:`rating_counts`. Subjects with fewer than two ratings are left out.
    seed, resamples
        Of the bootstrap over subjects.

    Returns
    -------
    Interval
        The kappa, -1 to 1, with its 95 % interval; NaN where all raters chose one
        category everywhere.

    >>> round(fleiss_kappa(np.array([[3, 0], [0, 3], [2, 1]])).value, 3)
    0.55
    """
    agreement, shares = _observed_agreement(counts)

    def kappa(observed: np.ndarray, *means: np.ndarray) -> np.ndarray:
        chance = sum(mean**2 for mean in means) / sum(means) ** 2
        # A resample in which all raters chose one category has no kappa of its own;
        # they agree.
        ratio = (observed - chance) / np.where(chance < 1, 1 - chance, 1)
        return np.asarray(np.where(chance < 1, ratio, 1.0))

    if (shares.sum(axis=0) > 0).sum() == 1:
        return Interval(np.nan, np.nan, np.nan, len(shares), len(shares))
    return _bootstrap(np.column_stack([agreement, shares]), kappa, seed, resamples)


def randolph_kappa(
    counts: pd.DataFrame | np.ndarray, *, seed: int = 0, resamples: int = 2000
) -> Interval:
    """Randolph's free-marginal multirater kappa; parameters as :func:`fleiss_kappa`.

    Every column of ``counts`` is a category that raters could choose, used or not.

    >>> round(randolph_kappa(np.array([[3, 0], [0, 3], [2, 1]])).value, 3)
    0.556
    """
    agreement, shares = _observed_agreement(counts)
    k = shares.shape[1]
    if k < 2:
        raise ParameterError("randolph_kappa: expected two categories or more.")

    def kappa(observed: np.ndarray) -> np.ndarray:
        return np.asarray((observed - 1 / k) / (1 - 1 / k))

    return _bootstrap(agreement[:, None], kappa, seed, resamples)


def _observed_agreement(
    counts: pd.DataFrame | np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Agreement and counts of subjects with two ratings or more, (n,) and (n, k)."""
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or not ((table >= 0) & (table == np.floor(table))).all():
        raise DataError("expected a table of counts, whole numbers of 0 or more.")
    raters = table.sum(axis=1)
    table, raters = table[raters > 1], raters[raters > 1]
    if not len(table):
        raise DataError("expected subjects with two ratings or more, found none.")
    return (table * (table - 1)).sum(axis=1) / (raters * (raters - 1)), table


def _bootstrap(
    columns: np.ndarray, statistic: Callable[..., Any], seed: int, resamples: int
) -> Interval:
    groups = range(len(columns))
    return grouped_bootstrap(
        columns, groups, seed=seed, resamples=resamples, statistic=statistic
    )
