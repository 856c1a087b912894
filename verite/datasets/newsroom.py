"""The newsroom among the data sets: made on the spot, no file needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verite.dataset import Card, Dataset
from verite.newsroom import make

__all__ = ["card", "load", "needs"]


def needs(
    events: int = 200, seed: int = 0, preset: str = "verite", **options: Any
) -> tuple[str, ...]:
    """No file is read, whatever the options."""
    return ()


def card(preset: str = "verite") -> Card:
    """Card of a preset, with the balance of labels in two events."""
    return load(events=2, preset=preset, encoder=None).card


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
