"""Looking into a trained detector.

What its tokens attend to, and what becomes of its answers if they may not choose.

With two tokens attention is a 2 × 2 table a head: how much of the image and of the
caption enters each of the two. With one token it is the number 1, whatever was learned.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import nn

from verite.detector import as_tokens
from verite.errors import DataError, ParameterError

if TYPE_CHECKING:
    from verite.detector import Detector, DetectorClassifier

__all__ = ["PATTERNS", "attention", "decide_with", "idle_weights"]

PATTERNS = ("learned", "even", "own", "other")
"""What may decide how much each token takes of each.

The detector itself; the same of all; itself alone; the others alone.
"""

_ROWS = 4096


def attention(detector: DetectorClassifier, X: np.ndarray) -> np.ndarray:
    """Attention weights of each pair.

    ``(n, layers, heads, tokens, tokens)``, rows adding up to 1.

    ``[..., 0, 1]`` says how much of the caption enters the image's token, ``[..., 1,
    0]`` how much of the image enters the caption's; they are computed as the detector
    computes them when it predicts, without dropout.

    Parameters
    ----------
    detector
        A fitted one, of any input.
    X
        Vectors ``(n, 2, m)``, as for
        :meth:`verite.detector.DetectorClassifier.predict`.

    >>> from verite.detector import DetectorClassifier
    >>> X = np.random.default_rng(0).normal(size=(6, 2, 8)).astype("float32")
    >>> fitted = DetectorClassifier(feedforward=16, epochs=1, device="cpu").fit(X, ["true", "miscaptioned"] * 3)
    >>> attention(fitted, X).shape
    (6, 1, 2, 2, 2)
    >>> bool((attention(DetectorClassifier("text", epochs=1, device="cpu").fit(X, ["true", "miscaptioned"] * 3), X) == 1).all())
    True
    """
    return np.concatenate([weights for _, weights in _run(detector, X, "learned")])


def decide_with(
    detector: DetectorClassifier, X: np.ndarray, pattern: str
) -> np.ndarray:
    """Labels that a fitted detector gives with attention set to a pattern.

    All its weights stay.

    Parameters
    ----------
    pattern
        One of :data:`PATTERNS`. ``"learned"`` gives what
        :meth:`verite.detector.DetectorClassifier.predict` gives.

    Raises
    ------
    ParameterError
        An unknown pattern; or ``"other"`` for a detector of one token, which has no
        other.
    """
    if pattern not in PATTERNS:
        raise ParameterError(
            f"unknown pattern of attention {pattern!r}. Known: {', '.join(PATTERNS)}."
        )
    logits = torch.cat([part for part, _ in _run(detector, X, pattern)])
    chosen = (logits[:, 0] > 0).int() if logits.shape[1] == 1 else logits.argmax(1)
    return np.asarray(detector.classes_[chosen.cpu().numpy()])


def idle_weights(network: Detector) -> int:
    """Number of weights that cannot change an answer where there is one token.

    Those that make queries and keys.

    A softmax over one number is 1, so what it is made of does not matter, and training
    leaves it as it began.
    """
    return sum(
        2 * (layer.self_attn.embed_dim**2 + layer.self_attn.embed_dim)
        for layer in network.encoder.layers
        if isinstance(layer.self_attn, nn.MultiheadAttention)
    )


@torch.inference_mode()
def _run(
    detector: DetectorClassifier, X: np.ndarray, pattern: str
) -> list[tuple[torch.Tensor, np.ndarray]]:
    """Logits ``(b, outputs)`` and attention ``(b, layers, heads, tokens, tokens)`` of
    blocks of rows.
    """
    check_is_fitted(detector)
    if X.ndim != 3 or X.shape[1:] != (2, detector.n_features_in_) or len(X) == 0:
        raise DataError(
            f"expected vectors of shape (pairs, 2, {detector.n_features_in_}), as in"
            f" training, found {X.shape}."
        )
    network = detector.network_
    device = next(network.parameters()).device
    found = []
    for block in np.array_split(
        np.ascontiguousarray(X, dtype=np.float32), -(-len(X) // _ROWS)
    ):
        x = as_tokens(
            torch.from_numpy(block).to(device), detector.inputs
        )  # (b, tokens, width)
        seen = []
        for layer in network.encoder.layers:
            mixed, weights = _attend(layer.self_attn, x, pattern)
            x = layer.norm1(x + mixed)
            x = layer.norm2(x + layer.linear2(layer.activation(layer.linear1(x))))
            seen.append(weights)
        x = network.norm(x.mean(dim=1))
        logits = network.output(nn.functional.gelu(network.hidden(x)))
        found.append((logits, torch.stack(seen, dim=1).cpu().numpy()))
    return found


def _attend(
    module: nn.MultiheadAttention, x: torch.Tensor, pattern: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a layer's attention gives ``(b, tokens, width)``, and its weights ``(b,
    heads, tokens, tokens)``.
    """
    b, tokens, width = x.shape
    heads = module.num_heads
    made = nn.functional.linear(
        x, module.in_proj_weight, module.in_proj_bias
    )  # (b, tokens, 3 width)
    q, k, v = made.view(b, tokens, 3, heads, width // heads).permute(
        2, 0, 3, 1, 4
    )  # each (b, heads, tokens, width / heads)
    if pattern == "learned":
        weights = (q @ k.transpose(-1, -2) / math.sqrt(width // heads)).softmax(-1)
    else:
        weights = _pattern(pattern, tokens).to(x).expand(b, heads, tokens, tokens)
    mixed = (weights @ v).transpose(1, 2).reshape(b, tokens, width)
    return module.out_proj(mixed), weights


def _pattern(name: str, tokens: int) -> torch.Tensor:
    own = torch.eye(tokens)
    if name == "own":
        return own
    if name == "even":
        return torch.full((tokens, tokens), 1 / tokens)
    if tokens < 2:
        raise ParameterError(
            "a detector of one token has no other to attend to. Patterns for it:"
            " learned, even, own."
        )
    return (1 - own) / (tokens - 1)
