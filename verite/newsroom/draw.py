"""Pictures of events, drawn by code: flat scenes from back to front.

All positions are on a canvas of 64 × 64 units, whatever the size of the picture in pixels; y grows downwards and the
horizon lies at 34. What a picture shows follows from the event's visible attributes; where exactly things stand
follows from ``event.look`` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from verite.newsroom.world import Event

__all__ = ["SIZE", "draw"]

SIZE = 64
"""Width and height of a picture in pixels."""

_OVERSAMPLING = 3  # drawn larger and scaled down, for smooth edges
_HORIZON = 34

Colour = tuple[int, int, int]
Point = tuple[float, float]

_WHITE, _BLACK, _RED = (250, 250, 250), (25, 25, 30), (205, 30, 45)

# Top and bottom of the sky.
_SKIES: dict[str, tuple[Colour, Colour]] = {
    "morning": ((88, 170, 240), (196, 228, 250)),
    "evening": ((120, 70, 140), (255, 160, 80)),
    "night": ((10, 14, 45), (34, 44, 96)),
}
# Colour of the light that falls on everything below the sky, and how strong it is.
_LIGHT: dict[str, tuple[Colour, float]] = {
    "morning": ((255, 255, 255), 0.0),
    "evening": ((190, 80, 40), 0.22),
    "night": ((8, 12, 50), 0.5),
}
_OVERCAST: dict[str, Colour] = {"morning": (150, 158, 168), "evening": (128, 104, 116), "night": (40, 44, 60)}
_GROUND: dict[str, Colour] = {
    "city": (152, 152, 158),
    "harbour": (216, 192, 142),
    "mountain": (126, 138, 104),
    "valley": (150, 186, 88),
}
_CROWNS: dict[str, Colour | None] = {"winter": None, "spring": (246, 168, 200), "summer": (40, 128, 52), "autumn": (224, 116, 24)}
_CLOTHES: dict[str, Colour] = {
    "police": (28, 44, 120),
    "nurses": (248, 250, 252),
    "soldiers": (94, 104, 52),
    "builders": (250, 128, 20),
}
_BRIGHT: tuple[Colour, ...] = ((236, 64, 122), (255, 210, 50), (60, 190, 220), (140, 90, 220), (110, 210, 90))
_SKIN: tuple[Colour, ...] = ((255, 220, 190), (230, 180, 140), (170, 115, 80), (105, 70, 50))


class _Canvas:
    """An image and a pen that takes units instead of pixels."""

    def __init__(self) -> None:
        self.scale = _OVERSAMPLING * SIZE / 64
        self.pixels = _OVERSAMPLING * SIZE
        self.put(Image.new("RGB", (self.pixels, self.pixels)))

    def put(self, image: Image.Image) -> None:
        self.image = image
        self.pen = ImageDraw.Draw(image)

    def _scaled(self, *units: float) -> list[float]:
        return [round(unit * self.scale) for unit in units]

    def box(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        scale = self.scale
        x0, y0 = round(left * scale), round(top * scale)
        self.pen.rectangle((x0, y0, max(x0, round(right * scale) - 1), max(y0, round(bottom * scale) - 1)), fill=fill)

    def oval(self, x: float, y: float, rx: float, ry: float, fill: Colour) -> None:
        self.pen.ellipse(self._scaled(x - rx, y - ry, x + rx, y + ry), fill=fill)

    def shape(self, fill: Colour, *points: Point) -> None:
        self.pen.polygon(self._scaled(*(unit for point in points for unit in point)), fill=fill)

    def line(self, fill: Colour, *points: Point, width: float = 0.7) -> None:
        self.pen.line(self._scaled(*(unit for point in points for unit in point)), fill=fill, width=max(1, round(width * self.scale)))

    def veil(self, colour: Colour, strength: float, top: float, bottom: float) -> None:
        """Lay a colour over the image: not above ``top``, in full strength below ``bottom``."""
        self.image.paste(colour, (0, 0), _fade(strength, top, bottom, self.pixels))


def draw(event: Event) -> Image.Image:
    """Draw an event as an RGB picture of 64 × 64 pixels; the same event gives the same pixels.

    >>> from verite.newsroom import sample_events
    >>> [event] = sample_events(1, np.random.default_rng(0))
    >>> draw(event).size
    (64, 64)
    """
    rng = np.random.default_rng(event.look)
    canvas = _Canvas()
    _sky(canvas, event, rng)
    _SETTINGS[event.setting](canvas, event, rng)
    _ground(canvas, event, rng)
    _TOPICS[event.topic](canvas, event, rng)
    _trees(canvas, event, rng)
    canvas.veil(*_LIGHT[event.time], top=8, bottom=24)
    if event.weather == "foggy":
        canvas.veil(_mix((214, 218, 222), _OVERCAST[event.time], 0.3), 0.62, top=4, bottom=30)
    _things(canvas, event, rng)
    _crowd(canvas, event, rng)
    if event.time == "night":
        canvas.veil(_LIGHT["night"][0], 0.22, top=32, bottom=44)
    _flag(canvas, event, rng)
    _falling(canvas, event, rng)
    return canvas.image.reduce(_OVERSAMPLING)


# Sky, landscape and ground


@lru_cache(maxsize=64)
def _fade(strength: float, top: float, bottom: float, pixels: int) -> Image.Image:
    height = (np.arange(pixels) + 0.5) * 64 / pixels
    column = np.round(255 * strength * np.clip((height - top) / (bottom - top), 0, 1)).astype(np.uint8)
    return Image.fromarray(np.repeat(column[:, None], pixels, axis=1))


@lru_cache(maxsize=64)
def _gradient(top: Colour, bottom: Colour, pixels: int) -> Image.Image:
    ends = Image.new("RGB", (1, 2))
    ends.putpixel((0, 0), top)
    ends.putpixel((0, 1), bottom)
    return ends.resize((pixels, pixels), Image.Resampling.BILINEAR)


def _sky(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    top, bottom = _SKIES[event.time]
    if event.weather != "clear":
        top, bottom = _OVERCAST[event.time], _mix(_OVERCAST[event.time], bottom, 0.25)
    canvas.put(_gradient(top, bottom, canvas.pixels).copy())
    x, y = rng.uniform(39, 45), rng.uniform(7, 11)
    stars, clouds = _scatter(rng, 12, 34, 1, 63, 22), _scatter(rng, 4, 28, 3, 66, 8)
    if event.weather == "clear":
        if event.time == "night":
            for sx, sy in stars:
                canvas.oval(sx, sy, 0.5, 0.5, (255, 255, 220))
            canvas.oval(x, y, 5, 5, (245, 240, 200))
            canvas.oval(x - 2.5, y - 1, 4.2, 4.2, top)
        elif event.time == "morning":
            canvas.oval(x, y, 5.5, 5.5, (255, 226, 70))
        else:
            canvas.oval(x, y + 11, 7.5, 7.5, (255, 96, 50))
    elif event.weather != "foggy":
        # Rain clouds are dark, snow clouds bright.
        colour = _mix(top, (40, 44, 56), 0.5) if event.weather == "rainy" else _mix(top, (235, 238, 245), 0.6)
        for cx, cy in clouds:
            canvas.oval(cx, cy, 9, 4, colour)
            canvas.oval(cx + 4, cy - 2, 5, 4, colour)


def _city(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    left = -1.0
    while left < 64:
        width, height = rng.uniform(6, 11), rng.uniform(10, 22)
        shade = int(rng.integers(85, 135))
        canvas.box(left, _HORIZON - height, left + width, _HORIZON, (shade, shade, shade + 22))
        lit = (255, 222, 110) if event.time != "morning" else (198, 216, 230)
        for wx in np.arange(left + 1.2, left + width - 1.5, 2.6).tolist():
            for wy in np.arange(_HORIZON - height + 1.5, _HORIZON - 2, 3.2).tolist():
                canvas.box(wx, wy, wx + 1.3, wy + 1.7, lit)
        left += width + rng.uniform(0, 1)


def _harbour(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    canvas.box(0, 24, 64, _HORIZON, (28, 104, 160))
    for x, y in _scatter(rng, 14, 2, 26, 62, 33):
        canvas.line((120, 180, 220), (x - 2, y), (x + 2, y))
    x = rng.uniform(34, 44)  # a sailing ship
    canvas.shape((110, 60, 40), (x - 7, 27), (x + 7, 27), (x + 4.5, 31), (x - 4.5, 31))
    canvas.shape(_WHITE, (x, 12), (x, 26), (x + 6.5, 26))
    canvas.shape((232, 232, 232), (x - 1, 14), (x - 1, 26), (x - 6, 26))
    for band in range(5):  # a lighthouse
        canvas.box(50, 13 + 4 * band, 55, 17 + 4 * band, _RED if band % 2 else _WHITE)
    canvas.box(50.5, 9.5, 54.5, 13, (255, 232, 110))
    canvas.shape(_RED, (49.5, 9.5), (55.5, 9.5), (52.5, 6.5))


def _mountain(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    for middle, height, shade in ((50, 24, 0), (20, 20, 14), (36, 27, 28)):
        x = middle + rng.uniform(-3, 3)
        half, top = height * 0.75, _HORIZON - height
        canvas.shape((88 + shade, 84 + shade, 104 + shade), (x - half, _HORIZON), (x, top), (x + half, _HORIZON))
        canvas.shape(_WHITE, (x - 5, top + 6.7), (x, top), (x + 5, top + 6.7), (x + 2, top + 5), (x, top + 8), (x - 2, top + 5))
    x = rng.uniform(24, 44)  # a chalet
    canvas.box(x - 3.5, 29, x + 3.5, _HORIZON, (124, 78, 48))
    canvas.shape((92, 44, 34), (x - 5, 29), (x, 25), (x + 5, 29))


def _valley(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    green = (204, 216, 222) if event.weather == "snowy" else (106, 164, 70)
    for middle, shade in ((10, 0.0), (52, 0.1), (30, 0.2)):
        canvas.oval(middle + rng.uniform(-3, 3), _HORIZON + 3, 24, 9, _mix(green, (235, 230, 120), shade))
    x = rng.uniform(28, 36)  # a barn and a windmill
    canvas.box(x - 5, 26, x + 5, _HORIZON, (168, 44, 38))
    canvas.shape((92, 40, 40), (x - 6, 26), (x - 3, 22), (x + 3, 22), (x + 6, 26))
    canvas.box(x - 1.7, 29, x + 1.7, _HORIZON, _WHITE)
    canvas.shape((236, 226, 204), (46, _HORIZON), (47.5, 19), (50.5, 19), (52, _HORIZON))
    turn = rng.uniform(0, math.pi / 2)
    for quarter in range(4):
        angle = turn + quarter * math.pi / 2
        canvas.line((92, 62, 44), (49, 19), (49 + 8 * math.cos(angle), 19 + 8 * math.sin(angle)), width=1.4)


def _ground(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    colour = (238, 243, 250) if event.weather == "snowy" else _GROUND[event.setting]
    canvas.box(0, _HORIZON, 64, 64, colour)
    spots = _scatter(rng, 26, 1, 36, 63, 63)
    if event.topic != "flood" and event.season in ("spring", "autumn"):  # petals, leaves
        for x, y in spots:
            canvas.oval(x, y, 0.9, 0.7, _crown(event.season))
    if event.weather == "rainy":
        for x, y in spots[:6]:
            canvas.oval(x, y, 5, 1.3, (104, 126, 152))


def _trees(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    for x in (4 + rng.uniform(-1, 1), 60 + rng.uniform(-1, 1)):
        trunk = (84, 56, 38)
        canvas.box(x - 1, 28, x + 1, 42, trunk)
        if event.season == "winter":
            for side in (-1, 1):
                canvas.line(trunk, (x, 33), (x + 5 * side, 25), width=1)
                canvas.line(trunk, (x, 29), (x + 3.5 * side, 21), width=1)
            canvas.line(trunk, (x, 30), (x, 19), width=1)
            continue
        for dx, dy, radius in ((-3, 27, 4.4), (3, 27, 4.4), (0, 22.5, 5)):
            canvas.oval(x + dx, dy, radius, radius, _crown(event.season))


# What happens, and the things that are counted


def _protest(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    x = rng.uniform(24, 30)  # a long banner between two poles
    for pole in (x - 9, x + 22):
        canvas.line((70, 50, 40), (pole, 28), (pole, 42), width=1)
    canvas.box(x - 9, 28, x + 22, 34, _RED)
    for mark in range(6):
        canvas.box(x - 6.5 + 4.6 * mark, 29.8, x - 3.5 + 4.6 * mark, 32.2, _WHITE)


def _flood(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    canvas.box(0, 37, 64, 64, (86, 132, 150))
    for middle in (16, 48):  # houses up to their windows in the water
        x = middle + rng.uniform(-3, 3)
        canvas.box(x - 5, 31, x + 5, 38, (216, 190, 150))
        canvas.shape((140, 52, 40), (x - 6.5, 31), (x, 26), (x + 6.5, 31))
        canvas.box(x - 2, 33, x + 2, 37, (70, 60, 60))
    for x, y in _scatter(rng, 26, 2, 39, 62, 63):
        canvas.line((170, 206, 214), (x - 2.5, y), (x + 2.5, y))


def _fire(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    x = rng.uniform(28, 38)
    for step in range(7):  # smoke
        canvas.oval(x + 2 * step + rng.uniform(-1, 1), 20 - 3 * step, 3.5 + 0.6 * step, 3 + 0.5 * step, (62 + 4 * step,) * 3)
    canvas.box(x - 9, 28, x + 9, 38, (112, 84, 72))
    for flame in (-8, -4.8, -1.6, 1.6, 4.8, 8):
        height = rng.uniform(9, 14)
        canvas.shape((255, 110, 10), (x + flame - 3, 32), (x + flame + rng.uniform(-1, 1), 32 - height), (x + flame + 3, 32))
        canvas.shape((255, 220, 60), (x + flame - 1.5, 32), (x + flame, 32 - 0.55 * height), (x + flame + 1.5, 32))
    for window in (-5.5, 0, 5.5):
        canvas.box(x + window - 1.4, 32.5, x + window + 1.4, 35.5, (255, 176, 40))


def _match(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    for stripe in range(8):
        canvas.box(8 * stripe, 36, 8 * stripe + 8, 64, (44, 150, 62) if stripe % 2 else (60, 170, 76))
    canvas.line(_WHITE, (0, 37), (64, 37), width=1)
    x = rng.uniform(28, 36)  # a goal
    for mesh in range(9):
        canvas.line((214, 220, 222), (x - 11 + 2.75 * mesh, 26), (x - 11 + 2.75 * mesh, 37), width=0.35)
    for y in (28.5, 31, 33.5):
        canvas.line((214, 220, 222), (x - 11, y), (x + 11, y), width=0.35)
    canvas.line(_WHITE, (x - 11, 37), (x - 11, 26), (x + 11, 26), (x + 11, 37), width=1.5)


def _festival(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    canvas.box(14, 35, 50, 41, (92, 48, 120))  # a stage
    canvas.box(14, 35, 50, 36.5, (150, 90, 180))
    shift = int(rng.integers(5))
    for row, (left, right) in enumerate(((10, 34), (34, 58))):  # bunting
        for pennant in range(6):
            x = left + (right - left) * (pennant + 0.5) / 6
            y = 25 + 4 * (1 - ((pennant - 2.5) / 2.5) ** 2)
            canvas.shape(_BRIGHT[(shift + pennant + row) % 5], (x - 2, y), (x + 2, y), (x, y + 4.5))


def _market(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    canvas.box(0, 36, 64, 49, (188, 140, 100))  # brick paving
    for row in range(4):
        for brick in range(9):
            x = 8 * brick - (4 if row % 2 else 0)
            canvas.box(x, 36 + 3.25 * row, x + 7.5, 38.8 + 3.25 * row, (204, 156, 114))
    for x in (8, 56):  # crates of fruit
        canvas.box(x - 3, 44, x + 3, 47.5, (140, 94, 52))
        for dx in (-2, 0, 2):
            canvas.oval(x + dx + rng.uniform(-0.3, 0.3), 43.8, 1.2, 1.2, (240, 150, 30))


def _placard(canvas: _Canvas, x: float, rng: np.random.Generator) -> None:
    canvas.line((120, 84, 50), (x, 44), (x, 53), width=1)
    canvas.box(x - 4.5, 36, x + 4.5, 45.5, _BLACK)
    canvas.box(x - 3.8, 36.7, x + 3.8, 44.8, (255, 236, 90))
    canvas.box(x - 0.7, 37.8, x + 0.7, 41.8, _BLACK)
    canvas.box(x - 0.7, 42.6, x + 0.7, 44, _BLACK)


def _boat(canvas: _Canvas, x: float, rng: np.random.Generator) -> None:
    canvas.shape((255, 120, 20), (x - 5, 42.5), (x + 5, 42.5), (x + 3.2, 47), (x - 3.2, 47))
    canvas.line(_WHITE, (x - 4.4, 43.6), (x + 4.4, 43.6), width=1)
    canvas.box(x - 2, 38.5, x + 2, 42.5, _WHITE)
    canvas.box(x - 1.2, 39.3, x + 1.2, 41, (60, 90, 120))


def _engine(canvas: _Canvas, x: float, rng: np.random.Generator) -> None:
    canvas.box(x - 4.8, 39, x + 4.8, 46.5, (226, 26, 34))
    canvas.box(x + 1.8, 40, x + 4.8, 42.6, (196, 226, 240))
    canvas.line(_WHITE, (x - 4.8, 43.8), (x + 4.8, 43.8), width=0.9)
    canvas.line((180, 180, 180), (x - 4.5, 38.2), (x + 3.5, 36.6), width=1.1)
    canvas.oval(x + 3.2, 38.6, 0.9, 0.9, (60, 120, 255))
    for wheel in (-2.8, 2.8):
        canvas.oval(x + wheel, 46.6, 1.6, 1.6, _BLACK)


def _football(canvas: _Canvas, x: float, rng: np.random.Generator) -> None:
    canvas.oval(x, 43, 4.2, 4.2, _BLACK)
    canvas.oval(x, 43, 3.6, 3.6, _WHITE)
    canvas.oval(x, 43, 1.3, 1.3, _BLACK)
    turn = rng.uniform(0, 1)
    for fifth in range(5):
        angle = turn + fifth * math.pi * 2 / 5
        canvas.oval(x + 3 * math.cos(angle), 43 + 3 * math.sin(angle), 0.8, 0.8, _BLACK)


def _balloon(canvas: _Canvas, x: float, rng: np.random.Generator) -> None:
    y = 33 + rng.uniform(-2, 2)
    canvas.line(_BLACK, (x, y + 5), (x + rng.uniform(-1.5, 1.5), y + 15), width=0.5)
    canvas.shape((232, 40, 110), (x - 1.2, y + 6), (x + 1.2, y + 6), (x, y + 4))
    canvas.oval(x, y, 4.3, 5.2, (232, 40, 110))
    canvas.oval(x - 1.5, y - 2, 1, 1.5, (255, 190, 214))


def _stall(canvas: _Canvas, x: float, rng: np.random.Generator) -> None:
    for post in (x - 4.2, x + 4.2):
        canvas.line((96, 66, 44), (post, 38), (post, 48), width=0.9)
    canvas.box(x - 4.8, 43.5, x + 4.8, 47.5, (150, 98, 54))
    for stripe in range(5):
        left = x - 5 + 2 * stripe
        canvas.box(left, 36, left + 2, 39.6, (36, 140, 90) if stripe % 2 == 0 else _WHITE)
    for fruit in (-3, -1, 1, 3):
        canvas.oval(x + fruit, 42.8, 1.1, 1.1, _BRIGHT[int(rng.integers(5))])


def _things(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    gap = 11 if event.count == 5 else 15
    middle = 32 + rng.uniform(-2, 2)
    for thing in range(event.count):
        x = middle + gap * (thing - (event.count - 1) / 2) + rng.uniform(-0.7, 0.7)
        _THINGS[event.topic](canvas, x, rng)


# People


def _crowd(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    if event.crowd == "few":
        places = [(x + rng.uniform(-3, 3), 62.0) for x in (18, 32, 46)]
    else:
        places = [(3 + 7.6 * place + 3.8 * (row % 2) + rng.uniform(-1, 1), 58.5 + 3 * row) for row in range(3) for place in range(8)]
    for x, foot in places:
        _person(canvas, x, foot, event.people, rng)
        if event.topic == "flood":
            canvas.line((170, 206, 214), (x - 3, foot - 1.5), (x + 3, foot - 1.5), width=1.2)


def _person(canvas: _Canvas, x: float, foot: float, kind: str, rng: np.random.Generator) -> None:
    skin, bright = _SKIN[rng.integers(4)], _BRIGHT[rng.integers(5)]
    clothes = _CLOTHES.get(kind, bright)
    tall = 8.5 if kind == "children" else 12.5
    hip, neck = foot - 0.32 * tall, foot - 0.72 * tall
    wide = 1.9 if kind == "children" else 2.5
    canvas.box(x - 0.7 * wide, hip, x + 0.7 * wide, foot, _WHITE if kind == "nurses" else _mix(clothes, _BLACK, 0.55))
    canvas.box(x - wide, neck, x + wide, hip + 0.3, clothes)
    head = neck - 1.7
    canvas.oval(x, head, 1.9, 2, skin)
    if kind == "police":
        canvas.box(x - 2.2, head - 2.4, x + 2.2, head - 0.8, (18, 26, 80))
        canvas.box(x - 0.5, head - 2.2, x + 0.5, head - 1.2, (255, 220, 80))
    elif kind == "nurses":
        canvas.box(x - 2, head - 2.6, x + 2, head - 1, _WHITE)
        canvas.box(x - 1.6, neck + 1.5, x + 1.6, neck + 2.7, _RED)
        canvas.box(x - 0.6, neck + 0.5, x + 0.6, neck + 3.7, _RED)
    elif kind == "soldiers":
        canvas.shape((66, 76, 36), (x - 2.5, head - 0.4), (x - 1.6, head - 2.6), (x + 1.6, head - 2.6), (x + 2.5, head - 0.4))
        canvas.box(x - 1.8, neck + 1, x - 0.4, neck + 2.4, (58, 66, 34))
        canvas.box(x + 0.4, neck + 2.2, x + 1.8, neck + 3.6, (140, 140, 86))
    elif kind == "builders":
        canvas.box(x - 2.4, head - 1.2, x + 2.4, head - 0.5, (255, 220, 0))
        canvas.oval(x, head - 1.4, 1.9, 1.4, (255, 220, 0))
        canvas.box(x - wide, neck + 2, x + wide, neck + 3.2, (240, 250, 140))
    else:
        canvas.box(x - 1.8, head - 2.3, x + 1.8, head - 1, (84, 50, 28))


# Flags, rain and snow


def _flag(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    x, y = 12 + rng.uniform(-0.7, 0.7), 3 + rng.uniform(-0.7, 0.7)
    canvas.box(x - 1.2, y - 1, x, 42, (235, 235, 235))
    direction, colours = _FLAGS[event.country]
    wide, high = 20, 13
    for part, colour in enumerate(colours):
        start, end = part / len(colours), (part + 1) / len(colours)
        if direction == "down":
            canvas.box(x, y + start * high, x + wide, y + end * high, colour)
        else:
            canvas.box(x + start * wide, y, x + end * wide, y + high, colour)
    if event.country == "Japan":
        canvas.oval(x + 10, y + 6.5, 3.9, 3.9, (190, 0, 40))
    elif event.country == "Switzerland":
        canvas.box(x + 8.5, y + 2, x + 11.5, y + 11, _WHITE)
        canvas.box(x + 5.5, y + 5, x + 14.5, y + 8, _WHITE)
    elif event.country == "Sweden":
        canvas.box(x + 6, y, x + 9, y + high, (255, 205, 0))
        canvas.box(x, y + 5, x + wide, y + 8, (255, 205, 0))


_FLAGS: dict[str, tuple[str, tuple[Colour, ...]]] = {
    "France": ("across", ((0, 50, 160), _WHITE, (235, 40, 60))),
    "Germany": ("down", ((10, 10, 10), (221, 0, 0), (255, 206, 0))),
    "Italy": ("across", ((0, 146, 70), _WHITE, (206, 43, 55))),
    "Japan": ("down", (_WHITE,)),
    "Sweden": ("down", ((0, 106, 167),)),
    "Poland": ("down", (_WHITE, (220, 20, 60))),
    "Switzerland": ("down", ((218, 41, 28),)),
    "Estonia": ("down", ((0, 114, 206), (10, 10, 10), _WHITE)),
}


def _falling(canvas: _Canvas, event: Event, rng: np.random.Generator) -> None:
    if event.weather == "rainy":
        for x, y in _scatter(rng, 60, 0, 0, 66, 62):
            canvas.line((176, 204, 236), (x, y), (x - 1.4, y + 4.5), width=0.5)
    elif event.weather == "snowy":
        for x, y in _scatter(rng, 70, 0, 0, 64, 64):
            canvas.oval(x, y, 0.85, 0.85, (255, 255, 255))


def _crown(season: str) -> Colour:
    return _CROWNS[season] or _WHITE


def _scatter(rng: np.random.Generator, points: int, left: float, top: float, right: float, bottom: float) -> list[list[float]]:
    # Python's floats: they are rounded ten times faster than numpy's.
    scattered: list[list[float]] = rng.uniform((left, top), (right, bottom), (points, 2)).tolist()
    return scattered


def _mix(one: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


_SETTINGS: dict[str, Callable[[_Canvas, Event, np.random.Generator], None]] = {
    "city": _city,
    "harbour": _harbour,
    "mountain": _mountain,
    "valley": _valley,
}
_TOPICS: dict[str, Callable[[_Canvas, Event, np.random.Generator], None]] = {
    "protest": _protest,
    "flood": _flood,
    "fire": _fire,
    "match": _match,
    "festival": _festival,
    "market": _market,
}
_THINGS: dict[str, Callable[[_Canvas, float, np.random.Generator], None]] = {
    "protest": _placard,
    "flood": _boat,
    "fire": _engine,
    "match": _football,
    "festival": _balloon,
    "market": _stall,
}
