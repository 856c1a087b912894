"""The desk of a newsroom: the posts about one event, true and false.

All random numbers of an event are drawn in one order whatever the knobs. So turning a
knob changes only what it stands for, and turning it further only adds changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from verite.newsroom.captions import (
    GIVEAWAYS,
    HOUSE_STYLE,
    OPENERS,
    SHARES,
    WORDINGS,
    caption,
    closing,
    share,
)
from verite.newsroom.draw import draw
from verite.newsroom.foreground import MONTAGES
from verite.newsroom.knobs import Knobs, Preset
from verite.newsroom.world import (
    ENTITIES,
    VISIBLE,
    Event,
    differences,
    sample_events,
    vary,
)
from verite.pairs import MISCAPTIONED, OUT_OF_CONTEXT, TRUE

__all__ = ["Post", "Shown", "posts"]

_CAPTION_CHANGES = (1, 2)
"""How many visible attributes a false caption gets wrong."""

_CLOSING_WORDS = 5
"""Every caption closes with fewer words than this, drawn by chance, and with those of
``length_gap``.
"""


@dataclass(frozen=True)
class Shown:
    """What an image shows."""

    event: Event
    hidden: tuple[str, ...]
    montage: str

    def picture(self) -> Image.Image:
        """Draw it."""
        return draw(self.event, hidden=self.hidden, montage=self.montage)


@dataclass(frozen=True)
class Post:
    """A pair in the making."""

    group: str
    kind: str
    number: int
    image_id: str
    text_id: str
    shown: Shown
    told: Event
    caption: str
    shared: bool
    method: str
    chances: tuple[float, float]
    """Uniform: the first decides the split, the second whether the label is noised."""


class Desk:
    """One event: what happened, what false captions say, how other occasions look."""

    def __init__(self, number: int, seed: int, knobs: Knobs) -> None:
        self.knobs = knobs
        self.own = _stream(seed, number)
        looks = self.own.integers(2**31, size=4).tolist()
        duplicate, earlier = self.own.random(2)
        duplicated = number and duplicate < knobs.duplicate_rate
        source = int(earlier * number) if duplicated else number
        # The words of a duplicate are those of the earlier event; its pictures and
        # everything else are its own.
        self.words = _stream(seed, source, 1)
        world = _stream(seed, source, 0)
        [event] = sample_events(1, world)
        self.event = replace(event, look=looks[0])
        least, most = _CAPTION_CHANGES
        changed = _some(VISIBLE, int(world.integers(least, most + 1)), world)
        self.false = vary(self.event, changed, world)
        other = _elsewhere(
            self.event, knobs.ooc_hardness, np.random.default_rng(world.integers(2**31))
        )
        self.other = replace(other, look=looks[1])
        self.again = replace(self.event, look=looks[2])
        associative = vary(
            self.event, [name for name in VISIBLE if name != "topic"], world
        )
        self.associative = tuple(
            replace(associative, look=look) for look in (looks[0], looks[2])
        )
        self.asymmetric, self.kind, self.split = self.own.random(3).tolist()
        self.image_chances = self.own.random((3, 1 + len(ENTITIES)))
        self.montages: list[str] = self.own.choice(MONTAGES, 3).tolist()

    def shown(self, event: Event, which: int, false: bool) -> Shown:
        """What image ``which`` (0 to 2) of the event hides, and its montage if any."""
        tampering, *visible = self.image_chances[which]
        hidden = tuple(
            name
            for name, chance in zip(ENTITIES, visible, strict=True)
            if chance >= self.knobs.entity_visibility
        )
        tampered = false and tampering < self.knobs.manipulation_rate
        return Shown(event, hidden, self.montages[which] if tampered else "")


def posts(number: int, seed: int, preset: Preset) -> Iterator[Post]:
    """Make the pairs of one event."""
    knobs = preset.knobs
    desk = Desk(number, seed, knobs)
    name = f"event-{seed}-{number:04d}"
    asymmetric = desk.asymmetric < knobs.asymmetric_rate
    a = desk.shown(desk.associative[0] if asymmetric else desk.event, 0, false=False)
    b = desk.shown(desk.other, 1, false=True)
    image_c, c = "image-a", a
    if not knobs.balanced:
        again = desk.associative[1] if asymmetric else desk.again
        image_c, c = "image-c", desk.shown(again, 2, false=True)
    told = desk.event
    if asymmetric and not knobs.balanced:
        # The image carries the lie, and its caption only repeats what it shows.
        b, told = replace(b, montage=desk.montages[1]), desk.other
    changed = {
        MISCAPTIONED: differences(desk.event, desk.false),
        OUT_OF_CONTEXT: differences(desk.event, desk.other),
    }
    kinds = _kinds(preset, desk.kind)
    for post in range(knobs.posts_per_image):
        shared = post > 0  # the first post reports, all others pass its picture on
        true_words = _words(desk.event, False, shared, knobs, desk.words)
        false_words = _words(desk.false, True, shared, knobs, desk.words)
        other_words = _words(told, True, shared, knobs, desk.words)
        chances = desk.own.random((3, 2)).tolist()
        suffix = f"-{post}" if knobs.posts_per_image > 1 else ""
        parts = {
            TRUE: ("image-a", a, "text-a", desk.event, true_words),
            MISCAPTIONED: (image_c, c, "text-b", desk.false, false_words),
            OUT_OF_CONTEXT: ("image-b", b, "text-c", told, other_words),
        }
        if knobs.balanced:
            parts[OUT_OF_CONTEXT] = ("image-b", b, "text-a", desk.event, true_words)
        for kind, (split, noise) in zip(
            (TRUE, OUT_OF_CONTEXT, MISCAPTIONED), chances, strict=True
        ):
            if kind not in kinds:
                continue
            image, shown, text, event, words = parts[kind]
            yield Post(
                group=name,
                kind=kind,
                number=post,
                image_id=f"{name}-{image}",
                text_id=f"{name}-{text}{suffix}",
                shown=shown,
                told=event,
                caption=words,
                shared=shared,
                method=_method(kind, changed, asymmetric, shown),
                chances=(split if preset.split == "post" else desk.split, noise),
            )


def _kinds(preset: Preset, chance: float) -> tuple[str, ...]:
    """Kinds of an event's pairs; with two classes, one false kind by chance."""
    false = [kind for kind in preset.kinds if kind != TRUE]
    if not preset.binary or len(false) == 1:
        return preset.kinds
    return (TRUE, false[int(chance * len(false))])


def _words(
    event: Event, false: bool, shared: bool, knobs: Knobs, rng: np.random.Generator
) -> str:
    """Write the caption of an event.

    All draws are made whatever the knobs, so that turning one leaves the others alone.
    """
    leak, giveaway = rng.random(2).tolist()
    wordings, openers, giveaways, words = (
        int(rng.integers(size))
        for size in (len(WORDINGS), len(OPENERS), len(GIVEAWAYS), _CLOSING_WORDS)
    )
    other_style = int(rng.integers(HOUSE_STYLE))
    ending = np.random.default_rng(rng.integers(2**31))
    if leak < knobs.template_leak:
        wordings = HOUSE_STYLE if false else other_style
    opener = (
        GIVEAWAYS[giveaways]
        if false and giveaway < knobs.giveaway_rate
        else OPENERS[openers]
    )
    words += max(0, -knobs.length_gap if false else knobs.length_gap)
    if shared:
        return share(event, other_style % len(SHARES), opener, closing(words, ending))
    return caption(event, wordings, opener, closing(words, ending))


def _elsewhere(event: Event, hardness: float, rng: np.random.Generator) -> Event:
    """Another occasion, whose hardness says how much it has in common with the event.

    At 0 it differs in all visible attributes, at 1 in one.
    """
    within = [name for name in VISIBLE if name != "topic"]
    changes = 1 + round((1 - hardness) * (len(VISIBLE) - 1))
    changed = VISIBLE if changes == len(VISIBLE) else _some(within, changes, rng)
    return vary(event, changed, rng)


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _some(names: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    chosen: list[str] = rng.choice(names, count, replace=False).tolist()
    return chosen


def _method(
    kind: str, changed: dict[str, tuple[str, ...]], asymmetric: bool, shown: Shown
) -> str:
    parts = [f"change {', '.join(changed[kind])}"] if kind in changed else []
    parts += [f"montage {shown.montage}"] if shown.montage else []
    parts += ["asymmetric"] if asymmetric else []
    return "; ".join(parts)
