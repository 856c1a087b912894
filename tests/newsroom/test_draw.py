from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import pytest

from verite.newsroom import VISIBLE, Event, alternatives, draw, sample_events

MATCH = Event("match", 1, "nurses", "few", "valley", "Japan", "clear", "morning", datetime.date(2019, 4, 12))


def pixels(event: Event) -> np.ndarray:
    return np.asarray(draw(event)).astype(int)


def colour(event: Event, x: int, y: int) -> tuple[int, ...]:
    return tuple(pixels(event)[y, x].tolist())


def test_a_picture_is_rgb_of_64_pixels() -> None:
    assert (draw(MATCH).mode, draw(MATCH).size) == ("RGB", (64, 64))


def test_an_event_always_looks_the_same() -> None:
    assert draw(MATCH).tobytes() == draw(replace(MATCH)).tobytes()


def test_another_look_is_another_picture_of_the_same_event() -> None:
    assert draw(MATCH).tobytes() != draw(replace(MATCH, look=1)).tobytes()


def test_day_and_year_cannot_be_seen() -> None:
    assert draw(MATCH).tobytes() == draw(replace(MATCH, date=datetime.date(2021, 5, 3))).tobytes()


@pytest.mark.parametrize("attribute", VISIBLE)
def test_every_other_value_of_an_attribute_can_be_seen(attribute: str) -> None:
    for event in sample_events(5, np.random.default_rng(2)):
        for other in alternatives(event, attribute):
            # One of several nurses against builders is about as little as an attribute ever shows.
            visibly = np.abs(pixels(event) - pixels(other)).max(axis=2) > 24
            assert visibly.sum() > 25


@pytest.mark.parametrize(
    ("country", "left", "middle", "right"),
    [
        ("France", (0, 50, 160), (250, 250, 250), (235, 40, 60)),
        ("Italy", (0, 146, 70), (250, 250, 250), (206, 43, 55)),
        ("Japan", (250, 250, 250), (190, 0, 40), (250, 250, 250)),
        ("Switzerland", (218, 41, 28), (250, 250, 250), (218, 41, 28)),
    ],
)
def test_a_flag_has_its_colours_from_left_to_right(
    country: str, left: tuple[int, ...], middle: tuple[int, ...], right: tuple[int, ...]
) -> None:
    event = replace(MATCH, country=country)
    assert [colour(event, x, 9) for x in (14, 22, 30)] == [left, middle, right]


def test_a_night_is_dark_and_snow_is_bright() -> None:
    brightness = {weather: pixels(replace(MATCH, topic="protest", weather=weather)).mean() for weather in ("clear", "rainy", "snowy")}
    assert brightness["snowy"] > brightness["clear"] > brightness["rainy"]
    assert pixels(replace(MATCH, time="night")).mean() < 0.6 * pixels(MATCH).mean()
