"""Building blocks of probes: matrices of features with names.

No feature looks at a label. Some are counted over all captions (frequent words, bins
with equally many captions), which reveals nothing about labels either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

__all__ = [
    "TOKEN",
    "Features",
    "Matrix",
    "at_equal_length",
    "binned",
    "categories",
    "column_features",
    "id_features",
    "join",
    "table",
    "tfidf",
]

TOKEN = r"(?u)[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"  # noqa: E501, S105
"""A word, or a single sign of Chinese, Japanese or Korean."""

_WORDS = 2000
_BINS = 10
_FEWEST = 5  # rows that must have a value before it becomes a feature
_LETTERS = r"[^\W\d_]+"
_DOMAIN = re.compile(r"^[a-z]+://(?:www\.)?([^/:?#\s]+)", re.I)

Matrix: TypeAlias = Any
"""A dense NumPy array, or a SciPy ``csr_array``."""


class Features(NamedTuple):
    """A matrix with one row per item, and a name per column."""

    matrix: Matrix
    names: Sequence[str]


def binned(values: Sequence[float] | np.ndarray, name: str) -> Features:
    """A number itself, and at most ten bins with about equally many values.

    A linear model of these can follow a dependence of any shape.

    >>> binned([1, 1, 2, 9], "words").names
    ['words', 'words 1', 'words 2 to 9']
    """
    numbers = np.asarray(values, dtype=float)
    quantiles = np.linspace(0, 1, _BINS + 1)[:-1]
    edges = np.unique(np.quantile(numbers, quantiles, method="lower"))
    part = np.searchsorted(edges, numbers, side="right") - 1
    names = [name]
    for at, low in enumerate(edges):
        top = numbers[part == at].max()
        names.append(f"{name} {low:.6g}" + (f" to {top:.6g}" if top > low else ""))
    matrix = np.column_stack([numbers, np.eye(len(edges))[part]])
    return Features(_standardise(matrix), names)


def categories(values: Sequence[str], most: int = 300) -> Features:
    """One feature per frequent value, the most frequent first.

    >>> categories(["a"] * 5 + ["b"] * 6).names
    ['b', 'a']
    """
    counts = pd.Series(values, dtype="str").value_counts()
    names = [str(value) for value in counts.index[counts >= _FEWEST] if value != ""]
    names = names[:most]
    codes = pd.Index(names, dtype=object).get_indexer(pd.Index(values, dtype=object))
    rows = np.flatnonzero(codes >= 0)
    ones = np.ones(len(rows), dtype=np.float32)
    shape = (len(values), len(names))
    return Features(sparse.csr_array((ones, (rows, codes[rows])), shape=shape), names)


def tfidf(captions: Sequence[str]) -> Features:
    """TF-IDF of lower-case words; the 2,000 most frequent of more than 2,000 captions.

    >>> tfidf(["a boat", "a dog", "a boat"]).names
    ['a', 'boat']
    """
    vectorizer = TfidfVectorizer(
        token_pattern=TOKEN, min_df=min(2, len(captions)), sublinear_tf=True
    )
    try:
        matrix = vectorizer.fit_transform(captions)
    except ValueError:  # no word occurs twice
        return Features(sparse.csr_array((len(captions), 0)), [])
    names = vectorizer.get_feature_names_out()
    frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
    most = len(names) if len(captions) <= _WORDS else _WORDS
    frequent = np.sort(np.argsort(-frequency, kind="stable")[:most])
    matrix = sparse.csr_array(matrix[:, frequent], dtype=np.float32)
    return Features(matrix, names[frequent].tolist())


def id_features(columns: Mapping[str, Sequence[str]]) -> Features:
    """Words in file names and ids: ``sandy_fake_43.jpg`` gives sandy, fake and jpg.

    >>> id_features({"image_id": ["a_fake_1"] * 5 + ["b_real_2"] * 5}).names
    ['image_id: a', 'image_id: b', 'image_id: fake', 'image_id: real']
    """
    parts, names = [], []
    for column, values in columns.items():
        vectorizer = TfidfVectorizer(
            token_pattern=_LETTERS,
            binary=True,
            use_idf=False,
            norm=None,
            min_df=min(_FEWEST, len(values)),
            max_features=500,
        )
        try:
            parts.append(vectorizer.fit_transform(values))
        except ValueError:  # no word is frequent
            continue
        names += [f"{column}: {name}" for name in vectorizer.get_feature_names_out()]
    if not parts:
        return Features(sparse.csr_array((len(next(iter(columns.values()))), 0)), [])
    matrix = sparse.csr_array(sparse.hstack(parts), dtype=np.float32)
    return _drop_constant(Features(matrix, names))


def column_features(values: Sequence[str]) -> Features:
    """Features of a column of any kind: domains of links, numbers, categories, words.

    >>> links = ["https://www.example.org/a"] * 6 + ["http://example.com/b"] * 5
    >>> column_features(links).names
    ['example.org', 'example.com']
    """
    filled = [value for value in values if value != ""]
    if not filled:
        return Features(sparse.csr_array((len(values), 0)), [])
    matches = [_DOMAIN.match(value) for value in values]
    domains = [match.group(1).lower() if match else "" for match in matches]
    if sum(domain != "" for domain in domains) > len(filled) / 2:
        return _with_missing(categories(domains), domains)
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=float)
    finite = np.isfinite(numbers)
    if finite.sum() > 0.9 * len(filled) and len(set(filled)) > 2:
        numbers = np.where(finite, numbers, np.nanmedian(numbers[finite]))
        features = binned(numbers, "value")
        if finite.all():
            return features
        missing = _standardise((~finite)[:, None].astype(float))
        matrix = np.hstack([features.matrix, missing])
        return Features(matrix, [*features.names, "no value"])
    frequent = categories(values)
    if frequent.matrix.sum() > len(filled) / 2:
        return _with_missing(frequent, values)
    return tfidf(values)


def table(columns: Mapping[str, Sequence[float]]) -> Features:
    """Columns of numbers, standardised."""
    values = [np.asarray(column, dtype=float) for column in columns.values()]
    return Features(_standardise(np.column_stack(values)), list(columns))


def join(*features: Features) -> Features:
    """Features side by side, as a sparse matrix."""
    matrix = sparse.hstack([sparse.csr_array(part.matrix) for part in features])
    names = [name for part in features for name in part.names]
    return Features(sparse.csr_array(matrix), names)


def at_equal_length(features: Features, captions: Sequence[str]) -> Features:
    """Subtract from each feature its mean among captions of as many words.

    A probe of commas then does not fire because long captions have more commas; that
    is left to the probe of length.
    """
    words = pd.Series([len(caption.split()) for caption in captions])
    frequent = words.map(words.value_counts()) >= 3 * _BINS
    part = words
    if not frequent.all():
        rare = words.where(~frequent, np.nan)
        coarse = pd.qcut(rare, 2 * _BINS, labels=False, duplicates="drop")
        part = words.where(frequent, -1 - coarse.fillna(0))
    means = pd.DataFrame(features.matrix).groupby(part.to_numpy()).transform("mean")
    matrix = np.asarray(features.matrix, dtype=float) - means.to_numpy()
    return Features(_standardise(matrix), features.names)


def _with_missing(features: Features, values: Sequence[str]) -> Features:
    missing = np.array([[value == ""] for value in values], dtype=np.float32)
    return _drop_constant(join(features, Features(missing, ["empty"])))


def _drop_constant(features: Features) -> Features:
    rows, columns = features.matrix.shape
    counts = np.bincount(features.matrix.indices, minlength=columns)
    varying = np.flatnonzero((counts > 0) & (counts < rows))
    names = [features.names[int(at)] for at in varying]
    return Features(features.matrix[:, varying], names)


def _standardise(matrix: np.ndarray) -> np.ndarray:
    """Mean 0 and standard deviation 1; a constant column becomes 0."""
    centred = matrix - matrix.mean(axis=0)
    spread = centred.std(axis=0)
    scaled = centred / np.where(spread > 1e-9, spread, np.inf)
    return np.asarray(scaled, dtype=np.float32)
