from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from verite.audit import read_benchmark
from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError

TABLE = pd.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "image": ["boat.jpg", "boat.jpg", "dog.jpg", "cat.jpg"],
        "text": ["A boat.", "Two boats.", "a BOAT", "A cat."],
        "label": ["1", "0", "0", "1"],
        "site": ["x", "y", "x", "y"],
    }
)


def saved(folder: Path, table: pd.DataFrame = TABLE) -> Path:
    path = folder / "pairs.csv"
    table.to_csv(path, index=False)
    return path


def npy(path: Path, rows: int, seed: int = 0) -> Path:
    np.save(
        path, np.random.default_rng(seed).standard_normal((rows, 4)).astype(np.float32)
    )
    return path


def test_guessed_columns(tmp_path: Path):
    found = read_benchmark(saved(tmp_path))
    assert found.pairs["caption"].tolist() == TABLE["text"].tolist()
    assert found.labels == ["0", "1"]
    assert found.source.columns.tolist() == ["site"]
    assert "caption: column 'text', by its name" in found.notes
    assert found.ids == ("pair_id", "image_id")


def test_named_columns(tmp_path: Path):
    found = read_benchmark(saved(tmp_path), columns={"label": "site"})
    assert found.labels == ["x", "y"]
    with pytest.raises(
        ParameterError,
        match=r"no label column 'verdict'. Columns: 'id', 'image', 'text'",
    ):
        read_benchmark(saved(tmp_path), columns={"label": "verdict"})


def test_missing_captions(tmp_path: Path):
    with pytest.raises(
        ParameterError, match="which column is the caption?.*--caption-column"
    ):
        read_benchmark(saved(tmp_path, TABLE.drop(columns="text")))


def test_groups(
    tmp_path: Path,
):
    found = read_benchmark(saved(tmp_path))
    assert (
        found.pairs["group"].nunique() == 2
    )  # a, b by their image; a, c by their caption
    assert any(
        note.startswith("group: none given") and "2 groups" in note
        for note in found.notes
    )


def test_unlabelled_rows(tmp_path: Path):
    found = read_benchmark(saved(tmp_path, TABLE.assign(label=["1", "", "0", " "])))
    assert found.pairs["pair_id"].tolist() == ["a", "c"]
    assert "left out: 2 row(s) without a label (row 2, 4)" in found.notes


def test_many_labels(tmp_path: Path):
    table = pd.DataFrame({"caption": "x", "label": [f"v{at}" for at in range(60)]})
    with pytest.raises(DataError, match="expected at most 50 labels, found 60"):
        read_benchmark(saved(tmp_path, table))


def test_source_columns(tmp_path: Path):
    found = read_benchmark(
        saved(tmp_path, TABLE.assign(**{"6_way_label": "3", "donor_id": "x"}))
    )
    assert found.source.columns.tolist() == ["site"]
    assert "not looked at: '6_way_label', another label by its name" in found.notes


def test_repeated_ids(tmp_path: Path):
    found = read_benchmark(saved(tmp_path, TABLE.assign(id="same")))
    assert found.pairs["pair_id"].tolist() == ["row 1", "row 2", "row 3", "row 4"]


def test_vectors_by_id(tmp_path: Path):
    path, listed = npy(tmp_path / "v.npy", 3), tmp_path / "ids.txt"
    listed.write_text("dog.jpg\ncat.jpg\nboat.jpg\n", encoding="utf8")
    found = read_benchmark(saved(tmp_path), images=path, image_ids=listed)
    assert found.images is not None
    assert np.array_equal(found.images.rows(["boat.jpg"])[0], np.load(path)[2])


def test_filtered_table(tmp_path: Path):
    with pytest.raises(DataError, match="5 vectors beside a table of 4 rows"):
        read_benchmark(saved(tmp_path), images=npy(tmp_path / "v.npy", 5))


def test_sorted_table(tmp_path: Path):
    vectors = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    vectors[1] = vectors[0]
    np.save(tmp_path / "v.npy", vectors)
    assert read_benchmark(saved(tmp_path), images=tmp_path / "v.npy").images is not None
    with pytest.raises(DataError, match="rows and vectors do not belong together"):
        read_benchmark(
            saved(tmp_path, TABLE.iloc[[0, 2, 1, 3]]), images=tmp_path / "v.npy"
        )


def test_missing_vectors(tmp_path: Path):
    Embeddings(
        ["boat.jpg", "dog.jpg"], np.eye(2, dtype=np.float32), encoder="toy"
    ).save(tmp_path / "v.safetensors")
    with pytest.raises(DataError, match=r"1 of 3 ids have no vector \(cat.jpg\)"):
        read_benchmark(saved(tmp_path), images=tmp_path / "v.safetensors")


def test_reindexed_table(tmp_path: Path):
    path = tmp_path / "pairs.csv"
    TABLE.drop(columns="id").iloc[[0, 2, 3]].to_csv(path)
    assert any(note.startswith("reindexed") for note in read_benchmark(path).notes)
    TABLE.drop(columns="id").to_csv(path)
    assert not any(note.startswith("reindexed") for note in read_benchmark(path).notes)
