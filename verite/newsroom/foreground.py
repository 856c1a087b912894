"""What happens in an image: the topic's scene and things, people, flag and montage."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from verite.newsroom.canvas import (
    BLACK,
    BRIGHT,
    RED,
    WHITE,
    Canvas,
    Colour,
    CutOut,
    Paint,
    Point,
    cut_out,
    cut_out_drawing,
    mix,
    scatter,
)
from verite.newsroom.world import Event

__all__ = ["MONTAGES", "crowd", "flag", "mayor", "montage", "scene", "things"]

_WATER: Colour = (176, 214, 222)
_VARIANTS = 5  # looks of the same thing
_THINGS = {
    "protest": "placard",
    "flood": "boat",
    "fire": "fire engine",
    "match": "football",
    "festival": "party balloon",
    "market": "market stall",
}
# Drawings of a scene, and how far it moves to the left and the right.
_SCENES = {
    "protest": ("", "banner", 2),
    "match": ("pitch", "goal", 3),
    "market": ("paving", "weigh house", 2),
}
_SKIN: tuple[Colour, ...] = (
    (255, 220, 190),
    (230, 180, 140),
    (170, 115, 80),
    (105, 70, 50),
)
_HAIR: tuple[Colour, ...] = ((84, 50, 28), (196, 146, 70), (40, 30, 30), (30, 24, 26))
_RIMS: tuple[Colour, ...] = ((255, 60, 220), (90, 255, 90), (255, 255, 255))
_MONTAGES: dict[str, tuple[float, Point]] = {
    "shark": (0.7, (51.5, 17)),
    "duck": (0.74, (53, 22)),
    "saucer": (0.78, (53, 15)),
    "cat": (0.85, (53.5, 23)),
}  # size and place

MONTAGES = tuple(_MONTAGES)
"""What can be pasted into an image."""


def scene(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Paint what the topic brings, behind its things."""
    if event.topic in _SCENES:
        background, drawing, reach = _SCENES[event.topic]
        if background:
            canvas.draw(background)
        canvas.draw(drawing, 24 + rng.uniform(-reach, reach))
    elif event.topic == "flood":
        canvas.gradient(36.5, 64, (134, 168, 176), (66, 104, 124))
        for middle in (13, 34):
            canvas.draw("house", middle + rng.uniform(-2, 2))
        for x, y in scatter(rng, 34, (2, 38.5), (62, 63)):
            long = 1.2 + (y - 38) * 0.07
            points = ((x - long, y), (x - long / 2, y - 0.4), (x + long, y))
            canvas.line(_WATER, *points, width=0.4)
    elif event.topic == "fire":
        _fire(canvas, rng)
    else:
        canvas.draw("stage")
        shift = int(rng.integers(5))
        for pennant in range(13):  # bunting across the image
            x = 2.5 + 5 * pennant
            y = 17 + 4 * (1 - ((pennant - 6) / 6) ** 2)
            colour = BRIGHT[(shift + pennant) % 5]
            canvas.shape(colour, (x - 1.9, y), (x + 1.9, y), (x, y + 3.8))


def _fire(canvas: Canvas, rng: np.random.Generator) -> None:
    x = 24 + rng.uniform(-3, 3)
    for step in range(8):
        shade = 58 + 8 * step
        smoke = x + 1.3 * step + rng.uniform(-1, 1)
        radii = 3.4 + 0.45 * step, 3 + 0.4 * step
        canvas.oval(smoke, 22 - 2.6 * step, *radii, (shade, shade, shade, 215))
    canvas.glow(x, 29, 17, (255, 140, 40), 0.7)
    canvas.box(x - 10, 28, x + 10, 38.5, (104, 76, 66))
    for window in (-6.5, 0, 6.5):
        canvas.box(x + window - 1.7, 32, x + window + 1.7, 36.4, (255, 190, 60, 255))
    for flame in (-8.5, -5.1, -1.7, 1.7, 5.1, 8.5):
        height, lean = rng.uniform(8, 13), rng.uniform(-1.5, 1.5)
        colours = ((240, 84, 12, 255), (255, 158, 26, 255), (255, 232, 110, 255))
        for share, colour in zip((1.0, 0.68, 0.36), colours, strict=True):
            wide, top = 2.6 * share, 32 - height * share
            canvas.shape(
                colour,
                (x + flame - wide, 31),
                (x + flame - 0.5 * wide, top + 0.5 * height * share),
                (x + flame + lean * share, top),
                (x + flame + wide, 31),
            )
            canvas.oval(x + flame, 31, wide, 1.4 * share + 0.4, colour)


def things(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Put 1, 3 or 5 things of the topic in a row, left of the mayor."""
    moves, variants = rng.uniform(-0.3, 0.3, (5, 2)), rng.integers(_VARIANTS, size=5)
    gap = {1: 0.0, 3: 11.5, 5: 8.8}[event.count]
    middle = 21.6 + rng.uniform(-0.5, 0.5)
    for thing in range(event.count):
        x = middle + gap * (thing - (event.count - 1) / 2)
        y = 47 - 2.4 * (thing % 2)  # staggered, to be counted easily
        dx, dy = moves[thing].tolist()
        image = _thing(_THINGS[event.topic], int(variants[thing]), canvas.pixels)
        canvas.stamp(image, x + dx, y + dy)


@lru_cache(maxsize=64)
def _thing(name: str, variant: int, pixels: int) -> CutOut:
    def paint(canvas: Canvas, x: float, y: float) -> None:
        if name == "football":
            _football(canvas, x, y - 4, variant)
            return
        if name == "party balloon":
            y -= 8 + 0.5 * variant
            string = ((x, y + 5), (x + 0.4 * (variant - 2), y + 8), (x, y + 11))
            canvas.line((70, 60, 70), *string, width=0.4)
        canvas.draw(name, x, y)
        if name == "market stall":
            fruit = ((240, 150, 30), RED, (170, 210, 60))
            for place, dx in enumerate((-2.5, -0.8, 0.8, 2.5)):
                colour = fruit[(place + variant) % 3]
                canvas.oval(x + dx, y - 4.2, 0.95, 0.95, colour)

    return cut_out(paint, pixels, rim=(40, 30, 40), width=0.35)


def _football(canvas: Canvas, x: float, y: float, variant: int) -> None:
    canvas.oval(x, y, 3.9, 3.9, WHITE)
    canvas.oval(x, y, 1.3, 1.3, BLACK)
    for fifth in range(5):
        angle = variant * 0.25 + fifth * math.pi * 2 / 5
        dx, dy = math.cos(angle), math.sin(angle)
        canvas.line(BLACK, (x + dx, y + dy), (x + 2.6 * dx, y + 2.6 * dy), width=0.4)
        canvas.oval(x + 3 * dx, y + 3 * dy, 0.85, 0.85, BLACK)


def crowd(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Set a few people or dozens of them in the foreground, beside the mayor."""
    moves = rng.uniform(-0.8, 0.8, (30, 2))[:, 0].tolist()
    looks = rng.integers(20, size=30).tolist()
    if event.crowd == "few":
        places = [
            (x + 2 * dx, 62.0) for x, dx in zip((9, 21.5, 34), moves, strict=False)
        ]
    else:
        rows = [(row, place) for row in range(3) for place in range(10)]
        places = [
            (0.5 + 7 * place + 3.5 * (row % 2) + dx, 57.6 + 3.3 * row)
            for (row, place), dx in zip(rows, moves, strict=True)
        ]
    for (x, foot), look in zip(places, looks, strict=False):
        canvas.stamp(_person(event.people, look, canvas.pixels), x, foot)
        if event.topic == "flood":
            ends = (x - 2.6, foot - 0.8), (x + 2.6, foot - 0.8)
            canvas.line(_WATER, *ends, width=0.9)


def _person(people: str, look: int, pixels: int) -> CutOut:
    colours: dict[str, Paint] = {"skin": _SKIN[look % 4], "hair": _HAIR[look % 4]}
    if people == "children":  # all others wear a uniform
        bright = BRIGHT[look // 4]
        colours |= {
            "bright": bright,
            "pale": mix(bright, WHITE, 0.6),
            "sleeve": mix(bright, BLACK, 0.18),
            "dark": mix(bright, BLACK, 0.5),
        }
    return cut_out_drawing(people, pixels, rim=(46, 36, 48), width=0.3, **colours)


def mayor(
    canvas: Canvas, event: Event, rng: np.random.Generator, *, hidden: bool
) -> None:
    """Set the mayor right of the middle, in a light that shows the face at night."""
    x = 51.5 + rng.uniform(-0.5, 0.5)
    if event.time != "morning":
        canvas.glow(x, 46, 21, (255, 236, 190), 0.5 if event.time == "night" else 0.3)
    canvas.oval(x, 62.3, 8, 1.4, (20, 20, 40, 90))
    name = "hooded mayor" if hidden else event.person
    image = cut_out_drawing(name, canvas.pixels, rim=(36, 26, 40), width=0.5)
    canvas.stamp(image, x, 62.5)
    if event.topic == "flood":
        canvas.line(_WATER, (x - 7, 61.6), (x + 7, 61.6), width=0.9)


def flag(
    canvas: Canvas, event: Event, rng: np.random.Generator, *, furled: bool
) -> None:
    """Hoist the country's flag at the left."""
    dx, dy = rng.uniform(-0.6, 0.6, 2).tolist()
    name = "furled flag" if furled else event.country
    image = cut_out_drawing(name, canvas.pixels, rim=(70, 70, 84), width=0.25)
    canvas.stamp(image, 11 + dx, 36 + dy)


def montage(canvas: Canvas, name: str, rng: np.random.Generator) -> None:
    """Paste something where it cannot be: in the sky at the right, with a hard rim."""
    rim = _RIMS[int(rng.integers(len(_RIMS)))]
    dx, dy = rng.uniform(-0.8, 0.8, 2).tolist()
    size, (x, y) = _MONTAGES[name]
    image = cut_out_drawing(name, round(size * canvas.pixels), rim, 1.2)
    canvas.stamp(image, x + dx, y + dy)
