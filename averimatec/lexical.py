r"""How alike two statements are by their words alone, and which statements of two sets
belong together.

Words are compared after contractions are written out, numbers written in digits and
words stemmed; words without content are left out, and all image tokens are one word.
The similarity of two statements is

.. math:: s(a, b) = \sqrt{D(W_a, W_b) \cdot D(P_a, P_b)}

with W the set of words, P the set of ordered pairs of words at most two apart, and
:math:`D(X, Y) = 2|X \cap Y| / (|X| + |Y|)`. Words in another order share W and lose P.
A statement that no answer was found is like another such statement only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from averimatec.rouge import stem
from averimatec.wording import expanded, words_to_digits

__all__ = ["align", "similarities"]

_REACH = 2
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at by to for from with and or as is are was were be been it"
        " its this that these those there their they he she his her did do does has"
        " have had will would can could what which who whom whose where when why"
        " how yes",
    )
)
_NOTHING_FOUND = re.compile(
    r"\b(?:no|not any) (?:answer|evidence|information)\b|\b(?:unknown|unanswerable)\b",
    re.IGNORECASE,
)


class _Read(NamedTuple):
    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    found: bool


def similarities(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Similarity of each statement of one set with each of another, shape (n, m), 0 to
    1.

    >>> similarities(["Three boats sank in Rome."], ["In Rome, 3 boats sank", "Rome sank boats three in", "A dog."]).round(2).tolist()
    [[0.77, 0.0, 0.0]]
    """
    ones, others = ([_read(text) for text in texts] for texts in (first, second))
    return np.array(
        [[_similarity(one, other) for other in others] for one in ones], dtype=float
    ).reshape(len(ones), len(others))


def align(similarity: np.ndarray, least: float) -> list[tuple[int, int]]:
    """Pairs of a one-to-one assignment whose similarities sum to the most, without
    those below ``least``.

    What could never be kept is worth nothing to the assignment, so that it does not
    cost a pair that could.

    >>> align(np.array([[0.9, 0.8], [0.8, 0.0]]), 0.5)
    [(0, 1), (1, 0)]
    """
    worth = np.where(similarity >= least, similarity, 0.0)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    return [
        (int(i), int(j)) for i, j in zip(rows, columns, strict=True) if worth[i, j] > 0
    ]


@lru_cache(maxsize=65_536)
def _read(text: str) -> _Read:
    plain = words_to_digits(
        expanded(re.sub(r"\[IMG_\d+\]", " imgtoken ", text))
    ).lower()
    words = [
        stem(word)
        for word in re.findall(r"\w+", re.sub(r"(?<=\d),(?=\d{3})", "", plain))
        if word not in _EMPTY
    ]
    pairs = {
        (word, other)
        for place, word in enumerate(words)
        for other in words[place + 1 : place + 1 + _REACH]
    }
    return _Read(
        frozenset(words), frozenset(pairs), _NOTHING_FOUND.search(text) is None
    )


def _similarity(one: _Read, other: _Read) -> float:
    if one.found != other.found:
        return 0.0
    if (
        min(len(one.words), len(other.words)) < 2
    ):  # without pairs, words are all there is
        return _dice(one.words, other.words)
    return float(np.sqrt(_dice(one.words, other.words) * _dice(one.pairs, other.pairs)))


def _dice(one: frozenset[Any], other: frozenset[Any]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0
