"""Candidates for out-of-context images.

The authors searched the web with keywords and chose one image by eye (paper, section
3.2, step 4). This ranks a pool of images; whether one deceives is left to a person.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError
from verite.pairs import OUT_OF_CONTEXT, TRUE
from verite.search import cosines, nearest
from verite.search.question import check_kin

__all__ = ["SAME_PICTURE", "rank_candidates"]

SAME_PICTURE = 0.9
"""Cosine from which on two images count as one picture, which would make the pair true.

On VERITE with either of the released encoders, 99 of 100 images that the authors chose
are below 0.89 of the article's own, and few other pictures are above 0.9. Another
encoder may need another value.
"""


def rank_candidates(
    pairs: pd.DataFrame,
    images: Embeddings,
    texts: Embeddings,
    k: int = 10,
    *,
    pool: Iterable[str] | None = None,
    same_picture: float = SAME_PICTURE,
) -> pd.DataFrame:
    """Rank a pool of images for each true pair: alike, but of another context.

    *Alike*: by the sum of two cosines, candidate to caption and candidate to the pair's
    own image. *Another context*: no image of any true pair is a candidate, for it would
    be in three classes; nor is one whose cosine with the own image is ``same_picture``
    or more.

    Parameters
    ----------
    pairs
        A pair table; its true pairs are the queries, and its out-of-context pairs say
        which image was chosen.
    images, texts
        Vectors by ``image_id``, those of the true pairs and of the pool, and by
        ``text_id``.
    k
        Candidates per pair.
    pool
        Ids of the images that may be candidates; all of ``images`` if None.

    Returns
    -------
    pandas.DataFrame
        At most ``k`` rows per true pair, best first: ``pair_id``, ``rank`` (from 1),
        ``image_id``, ``score`` (the sum, -2 to 2), ``to_caption`` and ``to_image``
        (cosines), ``fits_better`` (it is nearer to the caption than the own image is,
        so the pair may be true after all), ``chosen``.

    Raises
    ------
    DataError
        There is no true pair, a pair has no vector, vectors are of different encoders,
        or the pool is empty.
    ParameterError
        ``k`` is below 1.

    >>> names = ["pair_id", "image_id", "text_id", "label"]
    >>> pairs = pd.DataFrame([("p", "boat", "t", "true")], columns=names)
    >>> V = np.array([[1, 0], [.8, .6], [.99, .01], [0, 1]], dtype=np.float32)
    >>> V = Embeddings(["boat", "ship", "copy", "dog"], V, encoder="toy")
    >>> T = Embeddings(["t"], np.array([[1, .2]], dtype=np.float32), encoder="toy")
    >>> rank_candidates(pairs, V, T)["image_id"].tolist()
    ['ship', 'dog']
    """
    if k < 1:
        raise ParameterError(f"expected 1 or more candidates per pair, found {k}.")
    check_kin(images, texts)
    true = pairs[pairs["label"] == TRUE]
    taken = set(true["image_id"])
    offered = [x for x in (images.ids if pool is None else pool) if x not in taken]
    if true.empty or not offered:
        raise DataError(
            f"expected true pairs and a pool of other images, found {len(true):,} pairs"
            f" and {len(offered):,} images in {images.where}."
        )
    pair_ids, own, captions = (
        true[name].to_numpy() for name in ("pair_id", "image_id", "text_id")
    )
    # The cosine of a candidate with the sum of two unit vectors ranks as the sum of its
    # cosines with both.
    both = _unit(images.rows(own)) + _unit(texts.rows(captions))
    queries = Embeddings(pair_ids, both, encoder=images.encoder)
    fits = cosines(texts, captions, images, own)
    parts: list[pd.DataFrame] = []
    left, depth = np.arange(len(true)), min(k + 5, len(offered))
    # Go deeper until each has k candidates beside those that show the same picture.
    while len(left):
        found = nearest(
            queries, images, depth, query_ids=pair_ids[left], candidate_ids=offered
        )
        ids, at = found.ids.ravel(), np.repeat(left, depth)
        near = pd.DataFrame(
            {
                "at": at,
                "pair_id": pair_ids[at],
                "image_id": ids,
                "to_caption": cosines(texts, captions[at], images, ids),
                "to_image": cosines(images, own[at], images, ids),
            }
        )
        near = near[near["to_image"] < same_picture]
        near = near[near.groupby("at").cumcount() < k]
        sizes = near.groupby("at").size().reindex(left, fill_value=0).to_numpy()
        enough = (sizes >= k) | (depth == len(offered))
        parts.append(near[near["at"].isin(left[enough])])
        left, depth = left[~enough], min(2 * depth, len(offered))

    ranked = pd.concat(parts).sort_values("at", kind="stable").reset_index(drop=True)
    at = ranked["at"].to_numpy()
    ranked["fits_better"] = ranked["to_caption"] > fits[at]
    ranked["score"] = ranked["to_caption"] + ranked["to_image"]
    ranked["rank"] = ranked.groupby("at").cumcount() + 1
    rows = pairs[pairs["label"] == OUT_OF_CONTEXT]
    chosen = set(zip(rows["text_id"], rows["image_id"], strict=True))
    candidates = zip(captions[at], ranked["image_id"], strict=True)
    ranked["chosen"] = [candidate in chosen for candidate in candidates]
    order = "pair_id rank image_id score to_caption to_image fits_better chosen"
    return ranked[order.split()]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
