"""Embeddings: one vector an id, in a matrix that stays on the disk until rows are asked
for.

A matrix alone invites pairing by position, and two tables that were sorted differently
then mix without a word. So a matrix never travels without its ids here, and the only
way to its rows is :meth:`Embeddings.rows`.

On disk an ``Embeddings`` is one `safetensors
<https://github.com/huggingface/safetensors>`_ file: the matrix, the ids as UTF-8 bytes,
and what made them. One file is replaced in one step, so ids and matrix cannot come from
different runs; the format cannot carry code.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from verite.errors import DataError, name_some
from verite.files import atomic_path, require_file

__all__ = ["Embeddings", "concatenate", "mapped_file", "per_id", "read_npy", "release"]

_FORMAT = "verite-embeddings-1"
_BLOCK = 65_536  # rows looked at together: about 200 MB at 768 float32 dimensions


class Embeddings:
    """Ids and a matrix with one row each.

    Parameters
    ----------
    ids
        Unique strings, one a row.
    matrix
        Shape ``(len(ids), dimensions)``, float16 or float32; may be memory-mapped. It
        is not copied.
    encoder
        What made the vectors, such as ``"ViT-L-14"``. Vectors of different encoders do
        not mix.
    where
        What to call this object in an error.
    about
        What else is known of them, text by text: the weights' digest, whether they are
        ``normalised`` (``"yes"`` or ``"no"``), versions. It is saved with them.

    Raises
    ------
    DataError
        There is no vector; shape, dtype or ids are wrong; or a row is zero or holds NaN
        or infinity. All rows are looked at once for this, a block at a time.

    >>> e = Embeddings(["a", "b"], np.array([[3, 4], [0, 2]], dtype=np.float32), encoder="toy")
    >>> e.rows(["b", "a", "b"])
    array([[0., 2.],
           [3., 4.],
           [0., 2.]], dtype=float32)
    >>> e.normalised().rows(["a"])
    array([[0.6, 0.8]], dtype=float32)
    """

    def __init__(
        self,
        ids: Iterable[object],
        matrix: np.ndarray,
        *,
        encoder: str,
        where: str = "embeddings",
        about: Mapping[str, str] | None = None,
    ) -> None:
        self.ids: tuple[str, ...] = tuple(str(key) for key in ids)
        self.matrix = matrix
        self.encoder = encoder
        self.where = where
        self.about: dict[str, str] = dict(about or {})
        self._check()

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return (
            f"Embeddings({len(self):,} × {self.dimensions} {self.matrix.dtype},"
            f" encoder={self.encoder!r})"
        )

    @property
    def dimensions(self) -> int:
        """Width of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def _position(self) -> pd.Index:
        return pd.Index(self.ids)

    def positions(self, ids: Iterable[object]) -> np.ndarray:
        """Row of the matrix for each of ``ids``.

        Raises
        ------
        DataError
            An id has no vector here.
        """
        keys = [str(key) for key in ids]
        position = self._position.get_indexer(pd.Index(keys))
        unknown = list(
            dict.fromkeys(key for key, at in zip(keys, position, strict=True) if at < 0)
        )
        if unknown:
            raise DataError(
                f"{self.where}: no vector for {len(unknown):,} of {len(set(keys)):,}"
                f" ids ({name_some(unknown)}). It holds {len(self):,} ids, such as"
                f" {name_some(self.ids[:3])}. Encode the missing ones, or use the table"
                " these were made from."
            )
        return np.asarray(position)

    def rows(self, ids: Iterable[object]) -> np.ndarray:
        """Vectors of ``ids``, in their order, as float32 of shape ``(len(ids),
        dimensions)``.

        Raises
        ------
        DataError
            An id has no vector here.
        """
        return np.asarray(self.matrix[self.positions(ids)], dtype=np.float32)

    def normalised(self) -> Embeddings:
        """The same vectors with length 1, as float32 in memory."""
        out = np.empty(self.matrix.shape, dtype=np.float32)
        for start, block in self._blocks():
            out[start : start + len(block)] = _unit(block)
        return Embeddings(
            self.ids,
            out,
            encoder=self.encoder,
            where=self.where,
            about=self.about | {"normalised": "yes"},
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one safetensors file, all or nothing.

        The dtype is kept. Equal embeddings give equal bytes.
        """
        names = np.frombuffer("\n".join(self.ids).encode("utf8"), dtype=np.uint8)
        metadata = {"format": _FORMAT, "encoder": self.encoder}
        if self.about:
            metadata["about"] = json.dumps(
                self.about, sort_keys=True, ensure_ascii=False
            )
        with atomic_path(path) as temporary:
            save_file(
                {"matrix": np.ascontiguousarray(self.matrix), "ids": names},
                temporary,
                metadata=metadata,
            )
            _sort_header(temporary)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Embeddings:
        """Open a file that :meth:`save` wrote; the matrix is memory-mapped.

        Raises
        ------
        DataError
            Not such a file, or a truncated one.
        """
        target = require_file(path)
        try:
            with safe_open(target, framework="numpy") as stream:
                metadata = stream.metadata() or {}
                if metadata.get("format") != _FORMAT or "encoder" not in metadata:
                    raise ValueError(
                        f"its metadata do not say {_FORMAT} and an encoder"
                    )
                about = json.loads(metadata.get("about", "{}"))
                if not isinstance(about, dict) or not all(
                    isinstance(value, str) for value in about.values()
                ):
                    raise ValueError(
                        "what its metadata say about it is no object of texts"
                    )
                names = stream.get_tensor("ids").tobytes().decode("utf8").split("\n")
            matrix = _map(target, "matrix")
        except (SafetensorError, KeyError, ValueError, OSError) as error:
            raise DataError(
                f"{target}: expected a whole file of embeddings that this package"
                f" wrote, found something else ({error}). It may be truncated: make or"
                " fetch it again."
            ) from error
        return cls(
            names, matrix, encoder=metadata["encoder"], where=str(target), about=about
        )

    def _check(self) -> None:
        matrix = self.matrix
        if not isinstance(matrix, np.ndarray) or matrix.ndim != 2:
            raise DataError(
                f"{self.where}: expected an array of two dimensions, found"
                f" {type(matrix).__name__} of shape {np.shape(matrix)}."
            )
        if matrix.dtype not in (np.float16, np.float32):
            raise DataError(
                f"{self.where}: expected float16 or float32, found {matrix.dtype}."
                " Convert with .astype('float32')."
            )
        if len(self.ids) != len(matrix):
            raise DataError(
                f"{self.where}: {len(self.ids):,} ids beside {len(matrix):,} vectors."
                " Ids and vectors must come from one table: pairing them by position"
                " would mix them."
            )
        if not self.ids:
            raise DataError(f"{self.where}: expected at least one vector, found none.")
        if len(set(self.ids)) != len(self.ids):
            counts = pd.Series(self.ids).value_counts()
            raise DataError(
                f"{self.where}: an id must have one vector;"
                f" {name_some(counts.index[counts > 1])} has several."
            )
        broken = [key for key in self.ids if "\n" in key or not key]
        if broken:
            raise DataError(
                f"{self.where}: an id is empty or holds a line break"
                f" ({name_some(map(repr, broken))})."
            )
        bad: list[int] = []
        zero: list[int] = []
        for start, block in self._blocks():
            bad.extend(start + np.flatnonzero(~np.isfinite(block).all(axis=1)))
            zero.extend(start + np.flatnonzero(~block.any(axis=1)))
        if bad:
            raise DataError(
                f"{self.where}: NaN or infinity in {len(bad):,} vector(s), ids"
                f" {name_some(self.ids[i] for i in bad)}."
            )
        if zero:
            raise DataError(
                f"{self.where}: {len(zero):,} vector(s) are all zeros, ids"
                f" {name_some(self.ids[i] for i in zero)}. They have no direction."
            )

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        for start in range(0, len(self.matrix), _BLOCK):
            yield (
                start,
                np.asarray(self.matrix[start : start + _BLOCK], dtype=np.float32),
            )
            release(self.matrix)


def concatenate(parts: Iterable[Embeddings]) -> Embeddings:
    """Put shards together, in their order.

    What ``about`` says of the whole is what all parts agree on.

    Raises
    ------
    DataError
        There is no part; an id stands in two parts; or parts differ in encoder, in
        width, or in whether they are normalised. The message names both.

    >>> first = Embeddings(["a"], np.ones((1, 2), dtype=np.float32), encoder="toy")
    >>> second = Embeddings(["b"], np.ones((1, 2), dtype=np.float32), encoder="toy")
    >>> concatenate([first, second]).ids
    ('a', 'b')
    """
    listed = list(parts)
    if not listed:
        raise DataError("concatenate: expected at least one part, found none.")
    first = listed[0]
    for part in listed[1:]:
        for what, one, other in (
            ("encoder", first.encoder, part.encoder),
            (
                "normalised",
                first.about.get("normalised", "not said"),
                part.about.get("normalised", "not said"),
            ),
            ("width", first.dimensions, part.dimensions),
        ):
            if one != other:
                raise DataError(
                    f"embeddings do not mix: {first.where} has {what} {one},"
                    f" {part.where} has {what} {other}. Encode both in one way."
                )
    agreed = {
        key: value
        for key, value in first.about.items()
        if all(part.about.get(key) == value for part in listed)
    }
    ids = [key for part in listed for key in part.ids]
    return Embeddings(
        ids,
        np.concatenate([part.matrix for part in listed]),
        encoder=first.encoder,
        where=first.where,
        about=agreed,
    )


def mapped_file(matrix: np.ndarray) -> mmap.mmap | None:
    """What a matrix is mapped from, if it is mapped as a whole.

    >>> mapped_file(np.zeros((2, 3))) is None
    True
    """
    base: object = matrix.base
    return base if isinstance(base, mmap.mmap) else None


def release(matrix: np.ndarray) -> None:
    """Give back the memory of what was read from a mapped file.

    It is read again when it is needed.
    """
    mapped = mapped_file(matrix)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def read_npy(
    path: str | os.PathLike[str], rows: int | None = None, hint: str = ""
) -> np.ndarray:
    """Memory-map a float matrix that someone released as ``.npy``.

    Parameters
    ----------
    rows
        How many rows the table beside it has.

    Raises
    ------
    DataError
        The file is truncated, holds pickled objects, is no matrix of floats, or has
        another number of rows.
    """
    target = require_file(path, hint)
    try:
        # Unlike np.load this knows one format only: it never unpickles, and opens no
        # .npz.
        matrix = np.lib.format.open_memmap(target, mode="r")
    except (ValueError, OSError) as error:
        if "Python objects" in str(error):
            raise DataError(
                f"{target}: holds pickled Python objects. Reading those can run code,"
                " so they are not read: ask for a plain float array."
            ) from error
        raise DataError(
            f"{target}: expected a whole .npy file, found something else ({error}). It"
            " may be truncated: fetch it again."
        ) from error
    if matrix.ndim != 2 or matrix.dtype not in (np.float16, np.float32):
        raise DataError(
            f"{target}: expected a float16 or float32 matrix, found {matrix.dtype} of"
            f" shape {matrix.shape}."
        )
    if rows is not None and len(matrix) != rows:
        raise DataError(
            f"{target}: {len(matrix):,} vectors beside a table of {rows:,} rows. They"
            " are of different releases, and pairing them by position would mix them."
            " Use the table and the arrays of one release."
        )
    return matrix


def per_id(
    ids: Sequence[str],
    matrix: np.ndarray,
    *,
    encoder: str,
    where: str,
    tolerance: float = 1e-3,
) -> Embeddings:
    """Turn one vector a *row* into one vector an *id*, and check on the way that rows
    and vectors belong together.

    Releases store a vector for each row of their table. Where an id stands in several
    rows its vectors must be the same; a table that was sorted or filtered after its
    vectors were made fails here.

    Parameters
    ----------
    ids
        One a row of the table.
    matrix
        One vector a row, as :func:`read_npy` gives it.
    tolerance
        How far the cosine of two vectors of one id may fall below 1. The default lets
        rounding to float16 pass.

    Raises
    ------
    DataError
        There are more rows than vectors or fewer, a row has no id, vectors of one id
        differ by more than ``tolerance``, or :class:`Embeddings` refuses the vectors.

    >>> per_id(["a", "b", "a"], np.eye(2, dtype=np.float32)[[0, 1, 0]], encoder="toy", where="mine")
    Embeddings(2 × 2 float32, encoder='toy')
    """
    if len(ids) != len(matrix):
        raise DataError(
            f"{where}: {len(ids):,} rows beside {len(matrix):,} vectors. They are of"
            " different releases, and pairing them by position would mix them. Use the"
            " table and the vectors of one release."
        )
    codes, names = pd.factorize(pd.Series(ids, dtype="str"))
    nameless = np.flatnonzero(codes < 0)
    if len(nameless):
        raise DataError(
            f"{where}: {len(nameless):,} row(s) have no id (row {name_some(nameless)})."
        )
    first = np.unique(codes, return_index=True)[1]
    found = Embeddings(names, np.asarray(matrix)[first], encoder=encoder, where=where)
    repeats = np.flatnonzero(first[codes] != np.arange(len(codes)))
    with np.errstate(
        invalid="ignore"
    ):  # a zero row has no cosine, and is then no repeat of the first
        cosine = np.einsum(
            "ij,ij->i", _unit(matrix[repeats]), _unit(matrix[first[codes[repeats]]])
        )
    apart = repeats[~(cosine >= 1 - tolerance)]
    if len(apart):
        raise DataError(
            f"{where}: rows and vectors do not belong together: {len(apart):,} row(s)"
            f" repeat an id whose vector differs (row {name_some(apart)}). The table"
            " was sorted or changed after the vectors were made; use both from one"
            " release."
        )
    return found


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Divide rows by their length, float32.

    Lengths are summed in double precision, for squares overflow before values do.
    """
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return np.asarray(vectors / length[:, None], dtype=np.float32)


def _sort_header(path: Path) -> None:
    """Put the keys of a safetensors header in order.

    The library writes metadata in another order each time.
    """
    with path.open("rb+") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.dumps(
            json.loads(stream.read(length)),
            sort_keys=True,
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()
        if (
            len(header) <= length
        ):  # the same content as written, so it is; the format lets spaces fill the rest
            stream.seek(8)
            stream.write(header.ljust(length))


def _map(path: Path, name: str) -> np.ndarray:
    """Memory-map one tensor of a safetensors file, which the library itself would read
    into memory.

    The file begins with eight bytes that hold the length of a JSON header; the data
    follow the header.
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
