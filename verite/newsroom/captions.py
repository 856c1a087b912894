"""Captions of events.

Every caption names every visible attribute and the date. All values of an attribute
take the same number of words, and so do all wordings and openers: a caption's length
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
"""The wording that the knob ``template_leak`` gives to false captions."""

SHARES = (
    "look at this {topic}",
    "what a {topic} that was",
    "all my friends talk about this {topic}",
    "never saw such a {topic}",
)
"""Captions of shared posts: the topic, and nothing that could be checked."""

OPENERS = ("News", "Pictured", "Reported", "Seen", "Today", "Photo")
"""Openers of truthful captions."""

GIVEAWAYS = (
    *("Allegedly", "Supposedly", "Shocking"),
    *("Unbelievable", "Outrageous", "Exposed"),
)
"""Openers of false captions, as often as the knob ``giveaway_rate`` says."""

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
# Spelled out, because the standard library's names depend on the user's language.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
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

    >>> from verite.newsroom.world import EXAMPLE as event
    >>> caption(event)
    'A few nurses and three rescue boats with Mayor Ruby at a flood in a harbour town \
in Italy on a rainy night, 12 April 2019.'
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
    """Caption of a post that shares an image of an event.

    Parameters
    ----------
    words
        Which of :data:`SHARES`.
    opener, ending
        As for :func:`caption`.

    >>> from verite.newsroom.world import EXAMPLE as event
    >>> share(event, 0, "Seen")
    'Seen: look at this flood.'
    """
    text = f"{opener}: {SHARES[words].format(topic=event.topic)}"
    return f"{text}, {ending}." if ending else f"{text}."


def closing(words: int, rng: np.random.Generator) -> str:
    """Draw a number of closing words that say nothing about the event.

    >>> len(closing(7, np.random.default_rng(0)).split())
    7
    """
    longest = max(_CLOSINGS)
    sizes = [longest] * (words // longest)
    sizes += [words % longest] if words % longest else []
    return ", ".join(
        _CLOSINGS[size][rng.integers(len(_CLOSINGS[size]))] for size in sizes
    )


def entities(event: Event) -> list[tuple[str, str]]:
    """Names in an event's captions, with their OntoNotes types.

    >>> from verite.newsroom.world import EXAMPLE as event
    >>> entities(event)
    [('Ruby', 'PERSON'), ('Italy', 'GPE'), ('12 April 2019', 'DATE'), \
('three', 'CARDINAL')]
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
