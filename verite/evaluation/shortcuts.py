"""Shortcuts: how far something trivial gets on a benchmark, before any detector is
trained.

A figure well above chance from caption length or from word counts means that the
benchmark gives its answers away there, and that a detector may have learned that
instead of misinformation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_curve
from sklearn.pipeline import make_pipeline

from verite.errors import DataError
from verite.evaluation._checks import Column, check_aligned
from verite.pairs import TRUE, grouped_folds, to_binary

__all__ = [
    "Threshold",
    "best_threshold",
    "length_probe",
    "similarity_threshold",
    "tfidf_predict",
    "tfidf_probe",
]


class Threshold(NamedTuple):
    """The cut of one number a pair that tells true pairs from others best."""

    threshold: float
    """Pairs at or above it are on one side."""
    true_above: bool
    """Whether true pairs are the ones at or above the threshold, or the ones below."""
    accuracy: float
    """0 to 1, on the rows that the threshold was chosen on."""
    n: int


def best_threshold(scores: Column, labels: Column) -> Threshold:
    """Find the threshold with the highest accuracy on these very rows, in either
    direction: n log n.

    **In-sample**: the threshold has seen the labels it is scored on, so the accuracy is
    an upper bound of what this one number can do here and never below the majority
    share. It is comparable with a ceiling, not with a detector that was trained
    elsewhere.

    Parameters
    ----------
    scores
        Shape (n,), finite.
    labels
        Shape (n,): ``true`` against any other label. Take the rows of one protocol
        first.

    Raises
    ------
    DataError
        Different lengths or indexes, NaN or infinity, an unknown label, or only one
        class.

    >>> best_threshold([.1, .2, .2, .2, .3], ["miscaptioned", "miscaptioned", "true", "true", "true"])
    Threshold(threshold=0.2, true_above=True, accuracy=0.8, n=5)
    """
    check_aligned(scores=scores, labels=labels)
    numbers = np.asarray(scores, dtype=float)
    truth = to_binary(labels) == TRUE
    if not np.isfinite(numbers).all():
        raise DataError(
            "expected a finite score in each row, found NaN or infinity in"
            f" {int((~np.isfinite(numbers)).sum()):,} row(s)."
        )
    if truth.all() or not truth.any():
        raise DataError(
            f"a threshold needs true pairs and others, found {int(truth.sum()):,} true"
            f" among {len(truth):,}."
        )
    false_rate, true_rate, thresholds = roc_curve(
        truth, numbers, drop_intermediate=False
    )
    correct = np.rint(true_rate * truth.sum() + (1 - false_rate) * (~truth).sum())
    above, below = correct.argmax(), correct.argmin()
    true_above = bool(correct[above] >= len(truth) - correct[below])
    best, hits = (
        (above, correct[above]) if true_above else (below, len(truth) - correct[below])
    )
    return Threshold(
        float(thresholds[best]), true_above, float(hits / len(truth)), len(truth)
    )


def length_probe(pairs: pd.DataFrame) -> Threshold:
    """Tell true pairs from others by the number of words in the caption alone.

    Words are what white space separates. The threshold is :func:`best_threshold`'s,
    in-sample.

    >>> captions = ["A boat.", "A boat near a bridge.", "A dog on a red boat at night."]
    >>> length_probe(pd.DataFrame({"caption": captions, "label": ["miscaptioned", "true", "true"]}))
    Threshold(threshold=5.0, true_above=True, accuracy=1.0, n=3)
    """
    return best_threshold(
        pairs["caption"].map(lambda caption: len(caption.split())), pairs["label"]
    )


def similarity_threshold(similarities: Column, labels: Column) -> Threshold:
    """Tell true pairs from others by the similarity of image and caption alone.

    No training, one number a pair.

    Parameters
    ----------
    similarities
        Cosine of the image's and the caption's embedding, one a pair.
    labels
        As in :func:`best_threshold`, whose in-sample threshold this is.

    >>> similarity_threshold([.31, .30, .22], ["true", "true", "out-of-context"]).accuracy
    1.0
    """
    return best_threshold(similarities, labels)


def tfidf_probe(pairs: pd.DataFrame, folds: int = 5, seed: int = 0) -> pd.DataFrame:
    """Predict each label from the words of the caption alone.

    TF-IDF and logistic regression, grouped folds.

    scikit-learn's defaults for both (single words, lower case; C = 1). Each pair is
    predicted by a model that saw no pair of its group: see
    :func:`verite.pairs.grouped_folds`. The vocabulary and its weights are learned on
    the training folds only.

    Returns
    -------
    pandas.DataFrame
        A table for :func:`verite.evaluation.score`, in the order of ``pairs``:
        ``pair_id``, ``group``, ``label``, ``prediction``, ``fold``.

    Raises
    ------
    DataError
        Fewer groups than folds, or a training fold of one class.

    >>> from verite.evaluation import accuracy
    >>> rows = [(f"{i}{word}", f"{word} and boat", label, str(i))
    ...         for i in range(6) for word, label in (("really", "miscaptioned"), ("old", "true"))]
    >>> pairs = pd.DataFrame(rows, columns=["pair_id", "caption", "label", "group"])
    >>> found = tfidf_probe(pairs, folds=3)
    >>> accuracy(found["label"], found["prediction"])
    1.0
    """
    prediction = np.empty(len(pairs), dtype=object)
    held_out = np.empty(len(pairs), dtype=int)
    for fold, (rest, out) in enumerate(grouped_folds(pairs, folds, seed)):
        train, test = pairs.iloc[rest], pairs.iloc[out]
        if train["label"].nunique() < 2:
            raise DataError(
                f"fold {fold}: all {len(train):,} training pairs are"
                f" {train['label'].iloc[0]!r}. Use more groups or fewer folds."
            )
        prediction[out] = tfidf_predict(train, test)
        held_out[out] = fold
    return (
        pairs[["pair_id", "group", "label"]]
        .reset_index(drop=True)
        .assign(prediction=prediction, fold=held_out)
    )


def tfidf_predict(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    """Predict labels of ``test`` by the model of :func:`tfidf_probe`, trained on
    ``train``: ``(len(test),)``.

    For tables that come with a split of their own, and for captions that were changed.

    >>> train = pd.DataFrame({"caption": ["really a boat", "an old boat"], "label": ["misinformation", "true"]})
    >>> tfidf_predict(train, pd.DataFrame({"caption": ["the old bridge"]})).tolist()
    ['true']
    """
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
    return np.asarray(
        model.fit(train["caption"], train["label"]).predict(test["caption"]),
        dtype=object,
    )
