"""The pair table: the one structure that every module reads and writes.

A *pair* is an image and a caption, one row of a :class:`pandas.DataFrame` with the
columns :data:`COLUMNS`, all of them text. Vectors of images and captions are in
:class:`verite.embeddings.Embeddings`, and are looked up by ``image_id`` and
``text_id``, never by position.
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
"""The two classes of VMU-Twitter, COSMOS and Fakeddit; see :func:`to_binary`."""

SPLITS = ("train", "validation", "test")

COLUMNS = (
    *("pair_id", "image_id", "text_id", "caption", "image_path"),
    *("label", "group", "split", "dataset"),
)
"""Columns of every pair table; ``image_path`` and ``split`` may be empty."""

MAKER_COLUMNS = ("method", "donor_id", "similarity")
"""What makers of misleading pairs add: how, from which pair, and how similar."""


def validate(
    pairs: pd.DataFrame, *, where: str = "pair table", extra: Collection[str] = ()
) -> pd.DataFrame:
    """Check a pair table; return it with ordered columns and a new index.

    Parameters
    ----------
    pairs
        The table. It is not changed.
    where
        What to call the table in an error: a file name, a data set.
    extra
        Names of further columns that are allowed.

    Raises
    ------
    DataError
        A column is missing, unknown or repeated; the table is empty; a ``pair_id`` is
        repeated; an id, a caption or a group is empty; a label or a split is unknown;
        three-class and binary labels are mixed; or a group is in several splits.

    >>> row = dict.fromkeys(COLUMNS, "x") | {"label": "true", "split": ""}
    >>> validate(pd.DataFrame([row]))["label"].tolist()
    ['true']
    >>> validate(pd.DataFrame([row | {"label": "True"}]))
    Traceback (most recent call last):
        ...
    verite.errors.DataError: pair table: unknown label in 1 row(s) \
(pair_id x: 'True'). Known: true, out-of-context, miscaptioned, misinformation.
    """
    _check_columns(pairs, where, extra)
    if len(pairs) == 0:
        raise DataError(f"{where}: expected at least one pair, found none.")
    ordered = [*COLUMNS, *(name for name in pairs.columns if name not in COLUMNS)]
    table = pairs.loc[:, ordered].reset_index(drop=True)
    for name in COLUMNS:
        missing = np.flatnonzero(table[name].isna())
        if len(missing):
            raise DataError(
                f"{where}: column {name!r} has no value in {len(missing):,} row(s) (row"
                f" number {name_some(missing)})."
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
    """Group rows that share a value in any key, directly or through other rows.

    Every key holds one value per row. An empty or missing value of a further key joins
    nothing. A group is named after the first key of its first row: another order of the
    rows gives the same groups, perhaps with other names.

    Raises
    ------
    DataError
        There is no key, keys have different lengths, or a first key is empty: such rows
        would form one group by name only.

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
        codes = pd.factorize(values)[0]
        first = pd.Series(rows).groupby(codes).transform("first").to_numpy()
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
    """Fill the ``split`` column: groups stay whole, classes are spread evenly.

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
    """Drop rows at random until all classes are as large as the rarest (section 4.1).

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
    """Deal whole groups to parts; return a part number for each row.

    The largest groups come first, groups of one size in random order.

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


def _check_columns(pairs: pd.DataFrame, where: str, extra: Collection[str]) -> None:
    names = [str(name) for name in pairs.columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"{where}: duplicate column: {name_some(repeated)}.")
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise DataError(
            f"{where}: missing column {name_some(missing, 9)}. Found:"
            f" {name_some(names, 20) or 'none'}."
        )
    unknown = [name for name in names if name not in {*COLUMNS, *MAKER_COLUMNS, *extra}]
    if unknown:
        raise DataError(
            f"{where}: unknown column {name_some(unknown)}. Name it in `extra` if it is"
            " intended."
        )


def _check_cells(table: pd.DataFrame, where: str) -> None:
    repeated = table["pair_id"].duplicated(keep=False)
    if repeated.any():
        places = table.index.to_series()[repeated].groupby(table["pair_id"], sort=False)
        listed = name_some(f"{key!r} (rows {name_some(rows)})" for key, rows in places)
        raise DataError(f"{where}: duplicate pair_id: {listed}.")

    def refuse(bad: pd.Series, problem: str, name: str, known: str = "") -> None:
        rows = table.loc[bad, ["pair_id", name]].itertuples(index=False)
        if bad.any():
            cells = name_some(f"pair_id {key}: {value!r}" for key, value in rows)
            raise DataError(
                f"{where}: {problem} {name} in {bad.sum():,} row(s) ({cells}).{known}"
            )

    for name in ("pair_id", "image_id", "text_id", "caption", "group"):
        refuse(table[name].str.strip() == "", "empty", name)
    labels = {*LABELS, MISINFORMATION}
    known = f" Known: {', '.join((*LABELS, MISINFORMATION))}."
    refuse(~table["label"].isin(labels), "unknown", "label", known)
    known = f" Known: {', '.join(SPLITS)}, or empty."
    refuse(~table["split"].isin({"", *SPLITS}), "unknown", "split", known)
    false = table["label"].isin((OUT_OF_CONTEXT, MISCAPTIONED))
    if false.any() and (table["label"] == MISINFORMATION).any():
        raise DataError(
            f"{where}: binary and three-class labels are mixed. Use to_binary() on the"
            " whole column, or one kind of label."
        )


def _check_groups(table: pd.DataFrame, where: str) -> None:
    sides = table.groupby("group", sort=False)["split"].nunique()
    divided = sides.index[sides > 1]
    if len(divided):
        rows = table.loc[table["group"].isin(divided), "pair_id"]
        raise DataError(
            f"{where}: a group must be in one split; in several: group"
            f" {name_some(divided)} (pair_id {name_some(rows)}). Use grouped_split()."
        )
