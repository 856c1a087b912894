"""Captions in which named entities are swapped for others of the same type (paper,
sections 2.2 and 4.1).

A swap never brings in an entity that the caption already has, under whatever spelling.
``swapped`` says what was swapped, as a JSON list of [old, new, type]; what share of
captions could be swapped tells :func:`verite.synthesis.made_share`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError, name_some
from verite.pairs import MISCAPTIONED
from verite.search import Search, cosines, nearest
from verite.synthesis.base import both, choose_sides, nearest_donors, parts, truthful
from verite.synthesis.entities import (
    ONTONOTES_TYPES,
    Entity,
    Source,
    read,
    replace,
    same_entity,
)

__all__ = ["clip_nest", "meir", "r_nest"]


class _Swap(NamedTuple):
    row: int
    donor: int
    names: dict[Entity, str]
    similarity: float = np.nan
    by: str = ""


def r_nest(
    pairs: pd.DataFrame,
    images: Embeddings | None = None,
    texts: Embeddings | None = None,
    *,
    rng: np.random.Generator,
    entities: Source = "entities",
) -> pd.DataFrame:
    """R-NESt: swap one entity of each caption for a random one of its type and topic.

    Parameters
    ----------
    pairs
        A pair table with a column ``topic``; only rows labelled true are used. Their
        order does not matter.
    images, texts
        Not looked at.
    entities
        The column that lists entities, or a function of the caption.

    Returns
    -------
    pandas.DataFrame
        Each truthful pair whose caption could be swapped, and behind it a miscaptioned
        pair with a new ``text_id``, of the same image, group and split. New captions
        have no vectors yet.

    Raises
    ------
    DataError
        Entities or topics are missing or do not parse; no caption could be swapped.

    >>> from verite import load
    >>> made = r_nest(load("newsroom", preset="visualnews", events=60, encoder=None).pairs, rng=np.random.default_rng(0))
    >>> [[old, new, kind]] = json.loads(made["swapped"][1])
    >>> old in made["caption"][0], new in made["caption"][1], old in made["caption"][1]
    (True, True, False)
    """
    table = truthful(pairs, "R-NESt", ["topic"])
    found = read(_rows_of(pairs, table, entities), entities)
    bound = table["bound"].to_numpy()
    swaps = []
    for rows in parts(table, "topic"):
        named: dict[str, list[tuple[int, str]]] = {}
        for row in rows:
            for entity in found[row]:
                named.setdefault(entity.type, []).append((row, entity.name))
        for row in rows:
            swap = _random_swap(row, found[row], named, bound, rng)
            if swap is not None:
                swaps.append(swap)
    return _swapped(table, found, swaps, "R-NESt")


def clip_nest(
    pairs: pd.DataFrame,
    images: Embeddings | None,
    texts: Embeddings | None,
    *,
    rng: np.random.Generator,
    entities: Source = "entities",
    by: str = "either",
    neighbours: int = 10,
    search: Search = nearest,
) -> pd.DataFrame:
    """CLIP-NESt: swap one entity of each caption for one of its type in the nearest
    pair of the topic that has one.

    Parameters
    ----------
    pairs, entities
        As for :func:`r_nest`.
    images, texts
        Vectors by ``image_id`` and ``text_id``; those that ``by`` does not need may be
        None.
    by
        What must be near: ``"image"``, ``"text"`` or ``"either"``: a fair coin for each
        pair.
    neighbours
        How many of the nearest to try, 1 or more, until one gives an entity.
    search
        How to find neighbours.

    Returns
    -------
    pandas.DataFrame
        As of :func:`r_nest`, with the donor's cosine as ``similarity`` and the side it
        was found by as ``by``.

    Raises
    ------
    DataError
        As for :func:`r_nest`, or vectors are missing.
    ParameterError
        ``by`` is unknown or ``neighbours`` below 1.
    """
    if neighbours < 1:
        raise ParameterError(
            f"CLIP-NESt: expected neighbours of 1 or more, found {neighbours}."
        )
    table = truthful(pairs, "CLIP-NESt", ["topic"])
    found = read(_rows_of(pairs, table, entities), entities)
    by_image = choose_sides("by", by, ("image", "text"), len(table), rng)
    donors, similarities = nearest_donors(
        table,
        list(parts(table, "topic")),
        by_image,
        images,
        texts,
        method="CLIP-NESt",
        k=min(neighbours, len(table)),
        search=search,
    )
    swaps = []
    for row in range(len(table)):
        for donor, similarity in zip(donors[row], similarities[row], strict=True):
            names = _matched(found[row], found[donor], rng)[:1] if donor >= 0 else []
            if names:
                swaps.append(
                    _Swap(
                        row,
                        donor,
                        dict(names),
                        similarity,
                        "image" if by_image[row] else "text",
                    )
                )
                break
    return _swapped(table, found, swaps, "CLIP-NESt")


def meir(
    pairs: pd.DataFrame,
    images: Embeddings | None,
    texts: Embeddings | None,
    *,
    rng: np.random.Generator,
    entities: Source = "entities",
    by: str = "text",
    types: Sequence[str] = ("PERSON", "GPE", "LOC", "ORG"),
    cluster_size: int = 20,
    search: Search = nearest,
) -> pd.DataFrame:
    """MEIR, by its idea: swap two or more entities at once for those of one donor of
    the same cluster.

    Clusters form within a split about pairs drawn at random: each pair joins the
    nearest of them.

    Parameters
    ----------
    pairs, entities
        As for :func:`r_nest`, but no topic is needed.
    images, texts
        Vectors by ``image_id`` and ``text_id``; those that ``by`` does not need may be
        None.
    by
        What clusters are made of: ``"image"`` or ``"text"``.
    types
        Which entities are swapped: at first those that MEIR manipulates, people, places
        and organisations.
    cluster_size
        Number of pairs in a cluster on average, 2 or more.
    search
        How to find neighbours.

    Returns
    -------
    pandas.DataFrame
        As of :func:`r_nest`; ``similarity`` is the cosine of the two pairs' images or
        captions. Captions for which no member of the cluster has two entities to give
        are left out.

    Raises
    ------
    DataError
        As for :func:`r_nest`, or vectors are missing.
    ParameterError
        ``by`` or a type is unknown, or ``cluster_size`` is below 2.
    """
    if by not in ("image", "text"):
        raise ParameterError(f"MEIR: expected by to be image or text, found {by!r}.")
    if cluster_size < 2:
        raise ParameterError(
            f"MEIR: expected cluster_size of 2 or more, found {cluster_size}."
        )
    if unknown := sorted(set(types) - set(ONTONOTES_TYPES)):
        raise ParameterError(
            f"MEIR: unknown type of entity: {name_some(unknown)}. Known:"
            f" {', '.join(ONTONOTES_TYPES)}."
        )
    side, vectors = ("image_id", images) if by == "image" else ("text_id", texts)
    if vectors is None:
        raise DataError(
            f"MEIR: expected vectors of {by}s, found None. Encode them first."
        )
    table = truthful(pairs, "MEIR")
    found = read(_rows_of(pairs, table, entities), entities)
    ids, bound = table[side].to_numpy(), table["bound"].to_numpy()
    swaps = []
    for rows in parts(table):
        for members in _clusters(rows, ids, vectors, cluster_size, rng, search):
            for row in members:
                own = [entity for entity in found[row] if entity.type in types]
                if len(own) < 2:
                    continue
                for donor in members[rng.permutation(len(members))]:
                    names = (
                        _matched(own, found[donor], rng, known=found[row])
                        if bound[donor] != bound[row]
                        else []
                    )
                    if len(names) > 1:
                        swaps.append(_Swap(row, donor, dict(names), by=by))
                        break
    near = (
        cosines(
            vectors,
            ids[[swap.row for swap in swaps]],
            vectors,
            ids[[swap.donor for swap in swaps]],
        )
        if swaps
        else ()
    )
    swaps = [
        swap._replace(similarity=similarity)
        for swap, similarity in zip(swaps, near, strict=True)
    ]
    return _swapped(table, found, swaps, "MEIR")


def _rows_of(
    pairs: pd.DataFrame, table: pd.DataFrame, entities: Source
) -> pd.DataFrame:
    """Rows of ``table``, with the column of entities, which may have any name."""
    if (
        not isinstance(entities, str)
        or entities not in pairs.columns
        or entities in table.columns
    ):
        return table
    cells = pairs.assign(pair_id=pairs["pair_id"].astype("str")).set_index("pair_id")[
        entities
    ]
    return table.assign(**{entities: cells.reindex(table["pair_id"]).to_numpy()})


def _random_swap(
    row: int,
    own: Sequence[Entity],
    named: dict[str, list[tuple[int, str]]],
    bound: np.ndarray,
    rng: np.random.Generator,
) -> _Swap | None:
    for at in rng.permutation(len(own)):
        offered = named[own[at].type]
        for place in _any_order(len(offered), rng):
            donor, new = offered[place]
            if bound[donor] != bound[row] and _is_new(new, own):
                return _Swap(row, donor, {own[at]: new})
    return None


def _any_order(count: int, rng: np.random.Generator) -> Iterator[int]:
    """Places in random order, some perhaps twice.

    A few draws nearly always suffice, and then a million need no shuffling.
    """
    yield from rng.integers(0, count, size=8)
    yield from rng.permutation(count)


def _matched(
    own: Sequence[Entity],
    given: Sequence[Entity],
    rng: np.random.Generator,
    known: Sequence[Entity] | None = None,
) -> list[tuple[Entity, str]]:
    """Match entities with those of a donor, type by type in random order.

    No new name twice, and none that is ``known``.
    """
    taken: list[str] = []
    matched = []
    for at in rng.permutation(len(own)):
        for place in rng.permutation(len(given)):
            new = given[place]
            if (
                new.type == own[at].type
                and _is_new(new.name, known or own)
                and not any(same_entity(new.name, one) for one in taken)
            ):
                taken.append(new.name)
                matched.append((own[at], new.name))
                break
    return matched


def _is_new(name: str, known: Iterable[Entity]) -> bool:
    return not any(
        same_entity(name, other) for entity in known for other in entity.names
    )


def _clusters(
    rows: np.ndarray,
    ids: np.ndarray,
    vectors: Embeddings,
    size: int,
    rng: np.random.Generator,
    search: Search,
) -> Iterator[np.ndarray]:
    unique = np.unique(ids[rows].astype("str")).astype(object)
    centres = np.sort(
        rng.choice(
            unique, min(len(unique), max(1, round(len(rows) / size))), replace=False
        )
    )
    nearest_centre = search(
        vectors, vectors, 1, query_ids=ids[rows], candidate_ids=centres
    ).ids[:, 0]
    for centre in centres:
        yield rows[nearest_centre == centre]


def _swapped(
    table: pd.DataFrame,
    found: Sequence[Sequence[Entity]],
    swaps: Iterable[_Swap],
    method: str,
) -> pd.DataFrame:
    ordered = sorted(swaps, key=lambda swap: swap.row)
    if not any(found):
        raise DataError(
            f"{method}: expected captions that mention entities, found none in"
            f" {len(table):,} captions."
        )
    rows = [swap.row for swap in ordered]
    false = table.iloc[rows]
    new_id = false["pair_id"] + f":{method}"
    now = [
        [
            [swap.names.get(entity, entity.name), entity.type]
            for entity in found[swap.row]
        ]
        for swap in ordered
    ]
    changed = [
        [[entity.name, new, entity.type] for entity, new in swap.names.items()]
        for swap in ordered
    ]
    false = false.assign(
        pair_id=new_id,
        text_id=new_id,
        caption=[
            replace(caption, swap.names)
            for caption, swap in zip(false["caption"], ordered, strict=True)
        ],
        label=MISCAPTIONED,
        method=method,
        donor_id=(
            table["pair_id"].to_numpy()[[swap.donor for swap in ordered]]
            if ordered
            else ""
        ),
        similarity=[swap.similarity for swap in ordered],
        by=[swap.by for swap in ordered],
        entities=[json.dumps(names, ensure_ascii=False) for names in now],
        swapped=[json.dumps(names, ensure_ascii=False) for names in changed],
    )
    if "entities" not in table.columns:
        listed = [
            json.dumps(
                [[entity.name, entity.type] for entity in one], ensure_ascii=False
            )
            for one in found
        ]
        table = table.assign(entities=listed)
    return both(table, false, method)
