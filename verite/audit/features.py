"""What each probe looks at.

A matrix of features for the distinct captions, the distinct images, or the rows of a
benchmark.

No feature looks at a label. Those of one caption are counted over all captions (words
that occur twice, bins with equally many captions), which tells a model nothing about
labels either.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from verite.characters import PROBLEMS, clean, find_problems

__all__ = [
    "TEXT_PROBES",
    "Features",
    "Matrix",
    "binned",
    "categories",
    "column_features",
    "id_features",
]

_WORDS = 2000
_BINS = 10
_LONG_WORD = 15  # characters a word, on average, from which on words are not separated
_LEAST = 5  # captions in which a word must stand
_TOKEN = r"(?u)[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"  # noqa: S105
_LETTERS = r"[^\W\d_]+"
_MARKS = ".,;:!?\"'()[]-–—…/&#@*%$“”‘’«»"
_MONTH = re.compile(
    r"\b(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?)\b\.?",
    re.I,
)
_DATE = re.compile(r"\b\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b")
_YEAR = re.compile(r"\b(1[89]|20)\d\d\b")
_DOMAIN = re.compile(r"^[a-z]+://(?:www\.)?([^/:?#\s]+)", re.I)


Matrix: TypeAlias = Any
"""A dense array of numpy's, or a sparse one of SciPy's in rows (``csr_array``)."""


class Features(NamedTuple):
    """Features with their names.

    ``matrix`` has a row for each thing that was looked at.
    """

    matrix: Matrix
    names: Sequence[str]


def binned(values: Sequence[float] | np.ndarray, name: str) -> Features:
    """At most ten bins with about equally many values, and the value itself.

    Any shape of dependence shows.

    >>> binned([1, 1, 2, 9], "words").names
    ['words', 'words 1', 'words 2 to 9']
    """
    numbers = np.asarray(values, dtype=float)
    edges = np.unique(
        np.quantile(numbers, np.linspace(0, 1, _BINS + 1)[:-1], method="lower")
    )
    part = np.searchsorted(edges, numbers, side="right") - 1
    tops = [numbers[part == at].max() for at in range(len(edges))]
    shown = [
        f"{name} {low:.6g}" if low == top else f"{name} {low:.6g} to {top:.6g}"
        for low, top in zip(edges, tops, strict=True)
    ]
    return Features(
        _standard(np.column_stack([numbers, np.eye(len(edges))[part]])), [name, *shown]
    )


def categories(values: Sequence[str], most: int = 300) -> Features:
    """One feature for each frequent value, the most frequent first.

    >>> categories(["a"] * 5 + ["b"] * 6).names
    ['b', 'a']
    """
    counts = pd.Series(values, dtype="str").value_counts()
    names = [str(name) for name in counts.index[counts >= _LEAST] if name != ""][:most]
    at = (
        pd.Index(names).get_indexer(pd.Index(values))
        if names
        else np.full(len(values), -1)
    )
    rows = np.flatnonzero(at >= 0)
    matrix = sparse.csr_array(
        (np.ones(len(rows), dtype=np.float32), (rows, at[rows])),
        shape=(len(values), len(names)),
    )
    return Features(matrix, names)


def length(captions: Sequence[str]) -> Features:
    """Words; characters where white space does not separate words."""
    words = _words(captions)
    sizes = [len(one) for one in captions]
    if sum(sizes) > _LONG_WORD * sum(words):
        return binned(sizes, "characters")
    return binned(words, "words")


def punctuation(captions: Sequence[str]) -> Features:
    """Which marks stand in a caption, how it ends, and how it uses capitals, compared
    with captions of equal length.
    """
    marks: dict[str, Sequence[float]] = {
        f"holds {mark}": [one.count(mark) for one in captions] for mark in _MARKS
    }
    ends: dict[str, Sequence[float]] = {
        f"ends in {mark}": [one.rstrip().endswith(mark) for one in captions]
        for mark in (*".!?…", '"', "”")
    }
    words = [one.split() for one in captions]
    cases: dict[str, Sequence[float]] = {
        "begins in lower case": [one[:1].islower() for one in captions],
        "words in capitals": [
            sum(word.isupper() and len(word) > 1 for word in one) for one in words
        ],
        "words with a capital": [
            sum(word[:1].isupper() for word in one) for one in words
        ],
        "no capital at all": [one.lower() == one for one in captions],
        "doubled marks": [len(re.findall(r"([!?.,])\1", one)) for one in captions],
        "a link": ["http" in one or "www." in one for one in captions],
    }
    return _at_equal_length(_table(marks | ends | cases), captions)


def first_words(captions: Sequence[str]) -> Features:
    """The first word, and the first two, with look-alike letters taken for what they
    look like (those are for ``characters``).
    """
    words = [
        re.findall(
            _TOKEN,
            clean(one[:200], ("look-alike letter", "invisible character")).casefold(),
        )[:2]
        for one in captions
    ]
    one, two = (
        categories([word[0] if word else "" for word in words]),
        categories([" ".join(word) if len(word) > 1 else "" for word in words]),
    )
    return Features(
        sparse.csr_array(sparse.hstack([one.matrix, two.matrix])),
        [*one.names, *two.names],
    )


def characters(captions: Sequence[str]) -> Features:
    """What is odd about characters (:func:`verite.characters.find_problems`), and scripts
    and signs beyond ASCII.
    """
    found = [find_problems(one) for one in captions]
    odd: dict[str, Sequence[float]] = {
        problem: [problem in one for one in found] for problem in PROBLEMS
    }
    kinds = [_kinds(one) for one in captions]
    scripts: dict[str, Sequence[float]] = {
        f"{kind} characters": [one.get(kind, 0) > 0 for one in kinds]
        for kind in sorted({kind for one in kinds for kind in one})
    }
    return _table(odd | scripts)


def digits(captions: Sequence[str]) -> Features:
    """Numbers, years, months and dates, compared with captions of equal length."""
    numbers = [len(re.findall(r"\d+", one)) for one in captions]
    return _at_equal_length(
        _table(
            {
                "numbers": numbers,
                "a number": [count > 0 for count in numbers],
                "a year": [bool(_YEAR.search(one)) for one in captions],
                "a month": [bool(_MONTH.search(one)) for one in captions],
                "a date in digits": [bool(_DATE.search(one)) for one in captions],
                "begins with a number": [one[:1].isdigit() for one in captions],
            }
        ),
        captions,
    )


def words(captions: Sequence[str]) -> Features:
    """TF-IDF of single words, lower case.

    The 2,000 most frequent where there are more captions than that.

    Signs of Chinese, Japanese and Korean count singly.
    """
    vectorizer = TfidfVectorizer(
        token_pattern=_TOKEN, min_df=min(2, len(captions)), sublinear_tf=True
    )
    try:
        matrix = vectorizer.fit_transform(captions)
    except ValueError:  # no word stands twice
        return Features(sparse.csr_array((len(captions), 0)), [])
    names = vectorizer.get_feature_names_out()
    stands_in = np.bincount(matrix.indices, minlength=matrix.shape[1])
    most = len(names) if len(captions) <= _WORDS else _WORDS
    frequent = np.sort(np.argsort(-stands_in, kind="stable")[:most])
    return Features(
        sparse.csr_array(matrix[:, frequent], dtype=np.float32),
        names[frequent].tolist(),
    )


TEXT_PROBES: dict[str, Callable[[Sequence[str]], Features]] = {
    "length": length,
    "punctuation and case": punctuation,
    "first words": first_words,
    "characters": characters,
    "digits and dates": digits,
    "TF-IDF": words,
}
"""Probes of the captions."""


def id_features(columns: dict[str, Sequence[str]]) -> Features:
    """Words in strings that name things.

    ``sandy_fake_43.jpg`` gives sandy, fake and jpg.

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
            min_df=min(_LEAST, len(values)),
            max_features=500,
        )
        try:
            parts.append(vectorizer.fit_transform(values))
        except ValueError:
            continue
        names += [f"{column}: {name}" for name in vectorizer.get_feature_names_out()]
    rows = len(next(iter(columns.values())))
    return _varying(
        Features(
            (
                sparse.csr_array(sparse.hstack(parts), dtype=np.float32)
                if parts
                else sparse.csr_array((rows, 0))
            ),
            names,
        )
    )


def column_features(values: Sequence[str]) -> Features:
    """Features of a column of any kind.

    Domains of links, bins of numbers, frequent values, or else words.

    >>> column_features(["https://www.example.org/a"] * 6 + ["http://example.com/b"] * 5).names
    ['example.org', 'example.com']
    """
    filled = [value for value in values if value != ""]
    if not filled:
        return Features(sparse.csr_array((len(values), 0)), [])
    domains = [
        link.group(1).lower() if (link := _DOMAIN.match(value)) else ""
        for value in values
    ]
    if sum(domain != "" for domain in domains) > len(filled) / 2:
        return _with_gap(categories(domains), domains)
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=float)
    if np.isfinite(numbers).sum() > 0.9 * len(filled) and len(set(filled)) > 2:
        found = binned(
            np.where(
                np.isfinite(numbers),
                numbers,
                np.nanmedian(numbers[np.isfinite(numbers)]),
            ),
            "value",
        )
        missing = ~np.isfinite(numbers)
        return (
            _beside(
                found, Features(_standard(missing[:, None].astype(float)), ["no value"])
            )
            if missing.any()
            else found
        )
    often = categories(values)
    if often.matrix.sum() > len(filled) / 2:
        return _with_gap(often, values)
    return words(values)


def _with_gap(found: Features, values: Sequence[str]) -> Features:
    gap = np.array([[value == ""] for value in values], dtype=np.float32)
    return _varying(
        Features(
            sparse.csr_array(sparse.hstack([found.matrix, sparse.csr_array(gap)])),
            [*found.names, "empty"],
        )
    )


def _words(captions: Sequence[str]) -> list[int]:
    return [len(one.split()) for one in captions]


def _kinds(text: str) -> dict[str, int]:
    """Characters beyond ASCII by script, or by kind where they have none."""
    found: dict[str, int] = {}
    for one in set(text):
        if one.isascii():
            continue
        name = unicodedata.name(one, "UNNAMED").split()[0]
        kind = (
            name.capitalize()
            if unicodedata.category(one)[0] == "L"
            else {"S": "symbol", "P": "punctuation"}.get(
                unicodedata.category(one)[0], "other"
            )
        )
        found[kind] = found.get(kind, 0) + 1
    return found


def _table(columns: Mapping[str, Sequence[float]]) -> Features:
    return Features(
        _standard(
            np.column_stack(
                [np.asarray(values, dtype=float) for values in columns.values()]
            )
        ),
        list(columns),
    )


def _beside(*found: Features) -> Features:
    return Features(
        np.hstack([one.matrix for one in found]),
        [name for one in found for name in one.names],
    )


def _standard(matrix: np.ndarray) -> np.ndarray:
    """Mean 0 and spread 1; a column without spread becomes 0."""
    centred = matrix - matrix.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(
        centred / np.where(spread > 1e-9, spread, np.inf), dtype=np.float32
    )


def _at_equal_length(found: Features, captions: Sequence[str]) -> Features:
    """Take out what length alone says.

    From each feature its mean among captions of as many words.

    So a probe of commas does not fire because long captions have more of them; that is
    for the probe of length to say.
    """
    count = pd.Series(_words(captions))
    frequent = count.map(count.value_counts()) >= 3 * _BINS
    rough = (
        pd.qcut(count.where(~frequent), 2 * _BINS, labels=False, duplicates="drop")
        if (~frequent).any()
        else count * 0
    )
    part = count.where(frequent, -1 - rough.fillna(0)).to_numpy()
    means = pd.DataFrame(found.matrix).groupby(part).transform("mean").to_numpy()
    return Features(
        _standard(np.asarray(found.matrix, dtype=float) - means), found.names
    )


def _varying(found: Features) -> Features:
    """Without features that are there everywhere or nowhere."""
    there = np.bincount(found.matrix.indices, minlength=found.matrix.shape[1])
    kept = np.flatnonzero((there > 0) & (there < found.matrix.shape[0]))
    return Features(found.matrix[:, kept], [found.names[int(at)] for at in kept])
