"""The world of the newsroom: events, how they are sampled, and how they are varied.

Everything rests on one property. :func:`vary` moves from one event to another with the
same probability as back, and :func:`sample_events` draws all possible events with the
same probability. A varied event is therefore distributed exactly as an original one:
neither its caption nor its image, taken alone, looks different from a truthful one.
That is the aim of modality balancing (paper, section 3.2); here it holds by design.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from verite.errors import ParameterError

__all__ = [
    "ENTITIES",
    "SEASONS",
    "VALUES",
    "VISIBLE",
    "Event",
    "alternatives",
    "differences",
    "sample_events",
    "vary",
]

VALUES: dict[str, tuple[str | int, ...]] = {
    "topic": ("protest", "flood", "fire", "match", "festival", "market"),
    "count": (1, 3, 5),
    "people": ("police", "nurses", "soldiers", "children", "builders"),
    "crowd": ("few", "dozens"),
    "person": ("Amber", "Indigo", "Ivory", "Olive", "Ruby", "Violet"),
    "setting": ("city", "harbour", "mountain", "valley"),
    "country": (
        *("France", "Germany", "Italy", "Japan"),
        *("Sweden", "Poland", "Switzerland", "Estonia"),
    ),
    "weather": ("clear", "rainy", "snowy", "foggy"),
    "time": ("morning", "evening", "night"),
}
"""Values of each attribute but the date."""

SEASONS: dict[str, tuple[int, int, int]] = {
    "winter": (12, 1, 2),
    "spring": (3, 4, 5),
    "summer": (6, 7, 8),
    "autumn": (9, 10, 11),
}
"""Months of each season; every country here is in the north."""

VISIBLE = (*VALUES, "season")
"""Attributes that an image shows; of the date it shows the season only."""

ENTITIES = ("person", "country")
"""Visible attributes that are names; an image may hide them."""

_YEARS = range(2012, 2024)

# Every weather has two seasons and every season two weathers at least, so that each of
# the two can always be varied.
_WEATHER_SEASONS: dict[str, tuple[str, ...]] = {
    "clear": ("winter", "spring", "summer", "autumn"),
    "rainy": ("winter", "spring", "summer", "autumn"),
    "snowy": ("winter", "spring"),
    "foggy": ("winter", "autumn"),
}
_CLIMATE = tuple(
    (weather, season)
    for weather, seasons in _WEATHER_SEASONS.items()
    for season in seasons
)


@dataclass(frozen=True)
class Event:
    """Something that happened, as an image or a caption can describe it.

    Attributes
    ----------
    topic
        What happens: a flood, a market.
    count
        How many of the topic's things are there: 1, 3 or 5 boats, stalls.
    people, crowd
        Who is there, and whether few or dozens of them.
    person
        The mayor who visits, named after the colour of the coat.
    setting, country
        Where: the landscape, and the country that the flag shows.
    weather, time, date
        When; the date's season can be seen, its day and its year cannot.
    look
        Seed of everything in the image that no caption mentions, such as the places of
        people.

    Raises
    ------
    ParameterError
        A value is unknown, or the weather does not occur in the date's season.

    >>> EXAMPLE.season
    'spring'
    >>> replace(EXAMPLE, weather="foggy")
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: no foggy weather in spring here (date 2019-04-12). \
It occurs in winter, autumn.
    """

    topic: str
    count: int
    people: str
    crowd: str
    person: str
    setting: str
    country: str
    weather: str
    time: str
    date: datetime.date
    look: int = 0

    def __post_init__(self) -> None:
        for name, known in VALUES.items():
            value = getattr(self, name)
            if value not in known:
                raise ParameterError(
                    f"unknown {name} of an event: {value!r}. Known:"
                    f" {', '.join(map(str, known))}."
                )
        if self.season not in _WEATHER_SEASONS[self.weather]:
            seasons = ", ".join(_WEATHER_SEASONS[self.weather])
            raise ParameterError(
                f"no {self.weather} weather in {self.season} here (date {self.date})."
                f" It occurs in {seasons}."
            )

    @property
    def season(self) -> str:
        """Season of the date."""
        return next(
            season for season, months in SEASONS.items() if self.date.month in months
        )


EXAMPLE = Event(
    *("flood", 3, "nurses", "few", "Ruby", "harbour", "Italy", "rainy", "night"),
    datetime.date(2019, 4, 12),
)
"""An event for examples."""


def sample_events(n: int, rng: np.random.Generator) -> list[Event]:
    """Draw ``n`` events; all possible ones are equally likely.

    >>> [event] = sample_events(1, np.random.default_rng(0))
    >>> event.topic, event.count, event.setting, event.country
    ('match', 3, 'city', 'France')
    """
    return [_sample(rng) for _ in range(n)]


def alternatives(event: Event, attribute: str) -> tuple[Event, ...]:
    """All events that differ from ``event`` in one visible attribute, at least one.

    The relation is mutual, and all events it joins have equally many alternatives.

    >>> [event] = sample_events(1, np.random.default_rng(0))
    >>> [other.count for other in alternatives(event, "count")]
    [1, 5]
    """
    if attribute == "season":
        third = SEASONS[event.season].index(event.date.month)
        return tuple(
            replace(event, date=event.date.replace(month=SEASONS[season][third]))
            for season in _WEATHER_SEASONS[event.weather]
            if season != event.season
        )
    if attribute not in VALUES:
        raise ParameterError(
            f"unknown visible attribute: {attribute!r}. Known: {', '.join(VISIBLE)}."
        )
    values = [
        value for value in VALUES[attribute] if value != getattr(event, attribute)
    ]
    if attribute == "weather":
        values = [value for value in values if (value, event.season) in _CLIMATE]
    return tuple(replace(event, **{attribute: value}) for value in values)  # type: ignore[arg-type]


def vary(event: Event, attributes: Sequence[str], rng: np.random.Generator) -> Event:
    """Give each of some visible attributes another value; everything else stays.

    The attributes change in random order, because weather and season limit each other:
    only then is the way back as likely as the way there.

    >>> rng = np.random.default_rng(0)
    >>> [event] = sample_events(1, rng)
    >>> differences(event, vary(event, ["weather", "count"], rng))
    ('count', 'weather')
    """
    for place in rng.permutation(len(attributes)):
        options = alternatives(event, attributes[place])
        event = options[rng.integers(len(options))]
    return event


def differences(one: Event, other: Event) -> tuple[str, ...]:
    """Visible attributes in which two events differ, in :data:`VISIBLE`'s order."""
    return tuple(name for name in VISIBLE if getattr(one, name) != getattr(other, name))


def _sample(rng: np.random.Generator) -> Event:
    weather, season = _CLIMATE[rng.integers(len(_CLIMATE))]
    drawn = {
        name: values[rng.integers(len(values))]
        for name, values in VALUES.items()
        if name != "weather"
    }
    # Every month has 28 days, so the day survives a change of season.
    date = datetime.date(
        int(rng.choice(_YEARS)),
        SEASONS[season][rng.integers(3)],
        int(rng.integers(1, 29)),
    )
    return Event(**drawn, weather=weather, date=date, look=int(rng.integers(2**31)))  # type: ignore[arg-type]
