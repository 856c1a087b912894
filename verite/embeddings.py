"""Embeddings: one vector per id, in a matrix that stays on disk until it is read.

A matrix alone invites pairing by position, which silently mixes two tables that were
sorted differently. So a matrix never travels without its ids here, and rows are looked
up with :meth:`Embeddings.rows`.

On disk an ``Embeddings`` is one `safetensors
<https://github.com/huggingface/safetensors>`_ file: the matrix, the ids as UTF-8 bytes,
and what made them. One file is replaced in one step, so ids and matrix cannot come from
different runs; the format cannot carry code.
"""

from __future__ import annotations

import json
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
from verite.mapped import map_tensor, release

__all__ = ["Embeddings", "concatenate", "per_id"]

_FORMAT = "verite-embeddings-1"
_BLOCK = 65_536  # rows per block: about 200 MB at 768 float32 dimensions


class Embeddings:
    """Ids and a matrix with one row per id.

    Parameters
    ----------
    ids
        Unique strings, one per row.
    matrix
        Shape ``(len(ids), dimensions)``, float16 or float32; may be memory-mapped. It
        is not copied.
    encoder
        The model, such as ``"ViT-L-14"``. Vectors of different encoders do not mix.
    where
        What to call this object in an error.
    about
        Further facts, saved with the vectors: the weights' digest, versions, whether
        they are ``normalised`` (``"yes"`` or ``"no"``).

    Raises
    ------
    DataError
        There is no vector; shape, dtype or ids are wrong; or a row is zero or holds NaN
        or infinity. All rows are read once for this, a block at a time.

    >>> matrix = np.array([[3, 4], [0, 2]], dtype=np.float32)
    >>> e = Embeddings(["a", "b"], matrix, encoder="toy")
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
    def _index(self) -> pd.Index:
        return pd.Index(self.ids)

    def positions(self, ids: Iterable[object]) -> np.ndarray:
        """Row of the matrix for each of ``ids``.

        Raises
        ------
        DataError
            An id has no vector here.
        """
        keys = pd.Index([str(key) for key in ids])
        positions = self._index.get_indexer(keys)
        if (positions < 0).any():
            unknown = keys[positions < 0].unique()
            raise DataError(
                f"{self.where}: no vector for {len(unknown):,} of {keys.nunique():,}"
                f" ids ({name_some(unknown)}). It holds {len(self):,} ids, such as"
                f" {name_some(self.ids[:3])}. Encode the missing ones, or use the table"
                " of these vectors."
            )
        return np.asarray(positions)

    def rows(self, ids: Iterable[object]) -> np.ndarray:
        """Vectors of ``ids`` in their order, float32, ``(len(ids), dimensions)``.

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
            about = json.dumps(self.about, sort_keys=True, ensure_ascii=False)
            metadata["about"] = about
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
                    raise ValueError(f"its metadata lack {_FORMAT} or an encoder")
                about = json.loads(metadata.get("about", "{}"))
                if not isinstance(about, dict) or not all(
                    isinstance(value, str) for value in about.values()
                ):
                    raise ValueError("'about' is not an object of texts")
                names = stream.get_tensor("ids").tobytes().decode("utf8").split("\n")
            matrix = map_tensor(target, "matrix")
        except (SafetensorError, KeyError, ValueError, OSError) as error:
            raise DataError(
                f"{target}: expected a whole file of embeddings that this package"
                f" wrote ({error}). It may be truncated: create or fetch it again."
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
                " Use ids and vectors of one table."
            )
        if not self.ids:
            raise DataError(f"{self.where}: expected at least one vector, found none.")
        if not self._index.is_unique:
            repeated = self._index[self._index.duplicated()].unique()
            raise DataError(f"{self.where}: duplicate ids: {name_some(repeated)}.")
        broken = [key for key in self.ids if "\n" in key or not key]
        if broken:
            raise DataError(
                f"{self.where}: an id is empty or holds a line break"
                f" ({name_some(map(repr, broken))})."
            )
        infinite: list[str] = []
        zero: list[str] = []
        for start, block in self._blocks():
            keys = self._index[start : start + len(block)]
            infinite.extend(keys[~np.isfinite(block).all(axis=1)])
            zero.extend(keys[np.flatnonzero(~block.any(axis=1))])
        for ids, problem in (
            (infinite, "hold NaN or infinity"),
            (zero, "are all zeros and have no direction"),
        ):
            if ids:
                raise DataError(
                    f"{self.where}: {len(ids):,} vector(s) {problem}, ids"
                    f" {name_some(ids)}."
                )

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        for start in range(0, len(self.matrix), _BLOCK):
            block = self.matrix[start : start + _BLOCK]
            yield start, np.asarray(block, dtype=np.float32)
            release(self.matrix)


def concatenate(parts: Iterable[Embeddings]) -> Embeddings:
    """Join embeddings in their order; ``about`` keeps what all parts agree on.

    Raises
    ------
    DataError
        There is no part, an id is in two parts, or parts differ in encoder, width, or
        normalisation.

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
        mine, other = _kind(first), _kind(part)
        for what in mine:
            if mine[what] != other[what]:
                raise DataError(
                    f"embeddings do not mix: {first.where} has {what} {mine[what]},"
                    f" {part.where} has {what} {other[what]}. Encode both in one way."
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


def _kind(vectors: Embeddings) -> dict[str, object]:
    return {
        "encoder": vectors.encoder,
        "normalised": vectors.about.get("normalised", "not said"),
        "width": vectors.dimensions,
    }


def per_id(
    ids: Sequence[str],
    matrix: np.ndarray,
    *,
    encoder: str,
    where: str,
    tolerance: float = 1e-3,
) -> Embeddings:
    """Turn one vector per *row* into one vector per *id*.

    Releases store a vector for each row of their table. The vectors of rows with one id
    must be the same: a table that was sorted or filtered later fails here.

    Parameters
    ----------
    ids
        One per row of the table.
    matrix
        One vector per row, see :func:`verite.mapped.read_npy`.
    tolerance
        How far the cosine of two vectors of one id may fall below 1. The default allows
        rounding to float16.

    Raises
    ------
    DataError
        Numbers of rows and vectors differ, a row has no id, vectors of one id differ by
        more than ``tolerance``, or :class:`Embeddings` refuses the vectors.

    >>> matrix = np.eye(2, dtype=np.float32)[[0, 1, 0]]
    >>> per_id(["a", "b", "a"], matrix, encoder="toy", where="mine")
    Embeddings(2 × 2 float32, encoder='toy')
    """
    if len(ids) != len(matrix):
        raise DataError(
            f"{where}: {len(ids):,} rows beside {len(matrix):,} vectors. They are of"
            " different releases; use the table and the vectors of one release."
        )
    codes, names = pd.factorize(pd.Series(ids, dtype="str"))
    nameless = np.flatnonzero(codes < 0)
    if len(nameless):
        raise DataError(
            f"{where}: {len(nameless):,} row(s) have no id (row {name_some(nameless)})."
        )
    first = np.unique(codes, return_index=True)[1]
    vectors = Embeddings(names, np.asarray(matrix)[first], encoder=encoder, where=where)
    repeats = np.flatnonzero(first[codes] != np.arange(len(codes)))
    # A zero row has no cosine, and so does not repeat the first.
    with np.errstate(invalid="ignore"):
        ones, others = _unit(matrix[repeats]), _unit(matrix[first[codes[repeats]]])
        cosine = np.einsum("ij,ij->i", ones, others)
    apart = repeats[~(cosine >= 1 - tolerance)]
    if len(apart):
        raise DataError(
            f"{where}: rows and vectors do not belong together: {len(apart):,} row(s)"
            f" repeat an id whose vector differs (row {name_some(apart)}). The table"
            " was sorted or changed after encoding; use both from one release."
        )
    return vectors


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Divide rows by their length, summed in double precision against overflow."""
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return np.asarray(vectors / length[:, None], dtype=np.float32)


def _sort_header(path: Path) -> None:
    """Sort the keys of a safetensors header, which the library writes in any order."""
    with path.open("rb+") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.dumps(
            json.loads(stream.read(length)),
            sort_keys=True,
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()
        if len(header) <= length:  # spaces may fill the rest
            stream.seek(8)
            stream.write(header.ljust(length))
