r"""Two measures of unimodal bias, each over a set of training datasets.

A benchmark suffers from unimodal bias when a detector that sees one modality does as
well as, or better than, one that sees both (paper, section 3.1). Both measures compare
accuracies: one of the unimodal and one of the multimodal detector for each training
dataset.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from verite.errors import DataError, ParameterError
from verite.evaluation.intervals import Column, check_aligned

__all__ = ["cohens_d", "delta_percent"]


def delta_percent(
    unimodal: float | Column,
    multimodal: float | Column,
    convention: Literal["paper", "card"] = "paper",
) -> float:
    r"""Mean over training datasets of the relative difference in accuracy, in percent.

    Two conventions exist, and they are **not** each other's negative, because their
    denominators differ:

    ``"paper"`` (section 4.2, Tables 6 and 7)
        :math:`100\,(a_{multi} - a_{uni}) / a_{uni}`. **Negative means unimodal bias.**
    ``"card"`` (scoring recipe of the benchmark's evaluation card)
        :math:`100\,(a_{uni} - a_{multi}) / a_{multi}`. **Positive means unimodal
        bias.**

    It is the mean of the ratios, not the ratio of the means. Range: above −100, open
    upwards. It does not correct for chance: 36 over 33 on three classes looks like 72
    over 66.

    Parameters
    ----------
    unimodal, multimodal
        An accuracy, or one per training dataset in the same order; any unit, the same
        for both. Two Series must have the same index.

    Raises
    ------
    DataError
        Different lengths or indexes, a value that is missing or not positive.

    >>> from verite.paper import wide
    >>> verite = wide(5)  # the last row of Table 7
    >>> round(delta_percent(verite["text"], verite["image+text"]), 2)
    27.94
    >>> round(delta_percent(verite["text"], verite["image+text"], convention="card"), 2)
    -21.44
    """
    uni, multi = _accuracies(unimodal), _accuracies(multimodal)
    check_aligned(unimodal=uni, multimodal=multi)
    if isinstance(unimodal, pd.Series) and isinstance(multimodal, pd.Series):
        check_aligned(unimodal=unimodal, multimodal=multimodal)
    if convention == "paper":
        return float(np.mean(100 * (multi - uni) / uni))
    if convention == "card":
        return float(np.mean(100 * (uni - multi) / multi))
    raise ParameterError(
        f"unknown convention {convention!r}. Known: 'paper' (negative is bias), 'card'"
        " (positive is bias)."
    )


def cohens_d(
    unimodal: float | Column, multimodal: float | Column, ddof: Literal[0, 1] = 1
) -> float:
    r"""Standardised difference between unimodal and multimodal accuracies.

    .. math:: d = \frac{\bar a_{uni} - \bar a_{multi}}{s}, \qquad
              s^2 = \frac{(n_{uni} - 1)\,s_{uni}^2 + (n_{multi} -
              1)\,s_{multi}^2}{n_{uni} + n_{multi} - 2}

    **Positive means unimodal bias** (paper, section 4.2). Unbounded. ``ddof=1``, sample
    variances, gives the paper's Table 7; ``ddof=0``, population variances under the
    same weights, is what the evaluation card's recipe computes, and is larger in size
    by :math:`\sqrt{n / (n - 1)}` where both sides have n values.

    The spread is that of training datasets, not of test rows: d says how far apart two
    groups of detectors lie, not how sure one can be of it. Pairing by training dataset
    is not used.

    Raises
    ------
    DataError
        Fewer than two values on a side, a value that is missing or not positive, or no
        spread on either side (d would be infinite or undefined).

    >>> from verite.paper import wide
    >>> verite = wide(5)
    >>> round(cohens_d(verite["text"], verite["image+text"]), 2)
    -3.56
    >>> round(cohens_d(verite["text"], verite["image+text"], ddof=0), 2)
    -3.8
    """
    uni, multi = _accuracies(unimodal), _accuracies(multimodal)
    if min(len(uni), len(multi)) < 2:
        raise DataError(
            f"Cohen's d needs at least 2 accuracies on each side, found {len(uni)}"
            f" unimodal and {len(multi)} multimodal."
        )
    squares = (len(uni) - 1) * uni.var(ddof=ddof) + (len(multi) - 1) * multi.var(
        ddof=ddof
    )
    pooled = np.sqrt(squares / (len(uni) + len(multi) - 2))
    # Rounding errors leave equal floats a tiny variance, which would pass for a huge
    # effect.
    if pooled <= 1e-12 * max(uni.max(), multi.max()):
        raise DataError(
            "Cohen's d is undefined: all unimodal accuracies are equal, and all"
            " multimodal ones too. Use delta_percent()."
        )
    return float((uni.mean() - multi.mean()) / pooled)


def _accuracies(values: float | Column) -> np.ndarray:
    accuracies = np.atleast_1d(np.asarray(values, dtype=float))
    if not np.isfinite(accuracies).all() or (accuracies <= 0).any():
        raise DataError(
            "expected positive accuracies, one per training dataset, found"
            f" {accuracies.tolist()}."
        )
    return accuracies
