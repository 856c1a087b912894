"""Pictures of events, drawn by code: flat scenes, painted from back to front.

What a picture shows follows from the event's visible attributes; where exactly things
stand follows from ``event.look`` alone. Every layer has its own stream of random
numbers, so that a change of one attribute changes what shows that attribute and nothing
else.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np
from PIL import Image

from verite.errors import ParameterError
from verite.newsroom import people, props, scenery
from verite.newsroom.canvas import OVERSAMPLING, WHITE, Canvas, Colour, CutOut, cut_out
from verite.newsroom.montage import MONTAGES, paste
from verite.newsroom.world import ENTITIES, Event

__all__ = ["SIZE", "draw"]

SIZE = 96
"""Width and height of a picture in pixels."""

_NEAR = 0.45
"""Share of the light that falls on the foreground.

Things and people stay plain at night.
"""


def draw(
    event: Event, *, hidden: Collection[str] = (), montage: str = ""
) -> Image.Image:
    """Draw an event.

    Parameters
    ----------
    hidden
        Entities that the picture keeps to itself, of
        :data:`~verite.newsroom.world.ENTITIES`: the mayor is seen from behind under a
        grey hood, the flag is furled. All else stays as it is.
    montage
        What is pasted into the picture, for all to see that it cannot be there: one of
        :data:`~verite.newsroom.montage.MONTAGES`, or nothing.

    Returns
    -------
    PIL.Image.Image
        RGB, 96 × 96 pixels; the same event gives the same pixels.

    Raises
    ------
    ParameterError
        ``hidden`` or ``montage`` names something else.

    >>> from verite.newsroom.world import sample_events
    >>> [event] = sample_events(1, np.random.default_rng(0))
    >>> draw(event).size
    (96, 96)
    """
    if isinstance(hidden, str) or not set(hidden) <= set(ENTITIES):
        raise ParameterError(
            f"hidden must be a collection of some of {', '.join(ENTITIES)}, found"
            f" {hidden!r}. Other attributes can always be seen."
        )
    if montage not in ("", *MONTAGES):
        raise ParameterError(
            f"montage must be one of {', '.join(MONTAGES)} or empty, found {montage!r}."
        )
    streams = np.random.default_rng(event.look).spawn(12)
    (
        sky,
        landscape,
        ground,
        trees,
        scene,
        litter,
        things,
        crowd,
        mayor,
        flag,
        falling,
        pasted,
    ) = streams
    colour, strength = scenery.LIGHT[event.time]
    canvas = Canvas(OVERSAMPLING * SIZE)
    scenery.sky(canvas, event, sky)
    canvas.light = colour, strength
    scenery.landscape(canvas, event, landscape)
    scenery.ground(canvas, event, ground)
    scenery.trees(canvas, event, trees)
    props.scene(canvas, event, scene)
    scenery.litter(canvas, event, litter)
    scenery.fog(canvas, event)
    canvas.light = colour, _NEAR * strength
    props.things(canvas, event, things)
    people.crowd(canvas, event, crowd)
    canvas.light = WHITE, 0.0
    people.mayor(canvas, event, mayor, hidden="person" in hidden)
    _hoist(canvas, event, flag, furled="country" in hidden)
    scenery.falling(canvas, event, falling)
    if montage:
        paste(canvas, montage, pasted)
    return canvas.image.reduce(OVERSAMPLING)


_FLAGS: dict[str, tuple[str, tuple[Colour, ...]]] = {
    "France": ("across", ((0, 60, 170), WHITE, (235, 40, 60))),
    "Germany": ("down", ((10, 10, 10), (221, 0, 0), (255, 206, 0))),
    "Italy": ("across", ((0, 146, 70), WHITE, (206, 43, 55))),
    "Japan": ("down", (WHITE,)),
    "Sweden": ("down", ((0, 106, 177),)),
    "Poland": ("down", (WHITE, (220, 20, 60))),
    "Switzerland": ("down", ((218, 41, 28),)),
    "Estonia": ("down", ((0, 114, 206), (10, 10, 10), WHITE)),
}


def _hoist(
    canvas: Canvas, event: Event, rng: np.random.Generator, *, furled: bool
) -> None:
    dx, dy = rng.uniform(-0.6, 0.6, 2).tolist()
    canvas.stamp(
        _flag("" if furled else event.country, canvas.pixels), 11 + dx, 36 + dy
    )


@lru_cache(maxsize=16)
def _flag(country: str, pixels: int) -> CutOut:
    return cut_out(
        lambda canvas, x, y: _paint_flag(canvas, x, y, country),
        pixels,
        rim=(70, 70, 84),
        width=0.25,
    )


def _paint_flag(canvas: Canvas, x: float, y: float, country: str) -> None:
    """Paint a flag of 20 × 13 units; the pole stands at the point."""
    x, y = x + 0.5, y - 33
    canvas.box(x - 1.1, y - 1, x, y + 33, (236, 236, 240))
    canvas.oval(x - 0.55, y - 1.4, 1, 1, (255, 206, 60))
    if not country:  # wound around the pole and tied
        canvas.shape(
            (206, 208, 214),
            (x - 0.5, y),
            (x + 1.6, y + 4),
            (x + 1.9, y + 14),
            (x - 0.5, y + 17),
            (x - 2.6, y + 14),
            (x - 2.3, y + 4),
        )
        for fold in range(4):
            canvas.line(
                (160, 164, 174),
                (x - 2.4, y + 4 + 3 * fold),
                (x + 1.7, y + 2.4 + 3 * fold),
                width=0.5,
            )
        return
    direction, colours = _FLAGS[country]
    wide, high = 20, 13
    for part, colour in enumerate(colours):
        start, end = part / len(colours), (part + 1) / len(colours)
        if direction == "down":
            canvas.box(x, y + start * high, x + wide, y + end * high, colour)
        else:
            canvas.box(x + start * wide, y, x + end * wide, y + high, colour)
    if country == "Japan":
        canvas.oval(x + 10, y + 6.5, 3.9, 3.9, (190, 0, 40))
    elif country == "Switzerland":
        canvas.box(x + 8.6, y + 2, x + 11.4, y + 11, WHITE)
        canvas.box(x + 5.5, y + 5.1, x + 14.5, y + 7.9, WHITE)
    elif country == "Sweden":
        canvas.box(x + 6, y, x + 9, y + high, (255, 205, 0))
        canvas.box(x, y + 5, x + wide, y + 8, (255, 205, 0))
    for fold in (4, 11, 17):  # shading, as if it waved
        canvas.box(x + fold, y, x + fold + 1.6, y + high, (0, 0, 30, 40))
