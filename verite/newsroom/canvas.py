"""A canvas measured in units, drawings to paint on it, and cut-outs to stamp on it.

Every image is 64 × 64 units, whatever its size in pixels; y grows downwards and the
horizon is at 34. Colours are RGB. A colour with a fourth number ignores the light, and
covers by that number of 255.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

Colour = tuple[int, int, int]
Paint = Colour | tuple[int, int, int, int]
Point = tuple[float, float]

__all__ = [
    "BLACK",
    "BRIGHT",
    "HORIZON",
    "OVERSAMPLING",
    "RED",
    "UNITS",
    "WHITE",
    "Canvas",
    "CutOut",
    "cut_out",
    "cut_out_drawing",
    "mix",
    "scatter",
]

UNITS = 64
OVERSAMPLING = 3  # drawn larger and scaled down, for smooth edges
HORIZON = 34

WHITE: Colour = (250, 250, 250)
BLACK: Colour = (25, 25, 30)
RED: Colour = (205, 30, 45)
BRIGHT: tuple[Colour, ...] = (
    (236, 64, 122),
    (255, 210, 50),
    (60, 190, 220),
    (140, 90, 220),
    (110, 210, 90),
)

_ANCHOR = (32, 50)  # where a cut-out is painted; stamping moves this point


class _Stroke(NamedTuple):
    kind: str
    paint: str | Paint
    width: float
    points: tuple[Point, ...]


@dataclass(frozen=True)
class CutOut:
    """A small image with its outline, to stamp on a canvas.

    ``left`` and ``top`` are the distance from its anchor in pixels.
    """

    image: Image.Image
    mask: Image.Image
    left: int
    top: int


class Canvas:
    """An image and pens that take units.

    ``light``, a colour and its strength, falls on everything painted from now on.
    """

    def __init__(self, pixels: int, background: Colour = (0, 0, 0)) -> None:
        self.pixels = pixels
        self.scale = pixels / UNITS
        self.light: tuple[Colour, float] = (WHITE, 0.0)
        self.image = Image.new("RGB", (pixels, pixels), background)
        self._pen = ImageDraw.Draw(self.image)
        self._glaze = ImageDraw.Draw(self.image, "RGBA")

    def _take(self, paint: Paint) -> tuple[ImageDraw.ImageDraw, Paint]:
        if len(paint) == 4:
            return self._glaze, paint
        return self._pen, mix(paint, *self.light)

    def _scaled(self, points: tuple[Point, ...]) -> list[float]:
        scale = self.scale
        return [round(unit * scale) for point in points for unit in point]

    def draw(self, name: str, x: float = 0, y: float = 0, **colours: Paint) -> None:
        """Paint a drawing of ``drawings.txt`` at a point, with the colours it names."""
        for kind, paint, width, points in _drawings()[name]:
            colour = colours[paint] if isinstance(paint, str) else paint
            placed = tuple((x + dx, y + dy) for dx, dy in points)
            if kind == "box":
                self.box(*placed[0], *placed[1], colour)
            elif kind == "oval":
                self.oval(*placed[0], *points[1], colour)
            elif kind == "shape":
                self.shape(colour, *placed)
            else:
                self.line(colour, *placed, width=width)

    def box(
        self, left: float, top: float, right: float, bottom: float, paint: Paint
    ) -> None:
        """Fill a box of at least one pixel."""
        left, top, right, bottom = self._scaled(((left, top), (right, bottom)))
        pen, fill = self._take(paint)
        pen.rectangle(
            (left, top, max(left, right - 1), max(top, bottom - 1)), fill=fill
        )

    def oval(self, x: float, y: float, rx: float, ry: float, paint: Paint) -> None:
        """Fill an ellipse around a point."""
        pen, fill = self._take(paint)
        pen.ellipse(self._scaled(((x - rx, y - ry), (x + rx, y + ry))), fill=fill)

    def shape(self, paint: Paint, *points: Point) -> None:
        """Fill a polygon."""
        pen, fill = self._take(paint)
        pen.polygon(self._scaled(points), fill=fill)

    def line(self, paint: Paint, *points: Point, width: float = 0.7) -> None:
        """Draw a line through points."""
        pen, fill = self._take(paint)
        pen.line(
            self._scaled(points),
            fill=fill,
            width=max(1, round(width * self.scale)),
            joint="curve" if len(points) > 2 else None,
        )

    def gradient(self, top: float, bottom: float, upper: Colour, lower: Colour) -> None:
        """Fill the whole width with a colour that turns into another downwards."""
        first, last = round(top * self.scale), round(bottom * self.scale)
        colours = mix(upper, *self.light), mix(lower, *self.light)
        image = _gradient(*colours, last - first, self.pixels)
        self.image.paste(image, (0, first))

    def veil(self, colour: Colour, strength: float, top: float, bottom: float) -> None:
        """Lay a colour over the image, strongest at ``bottom``.

        It begins at ``top``, and has half its strength at the lower edge.
        """
        self.image.paste(colour, (0, 0), _fade(strength, top, bottom, self.pixels))

    def glow(
        self, x: float, y: float, radius: float, colour: Colour, strength: float
    ) -> None:
        """Add a round light, strongest in its middle; ``light`` does not change it."""
        mask = _disc(round(radius * self.scale), strength)
        left, top = self._scaled(((x - radius, y - radius),))
        box = (int(left), int(top), int(left) + mask.width, int(top) + mask.height)
        self.image.paste(colour, box, mask)

    def stamp(self, cut_out: CutOut, x: float, y: float) -> None:
        """Paste a cut-out with its anchor at a point, in the current light."""
        image, (colour, strength) = cut_out.image, self.light
        if strength:
            image = image.point(_darken(colour, strength))
        left, top = self._scaled(((x, y),))
        corner = (int(left) + cut_out.left, int(top) + cut_out.top)
        self.image.paste(image, corner, cut_out.mask)


@lru_cache(maxsize=512)
def cut_out_drawing(
    name: str, pixels: int, rim: Colour, width: float, **colours: Paint
) -> CutOut:
    """Cut out a drawing, see :func:`cut_out`."""
    return cut_out(
        lambda canvas, x, y: canvas.draw(name, x, y, **colours), pixels, rim, width
    )


def cut_out(
    paint: Callable[[Canvas, float, float], None],
    pixels: int,
    rim: Colour,
    width: float,
) -> CutOut:
    """Paint something, give it a rim of ``width`` units, and cut it out.

    ``paint`` takes a canvas and the anchor's position on it.
    """
    # Painted pixels are those that two backgrounds agree on.
    first, second = Canvas(pixels), Canvas(pixels, WHITE)
    for canvas in (first, second):
        paint(canvas, *_ANCHOR)
    painted = np.any(np.asarray(first.image) == np.asarray(second.image), axis=2)
    reach = max(1, round(width * first.scale))
    rows = np.flatnonzero(painted.any(axis=1))
    columns = np.flatnonzero(painted.any(axis=0))
    left, top = int(columns[0]) - reach, int(rows[0]) - reach
    right, bottom = int(columns[-1]) + 1 + reach, int(rows[-1]) + 1 + reach
    box = (left, top, right, bottom)
    inner = Image.fromarray(np.where(painted, 255, 0).astype(np.uint8)).crop(box)
    image = Image.new("RGB", inner.size, rim)
    image.paste(first.image.crop(box), (0, 0), inner)
    mask = inner.filter(ImageFilter.MaxFilter(2 * reach + 1))
    x, y = (round(unit * first.scale) for unit in _ANCHOR)
    return CutOut(image, mask, left - x, top - y)


@lru_cache(maxsize=4096)
def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Mix two colours, ``other`` with a share from 0 to 1."""
    red, green, blue = (
        round(a + (b - a) * share) for a, b in zip(one, other, strict=True)
    )
    return red, green, blue


def scatter(
    rng: np.random.Generator, points: int, left_top: Point, right_bottom: Point
) -> list[list[float]]:
    """Draw random points in a box."""
    # Python's floats, because they are rounded ten times faster than numpy's.
    places: list[list[float]] = rng.uniform(
        left_top, right_bottom, (points, 2)
    ).tolist()
    return places


@cache
def _drawings() -> dict[str, list[_Stroke]]:
    """Drawings by name; the file explains its format."""
    text = Path(__file__).with_name("drawings.txt").read_text(encoding="utf8")
    drawings: dict[str, list[_Stroke]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            strokes = drawings[line.strip("[]")] = []
        elif line and not line.startswith("# ") and line != "#":
            kind, colour, *numbers = line.split()
            width = float(numbers.pop(0)) if kind == "line" else 0.0
            points = tuple((float(x), float(y)) for x, y in _pairs(numbers))
            strokes.append(_Stroke(kind, _colour(colour), width, points))
    return drawings


def _pairs(numbers: list[str]) -> list[list[str]]:
    return [number.split(",") for number in numbers]


def _colour(text: str) -> str | Paint:
    if not text.startswith("#"):
        return {"white": WHITE, "black": BLACK, "red": RED}.get(text, text)
    paint: Paint = tuple(bytes.fromhex(text[1:]))  # type: ignore[assignment]
    return paint


@lru_cache(maxsize=64)
def _fade(strength: float, top: float, bottom: float, pixels: int) -> Image.Image:
    height = (np.arange(pixels) + 0.5) * UNITS / pixels
    share = np.interp(height, (top, bottom, UNITS), (0, 1, 0.5))
    column = np.round(255 * strength * share).astype(np.uint8)
    return Image.fromarray(np.repeat(column[:, None], pixels, axis=1))


@lru_cache(maxsize=256)
def _gradient(upper: Colour, lower: Colour, height: int, width: int) -> Image.Image:
    share = ((np.arange(height) + 0.5) / height)[:, None]
    column = np.round(np.array(upper) * (1 - share) + np.array(lower) * share)
    rows = np.repeat(column.astype(np.uint8)[:, None, :], width, axis=1)
    return Image.fromarray(rows)


@lru_cache(maxsize=64)
def _disc(radius: int, strength: float) -> Image.Image:
    steps = (np.arange(2 * radius) + 0.5) / radius - 1
    distance = np.hypot(steps[:, None], steps[None, :])
    share = np.clip(1 - distance, 0, 1)
    return Image.fromarray(np.round(255 * strength * share).astype(np.uint8))


@lru_cache(maxsize=16)
def _darken(colour: Colour, strength: float) -> list[int]:
    return [
        round(value + (channel - value) * strength)
        for channel in colour
        for value in range(256)
    ]
