"""One model for all probes, refitted under every permutation.

Out-of-fold predictions must not be compared with permuted labels while the models stay:
a fold's model has learnt from the labels of the others, so the hits of two folds are
correlated and vary more than under such permutations. In simulations without any signal
(600 rows, 400 features, stratified folds) their spread was too small by a fifth, and p
fell below .01 more than twice as often as it may. Ridge regression on the counts of
each item (:mod:`verite.audit.permutation`) is linear in the counts, so it can be
refitted under a thousand permutations at once: the Gram matrix of the features stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from verite.audit.features import Matrix
from verite.audit.permutation import Items

__all__ = ["Fit", "cross_validate", "interval"]

_CELLS = 2**24  # scores held at once
_MOST_ROWS = 10.0
_ENOUGH = 20  # permutations that do as well: more would not bring p below .01


class Fit(NamedTuple):
    """Predictions of a probe, its weights and its p-value."""

    predicted: np.ndarray
    """Predicted class of each item, out of fold: ``(items,)``."""
    weights: np.ndarray
    """Of each feature in a model fitted to all items: ``(features, classes)``."""
    p_value: float
    permutations: int
    """How many permutations were tried."""
    before: np.ndarray
    """Predicted class of each item by the known features alone: ``(items,)``."""
    joint: np.ndarray
    """Predicted class of each item by both together: ``(items,)``."""


class _Ridge:
    """Ridge regression in closed form for every fold.

    The intercept is not penalised, and neither are ``known`` features. With these,
    scores are what the other features add: by the theorem of Frisch, Waugh and Lovell
    their weights are those of what is left of them after regression on the known ones,
    and an item's score is that remainder times these weights, plus the mean.
    """

    def __init__(
        self,
        features: Matrix,
        fold: np.ndarray,
        folds: int,
        known: Sequence[Matrix] = (),
    ) -> None:
        X, self.back = _compact(_scale(features))
        if known:
            X = np.hstack([*map(_standardise, known), _dense(X)])
        self.known = sum(matrix.shape[1] for matrix in known)
        self.parts = [np.flatnonzero(fold == k) for k in range(folds)]
        self.X = [X[part] for part in self.parts]
        grams = [_gram(block) for block in self.X]
        total = np.sum(grams, axis=0)
        penalty = np.eye(len(total))
        penalty[-1, -1] = 1e-6
        # Nearly nothing beside squares that sum to the number of items, but enough to
        # solve in single precision where two known features say the same.
        penalty[range(self.known), range(self.known)] = 1e-4 * len(fold)
        self.factors = [
            cho_factor(total - gram + penalty, check_finite=False) for gram in grams
        ]
        self.whole = cho_factor(total + penalty, check_finite=False)
        if known:
            # Slopes of the other features on the known ones and the intercept.
            self.free = np.r_[: self.known, len(total) - 1]
            self.own = np.arange(self.known, len(total) - 1)
            inner, across = np.ix_(self.free, self.free), np.ix_(self.free, self.own)
            self.slopes = [
                np.linalg.solve(
                    (total - gram)[inner] + penalty[inner], (total - gram)[across]
                )
                for gram in grams
            ]

    def _products(self, targets: np.ndarray) -> list[np.ndarray]:
        return [
            np.asarray(block.T @ targets[part])
            for block, part in zip(self.X, self.parts, strict=True)
        ]

    def scores(self, targets: np.ndarray, *, joint: bool = False) -> np.ndarray:
        """Scores of items from models that saw no item of their fold, ``(items, k)``.

        With ``joint``, they include what the known features say.
        """
        products = self._products(targets)
        total = np.sum(products, axis=0)
        scores = np.empty(targets.shape, dtype=np.float32)
        for at, part in enumerate(self.parts):
            product = total - products[at]
            weights = cho_solve(self.factors[at], product, check_finite=False)
            if self.known and not joint:
                weights[self.free] = -self.slopes[at] @ weights[self.own]
                weights[-1] += product[-1] / (len(scores) - len(part))
            scores[part] = self.X[at] @ weights.astype(np.float32)
        return scores

    def weights(self, targets: np.ndarray) -> np.ndarray:
        """Weight of each feature, fitted to all items; without the intercept."""
        total = np.sum(self._products(targets), axis=0)
        weights = cho_solve(self.whole, total, check_finite=False)[self.known : -1]
        return np.asarray(weights if self.back is None else self.back @ weights)


def cross_validate(
    X: Matrix,
    items: Items,
    fold: np.ndarray,
    *,
    permutations: int,
    rng: np.random.Generator,
    known: Sequence[Matrix] = (),
) -> Fit:
    """Fit, predict out of fold, and do so again under permutations.

    The score of a label is the expected number of the item's rows that carry it, so the
    highest score is the best answer. Items of more than ten rows count as ten while
    fitting, so that one of 1,786 rows does not dominate.

    Two statistics are tested, accuracy over rows and balanced accuracy, the mean over
    labels; p is twice the smaller of the two shares of permutations, the observed one
    included, that do at least as well, which is valid for any dependence. After twenty
    such permutations for both, no more are tried: p is then above .01 for certain, as
    long as there are fewer than 2,000.

    Parameters
    ----------
    X
        Features of each item, ``(items, d)``, dense or sparse.
    fold
        Fold of each item, chosen without looking at labels; items of a group are in one
        fold.
    known
        Further features: only what ``X`` adds to them counts.
    """
    folds = int(fold.max()) + 1
    model = _Ridge(X, fold, folds, known)
    classes = items.counts.shape[1]
    targets = _targets(items.counts)
    predicted = joint = model.scores(targets).argmax(axis=1)
    before = np.full(len(items), items.counts.sum(axis=0).argmax())
    if known:
        joint = model.scores(targets, joint=True).argmax(axis=1)
        without = _Ridge(np.zeros((len(items), 1)), fold, folds, known)
        before = without.scores(targets, joint=True).argmax(axis=1)
    rows = items.counts.sum(dtype=np.float64)

    def statistics(counts: np.ndarray, guess: np.ndarray) -> np.ndarray:
        # counts: (items, permutations, classes), guess: (items, permutations)
        right = np.stack(
            [
                (counts[:, :, k] * (guess == k)).sum(axis=0, dtype=np.float64)
                for k in range(classes)
            ]
        )
        of_class = counts.sum(axis=0, dtype=np.float64).T  # (classes, permutations)
        with np.errstate(invalid="ignore"):
            balanced = np.nanmean(right / of_class, axis=0)
        return np.stack([right.sum(axis=0) / rows, balanced])

    observed = statistics(items.counts[:, None], predicted[:, None])
    as_good, tried = np.zeros(2), 0
    most = max(1, min(100, _CELLS // (len(items) * classes)))
    while items.can_permute and tried < permutations and as_good.min() < _ENOUGH:
        batch = min(most, permutations - tried)
        counts = np.stack([items.permute(rng) for _ in range(batch)], axis=1)
        scores = model.scores(_targets(counts).reshape(len(items), -1))
        guess = _argmax(scores.reshape(counts.shape))
        as_good += (statistics(counts, guess) >= observed - 1e-9).sum(axis=1)
        tried += batch
    p_value = min(1.0, 2 * float(((1 + as_good) / (1 + tried)).min()))
    return Fit(
        predicted,
        model.weights(targets),
        p_value if tried else float("nan"),
        tried,
        before,
        joint,
    )


def interval(
    right: np.ndarray,
    rows: np.ndarray,
    groups: np.ndarray,
    *,
    resamples: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """95 % percentile bootstrap over whole groups, of accuracy and balanced accuracy.

    As :func:`verite.evaluation.grouped_bootstrap`, but faster for many groups: those
    with the same counts are one cell of a multinomial.

    Parameters
    ----------
    right, rows
        Correct rows, and rows, by label: ``(items, classes)``.
    groups
        Group of each item, whole numbers.

    Returns
    -------
    numpy.ndarray
        ``[[low, high], [low, high]]``; NaN for one group.
    """
    number = np.unique(groups, return_inverse=True)[1]
    sums = np.zeros((number.max() + 1, 2 * right.shape[1]))
    np.add.at(sums, number, np.hstack([right, rows]))
    if len(sums) < 2:
        return np.full((2, 2), np.nan)
    kinds, times = np.unique(sums, axis=0, return_counts=True)
    drawn = np.empty((resamples, kinds.shape[1]))
    step = max(1, _CELLS // len(kinds))
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        draws = rng.multinomial(len(sums), times / len(sums), size=count)
        drawn[start : start + count] = draws @ kinds
    hits, of_class = np.split(drawn, 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = hits.sum(axis=1) / of_class.sum(axis=1)
        recalls = np.where(of_class > 0, hits / of_class, np.nan)
        figures = np.stack([accuracy, np.nanmean(recalls, axis=1)])
    return np.asarray(np.percentile(figures, [2.5, 97.5], axis=1).T)


def _targets(counts: np.ndarray) -> np.ndarray:
    rows = counts.sum(axis=-1, keepdims=True)
    weights = np.minimum(1, _MOST_ROWS / np.maximum(rows, 1))
    return np.asarray(counts * weights, dtype=np.float32)


def _argmax(scores: np.ndarray) -> np.ndarray:
    """Same as ``argmax(axis=-1)``, and much faster for few classes."""
    best, guess = scores[..., 0].copy(), np.zeros(scores.shape[:-1], dtype=np.int8)
    for k in range(1, scores.shape[-1]):
        higher = scores[..., k] > best
        guess[higher] = k
        np.maximum(best, scores[..., k], out=best)
    return guess


def _dense(X: Matrix) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def _scale(X: Matrix) -> Matrix:
    """Features of mean squared length 1, so that a penalty means the same for all."""
    if sparse.issparse(X):
        scale = np.sqrt(X.multiply(X).sum() / X.shape[0]) or 1.0
        return sparse.csr_array(X / scale, dtype=np.float32)
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = np.asarray(X, dtype=np.float32) - mean
    squares = np.einsum("ij,ij->", centred, centred, dtype=np.float64)
    scale = np.sqrt(squares / len(centred)) or 1.0
    return np.asarray(centred / np.float32(scale))


def _standardise(X: Matrix) -> np.ndarray:
    """Columns with mean 0 and standard deviation 1, dense."""
    dense = np.asarray(_dense(X), dtype=np.float32)
    centred = dense - dense.mean(axis=0)
    return np.asarray(centred / np.maximum(centred.std(axis=0), 1e-6))


def _compact(X: Matrix) -> tuple[Matrix, Matrix | None]:
    """Add a column of ones, after rotating more features than items into as many.

    Ridge regression does not see a rotation: fitted values stay the same. Also returns
    the matrix that turns weights back, or None.
    """
    back = None
    if X.shape[1] > X.shape[0]:
        values, vectors = np.linalg.eigh(_dense(X @ X.T).astype(np.float64))
        large = values > 1e-6 * values.max()
        root = np.sqrt(values[large])
        back = X.T @ (vectors[:, large] / root)
        X = (vectors[:, large] * root).astype(np.float32)
    ones = np.ones((X.shape[0], 1), dtype=np.float32)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, ones], format="csr")), back
    return np.hstack([X, ones]), back


def _gram(block: Matrix) -> np.ndarray:
    return _dense(block.T @ block).astype(np.float64)
