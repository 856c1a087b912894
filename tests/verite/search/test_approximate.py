"""A FAISS index on disk: exact scores of what it offers, and a measured recall."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from verite.embeddings import Embeddings
from verite.errors import MissingDataError
from verite.search import nearest
from verite.search.approximate import FaissSearch
from verite.search.screening import Vectors

pytest.importorskip("faiss")


def clustered(count: int, prefix: str, seed: int) -> Embeddings:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(20, 24))
    matrix = centres[rng.integers(0, 20, count)] + 0.3 * rng.normal(size=(count, 24))
    ids = [f"{prefix}{i}" for i in range(count)]
    return Embeddings(ids, matrix.astype(np.float32), encoder="toy")


Q, C = clustered(80, "q", 1), clustered(3000, "c", 2)
ALL = 10_000  # lists


def test_with_all_lists_the_result_is_exact(tmp_path: Path) -> None:
    search, exact = FaissSearch(tmp_path, probes=ALL), nearest(Q, C, 3)
    found = search(Q, C, 3)
    assert found.ids.tolist() == exact.ids.tolist()
    assert found.similarities.tobytes() == exact.similarities.tobytes()
    assert search.recall(Q, C, 3) == 1


def test_fewer_probes_find_less_and_recall_measures_it(tmp_path: Path) -> None:
    few, exact = FaissSearch(tmp_path, probes=1), nearest(Q, C, 5).ids
    both = zip(exact, few(Q, C, 5).ids, strict=True)
    shared = np.mean([len(set(a) & set(b)) / 5 for a, b in both])
    assert few.recall(Q, C, 5) == pytest.approx(shared)
    assert 0.2 < shared < 1


def test_merged_shards_hold_what_one_index_holds(tmp_path: Path) -> None:
    whole = FaissSearch(tmp_path / "whole")(Q, C, 3)
    merged = FaissSearch(tmp_path / "merged", shard=700)(Q, C, 3)
    assert merged.ids.tolist() == whole.ids.tolist()


def test_the_index_is_made_once_and_may_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = FaissSearch(tmp_path / "a")
    first = search(Q, C)
    (tmp_path / "a").rename(tmp_path / "b")
    files = {p: p.stat().st_mtime_ns for p in (tmp_path / "b").rglob("*.*")}
    assert sorted(p.name for p in files) == ["index.faiss", "lists.ivfdata"]
    assert FaissSearch(tmp_path / "b")(Q, C).ids.tolist() == first.ids.tolist()
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "b").rglob("*.*")} == files
    monkeypatch.delattr(Vectors, "digest")
    search(Q, C, 2)  # all vectors are read once for the name of the index


def test_groups_and_the_highest_cosine_are_kept_to(tmp_path: Path) -> None:
    offered = C.ids[::2]
    options = {
        "candidate_ids": offered,
        "query_groups": [str(i % 5) for i in range(80)],
        "candidate_groups": [str(i % 5) for i in range(len(offered))],
        "highest": 0.9,
    }
    found = FaissSearch(tmp_path, probes=ALL)(Q, C, 2, **options)
    assert found.ids.tolist() == nearest(Q, C, 2, **options).ids.tolist()


def test_recall_of_some_queries_in_groups(tmp_path: Path) -> None:
    search = FaissSearch(tmp_path, probes=ALL)
    which = {
        "query_ids": np.array(Q.ids[:9], dtype=object),
        "query_groups": ["a"] * 9,
        "candidate_groups": ["b"] * 3000,
    }
    assert search.recall(Q, C, 2, **which) == 1
    assert search(Q, C, 2, query_ids=[]).ids.shape == (0, 2)


def test_without_faiss_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDataError, match=r"pip install verite\[faiss\]"):
        FaissSearch(tmp_path)
