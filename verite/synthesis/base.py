"""What all makers of misleading pairs share.

A maker takes truthful pairs and gives each a misleading partner, made with something of
another pair: the *donor*. A donor is of the same split, so pairs must be split before.
It is never of the same group, and never shares an image or a caption with the pair,
directly or through others: what such a donor gives could be true.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError, name_some
from verite.pairs import (
    COLUMNS,
    MAKER_COLUMNS,
    OUT_OF_CONTEXT,
    TRUE,
    merge_groups,
    validate,
)
from verite.search import Search

__all__ = [
    "EXTRA",
    "MAKERS",
    "Maker",
    "both",
    "choose_sides",
    "made_share",
    "maker",
    "maker_named",
    "nearest_donors",
    "parts",
    "split_name",
    "truthful",
]

EXTRA = ("topic", "entities", "by", "swapped")
"""Further columns of made tables.

``by`` is the side (image or text) by which a donor was found, ``swapped`` a JSON list.
"""

_Function = TypeVar("_Function", bound=Callable[..., pd.DataFrame])
_REGISTRY: dict[str, Maker] = {}


@dataclass(frozen=True)
class Maker:
    """A maker by name, called as ``make(pairs, images, texts, *, rng, ...)``."""

    name: str
    """As the paper prints it."""
    label: str
    """Of the misleading pairs."""
    function: Callable[..., pd.DataFrame]

    def __call__(
        self,
        pairs: pd.DataFrame,
        images: Embeddings | None = None,
        texts: Embeddings | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Make a misleading partner for each truthful pair that can have one."""
        return self.function(pairs, images, texts, **options)

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Parameters of the function."""
        return inspect.signature(self.function, eval_str=True).parameters

    @property
    def uses_vectors(self) -> bool:
        """Whether it needs vectors of images or texts."""
        return self.parameters["texts"].default is inspect.Parameter.empty

    @property
    def uses_pool(self) -> bool:
        """Whether it takes captions from a pool of misleading ones."""
        return "pool" in self.parameters


MAKERS: Mapping[str, Maker] = MappingProxyType(_REGISTRY)
"""Makers by name, in the order in which the paper introduces them."""


def maker(name: str, label: str) -> Callable[[_Function], _Function]:
    """Register a function under a name (a decorator).

    ``verite/synthesis/__init__.py`` imports all modules that use it.
    """

    def register(function: _Function) -> _Function:
        _REGISTRY[name] = Maker(name, label, function)
        return function

    return register


def maker_named(name: str) -> Maker:
    """Maker of one of the paper's training datasets; a ParameterError lists them.

    >>> maker_named("chasma")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: no maker 'chasma'. Makers: RSt, CSt, NC-t2t, ...
    """
    if name not in MAKERS:
        raise ParameterError(f"no maker {name!r}. Makers: {', '.join(MAKERS)}.")
    return MAKERS[name]


def split_name(name: str) -> list[str]:
    """Members of an aggregate, the one with out-of-context pairs first.

    >>> split_name("R-NESt + CHASMA-D + NC-t2t")
    ['NC-t2t', 'R-NESt', 'CHASMA-D']
    """
    names = [part.strip() for part in name.split("+")]
    if len(names) == 1:
        return names
    mismatched = [key for key, m in MAKERS.items() if m.label == OUT_OF_CONTEXT]
    first = [key for key in names if key in mismatched]
    if len(first) != 1 or len(set(names)) != len(names):
        raise ParameterError(
            f"{name}: an aggregate joins exactly one maker of out-of-context pairs"
            f" ({', '.join(mismatched)}) and one or more others, each once."
        )
    return [*first, *(key for key in names if key not in first)]


def truthful(
    pairs: pd.DataFrame, method: str, needs: Sequence[str] = ()
) -> pd.DataFrame:
    """Truthful rows in the order of their ``pair_id``.

    A column ``bound`` is added: equal where no donor may come from.

    Raises
    ------
    DataError
        ``pairs`` is no pair table, lacks a column of ``needs``, or has no truthful row.
    """
    if missing := [name for name in needs if name not in pairs.columns]:
        raise DataError(
            f"{method}: expected a column {name_some(needs)} beside those of a pair"
            f" table, found no {name_some(missing)}. Add it, or one value for all rows."
        )
    table = validate(pairs, where=method, extra=[str(name) for name in pairs.columns])
    extra = [name for name in ("topic", "entities") if name in table.columns]
    table = table.loc[table["label"] == TRUE, [*COLUMNS, *extra]]
    if table.empty:
        raise DataError(
            f"{method}: expected truthful pairs, found none labelled {TRUE!r}."
        )
    table = table.sort_values("pair_id").reset_index(drop=True)
    for name in needs:
        empty = table[name].isna() | (table[name].astype("str") == "")
        if empty.any():
            rows = name_some(table.loc[empty, "pair_id"])
            raise DataError(f"{method}: column {name!r} is empty for pair_id {rows}.")
    # An equal caption binds too: with its image, this pair's caption would be another
    # truthful pair.
    table["bound"] = merge_groups(
        table["group"], table["image_id"], table["text_id"], table["caption"]
    )
    return table


def parts(table: pd.DataFrame, *columns: str) -> Iterator[np.ndarray]:
    """Row positions of each split, and of equal further ``columns`` within it.

    Donors are looked for within one of these parts.
    """
    groups = table.groupby(["split", *columns], sort=False).indices
    for key in sorted(groups, key=str):
        yield np.asarray(groups[key])


def choose_sides(
    name: str, choice: str, sides: tuple[str, str], count: int, rng: np.random.Generator
) -> np.ndarray:
    """True where the first of two sides is chosen: by a fair coin for ``"either"``."""
    if choice not in (*sides, "either"):
        raise ParameterError(
            f"expected {name} to be {sides[0]}, {sides[1]} or either, found {choice!r}."
        )
    # Drawn in any case, so that later draws do not depend on the choice.
    coins = rng.random(count) < 0.5
    return coins if choice == "either" else np.full(count, choice == sides[0])


def nearest_donors(
    table: pd.DataFrame,
    within: Sequence[np.ndarray],
    by_image: np.ndarray,
    vectors: tuple[Embeddings | None, Embeddings | None],
    method: str,
    k: int,
    search: Search,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the ``k`` nearest donors of each row and their cosines.

    Both have the shape ``(rows, k)``, with -1 and NaN where there is none. Of several
    pairs with one image (or caption), the first in the order of ``pair_id`` is the
    donor. ``vectors`` are those of images and of texts.
    """
    donors = np.full((len(table), k), -1)
    similarities = np.full((len(table), k), np.nan)
    for rows in within:
        for side, embeddings, chosen in (
            ("image", vectors[0], by_image[rows]),
            ("text", vectors[1], ~by_image[rows]),
        ):
            if not chosen.any():
                continue
            if embeddings is None:
                raise no_vectors(method, side)
            part, key = table.iloc[rows], f"{side}_id"
            offered = part.drop_duplicates(key)
            queries = part[chosen].drop_duplicates(key)
            found = search(
                embeddings,
                embeddings,
                k,
                query_ids=queries[key],
                candidate_ids=offered[key],
                query_groups=queries["bound"],
                candidate_groups=offered["bound"],
            )
            row_of = pd.Series(offered.index, index=offered[key])
            near = row_of.reindex(found.ids.ravel()).fillna(-1).to_numpy(dtype=int)
            at = pd.Index(queries[key]).get_indexer(pd.Index(part.loc[chosen, key]))
            donors[rows[chosen]] = near.reshape(found.ids.shape)[at]
            similarities[rows[chosen]] = found.similarities[at]
    return donors, similarities


def no_vectors(method: str, side: str) -> DataError:
    """The error that vectors of a side are needed and there are none."""
    return DataError(f"{method}: expected vectors of {side}s, found None. Encode them.")


def both(table: pd.DataFrame, false: pd.DataFrame, method: str) -> pd.DataFrame:
    """Put each misleading pair behind its truthful one.

    ``false`` has the row numbers of ``table`` as its index; a DataError if it is empty.
    """
    if false.empty:
        raise DataError(
            f"{method}: no misleading pair could be made of {len(table):,} truthful"
            " ones. A donor must be of the same split (and topic), of another group,"
            " and share no image or caption; a swap needs entities of one type. Give"
            " more pairs, or broader topics."
        )
    blank: dict[str, Any] = dict.fromkeys(("method", "donor_id", "by"), "")
    blank |= {"similarity": np.nan, "swapped": "[]"}
    extra = [name for name in EXTRA if name in false.columns]
    names = [*COLUMNS, *MAKER_COLUMNS, *extra]
    true = table.loc[false.index].assign(**blank).reindex(columns=names)
    # A stable sort by row number keeps the truthful pair first.
    made = pd.concat([true, false.reindex(columns=names)]).sort_index(kind="stable")
    return validate(made, where=method, extra=EXTRA)


def made_share(pairs: pd.DataFrame, made: pd.DataFrame) -> float:
    """Share of the truthful ``pairs`` with a misleading partner in ``made``, 0 to 1.

    For entity swaps this is the share of captions that could be swapped.

    >>> pairs = pd.DataFrame({"label": ["true"] * 4})
    >>> made_share(pairs, pd.DataFrame({"label": ["true", "miscaptioned"]}))
    0.25
    """
    return float((made["label"] != TRUE).sum() / (pairs["label"] == TRUE).sum())
