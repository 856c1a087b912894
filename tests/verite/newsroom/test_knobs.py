from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verite.datasets import load
from verite.errors import ParameterError
from verite.newsroom import GIVEAWAYS, HOUSE_STYLE, OPENERS, differences
from verite.newsroom.desk import Post, posts
from verite.newsroom.knobs import preset_named
from verite.pairs import MISCAPTIONED, OUT_OF_CONTEXT, TRUE

EVENTS = 300
rates = st.floats(0, 1)


def told(events: int = EVENTS, preset: str = "verite", **knobs: Any) -> list[Post]:
    chosen = preset_named(preset, knobs)
    return [post for number in range(events) for post in posts(number, 0, chosen)]


def opener(post: Post) -> str:
    return post.caption.split(":")[0]


def words(post: Post) -> int:
    return len(post.caption.split())


def share(posts: list[Post], what: Any) -> float:
    return float(np.mean([what(post) for post in posts]))


def of(posts: list[Post], *kinds: str) -> list[Post]:
    return [post for post in posts if post.kind in kinds]


# Text


def test_giveaways_open_their_share_of_false_captions_only() -> None:
    found = told(giveaway_rate=0.4)
    assert share(
        of(found, MISCAPTIONED), lambda post: opener(post) in GIVEAWAYS
    ) == pytest.approx(0.4, abs=0.1)
    assert all(opener(post) in OPENERS for post in of(found, TRUE, OUT_OF_CONTEXT))


@pytest.mark.parametrize(
    ("gap", "longer", "shorter"), [(6, TRUE, MISCAPTIONED), (-6, MISCAPTIONED, TRUE)]
)
def test_a_length_gap_adds_exactly_its_words_to_one_side(
    gap: int, longer: str, shorter: str
) -> None:
    before, after = told(60), told(60, length_gap=gap)
    assert {
        words(b) - words(a)
        for a, b in zip(of(before, longer), of(after, longer), strict=True)
    } == {6}
    assert of(before, shorter) == of(after, shorter)


def test_a_template_leak_reserves_the_house_style() -> None:
    def in_house_style(post: Post) -> bool:
        return ": a picture of " in post.caption

    even = told(EVENTS)
    assert share(of(even, TRUE), in_house_style) == pytest.approx(
        1 / (HOUSE_STYLE + 1), abs=0.08
    )
    assert share(of(even, MISCAPTIONED), in_house_style) == pytest.approx(
        1 / (HOUSE_STYLE + 1), abs=0.08
    )
    leaked = told(60, template_leak=1)
    assert all(in_house_style(post) for post in of(leaked, MISCAPTIONED))
    assert not any(in_house_style(post) for post in of(leaked, TRUE, OUT_OF_CONTEXT))


# Images


def test_false_images_alone_are_tampered_with() -> None:
    balanced, free = (
        told(manipulation_rate=0.5),
        told(manipulation_rate=0.5, balanced=False),
    )
    assert share(
        of(balanced, OUT_OF_CONTEXT), lambda post: bool(post.shown.montage)
    ) == pytest.approx(0.5, abs=0.1)
    assert not any(
        bool(post.shown.montage) for post in of(balanced, TRUE, MISCAPTIONED)
    )
    assert share(
        of(free, OUT_OF_CONTEXT, MISCAPTIONED), lambda post: bool(post.shown.montage)
    ) == pytest.approx(0.5, abs=0.1)
    assert not any(bool(post.shown.montage) for post in of(free, TRUE))


def test_names_are_hidden_as_often_in_true_as_in_false_images() -> None:
    found = told(entity_visibility=0.7)
    for kind in (TRUE, OUT_OF_CONTEXT):
        for name in ("person", "country"):
            assert share(
                of(found, kind), lambda post, name=name: name in post.shown.hidden
            ) == pytest.approx(0.3, abs=0.09)
    assert not any(post.shown.hidden for post in told(60))


@pytest.mark.parametrize(("hardness", "changes"), [(0, 10), (0.5, 5), (1, 1)])
def test_hardness_sets_how_much_an_image_differs(hardness: float, changes: int) -> None:
    for post in of(told(60, ooc_hardness=hardness), OUT_OF_CONTEXT):
        assert len(differences(post.told, post.shown.event)) == changes
        assert (post.told.topic != post.shown.event.topic) == (changes == 10)


def test_an_image_appears_in_several_posts() -> None:
    table = load(
        "newsroom", events=20, encoder=None, posts_per_image=5, balanced=False
    ).pairs
    assert set(table["image_id"].value_counts()) == {5}
    assert set(table.groupby("image_id")["label"].nunique()) == {1}
    assert table["text_id"].is_unique
    assert table.groupby("image_id")["caption"].nunique().mean() > 4


def test_only_the_first_post_reports() -> None:
    for post in told(10, posts_per_image=3, balanced=False):
        assert post.shared == (post.number > 0)
        assert (post.told.country in post.caption) == (not post.shared)
        assert post.told.topic in post.caption


# Both


def test_without_balancing_nothing_repeats() -> None:
    table = load("newsroom", events=20, encoder=None, balanced=False).pairs
    assert table["image_id"].is_unique
    assert table["text_id"].is_unique


def test_an_asymmetric_event_shows_its_topic_on_another_occasion() -> None:
    for post in of(told(60, asymmetric_rate=1), TRUE):
        assert len(differences(post.told, post.shown.event)) == 9
        assert post.told.topic == post.shown.event.topic


def test_an_asymmetric_tampered_image_agrees_with_its_caption() -> None:
    for post in of(told(60, asymmetric_rate=1, balanced=False), OUT_OF_CONTEXT):
        assert post.shown.montage
        assert differences(post.told, post.shown.event) == ()


def test_duplicates_repeat_captions_in_other_groups() -> None:
    table = load("newsroom", events=EVENTS, encoder=None, duplicate_rate=0.3).pairs
    true = table[table["label"] == TRUE]
    assert 1 - true["caption"].nunique() / len(true) == pytest.approx(0.3, abs=0.1)
    assert true["group"].is_unique
    assert (
        load("newsroom", events=EVENTS, encoder=None)
        .pairs.query("label == 'true'")["caption"]
        .is_unique
    )


def test_noise_flips_labels() -> None:
    clean, noisy = (
        load(
            "newsroom",
            events=EVENTS,
            encoder=None,
            preset="fakeddit",
            label_noise=noise,
        ).pairs
        for noise in (0, 0.2)
    )
    assert (clean["label"] != noisy["label"]).mean() == pytest.approx(0.2, abs=0.06)
    assert clean.drop(columns="label").equals(noisy.drop(columns="label"))


# Every knob


RATES = (
    "giveaway_rate",
    "template_leak",
    "manipulation_rate",
    "asymmetric_rate",
    "duplicate_rate",
)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(RATES), rates, rates, st.booleans())
def test_a_higher_rate_only_adds_changes(
    knob: str, one: float, other: float, balanced: bool
) -> None:
    low, high = sorted((one, other))
    none, some, more = (
        told(25, balanced=balanced, **{knob: rate}) for rate in (0, low, high)
    )
    for before, less, after in zip(none, some, more, strict=True):
        if less != before:
            assert after == less


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(RATES),
    rates,
    st.sampled_from(
        ["giveaway_rate", "length_gap", "manipulation_rate", "entity_visibility"]
    ),
)
def test_knobs_do_not_change_events(knob: str, rate: float, other: str) -> None:
    values = {
        "giveaway_rate": 1,
        "length_gap": 5,
        "manipulation_rate": 1,
        "entity_visibility": 0,
    }
    one, both = told(20, **{knob: rate}), told(20, **{other: values[other], knob: rate})
    assert [(post.told, post.shown.event) for post in one] == [
        (post.told, post.shown.event) for post in both
    ]


@pytest.mark.parametrize(
    ("knob", "value", "wanted"),
    [
        ("giveaway_rate", 1.01, "a number from 0 to 1"),
        ("manipulation_rate", "0.5", "a number from 0 to 1"),
        ("duplicate_rate", float("nan"), "a number from 0 to 1"),
        ("asymmetric_rate", True, "a number from 0 to 1"),
        ("length_gap", 2.5, "a whole number from -12 to 12"),
        ("posts_per_image", 0, "a whole number from 1 to 50"),
        ("balanced", 1, "True or False"),
    ],
)
def test_a_value_that_a_knob_cannot_take_is_refused(
    knob: str, value: object, wanted: str
) -> None:
    with pytest.raises(ParameterError, match=f"{knob} to be {wanted}"):
        load("newsroom", events=1, encoder=None, **{knob: value})


def test_an_unknown_knob_or_preset_is_named() -> None:
    with pytest.raises(
        ParameterError, match=r"no knob 'giveaways'. It has: giveaway_rate, length_gap"
    ):
        load("newsroom", giveaways=1)
    with pytest.raises(
        ParameterError,
        match=r"no preset is called 'reuters'. There are: verite, plain, visualnews",
    ):
        load("newsroom", preset="reuters")


def test_labels_of_three_classes_cannot_be_noised() -> None:
    with pytest.raises(
        ParameterError, match="label_noise needs a preset of two classes"
    ):
        load("newsroom", label_noise=0.1)


# Presets


@pytest.mark.parametrize(
    ("preset", "labels", "splits"),
    [
        ("verite", {"true": 200, "out-of-context": 200, "miscaptioned": 200}, {""}),
        ("visualnews", {"true": 200}, {"train", "validation", "test"}),
        (
            "fakeddit",
            {"true": 200, "misinformation": 200},
            {"train", "validation", "test"},
        ),
        (
            "vmu-twitter",
            {"true": 1600, "misinformation": 1600},
            {"train", "validation", "test"},
        ),
        ("cosmos", {"true": 200, "misinformation": 200}, {""}),
    ],
)
def test_a_preset_has_the_classes_and_splits_of_its_model(
    preset: str, labels: dict[str, int], splits: set[str]
) -> None:
    table = load(
        "newsroom", events=200, encoder=None, preset=preset, label_noise=0
    ).pairs
    assert table["label"].value_counts().to_dict() == labels
    assert set(table["split"]) == splits


def test_only_vmu_twitter_leaks_images_between_splits() -> None:
    def leaking(preset: str) -> float:
        table: pd.DataFrame = load(
            "newsroom", events=200, encoder=None, preset=preset
        ).pairs
        assert (
            table["leaks"]
            == (table.groupby("image_id")["split"].transform("nunique") > 1)
        ).mean() > 0.7
        return float(table["leaks"].mean())

    assert leaking("fakeddit") == leaking("visualnews") == 0
    assert leaking("vmu-twitter") > 0.7
