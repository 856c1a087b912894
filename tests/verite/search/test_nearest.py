"""Neighbours are those of brute force in double precision, however the work is cut."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError
from verite.search import Neighbours, blockwise, cosines, nearest, nearest_plain
from verite.search.plain import DECIMALS, rounding_bound, row_lengths
from verite.search.screening import Vectors, as_codes, int8_is_exact, screen_int8, unit

# Where 8-bit products are not exact, the package does not use them.
SCREENS = ["float32", "int8"] if int8_is_exact() else ["float32"]
each_screen = pytest.mark.parametrize("screen", SCREENS)
needs_int8 = pytest.mark.skipif(not int8_is_exact(), reason="no exact 8-bit products")
EYE = np.eye(3, dtype=np.float32)


def named(matrix: np.ndarray, prefix: str = "c", encoder: str = "toy") -> Embeddings:
    ids = [f"{prefix}{i}" for i in range(len(matrix))]
    return Embeddings(ids, matrix, encoder=encoder)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def brute_force(
    Q: Embeddings,
    C: Embeddings,
    k: int,
    groups: tuple[list[int], list[int]] | None = None,
    highest: float | None = None,
) -> Neighbours:
    """Every cosine with exactly rounded sums, one at a time."""
    ids = np.full((len(Q), k), "", dtype=object)
    similarities = np.full((len(Q), k), np.nan)
    for row, q in enumerate(Q.matrix.tolist()):
        scored = []
        for column, c in enumerate(C.matrix.tolist()):
            if groups is not None and groups[0][row] == groups[1][column]:
                continue
            dot, qq, cc = (
                math.fsum(a * b for a, b in zip(x, y, strict=True))
                for x, y in ((q, c), (q, q), (c, c))
            )
            score = round(dot / (math.sqrt(qq) * math.sqrt(cc)), DECIMALS)
            if highest is None or score <= highest:
                scored.append((-score, C.ids[column]))
        for place, (score, key) in enumerate(sorted(scored)[:k]):
            ids[row, place], similarities[row, place] = key, -score
    return Neighbours(ids, similarities)


def assert_same(found: Neighbours, expected: Neighbours) -> None:
    assert found.ids.tolist() == expected.ids.tolist()
    np.testing.assert_allclose(found.similarities, expected.similarities, atol=2e-12)


def assert_equal(found: Neighbours, expected: Neighbours) -> None:
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.similarities.tobytes() == expected.similarities.tobytes()


# Few values, so that there are many duplicates and ties; no vector is zero.
def matrices(rows: int) -> st.SearchStrategy[np.ndarray]:
    values = st.sampled_from([-1.0, 0.0, 0.1, 1.0, 3.0])
    shape = st.tuples(st.integers(1, rows), st.just(3))
    body = hnp.arrays(np.float32, shape, elements=values)
    return body.map(lambda m: np.hstack([m, np.ones((len(m), 1), dtype=np.float32)]))


@given(
    Q=matrices(6),
    C=matrices(12),
    k=st.integers(1, 4),
    cut=st.tuples(st.integers(1, 3), st.integers(1, 5)),
    grouped=st.booleans(),
    highest=st.sampled_from([None, 0.5, 0.9]),
    screen=st.sampled_from(SCREENS),
)
@settings(max_examples=150, deadline=None)
def test_neighbours_are_those_of_brute_force(
    Q: np.ndarray,
    C: np.ndarray,
    k: int,
    cut: tuple[int, int],
    grouped: bool,
    highest: float | None,
    screen: str,
) -> None:
    queries, candidates = named(Q, "q"), named(C)
    groups, which = None, {}
    if grouped:
        groups = [i % 3 for i in range(len(Q))], [i % 3 for i in range(len(C))]
        which = {"query_groups": groups[0], "candidate_groups": groups[1]}
    expected = brute_force(queries, candidates, k, groups, highest)
    blocks: dict[str, Any] = {"query_block": cut[0], "candidate_block": cut[1]}
    found = nearest(
        queries, candidates, k, highest=highest, screen=screen, **blocks, **which
    )
    assert_same(found, expected)
    limit = np.inf if highest is None else highest
    assert_equal(nearest_plain(queries, candidates, k, highest=limit, **which), found)


@each_screen
def test_the_plain_search_finds_the_same(screen: str) -> None:
    rng = np.random.default_rng(3)
    shift = 3 * rng.normal(size=64)
    Q, C = (
        named((rng.normal(size=(n, 64)) + shift).astype(np.float32), prefix)
        for n, prefix in ((600, "q"), (3000, "c"))
    )
    which = {
        "query_groups": [str(i % 50) for i in range(600)],
        "candidate_groups": [str(i % 70) for i in range(3000)],
    }
    found = nearest(Q, C, 3, highest=0.95, screen=screen, **which)
    assert_equal(nearest_plain(Q, C, 3, highest=0.95, **which), found)


def test_candidates_closer_than_float32_can_tell_come_in_their_true_order() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(1, 768))
    crowd = base + 1e-6 * rng.normal(size=(60, 768))
    rest = rng.normal(size=(200, 768))
    candidates = named(np.vstack([crowd, rest]).astype(np.float32))
    queries = named((rng.normal(size=(5, 768)) + base).astype(np.float32), "q")
    expected = brute_force(queries, candidates, 5)
    single = queries.normalised().matrix @ candidates.normalised().matrix.T
    best = [candidates.ids[i] for i in single.argmax(axis=1)]
    assert best != expected.ids[:, 0].tolist()  # else the test could not fail
    assert_same(nearest(queries, candidates, 5, candidate_block=37), expected)
    assert_same(nearest_plain(queries, candidates, 5), expected)


def test_a_candidate_just_above_the_highest_hides_none_below() -> None:
    V = named(np.array([[1, 0], [0.8, 0.6], [0.5, 0.8]], dtype=np.float32))
    above = cosines(V, ["c0"], V, ["c1"])[0]
    which = {"query_ids": ["c0"], "candidate_ids": ["c1", "c2"]}
    for highest, key in ((above, "c1"), (above - 1e-9, "c2")):
        assert nearest(V, V, highest=highest, **which).ids.tolist() == [[key]]
        assert nearest_plain(V, V, highest=highest, **which).ids.tolist() == [[key]]


def test_a_float32_product_stays_within_its_bound() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=(200, 768)).astype(np.float32) + 1 for _ in range(2))
    exact = [x.astype(float) / row_lengths(x)[:, None] for x in (a, b)]
    single = exact[0].astype(np.float32) @ exact[1].astype(np.float32).T
    error = np.abs(single - exact[0] @ exact[1].T).max()
    assert 0 < error < rounding_bound(768) < 5e-5


@each_screen
@pytest.mark.parametrize("cut", [(1, 8192), (4096, 1), (7, 13), (4096, 1000)])
def test_block_sizes_change_no_bit(cut: tuple[int, int], screen: str) -> None:
    matrix = normal(np.random.default_rng(2), 150, 33)
    matrix[75:] = matrix[:75]
    V = named(matrix)
    parts = nearest(V, V, 4, screen=screen, query_block=cut[0], candidate_block=cut[1])
    assert_equal(parts, nearest(V, V, 4, screen="float32"))


def test_the_order_of_candidates_does_not_matter() -> None:
    V = named(np.random.default_rng(4).integers(1, 3, size=(40, 4)).astype(np.float32))
    assert_equal(nearest(V, V, 5), nearest(V, V, 5, candidate_ids=V.ids[::-1]))


def test_of_equal_vectors_the_smallest_ids_that_are_allowed_come_first() -> None:
    V = named(np.ones((5, 3), dtype=np.float32))
    found = nearest(V, V, 2, query_groups=V.ids, candidate_groups=V.ids)
    rows = [["c1", "c2"], ["c0", "c2"], ["c0", "c1"], ["c0", "c1"], ["c0", "c1"]]
    assert found.ids.tolist() == rows
    assert (found.similarities == 1).all()


def test_of_thousands_of_equal_vectors_few_are_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matrix = np.ones((6000, 8), dtype=np.float32)
    matrix[3000:, 0] = 2
    V = named(matrix)
    groups = [f"g{i // 2}" for i in range(6000)]
    scored: list[int] = []
    exact = blockwise.exact_cosines

    def count(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        scored.append(len(first))
        return exact(first, second)

    monkeypatch.setattr(blockwise, "exact_cosines", count)
    found = nearest(V, V, 3, query_groups=groups, candidate_groups=groups)
    assert sum(scored) <= 6000 * 12  # six of each vector, of 36 million cosines
    for row in (0, 7, 2999):
        allowed = [key for key in V.ids[:3000] if groups[int(key[1:])] != groups[row]]
        assert found.ids[row].tolist() == sorted(allowed)[:3]


def test_a_query_without_enough_candidates_gets_empty_ids_and_nan() -> None:
    V = named(EYE + 1)
    found = nearest(V, V, 2, query_groups="aab", candidate_groups="aab")
    assert found.ids.tolist() == [["c2", ""], ["c2", ""], ["c0", "c1"]]
    assert np.isnan(found.similarities[:2, 1]).all()


def test_queries_come_in_their_order_and_may_repeat_or_be_none() -> None:
    V = named(EYE)
    found = nearest(V, V, query_ids=["c2", "c0", "c2"])
    assert found.ids[:, 0].tolist() == ["c2", "c0", "c2"]
    assert nearest(V, V, 2, query_ids=[]).ids.shape == (0, 2)


def test_mapped_half_precision_files_are_searched(tmp_path: Path) -> None:
    V = named(np.random.default_rng(5).normal(size=(50, 16)).astype(np.float16))
    V.save(tmp_path / "v.safetensors")
    mapped = Embeddings.load(tmp_path / "v.safetensors")
    assert isinstance(mapped.matrix, np.memmap)
    found = nearest(mapped, mapped, 3, candidate_block=7)
    assert_same(found, brute_force(V, V, 3))
    assert_equal(nearest_plain(mapped, mapped, 3), found)


def test_cosines_are_those_that_nearest_reports() -> None:
    V = named(normal(np.random.default_rng(6), 30, 16))
    found = nearest(V, V, 2)
    pairwise = cosines(V, V.ids, V, found.ids[:, 1])
    assert pairwise.tobytes() == found.similarities[:, 1].tobytes()


@each_screen
def test_a_crowd_of_nearly_equal_candidates_is_told_apart(screen: str) -> None:
    rng = np.random.default_rng(7)
    # More than a shortlist of the coarser screen may hold.
    crowd = rng.normal(size=(1, 64)) + 1e-3 * rng.normal(size=(4000, 64))
    rest = rng.normal(size=(500, 64))
    C = named(np.vstack([crowd, rest]).astype(np.float32))
    Q = named((crowd[:3] + 1e-2 * rng.normal(size=(3, 64))).astype(np.float32), "q")
    assert_equal(nearest(Q, C, 2, screen=screen), nearest_plain(Q, C, 2))


@each_screen
@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0])
def test_a_dimension_that_outweighs_all_others(screen: str, size: float) -> None:
    rng = np.random.default_rng(8)
    asked, offered = normal(rng, 40, 48), normal(rng, 700, 48)
    for matrix in (asked, offered):
        matrix[:, 5] = size * (10 + rng.normal(size=len(matrix)))
        matrix[::7] *= 1e3
    queries, candidates = named(asked, "q"), named(offered)
    found = nearest(queries, candidates, 3, screen=screen)
    assert_same(found, brute_force(queries, candidates, 3))


@each_screen
def test_in_large_groups_no_candidate_of_the_own_is_found(screen: str) -> None:
    V = named(normal(np.random.default_rng(9), 300, 16))
    groups = [f"g{i % 3}" for i in range(300)]
    which = {"query_groups": groups, "candidate_groups": groups}
    found = nearest(V, V, 2, screen=screen, **which)
    assert_equal(nearest_plain(V, V, 2, **which), found)
    for row, keys in enumerate(found.ids):
        assert all(int(key[1:]) % 3 != row % 3 for key in keys)


@needs_int8
def test_the_8_bit_screen_leaves_few_candidates_and_the_best() -> None:
    rng = np.random.default_rng(10)
    asked, offered = normal(rng, 64, 768), normal(rng, 5000, 768)
    Q, C = (Vectors(matrix, np.arange(len(matrix))) for matrix in (asked, offered))
    codes = as_codes(C, row_lengths(offered), Q, 1000)
    unit_q = unit(asked.copy(), row_lengths(asked))
    (rows, columns), crowded = screen_int8(
        unit_q, codes, 1, highest=np.inf, mask=lambda product, left, right: None
    )
    exact = unit_q.numpy() @ (offered / row_lengths(offered)[:, None]).T
    assert len(crowded) == 0
    best = set(enumerate(exact.argmax(axis=1).tolist()))
    assert best <= set(zip(rows.tolist(), columns.tolist(), strict=True))
    assert len(rows) < 0.02 * exact.size


@needs_int8
def test_codes_are_as_close_to_the_vectors_as_they_say() -> None:
    rng = np.random.default_rng(11)
    offered = (rng.normal(size=(1000, 40)) ** 3 + 0.5).astype(np.float32)
    C = Vectors(offered, np.arange(1000))
    codes = as_codes(C, row_lengths(offered), C, 256)
    exact = offered.astype(float) / row_lengths(offered)[:, None] - codes.centre
    exact = exact[codes.order] / codes.stretch
    blocks = np.arange(1000) // codes.block
    written = codes.values[:1000] * codes.steps[blocks, None]
    missed = np.linalg.norm(exact - written, axis=1)
    assert (missed <= codes.errors[blocks]).all()
    assert missed.max() > 0.9 * codes.errors.min()
    assert (np.linalg.norm(exact, axis=1) <= codes.lengths[blocks]).all()


@pytest.mark.parametrize(
    ("candidates", "options", "message"),
    [
        (named(np.eye(4, dtype=np.float32)), {}, "dimensions 3 and 4"),
        (named(EYE, encoder="other"), {}, "encoder toy and other"),
        (None, {"query_groups": "ab", "candidate_groups": "abc"}, "expected 6 groups"),
        (None, {"query_groups": "abc"}, "groups of both sides"),
        (None, {"candidate_ids": ["c1", "c0", "c1"]}, "duplicate candidate ids: c1"),
        (named(EYE * np.float32(1e-38)), {}, "from 1e-30 to 1e30, found 1.0e-38"),
    ],
)
def test_bad_questions_are_refused(
    candidates: Embeddings | None, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        nearest(named(EYE), candidates or named(EYE), **options)


def test_a_torch_set_to_less_than_float32_is_refused() -> None:
    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(ParameterError, match="'medium' precision"):
            nearest(named(EYE), named(EYE))
    finally:
        torch.set_float32_matmul_precision("highest")
