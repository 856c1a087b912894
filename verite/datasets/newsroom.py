"""The newsroom among the data sets: generated, no file needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verite.dataset import Card, Dataset
from verite.newsroom import make

__all__ = ["CARD", "load", "needs"]

CARD = Card(
    name="newsroom",
    title="Newsroom: a made-up world of events, pictures and captions",
    source="drawn and written by verite.newsroom",
    licence="Apache-2.0",
    citation="",
    synthetic=True,
    notes="It is made up: it teaches, and is no evidence about real misinformation.",
)


def needs(
    events: int = 200, seed: int = 0, preset: str = "verite", **options: Any
) -> tuple[str, ...]:
    """No file is read, whatever the options."""
    return ()


def load(
    events: int = 200,
    seed: int = 0,
    preset: str = "verite",
    image_dir: Path | None = None,
    encoder: str | None = "newsroom",
    **knobs: Any,
) -> Dataset:
    """Make the world that :func:`verite.newsroom.make` describes.

    >>> load(events=1, preset="cosmos", encoder=None).pairs["label"].tolist()
    ['true', 'misinformation']
    """
    return make(
        events=events,
        seed=seed,
        preset=preset,
        image_dir=image_dir,
        encoder=encoder,
        **knobs,
    )
