"""Clumsy photomontages.

What was pasted into a picture has a hard rim and takes no part in its light.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from verite.newsroom.canvas import BLACK, WHITE, Canvas, Colour, CutOut, Point, cut_out

__all__ = ["MONTAGES", "paste"]

_RIMS: tuple[Colour, ...] = ((255, 60, 220), (90, 255, 90), (255, 255, 255))


def paste(canvas: Canvas, kind: str, rng: np.random.Generator) -> None:
    """Paste something where it cannot be.

    In the sky at the right, so that all else stays in view.
    """
    rim = int(rng.integers(len(_RIMS)))
    x, y = rng.uniform(-0.8, 0.8, 2).tolist()
    _, size, (anchor_x, anchor_y) = _KINDS[kind]
    canvas.stamp(
        _montage(kind, rim, round(size * canvas.pixels)), anchor_x + x, anchor_y + y
    )


@lru_cache(maxsize=32)
def _montage(kind: str, rim: int, pixels: int) -> CutOut:
    return cut_out(_KINDS[kind][0], pixels, rim=_RIMS[rim], width=1.2)


def _shark(canvas: Canvas, x: float, y: float) -> None:
    grey, pale = (112, 134, 156), (226, 234, 240)
    canvas.shape(
        grey, (x + 3, y - 7), (x + 6, y - 13), (x + 8, y - 6)
    )  # it leaps to the left
    canvas.shape(
        grey, (x + 13, y - 2), (x + 18, y - 8), (x + 16, y - 1), (x + 18, y + 5)
    )
    canvas.shape(
        grey,
        (x - 12, y - 3),
        (x - 5, y - 7.4),
        (x + 4, y - 7.6),
        (x + 15, y - 2),
        (x + 4, y + 3),
        (x - 6, y + 3),
    )
    canvas.shape(
        pale,
        (x - 11, y - 1.4),
        (x + 4, y),
        (x + 12, y - 1),
        (x + 4, y + 3),
        (x - 6, y + 3),
    )
    canvas.shape(grey, (x, y + 0.5), (x + 5, y + 0.5), (x + 5, y + 6))
    canvas.shape((190, 30, 50), (x - 11, y - 0.8), (x - 4, y - 2), (x - 5, y + 2.4))
    for tooth in range(3):
        canvas.shape(
            WHITE,
            (x - 9.8 + 2 * tooth, y - 1.2),
            (x - 8 + 2 * tooth, y - 1.4),
            (x - 8.8 + 2 * tooth, y + 0.4),
        )
    canvas.oval(x - 5.6, y - 4.4, 0.9, 0.9, BLACK)


def _duck(canvas: Canvas, x: float, y: float) -> None:
    yellow = (255, 226, 30)
    canvas.oval(x + 3, y - 5, 10, 6, yellow)
    canvas.shape(yellow, (x + 8, y - 7), (x + 15, y - 12), (x + 12, y - 3))
    canvas.oval(x - 4, y - 13, 5.4, 5.4, yellow)
    canvas.oval(x + 4, y - 5.4, 5, 3, (240, 190, 0))
    canvas.shape(
        (255, 110, 20), (x - 8.4, y - 14.6), (x - 13, y - 12), (x - 8.4, y - 10.6)
    )
    canvas.oval(x - 5.4, y - 14.6, 1.1, 1.3, BLACK)
    canvas.oval(x - 5.7, y - 15, 0.4, 0.4, WHITE)


def _saucer(canvas: Canvas, x: float, y: float) -> None:
    canvas.oval(x, y - 3, 5.6, 5.4, (130, 230, 240))
    canvas.oval(x, y - 3.4, 1.9, 2.6, (90, 200, 70))  # a pilot
    for side in (-1, 1):
        canvas.oval(x + 0.9 * side, y - 4, 0.6, 0.9, BLACK)
    canvas.oval(x, y + 0.6, 12.5, 3.6, (176, 180, 192))
    canvas.oval(x, y - 0.2, 12.3, 2.4, (222, 226, 234))
    for lamp in (-9, -4.5, 0, 4.5, 9):
        canvas.oval(x + lamp, y + 1.7, 1, 0.9, (255, 70, 70))


def _cat(canvas: Canvas, x: float, y: float) -> None:
    fur, dark = (240, 150, 60), (180, 96, 30)
    for side in (-1, 1):
        canvas.shape(
            fur,
            (x + 8.6 * side, y - 8),
            (x + 7.6 * side, y - 19),
            (x + 1.5 * side, y - 13),
        )
        canvas.shape(
            (250, 180, 170),
            (x + 7.4 * side, y - 11),
            (x + 7 * side, y - 16.4),
            (x + 3.6 * side, y - 13),
        )
    canvas.oval(x, y - 6.6, 9.4, 8, fur)
    for stripe in (-2.6, 0, 2.6):
        canvas.line(dark, (x + stripe, y - 14), (x + 0.7 * stripe, y - 11), width=1)
    for side in (-1, 1):
        canvas.oval(x + 3.8 * side, y - 8, 2, 2.2, (190, 240, 80))
        canvas.oval(x + 3.8 * side, y - 8, 0.7, 2, BLACK)
        canvas.oval(x + 1.7 * side, y - 3, 2.4, 1.8, WHITE)
        for whisker in (-3.6, -2):
            canvas.line(
                WHITE,
                (x + 3 * side, y - 3),
                (x + 11 * side, y + 2 * whisker + 2.5),
                width=0.4,
            )
    canvas.shape((236, 90, 110), (x - 1.3, y - 5), (x + 1.3, y - 5), (x, y - 3.4))


# What is pasted, how large, and where its anchor comes to lie.
_KINDS: Mapping[str, tuple[Callable[[Canvas, float, float], None], float, Point]] = {
    "shark": (_shark, 0.7, (51.5, 17)),
    "duck": (_duck, 0.74, (53, 22)),
    "saucer": (_saucer, 0.78, (53, 15)),
    "cat": (_cat, 0.85, (53.5, 23)),
}

MONTAGES = tuple(_KINDS)
"""What can be pasted into a picture."""
