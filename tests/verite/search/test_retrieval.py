"""The nearest neighbours are those of brute force in double precision, however the work
is cut.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError
from verite.search import Neighbours, blockwise, cosines, nearest, retrieval
from verite.search.screening import (
    DECIMALS,
    Vectors,
    as_codes,
    int8_is_exact,
    rounding_bound,
    row_lengths,
    screen_int8,
    unit,
)

# Where products of whole numbers are not exact, the package does not use them, and
# there is nothing to test.
SCREENS = ["float32", "int8"] if int8_is_exact() else ["float32"]
by_each_screen = pytest.mark.parametrize("screen", SCREENS)


def named(matrix: np.ndarray, prefix: str = "c", **options: str) -> Embeddings:
    return Embeddings(
        [f"{prefix}{i}" for i in range(len(matrix))],
        matrix,
        encoder=options.get("encoder", "toy"),
    )


def brute_force(
    Q: Embeddings,
    C: Embeddings,
    k: int,
    groups: tuple[list[int], list[int]] | None,
    highest: float | None,
) -> Neighbours:
    """Every cosine with exactly rounded sums, one at a time."""
    ids, similarities = (
        np.full((len(Q), k), "", dtype=object),
        np.full((len(Q), k), np.nan),
    )
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


# Few values, so that duplicates and ties are many; no zero vector, for the last column
# is never zero.
def matrices(rows: int) -> st.SearchStrategy[np.ndarray]:
    body = hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, rows), st.just(3)),
        elements=st.sampled_from([-1.0, 0.0, 0.1, 1.0, 3.0]),
    )
    return body.map(
        lambda matrix: np.hstack([matrix, np.ones((len(matrix), 1), dtype=np.float32)])
    )


@given(
    matrices(6), matrices(12), st.integers(1, 4), st.integers(1, 3), st.integers(1, 5), st.booleans(), st.sampled_from([None, 0.5, 0.9]),
    st.sampled_from(SCREENS),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_neighbours_are_those_of_brute_force_with_ties_in_the_order_of_ids(
    Q: np.ndarray,
    C: np.ndarray,
    k: int,
    query_block: int,
    candidate_block: int,
    grouped: bool,
    highest: float | None,
    screen: str,
) -> None:
    queries, candidates = named(Q, "q"), named(C)
    groups = (
        ([i % 3 for i in range(len(Q))], [i % 3 for i in range(len(C))])
        if grouped
        else None
    )
    found = nearest(
        queries,
        candidates,
        k,
        query_groups=None if groups is None else map(str, groups[0]),
        candidate_groups=None if groups is None else map(str, groups[1]),
        highest=highest,
        query_block=query_block,
        candidate_block=candidate_block,
        screen=screen,
    )
    assert_same(found, brute_force(queries, candidates, k, groups, highest))


def test_candidates_closer_together_than_single_precision_can_tell_come_in_their_true_order() -> (
    None
):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(1, 768))
    candidates = named(
        np.vstack(
            [base + 1e-6 * rng.normal(size=(60, 768)), rng.normal(size=(200, 768))]
        ).astype(np.float32)
    )
    queries = named((rng.normal(size=(5, 768)) + base).astype(np.float32), "q")
    expected = brute_force(queries, candidates, 5, None, None)
    single = queries.normalised().matrix @ candidates.normalised().matrix.T
    assert [candidates.ids[i] for i in single.argmax(axis=1)] != expected.ids[
        :, 0
    ].tolist()  # else the test could not fail
    assert_same(nearest(queries, candidates, 5, candidate_block=37), expected)


def test_a_candidate_just_above_the_highest_does_not_hide_those_below() -> None:
    V = named(np.array([[1, 0], [0.8, 0.6], [0.5, 0.8]], dtype=np.float32))
    above = cosines(V, ["c0"], V, ["c1"])[0]
    for highest, found in ((above, "c1"), (above - 1e-9, "c2")):
        assert nearest(
            V, V, query_ids=["c0"], candidate_ids=["c1", "c2"], highest=highest
        ).ids.tolist() == [[found]]


def test_a_product_in_single_precision_stays_within_its_bound() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=(200, 768)) + 1 for _ in range(2))
    unit = [
        (
            x.astype(np.float32)
            / np.linalg.norm(x.astype(np.float32).astype(float), axis=1, keepdims=True)
        )
        for x in (a, b)
    ]
    single = unit[0].astype(np.float32) @ unit[1].astype(np.float32).T
    error = np.abs(single - unit[0] @ unit[1].T).max()
    assert 0 < error < rounding_bound(768) < 5e-5


CUTS = [
    {"query_block": 1},
    {"candidate_block": 1},
    {"query_block": 7, "candidate_block": 13},
    {"candidate_block": 1000},
]


@by_each_screen
@pytest.mark.parametrize("cut", CUTS)
def test_results_are_the_same_bits_for_all_block_sizes(
    cut: dict[str, int], screen: str
) -> None:
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(150, 33)).astype(np.float32)
    matrix[75:] = matrix[:75]
    V = named(matrix)
    whole, parts = (
        nearest(V, V, 4, screen="float32"),
        nearest(V, V, 4, screen=screen, **cut),
    )
    assert whole.ids.tolist() == parts.ids.tolist()
    assert whole.similarities.tobytes() == parts.similarities.tobytes()


def test_the_order_of_candidates_does_not_matter() -> None:
    V = named(np.random.default_rng(4).integers(1, 3, size=(40, 4)).astype(np.float32))
    assert (
        nearest(V, V, 5).ids.tolist()
        == nearest(V, V, 5, candidate_ids=V.ids[::-1]).ids.tolist()
    )


def test_all_equal_vectors_give_the_smallest_ids_that_are_allowed() -> None:
    V = named(np.ones((5, 3), dtype=np.float32))
    found = nearest(V, V, 2, query_groups=V.ids, candidate_groups=V.ids)
    assert found.ids.tolist() == [
        ["c1", "c2"],
        ["c0", "c2"],
        ["c0", "c1"],
        ["c0", "c1"],
        ["c0", "c1"],
    ]
    assert (found.similarities == 1).all()


def test_of_thousands_of_equal_vectors_few_are_scored_and_the_smallest_ids_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matrix = np.ones((6000, 8), dtype=np.float32)
    matrix[3000:, 0] = 2
    V = named(matrix)
    groups = [f"g{i // 2}" for i in range(6000)]
    scored: list[int] = []

    def count(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        scored.append(len(first))
        return exact(first, second)

    exact = blockwise.exact_cosines
    monkeypatch.setattr(blockwise, "exact_cosines", count)
    found = nearest(V, V, 3, query_groups=groups, candidate_groups=groups)
    assert sum(scored) <= 6000 * 12  # six of each vector, of 36 million cosines
    ids = sorted(V.ids[:3000])
    for row in (0, 7, 2999):
        assert (
            found.ids[row].tolist()
            == [key for key in ids if groups[int(key[1:])] != groups[row]][:3]
        )
    assert (found.similarities == 1).all()


def test_a_query_without_enough_candidates_gets_empty_ids_and_nan() -> None:
    V = named(np.eye(3, dtype=np.float32) + 1)
    found = nearest(
        V, V, 2, query_groups=["a", "a", "b"], candidate_groups=["a", "a", "b"]
    )
    assert found.ids.tolist() == [["c2", ""], ["c2", ""], ["c0", "c1"]]
    assert np.isnan(found.similarities[:2, 1]).all()


def test_queries_are_answered_in_the_order_they_were_asked_and_twice_if_asked_twice() -> (
    None
):
    V = named(np.eye(3, dtype=np.float32))
    assert nearest(V, V, query_ids=["c2", "c0", "c2"]).ids[:, 0].tolist() == [
        "c2",
        "c0",
        "c2",
    ]


def test_no_query_gives_no_row() -> None:
    V = named(np.eye(3, dtype=np.float32))
    assert nearest(V, V, 2, query_ids=[]).ids.shape == (0, 2)


def test_mapped_half_precision_files_are_searched_as_they_lie(tmp_path: Path) -> None:
    V = named(np.random.default_rng(5).normal(size=(50, 16)).astype(np.float16))
    V.save(tmp_path / "v.safetensors")
    mapped = Embeddings.load(tmp_path / "v.safetensors")
    assert isinstance(mapped.matrix, np.memmap)
    found = nearest(mapped, mapped, 3, candidate_block=7)
    assert_same(found, brute_force(V, V, 3, None, None))


def test_cosines_are_those_that_nearest_reports() -> None:
    V = named(np.random.default_rng(6).normal(size=(30, 16)).astype(np.float32))
    found = nearest(V, V, 2)
    assert (
        cosines(V, V.ids, V, found.ids[:, 1]).tobytes()
        == found.similarities[:, 1].tobytes()
    )


def test_vectors_of_unequal_width_are_refused_with_both_widths() -> None:
    with pytest.raises(DataError, match="dimensions 3 and 4"):
        nearest(named(np.eye(3, dtype=np.float32)), named(np.eye(4, dtype=np.float32)))


def test_vectors_of_two_encoders_are_refused() -> None:
    with pytest.raises(DataError, match="encoder toy and other"):
        nearest(
            named(np.eye(3, dtype=np.float32)),
            named(np.eye(3, dtype=np.float32), encoder="other"),
        )


def test_groups_in_another_number_than_ids_are_refused() -> None:
    V = named(np.eye(3, dtype=np.float32))
    with pytest.raises(DataError, match="2 groups beside 3 queries"):
        nearest(V, V, query_groups="ab", candidate_groups="abc")
    with pytest.raises(ParameterError, match="one side only"):
        nearest(V, V, query_groups="abc")


def test_a_candidate_named_twice_is_refused() -> None:
    V = named(np.eye(3, dtype=np.float32))
    with pytest.raises(DataError, match="c1 stands several times"):
        nearest(V, V, candidate_ids=["c1", "c0", "c1"])


@by_each_screen
def test_a_crowd_of_nearly_equal_candidates_is_told_apart(screen: str) -> None:
    rng = np.random.default_rng(7)
    crowd = rng.normal(size=(1, 64)) + 1e-3 * rng.normal(
        size=(4000, 64)
    )  # more than a shortlist of the coarser screen may hold
    candidates = named(
        np.vstack([crowd, rng.normal(size=(500, 64))]).astype(np.float32)
    )
    queries = named(
        (crowd[:3] + 1e-2 * rng.normal(size=(3, 64))).astype(np.float32), "q"
    )
    exact = (
        queries.normalised().matrix.astype(float)
        @ candidates.normalised().matrix.astype(float).T
    )
    found = nearest(queries, candidates, 2, screen=screen)
    assert found.ids[:, 0].tolist() == [candidates.ids[i] for i in exact.argmax(axis=1)]


@by_each_screen
@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0])
def test_a_dimension_that_outweighs_all_others_hides_no_neighbour(
    screen: str, size: float
) -> None:
    rng = np.random.default_rng(8)
    matrices = [rng.normal(size=(count, 48)).astype(np.float32) for count in (40, 700)]
    for matrix in matrices:
        matrix[:, 5] = size * (10 + rng.normal(size=len(matrix)))
        matrix[::7] *= 1e3
    queries, candidates = named(matrices[0], "q"), named(matrices[1])
    assert_same(
        nearest(queries, candidates, 3, screen=screen),
        brute_force(queries, candidates, 3, None, None),
    )


@by_each_screen
def test_of_large_groups_no_candidate_of_ones_own_is_found(
    screen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    V = named(np.random.default_rng(9).normal(size=(300, 16)).astype(np.float32))
    groups = [f"g{i % 3}" for i in range(300)]
    few = nearest(V, V, 2, query_groups=groups, candidate_groups=groups, screen=screen)
    monkeypatch.setattr(blockwise, "_MANY", 0)
    many = nearest(V, V, 2, query_groups=groups, candidate_groups=groups, screen=screen)
    assert few.ids.tolist() == many.ids.tolist()
    assert all(
        int(key[1:]) % 3 != row % 3 for row, keys in enumerate(many.ids) for key in keys
    )


@pytest.mark.skipif(
    not int8_is_exact(), reason="this processor does not multiply whole numbers exactly"
)
def test_the_coarse_screen_leaves_few_candidates_and_never_the_wrong_ones() -> None:
    rng = np.random.default_rng(10)
    asked, offered = (
        rng.normal(size=(count, 768)).astype(np.float32) for count in (64, 5000)
    )
    Q, C = (Vectors(matrix, np.arange(len(matrix))) for matrix in (asked, offered))
    codes = as_codes(C, row_lengths(offered), Q, block=1000)
    found = screen_int8(
        unit(asked.copy(), row_lengths(asked)),
        codes,
        1,
        highest=None,
        mask=lambda product, left, right: None,
    )
    exact = (asked / row_lengths(asked)[:, None]) @ (
        offered / row_lengths(offered)[:, None]
    ).T
    assert len(found.crowded) == 0
    assert set(enumerate(exact.argmax(axis=1).tolist())) <= set(
        zip(found.rows.tolist(), found.columns.tolist(), strict=True)
    )
    assert len(found.rows) < 0.02 * exact.size


@pytest.mark.skipif(
    not int8_is_exact(), reason="this processor does not multiply whole numbers exactly"
)
def test_codes_are_never_further_from_what_they_stand_for_than_they_say() -> None:
    rng = np.random.default_rng(11)
    offered = (rng.normal(size=(1000, 40)) ** 3 + 0.5).astype(np.float32)
    C = Vectors(offered, np.arange(1000))
    codes = as_codes(C, row_lengths(offered), C, block=256)
    exact = (
        offered.astype(float) / row_lengths(offered)[:, None] - codes.centre
    ) / codes.stretch
    blocks = np.arange(1000) // codes.block
    written = codes.values[:1000] * codes.steps[blocks, None]
    missed = np.linalg.norm(exact[codes.order] - written, axis=1)
    assert (missed <= codes.errors[blocks]).all()
    assert missed.max() > 0.9 * codes.errors.min()
    assert (np.linalg.norm(exact[codes.order], axis=1) <= codes.lengths[blocks]).all()


def test_a_screen_that_does_not_exist_is_refused() -> None:
    V = named(np.eye(3, dtype=np.float32))
    with pytest.raises(ParameterError, match="auto, int8, float32, found 'int4'"):
        nearest(V, V, screen="int4")


def test_int8_is_refused_where_products_are_not_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    V = named(np.eye(3, dtype=np.float32))
    monkeypatch.setattr(retrieval, "int8_is_exact", lambda: False)
    with pytest.raises(ParameterError, match="does not run on this cpu"):
        nearest(V, V, screen="int8")


def test_vectors_too_short_for_single_precision_are_refused() -> None:
    V = named(np.eye(3, dtype=np.float32) * np.float32(1e-38))
    with pytest.raises(DataError, match="length from 1e-30 to 1e30, found 1.0e-38"):
        nearest(V, V)


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"query_block": 0}, {"candidate_block": -1}]
)
def test_sizes_below_one_are_refused(options: dict[str, int]) -> None:
    V = named(np.eye(3, dtype=np.float32))
    with pytest.raises(
        ParameterError, match=f"expected {next(iter(options))} of 1 or more"
    ):
        nearest(V, V, **options)


def test_a_torch_that_was_told_to_be_less_than_precise_is_refused() -> None:
    V = named(np.eye(3, dtype=np.float32))
    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(ParameterError, match="'medium' precision"):
            nearest(V, V)
    finally:
        torch.set_float32_matmul_precision("highest")
