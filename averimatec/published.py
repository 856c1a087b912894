"""The AVerImaTeC paper's printed numbers, read from ``tables/*.csv``.

The one place where they stand.

Systems of Tables 3, 4 and 12 go by how they ask, or what they were given, and by their
two models: ``parallel: Qwen + Qwen-VL`` is the language model Qwen with Qwen-VL for
images. Shares are from 0 to 1, as printed; Tables 5 to 9 and 11 are in per cent.
"""

from __future__ import annotations

from functools import cache

import pandas as pd

from verite.errors import ParameterError
from verite.paper.published import read_cells

__all__ = ["published"]

_TABLES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)


def published(number: int) -> pd.DataFrame:
    """One published table, a row a cell, in printed order.

    Columns as :func:`verite.paper.table` has them.

    Raises
    ------
    ParameterError
        There is no such table of numbers: Table 1 compares data sets in words.

    >>> cells = published(3)
    >>> cells.loc[cells["column"] == "evidence recall", "value"].max()
    np.float64(0.25)
    """
    return _read(number).copy()


@cache
def _read(number: int) -> pd.DataFrame:
    if number not in _TABLES:
        raise ParameterError(
            f"the AVerImaTeC paper has no table {number!r} of numbers. Known:"
            f" {', '.join(map(str, _TABLES))}."
        )
    return read_cells("averimatec", number)
