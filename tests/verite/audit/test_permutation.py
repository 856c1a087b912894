from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.audit.fitting import cross_validate, interval
from verite.audit.permutation import Items
from verite.evaluation import grouped_bootstrap
from verite.pairs import grouped_folds


def folds_of(items: Items, seed: int, folds: int = 5) -> np.ndarray:
    fold = np.empty(len(items), dtype=int)
    table = pd.DataFrame({"group": items.group.astype(str), "label": "any"})
    for number, (_, out) in enumerate(grouped_folds(table, folds, seed)):
        fold[out] = number
    return fold


rows = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 3), st.integers(0, 2)),
    min_size=1,
    max_size=60,
)


@given(rows, st.integers(0, 100))
def test_permutation_keeps_structure(table: list[tuple[int, int, int]], seed: int):
    group, key, label = (np.array(column) for column in zip(*table, strict=True))
    items = Items(key, pd.factorize(group)[0], label, 3)
    dealt = items.permute(np.random.default_rng(seed))
    one = pd.DataFrame(items.counts).groupby(items.group).sum()
    other = pd.DataFrame(dealt).groupby(items.group).sum()
    # Groups of one label stay groups of one label, and keep their size.
    single = (one > 0).sum(axis=1) == 1
    assert ((other > 0).sum(axis=1) == 1)[single].all()
    assert (one.sum(axis=1) == other.sum(axis=1))[single].all()
    # All others exchange what their items hold, so that together they hold the same.
    mixed = (
        ~single.to_numpy()[items.group]
        if single.index.equals(pd.RangeIndex(len(single)))
        else ~single.reindex(items.group).to_numpy()
    )
    assert sorted(map(tuple, dealt[mixed])) == sorted(map(tuple, items.counts[mixed]))


def test_groups_of_like_size():
    sizes = np.array([1] * 20 + [40] * 2)
    group = np.repeat(np.arange(22), sizes)
    label = np.repeat(np.array([0, 1] * 10 + [1, 1]), sizes)
    items = Items(np.arange(len(group)), group, label, 2)
    for seed in range(20):
        dealt = items.permute(np.random.default_rng(seed))
        assert dealt[20:].sum(axis=0).tolist() == [0, 80]
        assert dealt[:20].sum(axis=0).tolist() == [10, 10]


def test_can_permute():
    assert not Items(["a", "a"], np.array([0, 0]), np.array([0, 1]), 2).can_permute
    assert not Items(["a", "b"], np.array([0, 1]), np.array([1, 1]), 2).can_permute
    assert Items(["a", "b"], np.array([0, 1]), np.array([0, 1]), 2).can_permute


def world(
    kind: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, groups and labels of a table whose features say nothing about labels."""
    if kind == "rows":
        return np.arange(120), np.arange(120), rng.integers(0, 2, 120)
    if kind == "one label a group":
        sizes = np.minimum(rng.geometric(0.1, 60), 60)
        group = np.repeat(np.arange(60), sizes)
        return np.arange(len(group)), group, rng.integers(0, 2, 60)[group]
    if kind == "verite":
        key = np.column_stack(
            [2 * np.arange(50)] * 2 + [2 * np.arange(50) + 1]
        ).ravel() ^ np.repeat(rng.random(50) < 0.5, 3)
        return key, np.repeat(np.arange(50), 3), np.tile([0, 1, 2], 50)
    sizes = rng.integers(1, 7, 50)
    group = np.repeat(np.arange(50), sizes)
    return (
        np.arange(len(group)),
        group,
        (rng.random(len(group)) < rng.random(50)[group]).astype(int),
    )


@pytest.mark.parametrize(
    "kind", ["rows", "one label a group", "verite", "several labels a group"]
)
def test_size_of_test(kind: str):
    small = 0
    for repetition in range(150):
        rng = np.random.default_rng([repetition, len(kind)])
        key, group, label = world(kind, rng)
        key, label = pd.factorize(key)[0], pd.factorize(label, sort=True)[0]
        of_key = np.zeros(key.max() + 1, dtype=int)
        of_key[key] = group
        shared = rng.standard_normal(
            (group.max() + 1, 30)
        )  # captions of one group are alike
        X = shared[of_key] + rng.standard_normal((len(of_key), 30))
        items = Items(key, group, label, label.max() + 1)
        fit = cross_validate(
            X[key[items.first]],
            items,
            folds_of(items, repetition),
            permutations=100,
            rng=rng,
        )
        small += fit.p_value <= 0.1
    assert (
        small <= 24
    )  # of 150; 15 at a rate of .1, and more than 24 once in a hundred times


def test_signal():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 300)
    items = Items(np.arange(300), np.arange(300), label, 3)
    X = np.eye(3)[label] + 0.3 * rng.standard_normal((300, 3))
    fit = cross_validate(X, items, folds_of(items, 0), permutations=200, rng=rng)
    assert (fit.predicted == label).mean() > 0.95
    assert fit.p_value == 2 / 201


def test_ridge():
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(1)
    X, label = rng.standard_normal((40, 200)), rng.integers(0, 2, 40)
    items = Items(np.arange(40), np.arange(40), label, 2)
    fit = cross_validate(X, items, folds_of(items, 0), permutations=1, rng=rng)
    centred = X - X.mean(axis=0)
    scaled = centred / np.sqrt((centred**2).sum() / 40)
    expected = Ridge(alpha=1.0).fit(scaled, items.counts).coef_.T
    assert np.allclose(fit.weights, expected, atol=1e-3)


def test_interval():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 60, 400)
    right = (rng.random(400) < 0.3 + 0.4 * (group % 2)).astype(float)
    low, high = interval(
        right[:, None], np.ones((400, 1)), group, resamples=20_000, rng=rng
    )[0]
    other = grouped_bootstrap(right, group, seed=0, resamples=20_000)
    assert low == pytest.approx(other.low, abs=0.004)
    assert high == pytest.approx(other.high, abs=0.004)
