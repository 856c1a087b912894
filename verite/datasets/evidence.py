"""Web evidence for VERITE's pairs: texts and images from searches.

The texts are of pages on which a search for the image found it, so all pairs of an
image have the same. The images were found by a search for the caption. Vectors of
either are not public. Pages may be the very fact-checks that the pairs were made from,
so the evidence can hold the answer.
"""

from __future__ import annotations

import ast
from pathlib import Path, PurePosixPath

import pandas as pd

from verite.dataset import Card, DataFile
from verite.datasets.reading import Reader
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
    files=(
        DataFile(
            _FILE,
            "https://raw.githubusercontent.com/stevejpapad/relevant-evidence-detection"
            "/493ed7eab9d42ffeebb5bda7f7101fe8c58f9dea/data/VERITE"
            "/VERITE_with_evidence.csv",
            "470df1b62a41add1fe1cdc516e1732d4bff0776bef5c872ee3271e2913c560da",
            1_374_246,
        ),
    ),
)


def load_evidence(pairs: pd.DataFrame) -> pd.DataFrame:
    """Load the evidence of pairs, looked up by image file, caption and label.

    Parameters
    ----------
    pairs
        VERITE's pair table, or some of its rows. The evidence is that of the present
        release; one caption of the first release was edited since and has none.

    Returns
    -------
    pandas.DataFrame
        In the order of ``pairs``: ``pair_id``, ``texts`` (tuple of str) and ``images``
        (tuple of str, file names); both may be empty.

    Raises
    ------
    MissingDataError
        The file does not exist.
    DataError
        A cell does not hold the list it should, pairs are duplicate, or a pair of
        ``pairs`` is not in the file.
    """
    path = Reader(CARD).path(_FILE)
    key = ["image_path", "caption", "label"]
    table, _ = read_columns(
        path, [*key, "captions", "len_text_info", "images_paths", "num_images"]
    )
    if (duplicate := table.duplicated(key)).any():
        raise DataError(
            f"{path}: duplicate pairs (line {name_some(table.index[duplicate])}). Fetch"
            " the file again."
        )
    table["texts"] = _lists(table, "captions", "len_text_info", path)
    table["images"] = _lists(table, "images_paths", "num_images", path).map(
        lambda paths: tuple(PurePosixPath(path).name for path in paths)
    )
    evidence = pairs[["pair_id", *key]].merge(
        table[[*key, "texts", "images"]], on=key, how="left", validate="many_to_one"
    )
    missing = evidence.loc[evidence["texts"].isna(), "pair_id"]
    if len(missing):
        raise DataError(
            f"{path}: no evidence for {len(missing):,} of {len(evidence):,} pairs"
            f" ({name_some(missing)}). It belongs to version='release' of VERITE."
        )
    return evidence[["pair_id", "texts", "images"]]


def _lists(table: pd.DataFrame, column: str, count: str, path: Path) -> pd.Series:
    """Lists as Python writes them; ``literal_eval`` reads them and runs nothing."""
    lists = []
    for line, cell, size in zip(table.index, table[column], table[count], strict=True):
        try:
            value = ast.literal_eval(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
        if (
            not isinstance(value, list)
            or not all(isinstance(text, str) for text in value)
            or str(len(value)) != size
        ):
            raise DataError(
                f"{path}, line {line}: expected a list of {size} texts in {column!r},"
                f" found {cell[:60]!r}. Fetch the file again."
            )
        lists.append(tuple(value))
    return pd.Series(lists, index=table.index, dtype=object)
