"""Made tables put together to three classes (paper, section 4.1.

"R-NESt + CHASMA-D + NC-t2t").
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from verite.errors import DataError, name_some
from verite.pairs import (
    COLUMNS,
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
    """Join one out-of-context table and one or more miscaptioned ones, made from the
    same truthful pairs.

    A truthful pair that stands in several tables counts once. Rows of the training
    split are dropped at random until each class has as many as the rarest; validation
    and test rows, and those without a split, all stay.

    Parameters
    ----------
    out_of_context
        What RSt, CSt or NC-t2t made.
    miscaptioned
        What R-NESt, CLIP-NESt, MEIR, CHASMA or CHASMA-D made.

    Returns
    -------
    pandas.DataFrame
        Pairs in the order of ``pair_id``.

    Raises
    ------
    DataError
        A table has other labels than its place asks for, tables disagree about a pair
        or about a group's split, or no table of miscaptioned pairs is given.
    """
    if not miscaptioned:
        raise DataError(
            "aggregate: expected one or more tables of miscaptioned pairs, found none."
        )
    for at, (table, label) in enumerate(
        [
            (out_of_context, OUT_OF_CONTEXT),
            *((table, MISCAPTIONED) for table in miscaptioned),
        ]
    ):
        labels = set(table["label"])
        if labels != {TRUE, label}:
            raise DataError(
                f"aggregate: expected {TRUE!r} and {label!r} pairs in table {at + 1},"
                f" found {name_some(sorted(labels))}."
            )
    joined = pd.concat([out_of_context, *miscaptioned], ignore_index=True)
    for name, blank in (("entities", "[]"), ("by", ""), ("swapped", "[]")):
        if name in joined.columns:
            joined[name] = joined[name].fillna(blank)
    distinct = joined.drop_duplicates(list(COLUMNS))
    apart = distinct["pair_id"].duplicated()
    if apart.any():
        raise DataError(
            "aggregate: tables disagree about pair_id"
            f" {name_some(distinct.loc[apart, 'pair_id'])}. Make all of them from one"
            " table of truthful pairs."
        )
    # All draws come from the generator, and depend on which rows there are, not on
    # their order.
    joined = (
        joined.drop_duplicates("pair_id").sort_values("pair_id").reset_index(drop=True)
    )
    training = joined["split"] == "train"
    if training.any():
        if missing := {TRUE, OUT_OF_CONTEXT, MISCAPTIONED} - set(
            joined.loc[training, "label"]
        ):
            raise DataError(
                "aggregate: expected three classes in the training split, found no"
                f" {name_some(sorted(missing))} pair there."
            )
        kept = downsample(joined[training], seed=int(rng.integers(2**32)))
        joined = pd.concat([kept, joined[~training]]).sort_values("pair_id")
    return validate(joined, where="aggregate", extra=EXTRA)
