"""Images as they come, made plain RGB or refused with a reason.

An image that was changed in a way that its file does not show (put on white, rotated,
reduced, one frame of several) comes with a note.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from verite.errors import DataError, MissingDataError
from verite.files import require_file

__all__ = ["FORMATS", "Source", "decode", "open_picture", "preprocessing"]

Source = str | os.PathLike[str] | Image.Image

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "JPEG2000", "AVIF")
"""Formats that are read. Some others that Pillow knows start other programs."""

_PIXELS = 64_000_000  # decoded at once: 256 MB as RGBA
_RATIO = 100  # resizing a longer strip to a model's input would take gigabytes
_ORIENTATION = 0x0112  # EXIF tag
_ROTATED = {
    2: "mirrored",
    3: "rotated by 180°",
    4: "mirrored",
    5: "mirrored and rotated",
    6: "rotated",
    7: "mirrored and rotated",
    8: "rotated",
}


def open_picture(source: Source) -> tuple[Image.Image, str]:
    """Open an image as RGB.

    Parameters
    ----------
    source
        Path of a file, or a Pillow image, which is not changed. Not a URL: nothing is
        downloaded.

    Returns
    -------
    picture : PIL.Image.Image
        RGB. Transparent parts are put on white; 16-bit greys and floats are scaled to
        8 bits; it is upright as its EXIF says; of several frames it is the first.
    note : str
        Changes that a user should know, or an empty text. Lossless conversions (a
        palette, greys) need no note.

    Raises
    ------
    MissingDataError
        There is no such file.
    DataError
        No image, a truncated one, or a too large one: over 64 million pixels (a JPEG,
        which can be decoded at ½, ¼ or ⅛ of its size, over 178 million) or a hundred
        times longer than wide.

    >>> picture, note = open_picture(Image.new("LA", (2, 1), (0, 0)))
    >>> picture.getpixel((0, 0)), note
    ((255, 255, 255), 'transparent parts laid on white')
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return decode(source)


def decode(source: Source) -> tuple[Image.Image, str]:
    """Do what :func:`open_picture` does, for threads.

    Pillow's warnings are left for the caller to silence: filters of warnings belong to
    the whole process, and threads that set and reset them undo each other.
    """
    if isinstance(source, Image.Image):
        return _to_rgb(source, "image", [])
    name = os.fspath(source)
    if "://" in name:
        raise DataError(
            f"{name}: expected a file, found a URL. Nothing is downloaded here: fetch"
            " it first."
        )
    path = Path(name)
    if "\0" in name:
        raise MissingDataError(f"no such file: {name!r}.")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(f"{name}: expected a file, found a pipe or a device.")
    require_file(path)
    try:
        with Image.open(path, formats=FORMATS) as image:
            return _to_rgb(image, name, _reduce(image))
    except DataError:
        raise
    except UnidentifiedImageError as error:
        raise DataError(
            f"{name}: not an image, or not in a format that is read"
            f" ({', '.join(FORMATS)})."
        ) from error
    except Image.DecompressionBombError as error:
        raise DataError(
            f"{name}: too large to be decoded ({error}). Scale it down."
        ) from error
    except Exception as error:  # damaged headers make decoders raise errors of any kind
        raise DataError(
            f"{name}: cannot be read ({type(error).__name__}: {error})."
        ) from error


def preprocessing(
    settings: Mapping[str, Any],
) -> tuple[Callable[..., Any], np.ndarray, np.ndarray]:
    """Resizing and cropping per image; mean and deviation to scale a batch with."""
    from open_clip.transform import PreprocessCfg, image_transform_v2
    from torchvision.transforms import Compose  # type: ignore[import-untyped]

    config = PreprocessCfg(**settings)
    *steps, _, scaling = image_transform_v2(config, is_train=False).transforms
    mean, deviation = (
        np.asarray(values, dtype=np.float32) for values in (scaling.mean, scaling.std)
    )
    return Compose(steps), mean, deviation


def _reduce(image: Image.Image) -> list[str]:
    """Let the JPEG decoder skip pixels where there are too many."""
    width, height = image.size
    if image.format not in ("JPEG", "MPO") or width * height <= _PIXELS:
        return []
    scale = next((s for s in (2, 4) if width * height <= _PIXELS * s**2), 8)
    image.draft(None, (width // scale, height // scale))
    size = f"{image.width:,} × {image.height:,}"
    return [f"{width:,} × {height:,} pixels, decoded as {size}"]


def _to_rgb(image: Image.Image, name: str, notes: list[str]) -> tuple[Image.Image, str]:
    width, height = image.size
    size = f"{name}: {width:,} × {height:,} pixels"
    if min(width, height) == 0:
        raise DataError(f"{size}: empty.")
    if width * height > _PIXELS:
        raise DataError(f"{size}; at most {_PIXELS:,} are decoded. Scale it down.")
    if max(width, height) > _RATIO * min(width, height):
        raise DataError(f"{size}: over {_RATIO} times longer than wide. Crop it.")
    try:
        if getattr(image, "is_animated", False):
            notes.append("first of several frames")
        image.load()
        picture = _convert(_upright(image, notes), notes)
    except DataError as error:
        raise DataError(f"{name}: {error}") from error
    except Exception as error:  # as above
        raise DataError(
            f"{name}: cannot be decoded ({type(error).__name__}: {error}). It may be"
            " truncated."
        ) from error
    return picture, "; ".join(notes)


def _upright(image: Image.Image, notes: list[str]) -> Image.Image:
    try:
        orientation = image.getexif().get(_ORIENTATION, 1)
        if orientation not in _ROTATED:
            return image
        upright = ImageOps.exif_transpose(image)
    except Exception:  # damaged EXIF in an intact image
        notes.append("its EXIF cannot be read, so it was not rotated")
        return image
    notes.append(f"{_ROTATED[orientation]}, as its EXIF says")
    return upright


def _convert(image: Image.Image, notes: list[str]) -> Image.Image:
    if image.mode == "F" or image.mode.startswith("I"):
        return _to_eight_bits(image, notes)
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        if rgba.getchannel("A").getextrema() != (255, 255):
            notes.append("transparent parts laid on white")
            white = Image.new("RGBA", rgba.size, "white")
            white.alpha_composite(rgba)
            rgba = white
        return rgba.convert("RGB")
    if image.mode in ("CMYK", "LAB", "HSV", "YCbCr"):
        notes.append(f"{image.mode} converted to RGB without a colour profile")
    return image if image.mode == "RGB" else image.convert("RGB")


def _to_eight_bits(image: Image.Image, notes: list[str]) -> Image.Image:
    """Scale greys of 16 or 32 bits, which Pillow would clip at 255."""
    values = np.asarray(image, dtype=np.float32)
    if not np.isfinite(values).all():
        raise DataError("holds NaN or infinity.")
    low, high = float(values.min()), float(values.max())
    if image.mode == "F" and low >= 0 and high <= 1:
        top, kind = 1.0, "floats between 0 and 1"
    elif image.mode != "F" and low >= 0 and high <= 65_535:
        top, kind = 65_535.0, "16-bit greys"
    else:
        top, kind = (high - low) or 1.0, f"greys between {low:g} and {high:g}"
        values = values - low
    notes.append(f"{kind} scaled to 8 bits")
    scaled = np.rint(values * (255 / top)).astype(np.uint8)
    return Image.fromarray(scaled).convert("RGB")
