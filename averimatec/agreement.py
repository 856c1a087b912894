r"""How far people agree who judge the same claims (paper, section 5 and appendix E).

With n_ij of the raters of subject i choosing category j of k, and m_i raters, the
observed agreement is the share of pairs of raters that agree,

.. math:: P_i = \frac{\sum_j n_{ij} (n_{ij} - 1)}{m_i (m_i - 1)}, \qquad \bar P = \frac{1}{N} \sum_i P_i

and both kappas are :math:`(\bar P - P_e) / (1 - P_e)`. They differ in what they take
for chance: Fleiss (1971) the categories' shares in all ratings, :math:`P_e = \sum_j
p_j^2`; Randolph (2005) raters who are free to choose any, :math:`P_e = 1/k`. Where one
verdict is far more common than others, as Refuted is here, Fleiss' is much the smaller.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from averimatec.claims import VERDICTS
from verite.errors import DataError, ParameterError, name_some
from verite.evaluation import Interval, grouped_bootstrap

__all__ = ["fleiss_kappa", "qa_agreement", "randolph_kappa", "rating_counts"]


def rating_counts(
    ratings: pd.DataFrame, categories: Sequence[str] = VERDICTS
) -> pd.DataFrame:
    """Count how many raters chose each category.

    Parameters
    ----------
    ratings
        A row a subject, a column a rater; empty (NaN or None) where a rater did not
        judge.
    categories
        All that raters could choose, chosen or not: Randolph's kappa depends on how
        many there are.

    Returns
    -------
    pandas.DataFrame
        A row a subject, a column a category.

    Raises
    ------
    DataError
        A rating is none of the categories.

    >>> rating_counts(pd.DataFrame({"one": ["Refuted", "Supported"], "two": ["Refuted", None]})).to_numpy().tolist()
    [[0, 2, 0, 0], [1, 0, 0, 0]]
    """
    given = pd.unique(ratings.to_numpy().ravel())
    unknown = sorted(
        str(value) for value in given if not pd.isna(value) and value not in categories
    )
    if unknown:
        raise DataError(
            f"expected ratings among {', '.join(categories)}, found"
            f" {name_some(unknown)}. Spell them alike."
        )
    return pd.DataFrame(
        {category: (ratings == category).sum(axis=1) for category in categories},
        index=ratings.index,
    )


def fleiss_kappa(
    counts: pd.DataFrame | np.ndarray, *, seed: int = 0, resamples: int = 2000
) -> Interval:
    """Fleiss' kappa, for any number of raters, which may differ from subject to
    subject.

    Parameters
    ----------
    counts
        Shape (subjects, categories): how many raters chose each, as
        :func:`rating_counts` gives it.
    seed, resamples
        Of the bootstrap over subjects.

    Returns
    -------
    Interval
        The kappa, -1 to 1, with its 95 % interval; NaN where all raters chose one
        category everywhere. Subjects with fewer than two ratings are left out; ``n``
        counts the others.

    Raises
    ------
    DataError
        No subject has two ratings, or counts are no whole numbers of 0 or more.

    >>> round(fleiss_kappa(np.array([[3, 0], [0, 3], [2, 1]])).value, 3)
    0.55
    """
    agreement, shares = _agreement(counts)

    def kappa(observed: np.ndarray, *means: np.ndarray) -> np.ndarray:
        chance = sum(mean**2 for mean in means) / sum(means) ** 2
        # A resample in which all chose one category has no kappa of its own; nobody
        # disagreed in it.
        return np.asarray(
            np.where(
                chance < 1,
                (observed - chance) / np.where(chance < 1, 1 - chance, 1),
                1.0,
            )
        )

    if (shares.sum(axis=0) > 0).sum() == 1:
        return Interval(np.nan, np.nan, np.nan, len(shares), len(shares))
    return _bootstrap(np.column_stack([agreement, shares]), kappa, seed, resamples)


def randolph_kappa(
    counts: pd.DataFrame | np.ndarray, *, seed: int = 0, resamples: int = 2000
) -> Interval:
    """Randolph's free-marginal multirater kappa, for any number of raters.

    Parameters and errors: see :func:`fleiss_kappa`.

    Every column of ``counts`` is a category that raters could choose, used or not.

    Raises
    ------
    ParameterError
        There is only one category.

    >>> round(randolph_kappa(np.array([[3, 0], [0, 3], [2, 1]])).value, 3)
    0.556
    """
    agreement, shares = _agreement(counts)
    k = shares.shape[1]
    if k < 2:
        raise ParameterError(
            "randolph_kappa: expected two categories or more, found one. Count also"
            " those that nobody chose."
        )
    return _bootstrap(
        agreement[:, None],
        lambda observed: (observed - 1 / k) / (1 - 1 / k),
        seed,
        resamples,
    )


def qa_agreement(
    counts: pd.DataFrame, *, seed: int = 0, resamples: int = 2000
) -> pd.DataFrame:
    """Recall and precision of question-answer pairs that were annotated twice, as
    people counted them.

    Parameters
    ----------
    counts
        A row a claim: ``original`` and ``again``, how many pairs each annotation has;
        ``original_covered``, how many of the original's pairs the other covers, and
        ``again_covered``, the other way round.

    Returns
    -------
    pandas.DataFrame
        Rows ``recall`` (of the original's pairs) and ``precision`` (of the other's),
        each as ``mean`` over claims and ``pooled`` over pairs: ``measure``,
        ``average``, ``value`` (0 to 1), ``low``, ``high``, ``n`` claims. The paper does
        not say which average it prints.

    Raises
    ------
    DataError
        A count is missing, negative, or a claim has more pairs covered than there are.
        Claims without pairs are left out.

    >>> made = qa_agreement(pd.DataFrame({"original": [2, 4], "original_covered": [2, 1], "again": [3, 2], "again_covered": [3, 1]}))
    >>> made[["measure", "average", "value"]].values.tolist()
    [['recall', 'mean', 0.625], ['recall', 'pooled', 0.5], ['precision', 'mean', 0.75], ['precision', 'pooled', 0.8]]
    """
    rows = []
    for measure, total in (("recall", "original"), ("precision", "again")):
        missing = [name for name in (total, f"{total}_covered") if name not in counts]
        if missing:
            raise DataError(
                f"qa_agreement: expected the columns {name_some(missing)}, found"
                f" {name_some(counts.columns)}."
            )
        pairs, covered = (
            counts[name].to_numpy(dtype=float) for name in (total, f"{total}_covered")
        )
        bad = ~((covered >= 0) & (covered <= pairs))
        if bad.any():
            raise DataError(
                f"qa_agreement: {total}_covered must be from 0 to {total}; it is not in"
                f" row {name_some(counts.index[bad])}."
            )
        some = pairs > 0
        mean = _bootstrap(
            (covered[some] / pairs[some])[:, None], lambda share: share, seed, resamples
        )
        pooled = _bootstrap(
            np.column_stack([covered[some], pairs[some]]),
            lambda have, want: have / want,
            seed,
            resamples,
        )
        rows += [
            (measure, "mean", *mean[:3], mean.n),
            (measure, "pooled", *pooled[:3], pooled.n),
        ]
    return pd.DataFrame(
        rows, columns=["measure", "average", "value", "low", "high", "n"]
    )


def _agreement(counts: pd.DataFrame | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Agreement of each subject with two ratings or more, shape (n,), and its counts,
    shape (n, k).
    """
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or not ((table >= 0) & (table == np.floor(table))).all():
        raise DataError(
            "expected a table of how often each category was chosen, whole numbers of 0"
            " or more. See rating_counts()."
        )
    raters = table.sum(axis=1)
    table, raters = table[raters > 1], raters[raters > 1]
    if not len(table):
        raise DataError("expected subjects with two ratings or more, found none.")
    return (table * (table - 1)).sum(axis=1) / (raters * (raters - 1)), table


def _bootstrap(
    columns: np.ndarray, statistic: object, seed: int, resamples: int
) -> Interval:
    return grouped_bootstrap(
        columns,
        range(len(columns)),
        seed=seed,
        resamples=resamples,
        statistic=statistic,
    )  # type: ignore[arg-type]
