"""What an article must be: flags that a person can overrule (paper, section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import pandas as pd

from verite.building.captions import (
    find_giveaways,
    form,
    keywords,
    odd_letters,
    stems,
)
from verite.errors import DataError

__all__ = ["CRITERIA", "FLAGS", "PUBLISHERS", "Criterion", "check"]

FLAGS = ("met", "look", "not met")
"""Met; for a person to look at; not met: the article is left out."""

PUBLISHERS = ("snopes.com", "reuters.com")

_VIDEO = re.compile(
    r"\b(?:videos?|footage|clips?|animat\w+|gifs?|timelapse|time-lapse)\b",
    re.IGNORECASE,
)
_MADE = re.compile(
    r"\b(?:ai-generated|artificial intelligence|midjourney|dall-e|deepfakes?"
    r"|photoshop\w*|photomontages?|collages?|composite|3d|cgi|render(?:ed|ings?)"
    r"|illustrations?|art ?works?|sculptures?|satir\w+|doctored|edited|manipulated"
    r"|digital(?:ly)? (?:art|altered|created|enhanced|made))\b",
    re.IGNORECASE,
)

_Row = Mapping[str, str]
_Answer = tuple[str, str]
"""A flag, and why."""
_MET = ("met", "")


class Criterion(NamedTuple):
    """One thing to check."""

    step: int
    """Of the paper's process: 1 inclusion, 2 selection, 3 refinement, 4 image."""
    says: str
    """What must hold."""
    check: Callable[[_Row], _Answer]


def _publisher(row: _Row) -> _Answer:
    host = _host(row["snopes_url"])
    if any(host == name or host.endswith(f".{name}") for name in PUBLISHERS):
        return _MET
    return "not met", f"the page is on {host or 'no host'}"


def _rating(row: _Row) -> _Answer:
    rating = row.get("rating", "").casefold()
    if rating == "miscaptioned":
        return _MET
    return (
        ("not met", f"rated {rating}") if rating else ("look", "no rating in the table")
    )


def _still(row: _Row) -> _Answer:
    return _look(_mentions(_VIDEO, row, row["snopes_url"].replace("-", " ")))


def _honest(row: _Row) -> _Answer:
    return _look(_mentions(_MADE, row))


def _linked(row: _Row) -> _Answer:
    true, false = (stems(keywords(caption, 99)) for caption in _captions(row))
    missing = "the captions share no keyword, by its first five letters"
    return _look([] if true & false else [missing])


def _giveaways(row: _Row) -> _Answer:
    names = zip(("true", "false"), _captions(row), strict=True)
    return _look(
        f"{name}: {finding.word}"
        for name, caption in names
        for finding in find_giveaways(caption)
    )


def _length(row: _Row) -> _Answer:
    short, long = sorted(len(caption.split()) for caption in _captions(row))
    return _look([f"{short} words and {long}"] if 2 * short < long else [])


def _form(row: _Row) -> _Answer:
    names = zip(("true", "false"), _captions(row), strict=True)
    return _look(f"no such opening: {name}" for name, text in names if not form(text))


def _text(row: _Row) -> _Answer:
    odd = dict.fromkeys("".join(map(odd_letters, _captions(row))))
    names = [f"{letter} (U+{ord(letter):04X})" for letter in odd]
    if any(re.search(r"\S\s{2,}\S", caption) for caption in _captions(row)):
        names.append("spaces in a row")
    return _look(names)


def _web(column: str) -> Callable[[_Row], _Answer]:
    def check(row: _Row) -> _Answer:
        url = row[column]
        if not url:
            return "look", f"no {column}: two pairs, not three"
        web = url.startswith(("https://", "http://")) and _host(url)
        return _MET if web else ("not met", f"{column} is no web link")

    return check


def _look(reasons: Iterable[str]) -> _Answer:
    why = ", ".join(reasons)
    return ("look", why) if why else _MET


def _mentions(pattern: re.Pattern[str], row: _Row, more: str = "") -> Iterable[str]:
    texts = (*_captions(row), more)
    words = (match[0].casefold() for text in texts for match in pattern.finditer(text))
    return dict.fromkeys(words)


def _captions(row: _Row) -> tuple[str, str]:
    return row["true_caption"], row["false_caption"]


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # a bracket that is not closed
        return ""


_STEPS: Mapping[int, tuple[tuple[str, str, Callable[[_Row], _Answer]], ...]] = {
    1: (
        (
            "publisher",
            f"the fact-check is published by {' or '.join(PUBLISHERS)}",
            _publisher,
        ),
        ("rated_miscaptioned", "the fact-checker rates it miscaptioned", _rating),
        (
            "still_image",
            "it is about an image, not footage or animation; a screenshot may do",
            _still,
        ),
        (
            "honest_image",
            "the image was not made to mislead; made up or manipulated ones may do",
            _honest,
        ),
    ),
    2: (
        ("has_image", "there is an image, on the web", _web("true_url")),
        (
            "linked",
            "the false caption is about this image and misrepresents it",
            _linked,
        ),
    ),
    3: (
        ("no_giveaway", "no word gives the false caption away", _giveaways),
        (
            "same_length",
            "neither caption is more than twice as long as the other",
            _length,
        ),
        (
            "direct_form",
            'both captions open like "An image shows" or "Photo of"',
            _form,
        ),
        ("clean_text", "no letters of other scripts, no spaces in a row", _text),
    ),
    4: (
        (
            "out_of_context",
            "there is an out-of-context image, on the web",
            _web("false_url"),
        ),
    ),
}
CRITERIA: Mapping[str, Criterion] = {
    name: Criterion(step, says, function)
    for step, rows in _STEPS.items()
    for name, says, function in rows
}
"""By name. A column of the table with that name holds a person's answers, ``yes`` or
``no``, which count more than the check.
"""


def check(articles: pd.DataFrame) -> pd.DataFrame:
    """Flag each article against each criterion.

    Parameters
    ----------
    articles
        As :func:`verite.building.read` returns it.

    Returns
    -------
    pandas.DataFrame
        One row per article and criterion: ``id``, ``step``, ``criterion``, ``flag``
        (one of :data:`FLAGS`), ``why``, and ``by``: ``check``, or ``person`` where the
        table has an answer. A DataError names an answer other than yes, no or nothing.

    >>> row = dict.fromkeys(["id", "query", "false_url"], "") | {
    ...     "true_url": "https://x.example/a.jpg", "true_caption": "Photo of a boat.",
    ...     "snopes_url": "https://www.snopes.com/boat", "honest_image": "yes",
    ...     "false_caption": "Photo of a boat that is not there."}
    >>> flags = check(pd.DataFrame([row]))
    >>> flags.loc[flags["flag"] != "met", "criterion"].tolist()
    ['rated_miscaptioned', 'no_giveaway', 'out_of_context']
    """
    rows = []
    for record in articles.to_dict("records"):
        row = {str(name): str(value) for name, value in record.items()}
        for name, criterion in CRITERIA.items():
            answer, by = row.get(name, "").casefold(), "person"
            if answer not in ("", "yes", "no"):
                raise DataError(
                    f"article {row['id']}: expected yes, no or nothing in column"
                    f" {name!r}, found {answer!r}."
                )
            flag, why = "met" if answer == "yes" else "not met", ""
            if not answer:
                (flag, why), by = criterion.check(row), "check"
            rows.append((row["id"], criterion.step, name, flag, why, by))
    columns = ["id", "step", "criterion", "flag", "why", "by"]
    return pd.DataFrame(rows, columns=columns)
