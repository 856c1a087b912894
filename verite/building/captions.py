"""Captions looked at alone.

What gives a false one away, how true and false ones differ, and their form (paper,
section 3.2).

All of it is rules that can be read, and none of it is a judge: what is found is for a
person to look at.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from verite.characters import to_latin

__all__ = [
    "GIVEAWAYS",
    "Comparison",
    "Finding",
    "agreement",
    "compare",
    "find_giveaways",
    "form",
    "keywords",
    "odd_letters",
    "suggest",
    "table",
]

GIVEAWAYS = {
    "doubt": (
        "supposedly", "allegedly", "alleged", "purportedly", "purported", "reportedly", "ostensibly", "so-called", "claims?", "claimed",
        "claiming", "rumou?rs?", "rumou?red", "unverified", "unproven", "unconfirmed",
    ),
    "contrast": (
        "however", "instead", "rather than", "in fact", "in reality", "actually", "really", "despite", "although", "though", "contrary to",
        "unrelated",
    ),
    "verdict": (
        "fake", "faked", "false", "falsely", "untrue", "hoax(?:es)?", "myths?", "misleading", "misleadingly", "misrepresent(?:s|ed|ing)?",
        "miscaptioned", "mistakenly", "wrongly", "incorrect(?:ly)?", "inaccurate(?:ly)?", "debunked", "out of context", "doctored",
        "no evidence", "this is not the case",
    ),
    "negation": ("not", "no(?!\\. ?\\d)", "never", "none", "nobody", "nothing", "neither", "nor", "cannot", "without", "\\w+n['’]t"),
}  # fmt: skip
"""Patterns of words that doubt, contradict, judge or deny, by kind.

A false caption that holds one can be told without its image.
"""

_PATTERNS = {
    kind: re.compile(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])", re.IGNORECASE)
    for kind, words in GIVEAWAYS.items()
}
_NOUN = r"(?:images?|photographs?|photos?|pictures?|screenshots?|stills?)"
_VERB = r"(?:show|depict|document|captur|portray|illustrat|featur)(?:s|es|ed|e|ing)?"
_START = rf"\W*(?:(?:an?|the|this|these)\s+)?(?:[\w'’-]+\s+){{0,2}}?{_NOUN}[,:]?\s+"
_SHOWS = re.compile(rf"{_START}(?!of\b)(?:\S+\s+){{0,8}}?{_VERB}\s+", re.IGNORECASE)
_OF = re.compile(rf"{_START}(?:was\s+|were\s+)?(?:of|from|taken)\s+", re.IGNORECASE)
_DIRECT = re.compile(r"An image shows\s")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_LEADING = {
    "a",
    "an",
    "the",
    "this",
    "these",
    "that",
    "those",
    "two",
    "three",
    "several",
    "some",
    "many",
    "people",
}


class Finding(NamedTuple):
    """A word that gives a caption away."""

    kind: str
    """A key of :data:`GIVEAWAYS`."""
    word: str
    at: int
    """Where it begins, in characters."""


class Comparison(NamedTuple):
    """How a true and a false caption differ."""

    true_words: int
    false_words: int
    shared: float
    """Distinct words they share, over all distinct words of both.

    0 to 1, whatever their case.
    """
    similarity: float
    """Words that match in order, over the mean number of words.

    0 to 1 (:class:`difflib.SequenceMatcher`).
    """
    opening: int
    """How many words they begin with are the same."""
    true_sentences: int
    false_sentences: int


def find_giveaways(caption: str) -> list[Finding]:
    """Find words that doubt, contradict, judge or deny, in the order in which they
    stand.

    >>> find_giveaways("Photo allegedly shows a boat that didn't sink.")
    [Finding(kind='doubt', word='allegedly', at=6), Finding(kind='negation', word="didn't", at=34)]
    """
    found = (
        Finding(kind, match[0], match.start())
        for kind, pattern in _PATTERNS.items()
        for match in pattern.finditer(caption)
    )
    return sorted(found, key=lambda finding: finding.at)


def compare(true: str, false: str) -> Comparison:
    """Compare two captions in length, words and build.

    >>> compare("An image shows a boat in 2019.", "An image shows a shark in 2020.")
    Comparison(true_words=7, false_words=7, shared=0.5555555555555556, similarity=0.7142857142857143, opening=4, true_sentences=1, \
false_sentences=1)
    """
    words = [
        re.sub(r"[^\w\s'’-]", " ", caption.casefold()).split()
        for caption in (true, false)
    ]
    distinct = [set(each) for each in words]
    opening = next(
        (
            at
            for at, (one, other) in enumerate(zip(*words, strict=False))
            if one != other
        ),
        min(map(len, words)),
    )
    sentences = [
        len(re.findall(r"[.!?]+(?=\W*(?:\s[^\W\d_a-z]|$))", caption)) or 1
        for caption in (true, false)
    ]
    return Comparison(
        len(true.split()),
        len(false.split()),
        len(distinct[0] & distinct[1]) / max(1, len(distinct[0] | distinct[1])),
        difflib.SequenceMatcher(a=words[0], b=words[1], autojunk=False).ratio(),
        opening,
        *sentences,
    )


def form(caption: str) -> str:
    """How a caption ties itself to its image.

    ``shows`` ("An image shows …"), ``of`` ("Photo of …", "Image from …") or ``""``.

    >>> form("A photograph, taken in 2012, shows a boat."), form("Photo of a boat."), form("A boat sank.")
    ('shows', 'of', '')
    """
    plain = to_latin(caption)
    return "shows" if _SHOWS.match(plain) else "of" if _OF.match(plain) else ""


def suggest(caption: str) -> tuple[str, bool]:
    """Put a caption into the form "An image shows …", and say whether a rule was
    enough.

    Openings of the form ``shows`` and ``of`` are replaced, unless they say more than
    that there is an image. Where there is none the form is put in front, and a person
    has to see to the grammar.

    >>> suggest("Photo of a boat.")
    ('An image shows a boat.', True)
    >>> suggest("The mayor leaving a boat.")
    ('An image shows the mayor leaving a boat.', False)
    """
    plain = to_latin(caption)
    if match := _SHOWS.match(plain) or _OF.match(plain):
        says_more = len(match[0].split()) > 4 or re.search(
            r"\b(?:from|taken)\s+$", match[0], re.IGNORECASE
        )
        # "A photograph, taken in 2012, shows …" would lose the year.
        return (
            (caption, form(caption) == "shows")
            if says_more
            else ("An image shows " + caption[match.end() :], True)
        )
    if re.match(
        _START, plain, re.IGNORECASE
    ):  # "A photograph by …" is no case for a second opening
        return caption, False
    text = caption.lstrip()
    first = re.match(r"\w*", text)
    if first and first[0].casefold() in _LEADING:
        text = text[0].lower() + text[1:]
    return f"An image shows {text}", False


def keywords(caption: str, k: int = 5) -> list[str]:
    """Words of a caption to search images with.

    The first ``k`` that mean something, without the opening that names an image.

    On VERITE, whose authors chose their queries by hand and often put them in other
    words, this agrees with them better than the rarest words or names do.

    >>> keywords("An image shows a collapsed bridge over a river in June 2020.")
    ['collapsed', 'bridge', 'river', 'June']
    """
    plain = to_latin(caption)
    opening = _SHOWS.match(plain) or _OF.match(plain)
    words = _WORD.findall(caption[opening.end() :] if opening else caption)
    short = [re.sub(r"['’]s?$", "", word) for word in words]
    return list(
        dict.fromkeys(
            word
            for word in short
            if len(word) > 2 and word.casefold() not in ENGLISH_STOP_WORDS
        )
    )[:k]


def agreement(words: Iterable[str], query: str) -> float:
    """Share of a query's words that stand among ``words``, by their first five letters.

    0 to 1, NaN for a query without words.

    >>> agreement(keywords("An image shows a collapsed bridge over a river."), "collapsed railway bridges")
    0.6666666666666666
    """
    offered, asked = (
        {word.casefold()[:5] for word in some} for some in (words, keywords(query, 99))
    )
    return len(offered & asked) / len(asked) if asked else float("nan")


def odd_letters(caption: str) -> str:
    """Letters of other scripts than Latin, each once.

    Some look like Latin ones and are others to a tokeniser.

    >>> odd_letters("\u0391 boat.") == "\u0391"
    True
    """
    return "".join(
        dict.fromkeys(
            letter
            for letter in caption
            if letter.isalpha() and not unicodedata.name(letter, "").startswith("LATIN")
        )
    )


def table(articles: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Look at the captions of a whole table.

    Returns
    -------
    captions : pandas.DataFrame
        One row an article: ``id``, the fields of :class:`Comparison`, and for each of
        its captions its form, the suggested text, whether a rule was enough, and odd
        letters; ``keywords`` of the true caption.
    giveaways : pandas.DataFrame
        One row a finding: ``id``, ``caption`` (``true`` or ``false``), ``kind``,
        ``word``, ``at``.

    >>> both = pd.DataFrame([("1", "An image shows a boat.", "Photo of no boat.")], columns=["id", "true_caption", "false_caption"])
    >>> captions, giveaways = table(both)
    >>> captions.loc[0, ["false_form", "false_suggested", "keywords"]].tolist()
    ['of', 'An image shows no boat.', 'boat']
    >>> giveaways.to_numpy().tolist()
    [['1', 'false', 'negation', 'no', 9]]
    """
    rows, found = [], []
    for key, true, false in zip(
        articles["id"], articles["true_caption"], articles["false_caption"], strict=True
    ):
        row: dict[str, object] = {
            "id": key,
            **compare(true, false)._asdict(),
            "keywords": " ".join(keywords(true)),
        }
        for name, caption in (("true", true), ("false", false)):
            suggested, sure = suggest(caption)
            row |= {
                f"{name}_form": form(caption),
                f"{name}_suggested": suggested,
                f"{name}_sure": sure,
                f"{name}_odd": odd_letters(caption),
            }
            found += [(key, name, *finding) for finding in find_giveaways(caption)]
        rows.append(row)
    return pd.DataFrame(rows), pd.DataFrame(
        found, columns=["id", "caption", "kind", "word", "at"]
    )
