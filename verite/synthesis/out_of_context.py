"""Truthful images beside truthful captions of something else.

See the paper, sections 2.2 and 4.1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.pairs import OUT_OF_CONTEXT
from verite.search import Search, nearest
from verite.synthesis.base import (
    both,
    choose_sides,
    maker,
    nearest_donors,
    parts,
    truthful,
)

__all__ = ["cst", "nc_t2t", "rst"]

_TEXT_COLUMNS = ("text_id", "caption", "entities")
_IMAGE_COLUMNS = ("image_id", "image_path")


@maker("RSt", OUT_OF_CONTEXT)
def rst(
    pairs: pd.DataFrame,
    images: Embeddings | None = None,
    texts: Embeddings | None = None,
    *,
    rng: np.random.Generator,
    replace: str = "either",
) -> pd.DataFrame:
    """RSt: replace the image or the caption by a random one of the same topic.

    Parameters
    ----------
    pairs
        A pair table with a column ``topic``; only rows labelled true are used. Their
        order does not matter.
    images, texts
        Not used.
    replace
        ``"image"``, ``"caption"`` or ``"either"``: a fair coin per pair.

    Returns
    -------
    pandas.DataFrame
        Each truthful pair that has a donor, and behind it an out-of-context pair of its
        group and split. ``similarity`` is NaN.

    Raises
    ------
    DataError
        No pair has a donor; a topic is missing.
    ParameterError
        ``replace`` is unknown.

    >>> from verite import load
    >>> pairs = load("newsroom", preset="visualnews", events=60, encoder=None).pairs
    >>> rst(pairs, rng=np.random.default_rng(0))["label"].tolist()[:2]
    ['true', 'out-of-context']
    """
    table = truthful(pairs, "RSt", ["topic"])
    image = choose_sides("replace", replace, ("image", "caption"), len(table), rng)
    false = _mismatch(table, _random_donors(table, rng), image, "RSt")
    return both(table, false.assign(similarity=np.nan, by=""), "RSt")


@maker("CSt", OUT_OF_CONTEXT)
def cst(
    pairs: pd.DataFrame,
    images: Embeddings | None,
    texts: Embeddings | None,
    *,
    rng: np.random.Generator,
    by: str = "either",
    replace: str = "either",
    search: Search = nearest,
) -> pd.DataFrame:
    """CSt: like RSt, but with the nearest pair of the same topic.

    Parameters
    ----------
    pairs, replace
        As for :func:`rst`.
    images, texts
        Vectors by ``image_id`` and ``text_id``; those that ``by`` does not need may be
        None.
    by
        What must be near: ``"image"``, ``"text"`` or ``"either"``: a fair coin per
        pair.
    search
        How to find neighbours.

    Returns
    -------
    pandas.DataFrame
        As of :func:`rst`, with the donor's cosine as ``similarity`` and the side it was
        found by as ``by``.

    Raises
    ------
    DataError
        As for :func:`rst`, or vectors are missing.
    ParameterError
        ``by`` or ``replace`` is unknown.
    """
    table = truthful(pairs, "CSt", ["topic"])
    by_image = choose_sides("by", by, ("image", "text"), len(table), rng)
    image = choose_sides("replace", replace, ("image", "caption"), len(table), rng)
    topics = list(parts(table, "topic"))
    donors, similarities = nearest_donors(
        table, topics, by_image, (images, texts), "CSt", 1, search
    )
    table["similarity"] = similarities[:, 0]
    table["by"] = np.where(by_image, "image", "text")
    return both(table, _mismatch(table, donors[:, 0], image, "CSt"), "CSt")


@maker("NC-t2t", OUT_OF_CONTEXT)
def nc_t2t(
    pairs: pd.DataFrame,
    images: Embeddings | None,
    texts: Embeddings | None,
    *,
    rng: np.random.Generator | None = None,
    search: Search = nearest,
) -> pd.DataFrame:
    """NC-t2t: give each caption the image of the nearest caption of another group.

    This is the text-to-text rule of NewsCLIPpings.

    Parameters
    ----------
    pairs
        A pair table; only rows labelled true are used.
    images
        Not used.
    texts
        Vectors by ``text_id``.
    rng
        Not used: nothing is drawn.
    search
        How to find neighbours.

    Returns
    -------
    pandas.DataFrame
        Each caption once with its own image and once with another. ``similarity`` is
        the cosine of the two captions.

    Raises
    ------
    DataError
        No pair has a donor, or vectors are missing.
    """
    table = truthful(pairs, "NC-t2t")
    by_image = np.zeros(len(table), dtype=bool)
    donors, similarities = nearest_donors(
        table, list(parts(table)), by_image, (images, texts), "NC-t2t", 1, search
    )
    table["similarity"], table["by"] = similarities[:, 0], "text"
    return both(table, _mismatch(table, donors[:, 0], ~by_image, "NC-t2t"), "NC-t2t")


def _random_donors(table: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """For each row a row of the same topic and split, or -1.

    It is drawn evenly from those that the row is not bound to.
    """
    donors = np.full(len(table), -1)
    for rows in parts(table, "topic"):
        codes = pd.factorize(table["bound"].to_numpy()[rows])[0]
        order = np.argsort(codes, kind="stable")
        own, first = np.bincount(codes)[codes], np.searchsorted(codes[order], codes)
        others = len(rows) - own
        drawn = rng.integers(0, np.maximum(others, 1))
        drawn += np.where(drawn >= first, own, 0)  # skip the rows it is bound to
        possible = others > 0
        donors[rows[possible]] = rows[order[drawn[possible]]]
    return donors


def _mismatch(
    table: pd.DataFrame, donors: np.ndarray, image: np.ndarray, method: str
) -> pd.DataFrame:
    """Rows that have a donor, with its image where ``image`` is true, or its caption.

    All columns that belong to an image or a caption go with it.
    """
    possible = donors >= 0
    false, given = table[possible].copy(), table.iloc[donors[possible]]
    for columns, chosen in ((_IMAGE_COLUMNS, image), (_TEXT_COLUMNS, ~image)):
        for name in columns:
            if name in false.columns:
                new, old = (
                    part[name].to_numpy(dtype=object) for part in (given, false)
                )
                false[name] = np.where(chosen[possible], new, old)
    return false.assign(
        pair_id=false["pair_id"] + f":{method}",
        label=OUT_OF_CONTEXT,
        method=method,
        donor_id=given["pair_id"].to_numpy(),
    )
