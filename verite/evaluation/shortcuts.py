"""Shortcuts: how far something trivial gets, before any detector is trained.

A figure well above chance from caption length or from word counts means that the
benchmark gives its answers away there, and that a detector may have learned that
instead of misinformation. A unimodal ceiling says how far one modality can get at all.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_curve
from sklearn.pipeline import make_pipeline

from verite.errors import DataError, ParameterError
from verite.evaluation.intervals import Column, check_aligned
from verite.evaluation.protocols import Protocol, protocol_named
from verite.pairs import TRUE, grouped_folds, to_binary

__all__ = [
    "Ceiling",
    "Threshold",
    "best_threshold",
    "length_probe",
    "similarity_threshold",
    "tfidf_predict",
    "tfidf_probe",
    "unimodal_ceiling",
]


class Ceiling(NamedTuple):
    """The best accuracy of any function of one modality."""

    value: float
    """0 to 1."""
    majority: float
    """Share of the largest class: the ceiling of a modality without information."""
    n: int
    """Pairs."""
    distinct: int
    """Distinct images, or distinct texts."""


def unimodal_ceiling(
    pairs: pd.DataFrame,
    modality: Literal["image", "text"],
    protocol: str | Protocol | None = None,
) -> Ceiling:
    r"""Best accuracy that any function of one modality alone can reach on a table.

    Such a function gives all pairs with one image the same answer, at best the label
    most of them have:

    .. math:: \frac{1}{n} \sum_{x} \max_{y} \, n_{xy}

    with :math:`n_{xy}` the pairs of image (or text) x and label y. "Modality balancing"
    (paper, section 3.2) exists to lower it: where every image and every text appears
    equally often in each class, it is the majority share. A detector that never saw the
    table cannot be expected to reach it; one above it has used both modalities. It
    compares ids: near duplicates count as different.

    Parameters
    ----------
    pairs
        A pair table; ``image_id`` or ``text_id`` and ``label`` are read.
    protocol
        Rows and classes to use; None takes the table's rows and labels as they are.

    One image is once true and once false, another only false:

    >>> labels = ["true", "misinformation", "misinformation"]
    >>> pairs = pd.DataFrame({"image_id": ["boat", "boat", "dog"], "label": labels})
    >>> ceiling = unimodal_ceiling(pairs, "image")
    >>> round(ceiling.value, 3), round(ceiling.majority, 3), ceiling.n, ceiling.distinct
    (0.667, 0.667, 3, 2)
    """
    if modality not in ("image", "text"):
        raise ParameterError(f"unknown modality {modality!r}. Known: image, text.")
    rows = pairs if protocol is None else protocol_named(protocol).select(pairs)
    counts = rows.groupby([f"{modality}_id", "label"]).size()
    best = counts.groupby(level=0).max()
    majority = rows["label"].value_counts().max()
    n = len(rows)
    return Ceiling(float(best.sum() / n), float(majority / n), n, len(best))


class Threshold(NamedTuple):
    """The cut of one number per pair that separates true pairs from others best."""

    threshold: float
    """Pairs at or above it are on one side."""
    true_above: bool
    """Whether true pairs are the ones at or above the threshold, or the ones below."""
    accuracy: float
    """0 to 1, on the rows that the threshold was chosen on."""
    n: int


def best_threshold(scores: Column, labels: Column) -> Threshold:
    """Find the threshold with the highest accuracy, in either direction.

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

    >>> labels = ["miscaptioned", "miscaptioned", "true", "true", "true"]
    >>> best_threshold([.1, .2, .2, .2, .3], labels)
    Threshold(threshold=0.2, true_above=True, accuracy=0.8, n=5)
    """
    check_aligned(scores=scores, labels=labels)
    numbers = np.asarray(scores, dtype=float)
    truth = to_binary(labels) == TRUE
    n = len(truth)
    if bad := int((~np.isfinite(numbers)).sum()):
        raise DataError(f"scores: found NaN or infinity in {bad:,} row(s).")
    if truth.all() or not truth.any():
        raise DataError(
            f"a threshold needs true pairs and others, found {int(truth.sum()):,} true"
            f" among {n:,}."
        )
    false_rate, true_rate, thresholds = roc_curve(
        truth, numbers, drop_intermediate=False
    )
    correct = np.rint(true_rate * truth.sum() + (1 - false_rate) * (~truth).sum())
    above, below = correct.argmax(), correct.argmin()
    if correct[above] >= n - correct[below]:
        return Threshold(float(thresholds[above]), True, float(correct[above] / n), n)
    accuracy = float((n - correct[below]) / n)
    return Threshold(float(thresholds[below]), False, accuracy, n)


def length_probe(pairs: pd.DataFrame) -> Threshold:
    """Separate true pairs from others by the number of words in the caption alone.

    Words are what white space separates. The threshold is :func:`best_threshold`'s,
    in-sample.

    >>> captions = ["A boat.", "A boat near a bridge.", "A dog on a red boat at night."]
    >>> labels = ["miscaptioned", "true", "true"]
    >>> length_probe(pd.DataFrame({"caption": captions, "label": labels}))
    Threshold(threshold=5.0, true_above=True, accuracy=1.0, n=3)
    """
    words = pairs["caption"].map(lambda caption: len(caption.split()))
    return best_threshold(words, pairs["label"])


def similarity_threshold(similarities: Column, labels: Column) -> Threshold:
    """Separate true pairs from others by the similarity of image and caption alone.

    ``similarities`` are cosines, one per pair; see :func:`best_threshold`.

    >>> labels = ["true", "true", "out-of-context"]
    >>> similarity_threshold([.31, .30, .22], labels).accuracy
    1.0
    """
    return best_threshold(similarities, labels)


def tfidf_probe(pairs: pd.DataFrame, folds: int = 5, seed: int = 0) -> pd.DataFrame:
    """Predict each label from the words of the caption alone.

    TF-IDF and logistic regression with scikit-learn's defaults (single words, lower
    case; C = 1), vocabulary included learned on the training folds only: each pair is
    predicted by a model that saw no pair of its group
    (:func:`verite.pairs.grouped_folds`).

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
    >>> rows = [(f"{i}{word}", f"{word} and boat", label, str(i)) for i in range(6)
    ...         for word, label in (("really", "miscaptioned"), ("old", "true"))]
    >>> pairs = pd.DataFrame(rows, columns=["pair_id", "caption", "label", "group"])
    >>> predictions = tfidf_probe(pairs, folds=3)
    >>> accuracy(predictions["label"], predictions["prediction"])
    1.0
    """
    table = pairs[["pair_id", "group", "label"]].reset_index(drop=True)
    table = table.assign(prediction=pd.Series(dtype=object), fold=0)
    for fold, (rest, held_out) in enumerate(grouped_folds(pairs, folds, seed)):
        train = pairs.iloc[rest]
        if train["label"].nunique() < 2:
            raise DataError(
                f"fold {fold}: all {len(train):,} training pairs are"
                f" {train['label'].iloc[0]!r}. Use more groups or fewer folds."
            )
        table.loc[held_out, "prediction"] = tfidf_predict(train, pairs.iloc[held_out])
        table.loc[held_out, "fold"] = fold
    return table


def tfidf_predict(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    """Predict labels of ``test`` by the model of :func:`tfidf_probe`: ``(len(test),)``.

    For tables with a split of their own, and for changed captions.

    >>> captions = ["really a boat", "an old boat"]
    >>> labels = ["misinformation", "true"]
    >>> train = pd.DataFrame({"caption": captions, "label": labels})
    >>> tfidf_predict(train, pd.DataFrame({"caption": ["the old bridge"]})).tolist()
    ['true']
    """
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
    model.fit(train["caption"], train["label"])
    return np.asarray(model.predict(test["caption"]), dtype=object)
