"""The newsroom: a small synthetic world for readers without data and classes without a GPU.

:func:`make` gives a data set with the balance of VERITE. Its parts can be used alone: :func:`sample_events` and
:func:`vary` make events, :func:`draw` and :func:`caption` show and tell them. The world is built so that
neither image nor caption alone tells anything. It teaches; it is not evidence.
"""

from __future__ import annotations

from verite.newsroom.captions import WORDINGS, caption
from verite.newsroom.dataset import make
from verite.newsroom.draw import draw
from verite.newsroom.features import encode_captions, encode_images
from verite.newsroom.world import VALUES, VISIBLE, Event, alternatives, differences, sample_events, vary

__all__ = [
    "VALUES",
    "VISIBLE",
    "WORDINGS",
    "Event",
    "alternatives",
    "caption",
    "differences",
    "draw",
    "encode_captions",
    "encode_images",
    "make",
    "sample_events",
    "vary",
]
