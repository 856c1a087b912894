"""Sky, landscape, ground, trees, rain and snow of a picture."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from verite.newsroom.canvas import (
    HORIZON,
    RED,
    WHITE,
    Canvas,
    Colour,
    Paint,
    mix,
    scatter,
)
from verite.newsroom.world import Event

__all__ = ["LIGHT", "falling", "fog", "ground", "landscape", "litter", "sky", "trees"]

_SNOW: Colour = (240, 245, 251)
LIGHT: dict[str, tuple[Colour, float]] = {
    "morning": (WHITE, 0.0),
    "evening": ((190, 70, 50), 0.24),
    "night": ((8, 14, 58), 0.56),
}
"""Colour of the light that falls on everything below the sky, and how strong it is."""

# Top and bottom of the sky, clear and overcast.
_SKIES: dict[str, tuple[Colour, Colour]] = {
    "morning": ((74, 158, 236), (206, 234, 252)),
    "evening": ((92, 56, 140), (255, 158, 84)),
    "night": ((8, 12, 40), (38, 50, 108)),
}
_OVERCAST: dict[str, tuple[Colour, Colour]] = {
    "morning": ((146, 156, 168), (206, 213, 220)),
    "evening": ((104, 82, 118), (242, 150, 98)),
    "night": ((20, 23, 42), (48, 54, 80)),
}
_FOG: dict[str, Colour] = {
    "morning": (222, 228, 232),
    "evening": (226, 180, 158),
    "night": (84, 92, 116),
}
_LAMP = {"morning": 0.0, "evening": 0.35, "night": 0.7}  # share of windows that are lit
_LAMPLIGHT: Paint = (255, 220, 120, 255)
# The ground at the horizon and at the lower edge.
_GROUND: dict[str, tuple[Colour, Colour]] = {
    "city": ((176, 176, 184), (132, 132, 142)),
    "harbour": ((222, 196, 148), (190, 156, 106)),
    "mountain": ((142, 152, 116), (104, 116, 88)),
    "valley": ((166, 200, 96), (116, 160, 66)),
}
_CROWNS: dict[str, Colour] = {
    "spring": (246, 164, 200),
    "summer": (44, 134, 56),
    "autumn": (226, 116, 26),
}
# What the season makes of the ground.
_TINTS: dict[str, Colour] = {
    "winter": (150, 156, 170),
    "spring": (150, 210, 120),
    "summer": (232, 206, 96),
    "autumn": (184, 118, 50),
}
_TRUNK: Colour = (86, 58, 42)


def sky(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Fill the canvas with sky.

    Sun, moon and stars where it is clear, clouds where something falls.
    """
    upper, lower = (_SKIES if event.weather == "clear" else _OVERCAST)[event.time]
    canvas.fall(0, HORIZON, upper, lower)
    x, y = rng.uniform(49, 54), rng.uniform(7, 10)
    stars, clouds = scatter(rng, 18, 34, 1, 63, 24), scatter(rng, 5, 26, 2, 66, 8)
    if event.weather == "clear":
        if event.time == "night":
            for index, (sx, sy) in enumerate(stars):
                canvas.oval(
                    sx,
                    sy,
                    0.35 + 0.15 * (index % 2),
                    0.35 + 0.15 * (index % 2),
                    (255, 255, 225),
                )
            canvas.glow(x, y, 13, (220, 224, 255), 0.35)
            turns = np.linspace(-0.5 * math.pi, 0.5 * math.pi, 12)
            outer = [
                (x + 4.8 * math.cos(turn), y + 4.8 * math.sin(turn)) for turn in turns
            ]
            inner = [
                (x + 1.8 * math.cos(turn), y + 4.8 * math.sin(turn))
                for turn in turns[::-1]
            ]
            canvas.shape((248, 242, 206), *outer, *inner)
        elif event.time == "morning":
            canvas.glow(x, y, 15, (255, 248, 200), 0.8)
            canvas.oval(x, y, 4.8, 4.8, (255, 226, 66))
        else:
            canvas.glow(x, y + 9, 20, (255, 196, 110), 0.8)
            canvas.oval(x, y + 9, 6.4, 6.4, (255, 92, 52))
    elif event.weather != "foggy":
        # Rain clouds are dark, snow clouds bright.
        colour = (
            mix(upper, (36, 40, 54), 0.55)
            if event.weather == "rainy"
            else mix(upper, (236, 240, 247), 0.55)
        )
        for cx, cy in clouds:
            for dx, dy, rx, ry in (
                (0, 0, 9, 3.4),
                (-3, -2, 4.4, 3.4),
                (3.4, -2.6, 5.2, 3.8),
            ):
                canvas.oval(
                    cx + dx, cy + dy, rx, ry, mix(colour, WHITE, 0.1) if dy else colour
                )


def landscape(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Paint what stands at the horizon."""
    _SETTINGS[event.setting](canvas, event, rng)


def _city(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    haze = mix((112, 122, 150), (255, 255, 255), 0.25)
    left = -2.0
    while left < 64:  # towers far away
        width, height = rng.uniform(4, 7), rng.uniform(13, 25)
        canvas.box(left, HORIZON - height, left + width, HORIZON, haze)
        if height > 21:
            canvas.line(
                haze,
                (left + width / 2, HORIZON - height),
                (left + width / 2, HORIZON - height - 4),
                width=0.5,
            )
        left += width + rng.uniform(0, 2)
    left = -1.0
    while left < 64:  # houses
        width, height = (
            float(rng.integers(3, 6)) * 2 + 0.8,
            float(rng.integers(4, 8)) * 2.6 + 1,
        )
        wall = _WALLS[rng.integers(len(_WALLS))]
        lit = (rng.random((8, 5)) < _LAMP[event.time]).tolist()
        top = HORIZON - height
        canvas.box(left, top, left + width, HORIZON, wall)
        canvas.box(
            left + width - 1, top, left + width, HORIZON, mix(wall, (40, 40, 70), 0.3)
        )
        canvas.box(
            left - 0.3,
            top - 0.8,
            left + width + 0.3,
            top + 0.2,
            _roof(event, mix(wall, (40, 40, 60), 0.5)),
        )
        for row in range(int(height / 2.6)):
            for column in range(int((width - 0.8) / 2)):
                wx, wy = left + 0.8 + 2 * column, top + 1 + 2.6 * row
                canvas.box(
                    wx,
                    wy,
                    wx + 1.1,
                    wy + 1.5,
                    _LAMPLIGHT if lit[row][column] else (72, 88, 116),
                )
        left += width + rng.uniform(0, 0.8)


_WALLS: tuple[Colour, ...] = (
    (186, 118, 96),
    (212, 188, 150),
    (142, 152, 174),
    (196, 166, 146),
    (126, 140, 158),
)


def _harbour(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    canvas.fall(23.5, HORIZON, (74, 150, 200), (20, 92, 150))
    for x, y in scatter(rng, 22, 1, 25, 63, 33):
        long = 0.8 + (y - 24) * 0.22
        canvas.line((136, 196, 230), (x - long, y), (x + long, y), width=0.4)
    x = rng.uniform(23, 28)  # a sailing ship
    canvas.line((92, 58, 42), (x, 10.5), (x, 28), width=0.7)
    canvas.shape(WHITE, (x + 0.7, 11), (x + 0.7, 26), (x + 7.5, 26))
    canvas.shape((226, 228, 236), (x - 0.7, 13.5), (x - 0.7, 26), (x - 6.6, 26))
    canvas.shape((122, 62, 42), (x - 8, 27), (x + 8.5, 27), (x + 5, 31), (x - 5.4, 31))
    canvas.line(WHITE, (x - 7.2, 28), (x + 7.4, 28), width=0.6)
    x = rng.uniform(40, 42.5)  # a lighthouse on its rock
    canvas.shape(
        (110, 106, 112),
        (x - 7, HORIZON),
        (x - 4, 30.5),
        (x + 4, 30),
        (x + 7.5, HORIZON),
    )
    for band in range(5):
        low, high = 2.9 - 0.2 * band, 2.7 - 0.2 * band
        bottom = 31 - 3.4 * band
        canvas.shape(
            WHITE if band % 2 else RED,
            (x - low, bottom),
            (x + low, bottom),
            (x + high, bottom - 3.4),
            (x - high, bottom - 3.4),
        )
        canvas.shape(
            (0, 0, 40, 50),
            (x + 0.8, bottom),
            (x + low, bottom),
            (x + high, bottom - 3.4),
            (x + 0.8, bottom - 3.4),
        )
    if event.time != "morning":
        canvas.glow(x, 12.4, 9, (255, 236, 150), 0.6)
    canvas.box(
        x - 1.8,
        10.8,
        x + 1.8,
        14,
        (255, 234, 130) if event.time == "morning" else _LAMPLIGHT,
    )
    canvas.shape(RED, (x - 2.6, 10.8), (x + 2.6, 10.8), (x, 7.8))


def _mountain(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    for middle, height, shade in (
        (60, 22, 34),
        (12, 20, 26),
        (50, 19, 14),
        (38, 28, 0),
    ):
        x = middle + rng.uniform(-2, 2)
        half, top = height * 0.8, HORIZON - height
        rock = (92 + shade, 90 + shade, 112 + shade)
        canvas.shape(rock, (x - half, HORIZON), (x, top), (x + half, HORIZON))
        canvas.shape(
            mix(rock, (40, 40, 80), 0.3),
            (x, top),
            (x + half, HORIZON),
            (x + 0.25 * half, HORIZON),
            (x - 1.5, top + 8),
        )
        deep = 0.62 if event.weather == "snowy" else 0.34
        edge, snow = top + deep * height, deep * half
        canvas.shape(
            WHITE,
            (x - snow, edge),
            (x, top),
            (x + snow, edge),
            (x + 0.4 * snow, edge - 2),
            (x, edge + 1.5),
            (x - 0.5 * snow, edge - 2),
        )
        canvas.shape(
            (206, 214, 232),
            (x, top),
            (x + snow, edge),
            (x + 0.4 * snow, edge - 2),
            (x, edge - 1),
        )
    for x in (*rng.uniform(1, 20, 3), *rng.uniform(40, 63, 3)):  # firs
        for tier in range(3):
            y = HORIZON - 1.5 * tier
            canvas.shape(
                _SNOW if event.weather == "snowy" and tier else (38, 84, 62),
                (x - 2 + 0.4 * tier, y),
                (x, y - 3),
                (x + 2 - 0.4 * tier, y),
            )
    x = rng.uniform(24, 32)  # a chalet
    canvas.box(x - 4, 29, x + 4, HORIZON, (132, 84, 52))
    canvas.shape(
        _roof(event, (96, 48, 38)), (x - 5.6, 29.4), (x, 24.6), (x + 5.6, 29.4)
    )
    for window in (x - 2.4, x + 0.8):
        canvas.box(
            window,
            30.3,
            window + 1.6,
            32,
            (84, 96, 112) if event.time == "morning" else _LAMPLIGHT,
        )


def _valley(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    green = (206, 218, 228) if event.weather == "snowy" else (102, 160, 76)
    for middle, y, shade in ((8, 3, 0.0), (56, 2, 0.12), (30, 5, 0.24)):
        x = middle + rng.uniform(-3, 3)
        slope = mix(
            green, (238, 232, 130) if event.weather != "snowy" else WHITE, shade * 1.5
        )
        canvas.oval(x, HORIZON + y, 25, 12, slope)
        for row in range(3):  # hedges
            canvas.line(
                mix(slope, (40, 80, 40), 0.3),
                (x - 12 + 3 * row, HORIZON - 5 + 2 * row),
                (x + 11 - row, HORIZON - 6 + 2 * row),
                width=0.5,
            )
    x = rng.uniform(24, 30)  # a barn and a windmill
    canvas.box(x - 5, 27, x + 5, HORIZON, (178, 48, 40))
    canvas.box(x + 3, 27, x + 5, HORIZON, (142, 38, 40))
    canvas.shape(
        _roof(event, (98, 44, 42)),
        (x - 6, 27.4),
        (x - 3.4, 22.6),
        (x + 3.4, 22.6),
        (x + 6, 27.4),
    )
    canvas.box(x - 1.9, 29.4, x + 1.9, HORIZON, WHITE)
    canvas.line((178, 48, 40), (x - 1.6, 29.7), (x + 1.6, 33.7), width=0.5)
    canvas.box(
        x - 0.8,
        24.2,
        x + 0.8,
        25.8,
        (84, 40, 40) if event.time == "morning" else _LAMPLIGHT,
    )
    x = rng.uniform(40, 42.5)
    canvas.shape(
        (240, 230, 208),
        (x - 3, HORIZON),
        (x - 1.7, 18.5),
        (x + 1.7, 18.5),
        (x + 3, HORIZON),
    )
    canvas.shape(
        (204, 190, 170),
        (x + 0.6, HORIZON),
        (x + 0.6, 18.5),
        (x + 1.7, 18.5),
        (x + 3, HORIZON),
    )
    canvas.shape(
        _roof(event, (150, 66, 48)), (x - 2.2, 18.7), (x, 15.4), (x + 2.2, 18.7)
    )
    canvas.box(
        x - 0.8,
        23.5,
        x + 0.8,
        25.5,
        (90, 90, 100) if event.time == "morning" else _LAMPLIGHT,
    )
    turn = rng.uniform(0.2, math.pi / 2 - 0.2)
    for quarter in range(4):
        angle = turn + quarter * math.pi / 2
        dx, dy = math.cos(angle), math.sin(angle)
        hub, tip = (x + 2 * dx, 19 + 2 * dy), (x + 9 * dx, 19 + 9 * dy)
        canvas.shape(
            (250, 244, 226),
            hub,
            tip,
            (tip[0] - 2 * dy, tip[1] + 2 * dx),
            (hub[0] - 2 * dy, hub[1] + 2 * dx),
        )
        canvas.line((92, 62, 44), (x, 19), tip, width=0.7)


def _roof(event: Event, colour: Colour) -> Colour:
    return _SNOW if event.weather == "snowy" else colour


def ground(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Lay the ground, down to the lower edge."""
    near, far = (
        ((250, 252, 255), (206, 218, 236))
        if event.weather == "snowy"
        else _GROUND[event.setting]
    )
    if event.weather != "snowy":
        near, far = (mix(colour, _TINTS[event.season], 0.28) for colour in (near, far))
    canvas.fall(HORIZON, 64, near, far)
    line = mix(far, (50, 50, 60), 0.12)
    if event.setting in ("city", "harbour"):  # slabs, planks
        for y in (36, 39.5, 44.5, 51.5, 60):
            canvas.line(line, (0, y), (64, y), width=0.4)
        if event.setting == "city":
            for slab in range(-6, 7):
                canvas.line(
                    line, (32 + 6 * slab, HORIZON), (32 + 14 * slab, 64), width=0.4
                )
    elif event.setting == "valley":  # furrows
        for furrow in range(-7, 8):
            canvas.line(
                line, (32 + 5 * furrow, HORIZON), (32 + 15 * furrow, 64), width=0.6
            )
    else:  # stones
        for x, y in scatter(rng, 16, 0, 36, 64, 63):
            canvas.oval(x, y, 1.6, 0.9, line)


def litter(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Strew what the season and the weather leave on the ground.

    Petals, leaves, puddles, drifts of snow.
    """
    spots = scatter(rng, 44, 1, 37, 63, 63)
    dry = event.topic != "flood"
    if event.weather == "snowy" and dry:
        for x, y in spots[26:]:
            canvas.oval(x, y, 3.2, 0.9, _SNOW)
    elif event.weather == "rainy" and dry:
        for x, y in spots[26:33]:
            canvas.oval(x, y, 4.6, 1.2, (96, 120, 150))
            canvas.oval(x - 0.6, y - 0.2, 3, 0.6, (140, 164, 190))
    if event.season in ("spring", "autumn"):
        for x, y in spots[:26]:
            canvas.oval(x, y, 0.9, 0.6, _CROWNS[event.season])


def trees(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Plant two trees at the edges and small ones at the horizon, as the season has
    them.
    """
    for x in rng.uniform((13, 32), (20, 36)).tolist():
        _tree(canvas, event, x, HORIZON + 2.5, 0.42)
    _tree(canvas, event, 3.5 + rng.uniform(-1, 1), 43, 1)
    _tree(canvas, event, 60.5 + rng.uniform(-1, 1), 43, 1)


def _tree(canvas: Canvas, event: Event, x: float, foot: float, size: float) -> None:
    def at(dx: float, dy: float) -> tuple[float, float]:
        return x + size * dx, foot + size * dy

    canvas.shape(_TRUNK, at(-1.5, 0), at(-0.7, -15), at(0.7, -15), at(1.5, 0))
    if event.season == "winter":
        for dx, start, end in (
            (-5, -11, -19),
            (5, -11, -19),
            (-3, -14, -23),
            (3.4, -14, -23),
            (0, -13, -24.5),
        ):
            canvas.line(_TRUNK, at(0, start), at(dx, end), width=1 * size)
            if event.weather == "snowy":
                canvas.line(
                    _SNOW,
                    at(0.3 * dx, start - 3.2),
                    at(dx, end - 0.6),
                    width=0.6 * size,
                )
        return
    crown = _CROWNS[event.season]
    for dx, dy, radius in ((0.0, -21.0, 5.0), (-2.8, -16.0, 4.2), (2.8, -16.0, 4.2)):
        canvas.oval(
            *at(dx, dy), radius * size, radius * size, mix(crown, (30, 20, 60), 0.22)
        )
    for dx, dy, radius in ((-0.6, -21.6, 4), (-3.3, -16.6, 3.3), (2.3, -16.6, 3.3)):
        canvas.oval(*at(dx, dy), radius * size, radius * size, crown)
    for dx, dy in ((-1.8, -23.4), (-4.8, -17.2), (2, -17.4)):
        canvas.oval(
            *at(dx, dy),
            1.6 * size,
            1.2 * size,
            _SNOW if event.weather == "snowy" else mix(crown, WHITE, 0.35),
        )


def fog(canvas: Canvas, event: Event) -> None:
    """Let fog lie over all that is painted so far."""
    if event.weather == "foggy":
        canvas.veil(_FOG[event.time], 0.66, top=2, bottom=28)


def falling(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Let it rain or snow."""
    drops = scatter(rng, 70, 0, 0, 66, 63)
    if event.weather == "rainy":
        for x, y in drops:
            canvas.line((190, 214, 242, 210), (x, y), (x - 1.2, y + 3.8), width=0.35)
    elif event.weather == "snowy":
        for index, (x, y) in enumerate(drops):
            canvas.oval(
                x, y, 0.5 + 0.2 * (index % 3), 0.5 + 0.2 * (index % 3), (255, 255, 255)
            )


_SETTINGS: dict[str, Callable[[Canvas, Event, np.random.Generator], None]] = {
    "city": _city,
    "harbour": _harbour,
    "mountain": _mountain,
    "valley": _valley,
}
