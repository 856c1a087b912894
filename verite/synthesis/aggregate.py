"""Three-class tables joined from made ones ("R-NESt + CHASMA-D + NC-t2t").

See the paper, section 4.1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from verite.errors import DataError, name_some
from verite.pairs import (
    COLUMNS,
    LABELS,
    MISCAPTIONED,
    OUT_OF_CONTEXT,
    TRUE,
    downsample,
    validate,
)
from verite.synthesis.base import EXTRA

__all__ = ["aggregate"]


def aggregate(
    out_of_context: pd.DataFrame, *miscaptioned: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """Join an out-of-context table with miscaptioned ones made from the same pairs.

    A truthful pair that appears in several tables counts once. Rows of the training
    split are dropped at random until each class has as many as the rarest; validation
    and test rows, and those without a split, all stay.

    Parameters
    ----------
    out_of_context
        What RSt, CSt or NC-t2t made.
    miscaptioned
        What R-NESt, CLIP-NESt, MEIR, CHASMA or CHASMA-D made, one table or more.

    Returns
    -------
    pandas.DataFrame
        Pairs in the order of ``pair_id``.

    Raises
    ------
    DataError
        A table has unexpected labels, tables disagree about a pair or about a group's
        split, or a class is missing from the training split.
    """
    tables = [out_of_context, *miscaptioned]
    for at, table in enumerate(tables):
        expected = MISCAPTIONED if at else OUT_OF_CONTEXT
        if (labels := set(table["label"])) != {TRUE, expected}:
            raise DataError(
                f"aggregate: expected {TRUE!r} and {expected!r} pairs in table"
                f" {at + 1}, found {name_some(sorted(labels))}."
            )
    joined = pd.concat(tables, ignore_index=True)
    for name, blank in (("entities", "[]"), ("by", ""), ("swapped", "[]")):
        if name in joined.columns:
            joined[name] = joined[name].fillna(blank)
    distinct = joined.drop_duplicates(list(COLUMNS))
    repeated = distinct["pair_id"].duplicated()
    if repeated.any():
        raise DataError(
            "aggregate: tables disagree about pair_id"
            f" {name_some(distinct.loc[repeated, 'pair_id'])}. Make all of them from"
            " one table of truthful pairs."
        )
    # Sorted, so that draws depend on which rows there are, not on their order.
    joined = joined.drop_duplicates("pair_id").sort_values("pair_id")
    training = joined["split"] == "train"
    if training.any():
        train = joined[training].reset_index(drop=True)
        if missing := set(LABELS) - set(train["label"]):
            raise DataError(
                "aggregate: expected three classes in the training split, found no"
                f" {name_some(sorted(missing))} pair there."
            )
        train = downsample(train, seed=int(rng.integers(2**32)))
        joined = pd.concat([train, joined[~training]]).sort_values("pair_id")
    return validate(joined, where="aggregate", extra=EXTRA)
