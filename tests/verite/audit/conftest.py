from __future__ import annotations

import hashlib

import pandas as pd
import pytest

from verite.audit import Benchmark
from verite.dataset import Dataset
from verite.datasets import load


@pytest.fixture(scope="session")
def newsroom() -> Dataset:
    """200 events without any bias, and their vectors."""
    return load("newsroom", events=200)


@pytest.fixture
def table() -> pd.DataFrame:
    """A newsroom as a publisher might hand it out, with ids that say nothing.

    No vectors.
    """
    pairs = load("newsroom", events=150, encoder=None).pairs
    blind = {
        name: pairs[name].map(lambda one: hashlib.sha256(one.encode()).hexdigest()[:12])
        for name in ("pair_id", "image_id")
    }
    return pd.DataFrame(
        {
            "id": blind["pair_id"],
            "image": blind["image_id"] + ".png",
            "caption": pairs["caption"],
            "label": pairs["label"],
            "event": pairs["group"],
        }
    )


def toy(**columns: list[str]) -> Benchmark:
    """A benchmark of a few rows; what is not given is made up."""
    rows = len(next(iter(columns.values())))
    made = {
        "pair_id": [f"p{at}" for at in range(rows)],
        "image_id": [f"i{at}" for at in range(rows)],
        "caption": [f"caption number {at}" for at in range(rows)],
        "label": ["true", "false"] * rows,
        "group": [f"g{at}" for at in range(rows)],
        "split": [""] * rows,
        "image_path": [""] * rows,
    }
    pairs = pd.DataFrame(
        {name: columns.get(name, values)[:rows] for name, values in made.items()},
        dtype="str",
    )
    pairs["text_id"] = pairs["pair_id"].groupby(pairs["caption"]).transform("first")
    return Benchmark("toy", pairs, pd.DataFrame(index=pairs.index))
