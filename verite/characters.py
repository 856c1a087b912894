"""Characters that are not what they look like.

A Greek capital alpha looks like an A, but a tokeniser takes it for another letter.
Where such characters occur in the captions of one label only, they reveal the label.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

__all__ = ["PROBLEMS", "clean", "find_problems", "normalise", "to_latin"]

_INVISIBLE = re.compile(
    "[\u00ad\u200b\u2060-\u2064\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)  # without joiners and marks of direction, which have a purpose
_SPACES = re.compile(r"[^\S ]| {2,}|^ | $")
_WORD = re.compile(r"\w+")

PROBLEMS = {
    "look-alike letter": "write the Latin letter",
    "broken encoding": "decode the text again from its source",
    "replacement character": "find the lost character in the source",
    "invisible character": "remove it",
    "compatibility form": "write it in Unicode's composed form (NFC)",
    "odd white space": "write single plain spaces",
}
"""What :func:`find_problems` detects, and what to do about it."""

_FIXABLE = (
    "look-alike letter",
    "invisible character",
    "compatibility form",
    "odd white space",
)


def to_latin(text: str) -> str:
    """Replace Greek and Cyrillic letters that look like a Latin one, letter by letter.

    Which letters do is Unicode's list of confusable characters.

    >>> to_latin("\u0391 b\u043eat")
    'A boat'
    """
    return text if text.isascii() else text.translate(_look_alikes())


def find_problems(text: str) -> dict[str, str]:
    """Name what is odd about the characters of a text, with the evidence.

    A Greek or Cyrillic letter counts as a look-alike only in a text of mostly Latin
    letters, and in a word made of Latin letters and look-alikes alone, so that Greek
    and Russian texts pass.

    >>> find_problems("\u0391 boat near a bridge.")
    {'look-alike letter': "U+0391 in 'Α'"}
    >>> find_problems("Μια βάρκα"), find_problems("A caf\u00c3\u00a9")
    ({}, {'broken encoding': 'A café'})
    """
    problems: dict[str, str] = {}
    if not text.isascii():
        if words := _fake_latin_words(text):
            letters = {c for word in words for c in word if to_latin(c) != c}
            codes = ", ".join(f"U+{ord(letter):04X}" for letter in sorted(letters))
            problems["look-alike letter"] = f"{codes} in {', '.join(map(repr, words))}"
        if "\ufffd" in text:
            problems["replacement character"] = f"{text.count(chr(0xFFFD))} × U+FFFD"
        if (decoded := _decode_again(text)) != text:
            problems["broken encoding"] = decoded
        if invisible := sorted(set(_INVISIBLE.findall(text))):
            codes = ", ".join(f"U+{ord(letter):04X}" for letter in invisible)
            problems["invisible character"] = codes
        if not unicodedata.is_normalized("NFC", text):
            problems["compatibility form"] = "not NFC"
    if spaces := _SPACES.search(text):
        problems["odd white space"] = f"{spaces.group()!r} at {spaces.start()}"
    return problems


def clean(text: str, fixes: tuple[str, ...] = _FIXABLE) -> str:
    """Correct what can be corrected without knowing the source.

    >>> clean("\u0391 boat\u200b near  a bridge. ")
    'A boat near a bridge.'
    """
    if "compatibility form" in fixes:
        text = unicodedata.normalize("NFC", text)
    if "invisible character" in fixes:
        text = _INVISIBLE.sub("", text)
    if "look-alike letter" in fixes:
        for word in sorted(_fake_latin_words(text), key=len, reverse=True):
            pattern = rf"(?<!\w){re.escape(word)}(?!\w)"
            text = re.sub(pattern, to_latin(word), text)
    if "odd white space" in fixes:
        text = " ".join(text.split())
    return text


@lru_cache(maxsize=2**17)
def normalise(text: str) -> str:
    """Reduce a caption to what two captions must share to count as the same.

    Unicode's form NFKC without look-alikes, case, punctuation and extra white space; a
    text that is only punctuation keeps it.

    >>> normalise("\u0391 Boat,  near\u00a0a BRIDGE!")
    'a boat near a bridge'
    """
    folded = clean(
        unicodedata.normalize("NFKC", text),
        ("look-alike letter", "invisible character"),
    ).casefold()
    return " ".join(re.sub(r"[\W_]+", " ", folded).split()) or " ".join(folded.split())


@cache
def _look_alikes() -> dict[int, str]:
    from confusable_homoglyphs.confusables import (  # type: ignore[import-untyped]
        confusables_data,
    )

    table = {}
    for letter, homoglyphs in confusables_data.items():
        script = unicodedata.name(letter, "")[:5] if len(letter) == 1 else ""
        latin = [
            item["c"] for item in homoglyphs if re.fullmatch("[A-Za-z]", item["c"])
        ]
        if not letter.isalpha() or script not in ("GREEK", "CYRIL") or not latin:
            continue
        if latin[0] == "l" and letter.isupper():
            # Unicode lists a capital iota under l, as all vertical strokes.
            table[ord(letter)] = "I"
        elif script == "CYRIL" or latin[0] != "i":  # a Greek small iota has no dot
            table[ord(letter)] = str(latin[0])
    return table


def _fake_latin_words(text: str) -> list[str]:
    """Distinct words that look Latin because of look-alikes, in order."""
    if text.isascii():
        return []
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(map(_is_latin, letters)) <= len(letters):
        return []
    candidates = (word for word in _WORD.findall(text) if to_latin(word) != word)
    return list(
        dict.fromkeys(
            word for word in candidates if all(map(_is_latin, to_latin(word)))
        )
    )


def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith("LATIN")


def _decode_again(text: str) -> str:
    """Undo a broken encoding, if the text looks like one."""
    from ftfy import fix_encoding
    from ftfy.badness import is_bad

    return str(fix_encoding(text)) if is_bad(text) else text
