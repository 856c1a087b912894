"""Matrices that stay on disk: each part is read when it is used."""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path

import numpy as np

from verite.errors import DataError
from verite.files import require_file

__all__ = ["map_tensor", "read_npy", "release"]


def read_npy(
    path: str | os.PathLike[str], rows: int | None = None, hint: str = ""
) -> np.ndarray:
    """Memory-map a float matrix of a ``.npy`` file.

    Parameters
    ----------
    rows
        Rows of the table beside it.

    Raises
    ------
    DataError
        The file is truncated, holds pickled objects, is not a matrix of floats, or has
        another number of rows.
    """
    target = require_file(path, hint)
    try:
        # Unlike np.load this reads one format only: no pickles, no .npz.
        matrix = np.lib.format.open_memmap(target, mode="r")
    except (ValueError, OSError) as error:
        if "Python objects" in str(error):
            raise DataError(
                f"{target}: holds pickled Python objects, which can run code and are"
                " not read. Ask for a plain float array."
            ) from error
        raise DataError(
            f"{target}: expected a whole .npy file ({error}). It may be truncated:"
            " fetch it again."
        ) from error
    if matrix.ndim != 2 or matrix.dtype not in (np.float16, np.float32):
        raise DataError(
            f"{target}: expected a float16 or float32 matrix, found {matrix.dtype} of"
            f" shape {matrix.shape}."
        )
    if rows is not None and len(matrix) != rows:
        raise DataError(
            f"{target}: {len(matrix):,} vectors beside a table of {rows:,} rows. They"
            " are of different releases; use the table and the arrays of one release."
        )
    return matrix


def map_tensor(path: Path, name: str) -> np.ndarray:
    """Memory-map one tensor of a safetensors file; the library would read it whole.

    The file begins with the length of a JSON header in eight bytes; data follow it.
    """
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        entry = json.loads(stream.read(length))[name]
    dtype = {"F16": "<f2", "F32": "<f4"}.get(entry["dtype"])
    if dtype is None:
        raise ValueError(f"{name} is {entry['dtype']}, not float16 or float32")
    return np.memmap(
        path,
        dtype=dtype,
        mode="r",
        offset=8 + length + entry["data_offsets"][0],
        shape=tuple(entry["shape"]),
    )


def release(matrix: np.ndarray) -> None:
    """Free the memory of what was read from a mapped file; it can be read again."""
    mapped: object = matrix.base
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
