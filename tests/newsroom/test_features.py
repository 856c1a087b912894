from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from verite.errors import DataError
from verite.newsroom import caption, draw, encode_captions, encode_images, features, sample_events


def test_vectors_have_64_dimensions_and_length_one() -> None:
    events = sample_events(5, np.random.default_rng(0))
    for vectors in (encode_images([draw(event) for event in events]), encode_captions([caption(event) for event in events])):
        assert (vectors.shape, vectors.dtype) == ((5, 64), np.float32)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_caption_finds_its_image_among_a_hundred() -> None:
    events = sample_events(100, np.random.default_rng(7))
    cosines = encode_captions([caption(event) for event in events]) @ encode_images([draw(event) for event in events]).T
    rank = (cosines > np.diag(cosines)[:, None]).sum(axis=1)
    assert (rank == 0).mean() > 0.8


def test_an_image_has_the_same_vector_alone_and_among_others() -> None:
    pictures = [draw(event) for event in sample_events(600, np.random.default_rng(1))]
    np.testing.assert_allclose(encode_images(pictures)[[0, 555]], encode_images([pictures[0], pictures[555]]), atol=1e-6)


def test_fitting_again_gives_the_same_space() -> None:
    picture = draw(sample_events(1, np.random.default_rng(0))[0])
    before = encode_images([picture])
    features._alignment.cache_clear()
    assert encode_images([picture]).tobytes() == before.tobytes()


@pytest.mark.parametrize("picture", [Image.new("RGB", (32, 64)), Image.new("L", (64, 64))])
def test_a_picture_of_another_kind_is_refused(picture: Image.Image) -> None:
    with pytest.raises(DataError, match="64 × 64"):
        encode_images([picture])


def test_nothing_to_encode_is_refused() -> None:
    with pytest.raises(DataError, match="found none"):
        encode_images([])
    with pytest.raises(DataError, match="list of one or more"):
        encode_captions([])
    with pytest.raises(DataError, match="list of one or more"):
        encode_captions("A flood.")
