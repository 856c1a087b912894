from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from verite.datasets import load
from verite.encoders import Encoder
from verite.evaluation import recall_at
from verite.newsroom import SIZE
from verite.newsroom.clip import Recipe, checkpoint_path, held_out, train

SMALL = Recipe(families=16, batch_families=4, epochs=1)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.load("newsroom", device="cpu")


def test_the_same_recipe_gives_the_same_weights(tmp_path: Path) -> None:
    one, two = (
        train(tmp_path / f"{name}.safetensors", SMALL).read_bytes() for name in "ab"
    )
    assert one == two
    assert (
        train(
            tmp_path / "c.safetensors",
            Recipe(families=16, batch_families=4, epochs=1, seed=1),
        ).read_bytes()
        != one
    )


def test_training_leaves_the_state_of_torch_alone(
    tmp_path: Path,
) -> None:
    import torch

    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    threads = torch.get_num_threads()
    train(tmp_path / "a.safetensors", SMALL)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.rand(2), wanted)


def test_images_and_captions_fit_the_encoder(
    encoder: Encoder,
) -> None:
    assert encoder.model.visual.image_size == (SIZE, SIZE)
    data = load("newsroom", events=60, encoder=None, length_gap=12)
    captions = dict(zip(data.pairs["text_id"], data.pairs["caption"], strict=True))
    assert encoder.encode_texts(captions, normalise=True).ledger.empty


def test_weights_are_kept_and_found_again(encoder: Encoder) -> None:
    before = checkpoint_path().stat().st_mtime_ns
    assert Encoder.load("newsroom", device="cpu").identity == encoder.identity
    assert checkpoint_path().stat().st_mtime_ns == before


def test_held_out_captions_retrieve_their_images(
    encoder: Encoder,
) -> None:
    pictures, captions = held_out(300)
    V = encoder.encode_images(pictures, normalise=True).embeddings
    T = encoder.encode_texts(captions, normalise=True).embeddings
    for found in recall_at(V, T, k=1):
        assert found.mean() > 0.6
    for found in recall_at(V, T, k=5):
        assert found.mean() > 0.9


def test_a_newsroom_comes_with_vectors_of_this_encoder(encoder: Encoder) -> None:
    data = load("newsroom", events=8)
    assert data.images is not None
    assert data.texts is not None
    assert data.images.encoder == data.texts.encoder == encoder.identity
    np.testing.assert_allclose(np.linalg.norm(data.tokens(), axis=2), 1, atol=1e-5)
    assert data.images.about["normalised"] == data.texts.about["normalised"] == "yes"


def test_truthful_pairs_agree_most_and_out_of_context_pairs_least(
    encoder: Encoder,
) -> None:
    data = load("newsroom", events=100)
    cosine = (
        data.pairs.assign(cosine=data.similarities()).groupby("label")["cosine"].mean()
    )
    assert cosine["true"] > cosine["miscaptioned"] + 0.1
    assert cosine["miscaptioned"] > cosine["out-of-context"] + 0.1


def test_vectors_depend_on_the_seed_and_not_on_the_size() -> None:
    one, two, larger = (
        load("newsroom", events=6),
        load("newsroom", events=6),
        load("newsroom", events=9),
    )
    assert one.tokens().tobytes() == two.tokens().tobytes()
    np.testing.assert_allclose(
        one.tokens(), larger.tokens()[: len(one.pairs)], atol=1e-5
    )
