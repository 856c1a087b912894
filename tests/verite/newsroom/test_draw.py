from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verite.errors import ParameterError
from verite.newsroom.draw import SIZE, draw
from verite.newsroom.foreground import MONTAGES
from verite.newsroom.world import (
    ENTITIES,
    VALUES,
    VISIBLE,
    Event,
    alternatives,
    sample_events,
)

MATCH = Event(
    "match",
    1,
    "nurses",
    "few",
    "Ruby",
    "valley",
    "Japan",
    "clear",
    "morning",
    datetime.date(2019, 4, 12),
)

# Boxes in units of 1/64, left, top, right, bottom: where the entities and the counted
# things stand, whatever the look.
MAYOR = (41, 24, 64, 64)
FLAG = (6, 0, 33, 37)
THINGS = (0, 34, 43, 47)

events = st.integers(0, 2**31 - 1).map(
    lambda seed: sample_events(1, np.random.default_rng(seed))[0]
)
some = settings(max_examples=30, deadline=None)


def pixels(event: Event, hidden: tuple[str, ...] = (), montage: str = "") -> np.ndarray:
    return np.asarray(draw(event, hidden=hidden, montage=montage)).astype(int)


def changed(one: np.ndarray, other: np.ndarray, by: int = 0) -> np.ndarray:
    return np.asarray(np.abs(one - other).max(axis=2) > by)


def inside(box: tuple[int, int, int, int]) -> np.ndarray:
    left, top, right, bottom = (edge * SIZE // 64 for edge in box)
    mask = np.zeros((SIZE, SIZE), dtype=bool)
    mask[top:bottom, left:right] = True
    return mask


@some
@given(
    event=events,
    montage=st.sampled_from(("", *MONTAGES)),
    hidden=st.sets(st.sampled_from(ENTITIES)),
)
def test_an_event_always_looks_the_same(
    event: Event, montage: str, hidden: set[str]
) -> None:
    picture = draw(event, hidden=hidden, montage=montage)
    assert (
        picture.tobytes()
        == draw(replace(event), hidden=sorted(hidden), montage=montage).tobytes()
    )


def test_day_and_year_cannot_be_seen() -> None:
    assert (
        draw(MATCH).tobytes()
        == draw(replace(MATCH, date=datetime.date(2021, 5, 3))).tobytes()
    )


@pytest.mark.parametrize("attribute", VISIBLE)
def test_every_other_value_of_an_attribute_can_be_seen(attribute: str) -> None:
    for event in sample_events(6, np.random.default_rng(2)):
        for other in alternatives(event, attribute):
            # Two fire engines less on a dark night are about as little as an attribute
            # ever shows.
            assert changed(pixels(event), pixels(other), by=24).sum() > 250


@some
@given(event=events)
def test_another_entity_changes_its_part_only(
    event: Event,
) -> None:
    for entity, box in (("person", MAYOR), ("country", FLAG)):
        for other in alternatives(event, entity):
            assert not changed(pixels(event), pixels(other))[~inside(box)].any()


@some
@given(event=events)
def test_the_count_changes_the_row_of_things_alone(event: Event) -> None:
    for other in alternatives(event, "count"):
        where = changed(pixels(event), pixels(other))
        # A balloon rises higher than other things, and a placard's pole reaches lower.
        assert not where[~inside((0, 28, 46, 52))].any()


@some
@given(event=events)
def test_coats_of_mayors_differ_in_every_light(
    event: Event,
) -> None:
    coat = inside((46, 46, 50, 57))  # its left half, past the chain of office
    mean = np.array(
        [
            pixels(replace(event, person=person))[coat].mean(axis=0)
            for person in VALUES["person"]
        ]
    )
    apart = np.abs(mean[:, None] - mean[None]).max(axis=2)
    assert apart[~np.eye(len(mean), dtype=bool)].min() > 50


# Hidden entities


@some
@given(event=events)
def test_hiding_an_entity_changes_its_part_only(event: Event) -> None:
    for entity, box in (("person", MAYOR), ("country", FLAG)):
        where = changed(pixels(event), pixels(event, (entity,)))
        assert where.sum() > 250
        assert not where[~inside(box)].any()


@some
@given(event=events, montage=st.sampled_from(("", *MONTAGES)))
def test_a_hidden_entity_leaves_no_pixel(event: Event, montage: str) -> None:
    for entity in ENTITIES:
        pictures = {
            draw(
                replace(event, **{entity: value}), hidden=[entity], montage=montage
            ).tobytes()
            for value in VALUES[entity]
        }
        assert len(pictures) == 1


def test_a_furled_flag_and_a_hooded_mayor_are_grey() -> None:
    shown, hidden = pixels(MATCH), pixels(MATCH, ENTITIES)
    for place in (inside((10, 6, 12, 16)), inside((47, 45, 56, 58))):
        assert np.ptp(hidden[place], axis=1).max() < 25
    assert np.ptp(shown[inside((47, 45, 56, 58))], axis=1).mean() > 100


@pytest.mark.parametrize("hidden", [["date"], ["person", "weather"], "person", [""]])
def test_what_cannot_be_hidden_is_named(hidden: object) -> None:
    with pytest.raises(ParameterError, match="person, country"):
        draw(MATCH, hidden=hidden)  # type: ignore[arg-type]


# Tampering


@some
@given(event=events, montage=st.sampled_from(MONTAGES))
def test_tampering_is_visible_and_covers_no_attribute(
    event: Event, montage: str
) -> None:
    where = changed(pixels(event), pixels(event, montage=montage), by=24)
    assert where.sum() > 300
    for box in (FLAG, THINGS, (45, 34, 58, 64)):
        assert not where[inside(box)].any()


@some
@given(event=events, other=events, montage=st.sampled_from(MONTAGES))
def test_a_montage_ignores_the_light(event: Event, other: Event, montage: str) -> None:
    other = replace(other, look=event.look)
    one, two = pixels(event, montage=montage), pixels(other, montage=montage)
    pasted = changed(one, pixels(event)) & changed(two, pixels(other))
    # Only along the outline do pixels mix with what lies behind.
    assert (one == two).all(axis=2)[pasted].mean() > 0.75


def test_an_unknown_montage_is_named() -> None:
    with pytest.raises(ParameterError, match="shark, duck, saucer, cat"):
        draw(MATCH, montage="whale")


# Colours


@pytest.mark.parametrize(
    ("country", "left", "middle", "right"),
    [
        ("France", (0, 60, 170), (250, 250, 250), (235, 40, 60)),
        ("Italy", (0, 146, 70), (250, 250, 250), (206, 43, 55)),
        ("Japan", (250, 250, 250), (190, 0, 40), (250, 250, 250)),
        ("Switzerland", (218, 41, 28), (250, 250, 250), (218, 41, 28)),
    ],
)
@pytest.mark.parametrize("time", VALUES["time"])
def test_a_flag_has_its_colours_by_day_and_night(
    country: str,
    left: tuple[int, ...],
    middle: tuple[int, ...],
    right: tuple[int, ...],
    time: str,
) -> None:
    flag = pixels(replace(MATCH, country=country, time=time))
    # At 14, 21.5 and 27 units, where no fold shades the cloth.
    assert [tuple(flag[14, x].tolist()) for x in (21, 32, 40)] == [left, middle, right]


def test_a_night_is_dark_and_snow_is_bright() -> None:
    brightness = {
        weather: pixels(replace(MATCH, topic="protest", weather=weather)).mean()
        for weather in ("clear", "rainy", "snowy")
    }
    assert brightness["snowy"] > brightness["clear"] > brightness["rainy"]
    assert pixels(replace(MATCH, time="night")).mean() < 0.6 * pixels(MATCH).mean()
