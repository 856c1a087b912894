"""Web evidence for VERITE's pairs.

What searches for the image and for the caption found.

The texts stand beside the image: pages on which a search for the image found it, so all
pairs of an image have the same. The images were found by a search for the caption.
Vectors of either are not public, and the images are no longer at hand: what can be
compared is words. Pages may be the very fact-checks that the pairs were made from, so
evidence can hold the answer.
"""

from __future__ import annotations

import ast
from pathlib import Path, PurePosixPath

import pandas as pd

from verite.dataset import Card
from verite.datasets.home import Reader
from verite.errors import DataError, name_some
from verite.tables import read_columns

__all__ = ["CARD", "load_evidence"]

_FILE = "verite-evidence/VERITE_with_evidence.csv"

CARD = Card(
    name="verite-evidence",
    title="Web evidence for VERITE",
    source="https://github.com/stevejpapad/relevant-evidence-detection",
    licence="Apache-2.0 (repository); intended for research only",
    citation="papadopoulos2024verite",
    not_public=(
        "Images of the evidence, and vectors of its texts and images. Ask the authors"
        " of relevant-evidence-detection."
    ),
)


def load_evidence(pairs: pd.DataFrame) -> pd.DataFrame:
    """Load the evidence of each of ``pairs``, found by image file, caption and label,
    never by position.

    Parameters
    ----------
    pairs
        VERITE's pair table, or some of its rows: ``verite.load("verite",
        embeddings=False).pairs``. The evidence is that of the present release; one
        caption of the first release was edited since, so its pair has none.

    Returns
    -------
    pandas.DataFrame
        In the order of ``pairs``: ``pair_id``, ``texts`` (tuple of str) and ``images``
        (tuple of str, file names); both may be empty.

    Raises
    ------
    MissingDataError
        The file is not there.
    DataError
        A cell holds no list of texts or another number of them than the file says, a
        pair stands twice, or a pair of ``pairs`` is not in the file.
    """
    path = Reader(CARD).path(_FILE)
    table, _ = read_columns(
        path,
        [
            "caption",
            "image_path",
            "captions",
            "len_text_info",
            "images_paths",
            "num_images",
            "label",
        ],
    )
    key = ["image_path", "caption", "label"]
    if (twice := table.duplicated(key)).any():
        raise DataError(
            f"{path}: a pair stands twice (line {name_some(table.index[twice])}). Fetch"
            " the file again."
        )
    table["texts"] = _lists(table, "captions", "len_text_info", path)
    table["images"] = _lists(table, "images_paths", "num_images", path).map(
        lambda paths: tuple(PurePosixPath(each).name for each in paths)
    )
    found = pairs[["pair_id", *key]].merge(
        table[[*key, "texts", "images"]], on=key, how="left", validate="many_to_one"
    )
    without = found["texts"].isna()
    if without.any():
        raise DataError(
            f"{path}: no evidence for {int(without.sum()):,} of {len(found):,} pairs"
            f" ({name_some(found.loc[without, 'pair_id'])}), whose image, caption and"
            " label are not those of a row. The evidence belongs to version='release'"
            " of VERITE."
        )
    return found[["pair_id", "texts", "images"]]


def _lists(table: pd.DataFrame, column: str, count: str, path: Path) -> pd.Series:
    """Lists are written as Python writes them.

    ``literal_eval`` reads them and runs nothing.
    """
    lists = []
    for line, cell, size in zip(table.index, table[column], table[count], strict=True):
        try:
            value = ast.literal_eval(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
        if not isinstance(value, list) or not all(
            isinstance(each, str) for each in value
        ):
            raise DataError(
                f"{path}, line {line}: expected a list of texts in {column!r}, found"
                f" {cell[:60]!r}. Fetch the file again."
            )
        if str(len(value)) != size:
            raise DataError(
                f"{path}, line {line}: {count} says {size!r}, but {column!r} holds"
                f" {len(value)}. Fetch the file again."
            )
        lists.append(tuple(value))
    return pd.Series(lists, index=table.index, dtype=object)
