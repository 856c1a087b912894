r"""Similarity of statements by their words alone, and the best matching of two sets.

Words are compared after contractions are written out, numbers written in digits and
words stemmed; function words are left out, and all image tokens are one word. The
similarity of two statements is

.. math:: s(a, b) = \sqrt{D(W_a, W_b) \cdot D(P_a, P_b)}

with W the set of words, P the set of ordered pairs of words at most two apart, and
:math:`D(X, Y) = 2|X \cap Y| / (|X| + |Y|)`. Words in another order share W and lose P.
A statement that no answer was found is similar to other such statements only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from averimatec.wording import expanded, words_to_digits

_REACH = 2
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at by to for from with and or as is are was were be been it"
        " its this that these those there their they he she his her did do does has"
        " have had will would can could what which who whom whose where when why"
        " how yes",
    )
)
_UNANSWERED = re.compile(
    r"\b(?:no|not any) (?:answer|evidence|information)\b|\b(?:unknown|unanswerable)\b",
    re.IGNORECASE,
)


class _Statement(NamedTuple):
    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    answered: bool


class Rouge(NamedTuple):
    """Shares of the reference's words and of the text's words in common, and F1."""

    recall: float
    precision: float
    f1: float


def similarities(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Similarity of each statement with each other one, shape (n, m), 0 to 1.

    >>> others = ["In Rome, 3 boats sank", "Rome sank boats three in", "A dog."]
    >>> similarities(["Three boats sank in Rome."], others).round(2).tolist()
    [[0.77, 0.0, 0.0]]
    """
    rows, columns = ([_parse(text) for text in texts] for texts in (first, second))
    return np.array(
        [[_similarity(row, column) for column in columns] for row in rows], dtype=float
    ).reshape(len(rows), len(columns))


def align(similarity: np.ndarray, least: float) -> list[tuple[int, int]]:
    """Pairs of the one-to-one assignment of largest sum, none below ``least``.

    Others are worth nothing to the assignment, so that they displace no pair.

    >>> align(np.array([[0.9, 0.8], [0.8, 0.0]]), 0.5)
    [(0, 1), (1, 0)]
    """
    worth = np.where(similarity >= least, similarity, 0.0)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    return [
        (int(i), int(j)) for i, j in zip(rows, columns, strict=True) if worth[i, j] > 0
    ]


def set_score(similarity: np.ndarray) -> float:
    """Similarity of two sets, 0 to 10, from that of their members, shape (n, m).

    Members are paired so that the sum is largest; those without a partner count 0.

    >>> set_score(np.array([[1.0, 0.2], [0.9, 0.0]]))
    5.5
    """
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return float(10 * similarity[rows, columns].sum() / max(similarity.shape))


def rouge_1(reference: str, text: str) -> Rouge:
    """ROUGE-1 with Porter's stemmer, as the official scorer counts (``rouge-score``).

    Words are runs of a-z and 0-9 in lower case, so other scripts have none.

    >>> rouge_1("The image was taken in 2019.", "Taken in 2016: images.")
    Rouge(recall=0.5, precision=0.75, f1=0.6)
    """
    score = _scorer().score(reference, text)["rouge1"]
    return Rouge(float(score.recall), float(score.precision), float(score.fmeasure))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Stem of a word in lower case, by ROUGE's own stemmer (NLTK's Porter).

    >>> [stem(word) for word in ("relational", "flies", "happily", "meetings", "dying")]
    ['relat', 'fli', 'happili', 'meet', 'die']
    """
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer  # here, as NLTK takes a second to load

    return PorterStemmer()


@cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge1"], use_stemmer=True)


@lru_cache(maxsize=65_536)
def _parse(text: str) -> _Statement:
    plain = words_to_digits(expanded(re.sub(r"\[IMG_\d+\]", " imgtoken ", text)))
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", plain.lower())
    words = [
        stem(word) for word in re.findall(r"\w+", plain) if word not in _FUNCTION_WORDS
    ]
    pairs = frozenset(
        (word, other)
        for place, word in enumerate(words)
        for other in words[place + 1 : place + 1 + _REACH]
    )
    return _Statement(frozenset(words), pairs, _UNANSWERED.search(text) is None)


def _similarity(first: _Statement, second: _Statement) -> float:
    if first.answered != second.answered:
        return 0.0
    words = _dice(first.words, second.words)
    if min(len(first.words), len(second.words)) < 2:  # no pairs to compare
        return words
    return float(np.sqrt(words * _dice(first.pairs, second.pairs)))


def _dice(first: frozenset[Any], second: frozenset[Any]) -> float:
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0
