"""The bias lab's promises, on small newsrooms."""

from __future__ import annotations

from typing import Any

import pytest

from verite import lab
from verite.errors import ParameterError

FREE = {"balanced": False}


SMALL = {"events": 200, "folds": 3}
"""Enough for a bias that is turned up fully.

To learn from two modalities takes more.
"""


def measured(
    preset: str = "plain",
    *,
    split_by: str = "event",
    inputs: tuple[str, ...] = lab.INPUTS,
    events: int = 300,
    folds: int = 4,
    **knobs: Any,
) -> dict[str, Any]:
    return lab.measure(
        preset,
        knobs,
        events=events,
        folds=folds,
        seed=0,
        split_by=split_by,
        resamples=500,
        inputs=inputs,
    )


def accuracy(found: dict[str, Any], what: str) -> float:
    return float(found["accuracy"][what]["value"])


@pytest.fixture(scope="module")
def at_rest() -> dict[str, Any]:
    return measured()


def test_at_rest_only_both_modalities_beat_chance(at_rest: dict[str, Any]) -> None:
    both = at_rest["accuracy"]["image+text"]
    for what in ("text", "image"):
        # Three standard errors for 600 pairs: weights differ between processors, and a
        # 95 % interval leaves chance out once in twenty.
        assert abs(accuracy(at_rest, what) - 0.5) < 0.06
        assert both["low"] > at_rest["accuracy"][what]["high"] + 0.1
        assert at_rest["ahead"][what]["high"] < -0.1


@pytest.mark.parametrize(
    ("knob", "values", "what", "split_by"),
    [
        ("giveaway_rate", (0, 0.5, 1), "text", "event"),
        ("manipulation_rate", (0, 0.5, 1), "image", "event"),
        ("posts_per_image", (1, 4, 16), "image", "post"),
    ],
)
def test_the_modality_that_carries_a_bias_climbs_with_its_knob(
    knob: str, values: tuple[float, ...], what: str, split_by: str
) -> None:
    levels = [
        accuracy(
            measured(
                split_by=split_by, inputs=(what,), **SMALL, **FREE, **{knob: value}
            ),
            what,
        )
        for value in values
    ]
    assert levels[0] < levels[1] < levels[2]
    assert levels[0] < 0.56
    assert levels[2] > 0.8


def test_a_giveaway_puts_text_ahead_of_both() -> None:
    found = measured(
        **SMALL,
        **FREE,
        giveaway_rate=1,
        asymmetric_rate=0.5,
        inputs=("text", "image+text"),
    )
    assert found["ahead"]["text"]["low"] > 0


def test_balancing_caps_what_a_giveaway_can_pay() -> None:
    # One of two false kinds has true captions: three of four is all that text can get.
    assert (
        0.6
        < accuracy(measured(**SMALL, giveaway_rate=1, inputs=("text",)), "text")
        < 0.8
    )


def test_out_of_context_pairs_tell_nothing_in_one_modality() -> None:
    rest = {
        "giveaway_rate": 0,
        "template_leak": 0,
        "asymmetric_rate": 0,
        "duplicate_rate": 0,
        "balanced": True,
    }
    found = measured("cosmos", **rest)
    assert accuracy(found, "text") == 0.5  # each caption stands under both labels
    assert found["accuracy"]["image"]["low"] < 0.5 < found["accuracy"]["image"]["high"]
    assert found["accuracy"]["image+text"]["low"] > 0.8


def test_images_in_many_posts_pay_nothing_where_events_are_kept_together() -> None:
    found = measured(**FREE, posts_per_image=8, inputs=("image",))
    assert found["accuracy"]["image"]["low"] < 0.5 < found["accuracy"]["image"]["high"]


def test_measuring_goes_on_where_it_was_and_gives_the_same(tmp_path: Any) -> None:
    worlds = [("plain", {"giveaway_rate": rate}, "event") for rate in (0, 1, 0)]
    options: dict[str, Any] = {
        "events": 30,
        "folds": 3,
        "resamples": 100,
        "directory": tmp_path,
    }
    first = lab.measure_all(worlds, **options)
    assert len(list(tmp_path.iterdir())) == 2
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert lab.measure_all(worlds, **options) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    assert first[0] == first[2] != first[1]


def test_the_grid_turns_each_knob_through_five_values_under_four_settings() -> None:
    worlds = lab.grid()
    assert len(worlds) == len({world[:4] for world in worlds}) == 8 * 5 * 4 + 5 * 2
    assert {world.split_by for world in worlds if world.knob == "posts_per_image"} == {
        "post"
    }
    assert worlds[0].setting == "giveaway_rate, balanced"


def test_an_unknown_way_to_split_is_refused() -> None:
    with pytest.raises(
        ParameterError, match="split_by: expected event or post, found 'image'"
    ):
        lab.measure("plain", {}, split_by="image")
