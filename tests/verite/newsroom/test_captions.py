from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.errors import ParameterError
from verite.newsroom import (
    GIVEAWAYS,
    OPENERS,
    VISIBLE,
    WORDINGS,
    Event,
    caption,
    entities,
    sample_events,
    vary,
)
from verite.newsroom.captions import closing

seeds = st.integers(0, 2**32)
wordings = st.integers(0, len(WORDINGS) - 1)


def event_of(seed: int) -> Event:
    return sample_events(1, np.random.default_rng(seed))[0]


@given(seeds, wordings)
def test_a_caption_tells_every_visible_attribute_and_the_date(
    read_caption: Callable[[str], dict[str, object]], seed: int, wording: int
) -> None:
    [event] = sample_events(1, np.random.default_rng(seed))
    text = caption(event, wording)
    assert read_caption(text) == {name: getattr(event, name) for name in VISIBLE}
    assert f"{event.date.day} " in text
    assert str(event.date.year) in text


@given(seeds, seeds, wordings, wordings)
def test_all_captions_have_the_same_number_of_words(
    one: int, other: int, wording: int, other_wording: int
) -> None:
    [first], [second] = (
        sample_events(1, np.random.default_rng(seed)) for seed in (one, other)
    )
    assert len(caption(first, wording).split()) == len(
        caption(second, other_wording).split()
    )


@given(seeds, st.sampled_from(VISIBLE), wordings)
def test_changing_one_attribute_changes_its_words_only(
    seed: int, attribute: str, wording: int
) -> None:
    rng = np.random.default_rng(seed)
    [event] = sample_events(1, rng)
    before, after = (
        caption(it, wording).rstrip(".").split()
        for it in (event, vary(event, [attribute], rng))
    )
    changed = sum(a != b for a, b in zip(before, after, strict=True))
    # A topic takes three words (a fire, fire engines), a crowd, a setting and a number
    # with its noun two, the rest one.
    assert (
        1
        <= changed
        <= {"topic": 3, "crowd": 2, "setting": 2, "count": 2}.get(attribute, 1)
    )


@pytest.mark.parametrize("opener", [*OPENERS, *GIVEAWAYS])
def test_an_opener_adds_one_word(opener: str) -> None:
    event = event_of(0)
    assert caption(event, 2, opener).split()[0] == f"{opener}:"
    assert len(caption(event, 2, opener).split()) == len(caption(event, 2).split()) + 1


@given(seeds, wordings)
def test_every_named_entity_stands_once_in_the_caption(seed: int, wording: int) -> None:
    event = event_of(seed)
    text = caption(event, wording, "News", closing(9, np.random.default_rng(seed)))
    assert {kind for _, kind in entities(event)} == {
        "PERSON",
        "GPE",
        "DATE",
        "CARDINAL",
    }
    # Unfolded: a caption that begins with its number writes it with a capital letter.
    assert all(
        text.casefold().count(name.casefold()) == 1 for name, _ in entities(event)
    )


@pytest.mark.parametrize("wording", [-1, len(WORDINGS), None])
def test_an_unknown_wording_is_refused(wording: int) -> None:
    [event] = sample_events(1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="wording"):
        caption(event, wording)
