"""Images of events, drawn by code: flat scenes, painted from back to front.

What an image shows follows from the event's visible attributes; where exactly things
are follows from ``event.look`` alone. Every layer has its own stream of random numbers,
so a change of one attribute changes only what shows that attribute.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from PIL import Image

from verite.errors import ParameterError
from verite.newsroom import foreground, scenery
from verite.newsroom.canvas import OVERSAMPLING, WHITE, Canvas
from verite.newsroom.world import ENTITIES, Event

__all__ = ["SIZE", "draw"]

SIZE = 96
"""Width and height of an image in pixels."""

_NEAR = 0.45  # share of the hour's light that falls on things and people
_LAYERS = (
    *("sky", "landscape", "ground", "trees", "scene", "litter"),
    *("things", "crowd", "mayor", "flag", "falling", "montage"),
)


def draw(
    event: Event, *, hidden: Collection[str] = (), montage: str = ""
) -> Image.Image:
    """Draw an event.

    Parameters
    ----------
    hidden
        Entities that the image does not show, of
        :data:`~verite.newsroom.world.ENTITIES`: the mayor is seen from behind under a
        grey hood, the flag is furled. Everything else stays the same.
    montage
        One of :data:`~verite.newsroom.foreground.MONTAGES` to paste into the image,
        where it visibly does not belong; or nothing.

    Returns
    -------
    PIL.Image.Image
        RGB, 96 × 96 pixels; the same event gives the same pixels.

    Raises
    ------
    ParameterError
        ``hidden`` or ``montage`` is unknown.

    >>> from verite.newsroom.world import sample_events
    >>> [event] = sample_events(1, np.random.default_rng(0))
    >>> draw(event).size
    (96, 96)
    """
    if isinstance(hidden, str) or not set(hidden) <= set(ENTITIES):
        raise ParameterError(
            f"hidden must be a collection of some of {', '.join(ENTITIES)}, found"
            f" {hidden!r}. Other attributes are always visible."
        )
    if montage not in ("", *foreground.MONTAGES):
        raise ParameterError(
            f"montage must be one of {', '.join(foreground.MONTAGES)} or empty, found"
            f" {montage!r}."
        )
    streams = np.random.default_rng(event.look).spawn(len(_LAYERS))
    rng = dict(zip(_LAYERS, streams, strict=True))
    colour, strength = scenery.LIGHT[event.time]
    canvas = Canvas(OVERSAMPLING * SIZE)
    scenery.sky(canvas, event, rng["sky"])
    canvas.light = colour, strength
    scenery.landscape(canvas, event, rng["landscape"])
    scenery.ground(canvas, event, rng["ground"])
    scenery.trees(canvas, event, rng["trees"])
    foreground.scene(canvas, event, rng["scene"])
    scenery.litter(canvas, event, rng["litter"])
    scenery.fog(canvas, event)
    canvas.light = colour, _NEAR * strength
    foreground.things(canvas, event, rng["things"])
    foreground.crowd(canvas, event, rng["crowd"])
    canvas.light = WHITE, 0.0
    foreground.mayor(canvas, event, rng["mayor"], hidden="person" in hidden)
    foreground.flag(canvas, event, rng["flag"], furled="country" in hidden)
    scenery.falling(canvas, event, rng["falling"])
    if montage:
        foreground.montage(canvas, montage, rng["montage"])
    return canvas.image.reduce(OVERSAMPLING)
