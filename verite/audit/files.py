"""Image files: format and size, and a hash that nearly equal pictures share."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image
from scipy.fft import dctn

__all__ = ["ImageFile", "near_files", "read_files"]

_SIDE = 32
_BITS = 63
_CLOSE = 4  # bits of 63 in which two pictures may differ
_PIXELS = 100_000_000


class ImageFile(NamedTuple):
    """What a file says of itself, and its perceptual hash."""

    format: str
    mode: str
    width: int
    height: int
    bytes: int
    hash: int


def read_files(
    folder: Path, paths: dict[str, str]
) -> tuple[dict[str, ImageFile], list[str]]:
    """Open the files of images, by id.

    And name those that are missing, broken, too large, or outside the folder.

    The hash is the sign of the lowest 8 × 8 cosine frequencies, but for the mean, of
    the picture in grey at 32 × 32.
    """
    found: dict[str, ImageFile] = {}
    bad: list[str] = []
    root = folder.resolve()
    for image_id, name in paths.items():
        path = (root / name).resolve()
        try:
            if root not in path.parents:
                raise ValueError("outside the folder")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # odd metadata are no concern here
                with Image.open(path) as picture:
                    if picture.width * picture.height > _PIXELS:
                        raise ValueError("too many pixels")
                    kind, mode, width, height = (
                        picture.format or "",
                        picture.mode,
                        picture.width,
                        picture.height,
                    )
                    grey = np.asarray(
                        picture.convert("L").resize(
                            (_SIDE, _SIDE), Image.Resampling.BILINEAR
                        ),
                        dtype=float,
                    )
        except (OSError, ValueError, Image.DecompressionBombError, SyntaxError):
            bad.append(image_id)
            continue
        low = dctn(grey, norm="ortho")[:8, :8].ravel()[1:]
        bits = low > np.median(low)
        found[image_id] = ImageFile(
            kind,
            mode,
            width,
            height,
            path.stat().st_size,
            int("".join("01"[int(bit)] for bit in bits), 2),
        )
    return found, bad


def near_files(files: dict[str, ImageFile]) -> pd.DataFrame:
    """Pairs of images whose hashes differ in four bits at most.

    Of five parts of the hash one is then the same.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second``, ids, and ``similarity``, the share of bits in common.

    >>> near_files({name: ImageFile("PNG", "L", 1, 1, 1, bits) for name, bits in (("a", 0), ("b", 3), ("c", 2**40 - 1))})
      first second  similarity
    0     a      b    0.968254
    """
    ids = sorted(files)
    hashes = [files[one].hash for one in ids]
    found: dict[tuple[str, str], float] = {}
    for start in range(0, _BITS, 13):
        parts = pd.Series([(bits >> start) & (2**13 - 1) for bits in hashes])
        for rows in parts.groupby(parts).indices.values():
            for at, one in enumerate(rows):
                for other in rows[at + 1 :]:
                    apart = (hashes[one] ^ hashes[other]).bit_count()
                    if apart <= _CLOSE:
                        found[ids[one], ids[other]] = 1 - apart / _BITS
    rows_ = [(*pair, similarity) for pair, similarity in sorted(found.items())]
    return pd.DataFrame(rows_, columns=["first", "second", "similarity"])
