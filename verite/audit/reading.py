"""A benchmark to audit.

Its pairs, what else its table holds, and vectors, all joined by id.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from verite.characters import normalise
from verite.dataset import Dataset
from verite.datasets.home import first_of
from verite.embeddings import Embeddings, per_id, read_npy
from verite.errors import DataError, ParameterError, name_some
from verite.files import read_text, sha256
from verite.pairs import COLUMNS, MAKER_COLUMNS, merge_groups
from verite.tables import read_table

__all__ = ["Benchmark", "read_benchmark"]

_GUESSES: Mapping[str, tuple[str, ...]] = {
    "label": (
        "label",
        "labels",
        "class",
        "target",
        "context_label",
        "2_way_label",
        "falsified",
        "veracity",
        "rating",
        "gold_label",
    ),
    "caption": (
        "caption",
        "text",
        "post_text",
        "tweettext",
        "caption1",
        "claim",
        "headline",
        "clean_title",
        "title",
        "sentence",
    ),
    "image": (
        "image_id",
        "image",
        "image_path",
        "img_path",
        "img_local_path",
        "img",
        "filename",
        "file_name",
        "image_url",
        "image_id(s)",
    ),
    "group": (
        "group",
        "group_id",
        "event",
        "event_id",
        "article_id",
        "article",
        "cluster",
    ),
    "split": ("split", "subset", "partition", "fold"),
    "id": ("pair_id", "id", "row_id", "post_id", "uid", "index"),
}
_MOST_LABELS = 50
_MADE = {
    *MAKER_COLUMNS,
    "leaks",
}  # columns that say how a pair was made, written by this package
_ROWS = (
    "pair_id",
    "image_id",
    "text_id",
    "caption",
    "image_path",
    "label",
    "group",
    "split",
)


@dataclass(frozen=True)
class Benchmark:
    """A table of pairs with any labels, and what is known of its images and texts.

    Attributes
    ----------
    pairs
        One row a pair, strings: ``pair_id`` (unique), ``image_id`` (empty where no
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
        Where the files of ``image_path`` lie, or None.
    digests
        SHA-256 of what was read.
    table
        The table as it was read, same index, all columns under their own names; None
        where ``pairs`` is it.
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
                f" found none in {name_some(missing) or 'any row'}."
            )
        if self.pairs["pair_id"].duplicated().any():
            twice = self.pairs.loc[self.pairs["pair_id"].duplicated(), "pair_id"]
            raise DataError(
                f"{self.name}: pair_id must be unique; {name_some(twice.unique())}"
                " stands several times."
            )

    @property
    def labels(self) -> list[str]:
        """Labels that occur, in alphabetical order."""
        return sorted(set(self.pairs["label"]))

    @classmethod
    def of(cls, dataset: Dataset, pairs: pd.DataFrame | None = None) -> Benchmark:
        """Take a data set of :mod:`verite.datasets`, or some of its rows, as they are.

        ``pair_id`` and ``text_id`` are names that the package gave, so only
        ``image_id`` and ``image_path`` are looked at for labels that they spell; in a
        synthetic world not even those, nor what its maker noted down.

        >>> from verite.datasets import load
        >>> Benchmark.of(load("newsroom", events=2, encoder=None)).labels
        ['miscaptioned', 'out-of-context', 'true']
        """
        rows = (dataset.pairs if pairs is None else pairs).reset_index(drop=True)
        synthetic = dataset.card.synthetic
        notes = (
            [
                "ids, file names and what the maker noted down are not looked at: the"
                " world is synthetic"
            ]
            if synthetic
            else []
        )
        extra = (
            []
            if synthetic
            else _source([name for name in rows.columns if name not in COLUMNS], notes)
        )
        return cls(
            dataset.name,
            rows.loc[:, list(_ROWS)],
            rows.loc[:, extra].astype("str"),
            ids=() if synthetic else ("image_id", "image_path"),
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
        ``id``; names that are usual are guessed, and the guess is noted.
    images, texts
        Vectors: a file that this package wrote, or ``.npy`` with one row for each id of
        the list beside it, or, without a list, one for each row of the table. Vectors
        of a row that repeats an image or a caption must then repeat too.
    image_ids, text_ids
        Text files, one id a line: values of the image column, and of ``text_id`` (or
        the id column where there is none).
    folder
        Where the files lie that the image column names.

    Raises
    ------
    MissingDataError
        A file is not there.
    ParameterError
        A column that was named is not there, or none could be guessed for labels or
        captions.
    DataError
        No table, no labels, or table and vectors do not belong together.
    """
    table = read_table(path)
    if table.empty:
        raise DataError(f"{path}: expected rows, found none.")
    notes = [f"format: {table.attrs['format']}"]
    chosen = _choose(table, columns or {}, notes, path)
    table, pairs = _as_pairs(table, chosen, notes, path)
    used = {*chosen.values(), "text_id", "image_path", "dataset", ""}
    source = table.loc[
        :, _source([name for name in table.columns if name not in used], notes)
    ]
    names = tuple(
        name
        for name, column in (("pair_id", "id"), ("image_id", "image"))
        if column in chosen
    )
    digests = {
        Path(name).name: sha256(name)
        for name in (path, images, texts)
        if name is not None
    }
    rows = (
        len(pairs) if not any(note.startswith("left out") for note in notes) else None
    )
    return Benchmark(
        Path(path).stem,
        pairs,
        source,
        ids=(
            (*names, "image_path")
            if "image_path" in table and chosen.get("image") != "image_path"
            else names
        ),
        images=(
            _vectors(images, image_ids, pairs["image_id"], rows, path)
            if images is not None
            else None
        ),
        texts=(
            _vectors(texts, text_ids, pairs["text_id"], rows, path)
            if texts is not None
            else None
        ),
        folder=None if folder is None else Path(folder),
        digests=digests,
        table=table,
        caption_column=chosen["caption"],
        notes=tuple(notes),
    )


def _source(names: Iterable[str], notes: list[str]) -> list[str]:
    """Of the further columns, those that tell where a pair comes from."""
    listed = [name for name in names if name not in _MADE]
    labels = [name for name in listed if "label" in name.casefold()]
    if labels:
        notes.append(
            f"not looked at: {', '.join(map(repr, labels))}, by the name another label"
        )
    return [name for name in listed if name not in labels]


def _choose(
    table: pd.DataFrame, given: Mapping[str, str], notes: list[str], path: object
) -> dict[str, str]:
    lower = {str(name).lower(): str(name) for name in table.columns}
    chosen: dict[str, str] = {}
    for what, guesses in _GUESSES.items():
        if what in given:
            if given[what] not in table:
                raise ParameterError(
                    f"{path}: no {what} column {given[what]!r}. There are:"
                    f" {name_some(map(repr, table.columns), 30)}."
                )
            chosen[what] = given[what]
            continue
        found = next(
            (
                lower[name]
                for name in guesses
                if name in lower and lower[name] not in given.values()
            ),
            None,
        )
        if found is not None:
            chosen[what] = found
            notes.append(f"{what}: column {found!r}, by its name")
        elif what in ("label", "caption"):
            raise ParameterError(
                f"{path}: which column is the {what}? There are:"
                f" {name_some(map(repr, table.columns), 30)}. Name it with"
                f" --{what}-column."
            )
    return chosen


def _as_pairs(
    table: pd.DataFrame, chosen: Mapping[str, str], notes: list[str], path: object
) -> tuple[pd.DataFrame, pd.DataFrame]:
    if "" in table and table[""].tolist() != [
        str(number) for number in range(len(table))
    ]:
        notes.append(
            "reindexed: the unnamed first column holds row numbers that do not count"
            " from 0: the table was sorted or filtered"
        )
    label = table[chosen["label"]].str.strip()
    if (label == "").any():
        notes.append(
            f"left out: {int((label == '').sum()):,} row(s) without a label (row"
            f" {name_some(np.flatnonzero(label == '') + 1)})"
        )
        table = table[label != ""].reset_index(drop=True)
        label = table[chosen["label"]].str.strip()
    if label.empty:
        raise DataError(f"{path}: no row has a label in column {chosen['label']!r}.")
    if label.nunique() > _MOST_LABELS:
        raise DataError(
            f"{path}: column {chosen['label']!r} holds {label.nunique():,} different"
            f" values in {len(label):,} rows, such as"
            f" {name_some(map(repr, label.unique()), 3)}; expected at most"
            f" {_MOST_LABELS} labels. Name another with --label-column."
        )
    number = pd.Series([f"row {at}" for at in range(1, len(table) + 1)], dtype="str")
    identity = table[chosen["id"]] if "id" in chosen else number
    if "id" in chosen and (identity.duplicated().any() or (identity == "").any()):
        notes.append(
            f"id: column {chosen['id']!r} repeats values or is empty somewhere, so rows"
            " are named by their number"
        )
        identity = number
    caption = table[chosen["caption"]]
    image = (
        table[chosen["image"]]
        if "image" in chosen
        else pd.Series("", index=table.index, dtype="str")
    )
    text = (
        table["text_id"]
        if "text_id" in table and (table["text_id"] != "").all()
        else first_of(identity, caption)
    )
    pairs = pd.DataFrame(
        {
            "pair_id": identity,
            "image_id": image,
            "text_id": text,
            "caption": caption,
            "image_path": table.get("image_path", image),
            "label": label,
            "group": table[chosen["group"]] if "group" in chosen else "",
            "split": table[chosen["split"]] if "split" in chosen else "",
        }
    ).astype("str")
    empty = pairs["group"] == ""
    if empty.any():
        made = merge_groups(number, image, [normalise(one) for one in caption])
        if "group" in chosen:
            notes.append(
                f"group: {int(empty.sum()):,} row(s) without one are a group each"
            )
            made = number.to_numpy(dtype=object)
        else:
            notes.append(
                "group: none given; rows that share an image or a caption were put"
                f" together, {len(set(made)):,} groups"
            )
        pairs["group"] = pairs["group"].where(~empty, made)
    return table, pairs


def _vectors(
    path: str | os.PathLike[str],
    ids: str | os.PathLike[str] | None,
    wanted: pd.Series,
    rows: int | None,
    table: object,
) -> Embeddings:
    target = Path(path)
    if target.suffix != ".npy":
        if ids is not None:
            raise ParameterError(
                f"{path}: this file holds its ids; leave {ids} out. A list of ids goes"
                " with .npy."
            )
        vectors = Embeddings.load(target)
    elif ids is not None:
        listed = [line.strip() for line in read_text(ids).splitlines()]
        vectors = per_id(listed, read_npy(target), encoder=target.name, where=str(path))
    elif rows is None:
        raise DataError(
            f"{path}: rows of {table} without a label were left out, so vectors cannot"
            " be joined by row. Add a list of ids."
        )
    else:
        vectors = per_id(
            wanted.tolist(),
            read_npy(target, rows=rows),
            encoder=target.name,
            where=str(path),
        )
    _check_cover(vectors, wanted[wanted != ""], table)
    return vectors


def _check_cover(vectors: Embeddings, wanted: Iterable[str], table: object) -> None:
    needed, known = set(wanted), set(vectors.ids)
    if missing := sorted(needed - known):
        raise DataError(
            f"{table} and {vectors.where}: {len(missing):,} of {len(needed):,} ids have"
            f" no vector ({name_some(missing)}); the vectors' ids are such as"
            f" {name_some(vectors.ids[:3])}. Use the table and the vectors of one"
            " release, or add a list of ids."
        )
