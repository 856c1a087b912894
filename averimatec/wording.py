"""One statement in several wordings: contractions, synonyms, numbers in words."""

from __future__ import annotations

import re
from collections.abc import Mapping


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _pairs(text: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+) (\w+)", text))


_CONTRACTIONS = {
    **{
        f"{word} not": f"{word}n't"
        for word in _words(
            "is are was were do does did has have had would could should must need"
            " might"
        )
    },
    "cannot": "can't",
    "can not": "can't",
    "will not": "won't",
    "let us": "let's",
    "i am": "i'm",
    **{f"{word} is": f"{word}'s" for word in _words("it he she that there what who")},
    **{f"{word} are": f"{word}'re" for word in _words("they we you")},
    **{f"{word} will": f"{word}'ll" for word in _words("i it he she they we you")},
    **{f"{word} have": f"{word}'ve" for word in _words("i they we you")},
}
_EXPANSIONS = {
    short: long for long, short in _CONTRACTIONS.items() if long != "can not"
}

_SMALL = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen"
    " fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_SCALES = {"million": 1_000_000, "thousand": 1_000, "hundred": 100}
_VALUES = {word: number for number, word in enumerate(_SMALL)} | {
    word: 10 * number for number, word in enumerate(_TENS, 2)
}
_WORD = f"(?:{'|'.join((*_VALUES, *_SCALES))})"
_JOINT = "(?:[ -]|(?:(?<=hundred)|(?<=thousand)|(?<=million)),? and )"
_SPOKEN = re.compile(rf"\b{_WORD}(?:{_JOINT}{_WORD})*\b", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![\w.,/:-])(\d{1,3}(?:,\d{3})+|\d{1,9})(?![\w/:-]|[.,]\d)")

_SYNONYMS = _pairs("""
    picture photograph, image picture, photo picture, video footage, article report,
    report account, country nation, city town, people persons, man gentleman,
    woman lady, child kid, children kids, car automobile, house home,
    police constabulary, doctor physician, war conflict, money cash, start begin,
    started began, end finish, ended finished, said stated, says states,
    shows depicts, show depict, taken captured, made created, big large, large big,
    small little, false untrue, true correct, wrong incorrect, important significant,
    famous renowned, company firm, government state, law statute, help assist,
    buy purchase, bought purchased, claim assertion, proof evidence, answer reply,
    question query, year twelvemonth, leader head, attack assault, fire blaze,
    flood deluge, protest demonstration, match game, festival fete, market fair,
    met encountered
""")


def contracted(text: str) -> str:
    """Write "is not" as "isn't", "it is" as "it's", and so on.

    >>> contracted("It is not Rome. They will see that it cannot be.")
    "It's not Rome. They'll see that it can't be."
    """
    return _replaced(text, _CONTRACTIONS)


def expanded(text: str) -> str:
    """Write "isn't" as "is not", and so on; typographic apostrophes are plain ones.

    >>> expanded("It isn't Rome.")
    'It is not Rome.'
    """
    return _replaced(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"), _EXPANSIONS)


def with_synonyms(text: str) -> str:
    """Replace some common words by others of the same meaning.

    >>> with_synonyms("The picture shows a flood.")
    'The photograph depicts a deluge.'
    """
    return _replaced(text, _SYNONYMS)


def digits_to_words(text: str) -> str:
    """Write whole numbers under a thousand million in words.

    Decimals, times, and numbers within words stay.

    >>> digits_to_words("On 12 April, 1,500 people at 10:30.")
    'On twelve April, one thousand five hundred people at 10:30.'
    """
    return _DIGITS.sub(
        lambda match: number_words(int(match.group().replace(",", ""))), text
    )


def words_to_digits(text: str) -> str:
    """Write numbers in words as digits.

    >>> words_to_digits("Twelve April two thousand and nineteen, twenty-one boats")
    '12 April 2019, 21 boats'
    """
    return _SPOKEN.sub(lambda match: _digits(match.group()), text)


def number_words(number: int) -> str:
    """A whole number from 0 to 999,999,999 in English words.

    >>> number_words(999), number_words(70_005)
    ('nine hundred and ninety-nine', 'seventy thousand and five')
    """
    for name, scale in _SCALES.items():
        if number >= scale:
            above, below = divmod(number, scale)
            joint = " " if below >= 100 else " and "
            rest = f"{joint}{number_words(below)}" if below else ""
            return f"{number_words(above)} {name}{rest}"
    if number < len(_SMALL):
        return _SMALL[number]
    ten = _TENS[number // 10 - 2]
    return f"{ten}-{_SMALL[number % 10]}" if number % 10 else ten


def _digits(text: str) -> str:
    """Digits of a number in words; words of several ("five six") stay apart."""
    numbers: list[int] = []
    total = part = 0
    last = 0  # value of the previous word: only smaller ones may follow it
    started = False
    for word in re.findall(r"[a-z]+", text.lower()):
        if word == "and":
            continue
        if word in _SCALES:
            scale = _SCALES[word]
            part, last, started = max(part, 1) * scale, scale, True
            if scale > 100:
                total, part = total + part, 0
            continue
        value = _VALUES[word]
        if started and (value >= last or last < 20 or (last < 100 and value >= 10)):
            numbers.append(total + part)
            total = part = 0
        part, last, started = part + value, value or 1, True
    return " ".join(map(str, [*numbers, total + part]))


def _replaced(text: str, table: Mapping[str, str]) -> str:
    """Replace whole words, the longest entries first, keeping capitals."""
    longest = sorted(table, key=len, reverse=True)
    pattern = rf"(?<![\w'])(?:{'|'.join(map(re.escape, longest))})(?![\w'])"

    def other(match: re.Match[str]) -> str:
        word = table[match[0].lower()]
        return word[:1].upper() + word[1:] if match[0][:1].isupper() else word

    return re.sub(pattern, other, text, flags=re.IGNORECASE)
