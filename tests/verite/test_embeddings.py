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


@pytest.mark.parametrize("dtype", ["float64", "int32", "complex64", "object", ">f4"])
def test_another_dtype_than_float16_or_float32_is_named(dtype: str) -> None:
    with pytest.raises(
        DataError,
        match=(
            r"mine: expected float16 or float32, found"
            r" (float64|int32|complex64|object|>f4)\."
        ),
    ):
        toy(dtype)


@pytest.mark.parametrize("shape", [(6,), (3, 2, 1), ()])
def test_anything_but_a_matrix_is_refused_with_its_shape(
    shape: tuple[int, ...],
) -> None:
    with pytest.raises(
        DataError,
        match=r"mine: expected an array of two dimensions, found ndarray of shape \(",
    ):
        Embeddings(IDS, np.ones(shape, dtype=np.float32), encoder="toy", where="mine")


@pytest.mark.parametrize("ids", [["a", "b"], ["a", "b", "c", "d"]])
def test_more_or_fewer_ids_than_vectors_are_refused_with_both_numbers(
    ids: list[str],
) -> None:
    with pytest.raises(DataError, match=rf"{len(ids)} ids beside 3 vectors"):
        Embeddings(ids, VECTORS, encoder="toy")


def test_no_vector_at_all_is_refused() -> None:
    with pytest.raises(DataError, match="expected at least one vector, found none"):
        Embeddings([], np.empty((0, 2), dtype=np.float32), encoder="toy")


def test_a_repeated_id_is_named() -> None:
    with pytest.raises(DataError, match=r"duplicate ids: b"):
        Embeddings(["a", "b", "b"], VECTORS, encoder="toy")


@pytest.mark.parametrize("key", ["", "two\nlines", "end\n"])
def test_an_id_that_is_empty_or_holds_a_line_break_is_refused(key: str) -> None:
    with pytest.raises(DataError, match="an id is empty or holds a line break"):
        Embeddings(["a", key, "c"], VECTORS, encoder="toy")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_nan_and_infinity_are_named_by_their_ids(value: float, dtype: str) -> None:
    matrix = VECTORS.astype(dtype)
    matrix[[0, 2], 1] = value
    with pytest.raises(
        DataError, match=r"mine: 2 vector\(s\) hold NaN or infinity, ids a, c\."
    ):
        Embeddings(IDS, matrix, encoder="toy", where="mine")


def test_a_zero_row_is_named_by_its_id() -> None:
    matrix = VECTORS.copy()
    matrix[1] = 0
    with pytest.raises(
        DataError, match=r"mine: 1 vector\(s\) are all zeros and .*, ids b\."
    ):
        Embeddings(IDS, matrix, encoder="toy", where="mine")


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
def test_rows_are_looked_up_by_id_in_any_order_and_as_often_as_asked(
    found: Embeddings, data: st.DataObject
) -> None:
    asked = data.draw(st.lists(st.sampled_from(found.ids), max_size=12))
    rows = found.rows(asked)
    assert rows.shape == (len(asked), found.dimensions)
    assert rows.dtype == np.float32
    for key, row in zip(asked, rows, strict=True):
        np.testing.assert_array_equal(
            row, found.matrix[found.ids.index(key)].astype(np.float32)
        )


def test_unknown_ids_are_counted_and_named_once_each() -> None:
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
def test_normalised_vectors_have_length_one_and_the_same_direction(
    found: Embeddings,
) -> None:
    unit = found.normalised()
    assert unit.matrix.dtype == np.float32
    assert (unit.ids, unit.encoder) == (found.ids, found.encoder)
    exact = found.matrix.astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    np.testing.assert_allclose(unit.matrix, exact, atol=1e-6)


@pytest.mark.parametrize("size", [1e-45, 1e-30, 1e30, 3e38])
def test_very_small_and_very_large_vectors_are_normalised_too(size: float) -> None:
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


def test_a_loaded_matrix_is_mapped_from_the_disk_and_cannot_be_written(
    tmp_path: Path,
) -> None:
    toy().save(tmp_path / "e.safetensors")
    matrix = Embeddings.load(tmp_path / "e.safetensors").matrix
    assert isinstance(matrix, np.memmap)
    assert matrix.filename == tmp_path / "e.safetensors"
    assert not matrix.flags.writeable
    assert matrix.flags.aligned


def test_embeddings_may_be_saved_over_the_file_they_are_mapped_from(
    tmp_path: Path,
) -> None:
    path = tmp_path / "e.safetensors"
    toy().save(path)
    loaded = Embeddings.load(path)
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
def test_a_truncated_file_is_refused_wherever_it_was_cut(
    tmp_path: Path, kept: int
) -> None:
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


def test_a_pickle_is_refused_and_never_run(tmp_path: Path) -> None:
    (tmp_path / "e.safetensors").write_bytes(pickle.dumps(Trap(tmp_path / "mark")))
    with pytest.raises(DataError, match="expected a whole file of embeddings"):
        Embeddings.load(tmp_path / "e.safetensors")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("loader", [Embeddings.load, read_npy])
def test_a_folder_an_empty_file_and_a_missing_file_are_each_named(
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
def test_a_safetensors_file_that_holds_something_else_is_refused_with_the_reason(
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


def test_what_is_known_of_vectors_is_saved_with_them(tmp_path: Path) -> None:
    about = {"normalised": "no", "digest": "3f2a", "quote": 'a "b" \\ ü\n'}
    Embeddings(IDS, VECTORS, encoder="toy", about=about).save(
        tmp_path / "e.safetensors"
    )
    loaded = Embeddings.load(tmp_path / "e.safetensors")
    assert loaded.about == about
    assert loaded.normalised().about == {**about, "normalised": "yes"}
    assert loaded.about["normalised"] == "no"


@pytest.mark.parametrize("about", ["[]", "{", '{"a": 1}'])
def test_what_is_no_object_of_texts_is_not_taken_for_what_is_known(
    tmp_path: Path, about: str
) -> None:
    save_file(
        {"matrix": VECTORS, "ids": NAMES},
        tmp_path / "e.safetensors",
        metadata={**ABOUT, "about": about},
    )
    with pytest.raises(
        DataError, match=r"e\.safetensors: expected a whole file of embeddings"
    ):
        Embeddings.load(tmp_path / "e.safetensors")


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


def test_shards_are_put_together_in_their_order_and_keep_what_they_agree_on() -> None:
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
def test_vectors_that_do_not_belong_together_are_not_put_together(
    other: Embeddings, message: str
) -> None:
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
def test_a_truncated_npy_is_refused_wherever_it_was_cut(
    tmp_path: Path, kept: int
) -> None:
    np.save(tmp_path / "m.npy", VECTORS)
    os.truncate(
        tmp_path / "m.npy",
        kept if kept > 0 else (tmp_path / "m.npy").stat().st_size - 1,
    )
    with pytest.raises(
        DataError, match=r"m\.npy: expected a whole \.npy file .*It may be truncated"
    ):
        read_npy(tmp_path / "m.npy")


def test_a_pickled_npy_is_refused_and_never_run(tmp_path: Path) -> None:
    np.save(
        tmp_path / "m.npy",
        np.array([Trap(tmp_path / "mark")], dtype=object),
        allow_pickle=True,
    )
    with pytest.raises(DataError, match=r"m\.npy: holds pickled Python objects"):
        read_npy(tmp_path / "m.npy")
    assert not (tmp_path / "mark").exists()


def test_a_bare_pickle_with_the_name_of_an_npy_is_refused_and_never_run(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.npy").write_bytes(pickle.dumps(Trap(tmp_path / "mark")))
    with pytest.raises(DataError, match=r"m\.npy: expected a whole \.npy file"):
        read_npy(tmp_path / "m.npy")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (VECTORS.astype(np.float64), r"float64 of shape \(3, 2\)"),
        (VECTORS.astype(np.int64), r"int64 of shape \(3, 2\)"),
        (VECTORS.ravel(), r"float32 of shape \(6,\)"),
        (np.array(["a", "b"]), r"<U1 of shape \(2,\)"),
    ],
)
def test_an_npy_of_no_float_matrix_is_refused_with_what_it_holds(
    tmp_path: Path, array: np.ndarray, found: str
) -> None:
    np.save(tmp_path / "m.npy", array)
    with pytest.raises(
        DataError, match=f"expected a float16 or float32 matrix, found {found}"
    ):
        read_npy(tmp_path / "m.npy")


def test_a_matrix_of_1001_rows_beside_a_table_of_873_is_refused(tmp_path: Path) -> None:
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
def test_rows_that_repeat_an_id_give_one_vector_an_id(
    found: Embeddings, data: st.DataObject
) -> None:
    ids = data.draw(st.lists(st.sampled_from(found.ids), min_size=1, max_size=12))
    matrix = found.matrix[[found.ids.index(key) for key in ids]]
    by_id = per_id(ids, matrix, encoder="toy", where="mine")
    assert by_id.ids == tuple(dict.fromkeys(ids))
    assert by_id.matrix.dtype == matrix.dtype
    np.testing.assert_array_equal(by_id.rows(ids), matrix.astype(np.float32))


def test_rows_of_one_id_with_different_vectors_are_named() -> None:
    matrix = VECTORS[[0, 1, 0, 2, 1]]
    with pytest.raises(
        DataError,
        match=r"mine: rows and vectors do not belong together: 1 row\(s\) .* \(row 3\)",
    ):
        per_id(["a", "b", "a", "b", "b"], matrix, encoder="toy", where="mine")


def test_a_table_that_was_sorted_after_its_vectors_were_made_is_refused() -> None:
    rng = np.random.default_rng(0)
    ids = np.array([f"i{number}" for number in rng.integers(0, 30, 100)])
    base = rng.standard_normal((30, 8), dtype=np.float32)
    matrix = base[[int(key[1:]) for key in ids]]
    per_id(ids, matrix, encoder="toy", where="mine")
    with pytest.raises(
        DataError, match="The table was sorted or changed after encoding"
    ):
        per_id(np.sort(ids), matrix, encoder="toy", where="mine")


def test_repeats_that_differ_by_rounding_to_float16_are_the_same_vector() -> None:
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


@pytest.mark.parametrize("rows", [2, 4])
def test_more_or_fewer_rows_than_vectors_are_refused_with_both_numbers(
    rows: int,
) -> None:
    with pytest.raises(
        DataError,
        match=rf"mine: {rows} rows beside 3 vectors\. They are of different releases",
    ):
        per_id(["a"] * rows, VECTORS, encoder="toy", where="mine")


def test_a_row_without_an_id_is_named() -> None:
    with pytest.raises(DataError, match=r"mine: 1 row\(s\) have no id \(row 1\)"):
        per_id(["a", None, "b"], VECTORS, encoder="toy", where="mine")  # type: ignore[list-item]


@pytest.mark.parametrize("value", [0, np.nan])
def test_a_repeat_without_direction_is_not_the_same_vector(value: float) -> None:
    matrix = np.array([[1, 2], [value, value]], dtype=np.float32)
    with pytest.raises(
        DataError, match=r"do not belong together: 1 row\(s\) .* \(row 1\)"
    ):
        per_id(["a", "a"], matrix, encoder="toy", where="mine")
