"""Similarity baselines: what one or two numbers per pair say about its label.

The similarity of image and caption as the only feature of a small classifier is a
strong reference on several benchmarks of multimodal misinformation. A detector that
does not beat it need not have learned more than "the words fit the picture".
:func:`recall_at` measures the encoder behind such similarities.
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

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError, name_some
from verite.evaluation.intervals import Interval, check_aligned, grouped_bootstrap
from verite.evaluation.protocols import Protocol, protocol_named
from verite.pairs import grouped_folds

__all__ = [
    "SIMILARITY_MODELS",
    "ThresholdClassifier",
    "evidence_similarity",
    "recall_at",
    "similarity_baseline",
    "similarity_line",
]

SIMILARITY_MODELS = ("threshold", "tree", "forest")
"""Intervals of one number; a decision tree; a random forest of 100 trees."""

_LEAF = 20  # training pairs in a leaf, at least; fixed beforehand: nothing is tuned


class ThresholdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One interval per class along one number, chosen for accuracy in training.

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

    >>> X, y = [[.1], [.2], [.3], [.4]], ["ooc", "ooc", "mc", "true"]
    >>> model = ThresholdClassifier().fit(X, y)
    >>> model.order_.tolist(), model.cuts_.round(2).tolist()
    (['ooc', 'mc', 'true'], [0.25, 0.35])
    """

    def fit(self, X: Any, y: Any) -> ThresholdClassifier:
        """Find order and cuts; ``X`` has shape (n, 1)."""
        values = np.asarray(X, dtype=float)
        if values.ndim != 2 or values.shape[1] != 1:
            raise ParameterError(
                f"a threshold takes one number per pair, found {values.shape}. Use"
                " the tree or the forest."
            )
        order = np.argsort(values[:, 0], kind="stable")
        ordered, labels = values[order, 0], np.asarray(y)[order]
        self.classes_ = np.unique(labels)
        # Cuts go between different values only; position i puts i rows below.
        places = np.r_[0, np.flatnonzero(np.diff(ordered) > 0) + 1, len(ordered)]
        counts = np.cumsum(labels[:, None] == self.classes_, axis=0)
        below = np.vstack([np.zeros(len(self.classes_)), counts])[places].T
        middles = np.r_[-np.inf, (ordered[:-1] + ordered[1:]) / 2, np.inf]
        best = -1.0
        for classes in permutations(range(len(self.classes_))):
            hits, starts = np.array(below[classes[0]]), []
            for label in classes[1:]:
                # An interval that begins at a place gains the correct rows so far, less
                # those of its class below the place.
                gain = hits - below[label]
                record = np.maximum.accumulate(gain)
                at_record = np.where(gain == record, np.arange(len(gain)), 0)
                starts.append(np.maximum.accumulate(at_record))
                hits = below[label] + record
            if hits[-1] > best:
                best, self.order_ = hits[-1], self.classes_[list(classes)]
                at, chosen = len(places) - 1, []
                for start in reversed(starts):
                    at = start[at]
                    chosen.append(places[at])
                self.cuts_ = middles[chosen[::-1]]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row."""
        values = np.asarray(X, dtype=float)[:, 0]
        return np.asarray(self.order_[np.searchsorted(self.cuts_, values, "right")])


def similarity_baseline(
    pairs: pd.DataFrame,
    similarities: Any,
    *,
    protocol: str | Protocol = "three-class",
    model: str = "threshold",
    folds: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Predict labels from similarities alone, whole groups held out.

    The model is trained for the protocol, on the protocol's rows, with the protocol's
    classes. As it is fitted on the benchmark itself, it has an advantage over detectors
    that were trained elsewhere.

    Parameters
    ----------
    pairs
        A pair table.
    similarities
        Numbers beside the pairs, in their order: shape (n,), such as
        :meth:`verite.Dataset.similarities` gives, or (n, k). A Series or a frame must
        have the index of ``pairs``.
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

    >>> labels = ["true", "out-of-context"]
    >>> rows = [(f"{i}{label}", label, str(i)) for i in range(6) for label in labels]
    >>> pairs = pd.DataFrame(rows, columns=["pair_id", "label", "group"])
    >>> options = {"protocol": "true-vs-ooc", "folds": 3}
    >>> table = similarity_baseline(pairs, [.3, .2] * 6, **options)
    >>> table["prediction"].tolist()[:2]
    ['true', 'misinformation']
    """
    if model not in SIMILARITY_MODELS:
        raise ParameterError(
            f"model: expected {' or '.join(SIMILARITY_MODELS)}, found {model!r}."
        )
    # pairs is a frame: its index counts where similarities have one too.
    check_aligned(pairs=pairs, similarities=similarities)
    X = np.asarray(similarities, dtype=float).reshape(len(pairs), -1)
    if bad := int((~np.isfinite(X)).any(axis=1).sum()):
        raise DataError(f"similarities: found NaN or infinity in {bad:,} row(s).")
    places = pd.Series(range(len(pairs)), index=pairs.index)
    rows = protocol_named(protocol).select(pairs.assign(_at=places))
    at = rows["_at"].to_numpy()
    X, y = X[at], rows["label"].to_numpy(dtype=str)
    table = pairs.iloc[at][["pair_id", "group", "label"]].reset_index(drop=True)
    table = table.assign(prediction=pd.Series(dtype=object), fold=0)
    for fold, (rest, held_out) in enumerate(grouped_folds(table, folds, seed)):
        fitted = _model(model, seed).fit(X[rest], y[rest])
        table.loc[held_out, "prediction"] = fitted.predict(X[held_out])
        table.loc[held_out, "fold"] = fold
    return table


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
    """Accuracy of :func:`similarity_baseline`, a reference for tables of detectors.

    Returns
    -------
    Interval
        Accuracy, 0 to 1, with its 95 % interval from ``resamples`` draws of groups.

    >>> labels = ["true", "out-of-context"]
    >>> rows = [(f"{i}{label}", label, str(i)) for i in range(6) for label in labels]
    >>> pairs = pd.DataFrame(rows, columns=["pair_id", "label", "group"])
    >>> options = {"protocol": "true-vs-ooc", "folds": 3, "resamples": 100}
    >>> similarity_line(pairs, [.3, .2] * 6, **options)[:3]
    (1.0, 1.0, 1.0)
    """
    table = similarity_baseline(
        pairs, similarities, protocol=protocol, model=model, folds=folds, seed=seed
    )
    truth = protocol_named(protocol).to_classes(table["label"])
    correct = (truth == table["prediction"].to_numpy()).astype(float)
    return grouped_bootstrap(correct, table["group"], seed=seed, resamples=resamples)


def evidence_similarity(
    captions: Sequence[str], evidence: Sequence[Sequence[str]]
) -> np.ndarray:
    """Largest TF-IDF cosine of each caption with a text of its evidence: (n,), 0 to 1.

    **Words only**: the same fact in other words counts as unlike. A caption without
    evidence, or that shares no word with it, gets 0. Weights of words come from all
    captions and texts; no label is used.

    Parameters
    ----------
    captions, evidence
        Shape (n,), and a list of texts for each, such as the column ``texts`` of
        :func:`verite.datasets.evidence.load_evidence`.

    >>> texts = [["boat", "the boat sank"], ["a red boat"], []]
    >>> evidence_similarity(["A boat.", "A dog.", "A cat."], texts).round(2).tolist()
    [1.0, 0.0, 0.0]
    """
    check_aligned(captions=captions, evidence=evidence)
    texts = [text for row in evidence for text in row]
    try:
        vectors = TfidfVectorizer().fit_transform([*captions, *texts])
    except ValueError as error:
        raise DataError("captions and evidence hold no word.") from error
    owner = np.repeat(np.arange(len(captions)), [len(row) for row in evidence])
    products = vectors[: len(captions)][owner].multiply(vectors[len(captions) :])
    cosine = np.asarray(products.sum(axis=1)).ravel()
    best = np.zeros(len(captions))
    np.maximum.at(best, owner, cosine)
    return np.minimum(best, 1.0)


def _model(name: str, seed: int) -> Any:
    options = {"min_samples_leaf": _LEAF, "random_state": seed}
    if name == "threshold":
        return ThresholdClassifier()
    if name == "tree":
        return DecisionTreeClassifier(**options)
    return RandomForestClassifier(100, **options)


def recall_at(
    images: Embeddings, texts: Embeddings, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Whether the partner is among the ``k`` nearest, per image and per caption.

    Image and caption of one pair have the same id. Nearness is the cosine. Of equally
    near candidates those that are no partner count as nearer, so vectors that are all
    alike score nothing.

    Parameters
    ----------
    images, texts
        ``n`` vectors each, of the same ids in any order.
    k
        1 or more. By chance ``k / n`` are found.

    Returns
    -------
    tuple of numpy.ndarray
        For each id of ``images``, in that order: whether the image finds its caption,
        and whether the caption finds its image. Shapes ``(n,)``; the mean is recall at
        k.

    Raises
    ------
    DataError
        The ids or the encoders differ.

    >>> V = Embeddings(["a", "b"], np.eye(2, dtype=np.float32), encoder="toy")
    >>> rows = np.array([[1, 0], [2, 1]], dtype=np.float32)
    >>> T = Embeddings(["a", "b"], rows, encoder="toy")
    >>> [correct.tolist() for correct in recall_at(V, T, k=1)]
    [[True, True], [True, False]]
    """
    if k < 1:
        raise ParameterError(f"expected k of 1 or more, found {k}.")
    if odd := sorted(set(images.ids) ^ set(texts.ids)):
        raise DataError(
            f"{images.where} and {texts.where}: unpaired ids {name_some(odd)}."
        )
    if images.encoder != texts.encoder:
        raise DataError(
            f"images were encoded by {images.encoder!r}, texts by {texts.encoder!r}."
            " Encode both with one model."
        )
    V, T = images.normalised().rows(images.ids), texts.normalised().rows(images.ids)
    cosine = V @ T.T
    partner = np.diag(cosine)
    others = ~np.eye(len(cosine), dtype=bool)
    to_text = ((cosine >= partner[:, None]) & others).sum(axis=1) < k
    to_image = ((cosine >= partner[None, :]) & others).sum(axis=0) < k
    return to_text, to_image
