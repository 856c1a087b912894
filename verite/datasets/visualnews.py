"""VisualNews: true pairs of four news sites, from which misleading ones are made."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from verite.dataset import Card, DataFile, Dataset
from verite.datasets.reading import Reader, check_rows, first_of, read_json
from verite.errors import DataError, name_some
from verite.pairs import TRUE, merge_groups, validate

__all__ = ["CARD", "FILE", "load", "needs", "read_rows", "story"]

FILE = "visualnews/origin/data.json"
"""The publisher's table; image paths are relative to its folder."""

_KINDS: dict[str, tuple[type, ...]] = {
    "id": (int,),
    "caption": (str,),
    "topic": (str,),
    "source": (str,),
    "image_path": (str,),
    "article_path": (str,),
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
        " one article cannot be seen in data.json, where each has an article file of"
        " its own."
    ),
    files=(DataFile(FILE),),
)


def needs() -> tuple[str, ...]:
    """Files that :func:`load` reads, below the data folder."""
    return (FILE,)


def load() -> Dataset:
    """Load VisualNews: truthful pairs without a split (paper, sections 3.3 and 4.1).

    ``topic`` and ``source`` (the news site) are kept as columns. A pair has the
    publisher's id; an image or a caption has that of the first pair with its path or
    text. Pairs that share an article file, an image or a caption (except for case) are
    one group. ``image_path`` is relative to ``visualnews/origin``.

    Raises
    ------
    MissingDataError
        The file does not exist.
    DataError
        The file is no list of pairs, or ids are duplicate.
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
        The file is no JSON list of objects with these fields, or ids are duplicate.
    """
    table = check_rows(path, read_json(path), _KINDS)
    duplicates = table.loc[table["id"].duplicated(), "id"].unique()
    if len(duplicates):
        raise DataError(
            f"{path}: duplicate ids: {name_some(duplicates)}. Use the publisher's own"
            " data.json."
        )
    paths = {
        name: table[name].str.removeprefix("./")
        for name in ("image_path", "article_path")
    }
    return table.assign(id=table["id"].astype("str"), **paths)


def story(rows: pd.DataFrame) -> pd.Series:
    """Name each row after the first that shares its article file, image or caption."""
    keys = [rows["article_path"], rows["image_path"], rows["caption"].str.casefold()]
    # Few of a million rows share anything; the others are groups by themselves.
    shares = pd.concat([key.duplicated(keep=False) for key in keys], axis=1).any(axis=1)
    group = rows["id"].copy()
    if shares.any():
        group[shares] = merge_groups(*(key[shares] for key in (rows["id"], *keys)))
    return group
