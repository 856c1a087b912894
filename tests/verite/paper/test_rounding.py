"""Ranges that rounded cells allow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import differential_evolution

from verite.errors import DataError
from verite.evaluation import cohens_d, delta_percent
from verite.paper import Rounded, d_bounds, delta_bounds, wide

HALF = 0.05


def rounded(values: object) -> Rounded:
    array = np.asarray(values, dtype=float)
    return Rounded(array, np.full(len(array), HALF))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda n: st.tuples(
            *[
                st.lists(
                    st.integers(150, 300).map(lambda fifths: fifths / 5),
                    min_size=n,
                    max_size=n,
                    unique=True,
                )
            ]
            * 2
        )
    ),
    st.integers(0, 2**32 - 1),
)
def test_no_unrounded_cells_lie_outside_the_bounds(
    sides: tuple[list[float], list[float]], seed: int
) -> None:
    uni, multi = rounded(sides[0]), rounded(np.add(sides[1], 35))
    rng = np.random.default_rng(seed)
    inside = [
        (rng.uniform(uni.low, uni.high), rng.uniform(multi.low, multi.high))
        for _ in range(50)
    ]
    corners = [
        (rng.choice([-HALF, HALF], len(side)) for side in (uni.printed, multi.printed))
        for _ in range(50)
    ]
    inside += [(uni.printed + u, multi.printed + m) for u, m in corners]
    for bounds, measure in (
        (delta_bounds(uni, multi), delta_percent),
        (d_bounds(uni, multi), cohens_d),
    ):
        low, high = bounds
        values = [measure(u, m) for u, m in inside]
        assert low - 1e-6 <= min(values)
        assert max(values) <= high + 1e-6


@pytest.mark.parametrize(("inputs", "sign"), [("text", 1), ("image", -1)])
def test_a_global_search_finds_the_same_bounds_of_d(inputs: str, sign: int) -> None:
    cells = wide(3)
    uni, multi = rounded(cells[inputs]), rounded(cells["image+text"])
    box = [
        *zip(uni.low, uni.high, strict=True),
        *zip(multi.low, multi.high, strict=True),
    ]

    def d(x: np.ndarray) -> np.ndarray:
        u, m = x[:9], x[9:]
        return (u.mean(axis=0) - m.mean(axis=0)) / np.sqrt(
            (u.var(axis=0, ddof=1) + m.var(axis=0, ddof=1)) / 2
        )

    far = differential_evolution(
        lambda x: -sign * d(x),
        box,
        rng=0,
        vectorized=True,
        updating="deferred",
        maxiter=300,
    )
    near = differential_evolution(
        lambda x: sign * d(x),
        box,
        rng=0,
        vectorized=True,
        updating="deferred",
        maxiter=300,
    )
    found = sorted([-sign * far.fun, sign * near.fun])
    assert d_bounds(uni, multi) == pytest.approx(found, abs=2e-4)


def test_exchanging_the_sides_mirrors_the_bounds_of_d() -> None:
    cells = wide(5)
    uni, multi = rounded(cells["text"]), rounded(cells["image+text"])
    low, high = d_bounds(uni, multi)
    assert d_bounds(multi, uni) == pytest.approx((-high, -low))
    assert low < cohens_d(uni.printed, multi.printed) < high


def test_means_that_rounding_could_make_equal_are_refused() -> None:
    with pytest.raises(DataError, match="need means further apart"):
        d_bounds(rounded([50.0, 60.0]), rounded([50.1, 60.1]))


def test_cells_that_rounding_could_make_equal_are_refused() -> None:
    with pytest.raises(DataError, match="need cells further apart"):
        d_bounds(rounded([50.0, 50.1]), rounded([60.0, 60.1]))
