"""The newsroom among the data sets: generated, no file needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verite.dataset import Card, Dataset
from verite.files import check_overwrite, write_csv
from verite.newsroom import make

__all__ = ["CARD", "load", "needs", "write_newsroom"]

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


def write_newsroom(
    out: Path,
    *,
    preset: str = "verite",
    events: int = 200,
    seed: int = 0,
    knobs: Mapping[str, str],
    force: bool = False,
) -> list[str]:
    """Write a newsroom as ``pairs.csv`` and a folder of images; returns lines to print.

    Parameters
    ----------
    knobs
        Text by name, as :func:`verite.newsroom.knobs.parse_knobs` reads it.
    """
    from verite.newsroom.knobs import parse_knobs

    table = out / "pairs.csv"
    check_overwrite(table, force)
    world = load(
        events, seed, preset, out / "images", encoder=None, **parse_knobs(knobs)
    )
    pairs = world.pairs.assign(
        image_path=[f"images/{Path(path).name}" for path in world.pairs["image_path"]]
    )
    write_csv(table, pairs)
    return [
        world.card.title,
        f"{len(pairs):,} pairs: {table}",
        f"{pairs['image_id'].nunique():,} images: {out / 'images'}",
    ]
