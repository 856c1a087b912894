"""Captions, written from what an event is.

Every caption names every visible attribute and the date. All values of an attribute take the same number of words, so
captions of one wording are equally long whatever they tell: length cannot give a false one away, as it does in the
released VERITE.
"""

from __future__ import annotations

from verite.errors import ParameterError
from verite.newsroom.world import Event

__all__ = ["WORDINGS", "caption"]

WORDINGS = (
    "{crowd} {people} and {count} {things} at {topic} in a {setting} in {country} on a {weather} {time}, {date}.",
    "At {topic} in a {setting} in {country}, {crowd} {people} and {count} {things} on a {weather} {time}, {date}.",
    "{date}: {count} {things} and {crowd} {people} at {topic} in a {setting} in {country} on a {weather} {time}.",
    "On a {weather} {time} in {country}, {crowd} {people} and {count} {things} at {topic} in a {setting}, {date}.",
)
"""Patterns of equal length in words; a new one must name every attribute once."""

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
# Spelled out, as the names that the standard library gives depend on the reader's language.
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
_SETTINGS = {"city": "large city", "harbour": "harbour town", "mountain": "mountain village", "valley": "farming valley"}


def caption(event: Event, wording: int = 0) -> str:
    """Describe an event in one sentence.

    Parameters
    ----------
    wording
        Which of :data:`WORDINGS` to follow.

    Raises
    ------
    ParameterError
        There is no such wording.

    >>> import datetime
    >>> event = Event("flood", 3, "nurses", "few", "harbour", "Italy", "rainy", "night", datetime.date(2019, 4, 12))
    >>> caption(event)
    'A few nurses and three rescue boats at a flood in a harbour town in Italy on a rainy night, 12 April 2019.'
    """
    if wording not in range(len(WORDINGS)):
        raise ParameterError(f"unknown wording: {wording!r}. Expected a number from 0 to {len(WORDINGS) - 1}.")
    topic, thing = _TOPICS[event.topic]
    text = WORDINGS[wording].format(
        crowd=_CROWDS[event.crowd],
        people=event.people,
        count=_COUNTS[event.count],
        things=thing if event.count == 1 else f"{thing}s",
        topic=topic,
        setting=_SETTINGS[event.setting],
        country=event.country,
        weather=event.weather,
        time=event.time,
        date=f"{event.date.day} {_MONTHS[event.date.month - 1]} {event.date.year}",
    )
    return text[0].upper() + text[1:]
