"""CHASMA: truthful images beside the misleading captions of others that fit them best.

See the paper, section 3.3.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError, name_some
from verite.pairs import MISCAPTIONED, SPLITS, TRUE, downsample, validate
from verite.search import Search, cosines, nearest
from verite.synthesis.base import EXTRA, both, maker, no_vectors, parts, truthful
from verite.synthesis.entities import plain

__all__ = ["PoolUse", "chasma", "chasma_d", "pool_use", "without_repeats"]

_DEPTH = 16  # neighbours looked at first where some of them may be excluded


class PoolUse(NamedTuple):
    """What CHASMA took from the pool."""

    retained: float
    """Share of the pool's misleading captions that are in a pair, from 0 to 1."""
    counts: pd.Series
    """Number of pairs by ``donor_id``, the most used first."""


@maker("CHASMA", MISCAPTIONED)
def chasma(
    pairs: pd.DataFrame,
    images: Embeddings | None,
    texts: Embeddings | None,
    *,
    rng: np.random.Generator,
    pool: pd.DataFrame,
    pool_texts: Embeddings,
    p_image: float = 0.5,
    exclude_near: float | None = None,
    clickbait: Callable[[str], bool] | None = None,
    top_k: int = 1,
    band: tuple[float, float] | None = None,
    search: Search = nearest,
) -> pd.DataFrame:
    """CHASMA: give each truthful image the nearest misleading caption of a pool.

    For a truthful pair with the embeddings V (image) and T (caption) and the captions
    C_F of the pool, the false caption is argmax over C_F of cos(V, T_F) where p <
    ``p_image``, and else of cos(T, T_F), with p ~ U[0, 1] drawn per pair (paper,
    section 3.3; there ``p_image`` is 0.5). A caption of the pool's training split is
    used in training pairs only. A caption that repeats in the pool counts once, in the
    first of train, validation, test; one that reads like a truthful caption of
    ``pairs`` does not count. Where the pool is of the pairs' own data set, a pair never
    gets a caption of its own group.

    Parameters
    ----------
    pairs
        A pair table; only rows labelled true are used.
    images, texts
        Vectors by ``image_id`` and ``text_id``; images may be None if ``p_image`` is 0,
        and texts if it is 1 and ``exclude_near`` None.
    pool
        A pair table; only rows not labelled true are used. Split it as ``pairs`` is
        split.
    pool_texts
        Vectors by the pool's ``text_id``, of the same encoder.
    p_image
        Chance of image-to-text, 0 to 1; the rest is text-to-text.
    exclude_near
        Not in the paper: no caption whose cosine with the pair's own is this or more,
        for it may be true.
    clickbait
        Not in the paper: no caption for which this is true, such as one that says
        nothing an image could contradict.
    top_k
        Not in the paper: draw evenly among this many nearest, 1 or more.
    band
        Not in the paper: only captions whose cosine is from the first to the second
        number, both included.
    search
        How to find neighbours.

    Returns
    -------
    pandas.DataFrame
        Each truthful pair, and behind it a miscaptioned pair of its group and split.
        ``donor_id`` is a ``pair_id`` of the pool, ``similarity`` the cosine that was
        ranked by, ``by`` the side (image or text) it was of. Pairs for which the
        options leave no caption are left out: see :func:`verite.synthesis.made_share`.

    Raises
    ------
    DataError
        Vectors are missing or of another encoder; the pool has no caption for a split
        of ``pairs``; no pair could be made.
    ParameterError
        An option is out of range.
    """
    if not 0 <= p_image <= 1:
        raise ParameterError(f"CHASMA: expected p_image from 0 to 1, found {p_image}.")
    if top_k < 1:
        raise ParameterError(f"CHASMA: expected top_k of 1 or more, found {top_k}.")
    if band is not None and not band[0] <= band[1]:
        raise ParameterError(f"CHASMA: expected a band from low to high, found {band}.")
    table = truthful(pairs, "CHASMA")
    offered = _misleading(pool, table, clickbait)
    choice = _Choice(texts, pool_texts, exclude_near, top_k, band, search)
    by_image = rng.random(len(table)) < p_image
    chances = rng.random(len(table))
    donor = np.full(len(table), "", dtype=object)
    similarity = np.full(len(table), np.nan)
    for rows in parts(table):
        split = table.loc[rows[0], "split"]
        candidates = offered[offered["split"] == split]
        if candidates.empty:
            counts = offered["split"].value_counts().items()
            splits = name_some(f"{key or 'no split'}: {n:,}" for key, n in counts)
            raise DataError(
                f"CHASMA: expected misleading captions for the split {split!r} of the"
                f" pairs, found a pool with {splits}. Split the pool before, with"
                " grouped_split(), so that no caption is on two sides."
            )
        for side, vectors, chosen in (
            ("image", images, rows[by_image[rows]]),
            ("text", texts, rows[~by_image[rows]]),
        ):
            if len(chosen) == 0:
                continue
            if vectors is None or (exclude_near is not None and texts is None):
                raise no_vectors("CHASMA", side if vectors is None else "text")
            own = table.iloc[chosen]
            ids = own[f"{side}_id"].to_numpy()
            donor[chosen], similarity[chosen] = choice.pick(
                vectors, ids, own, candidates, chances[chosen]
            )
    possible = donor != ""
    given = offered.reindex(donor[possible])
    false = table[possible].assign(
        pair_id=table.loc[possible, "pair_id"] + ":CHASMA",
        text_id=donor[possible],
        caption=given["caption"].to_numpy(),
        label=MISCAPTIONED,
        method="CHASMA",
        donor_id=given["pair_id"].to_numpy(),
        similarity=similarity[possible],
        by=np.where(by_image[possible], "image", "text"),
    )
    if "entities" in false.columns:
        listed = "entities" in given.columns
        false["entities"] = given["entities"].to_numpy() if listed else "[]"
    return both(table, false, "CHASMA")


@maker("CHASMA-D", MISCAPTIONED)
@functools.wraps(chasma, assigned=())  # it has the same parameters
def chasma_d(
    pairs: pd.DataFrame,
    images: Embeddings | None,
    texts: Embeddings | None,
    *,
    rng: np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """CHASMA-D: :func:`chasma`, with the same options, then :func:`without_repeats`."""
    return without_repeats(chasma(pairs, images, texts, rng=rng, **options), rng=rng)


def without_repeats(made: pd.DataFrame, *, rng: np.random.Generator) -> pd.DataFrame:
    """Keep each misleading caption of a CHASMA table once, and balance each split.

    Which pair keeps a caption is drawn, and so are the truthful pairs that stay. (The
    best pair is not kept: image-to-text and text-to-text cosines do not compare, so
    that would favour one side.)

    Returns
    -------
    pandas.DataFrame
        Each ``donor_id`` once, and as many truthful as miscaptioned pairs in each split
        (paper, section 3.3).
    """
    shuffled = made.sort_values("pair_id").iloc[rng.permutation(len(made))]
    true = shuffled["label"] == TRUE
    false = shuffled[~true].drop_duplicates("donor_id").assign(method="CHASMA-D")
    rows = pd.concat([shuffled[true], false]).sort_values("pair_id")
    splits = [
        downsample(rows.iloc[part], seed=int(rng.integers(2**32)))
        for part in parts(rows)
    ]
    table = pd.concat(splits).sort_values("pair_id")
    return validate(table, where="CHASMA-D", extra=EXTRA)


def pool_use(made: pd.DataFrame, pool: pd.DataFrame) -> PoolUse:
    """How much of a pool a CHASMA table uses, and how often each caption.

    >>> labels = ["true", "miscaptioned", "miscaptioned"]
    >>> made = pd.DataFrame({"label": labels, "donor_id": ["", "f1", "f1"]})
    >>> use = pool_use(made, pd.DataFrame({"label": ["misinformation"] * 4}))
    >>> use.retained, use.counts.to_dict()
    (0.25, {'f1': 2})
    """
    counts = made.loc[made["label"] != TRUE, "donor_id"].value_counts()
    return PoolUse(len(counts) / int((pool["label"] != TRUE).sum()), counts)


def _misleading(
    pool: pd.DataFrame, table: pd.DataFrame, clickbait: Callable[[str], bool] | None
) -> pd.DataFrame:
    """Captions of the pool that may be used, each once, by ``text_id``."""
    extra = [str(name) for name in pool.columns]
    rows = validate(pool, where="CHASMA's pool", extra=extra)
    rows = rows[rows["label"] != TRUE]
    if rows.empty:
        raise DataError(
            "CHASMA: expected a pool of misleading captions, found only pairs labelled"
            f" {TRUE!r}."
        )
    rows = rows.assign(
        reads=[plain(caption) or caption for caption in rows["caption"]],
        order=[SPLITS.index(split) if split else 0 for split in rows["split"]],
    )
    rows = rows.sort_values(["order", "text_id", "pair_id"])
    rows = rows.drop_duplicates("reads").drop_duplicates("text_id")
    true = {plain(caption) or caption for caption in table["caption"]}
    rows = rows[~rows["reads"].isin(true)]
    if rows.empty:
        raise DataError(
            "CHASMA: every caption of the pool is a truthful caption of the pairs. Give"
            " captions of misleading posts."
        )
    if clickbait is not None:
        rows = rows[[not clickbait(caption) for caption in rows["caption"]]]
        if rows.empty:
            raise DataError(
                "CHASMA: `clickbait` is true for every caption of the pool."
            )
    return rows.drop(columns=["reads", "order"]).set_index("text_id")


@dataclass(frozen=True)
class _Choice:
    """How one caption is chosen among the near ones."""

    texts: Embeddings | None
    pool_texts: Embeddings
    exclude_near: float | None
    top_k: int
    band: tuple[float, float] | None
    search: Search

    def pick(
        self,
        vectors: Embeddings,
        ids: np.ndarray,
        own: pd.DataFrame,
        candidates: pd.DataFrame,
        chances: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Id and cosine of a candidate per query; an empty id where none is allowed."""
        low, high = self.band or (-np.inf, None)
        donor = np.full(len(ids), "", dtype=object)
        similarity = np.full(len(ids), np.nan)
        text_ids, groups = own["text_id"].to_numpy(), _home(own)
        left = np.arange(len(ids))
        depth = self.top_k
        if self.exclude_near is not None:
            depth = max(depth, _DEPTH)
        while len(left):
            depth = min(depth, len(candidates))
            found = self.search(
                vectors,
                self.pool_texts,
                depth,
                query_ids=ids[left],
                candidate_ids=candidates.index.to_numpy(),
                query_groups=groups[left],
                candidate_groups=_home(candidates),
                highest=high,
            )
            allowed = found.similarities >= low  # false for NaN: no such neighbour
            if self.exclude_near is not None and self.texts is not None:
                row, place = allowed.nonzero()
                near = cosines(
                    self.texts,
                    text_ids[left[row]],
                    self.pool_texts,
                    found.ids[row, place],
                )
                allowed[row, place] = near < self.exclude_near
            # Deeper neighbours can still be allowed if there are any, and if the last
            # one of these was not below the band.
            ended = (depth == len(candidates)) | ~(found.similarities[:, -1] >= low)
            count = np.minimum(allowed.sum(axis=1), self.top_k)
            ended |= count == self.top_k
            # Of the allowed ones, take the one with the number that was drawn.
            drawn = np.minimum((chances[left] * count).astype(int), count - 1)
            place = (np.cumsum(allowed, axis=1) > drawn[:, None]).argmax(axis=1)
            row = np.flatnonzero(ended & (count > 0))
            donor[left[row]] = found.ids[row, place[row]]
            similarity[left[row]] = found.similarities[row, place[row]]
            left, depth = left[~ended], depth * 4
        return donor, similarity


def _home(rows: pd.DataFrame) -> np.ndarray:
    """Data set and group, for groups of two data sets have nothing in common."""
    return (rows["dataset"] + "\n" + rows["group"]).to_numpy(dtype=object)
