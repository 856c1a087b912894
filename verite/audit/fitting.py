r"""One model for all probes, refitted under every permutation.

Out-of-fold predictions must not be compared with permuted labels while the models stay:
a fold's model has learnt from the labels of the others, so the hits of two folds are
correlated and vary more than such permutations do. In simulations without any signal
(600 rows, 400 features, stratified folds) their spread was too small by a fifth, and p
fell below .01 more than twice as often as it may. Ridge regression on the counts of
each item (see :mod:`verite.audit.permuting`) is linear in the counts, so it can be
refitted under a thousand permutations at once: the Gram matrix of the features stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from verite.audit.features import Matrix
from verite.audit.permuting import Items

__all__ = ["Fit", "cross_validate", "interval"]


_CELLS = 2**24  # scores held at once
_CAP = 10.0
_ENOUGH = 20  # permutations that do as well: the rest would not change what p says


class Fit(NamedTuple):
    """What a probe reaches."""

    predicted: np.ndarray
    """Predicted class of each item, out of fold: ``(items,)``."""
    weights: np.ndarray
    """Of each feature in a model fitted to all items: ``(features, classes)``."""
    p_value: float
    permutations: int
    """How many were tried."""
    before: np.ndarray
    """Predicted class of each item by the known features alone: ``(items,)``."""
    joint: np.ndarray
    """And by both together."""


class _Ridge:
    """Ridge regression in closed form for every fold.

    An intercept goes free, and so do features that are ``known``.

    Where some are known, scores are what the others say beyond them: by the theorem of
    Frisch, Waugh and Lovell, their weights are those of what the known ones leave of
    them, and an item's score is that remainder times these weights, and the mean.
    """

    def __init__(
        self,
        features: Matrix,
        fold: np.ndarray,
        folds: int,
        known: Sequence[Matrix] = (),
    ) -> None:
        X, self.back = _compact(_scaled(features))
        if known:
            X = np.hstack(
                [
                    *(_standard(one) for one in known),
                    X.toarray() if sparse.issparse(X) else X,
                ]
            )
        self.known = sum(one.shape[1] for one in known)
        self.parts = [np.flatnonzero(fold == k) for k in range(folds)]
        self.X = [X[part] for part in self.parts]
        grams = [_gram(block) for block in self.X]
        total = np.sum(grams, axis=0)
        penalty = np.eye(len(total))
        penalty[-1, -1] = 1e-6
        # Next to none beside squares that sum to the number of items, but enough where
        # two say the same, in single precision.
        penalty[range(self.known), range(self.known)] = 1e-4 * len(fold)
        self.factors = [
            cho_factor(total - gram + penalty, check_finite=False) for gram in grams
        ]
        self.whole = cho_factor(total + penalty, check_finite=False)
        if known:
            self.free = np.r_[: self.known, len(total) - 1]
            self.own = np.arange(self.known, len(total) - 1)
            self.said = [self._said(total - gram, penalty) for gram in grams]

    def _said(self, gram: np.ndarray, penalty: np.ndarray) -> np.ndarray:
        """What the known features and the intercept say of each other feature.

        Slopes, ``(free, own)``.
        """
        inner = np.ix_(self.free, self.free)
        return np.asarray(
            np.linalg.solve(
                gram[inner] + penalty[inner], gram[np.ix_(self.free, self.own)]
            )
        )

    def _products(self, targets: np.ndarray) -> list[np.ndarray]:
        return [
            np.asarray(block.T @ targets[part])
            for block, part in zip(self.X, self.parts, strict=True)
        ]

    def scores(self, targets: np.ndarray, *, joint: bool = False) -> np.ndarray:
        """Out-of-fold scores: each item's from a model that saw no item of its fold.

        Targets ``(items, k)``.

        ``joint`` leaves in what the known features say.
        """
        products = self._products(targets)
        total = np.sum(products, axis=0)
        out = np.empty(targets.shape, dtype=np.float32)
        for at, (block, part, factor, product) in enumerate(
            zip(self.X, self.parts, self.factors, products, strict=True)
        ):
            slopes = cho_solve(factor, total - product, check_finite=False)
            if self.known and not joint:
                slopes[self.free] = -self.said[at] @ slopes[self.own]
                slopes[-1] += (total - product)[-1] / (len(out) - len(part))
            out[part] = block @ slopes.astype(np.float32)
        return out

    def weights(self, targets: np.ndarray) -> np.ndarray:
        """Of each feature, fitted to all items; without the intercept."""
        total = np.sum(self._products(targets), axis=0)
        found = cho_solve(self.whole, total, check_finite=False)[self.known : -1]
        return np.asarray(found if self.back is None else self.back @ found)


def cross_validate(
    X: Matrix,
    items: Items,
    fold: np.ndarray,
    folds: int,
    *,
    permutations: int,
    rng: np.random.Generator,
    known: Sequence[Matrix] = (),
) -> Fit:
    """Fit, predict out of fold, and do so again under permutations.

    The score of a label is the expected number of the item's rows that carry it, so the
    highest score is the best answer. Items that stand in more than ten rows count as
    ten while fitting, lest one of 1,786 rows rule.

    Two statistics are tested, accuracy over rows and balanced accuracy, the mean over
    labels; p is twice the smaller of the two shares of permutations, the observed one
    among them, that do at least as well: valid, whatever depends on what. Where twenty
    permutations do as well in both, no more are tried: p is then above .01 for certain,
    as long as there are fewer than 2,000.

    Parameters
    ----------
    X
        Features of each item, ``(items, d)``, dense or sparse.
    fold
        Fold of each item, chosen without looking at labels; items of a group are in one
        fold.
    known
        Further features: only what ``X`` says beyond them counts.
    """
    model = _Ridge(X, fold, folds, known)
    classes = items.counts.shape[1]
    targets = _targets(items.counts)
    predicted = joint = model.scores(targets).argmax(axis=1)
    before = np.full(len(items), items.counts.sum(axis=0).argmax())
    if known:
        joint = model.scores(targets, joint=True).argmax(axis=1)
        before = (
            _Ridge(np.zeros((len(items), 1)), fold, folds, known)
            .scores(targets, joint=True)
            .argmax(axis=1)
        )
    rows = items.counts.sum(axis=0, dtype=np.float64)

    def statistics(counts: np.ndarray, guess: np.ndarray) -> np.ndarray:
        # counts and guess: (items, permutations, classes) and (items, permutations)
        right = np.stack(
            [
                (counts[:, :, k] * (guess == k)).sum(axis=0, dtype=np.float64)
                for k in range(classes)
            ]
        )
        there = counts.sum(axis=0, dtype=np.float64).T  # (classes, permutations)
        with np.errstate(invalid="ignore"):
            return np.stack(
                [right.sum(axis=0) / rows.sum(), np.nanmean(right / there, axis=0)]
            )

    observed = statistics(items.counts[:, None], predicted[:, None])[:, 0]
    as_good, tried = np.zeros(2), 0
    together = max(1, min(100, _CELLS // (len(items) * classes)))
    while items.free and tried < permutations and as_good.min() < _ENOUGH:
        batch = min(together, permutations - tried)
        counts = np.stack([items.permuted(rng) for _ in range(batch)], axis=1)
        scores = model.scores(_targets(counts).reshape(len(items), -1)).reshape(
            counts.shape
        )
        as_good += (
            statistics(counts, _argmax(scores)) >= observed[:, None] - 1e-9
        ).sum(axis=1)
        tried += batch
    p_value = (
        float(min(1.0, 2 * ((1 + as_good) / (1 + tried)).min()))
        if tried
        else float("nan")
    )
    return Fit(predicted, model.weights(targets), p_value, tried, before, joint)


def interval(
    right: np.ndarray,
    there: np.ndarray,
    groups: np.ndarray,
    *,
    resamples: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """95 % percentile bootstrap over whole groups, of accuracy and balanced accuracy.

    ``[[low, high], [low, high]]``.

    The same draws as those of :func:`verite.evaluation.grouped_bootstrap`, told
    otherwise: groups with the same hits are one cell of a multinomial, so it does not
    grow with the number of groups. NaN for one group.

    Parameters
    ----------
    right, there
        Rows that are right, and rows, by label: ``(items, classes)``.
    groups
        Group of each item, whole numbers.
    """
    number = np.unique(groups, return_inverse=True)[1]
    sums = np.zeros((number.max() + 1, 2 * right.shape[1]))
    np.add.at(sums, number, np.hstack([right, there]))
    if len(sums) < 2:
        return np.full((2, 2), np.nan)
    kinds, times = np.unique(sums, axis=0, return_counts=True)
    drawn = np.empty((resamples, kinds.shape[1]))
    step = max(1, _CELLS // len(kinds))
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        drawn[start : start + count] = (
            rng.multinomial(len(sums), times / len(sums), size=count) @ kinds
        )
    hits, rows = np.split(drawn, 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        figures = np.stack(
            [
                hits.sum(axis=1) / rows.sum(axis=1),
                np.nanmean(np.where(rows > 0, hits / rows, np.nan), axis=1),
            ]
        )
    return np.asarray(np.percentile(figures, [2.5, 97.5], axis=1).T)


def _targets(counts: np.ndarray) -> np.ndarray:
    rows = counts.sum(axis=-1, keepdims=True)
    return np.asarray(
        counts * np.minimum(1, _CAP / np.maximum(rows, 1)), dtype=np.float32
    )


def _argmax(scores: np.ndarray) -> np.ndarray:
    """Like ``argmax(axis=-1)``, and much faster for few classes."""
    best, guess = scores[..., 0].copy(), np.zeros(scores.shape[:-1], dtype=np.int8)
    for k in range(1, scores.shape[-1]):
        higher = scores[..., k] > best
        guess[higher] = k
        np.maximum(best, scores[..., k], out=best)
    return guess


def _scaled(X: Matrix) -> Matrix:
    """Features of mean squared length 1.

    A penalty of 1 then means the same for all probes.
    """
    if sparse.issparse(X):
        return sparse.csr_array(
            X / (np.sqrt(X.multiply(X).sum() / X.shape[0]) or 1.0), dtype=np.float32
        )
    centred = np.asarray(X, dtype=np.float32) - X.mean(axis=0, dtype=np.float64).astype(
        np.float32
    )
    scale = (
        np.sqrt(np.einsum("ij,ij->", centred, centred, dtype=np.float64) / len(centred))
        or 1.0
    )
    return np.asarray(centred / np.float32(scale))


def _standard(X: Matrix) -> np.ndarray:
    """Columns with mean 0 and spread 1, dense."""
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)
    centred = dense - dense.mean(axis=0)
    return np.asarray(centred / np.maximum(centred.std(axis=0), 1e-6))


def _compact(X: Matrix) -> tuple[Matrix, Matrix | None]:
    """Add a column of ones.

    With more features than items, turn them first into as many as there are items.

    Ridge does not see a rotation: fitted values stay the same. Also returns what turns
    weights back, or None.
    """
    back = None
    if X.shape[1] > X.shape[0]:
        product = X @ X.T
        values, vectors = np.linalg.eigh(
            np.asarray(
                product.toarray() if sparse.issparse(product) else product,
                dtype=np.float64,
            )
        )
        kept = values > 1e-6 * values.max()
        root = np.sqrt(values[kept])
        back = X.T @ (vectors[:, kept] / root)
        X = (vectors[:, kept] * root).astype(np.float32)
    ones = np.ones((X.shape[0], 1), dtype=np.float32)
    return (
        sparse.csr_array(sparse.hstack([X, ones], format="csr"))
        if sparse.issparse(X)
        else np.hstack([X, ones])
    ), back


def _gram(block: Matrix) -> np.ndarray:
    product = block.T @ block
    return np.asarray(
        product.toarray() if sparse.issparse(product) else product, dtype=np.float64
    )
