"""What printed cells allow once it is remembered that each was rounded.

A cell printed as 51.5 may have been anything from 51.45 to 51.55. A figure recomputed
from such cells is a range, and a printed figure contradicts its table only if it lies
outside.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from verite.errors import DataError
from verite.evaluation import cohens_d, delta_percent

__all__ = ["Rounded", "d_bounds", "delta_bounds"]


class Rounded(NamedTuple):
    """Printed values, and half a unit of the last digit of each."""

    printed: np.ndarray
    half: np.ndarray

    @property
    def low(self) -> np.ndarray:
        """Least that each may have been."""
        return np.asarray(self.printed - self.half)

    @property
    def high(self) -> np.ndarray:
        """Most that each may have been."""
        return np.asarray(self.printed + self.half)


def delta_bounds(unimodal: Rounded, multimodal: Rounded) -> tuple[float, float]:
    """Least and greatest Delta % that the rounding of the cells allows; exact.

    In the paper's convention. Each ratio falls with the unimodal cell and rises with
    the multimodal one, so the extremes are at the ends.

    >>> text = Rounded(np.array([50.6]), np.array([.05]))
    >>> both = Rounded(np.array([72.7]), np.array([.05]))
    >>> [round(bound, 2) for bound in delta_bounds(text, both)]
    [43.44, 43.92]
    """
    return delta_percent(unimodal.high, multimodal.low), delta_percent(
        unimodal.low, multimodal.high
    )


def d_bounds(unimodal: Rounded, multimodal: Rounded) -> tuple[float, float]:
    """Least and greatest Cohen's d that the rounding of the cells allows.

    With sample variances. Where d is positive it is a linear function over a convex
    one, hence quasi-concave. Its least value over the box of possible cells is at a
    corner: all are tried, 2 to the number of cells. Its greatest is the top of a single
    hump, which L-BFGS-B climbs. A negative d is the same with the sides exchanged.

    Raises
    ------
    DataError
        Rounding could make the two means equal, so that d has no sign, or all cells of
        each side, so that d has no bound.

    >>> text = Rounded(np.array([50.0, 60.0]), np.array([.05, .05]))
    >>> both = Rounded(np.array([40.0, 50.0]), np.array([.05, .05]))
    >>> [round(bound, 3) for bound in d_bounds(text, both)]
    [1.4, 1.428]
    """
    if cohens_d(unimodal.printed, multimodal.printed) < 0:
        low, high = d_bounds(multimodal, unimodal)
        return -high, -low
    sides = (unimodal, multimodal)
    touch = unimodal.low.mean() < multimodal.high.mean() + 1e-9
    if touch or all(side.low.max() < side.high.min() + 1e-9 for side in sides):
        raise DataError(
            f"bounds of Cohen's d need {'means' if touch else 'cells'} further apart"
            f" than their rounding, found {unimodal.printed.tolist()} and"
            f" {multimodal.printed.tolist()}. Use cells with more decimals."
        )
    means, squares = zip(*map(_corners, sides), strict=True)
    freedom = len(unimodal.printed) + len(multimodal.printed) - 2
    at_corners = np.subtract.outer(*means) / np.sqrt(np.add.outer(*squares) / freedom)

    split = len(unimodal.printed)
    start = np.concatenate([side.printed for side in sides])
    box = [bounds for side in sides for bounds in zip(side.low, side.high, strict=True)]
    top = minimize(
        lambda cells: -cohens_d(cells[:split], cells[split:]),
        start,
        method="L-BFGS-B",
        bounds=box,
    )
    return float(at_corners.min()), float(max(-top.fun, at_corners.max()))


def _corners(side: Rounded) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sum of squares at each corner of the box of one side's cells."""
    corners = np.array(list(product(*zip(side.low, side.high, strict=True))))
    return corners.mean(axis=1), corners.var(axis=1) * corners.shape[1]
