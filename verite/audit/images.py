"""Image files: format, size and perceptual hash."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from verite.similar import hash_picture

__all__ = ["ImageFile", "read_files"]

_MOST_PIXELS = 100_000_000


class ImageFile(NamedTuple):
    """Properties of an image file, and its perceptual hash."""

    format: str
    mode: str
    width: int
    height: int
    bytes: int
    hash: np.ndarray


def read_files(
    folder: Path, paths: Mapping[str, str]
) -> tuple[dict[str, ImageFile], list[str]]:
    """Open the image files of a folder, by id.

    Also returns the ids of files that are missing, broken, too large, or outside the
    folder.
    """
    files: dict[str, ImageFile] = {}
    bad: list[str] = []
    root = folder.resolve()
    for image_id, name in paths.items():
        path = (root / name).resolve()
        try:
            if root not in path.parents:
                raise ValueError("outside the folder")
            with warnings.catch_warnings(), Image.open(path) as picture:
                warnings.simplefilter("ignore")  # odd metadata do not matter here
                if picture.width * picture.height > _MOST_PIXELS:
                    raise ValueError("too many pixels")
                files[image_id] = ImageFile(
                    picture.format or "",
                    picture.mode,
                    picture.width,
                    picture.height,
                    path.stat().st_size,
                    hash_picture(picture),
                )
        except (OSError, ValueError, Image.DecompressionBombError, SyntaxError):
            bad.append(image_id)
    return files, bad
