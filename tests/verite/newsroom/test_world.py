from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from verite.errors import ParameterError
from verite.newsroom import (
    VISIBLE,
    Event,
    alternatives,
    differences,
    sample_events,
    vary,
)

seeds = st.integers(0, 2**32)
some_attributes = st.lists(st.sampled_from(VISIBLE), unique=True)


def event_of(seed: int) -> Event:
    return sample_events(1, np.random.default_rng(seed))[0]


def test_the_same_generator_state_gives_the_same_events() -> None:
    one, two, other = (
        sample_events(20, np.random.default_rng(seed)) for seed in (4, 4, 5)
    )
    assert one == two != other


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("topic", "wedding"),
        ("count", 2),
        ("country", "Atlantis"),
        ("weather", "sunny"),
        ("weather", "snowy"),
    ],
)
def test_an_event_that_cannot_be_is_refused(attribute: str, value: object) -> None:
    people = ("nurses", "few", "Ruby")
    place = ("harbour", "Italy", "rainy", "night", datetime.date(2019, 7, 12))
    event = Event("flood", 3, *people, *place)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=str(value)):
        replace(event, **{attribute: value})


def test_an_unknown_attribute_has_no_alternatives() -> None:
    with pytest.raises(ParameterError, match="date"):
        alternatives(event_of(0), "date")


@given(seeds, st.sampled_from(VISIBLE))
def test_alternatives_differ_in_one_attribute_and_lead_back(
    seed: int, attribute: str
) -> None:
    event = event_of(seed)
    others = alternatives(event, attribute)
    assert others
    for other in others:
        assert differences(event, other) == (attribute,)
        assert event in alternatives(other, attribute)
        # As likely there as back: this is what keeps varied events distributed as all
        # others are.
        assert len(alternatives(other, attribute)) == len(others)


@given(seeds, some_attributes)
def test_varying_changes_exactly_what_was_named(
    seed: int, attributes: list[str]
) -> None:
    event = event_of(seed)
    other = vary(event, attributes, np.random.default_rng(seed))
    assert set(differences(event, other)) == set(attributes)
    assert (other.date.year, other.date.day, other.look) == (
        event.date.year,
        event.date.day,
        event.look,
    )


def test_all_weathers_that_a_season_has_are_equally_likely() -> None:
    events = sample_events(6_000, np.random.default_rng(0))
    _, counts = np.unique(
        [f"{event.weather} {event.season}" for event in events], return_counts=True
    )
    assert len(counts) == 12
    assert chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("attribute", [*VISIBLE, "date.month"])
def test_varied_events_are_distributed_as_events_are(attribute: str) -> None:
    rng = np.random.default_rng(1)
    events = sample_events(3_000, rng)
    varied = [
        vary(event, rng.choice(VISIBLE, 2, replace=False).tolist(), rng)
        for event in sample_events(3_000, rng)
    ]

    def value(event: Event) -> str:
        return str(
            event.date.month if attribute == "date.month" else getattr(event, attribute)
        )

    names = sorted({value(event) for event in events})
    table = [
        [sum(value(event) == name for event in side) for name in names]
        for side in (events, varied)
    ]
    assert chi2_contingency(table).pvalue > 0.001
