"""VisualNews: images and captions of four news sites, the truthful pairs that
misleading ones are made from.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from verite.dataset import Card, Dataset
from verite.datasets.home import Reader, first_of, read_json
from verite.errors import DataError, name_some
from verite.pairs import TRUE, merge_groups, validate

__all__ = ["CARD", "FILE", "load", "needs", "read_rows", "story"]

FILE = "visualnews/origin/data.json"
"""The publisher's table; image paths are relative to its folder."""

_KINDS = {
    "id": int,
    "caption": str,
    "topic": str,
    "source": str,
    "image_path": str,
    "article_path": str,
}

CARD = Card(
    name="visualnews",
    title="Visual News: news images with captions, articles and topics",
    source="https://github.com/FuxiaoLiu/VisualNews-Repository",
    licence=(
        "none stated; given on request for research, the contents belong to the news"
        " sites"
    ),
    citation="liu2021visualnews",
    expected={"train/true": 1_007_744},
    not_public=(
        "Everything. Ask the authors as the repository's README says; they give an"
        " archive whose folder `origin` holds data.json, images and articles. Put that"
        " folder into `visualnews`."
    ),
    notes=(
        "1,259,732 pairs according to the paper. The publisher gives no splits, and the"
        " paper's, four fifths of the pairs for training, were not released: use"
        " grouped_split(). Captions come without punctuation. Which captions belong to"
        " one article cannot be told from data.json, where each has an article file of"
        " its own."
    ),
)


def needs() -> tuple[str, ...]:
    """Files that :func:`load` reads, below the data folder."""
    return (FILE,)


def load() -> Dataset:
    """Load VisualNews: truthful pairs without a split (paper, sections 3.3 and 4.1).

    ``topic`` and ``source`` (the news site) are kept as columns. A pair has the
    publisher's id; an image or a caption has that of the first pair with its path or
    text. Pairs that share an article file, an image or a caption (but for case) are one
    group. ``image_path`` is relative to ``visualnews/origin``.

    Raises
    ------
    MissingDataError
        The file is not there.
    DataError
        The file is no list of pairs with what is needed, or an id stands twice.
    """
    reader = Reader(CARD)
    path = reader.path(FILE)
    rows = read_rows(path)
    pairs = pd.DataFrame(
        {
            "pair_id": rows["id"],
            "image_id": first_of(rows["id"], rows["image_path"]),
            "text_id": first_of(rows["id"], rows["caption"]),
            "caption": rows["caption"],
            "image_path": rows["image_path"],
            "label": TRUE,
            "group": story(rows),
            "split": "",
            "dataset": "visualnews",
            "topic": rows["topic"],
            "source": rows["source"],
        }
    )
    return Dataset(
        "visualnews",
        validate(pairs, where=str(path), extra=("topic", "source")),
        CARD,
        files=reader.digests,
    )


def read_rows(path: Path) -> pd.DataFrame:
    """Read the publisher's table, in its order.

    Returns
    -------
    pandas.DataFrame
        Text: ``id``, ``caption``, ``topic``, ``source``, ``image_path`` and
        ``article_path``, both without a leading ``./``.

    Raises
    ------
    DataError
        The file is no JSON list of objects that hold these with the right types, or an
        id stands twice.
    """
    columns: dict[str, list[Any]] = {name: [] for name in _KINDS}
    appends = [(name, column.append) for name, column in columns.items()]

    def keep(row: dict[str, Any]) -> bool:
        for name, append in appends:
            append(row.get(name))
        return True

    # A million objects are never there at once: each is taken apart as soon as it is
    # read.
    read = read_json(path, keep)
    flat = (
        isinstance(read, list)
        and len(read) == len(columns["id"])
        and all(entry is True for entry in read)
    )
    if not flat or not read:
        raise DataError(
            f"{path}: expected a JSON list of flat objects, one a pair. Use the"
            " publisher's own data.json."
        )
    for name, kind in _KINDS.items():
        if set(map(type, columns[name])) != {kind}:
            row = next(
                at for at, value in enumerate(columns[name]) if type(value) is not kind
            )
            raise DataError(
                f"{path}, row {row} (id {columns['id'][row]}): expected {name!r} as"
                f" {kind.__name__}, found {columns[name][row]!r}. Use the publisher's"
                " own data.json."
            )
    for name in ("topic", "source"):
        columns[name] = [sys.intern(value) for value in columns[name]]
    table = pd.DataFrame(
        {
            name: pd.Series(column, dtype=None if name == "id" else "str")
            for name, column in columns.items()
        }
    )
    twice = table["id"].duplicated(keep=False)
    if twice.any():
        shown = name_some(
            f"id {id_} in row {row}"
            for row, id_ in table.loc[twice, "id"].sort_values(kind="stable").items()
        )
        raise DataError(
            f"{path}: each id must stand once, found {shown}. Use the publisher's own"
            " data.json."
        )
    paths = {
        name: table[name].str.removeprefix("./")
        for name in ("image_path", "article_path")
    }
    return table.assign(id=table["id"].astype("str"), **paths)


def story(rows: pd.DataFrame) -> pd.Series:
    """Name each of :func:`read_rows`' rows after the first that it is bound to.

    By article file, image or caption.
    """
    keys = [rows["article_path"], rows["image_path"], rows["caption"].str.casefold()]
    # Few rows share anything. The others are groups by themselves, and need not be
    # looked at one by one.
    shares = pd.concat([key.duplicated(keep=False) for key in keys], axis=1).any(axis=1)
    group = rows["id"].copy()
    if shares.any():
        group[shares] = merge_groups(*(key[shares] for key in (rows["id"], *keys)))
    return group
