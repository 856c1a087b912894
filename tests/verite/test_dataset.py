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


def test_images_and_texts_of_different_encoders_do_not_mix() -> None:
    with pytest.raises(
        DataError,
        match=(
            r"toy: images were encoded by 'toy' in 3 dimensions, texts by 'other' in 3"
        ),
    ):
        toy(texts=vectors("t", encoder="other"))


def test_normalised_images_and_texts_that_are_not_do_not_mix() -> None:
    texts = vectors("t")
    with pytest.raises(
        DataError,
        match=(
            r"toy: vectors of images are normalised, those of texts of unknown length"
        ),
    ):
        toy(images=vectors("i").normalised(), texts=texts)
    toy(images=vectors("i").normalised(), texts=texts.normalised())


def test_images_and_texts_of_different_dimensions_do_not_mix() -> None:
    with pytest.raises(
        DataError,
        match=r"toy: images were encoded by 'toy' in 3 dimensions, texts by 'toy' in 4",
    ):
        toy(texts=vectors("t", dimensions=4))


@pytest.mark.parametrize("absent", ["images", "texts"])
def test_vectors_of_one_modality_alone_are_allowed_but_give_no_tokens(
    absent: str,
) -> None:
    found = toy(**{absent: None})
    with pytest.raises(
        DataError, match="toy comes without vectors of images and texts"
    ):
        found.tokens()


def test_a_part_holds_the_rows_of_its_split_counted_anew() -> None:
    part = toy().part("test")
    assert part["pair_id"].tolist() == ["p2", "p3", "p4"]
    assert part.index.tolist() == [0, 1, 2]


def test_under_the_comparable_protocol_validation_gives_the_test_rows() -> None:
    found = toy(validation="test")
    pd.testing.assert_frame_equal(found.part("validation"), found.part("test"))


def test_under_the_corrected_protocol_validation_shares_no_row_with_test() -> None:
    found = toy(["train", "validation", "validation", "test", "test"])
    assert not set(found.part("validation")["pair_id"]) & set(
        found.part("test")["pair_id"]
    )


@pytest.mark.parametrize("split", ["validation", "dev", "Test"])
def test_a_split_that_is_not_there_is_an_error_that_lists_those_that_are(
    split: str,
) -> None:
    with pytest.raises(
        ParameterError,
        match=(
            rf"toy has no split '{split}'\. It has: test, train\. Use grouped_split\(\)"
        ),
    ):
        toy().part(split)


def test_a_data_set_without_splits_says_so() -> None:
    with pytest.raises(ParameterError, match=r"It has: none\."):
        toy([""] * 5).part("train")


def test_tokens_are_image_then_text_of_each_pair() -> None:
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
def test_tokens_follow_ids_and_not_positions(order: list[int]) -> None:
    found = toy()
    rows = found.pairs.iloc[order].reset_index(drop=True)
    np.testing.assert_array_equal(found.tokens(rows), found.tokens()[order])


def test_a_pair_without_a_vector_is_an_error_that_names_its_id() -> None:
    found = toy(texts=vectors("t", count=2))
    with pytest.raises(DataError, match=r"t: no vector for 2 of 4 ids \(t2, t3\)"):
        found.tokens()


def test_a_loaded_data_set_cannot_be_changed_by_accident() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        toy().validation = "test"  # type: ignore[misc]
