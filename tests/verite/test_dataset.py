"""What a loaded data set promises."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest

from verite.dataset import Card, Dataset
from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError
from verite.pairs import validate

CARD = Card(
    name="toy", title="A toy", source="made here", licence="none", citation="nobody"
)
SPLITS = ["train", "train", "test", "test", "test"]


def pairs(splits: list[str]) -> pd.DataFrame:
    """Pairs of which the first two share an image and the last two a text."""
    rows = range(len(splits))
    return validate(
        pd.DataFrame(
            {
                "pair_id": [f"p{row}" for row in rows],
                "image_id": [f"i{max(row, 1)}" for row in rows],
                "text_id": [f"t{min(row, len(splits) - 2)}" for row in rows],
                "caption": [f"Picture {row}." for row in rows],
                "image_path": "",
                "label": "true",
                "group": [f"g{row}" for row in rows],
                "split": splits,
                "dataset": "toy",
            }
        )
    )


def vectors(
    letter: str, count: int = 5, *, encoder: str = "toy", dimensions: int = 3
) -> Embeddings:
    """A vector for each id, under ids that stand in another order than the rows of the
    table.
    """
    ids = [f"{letter}{number}" for number in reversed(range(count))]
    values = np.random.default_rng(ord(letter)).standard_normal(
        (count, dimensions), dtype=np.float32
    )
    return Embeddings(ids, values, encoder=encoder, where=letter)


def toy(splits: list[str] | None = None, **changes: Any) -> Dataset:
    settings: dict[str, Any] = {"images": vectors("i"), "texts": vectors("t")}
    return Dataset("toy", pairs(splits or SPLITS), CARD, **(settings | changes))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (vectors("t", encoder="other"), "texts by 'other' in 3 dimensions"),
        (vectors("t", dimensions=4), "texts by 'toy' in 4 dimensions"),
        (vectors("t").normalised(), "texts by 'toy' in 3 dimensions, normalised"),
    ],
)
def test_vectors_that_do_not_match(texts: Embeddings, message: str) -> None:
    with pytest.raises(DataError, match=message):
        toy(texts=texts)


@pytest.mark.parametrize("absent", ["images", "texts"])
def test_one_modality_alone(
    absent: str,
) -> None:
    found = toy(**{absent: None})
    with pytest.raises(DataError, match="toy has no vectors"):
        found.tokens()


def test_part() -> None:
    part = toy().part("test")
    assert part["pair_id"].tolist() == ["p2", "p3", "p4"]
    assert part.index.tolist() == [0, 1, 2]


def test_comparable_validation() -> None:
    found = toy(validation="test")
    pd.testing.assert_frame_equal(found.part("validation"), found.part("test"))


def test_corrected_validation() -> None:
    found = toy(["train", "validation", "validation", "test", "test"])
    assert not set(found.part("validation")["pair_id"]) & set(
        found.part("test")["pair_id"]
    )


@pytest.mark.parametrize("split", ["validation", "dev", "Test"])
def test_unknown_split(
    split: str,
) -> None:
    with pytest.raises(
        ParameterError,
        match=(
            rf"toy has no split '{split}'\. It has: test, train\. Use grouped_split\(\)"
        ),
    ):
        toy().part(split)


def test_no_splits() -> None:
    with pytest.raises(ParameterError, match=r"It has: none\."):
        toy([""] * 5).part("train")


def test_tokens() -> None:
    found = toy()
    tokens = found.tokens()
    assert tokens.shape == (5, 2, 3)
    assert tokens.dtype == np.float32
    assert found.images is not None
    assert found.texts is not None
    np.testing.assert_array_equal(
        tokens[:, 0], found.images.rows(["i1", "i1", "i2", "i3", "i4"])
    )
    np.testing.assert_array_equal(
        tokens[:, 1], found.texts.rows(["t0", "t1", "t2", "t3", "t3"])
    )


@pytest.mark.parametrize("order", [[4, 3, 2, 1, 0], [2, 0, 4], [1, 1]])
def test_tokens_by_id(order: list[int]) -> None:
    found = toy()
    rows = found.pairs.iloc[order].reset_index(drop=True)
    np.testing.assert_array_equal(found.tokens(rows), found.tokens()[order])


def test_missing_vector() -> None:
    found = toy(texts=vectors("t", count=2))
    with pytest.raises(DataError, match=r"t: no vector for 2 of 4 ids \(t2, t3\)"):
        found.tokens()


def test_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        toy().validation = "test"  # type: ignore[misc]
