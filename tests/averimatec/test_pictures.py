from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from averimatec.pictures import (
    COPY,
    hash_distance,
    hash_similarity,
    picture_hash,
    set_score,
)
from verite.errors import DataError, MissingDataError


@pytest.mark.parametrize(
    "change",
    [
        lambda picture: picture.resize((300, 300)),
        lambda picture: picture.resize((100, 500)),
        lambda picture: picture.transpose(Image.Transpose.ROTATE_90),
        lambda picture: picture.transpose(Image.Transpose.ROTATE_270),
        lambda picture: picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        lambda picture: picture.convert("L"),
    ],
)
def test_a_changed_copy_has_the_hash_of_its_original(
    pictures: dict[str, Path], tmp_path: Path, change
) -> None:  # type: ignore[no-untyped-def]
    change(Image.open(pictures["a.png"])).save(tmp_path / "changed.png")
    assert (
        hash_distance(
            picture_hash(pictures["a.png"]), picture_hash(tmp_path / "changed.png")
        )
        <= COPY
    )


def test_a_compressed_copy_has_the_hash_of_its_original(
    pictures: dict[str, Path], tmp_path: Path
) -> None:
    Image.open(pictures["a.png"]).save(tmp_path / "a.jpg", quality=60)
    assert (
        hash_distance(picture_hash(pictures["a.png"]), picture_hash(tmp_path / "a.jpg"))
        <= COPY
    )


def test_other_pictures_have_other_hashes_and_distance_is_mutual(
    pictures: dict[str, Path],
) -> None:
    one, other = picture_hash(pictures["a.png"]), picture_hash(pictures["b.png"])
    assert COPY < hash_distance(one, other) == hash_distance(other, one)


def test_sets_of_the_same_images_score_ten_in_any_order(
    pictures: dict[str, Path],
) -> None:
    one, other = (
        [pictures["a.png"], pictures["b.png"]],
        [
            pictures["b.png"],
            pictures["copy.png"],
        ],
    )
    assert set_score(hash_similarity(one, other)) == pytest.approx(10)


def test_an_image_too_many_halves_the_score(pictures: dict[str, Path]) -> None:
    assert set_score(
        hash_similarity([pictures["a.png"]], [pictures["copy.png"], pictures["a.png"]])
    ) == pytest.approx(5)


def test_unlike_sets_score_below_nine(pictures: dict[str, Path]) -> None:
    assert set_score(hash_similarity([pictures["a.png"]], [pictures["b.png"]])) < 9


def test_pictures_that_are_not_there_or_none_are_errors(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(MissingDataError):
        picture_hash(tmp_path / "none.png")
    with pytest.raises(DataError, match="no picture"):
        picture_hash(tmp_path / "text.png")


def test_a_file_that_changes_is_hashed_anew(tmp_path: Path) -> None:
    import os

    noise = np.random.default_rng(0).integers(0, 255, (2, 40, 40, 3)).astype(np.uint8)
    Image.fromarray(noise[0]).save(tmp_path / "a.png")
    first = picture_hash(tmp_path / "a.png")
    Image.fromarray(noise[1]).save(tmp_path / "a.png")
    os.utime(tmp_path / "a.png", ns=(1, 1))
    assert (picture_hash(tmp_path / "a.png") != first).any()
