r"""The detector D and its variants without attention, D⁻, in one file.

Paper, section 3.4. An image and a caption are two vectors of a frozen encoder,
:math:`V_I, T_C \in R^m`. The detector is a transformer encoder over them, without
positions, followed by a small head:

.. math::

    x = \mathrm{TransformerEncoder}([V_I, T_C]), \qquad
    y = W_1 \, \mathrm{GELU}(W_0 \, \mathrm{LN}(\bar x))

where :math:`\bar x` is the mean over tokens. What differs between the four inputs is
only how the two vectors become tokens:

================  =============  =======================
========================================== inputs            paper          tokens
attention ================  =============  =======================
========================================== ``image+text``    D(I,C)         two of width
m           between image and caption ``image;text``    D⁻(I;C)        one of width 2m
none: one token can only attend to itself ``image``         D⁻(I)          one of width
m           none ``text``          D⁻(C)          one of width m           none
================  =============  =======================
==========================================
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from verite.devices import pick_device
from verite.errors import DataError, ParameterError
from verite.files import atomic_path, require_file

__all__ = ["INPUTS", "Detector", "DetectorClassifier", "as_tokens"]

INPUTS = ("image+text", "image;text", "text", "image")
"""What a detector sees.

The keys under which every table of the book lists its detectors.
"""


def as_tokens(pairs: torch.Tensor, inputs: str) -> torch.Tensor:
    """Lay out vectors of image and text as the tokens of one variant.

    Parameters
    ----------
    pairs
        Shape ``(B, 2, m)``: image, then text.

    Returns
    -------
    torch.Tensor
        ``(B, 2, m)``, ``(B, 1, 2m)`` or ``(B, 1, m)``.

    >>> as_tokens(torch.zeros(5, 2, 8), "image;text").shape
    torch.Size([5, 1, 16])
    """
    if inputs == "image+text":
        return pairs
    if inputs == "image;text":
        return pairs.flatten(1).unsqueeze(1)
    if inputs == "image":
        return pairs[:, :1]
    if inputs == "text":
        return pairs[:, 1:]
    raise ParameterError(f"unknown inputs {inputs!r}. Known: {', '.join(INPUTS)}.")


# torch's generators belong to the process: two fits in two threads would draw from one
# another's numbers.
_ONE_FIT = threading.Lock()


class Detector(nn.Module):
    """The network: tokens in, one logit (two classes) or one a class (three) out.

    Parameters
    ----------
    width
        Width of a token: m, or 2m for ``image;text``. A multiple of ``heads``.
    outputs
        1 for two classes, otherwise the number of classes.
    layers, feedforward, heads
        L, f and h of the paper.

    >>> Detector(8, outputs=3, layers=1, feedforward=16, heads=2)(torch.zeros(5, 2, 8)).shape
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
            raise ParameterError(
                f"expected a width that {heads} heads divide, found {width}."
            )
        layer = nn.TransformerEncoderLayer(
            width, heads, feedforward, dropout, activation="gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, width // 2)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width // 2, outputs)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:  # (B, tokens, width)
        """Logits ``(B, outputs)`` of tokens ``(B, tokens, width)``."""
        x = self.encoder(tokens)  # (B, tokens, width)
        x = self.norm(x.mean(dim=1))  # (B, width)
        x = nn.functional.gelu(self.hidden(self.dropout(x)))  # (B, width / 2)
        logits: torch.Tensor = self.output(self.dropout(x))  # (B, outputs)
        return logits


class DetectorClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train and use a detector the way scikit-learn classifiers are used.

    Defaults are the paper's (section 4.3).

    Parameters
    ----------
    inputs
        One of :data:`INPUTS`.
    layers, feedforward, heads, dropout
        L ∈ {1, 4}, f ∈ {128, 1024}, h ∈ {2, 8} and .1 in the paper.
    learning_rate, batch_size, epochs, patience
        Adam at 5e-5, 512, at most 30, and stop after 10 epochs without a higher
        validation accuracy, or an equal one at a lower loss.
    random_state
        Seed of the weights, the order of the batches and dropout. The same seed gives
        the same detector on the same machine with the same number of threads.
    device
        ``"auto"`` (CUDA, then Apple's MPS, then CPU) or a torch device name.
    autocast
        Compute in bfloat16 where torch thinks it safe.
    progress
        Show a progress bar over the epochs.

    Attributes
    ----------
    classes_ : numpy.ndarray
        Labels in sorted order; columns of :meth:`predict_proba`.
    history_ : list of dict
        Loss and validation accuracy of each epoch.
    best_epoch_ : int
        The epoch whose weights were kept, counted from 1.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2, 8)).astype("float32")
    >>> y = np.where((X[:, 0] * X[:, 1]).sum(1) > 0, "true", "misinformation")
    >>> d = DetectorClassifier(feedforward=16, epochs=2, device="cpu").fit(X, y)
    >>> d.predict_proba(X).shape
    (40, 2)
    """

    def __init__(
        self,
        inputs: str = "image+text",
        *,
        layers: int = 1,
        feedforward: int = 128,
        heads: int = 2,
        dropout: float = 0.1,
        learning_rate: float = 5e-5,
        batch_size: int = 512,
        epochs: int = 30,
        patience: int = 10,
        random_state: int = 0,
        device: str = "auto",
        autocast: bool = False,
        progress: bool = False,
    ) -> None:
        self.inputs = inputs
        self.layers = layers
        self.feedforward = feedforward
        self.heads = heads
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state
        self.device = device
        self.autocast = autocast
        self.progress = progress

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        validation: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> DetectorClassifier:
        """Train on vectors ``X`` of shape ``(n, 2, m)`` and labels ``y``.

        Parameters
        ----------
        validation
            Vectors and labels on which the epoch is chosen: the one with the highest
            accuracy, of those the one with the lowest loss. Without it all epochs run
            and the last is kept.

        Raises
        ------
        DataError
            Shapes disagree, values are not finite, or there are fewer than two classes.
        """
        X, y = _check(X, y)
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[2]
        if len(self.classes_) < 2:
            raise DataError(
                "expected at least two classes to train on, found"
                f" {list(self.classes_)}."
            )
        device = pick_device(self.device)
        # All randomness of a fit comes from its own seed, and the caller's generators
        # are left as they were.
        kind = {} if device.type == "cpu" else {"device_type": device.type}
        devices = [] if device.type == "cpu" else [device.index or 0]
        with _ONE_FIT, torch.random.fork_rng(devices=devices, **kind):
            torch.manual_seed(self.random_state)
            network = self._network().to(device)
            train = _on(device, X, self._targets(y))
            held = (
                None
                if validation is None
                else _on(device, *self._validation(*validation))
            )
            self.history_, best, self.best_epoch_ = self._optimise(
                network, train, held, device
            )
        network.load_state_dict(best)
        self.network_ = network.eval()
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probability of each class of ``classes_``.

        ``(n, classes)``, rows adding up to 1.
        """
        logits = self.decision_function(X)
        if logits.ndim == 1:
            positive = 1 / (1 + np.exp(-np.clip(logits, -60, 60)))
            return np.stack([1 - positive, positive], axis=1)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Most probable label of each pair."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Logits: ``(n,)`` for two classes (positive means the second class), else
        ``(n, classes)``; float64.
        """
        check_is_fitted(self)
        X, _ = _check(X, None)
        if X.shape[2] != self.n_features_in_:
            raise DataError(
                f"expected vectors of {self.n_features_in_} dimensions, as in training,"
                f" found {X.shape[2]}. Use one encoder for both."
            )
        device = next(self.network_.parameters()).device
        with torch.inference_mode():
            # To the processor first: Apple's devices know no float64.
            parts = [
                self._logits(self.network_, torch.from_numpy(block).to(device))
                .cpu()
                .double()
                for block in np.array_split(X, -(-len(X) // 4096))
            ]
        return np.asarray(torch.cat(parts).numpy())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights, parameters and classes to one safetensors file, all or
        nothing; it holds no code.
        """
        check_is_fitted(self)
        about = {
            "format": "verite-detector-1",
            "parameters": json.dumps(self.get_params()),
            "classes": json.dumps([str(label) for label in self.classes_]),
            "width": str(self.n_features_in_),
            "history": json.dumps({"epochs": self.history_, "best": self.best_epoch_}),
        }
        with atomic_path(path) as temporary:
            save_file(
                {
                    name: value.detach().cpu().contiguous()
                    for name, value in self.network_.state_dict().items()
                },
                temporary,
                about,
            )

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], device: str = "auto"
    ) -> DetectorClassifier:
        """Read a detector that :meth:`save` wrote, onto ``device``.

        Raises
        ------
        DataError
            Not such a file, or a damaged one.
        """
        target = require_file(path)
        try:
            with safe_open(target, framework="pt") as stream:
                about = stream.metadata() or {}
                state = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 - it has no iterator
            self = cls(**json.loads(about["parameters"]))
            self.classes_ = np.array(json.loads(about["classes"]), dtype=object)
            self.n_features_in_ = int(about["width"])
            history = json.loads(about["history"])
            self.history_, self.best_epoch_ = history["epochs"], history["best"]
            network = self._network()
            network.load_state_dict(state)
        except (
            SafetensorError,
            KeyError,
            ValueError,
            TypeError,
            RuntimeError,
        ) as error:
            raise DataError(
                f"{target}: not a detector that this package saved ({error}). Train and"
                " save it again."
            ) from error
        self.device = device
        self.network_ = network.to(pick_device(device)).eval()
        return self

    def _network(self) -> Detector:
        width = self.n_features_in_ * (2 if self.inputs == "image;text" else 1)
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        return Detector(
            width, outputs, self.layers, self.feedforward, self.heads, self.dropout
        )

    def _targets(self, y: np.ndarray) -> np.ndarray:
        codes = np.searchsorted(self.classes_, y)
        return codes.astype(np.float32) if len(self.classes_) == 2 else codes

    def _validation(
        self, X: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        X, y = _check(X, y)
        unknown = sorted(set(y) - set(self.classes_))
        if unknown:
            raise DataError(
                "validation has labels that training has not:"
                f" {', '.join(map(str, unknown))}."
            )
        return X, self._targets(y)

    def _logits(self, network: Detector, pairs: torch.Tensor) -> torch.Tensor:
        with torch.autocast(
            pairs.device.type, dtype=torch.bfloat16, enabled=self.autocast
        ):
            logits: torch.Tensor = network(as_tokens(pairs, self.inputs))
        return logits.float().squeeze(1) if logits.shape[1] == 1 else logits.float()

    def _optimise(
        self,
        network: Detector,
        train: tuple[torch.Tensor, torch.Tensor],
        held: tuple[torch.Tensor, torch.Tensor] | None,
        device: torch.device,
    ) -> tuple[list[dict[str, float]], dict[str, torch.Tensor], int]:
        X, y = train
        loss_of = (
            nn.functional.binary_cross_entropy_with_logits
            if len(self.classes_) == 2
            else nn.functional.cross_entropy
        )
        optimiser = torch.optim.Adam(network.parameters(), lr=self.learning_rate)
        history: list[dict[str, float]] = []
        best: dict[str, torch.Tensor] = {}
        best_score, best_epoch = (-np.inf, -np.inf), 0
        for epoch in _epochs(self.epochs, self.inputs, self.progress):
            network.train()
            total = torch.zeros((), device=device)
            for rows in torch.split(torch.randperm(len(X)).to(device), self.batch_size):
                optimiser.zero_grad(set_to_none=True)
                loss = loss_of(self._logits(network, X[rows]), y[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += loss.detach() * len(rows)
            entry = {"epoch": float(epoch), "loss": float(total) / len(X)}
            score = (0.0, float(epoch))
            if held is not None:
                network.eval()
                with torch.inference_mode():
                    logits = self._logits(network, held[0])
                    right = (
                        (logits > 0) == (held[1] > 0)
                        if logits.ndim == 1
                        else logits.argmax(1) == held[1]
                    )
                    entry["validation accuracy"] = int(right.sum()) / len(right)
                    entry["validation loss"] = float(loss_of(logits, held[1]))
                score = (entry["validation accuracy"], -entry["validation loss"])
            history.append(entry)
            if not np.isfinite(entry["loss"]):
                raise DataError(
                    f"training diverged in epoch {epoch}: the loss is {entry['loss']}."
                    " Lower learning_rate."
                )
            if score > best_score:
                best_score, best_epoch = score, epoch
                best = {
                    name: value.detach().clone()
                    for name, value in network.state_dict().items()
                }
            elif held is not None and epoch - best_epoch >= self.patience:
                break
        return history, best, best_epoch


def _epochs(count: int, inputs: str, progress: bool) -> Any:
    epochs = range(1, count + 1)
    if not progress:
        return epochs
    from tqdm import tqdm

    return tqdm(epochs, desc=f"training {inputs}", unit="epoch", leave=False)


def _on(
    device: torch.device, X: np.ndarray, y: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor]:
    """Everything on the device at once.

    100,000 pairs of 768-d vectors are 0.6 GB, and batches are then plain indexing.
    """
    return torch.from_numpy(X).to(device), torch.from_numpy(np.ascontiguousarray(y)).to(
        device
    )


def _check(X: np.ndarray, y: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    X = np.ascontiguousarray(X, dtype=np.float32)
    if X.ndim != 3 or X.shape[1] != 2 or len(X) == 0:
        raise DataError(
            "expected vectors of shape (pairs, 2, dimensions), image then text, found"
            f" {X.shape}."
        )
    if not np.isfinite(X).all():
        raise DataError(
            "NaN or infinity in the vectors of"
            f" {int((~np.isfinite(X)).any(axis=(1, 2)).sum()):,} pair(s)."
        )
    labels = np.asarray([] if y is None else y, dtype=object)
    if y is not None and len(labels) != len(X):
        raise DataError(f"{len(X):,} pairs beside {len(labels):,} labels.")
    return X, labels
