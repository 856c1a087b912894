"""Made-up truthful pairs with random vectors, and a pool of false captions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from verite.embeddings import Embeddings
from verite.synthesis import maker_named

PEOPLE = ("Ada Lux", "Bo Marr", "Cy Tolle", "Dee Brandt", "Edo Fenn")
PLACES = ("Arland", "Borvia", "Cestria", "Dunmark")
SPLITS = ("train", "train", "train", "validation", "test")


def vectors(
    ids: Iterable[str], seed: int, width: int = 8, encoder: str = "toy"
) -> Embeddings:
    listed = list(dict.fromkeys(ids))
    matrix = (
        np.random.default_rng(seed).normal(size=(len(listed), width)).astype(np.float32)
    )
    return Embeddings(listed, matrix, encoder=encoder)


def truths(
    count: int, seed: int = 0, topics: int = 2, groups: int | None = None
) -> pd.DataFrame:
    """Truthful pairs; some groups have several pairs, and a group's split follows from
    its number.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups or count, size=count)
    person, place = (
        rng.integers(0, len(PEOPLE), count),
        rng.integers(0, len(PLACES), count),
    )
    rows = [
        {
            "pair_id": f"p{i:03}",
            "image_id": f"i{i}",
            "text_id": f"t{i}",
            "caption": f"{PEOPLE[person[i]]} visits {PLACES[place[i]]} on day {i}.",
            "image_path": f"{i}.png",
            "label": "true",
            "group": f"g{group[i]}",
            "split": SPLITS[group[i] % 5],
            "dataset": "toy",
            "topic": f"topic {group[i] % topics}",
            "entities": json.dumps(
                [[PEOPLE[person[i]], "PERSON"], [PLACES[place[i]], "GPE"]]
            ),
        }
        for i in range(count)
    ]
    return pd.DataFrame(rows)


def posts(count: int, splits: Sequence[str] = SPLITS) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "pair_id": [f"f{i}" for i in range(count)],
            "image_id": [f"fi{i}" for i in range(count)],
            "text_id": [f"ft{i}" for i in range(count)],
            "caption": [f"You will not believe number {i}" for i in range(count)],
            "image_path": "",
            "label": "misinformation",
            "group": [f"fg{i}" for i in range(count)],
            "split": [splits[i % len(splits)] for i in range(count)],
            "dataset": "toy posts",
        }
    )


@dataclass(frozen=True)
class Toy:
    """Truthful pairs, a pool of posts and their vectors, of one size and seed."""

    pairs: pd.DataFrame
    images: Embeddings
    texts: Embeddings
    pool: pd.DataFrame
    pool_texts: Embeddings

    @classmethod
    def of(
        cls,
        count: int = 60,
        seed: int = 0,
        topics: int = 2,
        groups: int | None = None,
        pool: int = 40,
    ) -> Toy:
        pairs, posted = truths(count, seed, topics, groups), posts(pool)
        return cls(
            pairs,
            vectors(pairs["image_id"], seed),
            vectors(pairs["text_id"], seed + 1),
            posted,
            vectors(posted["text_id"], seed + 2),
        )

    def make(
        self,
        name: str,
        seed: int = 0,
        pairs: pd.DataFrame | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        if name.startswith("CHASMA"):
            options = {"pool": self.pool, "pool_texts": self.pool_texts} | options
        rows = self.pairs if pairs is None else pairs
        return maker_named(name)(
            rows, self.images, self.texts, rng=np.random.default_rng(seed), **options
        )


@pytest.fixture(scope="session")
def toy() -> Callable[..., Toy]:
    return Toy.of


@pytest.fixture(scope="session")
def make_vectors() -> Callable[..., Embeddings]:
    return vectors


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
