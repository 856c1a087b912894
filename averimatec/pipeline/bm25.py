"""BM25: how well texts fit a query by the words they share, and texts cut into chunks
to rank (paper, appendix H.1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from rank_bm25 import BM25Okapi

__all__ = ["BM25", "chunks", "search_terms", "words"]

# Lists that libraries ship leave out words such as "fire" and "bill", which news are
# about.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those of in on at by to for from with into about and"
        " or but if than as not no is are was were be been being am do does did has"
        " have had will would can could shall should may might must it its he his him"
        " she her they their them we our us you your i my me who whom whose which what"
        " where when why how there here s t",
    )
)


class BM25:
    """Okapi's BM25 over tokenised documents.

    The library ``rank-bm25``, and the best of them in a fixed order.

    Parameters
    ----------
    documents
        Their words.

    References
    ----------
    Robertson and Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and
    Beyond.

    >>> index = BM25([["a", "boat", "in", "rome"], ["a", "fire"], ["the", "harbour"]])
    >>> index.scores(["boat", "rome", "boat"]).round(3).tolist()
    [1.251, 0.0, 0.0]
    """

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._size = len(documents)
        # The library divides by the mean length: without a word there is nothing to
        # rank.
        self._index = (
            BM25Okapi([list(document) for document in documents])
            if any(documents)
            else None
        )

    def scores(self, query: Sequence[str]) -> np.ndarray:
        """Score of each document, shape (n,).

        A word that stands in the query twice counts twice.
        """
        return (
            np.zeros(self._size)
            if self._index is None
            else np.asarray(self._index.get_scores(list(query)))
        )

    def best(self, query: Sequence[str], n: int) -> list[int]:
        """Places of the ``n`` documents that fit best, the best one first.

        Equal ones in their order.
        """
        return [
            int(place) for place in np.argsort(-self.scores(query), kind="stable")[:n]
        ]


def words(text: str) -> list[str]:
    """Words in lower case.

    >>> words("Mayor Ruby's 3 boats")
    ['mayor', 'ruby', 's', '3', 'boats']
    """
    return re.findall(r"\w+", text.lower())


def search_terms(text: str) -> list[str]:
    """Words to search with: function words are left out, where others remain.

    The paper keeps verbs, nouns and adjectives by a tagger (appendix H.1); this needs
    no model.

    >>> search_terms("When did the boat sink in Rome?")
    ['boat', 'sink', 'rome']
    """
    found = words(text)
    return [word for word in found if word not in _FUNCTION_WORDS] or found


def chunks(text: str, size: int = 128) -> list[str]:
    """Cut a text into chunks of at most ``size`` words, between sentences where that is
    possible.

    Words are what white space divides, and it becomes a single space.

    >>> chunks("A boat sank. It was old. Nobody was hurt, they say.", size=6)
    ['A boat sank. It was old.', 'Nobody was hurt, they say.']
    """
    made: list[list[str]] = []
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        said = sentence.split()
        if made and len(made[-1]) + len(said) <= size:
            made[-1] += said
        else:
            made += [said[start : start + size] for start in range(0, len(said), size)]
    return [" ".join(part) for part in made]
