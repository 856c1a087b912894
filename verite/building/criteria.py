"""What an article must be to stand in the benchmark, as flags that a person can check
and overrule (paper, section 3.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import pandas as pd

from verite.building.captions import find_giveaways, form, keywords, odd_letters
from verite.errors import DataError, name_some

__all__ = ["CRITERIA", "FLAGS", "PUBLISHERS", "Criterion", "check"]

FLAGS = ("met", "look", "not met")
"""Met; for a person to look at; not met: the article is left out."""

PUBLISHERS = ("snopes.com", "reuters.com")

_VIDEO = re.compile(
    r"\b(?:videos?|footage|clips?|animat\w+|gifs?|timelapse|time-lapse)\b",
    re.IGNORECASE,
)
_MADE = re.compile(
    r"\b(?:ai-generated|artificial"
    r" intelligence|midjourney|dall-e|deepfakes?|photoshop\w*|photomontages?|collages?|composite|3d|cgi"
    r"|render(?:ed|ings?)|illustrations?|art"
    r" ?works?|sculptures?|satir\w+|doctored|edited|manipulated"
    r"|digital(?:ly)? (?:art|altered|created|enhanced|made))\b",
    re.IGNORECASE,
)

_Row = Mapping[str, str]
_Found = tuple[str, str]  # a flag, and why


class Criterion(NamedTuple):
    """One thing to check."""

    step: int
    """Of the paper's process.

    1 inclusion, 2 selection, 3 refinement, 4 out-of-context image.
    """
    says: str
    """What must hold."""
    check: Callable[[_Row], _Found]


def _publisher(row: _Row) -> _Found:
    host = _host(row["snopes_url"])
    known = any(host == name or host.endswith(f".{name}") for name in PUBLISHERS)
    return ("met", "") if known else ("not met", f"the page is on {host or 'no host'}")


def _rating(row: _Row) -> _Found:
    rating = row.get("rating", "").casefold()
    if not rating:
        return "look", "the table does not say"
    return ("met", "") if rating == "miscaptioned" else ("not met", f"rated {rating}")


def _still(row: _Row) -> _Found:
    return _mentions(_VIDEO, row, row["snopes_url"].replace("-", " "))


def _honest(row: _Row) -> _Found:
    return _mentions(_MADE, row, "")


def _linked(row: _Row) -> _Found:
    true, false = (
        {word.casefold()[:5] for word in keywords(row[name], 99)}
        for name in ("true_caption", "false_caption")
    )
    return (
        ("met", "")
        if true & false
        else (
            "look",
            (
                "true and false caption share no word that means something, by its"
                " first five letters"
            ),
        )
    )


def _image(row: _Row) -> _Found:
    return (
        ("met", "")
        if _is_web(row["true_url"])
        else ("not met", "true_url is no web link")
    )


def _giveaways(row: _Row) -> _Found:
    found = [
        f"{name}: {finding.word}"
        for name in ("true", "false")
        for finding in find_giveaways(row[f"{name}_caption"])
    ]
    return ("look", ", ".join(found)) if found else ("met", "")


def _length(row: _Row) -> _Found:
    short, long = sorted(
        len(row[name].split()) for name in ("true_caption", "false_caption")
    )
    return ("look", f"{short} words beside {long}") if 2 * short < long else ("met", "")


def _form(row: _Row) -> _Found:
    bad = [name for name in ("true", "false") if not form(row[f"{name}_caption"])]
    return ("look", f"no such opening: {', '.join(bad)}") if bad else ("met", "")


def _text(row: _Row) -> _Found:
    odd = "".join(odd_letters(row[name]) for name in ("true_caption", "false_caption"))
    names = [f"{letter} (U+{ord(letter):04X})" for letter in dict.fromkeys(odd)]
    if any(
        re.search(r"\S\s{2,}\S", row[name])
        for name in ("true_caption", "false_caption")
    ):
        names.append("spaces in a row")
    return ("look", ", ".join(names)) if names else ("met", "")


def _elsewhere(row: _Row) -> _Found:
    if not row["false_url"]:
        return "look", "no out-of-context image: two pairs, not three"
    return (
        ("met", "")
        if _is_web(row["false_url"])
        else ("not met", "false_url is no web link")
    )


CRITERIA: dict[str, Criterion] = {
    "publisher": Criterion(
        1, f"the fact-check is published by {' or '.join(PUBLISHERS)}", _publisher
    ),
    "rated_miscaptioned": Criterion(
        1, "the fact-checker rates it miscaptioned", _rating
    ),
    "still_image": Criterion(
        1,
        "it is about an image, not about footage or an animation; a screenshot may do",
        _still,
    ),
    "honest_image": Criterion(
        1,
        "the image was not made to mislead; made up or manipulated ones may do",
        _honest,
    ),
    "has_image": Criterion(2, "there is an image, on the web", _image),
    "linked": Criterion(
        2, "the false caption is about this image and misrepresents it", _linked
    ),
    "no_giveaway": Criterion(3, "no word gives the false caption away", _giveaways),
    "same_length": Criterion(
        3, "neither caption is more than twice as long as the other", _length
    ),
    "direct_form": Criterion(
        3, 'both captions open like "An image shows" or "Photo of"', _form
    ),
    "clean_text": Criterion(
        3, "no letters of other scripts, no spaces in a row", _text
    ),
    "out_of_context": Criterion(
        4, "there is an out-of-context image, on the web", _elsewhere
    ),
}
"""By name. A column of the table with that name holds a person's answers, ``yes`` or
``no``, which count more than the check.
"""


def check(articles: pd.DataFrame) -> pd.DataFrame:
    """Flag each article against each criterion.

    Parameters
    ----------
    articles
        As :func:`verite.building.read` gives it.

    Returns
    -------
    pandas.DataFrame
        One row for each article and criterion: ``id``, ``step``, ``criterion``,
        ``flag`` (one of :data:`FLAGS`), ``why``, and ``by``: ``check``, or ``person``
        where the table has an answer.

    Raises
    ------
    DataError
        A column of answers holds something else than yes, no or nothing.

    >>> row = dict(id="1", true_url="https://x.example/a.jpg", true_caption="Photo of a boat.", false_url="", query="",
    ...            false_caption="Photo of a boat that is not there.", snopes_url="https://www.snopes.com/boat", honest_image="yes")
    >>> flags = check(pd.DataFrame([row]))
    >>> flags.loc[flags["flag"] != "met", ["criterion", "why"]].to_numpy().tolist()[:2]
    [['rated_miscaptioned', 'the table does not say'], ['no_giveaway', 'false: not']]
    """
    rows = [
        {str(name): str(value) for name, value in row.items()}
        for row in articles.to_dict("records")
    ]
    return pd.DataFrame(
        [
            (row["id"], criterion.step, name, *_decide(name, criterion, row))
            for row in rows
            for name, criterion in CRITERIA.items()
        ],
        columns=["id", "step", "criterion", "flag", "why", "by"],
    )  # fmt: skip


def _decide(name: str, criterion: Criterion, row: _Row) -> tuple[str, str, str]:
    answer = row.get(name, "").casefold()
    if answer not in ("", "yes", "no"):
        raise DataError(
            f"article {row['id']}: expected yes, no or nothing in column {name!r},"
            f" found {name_some([repr(answer)])}."
        )
    if answer:
        return ("met" if answer == "yes" else "not met"), "", "person"
    return (*criterion.check(row), "check")


def _mentions(pattern: re.Pattern[str], row: _Row, more: str) -> _Found:
    found = [
        match[0].casefold()
        for text in (row["true_caption"], row["false_caption"], more)
        for match in pattern.finditer(text)
    ]
    return ("look", ", ".join(dict.fromkeys(found))) if found else ("met", "")


def _is_web(url: str) -> bool:
    return url.startswith(("https://", "http://")) and bool(_host(url))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # a bracket that is not closed
        return ""
