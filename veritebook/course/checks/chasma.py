"""The caption that CHASMA chooses for each image."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.pairs import COLUMNS, MISCAPTIONED, TRUE
from verite.search import cosines
from verite.synthesis import MAKERS
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Cosines of each misleading caption, and a draw per pair.

    The cosines are with images and with true captions; some cases are written by hand
    and some are drawn by chance.
    """
    with_image, with_caption = np.array([[0.1, 0.4, 0.2]]), np.array([[0.5, 0.3, 0.6]])
    return [
        Case("an image that chooses", (with_image, with_caption, [0.2]), [1]),
        Case("a true caption that chooses", (with_image, with_caption, [0.8]), [2]),
        Case(
            "a draw of one half, which is not below it",
            (with_image, with_caption, [0.5]),
            [2],
        ),
        Case(
            "captions that are equally near",
            (np.array([[0.2, 0.4, 0.4]]), with_caption, [0.0]),
            [1],
        ),
        Case("cosines below zero", (-with_image, -with_caption, [0.4]), [0]),
        Case(
            "one caption that is chosen twice",
            (np.tile(with_image, (2, 1)), np.tile(with_caption, (2, 1)), [0.1, 0.3]),
            [1, 1],
        ),
        *(
            Case(
                f"{pairs} pairs and {captions} captions drawn by chance",
                *_drawn(pairs, captions),
            )
            for pairs, captions in ((5, 4), (40, 12))
        ),
    ]


def _drawn(
    pairs: int, captions: int
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], list[int]]:
    """What the package's CHASMA chooses.

    It draws one number a pair before anything else, so the same seed gives the same
    draws.
    """
    rng = np.random.default_rng(pairs)
    truths, pool = _table(pairs, TRUE), _table(captions, MISCAPTIONED)
    V, T, F = (
        Embeddings(
            ids, rng.normal(size=(len(ids), 4)).astype(np.float32), encoder="drawn"
        )
        for ids in (truths["image_id"], truths["text_id"], pool["text_id"])
    )
    made = MAKERS["CHASMA"](
        truths, V, T, rng=np.random.default_rng(0), pool=pool, pool_texts=F
    )
    chosen = made.loc[made["label"] == MISCAPTIONED, "text_id"]
    with_image, with_caption = (
        np.array(
            [cosines(vectors, [one] * captions, F, pool["text_id"]) for one in ids]
        )
        for vectors, ids in ((V, truths["image_id"]), (T, truths["text_id"]))
    )
    draws = np.random.default_rng(0).random(pairs)
    return (with_image, with_caption, draws), pd.Index(pool["text_id"]).get_indexer(
        pd.Index(chosen)
    ).tolist()


def _table(rows: int, label: str) -> pd.DataFrame:
    """Pairs with nothing in common."""
    ids = pd.Series([f"{label}-{at:03d}" for at in range(rows)])
    own = {
        "caption": "Caption " + ids,
        "image_path": "",
        "label": label,
        "split": "",
        "dataset": label,
    }
    return pd.DataFrame({name: own.get(name, ids) for name in COLUMNS})
