"""The pair table: the one structure that every module reads and writes.

A *pair* is an image and a caption, one row of a :class:`pandas.DataFrame` with the
columns :data:`COLUMNS`. What stands in a row is text; what a caption or an image looks
like to a model stands in :class:`verite.embeddings.Embeddings` and is looked up by
``text_id`` and ``image_id``, never by position.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from verite.errors import DataError, ParameterError, name_some

__all__ = [
    "BINARY_LABELS",
    "COLUMNS",
    "LABELS",
    "MAKER_COLUMNS",
    "MISCAPTIONED",
    "MISINFORMATION",
    "OUT_OF_CONTEXT",
    "SPLITS",
    "TRUE",
    "downsample",
    "grouped_folds",
    "grouped_split",
    "merge_groups",
    "to_binary",
    "validate",
]

TRUE = "true"
OUT_OF_CONTEXT = "out-of-context"
MISCAPTIONED = "miscaptioned"
MISINFORMATION = "misinformation"

LABELS = (TRUE, OUT_OF_CONTEXT, MISCAPTIONED)
"""The three classes, as the publisher of VERITE writes them (paper, section 3.1)."""

BINARY_LABELS = (TRUE, MISINFORMATION)
"""The two classes of VMU-Twitter, COSMOS and Fakeddit, and of VERITE once its false
classes are one.
"""

SPLITS = ("train", "validation", "test")

COLUMNS = (
    "pair_id",
    "image_id",
    "text_id",
    "caption",
    "image_path",
    "label",
    "group",
    "split",
    "dataset",
)
"""Columns of every pair table.

``split`` is empty where a benchmark has no split; ``image_path`` where there is no
file.
"""

MAKER_COLUMNS = ("method", "donor_id", "similarity")
"""What makers of misleading pairs add: how, from which pair, and how similar."""


def validate(
    pairs: pd.DataFrame, *, where: str = "pair table", extra: Collection[str] = ()
) -> pd.DataFrame:
    """Check a pair table and return it with its columns in order and its index counted
    anew.

    Parameters
    ----------
    pairs
        The table. It is not changed.
    where
        What to call the table in an error: a file name, a data set.
    extra
        Names of further columns that may stand behind :data:`COLUMNS`.

    Raises
    ------
    DataError
        A column is missing, unknown or named twice; the table is empty; a ``pair_id``
        stands twice or is empty; a caption, an ``image_id``, a ``text_id`` or a
        ``group`` is empty; a label or a split is unknown; three-class and binary labels
        are mixed; or a group stands on both sides of a split.

    >>> row = dict(pair_id="a", image_id="i", text_id="t", caption="A boat.", image_path="", label="true",
    ...            group="g", split="", dataset="mine")
    >>> validate(pd.DataFrame([row]))["label"].tolist()
    ['true']
    >>> validate(pd.DataFrame([row | {"label": "True"}]))
    Traceback (most recent call last):
        ...
    verite.errors.DataError: pair table: 1 row has an unknown label (pair_id a: 'True'). Known: true, \
out-of-context, miscaptioned, misinformation. Labels are written in lower case.
    """
    _check_columns(pairs, where, extra)
    if len(pairs) == 0:
        raise DataError(f"{where}: expected at least one pair, found none.")
    ordered = [*COLUMNS, *(name for name in pairs.columns if name not in COLUMNS)]
    table = pairs.loc[:, ordered].reset_index(drop=True)
    for name in COLUMNS:
        missing = table[name].isna()
        if missing.any():
            raise DataError(
                f"{where}: column {name!r} has no value in {_rows(table, missing)}."
            )
        table[name] = table[name].astype("str")
    _check_cells(table, where)
    _check_groups(table, where)
    return table


def to_binary(labels: Iterable[str]) -> np.ndarray:
    """Map labels to :data:`BINARY_LABELS`.

    Every class but ``true`` is ``misinformation`` (paper, section 4.2).

    >>> to_binary(["true", "out-of-context", "miscaptioned"]).tolist()
    ['true', 'misinformation', 'misinformation']
    """
    values = np.asarray(list(labels), dtype=object)
    unknown = sorted({str(value) for value in values} - {*LABELS, *BINARY_LABELS})
    if unknown:
        raise DataError(
            f"unknown label: {name_some(unknown)}. Known:"
            f" {', '.join((*LABELS, MISINFORMATION))}."
        )
    return np.where(values == TRUE, TRUE, MISINFORMATION).astype(object)


def merge_groups(*keys: Iterable[str]) -> np.ndarray:
    """Give rows one group wherever they share a value in any of the key columns,
    directly or through others.

    Every key holds one value a row. An empty or missing value of a further key binds
    nothing. A group is named after the first key of its first row: another order of the
    rows gives the same groups, perhaps under other names.

    Raises
    ------
    DataError
        There is no key, keys have different lengths, or a first key is empty: two such
        rows would be one group by name though nothing binds them.

    >>> merge_groups(["a1", "a2", "a3"], ["boat", "dog", "boat"]).tolist()
    ['a1', 'a2', 'a1']
    """
    columns = [["" if pd.isna(value) else str(value) for value in key] for key in keys]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) != 1:
        raise DataError(
            "merge_groups expects one or more keys of one length, found lengths"
            f" {name_some(lengths) or 'none'}."
        )
    nameless = [row for row, value in enumerate(columns[0]) if value == ""]
    if nameless:
        raise DataError(
            f"merge_groups: the first key has no value in row {name_some(nameless)}."
            " Put a key first that every row has."
        )
    rows, edges = np.arange(len(columns[0])), []
    for column in columns:
        values = np.array(column, dtype=object)
        first = (
            pd.Series(rows)
            .groupby(pd.factorize(values)[0])
            .transform("first")
            .to_numpy()
        )
        edges.append(np.stack([rows, first])[:, values != ""])
    start, end = np.concatenate(edges, axis=1)
    graph = coo_array(
        (np.ones(len(start), dtype=bool), (start, end)), shape=(len(rows), len(rows))
    )
    labels = connected_components(graph, directed=False)[1]
    heads = np.unique(labels, return_index=True)[1]
    return np.asarray(np.array(columns[0], dtype=object)[heads[labels]])


def grouped_split(
    pairs: pd.DataFrame, fractions: Mapping[str, float], seed: int
) -> pd.DataFrame:
    """Fill the ``split`` column so that no group stands on two sides and classes are
    spread evenly.

    Parameters
    ----------
    fractions
        Share of each split, for example ``{"train": .8, "validation": .1, "test":
        .1}``; they add up to 1. They are met as closely as whole groups allow.

    Returns
    -------
    pandas.DataFrame
        A copy of ``pairs`` with ``split`` filled. Which group goes where does not
        depend on the order of the rows.

    Raises
    ------
    ParameterError
        A split is unknown, or the shares are not positive or do not add up to 1.
    DataError
        The groups are too few or too large to leave something for every split.
    """
    unknown = [name for name in fractions if name not in SPLITS]
    if unknown:
        raise ParameterError(
            f"unknown split: {name_some(unknown)}. Known: {', '.join(SPLITS)}."
        )
    if not (abs(sum(fractions.values()) - 1) <= 1e-6 and min(fractions.values()) > 0):
        raise ParameterError(
            f"expected positive shares that add up to 1, found {dict(fractions)}."
        )
    part = _deal(pairs, list(fractions.values()), seed)
    empty = [name for at, name in enumerate(fractions) if not (part == at).any()]
    if empty:
        sizes = pairs["group"].value_counts()
        raise DataError(
            f"{len(sizes):,} group(s), the largest with {sizes.max():,} of"
            f" {len(pairs):,} rows, leave nothing for {name_some(empty)} at the shares"
            f" {dict(fractions)}. Use more groups or larger shares."
        )
    return pairs.assign(split=np.array(list(fractions), dtype=object)[part])


def grouped_folds(
    pairs: pd.DataFrame, folds: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give ``folds`` pairs of row positions (rest, held out).

    Groups stay whole, classes are spread evenly.

    Every row is held out exactly once, and no fold is empty. The same rows and seed
    give the same folds, whatever the order of the rows.

    Raises
    ------
    ParameterError
        Fewer than two folds.
    DataError
        Fewer groups than folds.
    """
    if folds < 2:
        raise ParameterError(f"expected at least 2 folds, found {folds}.")
    groups = pairs["group"].nunique()
    if groups < folds:
        raise DataError(
            f"expected at least as many groups as folds, found {groups} group(s) for"
            f" {folds} folds."
        )
    part = _deal(pairs, [1 / folds] * folds, seed)
    return (
        (np.flatnonzero(part != fold), np.flatnonzero(part == fold))
        for fold in range(folds)
    )


def downsample(pairs: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Drop rows at random until every class has as many as the rarest (paper, section
    4.1).

    For training rows only: a test set keeps its balance. Rows that stay keep their
    order. Which rows are drawn depends on the seed and on the order of the rows: sort
    by ``pair_id`` first where the same rows may come in another order.
    """
    count = int(pairs["label"].value_counts().min())
    rng = np.random.default_rng(seed)
    kept = [
        rng.choice(np.flatnonzero(pairs["label"] == label), count, replace=False)
        for label in sorted(set(pairs["label"]))
    ]
    return pairs.iloc[np.sort(np.concatenate(kept))].reset_index(drop=True)


def _deal(pairs: pd.DataFrame, shares: Sequence[float], seed: int) -> np.ndarray:
    """Deal whole groups to parts, the largest first and groups of one size in random
    order; a part number for each row.

    Each group goes where it adds least to chi-square, the sum of (rows - rows due)² /
    rows due over parts and classes. All rows together count as one more class: that
    keeps the parts' sizes near their shares, and an empty part ahead of any other of
    the same share. scikit-learn's StratifiedGroupKFold has a like criterion but no
    unequal shares, and takes 20 times as long on 30,000 groups.
    """
    names, member = np.unique(pairs["group"].to_numpy(dtype=str), return_inverse=True)
    classes, label = np.unique(pairs["label"].to_numpy(dtype=str), return_inverse=True)
    counts = np.zeros((len(names), len(classes) + 1))  # (groups, classes and all)
    np.add.at(counts, (member, label), 1)
    counts[:, -1] = counts.sum(axis=1)
    due = np.outer(shares, counts.sum(axis=0))  # (parts, classes and all)
    dealt = np.zeros_like(due)
    part = np.empty(len(names), dtype=np.intp)
    shuffled = np.random.default_rng(seed).permutation(len(names))
    for group in shuffled[np.argsort(-counts[shuffled, -1], kind="stable")]:
        part[group] = np.argmin(
            (counts[group] * (2 * (dealt - due) + counts[group]) / due).sum(axis=1)
        )
        dealt[part[group]] += counts[group]
    return part[member]


def _rows(table: pd.DataFrame, mask: pd.Series, column: str | None = None) -> str:
    """Say which rows a mask marks, by ``pair_id`` where there is one."""
    bad = table.loc[mask]
    plural = "s" if len(bad) != 1 else ""
    if column is None:
        return f"{len(bad):,} row{plural} (row number {name_some(bad.index)})"
    shown = name_some(
        f"pair_id {key}: {value!r}"
        for key, value in zip(bad["pair_id"], bad[column], strict=True)
    )
    return f"{len(bad):,} row{plural} {'have' if plural else 'has'} {{}} ({shown})"


def _check_columns(pairs: pd.DataFrame, where: str, extra: Collection[str]) -> None:
    names = [str(name) for name in pairs.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{where}: column named twice: {name_some(twice)}.")
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise DataError(
            f"{where}: missing column {name_some(missing, 9)}. Found:"
            f" {name_some(names, 20) or 'none'}."
        )
    surplus = [name for name in names if name not in {*COLUMNS, *MAKER_COLUMNS, *extra}]
    if surplus:
        raise DataError(
            f"{where}: unknown column {name_some(surplus)}. Name it in `extra` if it is"
            " meant to be there."
        )


def _check_cells(table: pd.DataFrame, where: str) -> None:
    twice = table["pair_id"].duplicated(keep=False)
    if twice.any():
        places = table.index.to_series()[twice].groupby(table["pair_id"], sort=False)
        repeated = name_some(
            f"{key!r} stands in rows {name_some(rows)}" for key, rows in places
        )
        raise DataError(f"{where}: pair_id must be unique; {repeated}.")
    for name in ("pair_id", "image_id", "text_id", "caption", "group"):
        empty = table[name].str.strip() == ""
        if empty.any():
            raise DataError(
                f"{where}: "
                + _rows(table, empty, name).format(f"an empty {name}")
                + "."
            )
    unknown = ~table["label"].isin({*LABELS, MISINFORMATION})
    if unknown.any():
        raise DataError(
            f"{where}: "
            + _rows(table, unknown, "label").format("an unknown label")
            + f". Known: {', '.join((*LABELS, MISINFORMATION))}. Labels are written in"
            " lower case."
        )
    if (table["label"] == MISINFORMATION).any() and table["label"].isin(
        (OUT_OF_CONTEXT, MISCAPTIONED)
    ).any():
        raise DataError(
            f"{where}: binary and three-class labels are mixed. Use to_binary() on the"
            " whole column, or one kind of label."
        )
    unknown = ~table["split"].isin({"", *SPLITS})
    if unknown.any():
        raise DataError(
            f"{where}: "
            + _rows(table, unknown, "split").format("an unknown split")
            + f". Known: {', '.join(SPLITS)}, or empty."
        )


def _check_groups(table: pd.DataFrame, where: str) -> None:
    sides = table.groupby("group", sort=False)["split"].nunique()
    torn = sides.index[sides > 1]
    if len(torn):
        rows = table.loc[table["group"].isin(torn), "pair_id"]
        raise DataError(
            f"{where}: a group must stay on one side of a split; group"
            f" {name_some(torn)} stands on several (pair_id {name_some(rows)}). Use"
            " grouped_split()."
        )
