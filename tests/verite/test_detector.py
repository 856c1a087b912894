"""The network is the paper's, fits repeat, and attention can be read and held still."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.base import clone

from verite.detector import (
    INPUTS,
    PATTERNS,
    Detector,
    DetectorClassifier,
    Layer,
    as_tokens,
)
from verite.errors import DataError, ParameterError

SMALL = {
    "feedforward": 16,
    "learning_rate": 1e-3,
    "batch_size": 32,
    "epochs": 3,
    "device": "cpu",
}


def toy(n=200, width=8, seed=0):
    """Pairs labelled by whether image and text agree: neither alone says anything."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2, width)).astype(np.float32)
    agree = rng.integers(0, 2, n).astype(bool)
    noise = 0.1 * rng.standard_normal((agree.sum(), width)).astype(np.float32)
    X[agree, 1] = X[agree, 0] + noise
    return X, np.where(agree, "true", "misinformation").astype(object)


def three(y):
    """Labels of three classes."""
    return np.resize(["true", "miscaptioned", "out-of-context"], len(y)).astype(object)


@pytest.mark.parametrize(
    ("inputs", "shape"),
    [
        ("image+text", (5, 2, 8)),
        ("image;text", (5, 1, 16)),
        ("text", (5, 1, 8)),
        ("image", (5, 1, 8)),
    ],
)
def test_tokens(inputs, shape):
    pairs = torch.stack([torch.zeros(5, 8), torch.ones(5, 8)], dim=1)
    tokens = as_tokens(pairs, inputs)
    assert tokens.shape == shape
    assert set(tokens.unique().tolist()) == {"image": {0}, "text": {1}}.get(
        inputs, {0, 1}
    )


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("tokens", [1, 2])
def test_a_layer_is_torchs_to_the_last_bit(training, tokens):
    torch.manual_seed(0)
    theirs = torch.nn.TransformerEncoderLayer(
        8, 2, 16, 0.1, activation="gelu", batch_first=True
    )
    torch.manual_seed(0)
    ours = Layer(8, 2, 16, 0.1)
    x = torch.randn(64, tokens, 8)
    with torch.set_grad_enabled(training):
        torch.manual_seed(1)
        expected = theirs.train(training)(x)
        torch.manual_seed(1)
        assert torch.equal(ours.train(training)(x)[0], expected)


def test_tokens_have_no_order_and_pairs_no_neighbours():
    network = Detector(8, 3, layers=2, feedforward=16, heads=2).eval()
    tokens = torch.randn(6, 2, 8)
    logits, _ = network(tokens)
    torch.testing.assert_close(logits, network(tokens.flip(1))[0])
    torch.testing.assert_close(logits[:1], network(tokens[:1])[0])


def test_the_head_is_the_papers():
    """Layer norm, W0: m -> m/2, GELU, W1: m/2 -> n, written out by hand."""
    network = Detector(8, 3, layers=1, feedforward=16, heads=2).eval()
    tokens = torch.randn(4, 2, 8)
    x = network.layers[0](tokens)[0].mean(1)
    variance = x.var(1, unbiased=False, keepdim=True)
    x = (x - x.mean(1, keepdim=True)) / (variance + 1e-5).sqrt()
    hidden = torch.nn.functional.gelu(x @ network.hidden.weight.T + network.hidden.bias)
    assert network.hidden.weight.shape == (4, 8)
    expected = hidden @ network.output.weight.T + network.output.bias
    torch.testing.assert_close(network(tokens)[0], expected)


def test_two_modalities_learn_what_neither_tells_alone():
    train, test = toy(600), toy(400, seed=1)
    settings = SMALL | {"epochs": 20, "feedforward": 32, "learning_rate": 3e-3}
    accuracies = {
        inputs: DetectorClassifier(inputs, **settings).fit(*train).score(*test)
        for inputs in INPUTS
    }
    assert min(accuracies["image+text"], accuracies["image;text"]) > 0.9
    assert accuracies["image"] == pytest.approx(0.5, abs=0.08)
    assert accuracies["text"] == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("inputs", INPUTS)
def test_fits_repeat_and_follow_their_seed(inputs):
    X, y = toy()
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first, same, other = (
        DetectorClassifier(inputs, random_state=seed, **SMALL)
        .fit(X, y)
        .predict_proba(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, same)
    assert np.abs(first - other).max() > 1e-4
    assert torch.equal(torch.rand(3), expected)  # the caller's generator was not used


def test_two_classes_have_one_logit_and_three_have_three():
    X, y = toy()
    two = DetectorClassifier(**SMALL).fit(X, y)
    assert two.decision_function(X).shape == (200,)
    assert two.classes_.tolist() == ["misinformation", "true"]
    more = DetectorClassifier(**SMALL).fit(X, three(y))
    assert more.decision_function(X).shape == (200, 3)
    for fitted in (two, more):
        proba = fitted.predict_proba(X)
        np.testing.assert_allclose(proba.sum(1), 1)
        assert (fitted.predict(X) == fitted.classes_[proba.argmax(1)]).all()


def test_the_best_epoch_is_kept_and_patience_ends_the_rest():
    held_out = toy(100, seed=2)
    settings = SMALL | {"epochs": 50, "patience": 4}
    fitted = DetectorClassifier(**settings).fit(*toy(), held_out)
    scores = [
        (entry["validation accuracy"], -entry["validation loss"])
        for entry in fitted.history_
    ]
    assert fitted.best_epoch_ == 1 + scores.index(max(scores))
    assert len(scores) in (50, fitted.best_epoch_ + 4)
    assert fitted.score(*held_out) == pytest.approx(max(scores)[0])


def test_a_saved_detector_is_the_same_after_loading(tmp_path):
    X, y = toy()
    path = tmp_path / "detector.safetensors"
    fitted = DetectorClassifier("image;text", **SMALL).fit(X, y, toy(50, seed=3))
    fitted.save(path)
    loaded = DetectorClassifier.load(path, device="cpu")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.get_params() == fitted.get_params()
    assert loaded.history_ == fitted.history_
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match="not a detector that verite saved"):
        DetectorClassifier.load(path)


def test_weights_of_something_else_are_refused(tmp_path):
    save_file({"x": torch.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(DataError, match="other.safetensors: not a detector"):
        DetectorClassifier.load(tmp_path / "other.safetensors")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((3, 8)), ["true", "x", "x"], "expected vectors (pairs, 2,"),
        (np.zeros((0, 2, 8)), ["true", "x"], "expected vectors (pairs, 2,"),
        (np.zeros((3, 2, 8)), ["true", "x"], "3 pairs beside 2 labels"),
        (np.zeros((3, 2, 8)), ["true"] * 3, "two classes, found ['true']"),
        (np.full((2, 2, 8), np.nan), ["true", "x"], "in the vectors of 2 pair(s)"),
    ],
)
def test_bad_training_data_are_named(X, y, message):
    with pytest.raises(DataError, match=re.escape(message)):
        DetectorClassifier(**SMALL).fit(X, y)


def test_errors_of_a_user():
    X, y = toy()
    fitted = DetectorClassifier(**SMALL).fit(X, y)
    with pytest.raises(DataError, match="vectors of 8 dimensions, found 16"):
        fitted.predict(np.zeros((3, 2, 16)))
    with pytest.raises(DataError, match="labels that training lacks: satire"):
        DetectorClassifier(**SMALL).fit(X, y, (X, np.full(200, "satire")))
    steep = DetectorClassifier(**SMALL | {"learning_rate": 1e18, "epochs": 20})
    with pytest.raises(DataError, match="Lower learning_rate"):
        steep.fit(X, y)
    with pytest.raises(ParameterError, match=r"'both'. Known: image\+text"):
        DetectorClassifier("both", **SMALL).fit(X, y)
    with pytest.raises(ParameterError, match="3 heads do not divide the width 8"):
        DetectorClassifier(heads=3, **SMALL).fit(X, y)
    with pytest.raises(ParameterError, match="no pattern 'odd'. Known: learned, even"):
        fitted.predict_with_attention(X, "odd")


def test_scikit_learn_can_clone_it_and_nothing_is_learned_before_fit():
    model = DetectorClassifier("text", heads=8, random_state=3)
    assert clone(model).get_params() == model.get_params()
    assert not [name for name in vars(model) if name.endswith("_")]


def test_bfloat16_autocast_stays_close_to_float32():
    X, y = toy()
    plain, cast = (
        DetectorClassifier(autocast=autocast, **SMALL).fit(X, y).predict_proba(X)
        for autocast in (False, True)
    )
    assert np.abs(plain - cast).max() < 0.1


@pytest.fixture(scope="module")
def fitted():
    settings = SMALL | {"layers": 4, "learning_rate": 2e-3, "epochs": 10}
    X, y = toy(width=16)
    return {
        (inputs, len(set(labels))): DetectorClassifier(inputs, **settings).fit(
            X, labels
        )
        for inputs in INPUTS
        for labels in (y, three(y))
    }


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("inputs", INPUTS)
def test_reading_attention_changes_no_answer(fitted, inputs, classes):
    X, _ = toy(width=16, seed=5)
    detector = fitted[inputs, classes]
    labels, weights = detector.predict_with_attention(X)
    assert (labels == detector.predict(X)).all()
    tokens = 2 if inputs == "image+text" else 1
    assert weights.shape == (200, 4, 2, tokens, tokens)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


def test_attention_weights_are_torchs(fitted):
    X, _ = toy(width=16)
    detector = fitted["image+text", 2]
    x = torch.from_numpy(X)
    with torch.no_grad():
        _, expected = detector.network_.layers[0].self_attn(
            x, x, x, average_attn_weights=False
        )
    _, weights = detector.predict_with_attention(X)
    np.testing.assert_allclose(weights[:, 0], expected.numpy(), atol=1e-6)


def test_held_still_attention_matters_only_where_there_are_two_tokens(fitted):
    X, _ = toy(width=16)
    for inputs in INPUTS:
        detector = fitted[inputs, 2]
        known = PATTERNS if inputs == "image+text" else PATTERNS[:3]
        answers = [detector.predict_with_attention(X, name)[0] for name in known]
        assert len({tuple(labels) for labels in answers}) == (
            4 if inputs == "image+text" else 1
        )
    with pytest.raises(ParameterError, match="text has no pattern 'other'"):
        fitted["text", 2].predict_with_attention(X, "other")


def test_idle_weights_can_be_anything_where_there_is_one_token():
    X, y = toy()
    detector = DetectorClassifier("text", **SMALL).fit(X, y)
    before, changed = detector.decision_function(X), 0
    with torch.no_grad():
        for layer in detector.network_.layers:
            for weight in (
                layer.self_attn.in_proj_weight,
                layer.self_attn.in_proj_bias,
            ):
                idle = weight[:16]
                idle.copy_(torch.randn_like(idle))
                changed += idle.numel()
    np.testing.assert_array_equal(detector.decision_function(X), before)
    assert changed == detector.network_.idle_weights()
