"""Looking into a detector.

Weights of attention, and answers with attention held still.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from verite.attention import PATTERNS, attention, decide_with, idle_weights
from verite.detector import INPUTS, DetectorClassifier
from verite.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2, 16)).astype("float32")
    return X, np.where((X[:, 0] * X[:, 1]).sum(1) > 0, "true", "misinformation")


@pytest.fixture(scope="module")
def fitted(pairs):
    X, y = pairs
    three = np.where(
        X[:, 0, 0] > 1, "out-of-context", np.where(y == "true", "true", "miscaptioned")
    )
    settings = {
        "layers": 4,
        "feedforward": 32,
        "learning_rate": 2e-3,
        "batch_size": 32,
        "epochs": 10,
        "device": "cpu",
    }
    return {
        (what, len(set(labels))): DetectorClassifier(what, **settings).fit(X, labels)
        for what in INPUTS
        for labels in (y, three)
    }


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("what", INPUTS)
def test_learned_attention_gives_the_detectors_own_answers(
    fitted, pairs, what, classes
):
    detector = fitted[what, classes]
    assert (
        decide_with(detector, pairs[0], "learned") == detector.predict(pairs[0])
    ).all()


def test_learned_attention_is_what_torch_computes(fitted, pairs):
    detector = fitted["image+text", 2]
    layer = detector.network_.encoder.layers[0].self_attn
    x = torch.from_numpy(pairs[0])
    with torch.no_grad():
        _, expected = layer(x, x, x, need_weights=True, average_attn_weights=False)
    np.testing.assert_allclose(
        attention(detector, pairs[0])[:, 0], expected.numpy(), atol=1e-6
    )


def test_rows_of_attention_add_up_to_one(fitted, pairs):
    weights = attention(fitted["image+text", 3], pairs[0])
    assert weights.shape == (120, 4, 2, 2, 2)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("what", ["text", "image", "image;text"])
def test_one_token_attends_to_itself_whatever_the_pattern(fitted, pairs, what):
    detector = fitted[what, 2]
    assert (attention(detector, pairs[0]) == 1).all()
    for pattern in ("even", "own"):
        assert (
            decide_with(detector, pairs[0], pattern) == detector.predict(pairs[0])
        ).all()


def test_idle_weights_are_those_that_can_be_anything_where_there_is_one_token(
    fitted, pairs
):
    detector = DetectorClassifier("text", feedforward=16, epochs=1, device="cpu").fit(
        *pairs
    )
    before = detector.decision_function(pairs[0])
    changed = 0
    with torch.no_grad():
        for layer in detector.network_.encoder.layers:
            width = layer.self_attn.embed_dim
            for weight in (
                layer.self_attn.in_proj_weight,
                layer.self_attn.in_proj_bias,
            ):
                weight[: 2 * width] = torch.randn_like(weight[: 2 * width])
                changed += weight[: 2 * width].numel()
    np.testing.assert_array_equal(detector.decision_function(pairs[0]), before)
    assert changed == idle_weights(detector.network_)


def test_the_pattern_changes_answers_where_there_are_two_tokens(fitted, pairs):
    detector = fitted["image+text", 2]
    answers = {
        pattern: decide_with(detector, pairs[0], pattern).tolist()
        for pattern in PATTERNS
    }
    assert len({tuple(each) for each in answers.values()}) > 1


def test_an_unknown_pattern_and_a_lone_tokens_other_are_named(fitted, pairs):
    with pytest.raises(ParameterError, match="unknown pattern of attention 'odd'"):
        decide_with(fitted["text", 2], pairs[0], "odd")
    with pytest.raises(ParameterError, match="no other to attend to"):
        decide_with(fitted["text", 2], pairs[0], "other")


def test_vectors_of_another_width_are_refused(fitted, pairs):
    with pytest.raises(DataError, match=r"expected vectors of shape \(pairs, 2, 16\)"):
        attention(fitted["text", 2], pairs[0][:, :, :8])
