"""Are two pictures one? A perceptual hash that survives resizing, recompression,
quarter turns and mirroring.

The hash keeps, of a small grey copy, which low frequencies lie above their median (a
discrete cosine transform, 64 bits). Pictures of one scene taken twice differ in it: it
finds copies, not likeness.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PIL import Image
from scipy.fft import dctn
from scipy.optimize import linear_sum_assignment

from verite.encoders.pictures import open_picture

__all__ = ["COPY", "hash_distance", "hash_similarity", "picture_hash", "set_score"]

COPY = 6
"""Bits of 64 up to which two hashes are taken for one picture's.

Those of any two pictures differ in 32 on average.
"""

_SMALL = 32


def picture_hash(path: str | os.PathLike[str]) -> np.ndarray:
    """Hashes of a picture and of its quarter turns and mirror images.

    Shape (8, 64), truth values; the first is its own.

    Raises
    ------
    MissingDataError, DataError
        There is no such file, or it is no picture.
    """
    return _hash(
        os.fspath(path), os.stat(path).st_mtime_ns if os.path.exists(path) else 0
    )


def hash_distance(one: np.ndarray, other: np.ndarray) -> int:
    """Fewest bits, 0 to 64, in which one picture's hash differs from the other's,
    turned or mirrored.

    >>> import tempfile
    >>> from verite.newsroom import draw, sample_events
    >>> folder, events = tempfile.mkdtemp(), sample_events(2, np.random.default_rng(0))
    >>> for name, event in zip("ab", events):
    ...     draw(event).save(f"{folder}/{name}.png")
    >>> draw(events[0]).resize((300, 100)).rotate(90, expand=True).save(f"{folder}/c.png")
    >>> a, b, c = (picture_hash(f"{folder}/{name}.png") for name in "abc")
    >>> hash_distance(a, c) <= COPY < hash_distance(a, b)
    True
    """
    # A turned picture's hash is not exactly that of its turned twin, so both ways are
    # tried.
    return int(
        min(
            (first != second[0]).sum(axis=1).min()
            for first, second in ((one, other), (other, one))
        )
    )


def set_score(similarity: np.ndarray) -> float:
    """How alike two sets are, 0 to 10, from the similarities of their members, shape
    (n, m), 0 to 1.

    Members are paired so that the sum is largest; what has no partner counts as not
    alike at all.

    >>> set_score(np.array([[1.0, 0.2], [0.9, 0.0]]))
    5.5
    """
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return float(10 * similarity[rows, columns].sum() / max(similarity.shape))


def hash_similarity(
    first: Sequence[str | os.PathLike[str]], second: Sequence[str | os.PathLike[str]]
) -> np.ndarray:
    """Similarity of pictures by their hashes, shape (n, m).

    1 up to :data:`COPY` bits, 0 from 32 on, between them in a line.
    """
    ones, others = ([picture_hash(path) for path in paths] for paths in (first, second))
    bits = np.array(
        [[hash_distance(one, other) for other in others] for one in ones], dtype=float
    )
    return np.clip((32 - bits) / (32 - COPY), 0, 1)


@lru_cache(maxsize=16_384)
def _hash(path: str, _: int) -> np.ndarray:
    picture, _note = open_picture(path)
    grey = np.asarray(
        picture.convert("L").resize((_SMALL, _SMALL), Image.Resampling.BOX), dtype=float
    )
    hashes = []
    for turned in (
        np.rot90(side, turns) for side in (grey, grey.T) for turns in range(4)
    ):
        low = dctn(turned, norm="ortho")[:8, :8].ravel()
        hashes.append(
            low > np.median(low[1:])
        )  # the first one is the mean, which is no pattern
    found = np.array(hashes)
    found.flags.writeable = False
    return found
