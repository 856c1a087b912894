"""Attention weights of one head over two tokens."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Tokens and the matrices of queries and keys.

    Of zeros, of one choice only, stretched, and drawn by chance.
    """
    rng = np.random.default_rng(0)
    plain = np.array([[1.0, 0.0], [0.0, 1.0]])
    given = [
        (
            "matrices of zeros, which choose nothing",
            plain,
            np.zeros((2, 2)),
            np.zeros((2, 2)),
        ),
        (
            "tokens that each ask for the other",
            plain,
            plain,
            np.array([[0.0, 3.0], [3.0, 0.0]]),
        ),
        (
            "queries and keys that are no squares",
            plain,
            np.array([[1.0, 2.0]]),
            np.array([[2.0, -1.0]]),
        ),
        ("tokens so long that an exponential overflows", 100 * plain, plain, plain),
    ]
    for m, d in ((4, 2), (6, 3)):
        x, W_Q, W_K = (rng.normal(size=size) for size in ((2, m), (d, m), (d, m)))
        given.append(
            (f"tokens of width {m} and a head of width {d}, by chance", x, W_Q, W_K)
        )
    return [
        Case(what, (x, W_Q, W_K), _weights(x, W_Q, W_K)) for what, x, W_Q, W_K in given
    ]


def _weights(x: np.ndarray, W_Q: np.ndarray, W_K: np.ndarray) -> np.ndarray:
    return np.asarray(softmax((x @ W_Q.T) @ (x @ W_K.T).T / np.sqrt(len(W_Q)), axis=1))
