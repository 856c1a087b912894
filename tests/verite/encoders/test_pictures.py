"""Every kind of file that a web page has been seen to call an image."""

from __future__ import annotations

import contextlib
import os
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from verite.encoders import open_picture
from verite.errors import DataError, MissingDataError

RAMP = np.tile(np.arange(0, 256, 8, dtype=np.uint8), (32, 1))
COLOURS = np.stack([RAMP, RAMP.T, 255 - RAMP], axis=-1)


def pixels(source: object) -> np.ndarray:
    picture, _ = open_picture(source)  # type: ignore[arg-type]
    assert picture.mode == "RGB"
    return np.asarray(picture)


# --- what is made RGB


def test_a_plain_picture_has_no_note(tmp_path: Path) -> None:
    Image.fromarray(COLOURS).save(tmp_path / "a.png")
    picture, note = open_picture(tmp_path / "a.png")
    np.testing.assert_array_equal(np.asarray(picture), COLOURS)
    assert note == ""


def test_a_palette_is_looked_up(tmp_path: Path) -> None:
    image = Image.new("P", (2, 2))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    image.putdata([0, 1, 2, 0])
    image.save(tmp_path / "a.png")
    assert pixels(tmp_path / "a.png").tolist() == [
        [[255, 0, 0], [0, 255, 0]],
        [[0, 0, 255], [255, 0, 0]],
    ]
    assert open_picture(tmp_path / "a.png")[1] == ""


@pytest.mark.parametrize("transparency", [1, bytes([255, 0, 255])])
def test_a_transparent_colour_of_a_palette_becomes_white(
    tmp_path: Path, transparency: int | bytes
) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    image.putdata([0, 1])
    image.save(tmp_path / "a.png", transparency=transparency)
    assert pixels(tmp_path / "a.png").tolist() == [[[255, 0, 0], [255, 255, 255]]]
    assert open_picture(tmp_path / "a.png")[1] == "transparent parts laid on white"


def test_what_is_half_transparent_is_mixed_with_white(tmp_path: Path) -> None:
    Image.new("RGBA", (1, 1), (0, 0, 0, 128)).save(tmp_path / "a.png")
    Image.new("LA", (1, 1), (0, 128)).save(tmp_path / "b.png")
    for name in ("a.png", "b.png"):
        assert pixels(tmp_path / name).tolist() == [[[127, 127, 127]]]


def test_a_transparent_colour_of_an_rgb_file_becomes_white(tmp_path: Path) -> None:
    Image.fromarray(COLOURS).save(tmp_path / "a.png", transparency=(0, 0, 255))
    assert COLOURS[0, 0].tolist() == [0, 0, 255]
    assert pixels(tmp_path / "a.png")[0, 0].tolist() == [255, 255, 255]


def test_greys_fill_three_channels(
    tmp_path: Path,
) -> None:
    Image.fromarray(RAMP).save(tmp_path / "grey.png")
    Image.fromarray(RAMP).convert("1", dither=Image.Dither.NONE).save(
        tmp_path / "bw.png"
    )
    np.testing.assert_array_equal(
        pixels(tmp_path / "grey.png"), np.stack([RAMP] * 3, axis=-1)
    )
    assert set(pixels(tmp_path / "bw.png").ravel().tolist()) == {0, 255}


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bit_greys_are_scaled_and_not_clipped(
    tmp_path: Path, suffix: str
) -> None:
    Image.fromarray(RAMP.astype(np.uint16) * 257).save(tmp_path / f"a.{suffix}")
    picture, note = open_picture(tmp_path / f"a.{suffix}")
    np.testing.assert_array_equal(np.asarray(picture)[..., 0], RAMP)
    assert note == "16-bit greys scaled to 8 bits"


@pytest.mark.parametrize(
    ("factor", "note"),
    [(1 / 255, "floats between 0 and 1"), (3, "greys between 0 and 744")],
)
def test_floats_are_scaled_to_eight_bits(
    tmp_path: Path, factor: float, note: str
) -> None:
    Image.fromarray(RAMP.astype(np.float32) * np.float32(factor)).save(
        tmp_path / "a.tif"
    )
    picture, found = open_picture(tmp_path / "a.tif")
    expected = RAMP if factor < 1 else np.rint(RAMP * (255 / 248)).astype(np.uint8)
    np.testing.assert_array_equal(np.asarray(picture)[..., 0], expected)
    assert found == f"{note} scaled to 8 bits"


def test_floats_without_a_number_are_refused(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 4), np.nan, dtype=np.float32)).save(tmp_path / "a.tif")
    with pytest.raises(DataError, match=r"a\.tif: holds NaN or infinity"):
        open_picture(tmp_path / "a.tif")


def test_cmyk_is_turned_into_rgb_with_a_note(tmp_path: Path) -> None:
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "a.jpg", quality=100)
    picture, note = open_picture(tmp_path / "a.jpg")
    red, green, blue = picture.getpixel((4, 4))
    assert red > 240
    assert max(green, blue) < 15
    assert note == "CMYK converted to RGB without a colour profile"


@pytest.mark.parametrize("suffix", ["gif", "webp", "png", "tif"])
def test_of_several_frames_the_first_is_taken(tmp_path: Path, suffix: str) -> None:
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "lime", "blue")]
    options = {} if suffix == "tif" else {"duration": 50}
    frames[0].save(
        tmp_path / f"a.{suffix}",
        save_all=True,
        append_images=frames[1:],
        lossless=True,
        **options,
    )
    picture, note = open_picture(tmp_path / f"a.{suffix}")
    assert picture.getpixel((8, 8)) == (255, 0, 0)
    assert "first of several frames" in note


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_stands_as_its_exif_says(tmp_path: Path, orientation: int) -> None:
    image = Image.fromarray(COLOURS[:20])
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.save(tmp_path / "a.png", exif=exif)
    with Image.open(tmp_path / "a.png") as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened))
    picture, note = open_picture(tmp_path / "a.png")
    np.testing.assert_array_equal(np.asarray(picture), expected)
    assert picture.size == ((32, 20) if orientation < 5 else (20, 32))
    assert note.endswith("as its EXIF says") == (orientation > 1)


def test_damaged_exif_leaves_the_picture_as_it_is(tmp_path: Path) -> None:
    Image.fromarray(COLOURS).save(
        tmp_path / "a.jpg", exif=b"Exif\0\0II*\0\xff\xff\xff\xff" + bytes(20)
    )
    assert open_picture(tmp_path / "a.jpg")[0].size == (32, 32)


def test_a_picture_in_memory_is_not_changed() -> None:
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    assert pixels(image)[0, 0].tolist() == [255, 255, 255]
    assert image.mode == "RGBA"
    assert image.getpixel((0, 0)) == (0, 0, 0, 0)


# --- what is refused


def chunk(kind: bytes, data: bytes) -> bytes:
    return (
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
    )


def png_that_claims(width: int, height: int) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(10_000, 9_000), (30_000, 30_000)])
def test_a_decompression_bomb_is_refused_before_it_is_decoded(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    (tmp_path / "a.png").write_bytes(png_that_claims(*size))
    with pytest.raises(
        DataError, match=r"a\.png: (10,000 × 9,000 pixels|too large to be decoded)"
    ):
        open_picture(tmp_path / "a.png")


def test_a_gigantic_jpeg_is_decoded_smaller(tmp_path: Path) -> None:
    Image.new("L", (12_000, 8_000), 90).save(tmp_path / "a.jpg")
    picture, note = open_picture(tmp_path / "a.jpg")
    assert picture.size == (6_000, 4_000)
    assert picture.getpixel((0, 0)) == (90, 90, 90)
    assert note == "12,000 × 8,000 pixels, decoded as 6,000 × 4,000"


def test_a_thread_of_pixels_is_refused(tmp_path: Path) -> None:
    Image.new("1", (1, 30_000)).save(tmp_path / "a.png")
    with pytest.raises(
        DataError, match=r"1 × 30,000 pixels: over 100 times longer than wide"
    ):
        open_picture(tmp_path / "a.png")


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "bmp", "tif"])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_a_file_that_is_cut_short_is_refused(
    tmp_path: Path, suffix: str, share: float
) -> None:
    path = tmp_path / f"a.{suffix}"
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(path)
    os.truncate(path, int(path.stat().st_size * share))
    with pytest.raises(DataError, match=rf"a\.{suffix}: (cannot be|not an image)"):
        open_picture(path)


@pytest.mark.parametrize(
    "content",
    [
        b"<!doctype html><title>Not found</title>",
        b"\xff\xd8\xff\xe0",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        b"RIFF\0\0\0\0WEBP",
        bytes(1000),
    ],
)
def test_what_is_no_picture_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jpg").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.jpg: "):
        open_picture(tmp_path / "a.jpg")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("suffix", ["jpg", "png", "gif", "webp", "tif", "avif"])
def test_damaged_bytes_give_a_picture_or_a_reason(
    tmp_path: Path, suffix: str, seed: int
) -> None:
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(COLOURS).save(path)
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    for at in rng.integers(0, len(content), 8):
        content[at] = rng.integers(0, 256)
    path.write_bytes(bytes(content))
    picture = None
    with contextlib.suppress(DataError):
        picture, _ = open_picture(path)
    assert picture is None or picture.mode == "RGB"


def test_formats_that_start_other_programs_are_not_read(tmp_path: Path) -> None:
    Image.fromarray(COLOURS).save(tmp_path / "a.eps")
    with pytest.raises(DataError, match=r"a\.eps: not an image, or not in a format"):
        open_picture(tmp_path / "a.eps")


def test_what_is_no_file_is_named(
    tmp_path: Path,
) -> None:
    (tmp_path / "empty.png").touch()
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(DataError, match="found an empty file"):
        open_picture(tmp_path / "empty.png")
    with pytest.raises(DataError, match="found a folder"):
        open_picture(tmp_path)
    with pytest.raises(DataError, match="found a pipe or a device"):
        open_picture(tmp_path / "pipe.png")
    with pytest.raises(MissingDataError, match="no such file"):
        open_picture(tmp_path / "gone.png")
    with pytest.raises(MissingDataError, match="no such file"):
        open_picture("a\0b.png")


@pytest.mark.parametrize(
    "url",
    ["http://example.org/a.jpg", "https://example.org/a.jpg", "file:///etc/a.png"],
)
def test_a_url_is_refused(url: str) -> None:
    with pytest.raises(DataError, match="expected a file, found a URL"):
        open_picture(url)


def test_pillows_warnings_do_not_leak(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(
        png_that_claims(10_000, 9_000)
    )  # Pillow itself only warns of this size
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(DataError):
            open_picture(tmp_path / "a.png")
    assert seen == []


@pytest.mark.parametrize(
    "make",
    [lambda: Image.fromarray(COLOURS), lambda: Image.fromarray(COLOURS).convert("P")],
)
def test_the_same_pixels_come_from_a_file_and_from_memory(
    tmp_path: Path, make: Callable[[], Image.Image]
) -> None:
    make().save(tmp_path / "a.png")
    np.testing.assert_array_equal(pixels(tmp_path / "a.png"), pixels(make()))
