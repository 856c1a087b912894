"""Characters that are not what they look like.

Look-alike letters, broken encodings, invisible signs.

A Greek capital alpha looks like an A, and a tokeniser takes it for something else.
Where such characters stand in the captions of one label only, they give the label away.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import pandas as pd

__all__ = ["PROBLEMS", "clean", "look", "normal", "plain"]

_LOOK_ALIKES = str.maketrans(
    # Greek, then Cyrillic, capitals before small letters; each stands under the Latin
    # letter it is drawn like.
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυАВЕКМНОРСТУХЅІЈаеорсухѕіј",
    "ABEZHIKMNOPTYXovuABEKMHOPCTYXSIJaeopcyxsij",
)
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u2060-\u2064\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)  # joiners and marks of direction are meant
_SPACES = re.compile(r"[^\S ]| {2,}|^ | $")
_WORD = re.compile(r"\w+")

PROBLEMS = {
    "look-alike letter": "write the Latin letter",
    "broken encoding": "decode the text again from its source",
    "replacement character": "find the lost character in the source",
    "invisible character": "take it out",
    "compatibility form": "write it in Unicode's composed form (NFC)",
    "odd white space": "write single plain spaces",
}
"""What :func:`look` can find, and what to do about it."""


def look(text: str) -> dict[str, str]:
    """Name what is odd about the characters of a text, with the evidence.

    A Greek or Cyrillic letter is called a look-alike only in a text of mostly Latin
    letters, and in a word that holds nothing but Latin letters and look-alikes: Greek
    and Russian texts pass.

    >>> look("\u0391 boat near a bridge.")
    {'look-alike letter': "U+0391 in 'Α'"}
    >>> look("Μια βάρκα"), look("A caf\u00c3\u00a9"), look("A boat. ")
    ({}, {'broken encoding': 'A café'}, {'odd white space': "' ' at 7"})
    """
    found: dict[str, str] = {}
    if text.isascii():
        _spaces(text, found)
        return found
    words = list(_alike(text))
    if words:
        codes = sorted(
            {
                f"U+{ord(letter):04X}"
                for word in words
                for letter in word
                if letter.translate(_LOOK_ALIKES) != letter
            }
        )
        found["look-alike letter"] = (
            f"{', '.join(codes)} in {', '.join(map(repr, dict.fromkeys(words)))}"
        )
    if "\ufffd" in text:
        found["replacement character"] = f"{text.count(chr(0xFFFD))} times U+FFFD"
    if (mended := _decoded(text)) is not None:
        found["broken encoding"] = mended
    if hidden := sorted({f"U+{ord(one):04X}" for one in _INVISIBLE.findall(text)}):
        found["invisible character"] = ", ".join(hidden)
    if unicodedata.normalize("NFC", text) != text:
        found["compatibility form"] = "not NFC"
    _spaces(text, found)
    return found


def clean(
    text: str,
    fixes: tuple[str, ...] = (
        "look-alike letter",
        "invisible character",
        "compatibility form",
        "odd white space",
    ),
) -> str:
    """Mend what can be mended without knowing the source.

    What is left is what :func:`look` still finds.

    >>> clean("\u0391 boat\u200b near  a bridge. ")
    'A boat near a bridge.'
    """
    if "compatibility form" in fixes:
        text = unicodedata.normalize("NFC", text)
    if "invisible character" in fixes:
        text = _INVISIBLE.sub("", text)
    if "look-alike letter" in fixes and not text.isascii():
        for word in sorted(set(_alike(text)), key=len, reverse=True):
            text = re.sub(
                rf"(?<!\w){re.escape(word)}(?!\w)", word.translate(_LOOK_ALIKES), text
            )
    if "odd white space" in fixes:
        text = " ".join(text.split())
    return text


@lru_cache(maxsize=2**17)
def plain(text: str) -> str:
    """What two captions must share to count as one.

    NFKC, look-alikes folded, case, white space and punctuation dropped.

    A text of nothing but punctuation keeps it.

    >>> plain("\u0391 Boat,  near\u00a0a BRIDGE!")
    'a boat near a bridge'
    """
    folded = clean(
        unicodedata.normalize("NFKC", text),
        ("look-alike letter", "invisible character"),
    ).casefold()
    return " ".join(re.sub(r"[\W_]+", " ", folded).split()) or " ".join(folded.split())


def normal(captions: pd.Series) -> pd.Series:
    """:func:`plain` of each caption."""
    return captions.map(plain)


def _alike(text: str) -> list[str]:
    """Words that pose as Latin ones."""
    if text.isascii():
        return []
    letters = [one for one in text if one.isalpha()]
    latin = sum(
        one.isascii() or unicodedata.name(one, "").startswith("LATIN")
        for one in letters
    )
    if 2 * latin <= len(letters):
        return []
    words = (
        word
        for word in _WORD.findall(text)
        if not word.isascii() and word.translate(_LOOK_ALIKES) != word
    )
    return [
        word
        for word in words
        if all(
            one.isascii() or unicodedata.name(one, "").startswith("LATIN")
            for one in word.translate(_LOOK_ALIKES)
        )
    ]


def _decoded(text: str) -> str | None:
    """The text with a broken encoding undone, if it looks like one."""
    from ftfy import fix_encoding
    from ftfy.badness import is_bad

    if not is_bad(text):
        return None
    mended = str(fix_encoding(text))
    return mended if mended != text else None


def _spaces(text: str, found: dict[str, str]) -> None:
    if spaces := _SPACES.search(text):
        found["odd white space"] = f"{spaces.group()!r} at {spaces.start()}"
