from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.errors import ParameterError
from verite.newsroom import VISIBLE, WORDINGS, caption, sample_events, vary

seeds = st.integers(0, 2**32)
wordings = st.integers(0, len(WORDINGS) - 1)


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
def test_all_captions_have_the_same_number_of_words(one: int, other: int, wording: int, other_wording: int) -> None:
    [first], [second] = (sample_events(1, np.random.default_rng(seed)) for seed in (one, other))
    assert len(caption(first, wording).split()) == len(caption(second, other_wording).split())


@given(seeds, st.sampled_from(VISIBLE), wordings)
def test_changing_one_attribute_changes_its_words_only(seed: int, attribute: str, wording: int) -> None:
    rng = np.random.default_rng(seed)
    [event] = sample_events(1, rng)
    before, after = (caption(it, wording).rstrip(".").split() for it in (event, vary(event, [attribute], rng)))
    changed = sum(a != b for a, b in zip(before, after, strict=True))
    # A topic takes three words (a fire, fire engines), a crowd, a setting and a number with its noun two, the rest one.
    assert 1 <= changed <= {"topic": 3, "crowd": 2, "setting": 2, "count": 2}.get(attribute, 1)


@pytest.mark.parametrize("wording", [-1, len(WORDINGS), None])
def test_an_unknown_wording_is_refused(wording: int) -> None:
    [event] = sample_events(1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="wording"):
        caption(event, wording)
