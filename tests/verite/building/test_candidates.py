from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from verite.building import rank_candidates
from verite.datasets import load
from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError


def embed(vectors: dict[str, list[float]], encoder: str = "toy") -> Embeddings:
    return Embeddings(
        list(vectors),
        np.array(list(vectors.values()), dtype=np.float32),
        encoder=encoder,
    )


def pairs_of(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["pair_id", "image_id", "text_id", "label"])


PAIRS = pairs_of(
    ("0-true", "true_0", "t0", "true"),
    ("0-ooc", "ship", "t0", "out-of-context"),
    ("1-true", "true_1", "t1", "true"),
)
IMAGES = {
    "true_0": [1, 0, 0],
    "true_1": [0.8, 0.6, 0],
    "ship": [0.7, 0.7, 0.1],
    "copy": [1, 0.01, 0],
    "dog": [0, 0, 1],
    "buoy": [0.6, 0, 0.8],
}
TEXTS = {"t0": [1, 0.2, 0], "t1": [0, 1, 0]}


def test_candidates_come_by_the_sum_of_both_cosines_and_are_of_another_context() -> (
    None
):
    found = rank_candidates(PAIRS, embed(IMAGES), embed(TEXTS))
    assert found.loc[found["pair_id"] == "0-true", "image_id"].tolist() == [
        "ship",
        "buoy",
        "dog",
    ]  # no copy, no true image
    assert found.loc[found["pair_id"] == "0-true", "rank"].tolist() == [1, 2, 3]
    np.testing.assert_allclose(found["score"], found["to_caption"] + found["to_image"])
    first = found.iloc[0]
    unit = {
        key: np.array(value) / np.linalg.norm(value)
        for key, value in (IMAGES | TEXTS).items()
    }
    assert first["to_image"] == pytest.approx(unit["ship"] @ unit["true_0"])
    assert first["to_caption"] == pytest.approx(unit["ship"] @ unit["t0"])


def test_how_alike_two_images_are_before_they_count_as_one_can_be_set() -> None:
    found = rank_candidates(PAIRS, embed(IMAGES), embed(TEXTS), same_picture=1.1)
    assert found.loc[found["pair_id"] == "0-true", "image_id"].tolist() == [
        "copy",
        "ship",
        "buoy",
        "dog",
    ]
    assert rank_candidates(PAIRS, embed(IMAGES), embed(TEXTS), same_picture=-1).empty


def test_lengths_of_vectors_do_not_matter() -> None:
    longer = {key: [7 * number for number in value] for key, value in IMAGES.items()}
    ours, theirs = (
        rank_candidates(PAIRS, embed(images), embed(TEXTS))
        for images in (IMAGES, longer)
    )
    assert ours["image_id"].tolist() == theirs["image_id"].tolist()


def test_a_chosen_image_and_one_that_fits_better_than_the_own_are_marked() -> None:
    images = IMAGES | {"quay": [0, 0.9, 0.5]}
    found = rank_candidates(PAIRS, embed(images), embed(TEXTS)).set_index(
        ["pair_id", "image_id"]
    )
    assert found.index[found["chosen"]].tolist() == [("0-true", "ship")]
    assert found.index[found["fits_better"]].tolist() == [("1-true", "quay")]


def test_many_copies_of_a_picture_do_not_crowd_out_the_rest() -> None:
    copies = {f"copy_{i}": [1, 0.001 * i, 0] for i in range(40)}
    found = rank_candidates(PAIRS, embed(IMAGES | copies), embed(TEXTS), 2)
    assert found.loc[found["pair_id"] == "0-true", "image_id"].tolist() == [
        "ship",
        "buoy",
    ]


def test_only_images_of_the_pool_are_candidates() -> None:
    assert set(
        rank_candidates(PAIRS, embed(IMAGES), embed(TEXTS), pool=["dog", "true_1"])[
            "image_id"
        ]
    ) == {"dog"}


def test_bad_input_is_one_message() -> None:
    with pytest.raises(DataError, match="encoder toy and other"):
        rank_candidates(PAIRS, embed(IMAGES), embed(TEXTS, "other"))
    with pytest.raises(DataError, match=r"no vector for 1 of 2 ids \(t1\)"):
        rank_candidates(PAIRS, embed(IMAGES), embed({"t0": [1, 0, 0]}))
    with pytest.raises(DataError, match="found 2 pairs and 0 images"):
        rank_candidates(PAIRS, embed(IMAGES), embed(TEXTS), pool=["true_1"])
    with pytest.raises(
        ParameterError, match="expected 1 or more candidates per pair, found 0"
    ):
        rank_candidates(PAIRS, embed(IMAGES), embed(TEXTS), 0)


@pytest.mark.parametrize(
    ("encoder", "among"), [("ViT-L-14", [248, 298, 307]), ("ViT-B-32", [211, 288, 300])]
)
def test_the_authors_own_choice_is_among_the_first_for_most_articles(
    encoder: str, among: list[int], real_data: object
) -> None:
    data = load("verite", encoder=encoder)
    assert data.images is not None
    assert data.texts is not None
    found = rank_candidates(data.pairs, data.images, data.texts, 10)
    ranks = found.loc[found["chosen"], "rank"]
    assert [int((ranks <= n).sum()) for n in (1, 5, 10)] == among
    assert len(found) == 3380
