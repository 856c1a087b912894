"""Truthful images beside truthful captions of something else (paper, sections 2.2 and
4.1).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.pairs import OUT_OF_CONTEXT
from verite.search import Search, nearest
from verite.synthesis.base import both, choose_sides, nearest_donors, parts, truthful

__all__ = ["cst", "nc_t2t", "rst"]

_TEXT_COLUMNS = ("text_id", "caption", "entities")
_IMAGE_COLUMNS = ("image_id", "image_path")


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
        Not looked at.
    replace
        ``"image"``, ``"caption"`` or ``"either"``: a fair coin for each pair.

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
    >>> made = rst(load("newsroom", preset="visualnews", events=60, encoder=None).pairs, rng=np.random.default_rng(0))
    >>> made["label"].tolist()[:2], made["method"].tolist()[:2]
    (['true', 'out-of-context'], ['', 'RSt'])
    """
    table = truthful(pairs, "RSt", ["topic"])
    image = choose_sides("replace", replace, ("image", "caption"), len(table), rng)
    donors = _random_donors(table, rng)
    return _mismatch(
        table,
        donors,
        np.full(len(table), np.nan),
        image,
        np.full(len(table), ""),
        "RSt",
    )


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
    """CSt: replace the image or the caption by that of the nearest pair of the same
    topic.

    Parameters
    ----------
    pairs, replace
        As for :func:`rst`.
    images, texts
        Vectors by ``image_id`` and ``text_id``; those that ``by`` does not need may be
        None.
    by
        What must be near: ``"image"``, ``"text"`` or ``"either"``: a fair coin for each
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
    donors, similarity = nearest_donors(
        table,
        list(parts(table, "topic")),
        by_image,
        images,
        texts,
        method="CSt",
        k=1,
        search=search,
    )
    return _mismatch(
        table,
        donors[:, 0],
        similarity[:, 0],
        image,
        np.where(by_image, "image", "text"),
        "CSt",
    )


def nc_t2t(
    pairs: pd.DataFrame,
    images: Embeddings | None,
    texts: Embeddings | None,
    *,
    rng: np.random.Generator | None = None,
    search: Search = nearest,
) -> pd.DataFrame:
    """NC-t2t: give each caption the image of the nearest caption of another group (the
    text-to-text rule of NewsCLIPpings).

    Parameters
    ----------
    pairs
        A pair table; only rows labelled true are used.
    images
        Not looked at.
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
    text = np.zeros(len(table), dtype=bool)
    donors, similarity = nearest_donors(
        table,
        list(parts(table)),
        text,
        images,
        texts,
        method="NC-t2t",
        k=1,
        search=search,
    )
    return _mismatch(
        table,
        donors[:, 0],
        similarity[:, 0],
        ~text,
        np.full(len(table), "text"),
        "NC-t2t",
    )


def _random_donors(table: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """For each row a row of the same topic and split, drawn evenly from those that it
    is not bound to; -1 where there is none.
    """
    donors = np.full(len(table), -1)
    for rows in parts(table, "topic"):
        codes = pd.factorize(table["bound"].to_numpy()[rows])[0]
        order = np.argsort(codes, kind="stable")
        own, first = np.bincount(codes)[codes], np.searchsorted(codes[order], codes)
        others = len(rows) - own
        drawn = rng.integers(0, np.maximum(others, 1))
        drawn += np.where(drawn >= first, own, 0)  # step over the rows of one's own
        possible = others > 0
        donors[rows[possible]] = rows[order[drawn[possible]]]
    return donors


def _mismatch(
    table: pd.DataFrame,
    donors: np.ndarray,
    similarity: np.ndarray,
    image: np.ndarray,
    by: np.ndarray,
    method: str,
) -> pd.DataFrame:
    """Take the image of the donor where ``image`` is true, and else its caption with
    all that goes with one.
    """
    made = donors >= 0
    false = table[made].copy()
    given = table.iloc[donors[made]]
    for columns, taken in (
        (_IMAGE_COLUMNS, image[made]),
        (_TEXT_COLUMNS, ~image[made]),
    ):
        for name in columns:
            if name in false.columns:
                false[name] = np.where(
                    taken,
                    given[name].to_numpy(dtype=object),
                    false[name].to_numpy(dtype=object),
                )
    false = false.assign(
        pair_id=false["pair_id"] + f":{method}",
        label=OUT_OF_CONTEXT,
        method=method,
        donor_id=given["pair_id"].to_numpy(),
        similarity=similarity[made],
        by=by[made],
    )
    return both(table, false, method)
