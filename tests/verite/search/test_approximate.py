"""A FAISS index on the disk.

What it offers is scored exactly, and what it misses is measured.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from verite.embeddings import Embeddings
from verite.errors import MissingDataError, ParameterError
from verite.search import approximate, nearest
from verite.search.approximate import FaissSearch

pytest.importorskip("faiss")


def clustered(count: int, prefix: str, seed: int) -> Embeddings:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(20, 24))
    matrix = centres[rng.integers(0, 20, count)] + 0.3 * rng.normal(size=(count, 24))
    return Embeddings(
        [f"{prefix}{i}" for i in range(count)], matrix.astype(np.float32), encoder="toy"
    )


QUERIES, CANDIDATES = clustered(80, "q", 1), clustered(3000, "c", 2)


def test_with_all_lists_probed_the_nearest_are_found_with_their_exact_cosines(
    tmp_path: Path,
) -> None:
    search = FaissSearch(tmp_path, probes=10_000)
    found, exact = search(QUERIES, CANDIDATES, 3), nearest(QUERIES, CANDIDATES, 3)
    assert found.ids.tolist() == exact.ids.tolist()
    assert found.similarities.tobytes() == exact.similarities.tobytes()
    assert search.recall(QUERIES, CANDIDATES, 3) == 1


def test_fewer_probes_find_less_and_recall_says_how_much(tmp_path: Path) -> None:
    few = FaissSearch(tmp_path, probes=1)
    exact = nearest(QUERIES, CANDIDATES, 5).ids
    found = few(QUERIES, CANDIDATES, 5).ids
    shared = np.mean(
        [len(set(a) & set(b)) / 5 for a, b in zip(exact, found, strict=True)]
    )
    assert few.recall(QUERIES, CANDIDATES, 5) == pytest.approx(shared)
    assert (
        0.2
        < shared
        < 1
        == FaissSearch(tmp_path, probes=10_000).recall(QUERIES, CANDIDATES, 5)
    )


def test_shards_merged_on_the_disk_hold_what_one_index_holds(tmp_path: Path) -> None:
    whole = FaissSearch(tmp_path / "whole")(QUERIES, CANDIDATES, 3)
    merged = FaissSearch(tmp_path / "merged", shard=700)(QUERIES, CANDIDATES, 3)
    assert merged.ids.tolist() == whole.ids.tolist()


def test_the_index_is_made_once_and_may_be_moved(tmp_path: Path) -> None:
    first = FaissSearch(tmp_path / "a")(QUERIES, CANDIDATES)
    (tmp_path / "a").rename(tmp_path / "b")
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "b").rglob("*")}
    assert sorted(path.name for path in made if path.is_file()) == [
        "index.faiss",
        "lists.ivfdata",
    ]
    again = FaissSearch(tmp_path / "b")(QUERIES, CANDIDATES)
    assert again.ids.tolist() == first.ids.tolist()
    assert {
        path: path.stat().st_mtime_ns for path in (tmp_path / "b").rglob("*")
    } == made


def test_the_vectors_are_read_for_the_indexs_name_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = FaissSearch(tmp_path)
    search(QUERIES, CANDIDATES)
    monkeypatch.delattr(approximate, "digest")
    search(QUERIES, CANDIDATES, 2)


def test_only_candidates_of_other_groups_below_the_highest_cosine_are_found(
    tmp_path: Path,
) -> None:
    offered = CANDIDATES.ids[::2]
    options = {
        "candidate_ids": offered,
        "query_groups": [str(i % 5) for i in range(80)],
        "candidate_groups": [str(i % 5) for i in range(len(offered))],
        "highest": 0.9,
    }
    found, exact = (
        FaissSearch(tmp_path, probes=10_000)(QUERIES, CANDIDATES, 2, **options),
        nearest(QUERIES, CANDIDATES, 2, **options),
    )
    assert found.ids.tolist() == exact.ids.tolist()


def test_recall_can_be_measured_on_some_queries_in_some_groups(tmp_path: Path) -> None:
    search = FaissSearch(tmp_path, probes=10_000)
    options = {
        "query_ids": np.array(QUERIES.ids[:9], dtype=object),
        "query_groups": ["a"] * 9,
        "candidate_groups": ["b"] * 3000,
    }
    assert search.recall(QUERIES, CANDIDATES, 2, sample=4, **options) == 1


def test_no_query_gives_no_row(tmp_path: Path) -> None:
    assert FaissSearch(tmp_path)(QUERIES, CANDIDATES, 2, query_ids=[]).ids.shape == (
        0,
        2,
    )


def test_a_number_below_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="probes of 1 or more, found 0"):
        FaissSearch(tmp_path, probes=0)


def test_without_faiss_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDataError, match=r"pip install verite\[faiss\]"):
        FaissSearch(tmp_path)
