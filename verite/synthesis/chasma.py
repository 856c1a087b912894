"""CHASMA: truthful images beside the misleading captions of others that fit them best
(paper, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError, name_some
from verite.pairs import MISCAPTIONED, SPLITS, TRUE, downsample, validate
from verite.search import Search, cosines, nearest
from verite.synthesis.base import EXTRA, both, parts, truthful
from verite.synthesis.entities import plain

__all__ = ["PoolUse", "chasma", "chasma_d", "pool_use", "without_repeats"]

_DEPTH = 16  # neighbours looked at first where some of them may be excluded


class PoolUse(NamedTuple):
    """What CHASMA took from the pool."""

    retained: float
    """Share of the pool's misleading captions that stand in a pair, from 0 to 1."""
    counts: pd.Series
    """Number of pairs by ``donor_id``, the most used first."""


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
    ``p_image``, and else of cos(T, T_F), with p ~ U[0, 1] drawn for each pair (paper,
    section 3.3; there ``p_image`` is 0.5). The pool's split is kept: a caption of its
    training split stands in training pairs only. A caption that stands several times in
    the pool counts once, in the first of train, validation, test; one that reads like a
    truthful caption of ``pairs`` does not count. Where the pool is of the pairs' own
    data set, a pair never gets a caption of its own group.

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
        Beyond the paper: no caption whose cosine with the pair's own is this or more.
        It may be no misinformation at all.
    clickbait
        Beyond the paper: no caption for which this is true, such as one that tells
        nothing an image could contradict.
    top_k
        Beyond the paper: draw evenly among so many nearest, 1 or more.
    band
        Beyond the paper: only captions whose cosine lies from the first to the second
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
    by_image = rng.random(len(table)) < p_image
    chances = rng.random(len(table))
    donor = np.full(len(table), "", dtype=object)
    similarity = np.full(len(table), np.nan)
    for rows in parts(table):
        split = table.loc[rows[0], "split"]
        candidates = offered.index[offered["split"] == split]
        if candidates.empty:
            raise DataError(
                f"CHASMA: expected misleading captions for the split {split!r} of the"
                f" pairs, found a pool with {_splits_of(offered)}. Split the pool"
                " before, with grouped_split(), so that no caption stands on two"
                " sides."
            )
        for side, vectors, chosen in (
            ("image_id", images, rows[by_image[rows]]),
            ("text_id", texts, rows[~by_image[rows]]),
        ):
            if len(chosen) == 0:
                continue
            if vectors is None or (exclude_near is not None and texts is None):
                raise DataError(
                    "CHASMA: expected vectors of"
                    f" {'images' if side == 'image_id' else 'texts'}, found None."
                    " Encode them first."
                )
            own = table.iloc[chosen]
            found = _pick(
                vectors, own[side].to_numpy(), _home(own), texts, own["text_id"].to_numpy(), pool_texts, candidates.to_numpy(),
                _home(offered.loc[candidates]), chances[chosen],
                exclude_near=exclude_near, top_k=top_k, band=band, search=search,
            )  # fmt: skip
            donor[chosen], similarity[chosen] = found
    made = donor != ""
    given = offered.reindex(donor[made])
    false = table[made].assign(
        pair_id=table.loc[made, "pair_id"] + ":CHASMA",
        text_id=donor[made],
        caption=given["caption"].to_numpy(),
        label=MISCAPTIONED,
        method="CHASMA",
        donor_id=given["pair_id"].to_numpy(),
        similarity=similarity[made],
        by=np.where(by_image[made], "image", "text"),
    )
    if "entities" in false.columns:
        false["entities"] = (
            given["entities"].to_numpy() if "entities" in given.columns else "[]"
        )
    return both(table, false, "CHASMA")


def chasma_d(
    pairs: pd.DataFrame,
    images: Embeddings | None,
    texts: Embeddings | None,
    *,
    rng: np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """CHASMA-D: :func:`chasma`, then :func:`without_repeats`.

    It takes the same options.
    """
    return without_repeats(chasma(pairs, images, texts, rng=rng, **options), rng=rng)


def without_repeats(made: pd.DataFrame, *, rng: np.random.Generator) -> pd.DataFrame:
    """Drop repeated misleading captions of a CHASMA table, then truthful pairs until
    classes are equal in each split.

    Which pair keeps a caption is drawn, and so are the truthful pairs that stay:
    image-to-text and text-to-text cosines do not compare, so "the best pair" would
    favour one side.

    Returns
    -------
    pandas.DataFrame
        No ``donor_id`` stands twice, and each split has as many truthful as
        miscaptioned pairs (paper, section 3.3).
    """
    shuffled = made.sort_values("pair_id").iloc[rng.permutation(len(made))]
    false = (
        shuffled[shuffled["label"] != TRUE]
        .drop_duplicates("donor_id")
        .assign(method="CHASMA-D")
    )
    kept = pd.concat([shuffled[shuffled["label"] == TRUE], false]).sort_values(
        "pair_id"
    )
    sides = [
        downsample(kept.iloc[rows], seed=int(rng.integers(2**32)))
        for rows in parts(kept)
    ]
    return validate(
        pd.concat(sides).sort_values("pair_id"), where="CHASMA-D", extra=EXTRA
    )


def pool_use(made: pd.DataFrame, pool: pd.DataFrame) -> PoolUse:
    """How much of a pool a CHASMA table uses, and how often each caption.

    >>> made = pd.DataFrame({"label": ["true", "miscaptioned", "miscaptioned"], "donor_id": ["", "f1", "f1"]})
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
    rows = validate(
        pool, where="CHASMA's pool", extra=[str(name) for name in pool.columns]
    )
    rows = rows[rows["label"] != TRUE]
    if rows.empty:
        raise DataError(
            "CHASMA: expected a pool of misleading captions, found only pairs labelled"
            f" {TRUE!r}."
        )
    rows = rows.assign(reads=[plain(caption) or caption for caption in rows["caption"]])
    rows["order"] = [SPLITS.index(split) if split else 0 for split in rows["split"]]
    rows = (
        rows.sort_values(["order", "text_id", "pair_id"])
        .drop_duplicates("reads")
        .drop_duplicates("text_id")
    )
    true = {plain(caption) or caption for caption in table["caption"]}
    usable = ~rows["reads"].isin(true)
    if not usable.any():
        raise DataError(
            "CHASMA: every caption of the pool is a truthful caption of the pairs. Give"
            " captions of misleading posts."
        )
    if clickbait is not None:
        usable &= np.array([not clickbait(caption) for caption in rows["caption"]])
        if not usable.any():
            raise DataError(
                "CHASMA: `clickbait` is true for every caption of the pool, so none is"
                " left."
            )
    return rows[usable].drop(columns=["reads", "order"]).set_index("text_id")


def _pick(
    vectors: Embeddings,
    ids: np.ndarray,
    groups: np.ndarray,
    texts: Embeddings | None,
    text_ids: np.ndarray,
    pool_texts: Embeddings,
    candidates: np.ndarray,
    candidate_groups: np.ndarray,
    chances: np.ndarray,
    *,
    exclude_near: float | None,
    top_k: int,
    band: tuple[float, float] | None,
    search: Search,
) -> tuple[np.ndarray, np.ndarray]:
    """Id and cosine of one candidate for each query.

    An empty id where none is allowed.
    """
    low, high = (-np.inf, None) if band is None else band
    donor = np.full(len(ids), "", dtype=object)
    similarity = np.full(len(ids), np.nan)
    waiting = np.arange(len(ids))
    depth = top_k if exclude_near is None else max(top_k, _DEPTH)
    while len(waiting):
        depth = min(depth, len(candidates))
        found = search(
            vectors, pool_texts, depth, query_ids=ids[waiting], candidate_ids=candidates, query_groups=groups[waiting],
            candidate_groups=candidate_groups, highest=high,
        )  # fmt: skip
        allowed = found.similarities >= low  # false for NaN: there is no such neighbour
        if exclude_near is not None and texts is not None:
            row, place = allowed.nonzero()
            near = (
                cosines(
                    texts, text_ids[waiting[row]], pool_texts, found.ids[row, place]
                )
                >= exclude_near
            )
            allowed[row[near], place[near]] = False
        # Deeper neighbours can still be allowed if there are any, and if the last one
        # of these was not below the band.
        ended = (depth == len(candidates)) | ~(found.similarities[:, -1] >= low)
        count = np.minimum(allowed.sum(axis=1), top_k)
        done = ended | (count == top_k)
        drawn = np.minimum((chances[waiting] * count).astype(int), count - 1)
        place = (np.cumsum(allowed, axis=1) > drawn[:, None]).argmax(
            axis=1
        )  # of the allowed, the one numbered `drawn`
        taken = np.flatnonzero(done & (count > 0))
        donor[waiting[taken]] = found.ids[taken, place[taken]]
        similarity[waiting[taken]] = found.similarities[taken, place[taken]]
        waiting, depth = waiting[~done], depth * 4
    return donor, similarity


def _home(rows: pd.DataFrame) -> np.ndarray:
    """Group and data set of each row, for groups of two data sets have nothing in
    common.
    """
    return (rows["dataset"] + "\n" + rows["group"]).to_numpy(dtype=object)


def _splits_of(offered: pd.DataFrame) -> str:
    return name_some(
        f"{split or 'no split'}: {count:,}"
        for split, count in offered["split"].value_counts().items()
    )
