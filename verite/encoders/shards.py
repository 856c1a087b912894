"""Encoding in shards: each is one file that is there whole or not at all, so that long
work can stop anywhere.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from PIL import Image

from verite.blocks import content_key
from verite.embeddings import Embeddings
from verite.errors import DataError
from verite.files import read_text, write_json

__all__ = ["Ledger", "Shard", "fingerprint", "run_shards"]

Ledger = dict[str, tuple[str, str]]
"""By id: ``failed`` or ``handled``, and what about it."""

T = TypeVar("T")


@dataclass(frozen=True)
class Shard(Generic[T]):
    """What became of some items.

    Vectors, float32 of shape ``(len(ids), dimensions)``, and a ledger.
    """

    ids: list[str]
    vectors: np.ndarray
    ledger: Ledger


def run_shards(
    items: Mapping[str, T],
    work: Callable[[dict[str, T], Callable[[int], object]], Shard[T]],
    *,
    size: int,
    directory: str | os.PathLike[str] | None,
    encoder: str,
    about: Mapping[str, str],
    progress: str,
) -> tuple[dict[str, np.ndarray], Ledger]:
    """Encode items a shard at a time.

    Shards that lie whole in ``directory`` are read instead.

    Parameters
    ----------
    work
        Encodes one shard; it calls its second argument with how many items it has just
        done.
    size
        Items a shard.
    directory
        Where shards are kept; None keeps none.
    encoder, about
        What the vectors depend on beside the items: they stand in each file and, with
        the items, name it.
    progress
        What the progress bar is called; empty shows none.

    Returns
    -------
    vectors : dict
        By id, of those that could be encoded.
    ledger : dict
        By id, of those that could not, or were changed.
    """
    from tqdm import tqdm

    vectors: dict[str, np.ndarray] = {}
    ledger: Ledger = {}
    with tqdm(total=len(items), desc=progress, unit="", disable=not progress) as bar:
        for part in _parts(items, size):
            place = None
            if directory is not None:
                key = content_key(
                    encoder,
                    dict(about),
                    list(part),
                    [fingerprint(item) for item in part.values()],
                )
                place = Path(directory) / f"{key}.safetensors"
            shard: Shard[T] | None = (
                None if place is None else _read(place, list(part), encoder)
            )
            if shard is not None:
                bar.update(len(part))
            else:
                shard = work(part, bar.update)
                if place is not None:
                    _write(place, shard, encoder, about)
            vectors.update(zip(shard.ids, shard.vectors, strict=True))
            ledger.update(shard.ledger)
    return vectors, ledger


def fingerprint(item: object) -> Any:
    """Give what tells an item from another one.

    A text itself, a file's path, size and time, an image's pixels.

    >>> fingerprint("A boat.")
    'A boat.'
    """
    if isinstance(item, Image.Image):
        try:
            pixels = hashlib.sha256(item.tobytes()).hexdigest()
        except Exception as error:  # as in decoding: a damaged file behind an image that is not loaded yet
            return [item.mode, item.size, f"broken: {error}"]
        return [
            item.mode,
            item.size,
            pixels,
            item.getpalette() if item.mode == "P" else None,
            repr(item.info.get("transparency")),
        ]
    if isinstance(item, os.PathLike):
        try:
            found = os.stat(item)
        except (OSError, ValueError):
            return [os.path.abspath(item), "missing"]
        return [os.path.abspath(item), found.st_size, found.st_mtime_ns]
    return item


def _parts(items: Mapping[str, T], size: int) -> Iterator[dict[str, T]]:
    listed = iter(items.items())
    while part := dict(itertools.islice(listed, size)):
        yield part


def _write(
    place: Path, shard: Shard[T], encoder: str, about: Mapping[str, str]
) -> None:
    if not shard.ids:  # a file of embeddings holds at least one
        write_json(place.with_suffix(".json"), {"ledger": shard.ledger})
        return
    kept = {
        "ledger": json.dumps(shard.ledger, ensure_ascii=False),
        "sha256": hashlib.sha256(shard.vectors.data).hexdigest(),
    }
    Embeddings(shard.ids, shard.vectors, encoder=encoder, about={**about, **kept}).save(
        place
    )


def _read(place: Path, ids: list[str], encoder: str) -> Shard[T] | None:
    """Read a shard, or None if there is none or it is damaged."""
    try:
        if place.exists():
            kept = Embeddings.load(place)
            vectors = kept.rows(kept.ids)
            if kept.encoder != encoder or hashlib.sha256(
                vectors.data
            ).hexdigest() != kept.about.get("sha256"):
                return None
            shard: Shard[T] = Shard(
                list(kept.ids), vectors, _parse(json.loads(kept.about["ledger"]))
            )
        elif (alone := place.with_suffix(".json")).exists():
            shard = Shard(
                [],
                np.empty((0, 0), dtype=np.float32),
                _parse(json.loads(read_text(alone))["ledger"]),
            )
        else:
            return None
    except (DataError, ValueError, KeyError, TypeError):
        return None
    failed = {key for key, (status, _) in shard.ledger.items() if status == "failed"}
    return shard if set(shard.ids) | failed == set(ids) else None


def _parse(ledger: Mapping[str, Any]) -> Ledger:
    return {key: (str(status), str(what)) for key, (status, what) in ledger.items()}
