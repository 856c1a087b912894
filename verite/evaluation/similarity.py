"""Similarity baselines: what one number a pair, or two, tells about its label.

The similarity of image and caption as the only feature of a small classifier is a
strong reference on several benchmarks of multimodal misinformation. A detector that
does not beat it need not have learned more than "the words fit the picture".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.tree import DecisionTreeClassifier

from verite.errors import DataError, ParameterError
from verite.evaluation._checks import check_aligned
from verite.evaluation.intervals import Interval, grouped_bootstrap
from verite.evaluation.protocols import Protocol, protocol_named
from verite.pairs import grouped_folds

__all__ = [
    "SIMILARITY_MODELS",
    "ThresholdClassifier",
    "evidence_similarity",
    "similarity_baseline",
    "similarity_line",
]

_LEAF = 20
"""Training pairs in a leaf of the tree or of the forest, at least.

Fixed beforehand: nothing here is tuned.
"""

SIMILARITY_MODELS = ("threshold", "tree", "forest")
"""Intervals of one number; a decision tree; a random forest of 100 trees."""


class ThresholdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One interval a class along one number, with the cuts that are right most often on
    the training rows.

    With two classes this is one threshold, :func:`verite.evaluation.best_threshold`'s.
    With k classes all orders of the classes along the line are tried, and for each the
    best k - 1 cuts: k! passes over the sorted rows. An interval may be empty. Cuts lie
    midway between neighbouring values.

    Attributes
    ----------
    order_
        Classes from low to high.
    cuts_
        Shape (k - 1,): values from ``cuts_[i]`` on belong to ``order_[i + 1]``.

    >>> model = ThresholdClassifier().fit([[.1], [.2], [.3], [.4]], ["ooc", "ooc", "mc", "true"])
    >>> model.order_.tolist(), model.cuts_.round(2).tolist()
    (['ooc', 'mc', 'true'], [0.25, 0.35])
    """

    def fit(self, X: Any, y: Any) -> ThresholdClassifier:
        """Find order and cuts; ``X`` has shape (n, 1)."""
        values = np.asarray(X, dtype=float)
        if values.ndim != 2 or values.shape[1] != 1:
            raise ParameterError(
                f"a threshold is one of one number a pair, found shape {values.shape}."
                " Use the tree or the forest."
            )
        order = np.argsort(values[:, 0], kind="stable")
        ordered, labels = values[order, 0], np.asarray(y)[order]
        self.classes_ = np.unique(labels)
        # Cuts go between different values only; position i puts i rows below.
        places = np.r_[0, np.flatnonzero(np.diff(ordered) > 0) + 1, len(ordered)]
        below = np.vstack(
            [
                np.zeros(len(self.classes_)),
                np.cumsum(labels[:, None] == self.classes_, axis=0),
            ]
        )[places].T  # (k, places)
        best = -1.0
        for classes in permutations(range(len(self.classes_))):
            hits, starts = np.array(below[classes[0]]), []
            for one in classes[1:]:
                # Where an interval that begins at a place would stand: hits so far,
                # less what its class has below.
                gain = hits - below[one]
                record = np.maximum.accumulate(gain)
                starts.append(
                    np.maximum.accumulate(
                        np.where(gain == record, np.arange(len(gain)), 0)
                    )
                )
                hits = below[one] + record
            if hits[-1] > best:
                best, self.order_ = hits[-1], self.classes_[list(classes)]
                at, chosen = len(places) - 1, []
                for start in reversed(starts):
                    at = start[at]
                    chosen.append(places[at])
                self.cuts_ = np.array(
                    [_between(ordered, each) for each in reversed(chosen)]
                )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row."""
        return np.asarray(
            self.order_[
                np.searchsorted(
                    self.cuts_, np.asarray(X, dtype=float)[:, 0], side="right"
                )
            ]
        )


def similarity_baseline(
    pairs: pd.DataFrame,
    similarities: Any,
    *,
    protocol: str | Protocol = "three-class",
    model: str = "threshold",
    folds: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Predict labels from similarities alone, each pair by a model that saw no pair of
    its group.

    The model is trained for the protocol, on the protocol's rows, with the protocol's
    classes; nothing is tuned. As it is fitted on the benchmark itself, it has an
    advantage over detectors that were trained elsewhere.

    Parameters
    ----------
    pairs
        A pair table.
    similarities
        Numbers beside the pairs, in their order: shape (n,), such as
        :meth:`verite.Dataset.similarities` gives, or (n, k) for k of them. A Series or
        a frame must have the index of ``pairs``.
    protocol
        Which rows and classes.
    model
        One of :data:`SIMILARITY_MODELS`; ``threshold`` takes one number.
    folds, seed
        Of the folds (:func:`verite.pairs.grouped_folds`) and of the forest.

    Returns
    -------
    pandas.DataFrame
        A table for :func:`verite.evaluation.score` under the same protocol:
        ``pair_id``, ``group``, ``label``, ``prediction``, ``fold``, for the protocol's
        rows in the order of ``pairs``.

    Raises
    ------
    DataError
        Another number of rows or another index, NaN or infinity, fewer groups than
        folds, or labels that do not fit.
    ParameterError
        Unknown protocol or model, or a threshold of several numbers.

    >>> rows = [(f"{i}{label}", label, str(i)) for i in range(6) for label in ("true", "out-of-context")]
    >>> pairs = pd.DataFrame(rows, columns=["pair_id", "label", "group"])
    >>> found = similarity_baseline(pairs, [.3, .2] * 6, protocol="true-vs-ooc", folds=3)
    >>> found["prediction"].tolist()[:2]
    ['true', 'misinformation']
    """
    if model not in SIMILARITY_MODELS:
        raise ParameterError(
            f"model: expected {' or '.join(SIMILARITY_MODELS)}, found {model!r}."
        )
    chosen = protocol_named(protocol)
    check_aligned(pairs=pairs, similarities=similarities)
    if isinstance(
        similarities, pd.Series | pd.DataFrame
    ) and not similarities.index.equals(pairs.index):
        raise DataError(
            "pairs and similarities have different indexes, so their rows do not belong"
            " together. Join them by pair_id first."
        )
    X = np.asarray(similarities, dtype=float).reshape(len(pairs), -1)
    if not np.isfinite(X).all():
        raise DataError(
            "expected a similarity in each row, found NaN or infinity in"
            f" {int((~np.isfinite(X)).any(axis=1).sum()):,} row(s)."
        )
    if model == "threshold" and X.shape[1] != 1:
        raise ParameterError(
            f"a threshold is one of one number a pair, found {X.shape[1]}. Use the tree"
            " or the forest."
        )
    places = pd.Series(range(len(pairs)), index=pairs.index)
    rows = chosen.select(pairs.assign(_at=places))
    X, y = X[rows["_at"].to_numpy()], rows["label"].to_numpy(dtype=str)
    kept = pairs.iloc[rows["_at"].to_numpy()][
        ["pair_id", "group", "label"]
    ].reset_index(drop=True)
    prediction, fold_of = (
        np.empty(len(kept), dtype=object),
        np.empty(len(kept), dtype=int),
    )
    for fold, (rest, out) in enumerate(grouped_folds(kept, folds, seed)):
        prediction[out] = _model(model, seed).fit(X[rest], y[rest]).predict(X[out])
        fold_of[out] = fold
    return kept.assign(prediction=prediction, fold=fold_of)


def similarity_line(
    pairs: pd.DataFrame,
    similarities: Any,
    *,
    protocol: str | Protocol = "three-class",
    model: str = "threshold",
    folds: int = 5,
    seed: int = 0,
    resamples: int = 10_000,
) -> Interval:
    """Accuracy of a similarity baseline.

    The line that a table of detectors is read against.

    Parameters
    ----------
    pairs, similarities, protocol, model, folds, seed
        See :func:`similarity_baseline`.
    resamples
        Bootstrap draws, of whole groups.

    Returns
    -------
    Interval
        Accuracy, 0 to 1, with its 95 % interval.

    Raises
    ------
    DataError, ParameterError
        As :func:`similarity_baseline` does.

    >>> rows = [(f"{i}{label}", label, str(i)) for i in range(6) for label in ("true", "out-of-context")]
    >>> pairs = pd.DataFrame(rows, columns=["pair_id", "label", "group"])
    >>> found = similarity_line(pairs, [.3, .2] * 6, protocol="true-vs-ooc", folds=3, resamples=100)
    >>> float(found.value), found.n
    (1.0, 12)
    """
    found = similarity_baseline(
        pairs, similarities, protocol=protocol, model=model, folds=folds, seed=seed
    )
    right = (
        protocol_named(protocol).to_classes(found["label"])
        == found["prediction"].to_numpy()
    ).astype(float)
    return grouped_bootstrap(right, found["group"], seed=seed, resamples=resamples)


def evidence_similarity(
    captions: Sequence[str], evidence: Sequence[Sequence[str]]
) -> np.ndarray:
    """Largest TF-IDF cosine of each caption with a text of its evidence.

    Shape (n,), 0 to 1.

    **Words only**: the same fact in other words counts as unlike. A caption without
    evidence gets 0, as does one that shares no word with its. Weights of words come
    from all captions and texts given; no label is looked at.

    Parameters
    ----------
    captions
        Shape (n,).
    evidence
        Texts of each, such as the column ``texts`` of
        :func:`verite.datasets.evidence.load_evidence`.

    Raises
    ------
    DataError
        Different lengths, no row, or not one word.

    >>> evidence_similarity(["A boat.", "A dog.", "A cat."], [["boat", "the boat sank"], ["a red boat"], []]).round(2).tolist()
    [1.0, 0.0, 0.0]
    """
    check_aligned(captions=captions, evidence=evidence)
    texts = [text for each in evidence for text in each]
    try:
        vectors = TfidfVectorizer().fit_transform([*captions, *texts])
    except ValueError as error:
        raise DataError(
            "expected words in captions or evidence, found none."
        ) from error
    owner = np.repeat(np.arange(len(captions)), [len(each) for each in evidence])
    cosine = np.asarray(
        vectors[: len(captions)][owner].multiply(vectors[len(captions) :]).sum(axis=1)
    ).ravel()
    best = np.zeros(len(captions))
    np.maximum.at(best, owner, cosine)
    return np.minimum(best, 1.0)


def _model(name: str, seed: int) -> Any:
    if name == "threshold":
        return ThresholdClassifier()
    if name == "tree":
        return DecisionTreeClassifier(min_samples_leaf=_LEAF, random_state=seed)
    return RandomForestClassifier(
        n_estimators=100, min_samples_leaf=_LEAF, random_state=seed
    )


def _between(ordered: np.ndarray, place: int) -> float:
    if place == 0:
        return -np.inf
    return (
        float((ordered[place - 1] + ordered[place]) / 2)
        if place < len(ordered)
        else np.inf
    )
