"""Pictures as they come.

Whatever a file holds is made plain RGB, or it is said why not.

Nothing here is silent. A picture that cannot be read raises an error with the reason;
one that was changed in a way that its file does not show (laid on white, turned, cut
down, one frame of several) comes with a note.
"""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from verite.errors import DataError
from verite.files import require_file

__all__ = ["FORMATS", "Source", "decode", "open_picture"]

Source = str | os.PathLike[str] | Image.Image

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "JPEG2000", "AVIF")
"""What is read. Pillow knows more, but some of those start other programs, and none is
common on the web.
"""

_PIXELS = 64_000_000  # decoded at once: 256 MB as RGBA
_SIDES = 100  # how many times longer than wide; resizing a thread of pixels to a model's input would take gigabytes
_TURNED = {
    2: "mirrored",
    3: "turned by 180°",
    4: "mirrored",
    5: "mirrored and turned",
    6: "turned",
    7: "mirrored and turned",
    8: "turned",
}
_ORIENTATION = 0x0112


def open_picture(source: Source) -> tuple[Image.Image, str]:
    """Open a picture as RGB, whatever its file holds.

    Parameters
    ----------
    source
        Path of a file, or a Pillow image, which is not changed. Not a URL: nothing is
        downloaded.

    Returns
    -------
    picture : PIL.Image.Image
        RGB. Transparent parts lie on white; 16-bit greys and floats are scaled to 8
        bits; it stands upright as its EXIF says; of several frames it is the first.
    note : str
        What was changed in a way that one should know, or an empty text. Lossless
        conversions (a palette, greys) are not worth a note.

    Raises
    ------
    MissingDataError
        There is no such file.
    DataError
        It is no picture, it is cut short, or it is too large: over 64 million pixels (a
        JPEG, which can be decoded at ½, ¼ or ⅛ of its size, over 178 million) or a
        hundred times longer than wide.

    >>> picture, note = open_picture(Image.new("LA", (2, 1), (0, 0)))
    >>> picture.getpixel((0, 0)), note
    ((255, 255, 255), 'transparent parts laid on white')
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return decode(source)


def decode(source: Source) -> tuple[Image.Image, str]:
    """Do what :func:`open_picture` does, for threads.

    Pillow's warnings are left for the caller to silence.

    (Filters of warnings belong to the whole process; threads that set and reset them
    undo each other.)
    """
    if isinstance(source, Image.Image):
        return _guarded(source, "image", [])
    name = os.fspath(source)
    if "://" in name:
        raise DataError(
            f"{name}: expected a file, found a URL. Nothing is downloaded here: fetch"
            " it first."
        )
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        mode = 0  # require_file says what is wrong
    if mode and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DataError(f"{name}: expected a file, found a pipe or a device.")
    require_file(path)
    try:
        with Image.open(path, formats=FORMATS) as opened:
            notes: list[str] = []
            _shrink(opened, notes)
            return _guarded(opened, name, notes)
    except UnidentifiedImageError as error:
        raise DataError(
            f"{name}: no picture, or of no kind that is read ({', '.join(FORMATS)})."
        ) from error
    except Image.DecompressionBombError as error:
        raise DataError(
            f"{name}: too large to be decoded ({error}). Scale it down."
        ) from error
    except DataError:
        raise
    except (
        Exception
    ) as error:  # a damaged header makes decoders raise all sorts of errors
        raise DataError(
            f"{name}: cannot be read ({type(error).__name__}: {error})."
        ) from error


def _shrink(opened: Image.Image, notes: list[str]) -> None:
    """Let a JPEG decoder leave pixels out where there are too many of them."""
    width, height = opened.size
    if opened.format in ("JPEG", "MPO") and width * height > _PIXELS:
        scale = next(
            (scale for scale in (2, 4, 8) if width * height <= _PIXELS * scale**2), 8
        )
        opened.draft(None, (width // scale, height // scale))
        notes.append(
            f"{width:,} × {height:,} pixels, decoded as {opened.width:,} ×"
            f" {opened.height:,}"
        )


def _guarded(
    image: Image.Image, name: str, notes: list[str]
) -> tuple[Image.Image, str]:
    width, height = image.size
    if min(width, height) == 0:
        raise DataError(f"{name}: {width} × {height} pixels: nothing to see.")
    if width * height > _PIXELS:
        raise DataError(
            f"{name}: {width:,} × {height:,} pixels; at most {_PIXELS:,} are decoded."
            " Scale it down."
        )
    if max(width, height) > _SIDES * min(width, height):
        raise DataError(
            f"{name}: {width:,} × {height:,} pixels: over {_SIDES} times longer than"
            " wide. Crop it."
        )
    try:
        if getattr(image, "is_animated", False):
            notes.append("first of several frames")
        image.load()
        picture = _as_rgb(_upright(image, notes), notes)
    except DataError as error:
        raise DataError(f"{name}: {error}") from error
    except Exception as error:  # decoders of damaged files raise all sorts of errors; each is this file's own fault
        raise DataError(
            f"{name}: cannot be decoded ({type(error).__name__}: {error}). It may be"
            " cut short."
        ) from error
    return picture, "; ".join(notes)


def _upright(image: Image.Image, notes: list[str]) -> Image.Image:
    try:
        orientation = image.getexif().get(_ORIENTATION, 1)
        if orientation not in _TURNED:
            return image
        turned = ImageOps.exif_transpose(image)
    except Exception:  # damaged EXIF in an intact picture
        notes.append("its EXIF cannot be read, so it was not turned")
        return image
    notes.append(f"{_TURNED[orientation]}, as its EXIF says")
    return turned


def _as_rgb(image: Image.Image, notes: list[str]) -> Image.Image:
    if image.mode == "F" or image.mode.startswith("I"):
        return _to_eight_bits(image, notes)
    if image.has_transparency_data:
        whole = image.convert("RGBA")
        if whole.getchannel("A").getextrema() != (255, 255):
            notes.append("transparent parts laid on white")
            white = Image.new("RGBA", whole.size, "white")
            white.alpha_composite(whole)
            whole = white
        return whole.convert("RGB")
    if image.mode in ("CMYK", "LAB", "HSV", "YCbCr"):
        notes.append(f"{image.mode} turned into RGB without a colour profile")
    return image if image.mode == "RGB" else image.convert("RGB")


def _to_eight_bits(image: Image.Image, notes: list[str]) -> Image.Image:
    """Scale greys of 16 or 32 bits, which Pillow would clip at 255, and so turn white."""
    values = np.asarray(image, dtype=np.float32)
    if not np.isfinite(values).all():
        raise DataError("holds NaN or infinity.")
    low, high = float(values.min()), float(values.max())
    if image.mode == "F" and low >= 0 and high <= 1:
        top, found = 1.0, "floats between 0 and 1"
    elif image.mode != "F" and low >= 0 and high <= 65_535:
        top, found = 65_535.0, "16-bit greys"
    else:
        values, top, found = (
            values - low,
            (high - low) or 1.0,
            f"greys between {low:g} and {high:g}",
        )
    notes.append(f"{found} scaled to 8 bits")
    return Image.fromarray(np.rint(values * (255 / top)).astype(np.uint8)).convert(
        "RGB"
    )
