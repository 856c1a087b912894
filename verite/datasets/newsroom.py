"""The newsroom among the data sets: made on the spot, no file needed."""

from __future__ import annotations

from pathlib import Path

from verite.datasets.base import Dataset

__all__ = ["load", "needs"]


def needs(events: int = 200, seed: int = 0, image_dir: Path | None = None) -> tuple[str, ...]:
    """No file is read, whatever the options."""
    return ()


def load(events: int = 200, seed: int = 0, image_dir: Path | None = None) -> Dataset:
    """Make the world that :func:`verite.newsroom.make` describes."""
    from verite.newsroom import make

    return make(events=events, seed=seed, image_dir=image_dir)
