"""The newsroom: a small synthetic world for readers without data and classes without a
GPU.

:func:`make` gives data sets as benchmarks are, with biases as :class:`Knobs` and
:data:`PRESETS` set them. Its parts can be used alone: :func:`sample_events` and
:func:`vary` make events, :func:`draw` and :func:`caption` show and tell them. With all
knobs at zero neither image nor caption alone tells anything. It teaches; it is not
evidence.
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
