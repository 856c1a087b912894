"""What all makers of misleading pairs share.

The truthful pairs they start from, where donors may be, what comes out.

A maker takes truthful pairs and gives each a misleading partner, made with something of
another pair: the *donor*. Donors are of the same split, so pairs must be split before.
A donor is never of the same group, and never shares an image or a caption with the
pair, directly or through others: what such a donor gives could be true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError, name_some
from verite.pairs import COLUMNS, MAKER_COLUMNS, TRUE, merge_groups, validate
from verite.search import Search

__all__ = [
    "EXTRA",
    "Maker",
    "both",
    "choose_sides",
    "made_share",
    "nearest_donors",
    "parts",
    "truthful",
]

EXTRA = ("topic", "entities", "by", "swapped")
"""Further columns of made tables.

``by`` is the side (image or text) by which a donor was found, ``swapped`` a JSON list.
"""

Maker = Callable[..., pd.DataFrame]
"""``make(pairs, images, texts, *, rng, ...) -> pairs``.

Makers that look at no vectors take None for images and texts.
"""


def truthful(
    pairs: pd.DataFrame, method: str, needs: Sequence[str] = ()
) -> pd.DataFrame:
    """Truthful rows in the order of their ``pair_id``, with a column ``bound`` that is
    equal where no donor may come from.

    Raises
    ------
    DataError
        ``pairs`` is no pair table, lacks a column of ``needs``, or has no truthful row.
    """
    missing = [name for name in needs if name not in pairs.columns]
    if missing:
        raise DataError(
            f"{method}: expected the columns {name_some(needs)} beside those of a pair"
            f" table, found no {name_some(missing)}. Add what the data set tells, or"
            " one value for all rows."
        )
    table = validate(pairs, where=method, extra=[str(name) for name in pairs.columns])
    table = table.loc[
        table["label"] == TRUE,
        [*COLUMNS, *(name for name in ("topic", "entities") if name in table.columns)],
    ]
    if table.empty:
        raise DataError(
            f"{method}: expected truthful pairs to make misleading ones from, found"
            f" none labelled {TRUE!r}."
        )
    table = table.sort_values("pair_id").reset_index(drop=True)
    for name in needs:
        empty = table[name].isna() | (table[name].astype("str") == "")
        if empty.any():
            raise DataError(
                f"{method}: column {name!r} is empty for pair_id"
                f" {name_some(table.loc[empty, 'pair_id'])}."
            )
    # An equal caption binds too: with its image, this pair's caption would be another
    # truthful pair.
    table["bound"] = merge_groups(
        table["group"], table["image_id"], table["text_id"], table["caption"]
    )
    return table


def parts(table: pd.DataFrame, *columns: str) -> Iterator[np.ndarray]:
    """Row positions of each part within which donors are looked for.

    Of one split, and of equal further ``columns``.
    """
    for _, rows in sorted(
        table.groupby(["split", *columns], sort=False).indices.items(),
        key=lambda part: str(part[0]),
    ):
        yield np.asarray(rows)


def choose_sides(
    name: str, choice: str, sides: tuple[str, str], count: int, rng: np.random.Generator
) -> np.ndarray:
    """True where the first of two sides is chosen.

    Always, never, or by a fair coin for ``"either"``.
    """
    if choice not in (*sides, "either"):
        raise ParameterError(
            f"expected {name} to be {sides[0]}, {sides[1]} or either, found {choice!r}."
        )
    coins = (
        rng.random(count) < 0.5
    )  # drawn in any case, so that what is drawn next does not depend on the choice
    return coins if choice == "either" else np.full(count, choice == sides[0])


def nearest_donors(
    table: pd.DataFrame,
    within: Sequence[np.ndarray],
    by_image: np.ndarray,
    images: Embeddings | None,
    texts: Embeddings | None,
    *,
    method: str,
    k: int,
    search: Search,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the ``k`` nearest donors of each row and their cosines, both ``(rows,
    k)``; -1 and NaN where there is none.

    Of several pairs with one image (or caption), the first in the order of ``pair_id``
    is the donor.
    """
    donors = np.full((len(table), k), -1)
    similarities = np.full((len(table), k), np.nan)
    for rows in within:
        for side, vectors, chosen in (
            ("image_id", images, by_image[rows]),
            ("text_id", texts, ~by_image[rows]),
        ):
            if not chosen.any():
                continue
            if vectors is None:
                raise DataError(
                    f"{method}: expected vectors of"
                    f" {'images' if side == 'image_id' else 'texts'}, found None."
                    " Encode them first."
                )
            part = table.iloc[rows]
            offered = part.drop_duplicates(side)
            asked = part[chosen].drop_duplicates(side)
            found = search(
                vectors,
                vectors,
                k,
                query_ids=asked[side],
                candidate_ids=offered[side],
                query_groups=asked["bound"],
                candidate_groups=offered["bound"],
            )
            place = pd.Series(offered.index, index=offered[side])
            at = pd.Index(asked[side]).get_indexer(pd.Index(part.loc[chosen, side]))
            donors[rows[chosen]] = (
                place.reindex(found.ids.ravel())
                .fillna(-1)
                .to_numpy(dtype=int)
                .reshape(found.ids.shape)[at]
            )
            similarities[rows[chosen]] = found.similarities[at]
    return donors, similarities


def both(table: pd.DataFrame, false: pd.DataFrame, method: str) -> pd.DataFrame:
    """Put each misleading pair behind its truthful one.

    ``false`` has the row numbers of ``table`` as its index.

    Raises
    ------
    DataError
        There is no misleading pair.
    """
    if false.empty:
        raise DataError(
            f"{method}: no misleading pair could be made of {len(table):,} truthful"
            " ones. A donor must be of the same split (and topic), of another group,"
            " and share no image or caption; a swap needs entities of one type. Give"
            " more pairs, or broader topics."
        )
    blank: dict[str, Any] = {
        "method": "",
        "donor_id": "",
        "similarity": np.nan,
        "by": "",
        "swapped": "[]",
    }
    names = [
        *COLUMNS,
        *MAKER_COLUMNS,
        *(name for name in EXTRA if name in false.columns),
    ]
    true = table.loc[false.index].assign(**blank).reindex(columns=names)
    # A stable sort by row number keeps the truthful pair first.
    made = pd.concat([true, false.reindex(columns=names)]).sort_index(kind="stable")
    return validate(made, where=method, extra=EXTRA)


def made_share(pairs: pd.DataFrame, made: pd.DataFrame) -> float:
    """Share of the truthful ``pairs`` that got a misleading partner in ``made``, from 0
    to 1.

    For entity swaps this is the share of captions that could be swapped.

    >>> made_share(pd.DataFrame({"label": ["true"] * 4}), pd.DataFrame({"label": ["true", "miscaptioned"]}))
    0.25
    """
    return float((made["label"] != TRUE).sum() / (pairs["label"] == TRUE).sum())
