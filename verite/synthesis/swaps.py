"""Captions in which named entities are swapped for others of the same type.

See the paper, sections 2.2 and 4.1. A swap never brings in an entity that the caption
already has, under whatever spelling. The column ``swapped`` lists swaps as JSON, [old,
new, type]; :func:`verite.synthesis.made_share` is the share of captions with a swap.
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
from verite.synthesis.base import (
    both,
    choose_sides,
    maker,
    nearest_donors,
    no_vectors,
    parts,
    truthful,
)
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


@maker("R-NESt", MISCAPTIONED)
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
        Not used.
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
    >>> pairs = load("newsroom", preset="visualnews", events=60, encoder=None).pairs
    >>> made = r_nest(pairs, rng=np.random.default_rng(0))
    >>> [[old, new, kind]] = json.loads(made["swapped"][1])
    >>> old in made["caption"][0], new in made["caption"][1]
    (True, True)
    """
    table = truthful(pairs, "R-NESt", ["topic"])
    mentions = _read(pairs, table, entities)
    bound = table["bound"].to_numpy()
    swaps = []
    for rows in parts(table, "topic"):
        by_type: dict[str, list[tuple[int, str]]] = {}
        for row in rows:
            for entity in mentions[row]:
                by_type.setdefault(entity.type, []).append((row, entity.name))
        for row in rows:
            swap = _random_swap(row, mentions[row], by_type, bound, rng)
            if swap is not None:
                swaps.append(swap)
    return _apply(table, mentions, swaps, "R-NESt")


@maker("CLIP-NESt", MISCAPTIONED)
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
    """CLIP-NESt: swap one entity for one of its type in a near pair of the topic.

    Parameters
    ----------
    pairs, entities
        As for :func:`r_nest`.
    images, texts
        Vectors by ``image_id`` and ``text_id``; those that ``by`` does not need may be
        None.
    by
        What must be near: ``"image"``, ``"text"`` or ``"either"``: a fair coin per
        pair.
    neighbours
        How many of the nearest to try, 1 or more, until one has a fitting entity.
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
    mentions = _read(pairs, table, entities)
    by_image = choose_sides("by", by, ("image", "text"), len(table), rng)
    topics, k = list(parts(table, "topic")), min(neighbours, len(table))
    donors, similarities = nearest_donors(
        table, topics, by_image, (images, texts), "CLIP-NESt", k, search
    )
    swaps = []
    for row, side in enumerate(np.where(by_image, "image", "text")):
        for donor, similarity in zip(donors[row], similarities[row], strict=True):
            if donor < 0:
                continue
            if names := _match(mentions[row], mentions[donor], rng)[:1]:
                swaps.append(_Swap(row, donor, dict(names), similarity, str(side)))
                break
    return _apply(table, mentions, swaps, "CLIP-NESt")


@maker("MEIR", MISCAPTIONED)
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
    """MEIR, by its idea: swap two or more entities for those of one similar pair.

    Clusters form within a split around pairs drawn at random: each pair joins the
    nearest of them. The donor is of the same cluster.

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
        Which entities are swapped; by default those that MEIR manipulates: people,
        places and organisations.
    cluster_size
        Average number of pairs per cluster, 2 or more.
    search
        How to find neighbours.

    Returns
    -------
    pandas.DataFrame
        As of :func:`r_nest`; ``similarity`` is the cosine of the two pairs' images or
        captions. Captions for which no member of the cluster has two fitting entities
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
        raise no_vectors("MEIR", by)
    table = truthful(pairs, "MEIR")
    mentions = _read(pairs, table, entities)
    ids, bound = table[side].to_numpy(), table["bound"].to_numpy()
    swaps = []
    for rows in parts(table):
        for members in _clusters(rows, ids[rows], vectors, cluster_size, rng, search):
            for row in members:
                own = [entity for entity in mentions[row] if entity.type in types]
                if len(own) < 2:
                    continue
                for donor in members[rng.permutation(len(members))]:
                    if bound[donor] == bound[row]:
                        continue
                    names = _match(own, mentions[donor], rng, mentions[row])
                    if len(names) > 1:
                        swaps.append(_Swap(row, donor, dict(names), by=by))
                        break
    own_ids = [ids[swap.row] for swap in swaps]
    donor_ids = [ids[swap.donor] for swap in swaps]
    near = cosines(vectors, own_ids, vectors, donor_ids)
    swaps = [s._replace(similarity=c) for s, c in zip(swaps, near, strict=True)]
    return _apply(table, mentions, swaps, "MEIR")


def _read(
    pairs: pd.DataFrame, table: pd.DataFrame, source: Source
) -> list[list[Entity]]:
    """Entities of each row of ``table``; their column in ``pairs`` has any name."""
    if isinstance(source, str) and source in pairs.columns.difference(table.columns):
        cells = pairs.set_index(pairs["pair_id"].astype("str"))[source]
        table = table.assign(**{source: cells.reindex(table["pair_id"]).to_numpy()})
    return read(table, source)


def _random_swap(
    row: int,
    own: Sequence[Entity],
    by_type: dict[str, list[tuple[int, str]]],
    bound: np.ndarray,
    rng: np.random.Generator,
) -> _Swap | None:
    for at in rng.permutation(len(own)):
        offered = by_type[own[at].type]
        for place in _any_order(len(offered), rng):
            donor, new = offered[place]
            if bound[donor] != bound[row] and _is_new(new, own):
                return _Swap(row, donor, {own[at]: new})
    return None


def _any_order(count: int, rng: np.random.Generator) -> Iterator[int]:
    """Places in random order, some perhaps repeated.

    A few draws nearly always suffice, so that a million need no shuffling.
    """
    yield from rng.integers(0, count, size=8)
    yield from rng.permutation(count)


def _match(
    own: Sequence[Entity],
    given: Sequence[Entity],
    rng: np.random.Generator,
    known: Sequence[Entity] | None = None,
) -> list[tuple[Entity, str]]:
    """Match entities with those of a donor of the same type, in random order.

    No new name is used twice, and none that is ``known`` (by default ``own``).
    """
    taken: list[str] = []
    matched = []
    for at in rng.permutation(len(own)):
        for place in rng.permutation(len(given)):
            new = given[place]
            if (
                new.type == own[at].type
                and _is_new(new.name, known or own)
                and not any(same_entity(new.name, name) for name in taken)
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
    unique = np.unique(ids.astype("str")).astype(object)
    count = min(len(unique), max(1, round(len(rows) / size)))
    centres = np.sort(rng.choice(unique, count, replace=False))
    found = search(vectors, vectors, 1, query_ids=ids, candidate_ids=centres)
    for centre in centres:
        yield rows[found.ids[:, 0] == centre]


def _apply(
    table: pd.DataFrame,
    mentions: Sequence[Sequence[Entity]],
    swaps: Iterable[_Swap],
    method: str,
) -> pd.DataFrame:
    """Table with a swapped caption behind each true one."""
    if not any(mentions):
        raise DataError(
            f"{method}: expected captions that mention entities, found none in"
            f" {len(table):,} captions."
        )
    swaps = sorted(swaps, key=lambda swap: swap.row)
    false = table.iloc[[swap.row for swap in swaps]]
    new_id, pair_ids = false["pair_id"] + f":{method}", table["pair_id"].to_numpy()
    captions = zip(false["caption"], swaps, strict=True)
    false = false.assign(
        pair_id=new_id,
        text_id=new_id,
        caption=[replace(caption, swap.names) for caption, swap in captions],
        label=MISCAPTIONED,
        method=method,
        donor_id=[pair_ids[swap.donor] for swap in swaps],
        similarity=[swap.similarity for swap in swaps],
        by=[swap.by for swap in swaps],
        entities=[
            _json([swap.names.get(e, e.name), e.type] for e in mentions[swap.row])
            for swap in swaps
        ],
        swapped=[
            _json([e.name, new, e.type] for e, new in swap.names.items())
            for swap in swaps
        ],
    )
    if "entities" not in table.columns:
        listed = [_json([e.name, e.type] for e in own) for own in mentions]
        table = table.assign(entities=listed)
    return both(table, false, method)


def _json(rows: Iterable[list[str]]) -> str:
    return json.dumps(list(rows), ensure_ascii=False)
