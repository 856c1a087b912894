from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError
from verite.evaluation import recall_at


def vectors(matrix: object, ids: str = "abcd", encoder: str = "toy") -> Embeddings:
    rows = np.asarray(matrix, dtype=np.float32)
    return Embeddings(ids[: len(rows)], rows, encoder=encoder)


def test_partners_that_are_nearest_are_found() -> None:
    to_text, to_image = recall_at(vectors(np.eye(4)), vectors(3 * np.eye(4)), k=1)
    assert to_text.tolist() == to_image.tolist() == [True] * 4


def test_rows_meet_by_id_not_by_position() -> None:
    turned = Embeddings("dcba", np.eye(4, dtype=np.float32)[::-1].copy(), encoder="toy")
    assert all(found.all() for found in recall_at(vectors(np.eye(4)), turned, k=1))


def test_vectors_that_are_all_alike_find_nothing() -> None:
    alike = vectors(np.ones((4, 2)))
    assert not any(found.any() for found in recall_at(alike, alike, k=3))
    assert all(found.all() for found in recall_at(alike, alike, k=4))


def test_both_directions_are_told_apart() -> None:
    to_text, to_image = recall_at(
        vectors([[1, 0], [0, 1]]), vectors([[1, 0], [2, 1]]), k=1
    )
    assert to_text.tolist() == [True, True]
    assert to_image.tolist() == [True, False]


@given(st.integers(0, 2**32))
def test_recall_grows_with_k_and_is_chance_for_random_vectors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [str(number) for number in range(200)]
    V, T = (
        Embeddings(
            names, rng.standard_normal((200, 16)).astype(np.float32), encoder="toy"
        )
        for _ in range(2)
    )
    found = [recall_at(V, T, k)[0] for k in (1, 20, 200)]
    assert (found[0] <= found[1]).all()
    assert 0 < found[1].mean() < 0.25  # chance is a tenth
    assert found[2].all()


@pytest.mark.parametrize(
    ("texts", "k", "error", "message"),
    [
        (vectors(np.eye(4), encoder="other"), 1, DataError, "'toy'.*'other'"),
        (
            vectors(np.eye(4), ids="abcx"),
            1,
            DataError,
            "2 ids stand on one side only, such as d",
        ),
        (vectors(np.eye(4)), 0, ParameterError, "k of 1 or more"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    texts: Embeddings, k: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        recall_at(vectors(np.eye(4)), texts, k)
