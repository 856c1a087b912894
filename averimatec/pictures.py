"""Copies of pictures: perceptual hashes that also survive quarter turns and mirroring.

Two pictures of one scene have different hashes: this finds copies, not likeness.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PIL import Image

from verite.encoders.pictures import open_picture
from verite.similar import HASH_BITS, hash_picture

COPY = 6
"""Bits of 64 up to which two hashes are taken for one picture's."""

_TURNS = (
    None,
    Image.Transpose.ROTATE_90,
    Image.Transpose.ROTATE_180,
    Image.Transpose.ROTATE_270,
    Image.Transpose.FLIP_LEFT_RIGHT,
    Image.Transpose.FLIP_TOP_BOTTOM,
    Image.Transpose.TRANSPOSE,
    Image.Transpose.TRANSVERSE,
)


def picture_hash(path: str | os.PathLike[str]) -> np.ndarray:
    """Hashes of a picture and of its quarter turns and mirror images.

    Shape (8, 64), truth values; the first is its own.
    """
    changed = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
    return _hash(os.fspath(path), changed)


def hash_distance(first: np.ndarray, second: np.ndarray) -> int:
    """Fewest bits, 0 to 64, in which two pictures differ, turned or mirrored.

    >>> import tempfile
    >>> from verite.newsroom import draw, sample_events
    >>> folder = tempfile.mkdtemp()
    >>> pictures = [draw(event) for event in sample_events(2, np.random.default_rng(0))]
    >>> pictures.append(pictures[0].resize((300, 100)).rotate(90, expand=True))
    >>> for name, picture in zip("abc", pictures):
    ...     picture.save(f"{folder}/{name}.png")
    >>> a, b, c = (picture_hash(f"{folder}/{name}.png") for name in "abc")
    >>> hash_distance(a, c) <= COPY < hash_distance(a, b)
    True
    """
    # A turned picture's hash is not exactly that of its turned copy: try both ways.
    return int(
        min(
            (one != other[0]).sum(axis=1).min()
            for one, other in ((first, second), (second, first))
        )
    )


def hash_similarity(
    first: Sequence[str | os.PathLike[str]], second: Sequence[str | os.PathLike[str]]
) -> np.ndarray:
    """Similarity of pictures by their hashes, shape (n, m).

    1 up to :data:`COPY` bits, 0 from 32 on, linear between them.
    """
    rows, columns = ([picture_hash(path) for path in side] for side in (first, second))
    bits = np.array(
        [[hash_distance(row, column) for column in columns] for row in rows], float
    )
    return np.clip((HASH_BITS / 2 - bits) / (HASH_BITS / 2 - COPY), 0, 1)


@lru_cache(maxsize=16_384)
def _hash(path: str, _: int) -> np.ndarray:
    picture, _note = open_picture(path)
    turned = (
        picture.transpose(turn) if turn is not None else picture for turn in _TURNS
    )
    hashes = np.array([hash_picture(copy) for copy in turned])
    hashes.flags.writeable = False
    return hashes
