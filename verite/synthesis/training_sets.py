"""The paper's training sets by name, made from one table of truthful pairs and one of
posts (sections 3.3 and 4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from verite.dataset import Dataset
from verite.embeddings import Embeddings, concatenate
from verite.errors import MissingDataError, ParameterError
from verite.synthesis import MAKERS, aggregate, maker_named

__all__ = ["POSTS", "TrainingSets", "training_sets"]

POSTS = "Fakeddit"
"""Name of the set that is not made: the posts themselves."""

_OUT_OF_CONTEXT = ("RSt", "CSt", "NC-t2t")


class TrainingSets(NamedTuple):
    """Pair tables by name, and vectors by ``image_id`` and ``text_id`` of all that
    stands in them.
    """

    tables: Mapping[str, pd.DataFrame]
    images: Embeddings
    texts: Embeddings

    def tokens(self, pairs: pd.DataFrame) -> np.ndarray:
        """Vectors of image and caption of each pair.

        ``(len(pairs), 2, dimensions)``, float32.
        """
        return np.stack(
            [self.images.rows(pairs["image_id"]), self.texts.rows(pairs["text_id"])],
            axis=1,
        )


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
        Decides all draws.
    encode
        Gives vectors for captions by id; asked once, for those that a maker wrote anew.
    beside
        Data sets whose vectors are to be at hand as well: what the detectors will be
        tested on.

    Raises
    ------
    ParameterError
        A name is unknown, or a joined set has not one maker of out-of-context pairs.
    MissingDataError
        A data set comes without vectors.
    """
    parts = {name: [part.strip() for part in name.split("+")] for name in names}
    for name, members in parts.items():
        if (
            len(members) > 1
            and sum(member in _OUT_OF_CONTEXT for member in members) != 1
        ):
            raise ParameterError(
                f"{name}: expected exactly one of {', '.join(_OUT_OF_CONTEXT)} in a"
                " joined set."
            )
    known = [_vectors(data) for data in (truths, posts, *beside)]
    made = {
        one: _make(one, truths, posts, seed)
        for one in dict.fromkeys(
            member for members in parts.values() for member in members
        )
    }
    tables = {}
    for name, members in parts.items():
        first = next(
            (member for member in members if member in _OUT_OF_CONTEXT), members[0]
        )
        others = [made[member] for member in members if member != first]
        tables[name] = (
            aggregate(
                made[first], *others, rng=np.random.default_rng([seed, len(MAKERS)])
            )
            if others
            else made[first]
        )
    have = {text_id for _, texts in known for text_id in texts.ids}
    fresh = {
        text_id: caption
        for table in made.values()
        for text_id, caption in zip(table["text_id"], table["caption"], strict=True)
        if text_id not in have
    }
    new = [encode(fresh)] if fresh else []
    return TrainingSets(
        tables,
        concatenate([images for images, _ in known]),
        concatenate([*(texts for _, texts in known), *new]),
    )


def _make(name: str, truths: Dataset, posts: Dataset, seed: int) -> pd.DataFrame:
    if name == POSTS:
        return posts.pairs
    maker = maker_named(name)
    pool = (
        {"pool": posts.pairs, "pool_texts": posts.texts}
        if name.startswith("CHASMA")
        else {}
    )
    return maker(
        truths.pairs,
        truths.images,
        truths.texts,
        rng=np.random.default_rng([seed, list(MAKERS).index(name)]),
        **pool,
    )


def _vectors(data: Dataset) -> tuple[Embeddings, Embeddings]:
    if data.images is None or data.texts is None:
        raise MissingDataError(
            f"{data.name} comes without vectors of images and texts. Encode its files"
            " first."
        )
    return data.images, data.texts
