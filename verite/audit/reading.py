"""A benchmark to audit: its pairs, further columns, and vectors, all joined by id."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from verite.characters import normalise
from verite.dataset import Dataset
from verite.datasets.reading import first_of
from verite.embeddings import Embeddings, per_id
from verite.errors import DataError, ParameterError, name_some
from verite.files import read_text, sha256
from verite.mapped import read_npy
from verite.pairs import COLUMNS, MAKER_COLUMNS, merge_groups
from verite.tables import read_table

__all__ = ["Benchmark", "read_benchmark"]

_GUESSES: Mapping[str, str] = {
    "label": "label labels class target context_label 2_way_label falsified veracity"
    " rating gold_label",
    "caption": "caption text post_text tweettext caption1 claim headline clean_title"
    " title sentence",
    "image": "image_id image image_path img_path img_local_path img filename file_name"
    " image_url image_id(s)",
    "group": "group group_id event event_id article_id article cluster",
    "split": "split subset partition fold",
    "id": "pair_id id row_id post_id uid index",
}
_MOST_LABELS = 50
_MADE = {
    *MAKER_COLUMNS,
    "leaks",
}  # columns in which this package notes how it made a pair
_ROWS = [name for name in COLUMNS if name != "dataset"]


@dataclass(frozen=True)
class Benchmark:
    """A table of pairs with any labels, and what is known of its images and texts.

    Attributes
    ----------
    pairs
        One row per pair, strings: ``pair_id`` (unique), ``image_id`` (empty where no
        image is named), ``text_id``, ``caption``, ``image_path``, ``label``, ``group``,
        ``split`` (empty where there is none).
    source
        Further columns of the table, same index: where a pair comes from.
    ids
        Columns of ``pairs`` whose strings the publisher chose: file names and ids,
        which may spell a label.
    images, texts
        Vectors by ``image_id`` and ``text_id``, or None.
    folder
        Folder of the files in ``image_path``, or None.
    digests
        SHA-256 of the files that were read.
    table
        The table as it was read, same index, all columns under their own names; None
        where it is ``pairs``.
    caption_column
        The caption's name in ``table``.
    notes
        What was guessed or left out, one sentence each.
    """

    name: str
    pairs: pd.DataFrame
    source: pd.DataFrame
    ids: tuple[str, ...] = ()
    images: Embeddings | None = None
    texts: Embeddings | None = None
    folder: Path | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    table: pd.DataFrame | None = None
    caption_column: str = "caption"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        missing = [name for name in _ROWS if name not in self.pairs]
        if missing or self.pairs.empty:
            raise DataError(
                f"{self.name}: expected pairs with the columns {', '.join(_ROWS)},"
                f" found no {name_some(missing) or 'rows'}."
            )
        if (repeated := self.pairs["pair_id"].duplicated()).any():
            ids = self.pairs.loc[repeated, "pair_id"].unique()
            raise DataError(f"{self.name}: duplicate pair_id: {name_some(ids)}.")

    @property
    def labels(self) -> list[str]:
        """Labels that occur, in alphabetical order."""
        return sorted(set(self.pairs["label"]))

    @property
    def comparable(self) -> bool:
        """Whether images and texts have vectors in one space."""
        return (
            self.images is not None
            and self.texts is not None
            and self.images.dimensions == self.texts.dimensions
        )

    def similarities(
        self, rows: np.ndarray | pd.Index, captions: np.ndarray | None = None
    ) -> np.ndarray:
        """Cosine of image and caption at row positions, or with the captions of others.

        Parameters
        ----------
        captions
            Row positions of the captions; those of the images if not given.
        """
        assert self.images is not None and self.texts is not None  # noqa: S101, PT018
        V = self.images.rows(self.pairs["image_id"].iloc[rows])
        T = self.texts.rows(
            self.pairs["text_id"].iloc[rows if captions is None else captions]
        )
        lengths = np.linalg.norm(V, axis=1), np.linalg.norm(T, axis=1)
        return np.asarray(np.einsum("ij,ij->i", V, T) / lengths[0] / lengths[1])

    def cosines(self) -> np.ndarray | None:
        """Cosine of image and caption of every row, NaN without an image.

        None where they are not :attr:`comparable`.
        """
        if not self.comparable:
            return None
        rows = np.flatnonzero(self.pairs["image_id"] != "")
        cosines = np.full(len(self.pairs), np.nan)
        for start in range(0, len(rows), 8192):
            block = rows[start : start + 8192]
            cosines[block] = self.similarities(block)
        return cosines

    @classmethod
    def of(cls, dataset: Dataset, pairs: pd.DataFrame | None = None) -> Benchmark:
        """Take a data set of :mod:`verite.datasets`, or some of its rows.

        Of a synthetic world, neither ids nor the maker's columns are looked at. In
        other data sets the package made ``pair_id`` and ``text_id``, so only
        ``image_id`` and ``image_path`` are.

        >>> from verite.datasets import load
        >>> Benchmark.of(load("newsroom", events=2, encoder=None)).labels
        ['miscaptioned', 'out-of-context', 'true']
        """
        rows = (dataset.pairs if pairs is None else pairs).reset_index(drop=True)
        if dataset.card.synthetic:
            further: list[str] = []
            ids: tuple[str, ...] = ()
            notes = ["the world is synthetic: ids and the maker's columns are left out"]
        else:
            ids, notes = ("image_id", "image_path"), []
            names = [name for name in rows.columns if name not in COLUMNS]
            further = _source_columns(names, notes)
        return cls(
            dataset.name,
            rows.loc[:, _ROWS],
            rows.loc[:, further].astype("str"),
            ids=ids,
            images=dataset.images,
            texts=dataset.texts,
            digests=dict(dataset.files),
            table=rows,
            notes=tuple(notes),
        )


def read_benchmark(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    images: str | os.PathLike[str] | None = None,
    image_ids: str | os.PathLike[str] | None = None,
    texts: str | os.PathLike[str] | None = None,
    text_ids: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Benchmark:
    """Read a table, and the vectors that belong to it.

    Parameters
    ----------
    path
        CSV (any usual separator), TSV, JSON lines or parquet.
    columns
        Which column is the ``label``, ``caption``, ``image``, ``group``, ``split`` or
        ``id``; usual names are guessed, and the guess is noted.
    images, texts
        Vectors: a file that this package wrote, or ``.npy`` with one row per id of the
        list beside it, or, without a list, one per row of the table. Vectors of a row
        that repeats an image or a caption must then repeat too.
    image_ids, text_ids
        Text files, one id per line: values of the image column, and of ``text_id`` (or
        the id column where there is none).
    folder
        Folder of the files that the image column names.

    Raises
    ------
    MissingDataError
        A file is missing.
    ParameterError
        A named column does not exist, or labels or captions could not be guessed.
    DataError
        No table, no labels, or table and vectors do not belong together.
    """
    table = read_table(path)
    if table.empty:
        raise DataError(f"{path}: expected rows, found none.")
    notes = [f"format: {table.attrs['format']}"]
    chosen = _choose_columns(table, columns or {}, notes, path)
    labelled = _drop_unlabelled(table, chosen["label"], notes, path)
    pairs = _to_pairs(labelled, chosen, notes)
    used = {*chosen.values(), "text_id", "image_path", "dataset", ""}
    further = [name for name in table.columns if name not in used]
    ids = [
        name
        for name, column in (("pair_id", "id"), ("image_id", "image"))
        if column in chosen
    ]
    if "image_path" in table and chosen.get("image") != "image_path":
        ids.append("image_path")
    complete = len(labelled) == len(table)
    read = [Path(name) for name in (path, images, texts) if name is not None]
    return Benchmark(
        Path(path).stem,
        pairs,
        labelled.loc[:, _source_columns(further, notes)],
        ids=tuple(ids),
        images=_read_vectors(images, image_ids, pairs["image_id"], complete, path),
        texts=_read_vectors(texts, text_ids, pairs["text_id"], complete, path),
        folder=None if folder is None else Path(folder),
        digests={name.name: sha256(name) for name in read},
        table=labelled,
        caption_column=chosen["caption"],
        notes=tuple(notes),
    )


def _source_columns(names: Iterable[str], notes: list[str]) -> list[str]:
    """Of the further columns, those that say where a pair comes from."""
    further = [name for name in names if name not in _MADE]
    labels = [name for name in further if "label" in name.casefold()]
    if labels:
        notes.append(
            f"not looked at: {', '.join(map(repr, labels))}, another label by its name"
        )
    return [name for name in further if name not in labels]


def _choose_columns(
    table: pd.DataFrame, given: Mapping[str, str], notes: list[str], path: object
) -> dict[str, str]:
    lower = {str(name).lower(): str(name) for name in table.columns}
    known = f"Columns: {name_some(map(repr, table.columns), 30)}."
    chosen = dict(given)
    for role, name in given.items():
        if name not in table:
            raise ParameterError(f"{path}: no {role} column {name!r}. {known}")
    for role, guesses in _GUESSES.items():
        if role in given:
            continue
        names = [lower[name] for name in guesses.split() if name in lower]
        names = [name for name in names if name not in given.values()]
        if names:
            chosen[role] = names[0]
            notes.append(f"{role}: column {names[0]!r}, by its name")
        elif role in ("label", "caption"):
            raise ParameterError(
                f"{path}: which column is the {role}? {known} Name it with"
                f" --{role}-column."
            )
    return chosen


def _drop_unlabelled(
    table: pd.DataFrame, column: str, notes: list[str], path: object
) -> pd.DataFrame:
    if "" in table and table[""].tolist() != list(map(str, range(len(table)))):
        notes.append(
            "reindexed: the unnamed first column holds row numbers that do not count"
            " from 0: the table was sorted or filtered"
        )
    empty = table[column].str.strip() == ""
    if empty.any():
        notes.append(
            f"left out: {int(empty.sum()):,} row(s) without a label (row"
            f" {name_some(np.flatnonzero(empty) + 1)})"
        )
        table = table[~empty].reset_index(drop=True)
    if table.empty:
        raise DataError(f"{path}: no row has a label in column {column!r}.")
    labels = table[column].unique()
    if len(labels) > _MOST_LABELS:
        raise DataError(
            f"{path}: expected at most {_MOST_LABELS} labels, found {len(labels):,} in"
            f" column {column!r}, such as {name_some(map(repr, labels), 3)}. Name"
            " another with --label-column."
        )
    return table


def _to_pairs(
    table: pd.DataFrame, chosen: Mapping[str, str], notes: list[str]
) -> pd.DataFrame:
    number = pd.Series([f"row {at}" for at in range(1, len(table) + 1)], dtype="str")
    empty = pd.Series("", index=table.index, dtype="str")
    identity = table[chosen["id"]] if "id" in chosen else number
    if identity.duplicated().any() or (identity == "").any():
        notes.append(
            f"id: column {chosen['id']!r} repeats values or is empty somewhere, so rows"
            " are named by their number"
        )
        identity = number
    caption = table[chosen["caption"]]
    image = table[chosen["image"]] if "image" in chosen else empty
    texts = table.get("text_id", empty)
    group = table[chosen["group"]] if "group" in chosen else empty
    if "group" not in chosen:
        group = pd.Series(merge_groups(number, image, caption.map(normalise).tolist()))
        notes.append(
            "group: none given; rows that share an image or a caption were put"
            f" together, {group.nunique():,} groups"
        )
    elif (alone := group == "").any():
        notes.append(f"group: {int(alone.sum()):,} row(s) without one are a group each")
        group = group.where(~alone, number)
    return pd.DataFrame(
        {
            "pair_id": identity,
            "image_id": image,
            "text_id": texts if (texts != "").all() else first_of(identity, caption),
            "caption": caption,
            "image_path": table.get("image_path", image),
            "label": table[chosen["label"]].str.strip(),
            "group": group,
            "split": table[chosen["split"]] if "split" in chosen else "",
        }
    ).astype("str")


def _read_vectors(
    path: str | os.PathLike[str] | None,
    ids: str | os.PathLike[str] | None,
    wanted: pd.Series,
    complete: bool,
    table: object,
) -> Embeddings | None:
    if path is None:
        return None
    target = Path(path)
    if target.suffix != ".npy":
        if ids is not None:
            raise ParameterError(
                f"{path}: this file holds its ids; leave {ids} out. A list of ids goes"
                " with .npy."
            )
        vectors = Embeddings.load(target)
    elif ids is not None:
        names = [line.strip() for line in read_text(ids).splitlines()]
        vectors = per_id(names, read_npy(target), encoder=target.name, where=str(path))
    elif complete:
        rows = read_npy(target, rows=len(wanted))
        names = wanted.tolist()
        vectors = per_id(names, rows, encoder=target.name, where=str(path))
    else:
        raise DataError(
            f"{path}: rows of {table} without a label were left out, so vectors cannot"
            " be joined by row. Add a list of ids."
        )
    needed = set(wanted) - {""}
    if missing := sorted(needed - set(vectors.ids)):
        raise DataError(
            f"{table} and {vectors.where}: {len(missing):,} of {len(needed):,} ids have"
            f" no vector ({name_some(missing)}); the vectors' ids are such as"
            f" {name_some(vectors.ids[:3])}. Use the table and the vectors of one"
            " release, or add a list of ids."
        )
    return vectors
