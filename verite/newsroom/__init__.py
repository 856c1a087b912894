"""The newsroom: a small synthetic world, which needs neither real data nor a GPU.

:func:`make` makes data sets with the structure of benchmarks and the biases that
:class:`Knobs` and :data:`PRESETS` set. Its parts can be used alone:
:func:`sample_events` and :func:`vary` make events, :func:`draw` and :func:`caption`
turn them into images and captions. With all knobs at zero neither image nor caption
alone predicts the label. It is for teaching; it is not evidence.
"""

from __future__ import annotations

from pathlib import Path

from verite.encoders import register_encoder
from verite.newsroom.captions import (
    GIVEAWAYS,
    HOUSE_STYLE,
    OPENERS,
    WORDINGS,
    caption,
    entities,
)
from verite.newsroom.dataset import make
from verite.newsroom.draw import SIZE, draw
from verite.newsroom.knobs import PRESETS, Knobs, Preset
from verite.newsroom.world import (
    ENTITIES,
    VALUES,
    VISIBLE,
    Event,
    alternatives,
    differences,
    sample_events,
    vary,
)

__all__ = [
    "ENTITIES",
    "GIVEAWAYS",
    "HOUSE_STYLE",
    "OPENERS",
    "PRESETS",
    "SIZE",
    "VALUES",
    "VISIBLE",
    "WORDINGS",
    "Event",
    "Knobs",
    "Preset",
    "alternatives",
    "caption",
    "differences",
    "draw",
    "entities",
    "make",
    "sample_events",
    "vary",
]


def _clip() -> tuple[str, Path]:
    from verite.newsroom.clip import load_newsroom_clip

    return load_newsroom_clip()


register_encoder("newsroom", _clip)
