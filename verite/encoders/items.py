"""Items to encode (images, captions), their preparation in threads, and the result."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from PIL import Image

from verite.embeddings import Embeddings

if TYPE_CHECKING:
    import torch

__all__ = [
    "Advance",
    "Encoded",
    "Run",
    "ahead",
    "fingerprint",
    "identity",
    "shown",
    "stack",
]

Advance = Callable[[int], object]
"""Reports how many more items are encoded."""

Run = Callable[["Callable[[Any, torch.dtype], torch.Tensor]"], np.ndarray]
"""Calls a function with the model in the chosen precision."""


@dataclass(frozen=True)
class Encoded:
    """Vectors, and a ledger of failed and changed items.

    Attributes
    ----------
    embeddings
        One float32 vector per id that could be encoded, in the given order.
    ledger
        One row per id that failed or was changed, in the given order. Columns: ``id``;
        ``source``, the path or the caption; ``status``, ``failed`` (no vector) or
        ``handled``; ``what``, the reason or the change.
    """

    embeddings: Embeddings
    ledger: pd.DataFrame


def identity(item: Any, what: str) -> Hashable:
    """Key under which equal items are encoded once."""
    if what == "caption":
        return repr(item)
    return id(item) if isinstance(item, Image.Image) else os.path.abspath(item)


def fingerprint(item: Any, what: str) -> Any:
    """What distinguishes an item from any other: text, file status or pixels."""
    if what == "caption":
        return ascii(item)
    if not isinstance(item, Image.Image):
        path = os.path.abspath(item)
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return [path, "missing"]
        return [path, status.st_size, status.st_mtime_ns]
    try:
        pixels = hashlib.sha256(item.tobytes()).hexdigest()
    except Exception as error:  # an image that is read only now, from a damaged file
        pixels = f"damaged: {error}"
    palette = item.getpalette() if item.mode == "P" else None
    return [item.mode, item.size, pixels, palette, repr(item.info.get("transparency"))]


def shown(item: object) -> str:
    """An item as a ledger shows it: its path, its caption or its size."""
    if isinstance(item, Image.Image):
        return f"{item.mode} image of {item.width} × {item.height}"
    text = os.fspath(item) if isinstance(item, os.PathLike) else str(item)
    # Half a character (a lone surrogate) can neither be written nor held by pyarrow.
    return text.encode("utf8", "backslashreplace").decode("utf8")


def ahead(
    work: Callable[[Any], Any], items: Mapping[str, Any], threads: int, limit: int
) -> Iterator[tuple[str, Any]]:
    """Results in order, computed in threads; at most ``limit`` of them wait."""
    waiting: deque[tuple[str, Future[Any]]] = deque()
    queue = iter(items.items())
    with ThreadPoolExecutor(threads, thread_name_prefix="decode") as pool:
        try:
            while True:
                for id_, item in itertools.islice(queue, limit - len(waiting)):
                    waiting.append((id_, pool.submit(work, item)))
                if not waiting:
                    return
                id_, future = waiting.popleft()
                yield id_, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def stack(batches: list[np.ndarray]) -> np.ndarray:
    """One matrix of the vectors of all batches."""
    return np.concatenate(batches) if batches else np.empty((0, 0), dtype=np.float32)
