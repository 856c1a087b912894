"""ROUGE-1: how many of a reference's words a text has, with Porter's stemmer, as the
official scorer counts.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer

__all__ = ["Rouge", "rouge_1", "stem"]


class Rouge(NamedTuple):
    """Share of the reference's words that are found, share of the words that are found
    in the reference, and their F1.
    """

    recall: float
    precision: float
    f1: float


def rouge_1(reference: str, text: str) -> Rouge:
    """Compare the words of two texts, stemmed, each as often as it stands there.

    The library ``rouge-score``.

    Words are runs of a-z and 0-9 in lower case, so other scripts have none.

    >>> rouge_1("The image was taken in 2019.", "Taken in 2016: images.")
    Rouge(recall=0.5, precision=0.75, f1=0.6)
    """
    found = _scorer().score(reference, text)["rouge1"]
    return Rouge(float(found.recall), float(found.precision), float(found.fmeasure))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Stem of a word in lower case, as ROUGE's own stemmer has it (NLTK's variant of
    Porter's algorithm).

    >>> [stem(word) for word in ("relational", "flies", "happily", "agreed", "meetings", "generalisation", "dying")]
    ['relat', 'fli', 'happili', 'agre', 'meet', 'generalis', 'die']
    """
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import (
        PorterStemmer,
    )  # here, since NLTK takes a second to load

    return PorterStemmer()


@cache
def _scorer() -> RougeScorer:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge1"], use_stemmer=True)
