"""The AVerImaTeC paper's printed numbers, read from ``tables/*.csv``.

Systems of Tables 3, 4 and 12 are named by strategy or evidence, and by their two
models: ``parallel: Qwen + Qwen-VL`` is the language model Qwen with Qwen-VL for images.
Shares are from 0 to 1, as printed; Tables 5 to 9 and 11 are in per cent.
"""

from __future__ import annotations

import pandas as pd

from verite.errors import ParameterError
from verite.paper.published import read_cells


def published(number: int) -> pd.DataFrame:
    """One published table, one row per cell, in printed order.

    Columns are those of :func:`verite.paper.table`. Table 1 compares data sets in words
    and has no numbers.

    >>> cells = published(3)
    >>> cells.loc[cells["column"] == "evidence recall", "value"].max()
    np.float64(0.25)
    """
    if number not in range(2, 13):
        raise ParameterError(
            f"the AVerImaTeC paper has no table {number!r} of numbers; it has 2 to 12."
        )
    return read_cells("averimatec", number).copy()
