"""Captions on their own: what gives a false one away, differences, form (section 3.2).

All of it is readable rules, and none of it is a judge: a person looks at the findings.
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

_WORDS = {
    "doubt": r"""supposedly, allegedly, alleged, purportedly, purported, reportedly,
        ostensibly, so-called, claims?, claimed, claiming, rumou?rs?, rumou?red,
        unverified, unproven, unconfirmed""",
    "contrast": r"""however, instead, rather than, in fact, in reality, actually,
        really, despite, although, though, contrary to, unrelated""",
    "verdict": r"""fake, faked, false, falsely, untrue, hoax(?:es)?, myths?, misleading,
        misleadingly, misrepresent(?:s|ed|ing)?, miscaptioned, mistakenly, wrongly,
        incorrect(?:ly)?, inaccurate(?:ly)?, debunked, out of context, doctored,
        no evidence, this is not the case""",
    "negation": r"""not, no(?!\. ?\d), never, none, nobody, nothing, neither, nor,
        cannot, without, \w+n['’]t""",
}
GIVEAWAYS = {kind: tuple(re.split(r",\s+", text)) for kind, text in _WORDS.items()}
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
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_LEADING = re.compile(
    "an?|the|th(?:is|at|[eo]se)|two|three|several|some|many|people", re.IGNORECASE
)


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
    """Distinct words they share, over all distinct words of both, 0 to 1."""
    similarity: float
    """Words that match in order, over the mean number of words, 0 to 1
    (:class:`difflib.SequenceMatcher`)."""
    opening: int
    """How many words at the beginning are the same."""
    true_sentences: int
    false_sentences: int


def find_giveaways(caption: str) -> list[Finding]:
    """Find words that doubt, contradict, judge or deny, in the order of the caption.

    >>> [finding.word for finding in find_giveaways("It allegedly didn't sink.")]
    ['allegedly', "didn't"]
    """
    findings = [
        Finding(kind, match[0], match.start())
        for kind, pattern in _PATTERNS.items()
        for match in pattern.finditer(caption)
    ]
    return sorted(findings, key=lambda finding: finding.at)


def compare(true: str, false: str) -> Comparison:
    """Compare two captions in length, words and build.

    >>> compare("An image shows a boat in 2019.", "An image shows a shark in 2020.")[:3]
    (7, 7, 0.5555555555555556)
    """
    a, b = (
        re.sub(r"[^\w\s'’-]", " ", caption.casefold()).split()
        for caption in (true, false)
    )
    differ = [one != other for one, other in zip(a, b, strict=False)]
    sentences = [
        len(re.findall(r"[.!?]+(?=\W*(?:\s[^\W\d_a-z]|$))", caption)) or 1
        for caption in (true, false)
    ]
    return Comparison(
        len(true.split()),
        len(false.split()),
        len({*a} & {*b}) / max(1, len({*a} | {*b})),
        difflib.SequenceMatcher(a=a, b=b, autojunk=False).ratio(),
        [*differ, True].index(True),
        *sentences,
    )


def form(caption: str) -> str:
    """How a caption refers to its image.

    ``shows`` ("An image shows …"), ``of`` ("Photo of …", "Image from …") or ``""``.

    >>> [form(text) for text in ("A photo, taken in 2012, shows a boat.", "A boat.")]
    ['shows', '']
    """
    latin = to_latin(caption)
    return "shows" if _SHOWS.match(latin) else "of" if _OF.match(latin) else ""


def suggest(caption: str) -> tuple[str, bool]:
    """Put a caption into the form "An image shows …"; whether a rule was enough.

    Openings of the forms ``shows`` and ``of`` are replaced, unless they say more than
    that there is an image. Where there is none the form is put in front, and a person
    has to correct the grammar.

    >>> suggest("Photo of a boat.")
    ('An image shows a boat.', True)
    >>> suggest("The mayor leaving a boat.")
    ('An image shows the mayor leaving a boat.', False)
    """
    latin = to_latin(caption)
    if match := _SHOWS.match(latin) or _OF.match(latin):
        # "A photograph, taken in 2012, shows …" would lose the year.
        source = re.search(r"\b(?:from|taken)\s+$", match[0], re.IGNORECASE)
        if len(match[0].split()) > 4 or source:
            return caption, form(caption) == "shows"
        return "An image shows " + caption[match.end() :], True
    if re.match(_START, latin, re.IGNORECASE):  # "A photograph by …" has an opening
        return caption, False
    text = caption.lstrip()
    first = re.match(r"\w*", text)
    if first and _LEADING.fullmatch(first[0]):
        text = text[0].lower() + text[1:]
    return f"An image shows {text}", False


def keywords(caption: str, k: int = 5) -> list[str]:
    """Words of a caption to search images with.

    The first ``k`` that mean something, without the opening that names an image. On
    VERITE, whose authors chose their queries by hand and often in other words, this
    agrees with them better than the rarest words or names do.

    >>> keywords("An image shows a collapsed bridge over a river in June 2020.")
    ['collapsed', 'bridge', 'river', 'June']
    """
    latin = to_latin(caption)
    opening = _SHOWS.match(latin) or _OF.match(latin)
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
    """Share of a query's words that are among ``words``, by their first five letters.

    0 to 1, NaN for a query without words.

    >>> agreement(["collapsed", "bridge", "river"], "collapsed railway bridges")
    0.6666666666666666
    """
    a, b = stems(words), stems(keywords(query, 99))
    return len(a & b) / len(b) if b else float("nan")


def stems(words: Iterable[str]) -> set[str]:
    """The first five letters of each word, whatever its case."""
    return {word.casefold()[:5] for word in words}


def odd_letters(caption: str) -> str:
    """Letters of other scripts than Latin, each once.

    Some look like Latin ones, but are others to a tokeniser.

    >>> odd_letters("\u0391 boat.") == "\u0391"
    True
    """
    letters = dict.fromkeys(letter for letter in caption if letter.isalpha())
    return "".join(
        x for x in letters if not unicodedata.name(x, "").startswith("LATIN")
    )


def table(articles: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Look at the captions of a whole table.

    Returns
    -------
    captions : pandas.DataFrame
        One row per article: ``id``, the fields of :class:`Comparison`, ``keywords`` of
        the true caption, and for each of its captions its form, the suggested text,
        whether a rule was enough (``sure``), and odd letters.
    giveaways : pandas.DataFrame
        One row per finding: ``id``, ``caption`` (``true`` or ``false``), ``kind``,
        ``word``, ``at``.
    """
    rows, findings = [], []
    names = ["id", "true_caption", "false_caption"]
    for key, true, false in articles[names].itertuples(index=False):
        row: dict[str, object] = {"id": key, **compare(true, false)._asdict()}
        row["keywords"] = " ".join(keywords(true))
        for name, caption in (("true", true), ("false", false)):
            row[f"{name}_form"] = form(caption)
            row[f"{name}_suggested"], row[f"{name}_sure"] = suggest(caption)
            row[f"{name}_odd"] = odd_letters(caption)
            findings += [(key, name, *finding) for finding in find_giveaways(caption)]
        rows.append(row)
    columns = ["id", "caption", "kind", "word", "at"]
    return pd.DataFrame(rows), pd.DataFrame(findings, columns=columns)
