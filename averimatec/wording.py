"""One thing said in two ways.

Contractions, numbers in digits and in words, synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

__all__ = [
    "contracted",
    "digits_to_words",
    "expanded",
    "number_words",
    "with_synonyms",
    "words_to_digits",
]

_NEGATED = (
    "is",
    "are",
    "was",
    "were",
    "do",
    "does",
    "did",
    "has",
    "have",
    "had",
    "would",
    "could",
    "should",
    "must",
    "need",
    "might",
)
_CONTRACTIONS = (
    {f"{word} not": f"{word}n't" for word in _NEGATED}
    | {
        "cannot": "can't",
        "can not": "can't",
        "will not": "won't",
        "let us": "let's",
        "i am": "i'm",
    }
    | {
        f"{who} is": f"{who}'s"
        for who in ("it", "he", "she", "that", "there", "what", "who")
    }
    | {f"{who} are": f"{who}'re" for who in ("they", "we", "you")}
    | {
        f"{who} will": f"{who}'ll"
        for who in ("i", "it", "he", "she", "they", "we", "you")
    }
    | {f"{who} have": f"{who}'ve" for who in ("i", "they", "we", "you")}
)
_EXPANSIONS = {
    short: long for long, short in _CONTRACTIONS.items() if long != "can not"
}


def _table(text: str) -> dict[str, str]:
    """Pairs of words, a comma between pairs."""
    return dict(re.findall(r"(\w+) (\w+)", text))


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen"
    " fourteen fifteen sixteen seventeen eighteen nineteen"
)
_SMALL: tuple[str, ...] = tuple(re.findall(r"\w+", _ONES))
_TENS = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_SCALES = {"million": 1_000_000, "thousand": 1_000, "hundred": 100}
_VALUES = {word: number for number, word in enumerate(_SMALL)} | _TENS
_WORD = f"(?:{'|'.join((*_VALUES, *_SCALES))})"
_JOINT = "(?:[ -]|(?:(?<=hundred)|(?<=thousand)|(?<=million)),? and )"
_SPOKEN = re.compile(rf"\b{_WORD}(?:{_JOINT}{_WORD})*\b", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![\w.,/:-])(\d{1,3}(?:,\d{3})+|\d{1,9})(?![\w/:-]|[.,]\d)")

_SYNONYMS = _table("""
    picture photograph, image picture, photo picture, video footage, article report, report account, country nation, city town,
    people persons, man gentleman, woman lady, child kid, children kids, car automobile, house home, police constabulary,
    doctor physician, war conflict, money cash, start begin, started began, end finish, ended finished, said stated, says states,
    shows depicts, show depict, taken captured, made created, big large, large big, small little, false untrue, true correct,
    wrong incorrect, important significant, famous renowned, company firm, government state, law statute, help assist,
    buy purchase, bought purchased, claim assertion, proof evidence, answer reply, question query, year twelvemonth, leader head,
    attack assault, fire blaze, flood deluge, protest demonstration, match game, festival fete, market fair, met encountered
""")


def contracted(text: str) -> str:
    """Write "is not" as "isn't", "it is" as "it's", and so on.

    >>> contracted("It is not Rome. They will see that it cannot be.")
    "It's not Rome. They'll see that it can't be."
    """
    return _replaced(text, _CONTRACTIONS)


def expanded(text: str) -> str:
    """Write "isn't" as "is not", and so on.

    Typographic apostrophes are read as plain ones.

    >>> expanded("It isn't Rome.")
    'It is not Rome.'
    """
    return _replaced(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"), _EXPANSIONS)


def with_synonyms(text: str) -> str:
    """Put other words of the same meaning in the place of some common ones.

    >>> with_synonyms("The picture shows a flood.")
    'The photograph depicts a deluge.'
    """
    return _replaced(text, _SYNONYMS)


def digits_to_words(text: str) -> str:
    """Write whole numbers under a thousand million in words.

    Decimals, times, and numbers within words stay.

    >>> digits_to_words("On 12 April 2019, 3 boats and 1,500 people at 10:30.")
    'On twelve April two thousand and nineteen, three boats and one thousand five hundred people at 10:30.'
    """
    return _DIGITS.sub(
        lambda found: number_words(int(found.group().replace(",", ""))), text
    )


def words_to_digits(text: str) -> str:
    """Write numbers in words as digits.

    >>> words_to_digits("Twelve April two thousand and nineteen, twenty-one boats, and one thousand five hundred people")
    '12 April 2019, 21 boats, and 1500 people'
    """
    return _SPOKEN.sub(lambda found: _spoken(found.group()), text)


def number_words(number: int) -> str:
    """A whole number from 0 to 999,999,999 in English words.

    >>> number_words(999), number_words(70_005)
    ('nine hundred and ninety-nine', 'seventy thousand and five')
    """
    for name, scale in _SCALES.items():
        if number >= scale:
            above, below = divmod(number, scale)
            joint = " " if below >= 100 else " and "
            return f"{number_words(above)} {name}" + (
                f"{joint}{number_words(below)}" if below else ""
            )
    if number < len(_SMALL):
        return _SMALL[number]
    ten = next(word for word, value in _TENS.items() if value == number // 10 * 10)
    return f"{ten}-{_SMALL[number % 10]}" if number % 10 else ten


def _spoken(text: str) -> str:
    """Digits of a number in words.

    Words that are no one number ("five six") stay apart.
    """
    numbers: list[int] = []
    total = part = 0
    last = 0  # the last word's value: what may follow is smaller
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
        if started and (
            value >= last or (last < 20) or (20 <= last < 100 and value >= 10)
        ):
            numbers.append(total + part)
            total = part = 0
        part, last, started = part + value, value or 1, True
    numbers.append(total + part)
    return " ".join(map(str, numbers))


def _replaced(text: str, table: Mapping[str, str]) -> str:
    longest = sorted(table, key=len, reverse=True)
    pattern = re.compile(
        rf"(?<![\w'])(?:{'|'.join(map(re.escape, longest))})(?![\w'])", re.IGNORECASE
    )
    return pattern.sub(_keeping_case(table), text)


def _keeping_case(table: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
    def put(found: re.Match[str]) -> str:
        word: str = found.group()
        other = table[word.lower()]
        return other[:1].upper() + other[1:] if word[:1].isupper() else other

    return put
