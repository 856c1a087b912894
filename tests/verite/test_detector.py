from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.base import clone

from verite.detector import INPUTS, Detector, DetectorClassifier, as_tokens
from verite.devices import pick_device
from verite.errors import DataError, ParameterError

SMALL = {
    "feedforward": 16,
    "learning_rate": 1e-3,
    "batch_size": 32,
    "epochs": 3,
    "device": "cpu",
}


def toy(n=200, width=8, seed=0):
    """Pairs whose label is whether image and text agree.

    Neither says anything alone.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2, width)).astype(np.float32)
    agree = rng.integers(0, 2, n).astype(bool)
    X[agree, 1] = X[agree, 0] + 0.1 * rng.standard_normal((agree.sum(), width)).astype(
        np.float32
    )
    return X, np.where(agree, "true", "misinformation").astype(object)


@pytest.mark.parametrize(
    ("inputs", "shape"),
    [
        ("image+text", (5, 2, 8)),
        ("image;text", (5, 1, 16)),
        ("text", (5, 1, 8)),
        ("image", (5, 1, 8)),
    ],
)
def test_tokens_are_two_of_width_m_or_one(inputs, shape):
    assert as_tokens(torch.zeros(5, 2, 8), inputs).shape == shape


def test_image_and_text_take_their_own_token():
    pairs = torch.stack([torch.zeros(3, 4), torch.ones(3, 4)], dim=1)
    assert as_tokens(pairs, "image").unique().tolist() == [0]
    assert as_tokens(pairs, "text").unique().tolist() == [1]


def test_the_order_of_two_tokens_does_not_matter_since_they_have_no_positions():
    network = Detector(8, 3, layers=2, feedforward=16, heads=2).eval()
    tokens = torch.randn(4, 2, 8)
    torch.testing.assert_close(network(tokens), network(tokens.flip(1)))


def test_a_pair_is_judged_by_itself_whatever_else_is_in_the_batch():
    network = Detector(8, 3, layers=1, feedforward=16, heads=2).eval()
    tokens = torch.randn(6, 2, 8)
    torch.testing.assert_close(network(tokens)[:1], network(tokens[:1]))


def test_the_head_is_layer_norm_half_width_gelu_and_output():
    """W0: m -> m/2 and W1: m/2 -> n, each with a bias.

    Written out by hand from the paper's equation.
    """
    network = Detector(8, 3, layers=1, feedforward=16, heads=2).eval()
    tokens = torch.randn(4, 2, 8)
    x = network.encoder(tokens).mean(1)
    x = (x - x.mean(1, keepdim=True)) / (
        x.var(1, unbiased=False, keepdim=True) + 1e-5
    ).sqrt()
    hidden = torch.nn.functional.gelu(x @ network.hidden.weight.T + network.hidden.bias)
    assert network.hidden.weight.shape == (4, 8)
    torch.testing.assert_close(
        network(tokens), hidden @ network.output.weight.T + network.output.bias
    )


def test_a_width_that_the_heads_do_not_divide_is_an_error():
    with pytest.raises(
        ParameterError, match="expected a width that 3 heads divide, found 8"
    ):
        Detector(8, 3, layers=1, feedforward=16, heads=3)


def test_two_modalities_learn_what_neither_tells_alone():
    X, y = toy(600)
    test_X, test_y = toy(400, seed=1)
    settings = SMALL | {"epochs": 20, "feedforward": 32, "learning_rate": 3e-3}
    found = {
        inputs: DetectorClassifier(inputs, **settings).fit(X, y).score(test_X, test_y)
        for inputs in INPUTS
    }
    assert found["image+text"] > 0.9
    assert found["image;text"] > 0.9
    assert abs(found["image"] - 0.5) < 0.08
    assert abs(found["text"] - 0.5) < 0.08


@pytest.mark.parametrize("inputs", INPUTS)
def test_the_same_seed_gives_the_same_detector_and_another_seed_another(inputs):
    X, y = toy()
    one, two, other = (
        DetectorClassifier(inputs, random_state=seed, **SMALL)
        .fit(X, y)
        .predict_proba(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 1e-4


def test_fitting_leaves_the_callers_generator_as_it_was():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    DetectorClassifier(**SMALL).fit(*toy())
    assert torch.equal(torch.rand(3), expected)


def test_two_classes_have_one_logit_and_three_have_three():
    X, y = toy()
    two = DetectorClassifier(**SMALL).fit(X, y)
    assert two.decision_function(X).shape == (200,)
    assert two.classes_.tolist() == ["misinformation", "true"]
    three = DetectorClassifier(**SMALL).fit(
        X, np.resize(["true", "miscaptioned", "out-of-context"], 200)
    )
    assert three.decision_function(X).shape == (200, 3)
    for fitted in (two, three):
        proba = fitted.predict_proba(X)
        np.testing.assert_allclose(proba.sum(1), 1)
        assert (fitted.predict(X) == fitted.classes_[proba.argmax(1)]).all()


def test_the_kept_epoch_is_the_best_on_validation_and_patience_ends_the_rest():
    X, y = toy()
    held = toy(100, seed=2)
    fitted = DetectorClassifier(**SMALL | {"epochs": 50, "patience": 4}).fit(X, y, held)
    scores = [
        (entry["validation accuracy"], -entry["validation loss"])
        for entry in fitted.history_
    ]
    assert fitted.best_epoch_ == 1 + scores.index(max(scores))
    assert len(scores) in (50, fitted.best_epoch_ + 4)
    assert fitted.score(*held) == pytest.approx(max(scores)[0])


def test_a_saved_detector_is_the_same_after_loading(tmp_path):
    X, y = toy()
    fitted = DetectorClassifier("image;text", **SMALL).fit(X, y, toy(50, seed=3))
    fitted.save(tmp_path / "detector.safetensors")
    loaded = DetectorClassifier.load(tmp_path / "detector.safetensors", device="cpu")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.get_params() == fitted.get_params()
    assert loaded.history_ == fitted.history_
    assert b"pickle" not in (tmp_path / "detector.safetensors").read_bytes()


def test_a_truncated_detector_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "detector.safetensors"
    DetectorClassifier(**SMALL).fit(*toy()).save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(
        DataError, match=r"detector.safetensors: not a detector that this package saved"
    ):
        DetectorClassifier.load(path)


def test_weights_of_something_else_are_not_a_detector(tmp_path):
    save_file(
        {"x": torch.zeros(2)},
        tmp_path / "other.safetensors",
        {"parameters": json.dumps({}), "classes": "[]"},
    )
    with pytest.raises(DataError, match="not a detector that this package saved"):
        DetectorClassifier.load(tmp_path / "other.safetensors")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (
            np.zeros((3, 8)),
            ["true"] * 3,
            "expected vectors of shape (pairs, 2, dimensions)",
        ),
        (np.zeros((0, 2, 8)), [], "expected vectors of shape (pairs, 2, dimensions)"),
        (np.zeros((3, 2, 8)), ["true"] * 2, "3 pairs beside 2 labels"),
        (
            np.zeros((3, 2, 8)),
            ["true"] * 3,
            "expected at least two classes to train on, found ['true']",
        ),
        (
            np.full((2, 2, 8), np.nan),
            ["true", "miscaptioned"],
            "NaN or infinity in the vectors of 2 pair(s)",
        ),
    ],
)
def test_bad_training_data_are_named(X, y, message):
    with pytest.raises(DataError, match=re.escape(message)):
        DetectorClassifier(**SMALL).fit(X, y)


def test_vectors_of_another_encoder_are_an_error():
    fitted = DetectorClassifier(**SMALL).fit(*toy())
    with pytest.raises(
        DataError, match="expected vectors of 8 dimensions, as in training, found 16"
    ):
        fitted.predict(np.zeros((3, 2, 16)))


def test_labels_in_validation_that_training_lacks_are_an_error():
    X, y = toy()
    with pytest.raises(
        DataError, match="validation has labels that training has not: satire"
    ):
        DetectorClassifier(**SMALL).fit(X, y, (X, np.full(200, "satire", dtype=object)))


def test_a_diverging_loss_stops_with_advice():
    X, y = toy()
    with pytest.raises(
        DataError, match="training diverged in epoch .*Lower learning_rate"
    ):
        DetectorClassifier(**SMALL | {"learning_rate": 1e18, "epochs": 20}).fit(X, y)


def test_unknown_inputs_and_devices_list_what_is_known():
    with pytest.raises(
        ParameterError, match=r"unknown inputs 'both'. Known: image\+text"
    ):
        DetectorClassifier("both", **SMALL).fit(*toy())
    with pytest.raises(ParameterError, match="device 'gpu' cannot.*Known: auto, cpu"):
        pick_device("gpu")


def test_scikit_learn_can_clone_it_and_nothing_is_learned_before_fit():
    one = DetectorClassifier("text", heads=8, random_state=3)
    assert clone(one).get_params() == one.get_params()
    assert not [name for name in vars(one) if name.endswith("_")]


def test_bfloat16_autocast_stays_close_to_float32():
    X, y = toy()
    plain, cast = (
        DetectorClassifier(autocast=autocast, **SMALL).fit(X, y).predict_proba(X)
        for autocast in (False, True)
    )
    assert np.abs(plain - cast).max() < 0.1


def test_the_papers_values_are_the_defaults():
    found = DetectorClassifier().get_params()
    expected = {
        "learning_rate": 5e-5,
        "batch_size": 512,
        "epochs": 30,
        "patience": 10,
        "dropout": 0.1,
        "random_state": 0,
    }
    assert {name: found[name] for name in expected} == expected
