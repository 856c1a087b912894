r"""The detector D, and its variants without attention, D⁻.

Paper, section 3.4. An image and a caption are two vectors of a frozen encoder,
:math:`V_I, T_C \in R^m`. The detector is a transformer encoder over them, without
positions, then a small head on the mean :math:`\bar x` over tokens:

.. math::

    x = \mathrm{TransformerEncoder}([V_I, T_C]), \qquad
    y = W_1 \, \mathrm{GELU}(W_0 \, \mathrm{LN}(\bar x))

The inputs differ only in how the two vectors become tokens. Where there is one token,
attention does nothing: the token attends to itself.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    gelu,
    linear,
)
from tqdm import tqdm

from verite.devices import pick_device
from verite.errors import DataError, ParameterError
from verite.files import atomic_path, require_file

__all__ = ["INPUTS", "PATTERNS", "Detector", "DetectorClassifier", "as_tokens"]

Vectors = tuple[np.ndarray, np.ndarray]  # vectors (n, 2, m) and labels (n,)
Tensors = tuple[Tensor, Tensor]  # the same on a device, labels as numbers
Outputs = tuple[Tensor, list[Tensor]]  # logits (B, outputs), attention of each layer

# Pairs (B, 2, m), image then text, to tokens (B, tokens, width).
_LAYOUTS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "image+text": lambda pairs: pairs,  # D(I,C): two tokens of width m
    "image;text": lambda pairs: pairs.flatten(1).unsqueeze(1),  # D⁻(I;C): one of 2m
    "text": lambda pairs: pairs[:, 1:],  # D⁻(C): one of width m
    "image": lambda pairs: pairs[:, :1],  # D⁻(I): one of width m
}
INPUTS = tuple(_LAYOUTS)
"""What a detector sees: the names under which every table of the book lists it."""

_HELD_STILL: Mapping[str, Callable[[int], Tensor]] = {
    "even": lambda tokens: torch.full((tokens, tokens), 1 / tokens),
    "own": torch.eye,
    "other": lambda tokens: (1 - torch.eye(tokens)) / (tokens - 1),
}
PATTERNS = ("learned", *_HELD_STILL)
"""How a token weighs all tokens: as learned, all alike, itself or the others only."""

_FORMAT = "verite-detector-1"

# torch's global generator belongs to the process: fits in two threads would share it.
_FIT_LOCK = threading.Lock()


def as_tokens(pairs: Tensor, inputs: str) -> Tensor:
    """Lay out pairs ``(B, 2, m)``, image then text, as ``(B, tokens, width)``.

    >>> as_tokens(torch.zeros(5, 2, 8), "image;text").shape
    torch.Size([5, 1, 16])
    """
    if inputs not in _LAYOUTS:
        raise ParameterError(f"unknown inputs {inputs!r}. Known: {', '.join(INPUTS)}.")
    return _LAYOUTS[inputs](pairs)


class Layer(nn.Module):
    """A transformer layer: attention, then a feed-forward network, norm after each.

    It computes what :class:`torch.nn.TransformerEncoderLayer` does, to the last bit;
    its attention can be read and held still.
    """

    def __init__(self, width: int, heads: int, feedforward: int, dropout: float):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(width, heads, dropout, batch_first=True)
        self.linear1 = nn.Linear(width, feedforward)
        self.linear2 = nn.Linear(feedforward, width)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, pattern: str | None = None) -> Any:
        """Transform tokens ``(B, tokens, width)``; with a pattern, weights too."""
        if pattern is None:
            mixed, weights = self.self_attn(x, x, x, need_weights=False)
        else:
            mixed, weights = self.attend(x, pattern)
        x = self.norm1(x + self.dropout(mixed))
        hidden = self.dropout(gelu(self.linear1(x)))  # (B, tokens, feedforward)
        return self.norm2(x + self.dropout(self.linear2(hidden))), weights

    def attend(self, x: Tensor, pattern: str) -> Any:
        """Attention written out, with its weights ``(B, heads, tokens, tokens)``."""
        B, tokens, width = x.shape
        module, heads = self.self_attn, self.self_attn.num_heads
        qkv = linear(x, module.in_proj_weight, module.in_proj_bias)
        # Each of q, k, v: (B, heads, tokens, width / heads)
        q, k, v = qkv.view(B, tokens, 3, heads, -1).permute(2, 0, 3, 1, 4)
        if pattern == "learned":
            weights = (q @ k.mT / math.sqrt(width // heads)).softmax(-1)
        else:
            weights = _HELD_STILL[pattern](tokens).to(x).expand(B, heads, -1, -1)
        mixed = (weights @ v).transpose(1, 2).reshape(B, tokens, width)
        return module.out_proj(mixed), weights


class Detector(nn.Module):
    """The network: tokens in, one logit (two classes) or one per class (three) out.

    ``layers``, ``feedforward`` and ``heads`` are L, f and h of the paper; ``width`` is
    that of a token, a multiple of ``heads``.

    >>> network = Detector(8, outputs=3, layers=1, feedforward=16, heads=2)
    >>> network(torch.zeros(5, 2, 8))[0].shape
    torch.Size([5, 3])
    """

    def __init__(
        self,
        width: int,
        outputs: int,
        layers: int,
        feedforward: int,
        heads: int,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ParameterError(f"{heads} heads do not divide the width {width}.")
        # All layers start from the same weights, as in torch.nn.TransformerEncoder.
        layer = Layer(width, heads, feedforward, dropout)
        self.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, width // 2)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width // 2, outputs)

    def forward(self, x: Tensor, pattern: str | None = None) -> Outputs:
        """Logits of tokens ``(B, tokens, width)``, and attention for a pattern."""
        attention = []
        for layer in self.layers:
            x, weights = layer(x, pattern)  # (B, tokens, width)
            attention.append(weights)  # (B, heads, tokens, tokens) or None
        x = self.norm(x.mean(dim=1))  # (B, width)
        x = gelu(self.hidden(self.dropout(x)))  # (B, width / 2)
        return self.output(self.dropout(x)), attention  # (B, outputs)

    def idle_weights(self) -> int:
        """Count the weights that cannot change an answer where there is one token.

        They make queries and keys. A softmax over one number is 1, whatever they are,
        and training leaves them as they began.
        """
        width = self.norm.normalized_shape[0]
        return len(self.layers) * 2 * (width**2 + width)


@dataclass(eq=False, repr=False)
class DetectorClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train and use a detector like any scikit-learn classifier.

    Defaults are the paper's (section 4.3).

    Fitting sets ``classes_``, the sorted labels that are the columns of
    :meth:`predict_proba`; ``history_``, loss and validation accuracy of each epoch; and
    ``best_epoch_``, whose weights are used, counted from 1.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2, 8)).astype("float32")
    >>> y = np.where((X[:, 0] * X[:, 1]).sum(1) > 0, "true", "misinformation")
    >>> d = DetectorClassifier(feedforward=16, epochs=2, device="cpu").fit(X, y)
    >>> d.predict_proba(X).shape
    (40, 2)
    >>> d.predict_with_attention(X)[1].shape
    (40, 1, 2, 2, 2)
    """

    inputs: str = "image+text"  # one of INPUTS
    _: KW_ONLY
    layers: int = 1  # L ∈ {1, 4} in the paper
    feedforward: int = 128  # f ∈ {128, 1024}
    heads: int = 2  # h ∈ {2, 8}
    dropout: float = 0.1
    learning_rate: float = 5e-5  # of Adam
    batch_size: int = 512
    epochs: int = 30  # at most
    patience: int = 10  # epochs without a higher accuracy, or an equal at a lower loss
    random_state: int = 0  # seed of the weights, the order of batches, and dropout
    device: str = "auto"  # see verite.devices.pick_device
    autocast: bool = False  # compute in bfloat16 where torch considers it safe
    progress: bool = False  # show a progress bar over the epochs

    def fit(
        self, X: np.ndarray, y: np.ndarray, validation: Vectors | None = None
    ) -> Self:
        """Train on vectors ``X`` of shape ``(n, 2, m)`` and labels ``y``.

        Vectors and labels of ``validation`` choose the epoch: the one with the highest
        accuracy, of equals the one with the lowest loss. Without them it is the last.
        """
        self.classes_ = np.unique(np.asarray(y, dtype=object))
        if len(self.classes_) < 2:
            raise DataError(f"expected at least two classes, found {[*self.classes_]}.")
        device = pick_device(self.device)
        train = self._tensors(X, y, device)
        held_out = self._tensors(*validation, device) if validation else None
        self.n_features_in_ = train[0].shape[2]
        # Randomness comes from the fit's own seed, none from the caller's generator.
        devices = [] if device.type == "cpu" else [device.index or 0]
        with _FIT_LOCK, torch.random.fork_rng(devices, device_type=device.type):
            torch.manual_seed(self.random_state)
            self.network_ = self._network().to(device)
            self._train(train, held_out)
        self.network_.eval()
        return self

    def _train(self, train: Tensors, held_out: Tensors | None) -> None:
        X, y = train  # all on the device, (n, 2, m) and (n,): a batch is plain indexing
        two = len(self.classes_) == 2
        loss_of = binary_cross_entropy_with_logits if two else cross_entropy
        optimiser = torch.optim.Adam(self.network_.parameters(), lr=self.learning_rate)
        self.history_: list[dict[str, float]] = []
        best_score = (-np.inf, -np.inf)
        epochs = range(1, self.epochs + 1)
        for epoch in tqdm(epochs, "training", leave=False, disable=not self.progress):
            self.network_.train()
            total = torch.zeros((), device=X.device)
            order = torch.randperm(len(X)).to(X.device)
            for rows in torch.split(order, self.batch_size):
                optimiser.zero_grad(set_to_none=True)
                loss = loss_of(self._run(X[rows])[0], y[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += loss.detach() * len(rows)
            entry = {"epoch": float(epoch), "loss": float(total) / len(X)}
            self.history_.append(entry)
            if not np.isfinite(entry["loss"]):
                raise DataError(f"diverged in epoch {epoch}. Lower learning_rate.")
            score = (0.0, float(epoch))  # without validation the last epoch is the best
            if held_out is not None:
                self.network_.eval()
                with torch.inference_mode():
                    logits, truth = self._run(held_out[0])[0], held_out[1]
                correct = (logits > 0 if two else logits.argmax(1)) == truth
                entry["validation accuracy"] = int(correct.sum()) / len(truth)
                entry["validation loss"] = float(loss_of(logits, truth))
                score = (entry["validation accuracy"], -entry["validation loss"])
            if score > best_score:
                best_score, self.best_epoch_ = score, epoch
                best = copy.deepcopy(self.network_.state_dict())
            elif held_out is not None and epoch - self.best_epoch_ >= self.patience:
                break
        self.network_.load_state_dict(best)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Most probable label of each pair."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probability of each class of ``classes_``: ``(n, classes)``."""
        logits = self.decision_function(X)
        if logits.ndim == 1:
            logits = np.stack([np.zeros_like(logits), logits], axis=1)
        return np.asarray(softmax(logits, axis=1))

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Logits ``(n, classes)``, or ``(n,)`` for two: positive for the second."""
        return self._predict(X, None)[0]

    def predict_with_attention(
        self, X: np.ndarray, pattern: str = "learned"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Labels, and the attention weights behind them.

        The weights have shape ``(n, layers, heads, tokens, tokens)``, rows adding up to
        1: ``[..., 0, 1]`` is how much of the caption enters the image's token. With a
        ``pattern`` other than ``"learned"`` (see :data:`PATTERNS`) attention is held
        still and all trained weights stay.
        """
        known = PATTERNS if self.inputs == "image+text" else PATTERNS[:3]
        if pattern not in known:
            raise ParameterError(
                f"{self.inputs} has no pattern {pattern!r}. Known: {', '.join(known)}."
            )
        logits, weights = self._predict(X, pattern)
        codes = (logits > 0).astype(int) if logits.ndim == 1 else logits.argmax(axis=1)
        return np.asarray(self.classes_[codes]), np.concatenate(weights)

    @torch.inference_mode()
    def _predict(self, X: np.ndarray, pattern: str | None) -> tuple[np.ndarray, Any]:
        check_is_fitted(self)
        X = _check(X)
        if X.shape[2] != self.n_features_in_:
            raise DataError(
                f"trained on vectors of {self.n_features_in_} dimensions, found"
                f" {X.shape[2]}. Use one encoder for both."
            )
        device = next(self.network_.parameters()).device
        logits, weights = [], []
        for block in np.array_split(X, -(-len(X) // 4096)):
            outputs, attention = self._run(torch.from_numpy(block).to(device), pattern)
            # float64 only on the CPU: Apple's devices do not have it.
            logits.append(outputs.cpu().double())
            if pattern:
                weights.append(torch.stack(attention, dim=1).cpu().numpy())
        return torch.cat(logits).numpy(), weights

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights, parameters and classes to one safetensors file."""
        check_is_fitted(self)
        about = {
            "format": _FORMAT,
            "parameters": json.dumps(self.get_params()),
            "classes": json.dumps([str(label) for label in self.classes_]),
            "width": str(self.n_features_in_),
            "history": json.dumps({"epochs": self.history_, "best": self.best_epoch_}),
        }
        state = self.network_.state_dict().items()
        with atomic_path(path) as temporary:
            save_file({name: value.cpu() for name, value in state}, temporary, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto") -> Self:
        """Read a detector that :meth:`save` wrote, onto ``device``."""
        target = require_file(path)
        about: dict[str, str] = {}
        state: dict[str, Tensor] = {}
        with contextlib.suppress(SafetensorError), safe_open(target, "pt") as file:
            about = file.metadata() or {}
            # Earlier versions called the layers "encoder.layers".
            for name in file.keys():  # noqa: SIM118 - it has no iterator
                state[name.removeprefix("encoder.")] = file.get_tensor(name)
        if about.get("format") != _FORMAT:
            raise DataError(
                f"{target}: not a detector that verite saved, or damaged. Train again."
            )
        self = cls(**json.loads(about["parameters"]) | {"device": device})
        self.classes_ = np.array(json.loads(about["classes"]), dtype=object)
        self.n_features_in_ = int(about["width"])
        history = json.loads(about["history"])
        self.history_, self.best_epoch_ = history["epochs"], history["best"]
        self.network_ = self._network().to(pick_device(device)).eval()
        self.network_.load_state_dict(state)
        return self

    def _network(self) -> Detector:
        width = as_tokens(torch.empty(1, 2, self.n_features_in_), self.inputs).shape[2]
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        sizes = (self.layers, self.feedforward, self.heads, self.dropout)
        return Detector(width, outputs, *sizes)

    def _run(self, pairs: Tensor, pattern: str | None = None) -> Outputs:
        """Logits ``(B,)`` or ``(B, classes)``, and attention."""
        with torch.autocast(pairs.device.type, torch.bfloat16, self.autocast):
            logits, weights = self.network_(as_tokens(pairs, self.inputs), pattern)
        return logits.float().squeeze(1), weights

    def _tensors(self, X: np.ndarray, y: np.ndarray, device: torch.device) -> Tensors:
        X, y = _check(X), np.asarray(y, dtype=object)
        if len(y) != len(X):
            raise DataError(f"{len(X):,} pairs beside {len(y):,} labels.")
        if unknown := sorted(set(y) - set(self.classes_)):
            raise DataError(f"labels that training lacks: {', '.join(unknown)}.")
        codes = torch.from_numpy(np.searchsorted(self.classes_, y))
        codes = codes.float() if len(self.classes_) == 2 else codes
        return torch.from_numpy(X).to(device), codes.to(device)


def _check(X: np.ndarray) -> np.ndarray:
    X = np.ascontiguousarray(X, dtype=np.float32)
    if X.ndim != 3 or X.shape[1] != 2 or len(X) == 0:
        raise DataError(f"expected vectors (pairs, 2, dimensions), found {X.shape}.")
    if not np.isfinite(X).all():
        bad = int((~np.isfinite(X)).any(axis=(1, 2)).sum())
        raise DataError(f"NaN or infinity in the vectors of {bad:,} pair(s).")
    return X
