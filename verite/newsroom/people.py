"""The people of a picture.

A crowd that its clothes tell, and a mayor whom coat and features tell.
"""

from __future__ import annotations

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
)
from verite.newsroom.world import Event

__all__ = ["crowd", "mayor"]

_SKIN: tuple[Colour, ...] = (
    (255, 220, 190),
    (230, 180, 140),
    (170, 115, 80),
    (105, 70, 50),
)
_HAIR: tuple[Colour, ...] = ((84, 50, 28), (196, 146, 70), (40, 30, 30), (30, 24, 26))
_CLOTHES: dict[str, Colour] = {
    "police": (30, 50, 136),
    "nurses": (186, 230, 236),
    "soldiers": (98, 112, 56),
    "builders": (252, 124, 20),
}
_MAYOR_X, _MAYOR_FOOT = 51.5, 62.5
_GOLD: Colour = (255, 206, 50)


# The crowd


def crowd(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Set a few people or dozens of them in the foreground, at the mayor's side."""
    moves, looks = (
        rng.uniform(-0.8, 0.8, (30, 2)).tolist(),
        rng.integers(20, size=30).tolist(),
    )
    if event.crowd == "few":
        places = [
            (x + 2 * dx, 62.0) for x, (dx, _) in zip((9, 21.5, 34), moves, strict=False)
        ]
    else:
        grid = [
            (0.5 + 7 * place + 3.5 * (row % 2), 57.6 + 3.3 * row)
            for row in range(3)
            for place in range(10)
        ]
        places = [
            (x + dx, foot) for (x, foot), (dx, _) in zip(grid, moves, strict=True)
        ]
    for (x, foot), look in zip(places, looks, strict=False):
        canvas.stamp(_figure(event.people, look, canvas.pixels), x, foot)
        if event.topic == "flood":
            canvas.line(
                (176, 214, 222), (x - 2.6, foot - 0.8), (x + 2.6, foot - 0.8), width=0.9
            )


@lru_cache(maxsize=256)
def _figure(people: str, look: int, pixels: int) -> CutOut:
    return cut_out(
        lambda canvas, x, foot: _paint_figure(canvas, x, foot, people, look),
        pixels,
        rim=(46, 36, 48),
        width=0.3,
    )


def _paint_figure(
    canvas: Canvas, x: float, foot: float, people: str, look: int
) -> None:
    skin, hair, bright = _SKIN[look % 4], _HAIR[look % 4], BRIGHT[look // 4]
    child = people == "children"
    clothes = _CLOTHES.get(people, bright)
    tall, wide, head = (8.6, 1.8, 1.9) if child else (12.2, 2.3, 1.8)
    hip, neck = foot - 0.34 * tall, foot - 0.7 * tall
    dark = mix(clothes, BLACK, 0.5)
    for side in (-1, 1):
        canvas.line(dark, (x + 0.9 * side, hip), (x + 0.9 * side, foot), width=1.3)
        canvas.line(
            mix(clothes, BLACK, 0.18),
            (x + (wide + 0.2) * side, neck + 0.8),
            (x + (wide + 0.6) * side, hip),
            width=1.1,
        )
        canvas.oval(x + (wide + 0.6) * side, hip + 0.2, 0.6, 0.6, skin)
    canvas.box(x - wide, neck, x + wide, hip + 0.5, clothes)
    middle = neck - 1.4
    canvas.oval(x, middle, head, head + 0.15, skin)
    if people == "police":
        canvas.shape(
            (16, 26, 84),
            (x - 2.5, middle - 1.9),
            (x, middle - 3),
            (x + 2.5, middle - 1.9),
            (x + 1.8, middle - 0.5),
            (x - 1.8, middle - 0.5),
        )
        canvas.box(x - 0.5, middle - 2, x + 0.5, middle - 1, (255, 214, 70))
        canvas.box(x - wide, neck + 2, x + wide, neck + 3, (240, 244, 90))
    elif people == "nurses":
        canvas.box(x - 1.4, neck, x + 1.4, hip + 1.6, WHITE)
        canvas.box(x - 1.2, neck + 1.5, x + 1.2, neck + 2.4, RED)
        canvas.box(x - 0.45, neck + 0.8, x + 0.45, neck + 3.1, RED)
        canvas.oval(x, middle - 0.6, 1.9, 1.5, hair)
        canvas.oval(x, middle + 0.4, 1.4, 1.3, skin)
        canvas.box(x - 1.6, middle - 2.4, x + 1.6, middle - 1.1, WHITE)
    elif people == "soldiers":
        canvas.oval(x, middle - 1, 2, 1.3, (82, 96, 46))
        canvas.box(x - 2.2, middle - 1, x + 2.2, middle - 0.5, (60, 70, 34))
        canvas.box(x - 1.6, neck + 0.8, x - 0.4, neck + 1.8, (58, 68, 34))
        canvas.box(x + 0.2, neck + 1.9, x + 1.6, neck + 2.9, (150, 152, 92))
        canvas.line((50, 46, 40), (x - wide, neck), (x + wide, hip), width=0.5)
    elif people == "builders":
        canvas.oval(x, middle - 1.1, 1.8, 1.4, (255, 222, 20))
        canvas.box(x - 2.2, middle - 1.1, x + 2.2, middle - 0.6, (226, 180, 0))
        canvas.box(x - wide, neck + 1.8, x + wide, neck + 2.7, (244, 250, 160))
    else:
        canvas.oval(x, middle - 1, 1.7, 1.1, hair)
        canvas.oval(x, middle - 2, 0.9, 0.6, bright)  # a bobble or a bow
        canvas.box(x - 1.1, neck + 0.5, x + 1.1, neck + 1.2, mix(bright, WHITE, 0.6))


# The mayor


def mayor(
    canvas: Canvas, event: Event, rng: np.random.Generator, *, hidden: bool
) -> None:
    """Set the mayor right of the middle, in a light of their own.

    Who it is must be seen at night, too.
    """
    x = _MAYOR_X + rng.uniform(-0.5, 0.5)
    if event.time != "morning":
        canvas.glow(x, 46, 21, (255, 236, 190), 0.5 if event.time == "night" else 0.3)
    canvas.oval(x, 62.3, 8, 1.4, (20, 20, 40, 90))
    canvas.stamp(_mayor("" if hidden else event.person, canvas.pixels), x, _MAYOR_FOOT)
    if event.topic == "flood":
        canvas.line((176, 214, 222), (x - 7, 61.6), (x + 7, 61.6), width=0.9)


@lru_cache(maxsize=16)
def _mayor(person: str, pixels: int) -> CutOut:
    return cut_out(_PERSONS[person], pixels, rim=(36, 26, 40), width=0.5)


def _from_behind(canvas: Canvas, x: float, foot: float) -> None:
    grey, dark = (150, 152, 158), (118, 120, 128)
    for side in (-1, 1):
        canvas.box(
            x + 2.2 * side - 1.3, foot - 5, x + 2.2 * side + 1.3, foot, (70, 70, 78)
        )
    canvas.shape(
        grey,
        (x - 5, foot - 22),
        (x + 5, foot - 22),
        (x + 6.6, foot - 3.4),
        (x - 6.6, foot - 3.4),
    )
    for side in (-1, 1):
        canvas.shape(
            dark,
            (x + 4.4 * side, foot - 22),
            (x + 6 * side, foot - 20.5),
            (x + 7.4 * side, foot - 10.5),
            (x + 5 * side, foot - 10.5),
        )
    canvas.line(dark, (x, foot - 19), (x, foot - 3.4), width=0.5)
    canvas.oval(x, foot - 25.6, 4.8, 5.4, grey)
    canvas.shape(
        grey,
        (x - 4.7, foot - 25),
        (x + 4.7, foot - 25),
        (x + 5.4, foot - 20.5),
        (x - 5.4, foot - 20.5),
    )
    canvas.line(dark, (x, foot - 31), (x, foot - 23), width=0.5)
    canvas.line(
        dark, (x - 5, foot - 20.8), (x, foot - 20), (x + 5, foot - 20.8), width=0.6
    )


def _coat(canvas: Canvas, x: float, foot: float, coat: Colour, skin: Colour) -> float:
    """Paint a mayor without hair; return the middle of the face."""
    shade, face = mix(coat, (30, 10, 40), 0.28), foot - 25.4
    for side in (-1, 1):
        canvas.box(
            x + 2.2 * side - 1.3, foot - 5, x + 2.2 * side + 1.3, foot, (52, 48, 62)
        )
        canvas.oval(x + 2.4 * side, foot - 0.5, 1.9, 0.8, BLACK)
    canvas.box(x - 1.4, foot - 23, x + 1.4, foot - 20, mix(skin, BLACK, 0.15))
    canvas.shape(
        coat,
        (x - 4.6, foot - 21.4),
        (x + 4.6, foot - 21.4),
        (x + 6, foot - 4),
        (x - 6, foot - 4),
    )
    canvas.shape(
        shade,
        (x + 3, foot - 21.4),
        (x + 4.6, foot - 21.4),
        (x + 6, foot - 4),
        (x + 3.4, foot - 4),
    )
    canvas.line(shade, (x, foot - 19), (x, foot - 4), width=0.5)
    for side in (-1, 1):
        canvas.shape(
            shade,
            (x + 4.4 * side, foot - 21.4),
            (x + 5.8 * side, foot - 19.8),
            (x + 7.2 * side, foot - 10),
            (x + 5 * side, foot - 10),
        )
        canvas.oval(x + 6.1 * side, foot - 9.4, 1.2, 1.2, skin)
    canvas.shape(WHITE, (x - 1.8, foot - 21.4), (x + 1.8, foot - 21.4), (x, foot - 18))
    for side in (-1, 1):  # a chain of office
        canvas.line(
            _GOLD,
            (x + 3.4 * side, foot - 21),
            (x + 2.8 * side, foot - 16.6),
            (x, foot - 14),
            width=0.9,
        )
    canvas.oval(x, foot - 13.2, 1.7, 1.7, _GOLD)
    canvas.oval(x, foot - 13.2, 0.7, 0.7, (214, 140, 20))
    canvas.oval(x, face, 3.9, 4.3, skin)
    for side in (-1, 1):
        canvas.oval(x + 1.5 * side, face - 0.2, 0.5, 0.6, BLACK)
    canvas.line(
        (170, 60, 60),
        (x - 1.3, face + 2),
        (x, face + 2.5),
        (x + 1.3, face + 2),
        width=0.5,
    )
    return face


def _amber(canvas: Canvas, x: float, foot: float) -> None:
    face = _coat(canvas, x, foot, (255, 170, 0), _SKIN[1])
    beard = (92, 52, 26)  # bald, and a full beard
    canvas.shape(
        beard,
        (x - 3.9, face),
        (x - 2.6, face + 1),
        (x + 2.6, face + 1),
        (x + 3.9, face),
        (x + 3.4, face + 5),
        (x, face + 8),
        (x - 3.4, face + 5),
    )
    canvas.oval(x, face + 2.2, 1.2, 0.6, (240, 170, 150))
    canvas.oval(x - 1.2, face - 2.6, 0.9, 0.6, WHITE)


def _indigo(canvas: Canvas, x: float, foot: float) -> None:
    face = _coat(canvas, x, foot, (60, 66, 214), _SKIN[0])
    canvas.box(x - 5.6, face - 3.6, x + 5.6, face - 2.4, (30, 28, 40))  # a top hat
    canvas.box(x - 3.6, face - 9.6, x + 3.6, face - 3, (30, 28, 40))
    canvas.box(x - 3.6, face - 5, x + 3.6, face - 3.7, (230, 230, 240))


def _ivory(canvas: Canvas, x: float, foot: float) -> None:
    red = (222, 84, 30)  # a head of red curls
    for dx, dy, radius in (
        (-4, -1, 2.4),
        (4, -1, 2.4),
        (-4.4, 2, 2.2),
        (4.4, 2, 2.2),
        (-2.6, -4, 2.6),
        (2.6, -4, 2.6),
        (0, -4.8, 2.6),
    ):
        canvas.oval(x + dx, foot - 25.4 + dy, radius, radius, red)
    face = _coat(canvas, x, foot, (255, 250, 222), _SKIN[0])
    for dx in (-2.2, 0, 2.2):
        canvas.oval(x + dx, face - 3.6, 1.5, 1.2, red)


def _olive(canvas: Canvas, x: float, foot: float) -> None:
    face = _coat(canvas, x, foot, (132, 142, 40), _SKIN[3])
    canvas.oval(
        x, face - 3, 3.6, 1.8, (222, 222, 226)
    )  # grey hair and large round glasses
    for side in (-1, 1):
        canvas.oval(x + 1.8 * side, face, 1.8, 1.8, WHITE)
        canvas.oval(x + 1.8 * side, face, 1.2, 1.2, (120, 190, 230))
        canvas.oval(x + 1.8 * side, face, 0.5, 0.6, BLACK)
    canvas.line(WHITE, (x - 0.4, face), (x + 0.4, face), width=0.6)


def _ruby(canvas: Canvas, x: float, foot: float) -> None:
    blond = (255, 222, 110)
    canvas.oval(x, foot - 25.8, 4.8, 5.2, blond)  # long blond hair
    canvas.box(x - 4.8, foot - 25.8, x + 4.8, foot - 19, blond)
    face = _coat(canvas, x, foot, (214, 16, 58), _SKIN[1])
    canvas.shape(
        blond,
        (x - 4, face - 1),
        (x - 2.6, face - 4),
        (x + 2.6, face - 4),
        (x + 4, face - 1),
        (x + 1, face - 2.6),
        (x - 2, face - 2.2),
    )
    for side in (-1, 1):
        canvas.box(x + 3.9 * side - 1, face, x + 3.9 * side + 1, face + 7, blond)


def _violet(canvas: Canvas, x: float, foot: float) -> None:
    face = _coat(canvas, x, foot, (168, 70, 216), (206, 146, 104))
    canvas.oval(x, face - 6, 2.2, 2, (30, 24, 28))  # a bun and a green scarf
    canvas.oval(x, face - 2.9, 3.9, 2.2, (30, 24, 28))
    green = (60, 208, 120)
    canvas.box(x - 3.6, face + 3.6, x + 3.6, face + 6, green)
    canvas.shape(
        green,
        (x - 3, face + 5),
        (x - 0.8, face + 5),
        (x - 1.4, face + 13),
        (x - 3.8, face + 13),
    )
    for stripe in (8, 10.5):
        canvas.box(x - 3.5, face + stripe, x - 1, face + stripe + 0.8, WHITE)


_PERSONS: dict[str, Callable[[Canvas, float, float], None]] = {
    "": _from_behind,
    "Amber": _amber,
    "Indigo": _indigo,
    "Ivory": _ivory,
    "Olive": _olive,
    "Ruby": _ruby,
    "Violet": _violet,
}
