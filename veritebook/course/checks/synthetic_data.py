"""The nearest donor of another event."""

from __future__ import annotations

import numpy as np

from verite.embeddings import Embeddings
from verite.search import nearest
from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Cosines of captions with the event of each.

    A few by hand, and of vectors that are drawn by chance.
    """
    rng = np.random.default_rng(0)
    drawn = [
        (
            rng.normal(size=(size, 4)).astype(np.float32),
            rng.integers(0, events, size).astype(str),
        )
        for size, events in ((6, 4), (25, 5))
    ]
    return [
        Case(
            "two events, nearest of all being oneself",
            (np.array([[1.0, 0.3], [0.3, 1.0]]), ["a", "b"]),
            [1, 0],
        ),
        Case(
            "a nearest pair of one's own event",
            (
                np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]]),
                ["a", "a", "b"],
            ),
            [2, 2, 1],
        ),
        Case(
            "cosines below zero",
            (
                np.array([[1.0, -0.4, -0.2], [-0.4, 1.0, -0.3], [-0.2, -0.3, 1.0]]),
                ["a", "b", "c"],
            ),
            [2, 2, 0],
        ),
        Case(
            "two donors that are equally near",
            (
                np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.1], [0.5, 0.1, 1.0]]),
                ["a", "b", "c"],
            ),
            [1, 0, 0],
        ),
        Case(
            "pairs of one event only", (np.ones((3, 3)), ["a", "a", "a"]), [-1, -1, -1]
        ),
        *(
            Case(f"{len(events)} captions drawn by chance", *_drawn(vectors, events))
            for vectors, events in drawn
        ),
    ]


def _drawn(
    vectors: np.ndarray, events: np.ndarray
) -> tuple[tuple[np.ndarray, list[str]], list[int]]:
    """What the search behind NC-t2t finds."""
    captions = Embeddings(
        [f"{at}" for at in range(len(vectors))], vectors, encoder="drawn"
    )
    found = nearest(
        captions, captions, query_groups=events, candidate_groups=events
    ).ids[:, 0]
    unit = vectors.astype(float) / np.linalg.norm(
        vectors.astype(float), axis=1, keepdims=True
    )
    return (unit @ unit.T, events.tolist()), [int(one) if one else -1 for one in found]
