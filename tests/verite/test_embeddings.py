"""Vectors that never travel without their ids."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save_file

from verite.embeddings import Embeddings, concatenate, per_id
from verite.errors import DataError, MissingDataError, VeriteError
from verite.files import write_text
from verite.mapped import read_npy

IDS = ["a", "b", "c"]
VECTORS = np.array([[3, 4], [0, 2], [-1, 0]], dtype=np.float32)


def toy(dtype: Any = np.float32) -> Embeddings:
    return Embeddings(IDS, VECTORS.astype(dtype), encoder="toy", where="mine")


@st.composite
def embeddings(draw: st.DrawFn) -> Embeddings:
    """Any ids without line breaks, beside any finite rows that are not zero."""
    ids = draw(
        st.lists(
            st.text(st.characters(exclude_characters="\n", codec="utf-8"), min_size=1),
            min_size=1,
            max_size=6,
            unique=True,
        )
    )
    width = draw(st.sampled_from([16, 32]))
    numbers = st.floats(width=width, allow_nan=False, allow_infinity=False).filter(bool)
    shape = (len(ids), draw(st.integers(1, 4)))
    return Embeddings(
        ids,
        draw(hnp.arrays(np.dtype(f"f{width // 8}"), shape, elements=numbers)),
        encoder="toy",
    )


# --- what is refused


def second_row(*values: float, dtype: str = "float32") -> np.ndarray:
    matrix = VECTORS.astype(dtype)
    matrix[1] = values
    return matrix


@pytest.mark.parametrize(
    ("ids", "matrix", "message"),
    [
        (IDS, VECTORS.astype("float64"), r"expected float16 or float32, found float64"),
        (IDS, VECTORS.astype("object"), r"expected float16 or float32, found object"),
        (IDS, VECTORS.astype(">f4"), r"expected float16 or float32, found >f4"),
        (IDS, VECTORS.ravel(), r"two dimensions, found ndarray of shape \(6,\)"),
        (
            IDS,
            VECTORS[..., None],
            r"two dimensions, found ndarray of shape \(3, 2, 1\)",
        ),
        (["a", "b"], VECTORS, r"2 ids beside 3 vectors"),
        ([], VECTORS[:0], r"expected at least one vector, found none"),
        (["a", "b", "b"], VECTORS, r"duplicate ids: b\."),
        (["a", "", "c"], VECTORS, r"an id is empty or holds a line break"),
        (["a", "end\n", "c"], VECTORS, r"an id is empty or holds a line break"),
        (IDS, second_row(1, np.nan), r"1 vector\(s\) hold NaN or infinity, ids b\."),
        (IDS, second_row(np.inf, 1, dtype="float16"), r"NaN or infinity, ids b\."),
        (IDS, second_row(0, 0), r"1 vector\(s\) are all zeros .*, ids b\."),
    ],
)
def test_what_is_refused(ids: list[str], matrix: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=f"mine: .*{message}"):
        Embeddings(ids, matrix, encoder="toy", where="mine")


def test_a_bad_row_is_found_in_any_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verite.embeddings._BLOCK", 4)
    matrix = np.ones((10, 2), dtype=np.float32)
    matrix[[3, 4, 9], 0] = np.nan
    with pytest.raises(
        DataError, match=r"3 vector\(s\) hold NaN or infinity, ids 3, 4, 9\."
    ):
        Embeddings(range(10), matrix, encoder="toy")


# --- rows


@given(embeddings(), st.data())
@settings(max_examples=80, deadline=None)
def test_rows_are_looked_up_by_id(found: Embeddings, data: st.DataObject) -> None:
    asked = data.draw(st.lists(st.sampled_from(found.ids), max_size=12))
    rows = found.rows(asked)
    assert rows.shape == (len(asked), found.dimensions)
    assert rows.dtype == np.float32
    for key, row in zip(asked, rows, strict=True):
        np.testing.assert_array_equal(
            row, found.matrix[found.ids.index(key)].astype(np.float32)
        )


def test_unknown_ids_are_named() -> None:
    with pytest.raises(
        DataError,
        match=(
            r"mine: no vector for 2 of 3 ids \(x, y\)\. It holds 3 ids, such as a,"
            r" b, c\."
        ),
    ):
        toy().rows(["x", "a", "y", "x"])


# --- normalised


@given(embeddings())
@settings(max_examples=80, deadline=None)
def test_normalised_vectors_keep_their_direction(
    found: Embeddings,
) -> None:
    unit = found.normalised()
    assert unit.matrix.dtype == np.float32
    assert (unit.ids, unit.encoder) == (found.ids, found.encoder)
    exact = found.matrix.astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    np.testing.assert_allclose(unit.matrix, exact, atol=1e-6)


@pytest.mark.parametrize("size", [1e-45, 1e-30, 1e30, 3e38])
def test_tiny_and_huge_vectors_are_normalised(size: float) -> None:
    found = Embeddings(["a"], np.full((1, 4), size, dtype=np.float32), encoder="toy")
    np.testing.assert_allclose(found.normalised().matrix, [[0.5, 0.5, 0.5, 0.5]])


# --- save and load


@given(embeddings())
@settings(max_examples=40, deadline=None)
def test_what_was_saved_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, saved: Embeddings
) -> None:
    path = tmp_path_factory.getbasetemp() / "roundtrip.safetensors"
    saved.save(path)
    loaded = Embeddings.load(path)
    assert (loaded.ids, loaded.encoder, loaded.matrix.dtype) == (
        saved.ids,
        saved.encoder,
        saved.matrix.dtype,
    )
    np.testing.assert_array_equal(loaded.matrix, saved.matrix)


def test_a_file_is_mapped_read_only_and_may_be_saved_over(tmp_path: Path) -> None:
    path = tmp_path / "e.safetensors"
    toy().save(path)
    loaded = Embeddings.load(path)
    assert isinstance(loaded.matrix, np.memmap)
    assert loaded.matrix.filename == path
    assert not loaded.matrix.flags.writeable
    assert loaded.matrix.flags.aligned
    loaded.save(path)
    np.testing.assert_array_equal(loaded.rows(IDS), VECTORS)
    np.testing.assert_array_equal(Embeddings.load(path).rows(IDS), VECTORS)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "e.safetensors"
    toy().save(path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"verite.files.os.{step}", full)
    with pytest.raises(VeriteError, match=os.strerror(errno.ENOSPC)):
        Embeddings(["z"], VECTORS[:1], encoder="toy").save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kept", [1, 7, 8, 9, 60, 900, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "e.safetensors"
    Embeddings(range(100), np.ones((100, 4), dtype=np.float32), encoder="toy").save(
        path
    )
    os.truncate(path, kept if kept > 0 else path.stat().st_size - 1)
    with pytest.raises(
        DataError,
        match=(
            r"e\.safetensors: expected a whole file of embeddings .* It may be"
            r" truncated"
        ),
    ):
        Embeddings.load(path)


class Trap:
    """Leaves a mark on the disk if anything ever unpickles it."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return write_text, (self.mark, "unpickled")


def framed(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        b"id,x,y\na,1,2\nb,3,4\n",
        bytes(range(256)) * 10,
        framed(b"[]"),
        framed(b"{}"),
        framed(b"not json"),
        framed(json.dumps({"matrix": 1, "ids": {}, "__metadata__": {}}).encode()),
        framed(
            json.dumps(
                {
                    "matrix": {
                        "dtype": "F32",
                        "shape": [10**9, 768],
                        "data_offsets": [0, 8],
                    }
                }
            ).encode()
        )
        + bytes(8),
        framed(
            json.dumps(
                {"matrix": {"dtype": "F32", "shape": [1, 2], "data_offsets": [-8, 0]}}
            ).encode()
        ),
    ],
)
def test_garbage_is_no_file_of_embeddings(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "e.safetensors").write_bytes(content)
    with pytest.raises(
        DataError, match=r"e\.safetensors: expected a whole file of embeddings"
    ):
        Embeddings.load(tmp_path / "e.safetensors")


@pytest.mark.parametrize("loader", [Embeddings.load, read_npy])
@pytest.mark.parametrize("form", ["pickle", "npy"])
def test_a_pickle_is_refused_and_never_run(
    tmp_path: Path, loader: Callable[[Path], object], form: str
) -> None:
    trap = Trap(tmp_path / "mark")
    path = tmp_path / "m.npy"
    if form == "pickle":
        path.write_bytes(pickle.dumps(trap))
    else:
        np.save(path, np.array([trap], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"m\.npy: (expected a whole|holds pickled)"):
        loader(path)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("loader", [Embeddings.load, read_npy])
def test_what_is_no_file_is_named(
    tmp_path: Path, loader: Callable[[Path], object]
) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match=f"found a folder: {tmp_path}"):
        loader(tmp_path)
    with pytest.raises(DataError, match=r"found an empty file: .*empty"):
        loader(tmp_path / "empty")
    with pytest.raises(MissingDataError, match=r"no such file: .*gone"):
        loader(tmp_path / "gone")


ABOUT = {"format": "verite-embeddings-1", "encoder": "toy"}
NAMES = np.frombuffer(b"a\nb\nc", dtype=np.uint8)


@pytest.mark.parametrize(
    ("tensors", "about", "message"),
    [
        ({"matrix": VECTORS, "ids": NAMES}, None, "metadata"),
        (
            {"matrix": VECTORS, "ids": NAMES},
            {"format": "other", "encoder": "toy"},
            "metadata",
        ),
        (
            {"matrix": VECTORS, "ids": NAMES},
            {"format": "verite-embeddings-1"},
            "metadata",
        ),
        ({"matrix": VECTORS, "ids": NAMES}, {**ABOUT, "about": "[]"}, "texts"),
        ({"matrix": VECTORS, "ids": NAMES}, {**ABOUT, "about": "{"}, "Expecting"),
        ({"matrix": VECTORS}, ABOUT, "ids"),
        ({"ids": NAMES}, ABOUT, "matrix"),
        (
            {"matrix": VECTORS.astype(np.float64), "ids": NAMES},
            ABOUT,
            "matrix is F64, not float16 or float32",
        ),
        (
            {"matrix": VECTORS, "ids": np.frombuffer(b"a\n\xff\nc", dtype=np.uint8)},
            ABOUT,
            "utf-8",
        ),
        ({"matrix": VECTORS, "ids": NAMES[:3]}, ABOUT, "2 ids beside 3 vectors"),
        (
            {"matrix": VECTORS.ravel(), "ids": NAMES},
            ABOUT,
            "expected an array of two dimensions",
        ),
        ({"matrix": VECTORS * np.nan, "ids": NAMES}, ABOUT, "NaN or infinity"),
    ],
)
def test_another_safetensors_file_is_refused(
    tmp_path: Path,
    tensors: dict[str, np.ndarray],
    about: dict[str, str] | None,
    message: str,
) -> None:
    path = tmp_path / "e.safetensors"
    save_file(
        {name: np.ascontiguousarray(value) for name, value in tensors.items()},
        path,
        metadata=about,
    )
    with pytest.raises(DataError, match=rf"e\.safetensors: .*{message}"):
        Embeddings.load(path)


# --- about, and shards


def test_about_is_saved(tmp_path: Path) -> None:
    about = {"normalised": "no", "digest": "3f2a", "quote": 'a "b" \\ ü\n'}
    Embeddings(IDS, VECTORS, encoder="toy", about=about).save(
        tmp_path / "e.safetensors"
    )
    loaded = Embeddings.load(tmp_path / "e.safetensors")
    assert loaded.about == about
    assert loaded.normalised().about == {**about, "normalised": "yes"}
    assert loaded.about["normalised"] == "no"


def test_equal_embeddings_give_equal_bytes_in_every_process(tmp_path: Path) -> None:
    program = """
import sys
import numpy as np
from verite.embeddings import Embeddings
about = {letter: letter for letter in sys.argv[2]}
vectors = np.ones((2, 3), dtype=np.float32)
Embeddings(["a", "b"], vectors, encoder="toy", about=about).save(sys.argv[1])
"""
    files = [tmp_path / str(number) for number in range(3)]
    for path, letters in zip(files, ("abcdef", "fedcba", "cabfed"), strict=True):
        subprocess.run(
            [sys.executable, "-c", program, str(path), letters], check=True, timeout=60
        )
    assert len({path.read_bytes() for path in files}) == 1


def test_concatenation_keeps_order_and_agreed_facts() -> None:
    parts = [
        Embeddings(
            ["a"], VECTORS[:1], encoder="toy", about={"normalised": "yes", "shard": "1"}
        ),
        Embeddings(
            ["c", "b"],
            VECTORS[1:],
            encoder="toy",
            about={"normalised": "yes", "shard": "2"},
        ),
    ]
    whole = concatenate(parts)
    assert whole.ids == ("a", "c", "b")
    np.testing.assert_array_equal(whole.matrix, VECTORS)
    assert whole.about == {"normalised": "yes"}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            Embeddings(["x"], VECTORS[:1], encoder="other", where="b"),
            "a has encoder toy, b has encoder other",
        ),
        (
            Embeddings(["x"], VECTORS[:1, :1], encoder="toy", where="b"),
            "a has width 2, b has width 1",
        ),
        (
            Embeddings(
                ["x"],
                VECTORS[:1],
                encoder="toy",
                where="b",
                about={"normalised": "yes"},
            ),
            "a has normalised not said, b has normalised yes",
        ),
        (
            Embeddings(["c"], VECTORS[:1], encoder="toy", where="b"),
            "duplicate ids: c",
        ),
    ],
)
def test_vectors_that_do_not_mix(other: Embeddings, message: str) -> None:
    with pytest.raises(DataError, match=message):
        concatenate([Embeddings(IDS, VECTORS, encoder="toy", where="a"), other])


# --- read_npy


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_released_matrix_is_mapped_from_the_disk(tmp_path: Path, dtype: Any) -> None:
    np.save(tmp_path / "m.npy", VECTORS.astype(dtype))
    matrix = read_npy(tmp_path / "m.npy", rows=3)
    assert isinstance(matrix, np.memmap)
    assert matrix.dtype == dtype
    np.testing.assert_array_equal(matrix, VECTORS)


@pytest.mark.parametrize("kept", [3, 20, 127, 130, -1])
def test_a_truncated_npy_is_refused(tmp_path: Path, kept: int) -> None:
    np.save(tmp_path / "m.npy", VECTORS)
    os.truncate(
        tmp_path / "m.npy",
        kept if kept > 0 else (tmp_path / "m.npy").stat().st_size - 1,
    )
    with pytest.raises(
        DataError, match=r"m\.npy: expected a whole \.npy file .*It may be truncated"
    ):
        read_npy(tmp_path / "m.npy")


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (VECTORS.astype(np.float64), r"float64 of shape \(3, 2\)"),
        (VECTORS.astype(np.int64), r"int64 of shape \(3, 2\)"),
        (VECTORS.ravel(), r"float32 of shape \(6,\)"),
        (np.array(["a", "b"]), r"<U1 of shape \(2,\)"),
    ],
)
def test_an_npy_without_a_float_matrix_is_refused(
    tmp_path: Path, array: np.ndarray, found: str
) -> None:
    np.save(tmp_path / "m.npy", array)
    with pytest.raises(
        DataError, match=f"expected a float16 or float32 matrix, found {found}"
    ):
        read_npy(tmp_path / "m.npy")


def test_an_npy_of_another_release_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.ones((1001, 2), dtype=np.float32))
    with pytest.raises(
        DataError,
        match=(
            r"m\.npy: 1,001 vectors beside a table of 873 rows\. They are of different"
            r" releases"
        ),
    ):
        read_npy(tmp_path / "m.npy", rows=873)


@pytest.mark.parametrize(("encoder", "width"), [("ViTL14", 768), ("ViTB32", 512)])
@pytest.mark.parametrize("side", ["image", "text"])
def test_the_released_vectors_of_verite_are_read_whole(
    real_data: Path, encoder: str, width: int, side: str
) -> None:
    path = real_data / "verite" / f"VERITE_clip_{side}_embeddings_{encoder}.npy"
    assert read_npy(path, rows=1001).shape == (1001, width)
    with pytest.raises(DataError, match=r"1,001 vectors beside a table of 873 rows"):
        read_npy(path, rows=873)


# --- per_id


@given(embeddings(), st.data())
@settings(max_examples=80, deadline=None)
def test_repeated_rows_give_one_vector_per_id(
    found: Embeddings, data: st.DataObject
) -> None:
    ids = data.draw(st.lists(st.sampled_from(found.ids), min_size=1, max_size=12))
    matrix = found.matrix[[found.ids.index(key) for key in ids]]
    by_id = per_id(ids, matrix, encoder="toy", where="mine")
    assert by_id.ids == tuple(dict.fromkeys(ids))
    assert by_id.matrix.dtype == matrix.dtype
    np.testing.assert_array_equal(by_id.rows(ids), matrix.astype(np.float32))


def test_a_table_sorted_after_encoding_is_refused() -> None:
    rng = np.random.default_rng(0)
    ids = np.array([f"i{number}" for number in rng.integers(0, 30, 100)])
    base = rng.standard_normal((30, 8), dtype=np.float32)
    matrix = base[[int(key[1:]) for key in ids]]
    per_id(ids, matrix, encoder="toy", where="mine")
    with pytest.raises(
        DataError, match="The table was sorted or changed after encoding"
    ):
        per_id(np.sort(ids), matrix, encoder="toy", where="mine")


def test_repeats_may_differ_by_rounding_to_float16() -> None:
    rng = np.random.default_rng(0)
    exact = rng.standard_normal((1, 768), dtype=np.float32)
    rounded = exact.astype(np.float16).astype(np.float32)
    assert not np.array_equal(exact, rounded)
    assert (
        len(
            per_id(
                ["a", "a"],
                np.concatenate([exact, rounded]),
                encoder="toy",
                where="mine",
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    ("ids", "matrix", "message"),
    [
        (["a"] * 2, VECTORS, r"2 rows beside 3 vectors"),
        (["a", None, "b"], VECTORS, r"1 row\(s\) have no id \(row 1\)"),
        (["a", "b", "a"], VECTORS, r"not belong together: 1 row\(s\) .* \(row 2\)"),
        (["a", "a", "b"], second_row(0, 0), r"not belong together: .* \(row 1\)"),
        (["a", "a", "b"], second_row(np.nan, 1), r"not belong together: .* \(row 1\)"),
    ],
)
def test_rows_that_do_not_fit_the_vectors(
    ids: list[str], matrix: np.ndarray, message: str
) -> None:
    with pytest.raises(DataError, match=f"mine: .*{message}"):
        per_id(ids, matrix, encoder="toy", where="mine")
