"""What happens in a picture.

The scene of each topic, and its things that are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
    cut_out,
    mix,
    scatter,
)
from verite.newsroom.world import Event

__all__ = ["scene", "things"]

_VARIANTS = 5  # looks of the same thing
_WATER: Colour = (176, 214, 222)


def scene(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Paint what the topic brings, behind its things."""
    _SCENES[event.topic](canvas, rng)


def things(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Put 1, 3 or 5 things of the topic in a row, left of the mayor."""
    moves, variants = rng.uniform(-0.3, 0.3, (5, 2)), rng.integers(_VARIANTS, size=5)
    gap = {1: 0.0, 3: 11.5, 5: 8.8}[event.count]
    middle = 21.6 + rng.uniform(-0.5, 0.5)
    for thing in range(event.count):
        x, y = (
            middle + gap * (thing - (event.count - 1) / 2),
            47 - 2.4 * (thing % 2),
        )  # staggered, to be counted easily
        dx, dy = moves[thing].tolist()
        canvas.stamp(
            _thing(event.topic, int(variants[thing]), canvas.pixels), x + dx, y + dy
        )


@lru_cache(maxsize=64)
def _thing(topic: str, variant: int, pixels: int) -> CutOut:
    return cut_out(
        lambda canvas, x, y: _THINGS[topic](canvas, x, y, variant),
        pixels,
        rim=(40, 30, 40),
        width=0.35,
    )


# Scenes


def _protest(canvas: Canvas, rng: np.random.Generator) -> None:
    x = 24 + rng.uniform(-2, 2)  # a long banner between two poles
    for pole in (x - 16, x + 16):
        canvas.line((70, 50, 40), (pole, 26), (pole, 43), width=1)
    canvas.shape(
        RED,
        (x - 16, 26.5),
        (x, 27.8),
        (x + 16, 26.5),
        (x + 16, 33),
        (x, 34.3),
        (x - 16, 33),
    )
    canvas.shape(
        (150, 20, 40),
        (x - 16, 32),
        (x, 33.3),
        (x + 16, 32),
        (x + 16, 33),
        (x, 34.3),
        (x - 16, 33),
    )
    for mark in range(6):  # writing, from afar
        left = x - 13.5 + 4.7 * mark
        canvas.box(left, 28.6, left + 3.2, 29.5, WHITE)
        canvas.box(left, 30.4, left + 2 + (mark % 3) * 0.6, 31.3, WHITE)


def _flood(canvas: Canvas, rng: np.random.Generator) -> None:
    canvas.fall(36.5, 64, (134, 168, 176), (66, 104, 124))
    for middle in (13, 34):  # houses up to their windows in the water
        x = middle + rng.uniform(-2, 2)
        canvas.box(x - 5, 31, x + 5, 37.6, (226, 200, 160))
        canvas.box(x + 3, 31, x + 5, 37.6, (190, 160, 130))
        canvas.shape(
            (150, 56, 44), (x - 6.6, 31.4), (x - 1, 26), (x + 1, 26), (x + 6.6, 31.4)
        )
        for window in (x - 3.4, x + 0.8):
            canvas.box(window, 33, window + 2.2, 36.6, (62, 70, 92))
        canvas.box(x - 5, 37.2, x + 5, 39.2, (110, 126, 126))
    for x, y in scatter(rng, 34, 2, 38.5, 62, 63):
        long = 1.2 + (y - 38) * 0.07
        canvas.line(
            _WATER, (x - long, y), (x - long / 2, y - 0.4), (x + long, y), width=0.4
        )


def _fire(canvas: Canvas, rng: np.random.Generator) -> None:
    x = 24 + rng.uniform(-3, 3)
    for step in range(8):  # smoke
        y = 22 - 2.6 * step
        puff = (58 + 8 * step,) * 3
        canvas.oval(
            x + 1.3 * step + rng.uniform(-1, 1),
            y,
            3.4 + 0.45 * step,
            3 + 0.4 * step,
            (*puff, 215),
        )
    canvas.glow(x, 29, 17, (255, 140, 40), 0.7)
    canvas.box(x - 10, 28, x + 10, 38.5, (104, 76, 66))
    for window in (-6.5, 0, 6.5):
        canvas.box(x + window - 1.7, 32, x + window + 1.7, 36.4, (255, 190, 60, 255))
    for flame in (-8.5, -5.1, -1.7, 1.7, 5.1, 8.5):
        height, lean = rng.uniform(8, 13), rng.uniform(-1.5, 1.5)
        for share, colour in (
            (1.0, (240, 84, 12, 255)),
            (0.68, (255, 158, 26, 255)),
            (0.36, (255, 232, 110, 255)),
        ):
            wide, top = 2.6 * share, 32 - height * share
            bend = (x + flame + lean * share, top)
            canvas.shape(
                colour,
                (x + flame - wide, 31),
                (x + flame - 0.5 * wide, top + 0.5 * height * share),
                bend,
                (x + flame + wide, 31),
            )
            canvas.oval(x + flame, 31, wide, 1.4 * share + 0.4, colour)


def _match(canvas: Canvas, rng: np.random.Generator) -> None:
    for stripe in range(-4, 4):  # a mown pitch that runs towards the eye
        far, near = 8 * stripe, 15 * stripe
        canvas.shape(
            (50, 156, 66) if stripe % 2 else (72, 178, 84),
            (32 + far, 36),
            (40 + far, 36),
            (47 + near, 64),
            (32 + near, 64),
        )
    canvas.line(WHITE, (0, 37), (64, 37), width=0.8)
    canvas.line(WHITE, (0, 49.5), (64, 49.5), width=0.6)
    x = 24 + rng.uniform(-3, 3)  # a goal
    canvas.box(x - 13, 25, x + 13, 37, (255, 255, 255, 60))
    for mesh in range(11):
        canvas.line(
            (232, 236, 240),
            (x - 13 + 2.6 * mesh, 25),
            (x - 13 + 2.6 * mesh, 37),
            width=0.3,
        )
    for y in (27.4, 29.8, 32.2, 34.6):
        canvas.line((232, 236, 240), (x - 13, y), (x + 13, y), width=0.3)
    for corner in (
        ((x - 13, 37.4), (x - 13, 25)),
        ((x - 13.5, 25), (x + 13.5, 25)),
        ((x + 13, 25), (x + 13, 37.4)),
    ):
        canvas.line(WHITE, *corner, width=1.2)


def _festival(canvas: Canvas, rng: np.random.Generator) -> None:
    canvas.shape((110, 62, 140), (4, 39), (8, 35), (40, 35), (44, 39))  # a stage
    canvas.box(4, 39, 44, 42.5, (78, 40, 106))
    for post in (6, 41):
        canvas.box(post, 21, post + 1, 39, (88, 82, 100))
    canvas.box(5.5, 20.5, 42.5, 22, (88, 82, 100))
    for lamp in range(5):
        colour = BRIGHT[lamp]
        canvas.shape(
            (*colour, 70),
            (9 + 7.5 * lamp, 23),
            (4.5 + 7.5 * lamp, 36),
            (13.5 + 7.5 * lamp, 36),
        )
        canvas.oval(9 + 7.5 * lamp, 22.8, 1.1, 1.1, (*colour, 255))
    for speaker in (9, 36):
        canvas.box(speaker, 29.5, speaker + 4, 36, BLACK)
        canvas.oval(speaker + 2, 33.6, 1.5, 1.5, (90, 90, 100))
        canvas.oval(speaker + 2, 31, 0.8, 0.8, (90, 90, 100))
    shift = int(rng.integers(5))
    for pennant in range(13):  # bunting across the picture
        x = 2.5 + 5 * pennant
        y = 17 + 4 * (1 - ((pennant - 6) / 6) ** 2)
        canvas.shape(
            BRIGHT[(shift + pennant) % 5], (x - 1.9, y), (x + 1.9, y), (x, y + 3.8)
        )


def _market(canvas: Canvas, rng: np.random.Generator) -> None:
    for row in range(5):  # paving
        y, high = 36 + 2.6 * row, 2.3
        canvas.box(0, y, 64, y + 2.6, (180, 132, 96))
        for brick in range(10):
            x = 7 * brick - (3.5 if row % 2 else 0)
            canvas.box(x, y, x + 6.5, y + high, (208, 160, 118))
    x = 24 + rng.uniform(-2, 2)  # the weigh house, with scales on its front
    canvas.box(x - 14, 28, x + 14, 37.5, (236, 214, 176))
    canvas.shape(
        (176, 84, 58), (x - 16, 28.5), (x - 12, 23.5), (x + 12, 23.5), (x + 16, 28.5)
    )
    for arch in (-10, -5, 5, 10):
        canvas.box(x + arch - 1.7, 31.6, x + arch + 1.7, 37.5, (112, 80, 66))
        canvas.oval(x + arch, 31.6, 1.7, 1.7, (112, 80, 66))
    canvas.line((60, 50, 60), (x - 2.4, 31), (x + 2.4, 31), width=0.6)
    canvas.line((60, 50, 60), (x, 30), (x, 37), width=0.6)
    for pan in (-2.2, 2.2):
        canvas.shape(
            (60, 50, 60), (x + pan - 1.3, 33), (x + pan + 1.3, 33), (x + pan, 34.6)
        )


# Things: the point they are given lies in the middle of their lower edge


def _placard(canvas: Canvas, x: float, y: float, variant: int) -> None:
    canvas.line((130, 92, 56), (x, y - 4), (x, y + 3), width=0.9)
    canvas.box(x - 3.9, y - 11, x + 3.9, y - 1.6, (255, 232, 80))
    canvas.box(x - 3.9, y - 2.4, x + 3.9, y - 1.6, (226, 190, 50))
    canvas.shape(
        BLACK,
        (x - 1, y - 9.8),
        (x + 1, y - 9.8),
        (x + 0.5, y - 5.4),
        (x - 0.5, y - 5.4),
    )
    canvas.box(x - 0.7, y - 4.5, x + 0.7, y - 3.2, BLACK)


def _boat(canvas: Canvas, x: float, y: float, variant: int) -> None:
    canvas.shape(
        (255, 112, 20),
        (x - 3.8, y - 4.2),
        (x + 4, y - 4.6),
        (x + 2.9, y - 0.4),
        (x - 3.2, y - 0.4),
    )
    canvas.shape(
        (206, 76, 16),
        (x - 3.4, y - 2),
        (x + 3.3, y - 2),
        (x + 2.9, y - 0.4),
        (x - 3.2, y - 0.4),
    )
    canvas.line(WHITE, (x - 3.5, y - 3.3), (x + 3.6, y - 3.5), width=0.7)
    canvas.box(x - 2.2, y - 8, x + 1.4, y - 4.4, WHITE)
    canvas.box(x - 1.5, y - 7.2, x + 0.8, y - 5.6, (60, 96, 130))
    canvas.oval(x + 2.7, y - 5.4, 1.2, 1.2, RED)  # a lifebelt
    canvas.oval(x + 2.7, y - 5.4, 0.5, 0.5, WHITE)
    canvas.line((60, 60, 70), (x - 1.4, y - 8), (x - 1.4, y - 10), width=0.4)


def _engine(canvas: Canvas, x: float, y: float, variant: int) -> None:
    canvas.box(x - 3.7, y - 6.6, x + 3.7, y - 1.2, (226, 28, 34))
    canvas.box(x - 3.7, y - 2.2, x + 3.7, y - 1.2, (168, 18, 32))
    canvas.box(x + 1.5, y - 7.4, x + 3.7, y - 3, (226, 28, 34))
    canvas.box(x + 2.1, y - 6.6, x + 3.7, y - 4.6, (200, 230, 244))
    canvas.box(x - 3.7, y - 4, x + 3.7, y - 3.2, WHITE)
    canvas.line((214, 214, 220), (x - 3.8, y - 8), (x + 1.4, y - 7), width=0.9)
    canvas.box(x + 2.3, y - 8.5, x + 3.6, y - 7.4, (60, 130, 255))
    for wheel in (-2.1, 2.1):
        canvas.oval(x + wheel, y - 0.9, 1.4, 1.4, BLACK)
        canvas.oval(x + wheel, y - 0.9, 0.5, 0.5, (190, 190, 200))


def _football(canvas: Canvas, x: float, y: float, variant: int) -> None:
    y -= 4
    canvas.oval(x, y, 3.9, 3.9, WHITE)
    canvas.oval(x, y, 1.3, 1.3, BLACK)
    for fifth in range(5):
        angle = variant * 0.25 + fifth * math.pi * 2 / 5
        dx, dy = math.cos(angle), math.sin(angle)
        canvas.line(BLACK, (x + dx, y + dy), (x + 2.6 * dx, y + 2.6 * dy), width=0.4)
        canvas.oval(x + 3 * dx, y + 3 * dy, 0.85, 0.85, BLACK)


def _balloon(canvas: Canvas, x: float, y: float, variant: int) -> None:
    colour = (232, 40, 110)
    y -= 8 + 0.5 * variant
    canvas.line(
        (70, 60, 70),
        (x, y + 5),
        (x + 0.4 * (variant - 2), y + 8),
        (x, y + 11),
        width=0.4,
    )
    canvas.shape(colour, (x - 1.1, y + 5.6), (x + 1.1, y + 5.6), (x, y + 3.8))
    canvas.oval(x, y, 3.8, 4.6, mix(colour, BLACK, 0.2))
    canvas.oval(x - 0.3, y - 0.3, 3.4, 4.2, colour)
    canvas.oval(x - 1.4, y - 1.8, 0.9, 1.3, (255, 196, 218))


def _stall(canvas: Canvas, x: float, y: float, variant: int) -> None:
    for post in (x - 3.2, x + 3.2):
        canvas.line((96, 66, 44), (post, y - 9), (post, y), width=0.8)
    canvas.box(x - 3, y - 8, x + 3, y - 4, (92, 70, 62))
    canvas.box(x - 3.6, y - 3.8, x + 3.6, y, (166, 110, 62))
    canvas.box(x - 3.6, y - 1.2, x + 3.6, y, (136, 88, 52))
    for stripe in range(5):
        left = x - 3.75 + 1.5 * stripe
        colour = (28, 140, 88) if stripe % 2 == 0 else WHITE
        canvas.box(left, y - 10.8, left + 1.5, y - 7.6, colour)
        canvas.oval(left + 0.75, y - 7.6, 0.8, 0.8, colour)
    for place, fruit in enumerate((-2.5, -0.8, 0.8, 2.5)):
        canvas.oval(
            x + fruit,
            y - 4.2,
            0.95,
            0.95,
            ((240, 150, 30), RED, (170, 210, 60))[(place + variant) % 3],
        )


_SCENES: dict[str, Callable[[Canvas, np.random.Generator], None]] = {
    "protest": _protest,
    "flood": _flood,
    "fire": _fire,
    "match": _match,
    "festival": _festival,
    "market": _market,
}
_THINGS: dict[str, Callable[[Canvas, float, float, int], None]] = {
    "protest": _placard,
    "flood": _boat,
    "fire": _engine,
    "match": _football,
    "festival": _balloon,
    "market": _stall,
}
