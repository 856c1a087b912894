"""Sky, landscape, ground, trees, fog, rain and snow of an image."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from verite.newsroom.canvas import HORIZON, WHITE, Canvas, Colour, Paint, mix, scatter
from verite.newsroom.world import Event

__all__ = ["LIGHT", "falling", "fog", "ground", "landscape", "litter", "sky", "trees"]

LIGHT: dict[str, tuple[Colour, float]] = {
    "morning": (WHITE, 0.0),
    "evening": ((190, 70, 50), 0.24),
    "night": ((8, 14, 58), 0.56),
}
"""Colour of the light on everything below the sky, and its strength."""

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
_WALLS: tuple[Colour, ...] = (
    (186, 118, 96),
    (212, 188, 150),
    (142, 152, 174),
    (196, 166, 146),
    (126, 140, 158),
)
# The ground at the horizon and at the lower edge, and how the season tints it.
_GROUND: dict[str, tuple[Colour, Colour]] = {
    "city": ((176, 176, 184), (132, 132, 142)),
    "harbour": ((222, 196, 148), (190, 156, 106)),
    "mountain": ((142, 152, 116), (104, 116, 88)),
    "valley": ((166, 200, 96), (116, 160, 66)),
}
_TINTS: dict[str, Colour] = {
    "winter": (150, 156, 170),
    "spring": (150, 210, 120),
    "summer": (232, 206, 96),
    "autumn": (184, 118, 50),
}
_CROWNS: dict[str, Colour] = {
    "spring": (246, 164, 200),
    "summer": (44, 134, 56),
    "autumn": (226, 116, 26),
}
_SNOW: Colour = (240, 245, 251)
_TRUNK: Colour = (86, 58, 42)


def sky(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Fill the canvas with sky: sun, moon and stars, or clouds."""
    clear = event.weather == "clear"
    upper, lower = (_SKIES if clear else _OVERCAST)[event.time]
    canvas.gradient(0, HORIZON, upper, lower)
    x, y = rng.uniform(49, 54), rng.uniform(7, 10)
    stars, clouds = (
        scatter(rng, 18, (34, 1), (63, 24)),
        scatter(rng, 5, (26, 2), (66, 8)),
    )
    if clear and event.time == "night":
        for index, (star_x, star_y) in enumerate(stars):
            radius = 0.35 + 0.15 * (index % 2)
            canvas.oval(star_x, star_y, radius, radius, (255, 255, 225))
        canvas.glow(x, y, 13, (220, 224, 255), 0.35)
        turns = np.linspace(-0.5 * math.pi, 0.5 * math.pi, 12)
        crescent = [
            (x + radius * math.cos(turn), y + 4.8 * math.sin(turn))
            for radius, side in ((4.8, turns), (1.8, turns[::-1]))
            for turn in side
        ]
        canvas.shape((248, 242, 206), *crescent)
    elif clear and event.time == "morning":
        canvas.glow(x, y, 15, (255, 248, 200), 0.8)
        canvas.oval(x, y, 4.8, 4.8, (255, 226, 66))
    elif clear:
        canvas.glow(x, y + 9, 20, (255, 196, 110), 0.8)
        canvas.oval(x, y + 9, 6.4, 6.4, (255, 92, 52))
    elif event.weather != "foggy":
        # Rain clouds are dark, snow clouds bright.
        rain = event.weather == "rainy"
        colour = mix(upper, (36, 40, 54) if rain else (236, 240, 247), 0.55)
        for cloud_x, cloud_y in clouds:
            canvas.oval(cloud_x, cloud_y, 9, 3.4, colour)
            bright = mix(colour, WHITE, 0.1)
            canvas.oval(cloud_x - 3, cloud_y - 2, 4.4, 3.4, bright)
            canvas.oval(cloud_x + 3.4, cloud_y - 2.6, 5.2, 3.8, bright)


def landscape(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Paint the setting at the horizon."""
    _SETTINGS[event.setting](canvas, event, rng)


def _city(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    haze = mix((112, 122, 150), (255, 255, 255), 0.25)
    left = -2.0
    while left < 64:  # towers far away
        width, height = rng.uniform(4, 7), rng.uniform(13, 25)
        top, middle = HORIZON - height, left + width / 2
        canvas.box(left, top, left + width, HORIZON, haze)
        if height > 21:
            canvas.line(haze, (middle, top), (middle, top - 4), width=0.5)
        left += width + rng.uniform(0, 2)
    left = -1.0
    while left < 64:  # houses
        width = float(rng.integers(3, 6)) * 2 + 0.8
        height = float(rng.integers(4, 8)) * 2.6 + 1
        wall = _WALLS[rng.integers(len(_WALLS))]
        lit = (rng.random((8, 5)) < _LAMP[event.time]).tolist()
        top, right = HORIZON - height, left + width
        canvas.box(left, top, right, HORIZON, wall)
        canvas.box(right - 1, top, right, HORIZON, mix(wall, (40, 40, 70), 0.3))
        roof = _roof(event, mix(wall, (40, 40, 60), 0.5))
        canvas.box(left - 0.3, top - 0.8, right + 0.3, top + 0.2, roof)
        for row in range(int(height / 2.6)):
            for column in range(int((width - 0.8) / 2)):
                x, y = left + 0.8 + 2 * column, top + 1 + 2.6 * row
                paint = _LAMPLIGHT if lit[row][column] else (72, 88, 116)
                canvas.box(x, y, x + 1.1, y + 1.5, paint)
        left += width + rng.uniform(0, 0.8)


def _harbour(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    canvas.gradient(23.5, HORIZON, (74, 150, 200), (20, 92, 150))
    for x, y in scatter(rng, 22, (1, 25), (63, 33)):
        long = 0.8 + (y - 24) * 0.22
        canvas.line((136, 196, 230), (x - long, y), (x + long, y), width=0.4)
    canvas.draw("ship", rng.uniform(23, 28))
    x = rng.uniform(40, 42.5)
    canvas.draw("lighthouse", x)
    if event.time != "morning":
        canvas.glow(x, 12.4, 9, (255, 236, 150), 0.6)
    canvas.draw("lantern", x, lamp=_window(event, (255, 234, 130)))


def _mountain(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    snowy = event.weather == "snowy"
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
        deep = 0.62 if snowy else 0.34
        edge, snow = top + deep * height, deep * half
        peak, right = (x, top), (x + snow, edge)
        notch = (x + 0.4 * snow, edge - 2)
        other = (x - 0.5 * snow, edge - 2)
        canvas.shape(
            WHITE, (x - snow, edge), peak, right, notch, (x, edge + 1.5), other
        )
        canvas.shape((206, 214, 232), peak, right, notch, (x, edge - 1))
    for x in (*rng.uniform(1, 20, 3), *rng.uniform(40, 63, 3)):  # firs
        for tier in range(3):
            y, half = HORIZON - 1.5 * tier, 2 - 0.4 * tier
            colour = _SNOW if snowy and tier else (38, 84, 62)
            canvas.shape(colour, (x - half, y), (x, y - 3), (x + half, y))
    colours = {
        "roof": _roof(event, (96, 48, 38)),
        "window": _window(event, (84, 96, 112)),
    }
    canvas.draw("chalet", rng.uniform(24, 32), **colours)  # type: ignore[arg-type]


def _valley(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    snowy = event.weather == "snowy"
    green = (206, 218, 228) if snowy else (102, 160, 76)
    for middle, y, shade in ((8, 3, 0.0), (56, 2, 0.12), (30, 5, 0.24)):
        x = middle + rng.uniform(-3, 3)
        slope = mix(green, WHITE if snowy else (238, 232, 130), shade * 1.5)
        canvas.oval(x, HORIZON + y, 25, 12, slope)
        for row in range(3):  # hedges
            start = (x - 12 + 3 * row, HORIZON - 5 + 2 * row)
            end = (x + 11 - row, HORIZON - 6 + 2 * row)
            canvas.line(mix(slope, (40, 80, 40), 0.3), start, end, width=0.5)
    colours = {
        "roof": _roof(event, (98, 44, 42)),
        "window": _window(event, (84, 40, 40)),
    }
    canvas.draw("barn", rng.uniform(24, 30), **colours)  # type: ignore[arg-type]
    x = rng.uniform(40, 42.5)
    colours = {
        "roof": _roof(event, (150, 66, 48)),
        "window": _window(event, (90, 90, 100)),
    }
    canvas.draw("mill", x, **colours)  # type: ignore[arg-type]
    turn = rng.uniform(0.2, math.pi / 2 - 0.2)
    for quarter in range(4):  # sails
        angle = turn + quarter * math.pi / 2
        dx, dy = math.cos(angle), math.sin(angle)
        hub, tip = (x + 2 * dx, 19 + 2 * dy), (x + 9 * dx, 19 + 9 * dy)
        edge = (tip[0] - 2 * dy, tip[1] + 2 * dx), (hub[0] - 2 * dy, hub[1] + 2 * dx)
        canvas.shape((250, 244, 226), hub, tip, *edge)
        canvas.line((92, 62, 44), (x, 19), tip, width=0.7)


_SETTINGS: dict[str, Callable[[Canvas, Event, np.random.Generator], None]] = {
    "city": _city,
    "harbour": _harbour,
    "mountain": _mountain,
    "valley": _valley,
}


def _roof(event: Event, colour: Colour) -> Colour:
    return _SNOW if event.weather == "snowy" else colour


def _window(event: Event, colour: Colour) -> Paint:
    return colour if event.time == "morning" else _LAMPLIGHT


def ground(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Paint the ground, down to the lower edge."""
    if event.weather == "snowy":
        far, near = (250, 252, 255), (206, 218, 236)
    else:
        far, near = (
            mix(colour, _TINTS[event.season], 0.28) for colour in _GROUND[event.setting]
        )
    canvas.gradient(HORIZON, 64, far, near)
    colour = mix(near, (50, 50, 60), 0.12)
    if event.setting in ("city", "harbour"):  # slabs, planks
        for y in (36, 39.5, 44.5, 51.5, 60):
            canvas.line(colour, (0, y), (64, y), width=0.4)
    if event.setting == "city":
        for slab in range(-6, 7):
            ends = (32 + 6 * slab, HORIZON), (32 + 14 * slab, 64)
            canvas.line(colour, *ends, width=0.4)
    elif event.setting == "valley":
        for furrow in range(-7, 8):
            ends = (32 + 5 * furrow, HORIZON), (32 + 15 * furrow, 64)
            canvas.line(colour, *ends, width=0.6)
    elif event.setting == "mountain":  # stones
        for x, y in scatter(rng, 16, (0, 36), (64, 63)):
            canvas.oval(x, y, 1.6, 0.9, colour)


def litter(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Scatter petals, leaves, puddles or drifts of snow on the ground."""
    spots = scatter(rng, 44, (1, 37), (63, 63))
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
    """Plant two trees at the edges and small ones at the horizon."""
    for x in rng.uniform((13, 32), (20, 36)).tolist():
        _tree(canvas, event, x, HORIZON + 2.5, 0.42)
    _tree(canvas, event, 3.5 + rng.uniform(-1, 1), 43, 1)
    _tree(canvas, event, 60.5 + rng.uniform(-1, 1), 43, 1)


def _tree(canvas: Canvas, event: Event, x: float, foot: float, size: float) -> None:
    def at(dx: float, dy: float) -> tuple[float, float]:
        return x + size * dx, foot + size * dy

    snowy = event.weather == "snowy"
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
            if snowy:
                twig = at(0.3 * dx, start - 3.2), at(dx, end - 0.6)
                canvas.line(_SNOW, *twig, width=0.6 * size)
        return
    crown = _CROWNS[event.season]
    dark, bright = mix(crown, (30, 20, 60), 0.22), mix(crown, WHITE, 0.35)
    for dx, dy, radius in ((0.0, -21.0, 5.0), (-2.8, -16.0, 4.2), (2.8, -16.0, 4.2)):
        canvas.oval(*at(dx, dy), radius * size, radius * size, dark)
    for dx, dy, radius in ((-0.6, -21.6, 4), (-3.3, -16.6, 3.3), (2.3, -16.6, 3.3)):
        canvas.oval(*at(dx, dy), radius * size, radius * size, crown)
    for dx, dy in ((-1.8, -23.4), (-4.8, -17.2), (2, -17.4)):
        canvas.oval(*at(dx, dy), 1.6 * size, 1.2 * size, _SNOW if snowy else bright)


def fog(canvas: Canvas, event: Event) -> None:
    """Lay fog over everything painted so far."""
    if event.weather == "foggy":
        canvas.veil(_FOG[event.time], 0.66, top=2, bottom=28)


def falling(canvas: Canvas, event: Event, rng: np.random.Generator) -> None:
    """Let it rain or snow."""
    drops = scatter(rng, 70, (0, 0), (66, 63))
    if event.weather == "rainy":
        for x, y in drops:
            canvas.line((190, 214, 242, 210), (x, y), (x - 1.2, y + 3.8), width=0.35)
    elif event.weather == "snowy":
        for index, (x, y) in enumerate(drops):
            radius = 0.5 + 0.2 * (index % 3)
            canvas.oval(x, y, radius, radius, (255, 255, 255))
