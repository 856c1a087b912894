"""The pair table: what it refuses, and how groups hold together."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from verite.errors import DataError, ParameterError
from verite.pairs import (
    COLUMNS,
    LABELS,
    MISCAPTIONED,
    MISINFORMATION,
    OUT_OF_CONTEXT,
    TRUE,
    downsample,
    grouped_folds,
    grouped_split,
    merge_groups,
    to_binary,
    validate,
)

EIGHT_ONE_ONE = {"train": 0.8, "validation": 0.1, "test": 0.1}


def table(groups: list[Any], labels: list[str] | None = None) -> pd.DataFrame:
    """A valid pair table with one row for each of ``groups``."""
    rows = range(len(groups))
    return pd.DataFrame(
        {
            "pair_id": [f"p{row}" for row in rows],
            "image_id": [f"i{row}" for row in rows],
            "text_id": [f"t{row}" for row in rows],
            "caption": [f"Picture number {row}." for row in rows],
            "image_path": "",
            "label": labels or TRUE,
            "group": [f"g{group}" for group in groups],
            "split": "",
            "dataset": "toy",
        }
    )


def mixed(rows: int, seed: int = 0) -> pd.DataFrame:
    """A table of random labels in groups of one to four rows."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(rows), rng.integers(1, 5, rows))[:rows]
    return table(list(groups), list(rng.choice(LABELS, rows)))


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Any table of up to 60 rows.

    Few or many groups, of one size or of very different ones, any mix of labels.
    """
    groups = draw(
        st.lists(st.integers(0, draw(st.integers(0, 20))), min_size=1, max_size=60)
    )
    return table(
        groups,
        draw(
            st.lists(
                st.sampled_from(LABELS), min_size=len(groups), max_size=len(groups)
            )
        ),
    )


# --- validate


def test_a_valid_table_gets_ordered_columns_and_a_new_index() -> None:
    given_table = table([0, 1, 2]).iloc[[2, 0], ::-1]
    found = validate(given_table)
    assert tuple(found.columns) == COLUMNS
    assert found.index.tolist() == [0, 1]
    assert found["pair_id"].tolist() == ["p2", "p0"]


def test_validation_leaves_the_given_table_alone() -> None:
    given_table = table([0, 1]).assign(pair_id=[1, 2])
    before = given_table.copy()
    assert validate(given_table)["pair_id"].tolist() == ["1", "2"]
    pd.testing.assert_frame_equal(given_table, before)


@pytest.mark.parametrize("name", COLUMNS)
def test_each_missing_column_is_named(name: str) -> None:
    with pytest.raises(DataError, match=rf"mine\.csv: missing column {name}\. Found: "):
        validate(table([0]).drop(columns=name), where="mine.csv")


def test_an_extra_column_may_be_allowed() -> None:
    wide = table([0]).assign(colour="red")
    assert validate(wide, extra=["colour"])["colour"].tolist() == ["red"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (table([0]).assign(colour="red"), r"unknown column colour"),
        (
            pd.concat([table([0]), table([0])[["caption"]]], axis=1),
            r"duplicate column: caption",
        ),
        (table([0]).iloc[:0], r"expected at least one pair, found none"),
        (
            table([0, 1, 2, 3, 4]).assign(pair_id=["a", "b", "a", "c", "b"]),
            r"duplicate pair_id: 'a' \(rows 0, 2\), 'b' \(rows 1, 4\)\.",
        ),
        (table([0, 1], [TRUE, "True"]), r"unknown label in 1 row.* p1: 'True'\)"),
        (table([0, 1], [TRUE, " true"]), r"unknown label in 1 row.* p1: ' true'\)"),
        (
            table([0, 1, 2], [TRUE, MISINFORMATION, MISCAPTIONED]),
            r"binary and three-class labels are mixed",
        ),
        (
            table([0, 1]).assign(split=["train", "dev"]),
            r"unknown split in 1 row.* p1: 'dev'\)\. Known: train, validation, test",
        ),
        (
            table([7, 1, 7]).assign(split=["train", "train", "test"]),
            r"in several: group g7 \(pair_id p0, p2\)",
        ),
        (
            table([7, 1, 7]).assign(split=["", "train", "test"]),
            r"in several: group g7 \(pair_id p0, p2\)",
        ),
    ],
)
def test_a_table_that_is_not_valid(broken: pd.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        validate(broken)


@pytest.mark.parametrize("name", ["image_id", "text_id", "caption", "group"])
@pytest.mark.parametrize("value", ["", " \t"])
def test_an_empty_cell_is_named_by_its_pair(name: str, value: str) -> None:
    broken = table([0, 1, 2])
    broken.loc[1, name] = value
    with pytest.raises(DataError, match=rf"empty {name} in 1 row\(s\) \(pair_id p1: "):
        validate(broken)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("value", [None, float("nan"), pd.NA])
def test_a_missing_value_is_named_by_its_row_number(name: str, value: Any) -> None:
    broken = table([0, 1, 2]).astype(object)
    broken.loc[1, name] = value
    with pytest.raises(
        DataError, match=rf"column '{name}' has no value in 1 row\(s\) \(row number 1\)"
    ):
        validate(broken)


# --- to_binary


def test_every_class_but_true_is_misinformation() -> None:
    labels = [TRUE, OUT_OF_CONTEXT, MISCAPTIONED, MISINFORMATION]
    assert to_binary(pd.Series(labels)).tolist() == [
        TRUE,
        MISINFORMATION,
        MISINFORMATION,
        MISINFORMATION,
    ]


@pytest.mark.parametrize("label", ["True", "", None, 1])
def test_an_unknown_label_is_not_mapped_to_binary(label: Any) -> None:
    with pytest.raises(DataError, match=f"unknown label: {label}. Known: true, out-"):
        to_binary([TRUE, label])


# --- merge_groups


def sides(names: Any) -> set[frozenset[int]]:
    """The partition that group names stand for."""
    rows = defaultdict(set)
    for row, name in enumerate(names):
        rows[name].add(row)
    return {frozenset(members) for members in rows.values()}


@st.composite
def keys(draw: st.DrawFn) -> list[list[str]]:
    rows = draw(st.integers(1, 25))
    first = st.lists(
        st.sampled_from([f"a{n}" for n in range(20)]), min_size=rows, max_size=rows
    )
    further = st.lists(
        st.sampled_from(["", *"uvwxyz", "a1", "a2"]), min_size=rows, max_size=rows
    )
    return [draw(first), *draw(st.lists(further, max_size=3))]


@given(keys())
@settings(max_examples=200, deadline=None)
def test_merged_groups_are_connected_components(
    columns: list[list[str]],
) -> None:
    rows = len(columns[0])
    values = {
        (column, value) for column, key in enumerate(columns) for value in key if value
    }
    number = {value: rows + at for at, value in enumerate(sorted(values))}
    edges = [
        (row, number[column, value])
        for column, key in enumerate(columns)
        for row, value in enumerate(key)
        if value
    ]
    start, end = zip(*edges, strict=True)
    nodes = rows + len(number)
    _, component = connected_components(
        coo_array((np.ones(len(edges)), (start, end)), shape=(nodes, nodes)),
        directed=False,
    )
    assert sides(merge_groups(*columns)) == sides(component[:rows])


@given(keys(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_rows_only_renames_merged_groups(
    columns: list[list[str]], random: Any
) -> None:
    order = list(range(len(columns[0])))
    random.shuffle(order)
    shuffled = merge_groups(*([key[row] for row in order] for key in columns))
    back = np.empty(len(order), dtype=object)
    back[order] = shuffled
    assert sides(back) == sides(merge_groups(*columns))


@pytest.mark.parametrize("gap", ["", None, float("nan"), pd.NA])
def test_a_missing_value_binds_no_rows(gap: Any) -> None:
    assert merge_groups(["a", "b", "c"], [gap, gap, "x"]).tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("gap", ["", None])
def test_a_row_without_a_first_key_has_no_name_for_its_group(gap: Any) -> None:
    with pytest.raises(DataError, match="the first key has no value in row 0, 2"):
        merge_groups([gap, "b", gap], ["x", "y", "z"])


def test_keys_of_different_lengths_are_refused_with_their_lengths() -> None:
    with pytest.raises(DataError, match="found lengths 2, 1"):
        merge_groups(["a", "b"], ["x"])
    with pytest.raises(DataError, match="found lengths none"):
        merge_groups()


# --- grouped_folds


@given(tables(), st.integers(2, 6), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_folds_hold_out_each_group_once(
    pairs: pd.DataFrame, folds: int, seed: int
) -> None:
    if pairs["group"].nunique() < folds:
        with pytest.raises(DataError, match=f"for {folds} folds"):
            grouped_folds(pairs, folds, seed)
        return
    parts = list(grouped_folds(pairs, folds, seed))
    assert len(parts) == folds
    assert sorted(row for _, held in parts for row in held) == list(range(len(pairs)))
    for rest, held in parts:
        assert len(held) > 0
        assert sorted([*rest, *held]) == list(range(len(pairs)))
        assert not set(pairs["group"].iloc[rest]) & set(pairs["group"].iloc[held])


def test_folds_hold_even_shares_of_each_class() -> None:
    pairs = mixed(600)
    whole = pairs["label"].value_counts()
    for _, held in grouped_folds(pairs, 5, seed=0):
        fold = pairs["label"].iloc[held].value_counts()
        assert (fold - whole / 5).abs().max() <= 2


def test_a_rare_class_is_spread_over_folds() -> None:
    pairs = table(list(range(40)), [MISCAPTIONED] * 3 + [TRUE] * 37)
    held = [
        (pairs["label"].iloc[rows] == MISCAPTIONED).sum()
        for _, rows in grouped_folds(pairs, 5, seed=0)
    ]
    assert sorted(held) == [0, 0, 1, 1, 1]


def folds_by_id(pairs: pd.DataFrame, seed: int) -> list[list[str]]:
    return [
        sorted(pairs["pair_id"].iloc[held]) for _, held in grouped_folds(pairs, 5, seed)
    ]


def test_folds_do_not_depend_on_the_order_of_rows() -> None:
    pairs = mixed(60)
    assert folds_by_id(pairs.sample(frac=1, random_state=1), 3) == folds_by_id(pairs, 3)


def test_too_few_groups_for_the_folds_is_an_error_with_both_numbers() -> None:
    with pytest.raises(DataError, match=r"found 2 group\(s\) for 3 folds"):
        grouped_folds(table([0, 0, 1, 1]), 3, seed=0)


@pytest.mark.parametrize("folds", [1, 0, -2])
def test_fewer_than_two_folds_is_an_error(
    folds: int,
) -> None:
    with pytest.raises(
        ParameterError, match=f"expected at least 2 folds, found {folds}"
    ):
        grouped_folds(table([0, 1]), folds, seed=0)


# --- grouped_split


@given(
    tables(),
    st.sampled_from(
        [EIGHT_ONE_ONE, {"train": 0.5, "test": 0.5}, {"train": 0.9, "validation": 0.1}]
    ),
    st.integers(0, 3),
)
@settings(max_examples=200, deadline=None)
def test_a_split_keeps_groups_whole(
    pairs: pd.DataFrame, shares: dict[str, float], seed: int
) -> None:
    try:
        found = grouped_split(pairs, shares, seed)
    except DataError as error:
        assert "leave nothing for" in str(error)  # noqa: PT017 - refusing is one of two right answers
        return
    assert set(found["split"]) == set(shares)
    validate(found)  # refuses a group on two sides


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=30),
    st.floats(0.1, 0.9),
    st.integers(0, 3),
)
@settings(max_examples=200, deadline=None)
def test_a_part_is_near_its_share(sizes: list[int], share: float, seed: int) -> None:
    pairs = table([group for group, size in enumerate(sizes) for _ in range(size)])
    try:
        found = grouped_split(pairs, {"train": share, "test": 1 - share}, seed)
    except DataError:
        return
    assert abs((found["split"] == "train").sum() - share * len(pairs)) <= max(sizes)


def test_single_rows_are_split_to_the_row() -> None:
    split = grouped_split(table(list(range(1000))), EIGHT_ONE_ONE, seed=0)["split"]
    assert split.value_counts().to_dict() == {
        "train": 800,
        "validation": 100,
        "test": 100,
    }


def test_each_part_of_a_split_has_the_classes_of_the_whole() -> None:
    pairs = grouped_split(mixed(900), EIGHT_ONE_ONE, seed=0)
    whole = pairs["label"].value_counts()
    for name, share in EIGHT_ONE_ONE.items():
        part = pairs.loc[pairs["split"] == name, "label"].value_counts()
        assert (part - share * whole).abs().max() <= 3


def test_a_split_follows_its_seed_and_not_the_order_of_rows() -> None:
    pairs = mixed(100)

    def tests(rows: pd.DataFrame, seed: int) -> frozenset[str]:
        found = grouped_split(rows, EIGHT_ONE_ONE, seed)
        return frozenset(found.loc[found["split"] == "test", "pair_id"])

    assert tests(pairs, 1) == tests(pairs.sample(frac=1, random_state=5), 1)
    assert len({tests(pairs, seed) for seed in range(5)}) == 5


def test_one_group_that_fills_the_table_cannot_be_split() -> None:
    with pytest.raises(
        DataError,
        match=r"1 group\(s\), the largest with 6 of 6 rows, leave nothing for test",
    ):
        grouped_split(table([0] * 6), {"train": 0.8, "test": 0.2}, seed=0)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"train": 0.8, "dev": 0.2}, r"unknown split: dev\. Known: train"),
        ({"train": 0.8, "test": 0.1}, "positive shares that add up to 1, found"),
        ({"train": 1.2, "test": -0.2}, "positive shares that add up to 1, found"),
        ({"train": 1.0, "test": 0.0}, "positive shares that add up to 1, found"),
        ({"train": float("nan"), "test": 1.0}, "positive shares that add up to 1"),
        ({}, "positive shares that add up to 1, found"),
    ],
)
def test_shares_that_are_refused(shares: dict[str, float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        grouped_split(mixed(30), shares, seed=0)


# --- downsample

UNEVEN = table(list(range(30)), [TRUE] * 17 + [OUT_OF_CONTEXT] * 9 + [MISCAPTIONED] * 4)


def test_downsampling_draws_rows_in_order_to_the_rarest_class() -> None:
    found = downsample(UNEVEN, seed=0)
    assert found["label"].value_counts().to_dict() == dict.fromkeys(LABELS, 4)
    rows = UNEVEN[UNEVEN["pair_id"].isin(found["pair_id"])]
    pd.testing.assert_frame_equal(found, rows.reset_index(drop=True))


def test_downsampling_follows_its_seed() -> None:
    draws = [tuple(downsample(UNEVEN, seed=seed)["pair_id"]) for seed in (0, 0, 1, 2)]
    assert draws[0] == draws[1]
    assert len(set(draws)) == 3


def test_no_draw_uses_global_randomness() -> None:
    outcomes = []
    for state in (1, 2):
        np.random.seed(state)  # noqa: NPY002 - the global generator is what must not matter
        pairs = mixed(60)
        outcomes.append(
            (
                folds_by_id(pairs, 0),
                grouped_split(pairs, EIGHT_ONE_ONE, 0)["split"].tolist(),
                downsample(pairs, 0)["pair_id"].tolist(),
            )
        )
    assert all(a == b for a, b in itertools.pairwise(outcomes))
