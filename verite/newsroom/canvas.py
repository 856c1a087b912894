"""A canvas that is measured in units, and cut-outs to stamp on it.

Every picture is 64 × 64 units, whatever its size in pixels; y grows downwards and the
horizon lies at 34. Colours are RGB. A colour with a fourth number shines or shades: the
hour does not change it, and it covers by that number of 255.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

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

_ANCHOR = (
    32,
    50,
)  # where a cut-out is painted: what is stamped at a point has this point there


@dataclass(frozen=True)
class CutOut:
    """A small picture with its outline, to be stamped on a canvas, and how far it lies
    from its anchor in pixels.
    """

    image: Image.Image
    mask: Image.Image
    left: int
    top: int


class Canvas:
    """An image of some pixels, and pens that take units.

    ``light`` falls on all that is painted from now on.
    """

    def __init__(self, pixels: int) -> None:
        self.pixels = pixels
        self.scale = pixels / UNITS
        self.light: tuple[Colour, float] = (WHITE, 0.0)
        self.put(Image.new("RGB", (pixels, pixels)))

    def put(self, image: Image.Image) -> None:
        """Go on with another image."""
        self.image = image
        self._pen = ImageDraw.Draw(image)
        self._glaze = ImageDraw.Draw(image, "RGBA")

    def _take(self, paint: Paint) -> tuple[ImageDraw.ImageDraw, Paint]:
        return (
            (self._glaze, paint)
            if len(paint) == 4
            else (self._pen, mix(paint, *self.light))
        )

    def _scaled(self, points: tuple[Point, ...]) -> list[float]:
        scale = self.scale
        return [round(unit * scale) for point in points for unit in point]

    def box(
        self, left: float, top: float, right: float, bottom: float, paint: Paint
    ) -> None:
        """Fill a box, one pixel at least."""
        scale = self.scale
        x, y = round(left * scale), round(top * scale)
        pen, fill = self._take(paint)
        pen.rectangle(
            (x, y, max(x, round(right * scale) - 1), max(y, round(bottom * scale) - 1)),
            fill=fill,
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

    def fall(self, top: float, bottom: float, upper: Colour, lower: Colour) -> None:
        """Fill the whole width with a colour that turns into another from top to
        bottom.
        """
        first, last = round(top * self.scale), round(bottom * self.scale)
        self.image.paste(
            _gradient(
                mix(upper, *self.light),
                mix(lower, *self.light),
                last - first,
                self.pixels,
            ),
            (0, first),
        )

    def veil(self, colour: Colour, strength: float, top: float, bottom: float) -> None:
        """Lay a colour over the image.

        Not above ``top``, in full strength at ``bottom``, in half of it at the lower
        edge.
        """
        self.image.paste(colour, (0, 0), _fade(strength, top, bottom, self.pixels))

    def glow(
        self, x: float, y: float, radius: float, colour: Colour, strength: float
    ) -> None:
        """Let a light shine that is strongest in its middle.

        The hour does not change it.
        """
        mask = _disc(round(radius * self.scale), strength)
        corner = (round((x - radius) * self.scale), round((y - radius) * self.scale))
        self.image.paste(
            colour, (*corner, corner[0] + mask.width, corner[1] + mask.height), mask
        )

    def stamp(self, cut_out: CutOut, x: float, y: float) -> None:
        """Paste a cut-out with its anchor at a point, in the light that falls."""
        image, (colour, strength) = cut_out.image, self.light
        if strength:
            image = image.point(_darken(colour, strength))
        self.image.paste(
            image,
            (round(x * self.scale) + cut_out.left, round(y * self.scale) + cut_out.top),
            cut_out.mask,
        )


def cut_out(
    paint: Callable[[Canvas, float, float], None],
    pixels: int,
    rim: Colour,
    width: float,
) -> CutOut:
    """Paint something around a point, give it a rim of so many units, and cut it out.

    ``paint`` takes a canvas and the anchor's position on it.
    """
    # What stays of two backgrounds is what was painted.
    first, second = Canvas(pixels), Canvas(pixels)
    second.put(Image.new("RGB", (pixels, pixels), WHITE))
    for canvas in (first, second):
        paint(canvas, *_ANCHOR)
    painted = np.any(np.asarray(first.image) == np.asarray(second.image), axis=2)
    reach = max(1, round(width * first.scale))
    rows, columns = (
        np.flatnonzero(painted.any(axis=1)),
        np.flatnonzero(painted.any(axis=0)),
    )
    left, top, right, bottom = (
        int(columns[0]) - reach,
        int(rows[0]) - reach,
        int(columns[-1]) + 1 + reach,
        int(rows[-1]) + 1 + reach,
    )
    inner = Image.fromarray(np.where(painted, 255, 0).astype(np.uint8)).crop(
        (left, top, right, bottom)
    )
    image = Image.new("RGB", inner.size, rim)
    image.paste(first.image.crop((left, top, right, bottom)), (0, 0), inner)
    anchor_x, anchor_y = (round(unit * first.scale) for unit in _ANCHOR)
    return CutOut(
        image,
        inner.filter(ImageFilter.MaxFilter(2 * reach + 1)),
        left - anchor_x,
        top - anchor_y,
    )


@lru_cache(maxsize=4096)
def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Colour that is ``other`` to so large a share."""
    red, green, blue = (
        round(a + (b - a) * share) for a, b in zip(one, other, strict=True)
    )
    return red, green, blue


def scatter(
    rng: np.random.Generator,
    points: int,
    left: float,
    top: float,
    right: float,
    bottom: float,
) -> list[list[float]]:
    """Points by chance in a box."""
    # Python's floats: they are rounded ten times faster than numpy's.
    scattered: list[list[float]] = rng.uniform(
        (left, top), (right, bottom), (points, 2)
    ).tolist()
    return scattered


@lru_cache(maxsize=64)
def _fade(strength: float, top: float, bottom: float, pixels: int) -> Image.Image:
    height = (np.arange(pixels) + 0.5) * UNITS / pixels
    column = np.round(
        255 * strength * np.interp(height, (top, bottom, UNITS), (0, 1, 0.5))
    ).astype(np.uint8)
    return Image.fromarray(np.repeat(column[:, None], pixels, axis=1))


@lru_cache(maxsize=256)
def _gradient(upper: Colour, lower: Colour, height: int, width: int) -> Image.Image:
    share = ((np.arange(height) + 0.5) / height)[:, None]
    column = np.round(np.array(upper) * (1 - share) + np.array(lower) * share).astype(
        np.uint8
    )
    return Image.fromarray(np.repeat(column[:, None, :], width, axis=1))


@lru_cache(maxsize=64)
def _disc(radius: int, strength: float) -> Image.Image:
    steps = (np.arange(2 * radius) + 0.5) / radius - 1
    distance = np.hypot(steps[:, None], steps[None, :])
    return Image.fromarray(
        np.round(255 * strength * np.clip(1 - distance, 0, 1)).astype(np.uint8)
    )


@lru_cache(maxsize=16)
def _darken(colour: Colour, strength: float) -> list[int]:
    return [
        round(value + (channel - value) * strength)
        for channel in colour
        for value in range(256)
    ]
