"""The paper's training sets by name (sections 3.3 and 4.1).

They are made from one table of truthful pairs and one of posts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from verite.dataset import Dataset
from verite.embeddings import Embeddings, concatenate
from verite.errors import MissingDataError
from verite.synthesis import MAKERS, aggregate, maker_named
from verite.synthesis.base import split_name

__all__ = ["POSTS", "TrainingSets", "training_sets"]

POSTS = "Fakeddit"
"""Name of the set that is not made: the posts themselves."""


class TrainingSets(NamedTuple):
    """Pair tables by name, and vectors of all their images and captions."""

    tables: Mapping[str, pd.DataFrame]
    images: Embeddings
    texts: Embeddings

    def tokens(self, pairs: pd.DataFrame) -> np.ndarray:
        """Vectors of image and caption of each pair.

        ``(len(pairs), 2, dimensions)``, float32.
        """
        images = self.images.rows(pairs["image_id"])
        return np.stack([images, self.texts.rows(pairs["text_id"])], axis=1)


def training_sets(
    names: Sequence[str],
    truths: Dataset,
    posts: Dataset,
    *,
    seed: int,
    encode: Callable[[dict[str, str]], Embeddings],
    beside: Sequence[Dataset] = (),
) -> TrainingSets:
    """Make training sets by the names that the paper prints.

    Each maker has a random generator of its own, so a set is the same alone and in an
    aggregate.

    Parameters
    ----------
    names
        ``"R-NESt"``, ``"Fakeddit"`` (the posts as they are), or joined, ``"R-NESt +
        CHASMA-D + NC-t2t"``. Of joined ones exactly one makes out-of-context pairs;
        their training split is balanced by dropping pairs.
    truths
        Truthful pairs with splits, topics and entities, and vectors.
    posts
        Pairs with splits and vectors; CHASMA takes captions of its misleading ones.
    seed
        Of all draws.
    encode
        Returns vectors for captions by id; called once, for those that makers wrote.
    beside
        Data sets whose vectors are included as well: those that detectors are tested
        on.

    Raises
    ------
    ParameterError
        A name is unknown, or a joined set has not one maker of out-of-context pairs.
    MissingDataError
        A data set comes without vectors.
    """
    members = {name: split_name(name) for name in names}
    vectors = [_vectors(data) for data in (truths, posts, *beside)]
    made = {
        part: _make(part, truths, posts, seed)
        for part in dict.fromkeys(part for both in members.values() for part in both)
    }
    tables = {}
    for name, parts in members.items():
        tables[name] = made[parts[0]]
        if len(parts) > 1:
            rng = np.random.default_rng([seed, len(MAKERS)])
            tables[name] = aggregate(*(made[part] for part in parts), rng=rng)
    known = {text_id for _, texts in vectors for text_id in texts.ids}
    new = {
        text_id: caption
        for table in made.values()
        for text_id, caption in zip(table["text_id"], table["caption"], strict=True)
        if text_id not in known
    }
    texts = [texts for _, texts in vectors] + ([encode(new)] if new else [])
    images = [images for images, _ in vectors]
    return TrainingSets(tables, concatenate(images), concatenate(texts))


def _make(name: str, truths: Dataset, posts: Dataset, seed: int) -> pd.DataFrame:
    if name == POSTS:
        return posts.pairs
    make = maker_named(name)
    pool = {"pool": posts.pairs, "pool_texts": posts.texts} if make.uses_pool else {}
    rng = np.random.default_rng([seed, list(MAKERS).index(name)])
    return make(truths.pairs, truths.images, truths.texts, rng=rng, **pool)


def _vectors(data: Dataset) -> tuple[Embeddings, Embeddings]:
    if data.images is None or data.texts is None:
        raise MissingDataError(
            f"{data.name} comes without vectors of images and texts. Encode its files"
            " first."
        )
    return data.images, data.texts
