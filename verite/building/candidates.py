"""Out-of-context candidates.

Images of a pool that look like an article's own and fit its caption, and are of another
context.

The authors searched the web with keywords and chose one image by eye (paper, section
3.2, step 4). This ranks a pool that one has, and leaves the choice, whether the
alignment deceives, to a person.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError
from verite.pairs import OUT_OF_CONTEXT, TRUE
from verite.search import Neighbours, cosines, nearest
from verite.search.question import check_kin

__all__ = ["SAME_PICTURE", "rank_candidates"]

SAME_PICTURE = 0.9
"""Cosine of two images from which on they count as one picture, which would make the
pair true.

On VERITE with either of the released encoders, 99 of 100 images that the authors chose
are below 0.89 of the article's own, and few other pictures are above 0.9. Another
encoder may crowd its vectors closer together and need another value.
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
    own image. *Another context*: no image of a true pair is a candidate, its own or
    another's, for it would then stand in three classes; nor is one whose cosine with
    the own image is ``same_picture`` or more.

    Parameters
    ----------
    pairs
        A pair table; its true pairs are the queries, and its out-of-context pairs say
        which image was chosen.
    images, texts
        Vectors by ``image_id``, those of the true pairs and of the pool, and by
        ``text_id``.
    k
        Candidates a pair.
    pool
        Ids of the images that may be candidates; all of ``images`` if None.

    Returns
    -------
    pandas.DataFrame
        At most ``k`` rows a true pair, best first: ``pair_id``, ``rank`` (from 1),
        ``image_id``, ``score`` (the sum, -2 to 2), ``to_caption`` and ``to_image``
        (cosines), ``fits_better`` (whether it is nearer to the caption than the own
        image is: look whether the pair may be true after all), ``chosen``.

    Raises
    ------
    DataError
        There is no true pair, a pair has no vector, vectors are of different encoders,
        or the pool is empty.
    ParameterError
        ``k`` is below 1.

    >>> pairs = pd.DataFrame([("p", "boat", "t", "true", "g")], columns=["pair_id", "image_id", "text_id", "label", "group"])
    >>> V = Embeddings(["boat", "ship", "copy", "dog"], np.array([[1, 0], [.8, .6], [.99, .01], [0, 1]], dtype=np.float32), encoder="toy")
    >>> T = Embeddings(["t"], np.array([[1, .2]], dtype=np.float32), encoder="toy")
    >>> rank_candidates(pairs, V, T)["image_id"].tolist()
    ['ship', 'dog']
    """
    if k < 1:
        raise ParameterError(f"expected 1 or more candidates a pair, found {k}.")
    check_kin(images, texts)
    true = pairs[pairs["label"] == TRUE]
    taken = set(true["image_id"])
    offered = [
        key for key in (images.ids if pool is None else pool) if key not in taken
    ]
    if true.empty or not offered:
        raise DataError(
            f"expected true pairs and a pool of other images, found {len(true):,} pairs"
            f" and {len(offered):,} images in {images.where}."
        )
    own, captions = list(true["image_id"]), list(true["text_id"])
    # The cosine of a candidate with the sum of two unit vectors ranks as the sum of its
    # cosines with both.
    queries = Embeddings(
        true["pair_id"],
        _unit(images.rows(own)) + _unit(texts.rows(captions)),
        encoder=images.encoder,
    )
    fits = cosines(texts, captions, images, own)
    chosen = _chosen(pairs)

    parts: list[pd.DataFrame] = []
    left, ask = np.arange(len(true)), min(k + 5, len(offered))
    while len(
        left
    ):  # until each has k candidates beside those that show the same picture
        found: Neighbours = nearest(
            queries,
            images,
            ask,
            query_ids=true["pair_id"].iloc[left],
            candidate_ids=offered,
        )
        ids = found.ids.ravel().tolist()
        at = np.repeat(left, ask)
        near = pd.DataFrame(
            {
                "pair_id": true["pair_id"].to_numpy()[at],
                "image_id": ids,
                "to_caption": cosines(
                    texts, [captions[row] for row in at], images, ids
                ),
                "to_image": cosines(images, [own[row] for row in at], images, ids),
            }
        )
        near["fits_better"] = near["to_caption"] > fits[at]
        near["at"] = at
        near = near[near["to_image"] < same_picture]
        near = near[near.groupby("at").cumcount() < k]
        enough = near.groupby("at").size().reindex(left, fill_value=0).to_numpy() >= k
        enough |= ask == len(offered)
        parts.append(near[near["at"].isin(left[enough])])
        left, ask = left[~enough], min(2 * ask, len(offered))

    ranked = pd.concat(parts).sort_values("at", kind="stable").reset_index(drop=True)
    ranked["score"] = ranked["to_caption"] + ranked["to_image"]
    ranked["rank"] = ranked.groupby("at").cumcount() + 1
    texts_of = dict(zip(true["pair_id"], captions, strict=True))
    picked = zip(ranked["pair_id"], ranked["image_id"], strict=True)
    ranked["chosen"] = [(texts_of[pair], image) in chosen for pair, image in picked]
    return ranked[
        [
            "pair_id",
            "rank",
            "image_id",
            "score",
            "to_caption",
            "to_image",
            "fits_better",
            "chosen",
        ]
    ]


def _chosen(pairs: pd.DataFrame) -> set[tuple[str, str]]:
    """Captions with the out-of-context image that they have already."""
    rows = pairs[pairs["label"] == OUT_OF_CONTEXT]
    return set(zip(rows["text_id"], rows["image_id"], strict=True))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
