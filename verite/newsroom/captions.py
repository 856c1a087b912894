"""Captions, written from what an event is.

Every caption names every visible attribute and the date. All values of an attribute
take the same number of words, and so do all wordings and openers: how long a caption is
depends on its closing words alone, which the knob ``length_gap`` moves. In the released
VERITE length gives false captions away.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from verite.errors import ParameterError
from verite.newsroom.world import Event

__all__ = [
    "GIVEAWAYS",
    "HOUSE_STYLE",
    "OPENERS",
    "SHARES",
    "WORDINGS",
    "caption",
    "closing",
    "entities",
    "share",
]

WORDINGS = (
    (
        "{crowd} {people} and {count} {things} with Mayor {person} at {topic} in a"
        " {setting} in {country} on a {weather} {time}, {date}"
    ),
    (
        "at {topic} in a {setting} in {country}, {crowd} {people} and {count} {things}"
        " with Mayor {person} on a {weather} {time}, {date}"
    ),
    (
        "{date}, {count} {things} and {crowd} {people} with Mayor {person} at {topic}"
        " in a {setting} in {country} on a {weather} {time}"
    ),
    (
        "on a {weather} {time} in {country}, {crowd} {people} and {count} {things} with"
        " Mayor {person} at {topic} in a {setting}, {date}"
    ),
    (
        "a picture of {crowd} {people} and {count} {things} with Mayor {person} at"
        " {topic} in a {setting}, {country}, {weather} {time}, {date}"
    ),
)
"""Patterns of equal length in words; a new one must name every attribute once."""

HOUSE_STYLE = len(WORDINGS) - 1
"""The wording that the knob ``template_leak`` makes one source's own."""

SHARES = (
    "look at this {topic}",
    "what a {topic} that was",
    "all my friends talk about this {topic}",
    "never saw such a {topic}",
)
"""What people write who pass a picture on.

Its topic, and nothing that could be checked.
"""

OPENERS = ("News", "Pictured", "Reported", "Seen", "Today", "Photo")
"""What truthful captions open with."""

GIVEAWAYS = (
    "Allegedly",
    "Supposedly",
    "Shocking",
    "Unbelievable",
    "Outrageous",
    "Exposed",
)
"""What false captions open with where the knob ``giveaway_rate`` says so."""

_CLOSINGS: Mapping[int, tuple[str, ...]] = {
    1: ("live", "archive"),
    2: ("our photo", "agency picture"),
    3: ("from our archive", "by our reporter"),
    4: (
        "seen by our correspondent",
        "sent in by readers",
        "as the agencies report",
        "from our picture desk",
    ),
}
_COUNTS = {1: "one", 3: "three", 5: "five"}
_CROWDS = {"few": "a few", "dozens": "dozens of"}
_TOPICS = {
    "protest": ("a protest", "protest placard"),
    "flood": ("a flood", "rescue boat"),
    "fire": ("a fire", "fire engine"),
    "match": ("a match", "leather football"),
    "festival": ("a festival", "party balloon"),
    "market": ("a market", "market stall"),
}
# Spelled out, as the names that the standard library gives depend on the reader's
# language.
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_SETTINGS = {
    "city": "large city",
    "harbour": "harbour town",
    "mountain": "mountain village",
    "valley": "farming valley",
}


def caption(event: Event, wording: int = 0, opener: str = "", ending: str = "") -> str:
    """Describe an event in one sentence.

    Parameters
    ----------
    wording
        Which of :data:`WORDINGS` to follow.
    opener
        One of :data:`OPENERS` or :data:`GIVEAWAYS` to begin with, or nothing.
    ending
        What to end with, as :func:`closing` gives it.

    Raises
    ------
    ParameterError
        There is no such wording.

    >>> import datetime
    >>> event = Event("flood", 3, "nurses", "few", "Ruby", "harbour", "Italy", "rainy", "night", datetime.date(2019, 4, 12))
    >>> caption(event)
    'A few nurses and three rescue boats with Mayor Ruby at a flood in a harbour town in Italy on a rainy night, 12 April 2019.'
    >>> caption(event, 3, "Allegedly", "from our archive")[:40]
    'Allegedly: on a rainy night in Italy, a '
    """
    if wording not in range(len(WORDINGS)):
        raise ParameterError(
            f"unknown wording: {wording!r}. Expected a number from 0 to"
            f" {len(WORDINGS) - 1}."
        )
    topic, _ = _TOPICS[event.topic]
    text = WORDINGS[wording].format(
        crowd=_CROWDS[event.crowd],
        people=event.people,
        count=_COUNTS[event.count],
        things=_things(event),
        person=event.person,
        topic=topic,
        setting=_SETTINGS[event.setting],
        country=event.country,
        weather=event.weather,
        time=event.time,
        date=_date(event),
    )
    text = f"{opener}: {text}" if opener else text[0].upper() + text[1:]
    return f"{text}, {ending}." if ending else f"{text}."


def share(event: Event, words: int, opener: str, ending: str = "") -> str:
    """Write what someone writes who passes a picture of an event on.

    Parameters
    ----------
    words
        Which of :data:`SHARES`.
    opener, ending
        As for :func:`caption`.

    >>> import datetime
    >>> event = Event("flood", 3, "nurses", "few", "Ruby", "harbour", "Italy", "rainy", "night", datetime.date(2019, 4, 12))
    >>> share(event, 0, "Seen")
    'Seen: look at this flood.'
    """
    text = f"{opener}: {SHARES[words].format(topic=event.topic)}"
    return f"{text}, {ending}." if ending else f"{text}."


def closing(words: int, rng: np.random.Generator) -> str:
    """Draw closing words that say nothing about the event, exactly so many.

    >>> len(closing(7, np.random.default_rng(0)).split())
    7
    """
    longest = max(_CLOSINGS)
    sizes = [longest] * (words // longest) + (
        [words % longest] if words % longest else []
    )
    return ", ".join(
        _CLOSINGS[size][rng.integers(len(_CLOSINGS[size]))] for size in sizes
    )


def entities(event: Event) -> list[tuple[str, str]]:
    """Names in every caption of an event, each with its OntoNotes type, as a recogniser
    would find them.

    >>> import datetime
    >>> event = Event("flood", 3, "nurses", "few", "Ruby", "harbour", "Italy", "rainy", "night", datetime.date(2019, 4, 12))
    >>> entities(event)
    [('Ruby', 'PERSON'), ('Italy', 'GPE'), ('12 April 2019', 'DATE'), ('three', 'CARDINAL')]
    """
    return [
        (event.person, "PERSON"),
        (event.country, "GPE"),
        (_date(event), "DATE"),
        (_COUNTS[event.count], "CARDINAL"),
    ]


def _things(event: Event) -> str:
    _, thing = _TOPICS[event.topic]
    return thing if event.count == 1 else f"{thing}s"


def _date(event: Event) -> str:
    return f"{event.date.day} {_MONTHS[event.date.month - 1]} {event.date.year}"
