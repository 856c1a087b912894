"""What every measure asks of its columns before it computes."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from verite.errors import DataError

__all__ = ["Column", "check_aligned"]

Column = Sequence[Any] | np.ndarray | pd.Series
"""One value a row."""


def check_aligned(**columns: Sized) -> None:
    """Check that columns describe the same rows.

    One length, at least one row, one index where they are Series.

    Raises
    ------
    DataError
        They do not. Two Series with different indexes are an error even where their
        lengths agree: one of them was sorted or filtered without the other.
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        found = ", ".join(f"{count:,} of {name}" for name, count in lengths.items())
        raise DataError(
            f"expected one value a row in each column, found {found}. Join them by"
            " pair_id first."
        )
    if 0 in lengths.values():
        raise DataError(
            f"expected at least one row, found none ({', '.join(lengths)})."
        )
    series = {
        name: column
        for name, column in columns.items()
        if isinstance(column, pd.Series)
    }
    for first, other in pairwise(series):
        if not series[first].index.equals(series[other].index):
            raise DataError(
                f"{first} and {other} have different indexes, so their rows do not"
                " belong together. Join them by pair_id first."
            )
