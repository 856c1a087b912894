"""COSMOS: an image and two captions, and whether one of them takes the image out of its
context.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from verite.dataset import Card, Dataset
from verite.datasets.home import Reader, choose, first_of
from verite.errors import DataError
from verite.files import read_text
from verite.pairs import MISINFORMATION, TRUE, merge_groups, validate

__all__ = ["CARD", "load", "needs"]

_FILE = "cosmos/test_data.json"
_KEYS = {
    "img_local_path": str,
    "caption1": str,
    "caption2": str,
    "context_label": int,
    "article_url": str,
}

CARD = Card(
    name="cosmos",
    title="COSMOS: out-of-context use of images",
    source="https://github.com/shivangi-aneja/COSMOS",
    licence=(
        "MIT (code); the data are for research, under the terms of the authors' form"
    ),
    citation="aneja2023cosmos",
    expected={"true": 850, "misinformation": 850},
    not_public=(
        "Pairs and images. Fill in the authors' form,"
        " https://docs.google.com/forms/d/13kJQ2wlv7sxyXoaM1Ddon6Nq7dUJY_oftl-6xzwTGow,"
        " and ask for the annotations and the test images; of these, test_data.json is"
        " read here. The authors offer 1,700 test pairs; 1,000 of them were given out"
        " with a public challenge."
    ),
    notes=(
        "Captions of misinformation come almost all from Snopes, true ones from news"
        " sites: the source alone tells the classes apart."
    ),
)


def needs(caption: str = "caption1") -> tuple[str, ...]:
    """Files that :func:`load` reads with these options, below the data folder."""
    choose("caption", caption, ("caption1", "caption2"))
    return (_FILE,)


def load(caption: str = "caption1") -> Dataset:
    """Load the COSMOS test pairs, 1,000 or 1,700 of them (paper, section 4.2).

    ``context_label`` 0 is ``true``, 1 (out of context) is ``misinformation``. A pair
    and a caption are named after the row, an image after its path. Pairs that share an
    image, or a caption but for case and white space, are one group. ``article_url`` is
    kept as a column: it tells the classes apart.

    Parameters
    ----------
    caption
        ``"caption1"``, as the paper uses it, or ``"caption2"``; the label is the same
        for both.

    Raises
    ------
    MissingDataError
        The file is not there.
    DataError
        A line is not a JSON object with what is needed.
    """
    needs(caption)
    reader = Reader(CARD)
    path = reader.path(_FILE)
    # Not splitlines(): it would also split at separators that JSON strings may hold.
    lines = read_text(path).split("\n")
    table = pd.DataFrame(
        [
            _parse(line, path, number)
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]
    )
    text = table[caption]
    image_id = table["img_local_path"].map(
        lambda name: str(PurePosixPath(name).with_suffix(""))
    )
    number = table.index.astype("str").to_series(index=table.index)
    pairs = pd.DataFrame(
        {
            "pair_id": "cosmos_" + number,
            "image_id": image_id,
            "text_id": first_of("text_" + number, text),
            "caption": text,
            "image_path": table["img_local_path"],
            "label": table["context_label"].map({0: TRUE, 1: MISINFORMATION}),
            "group": merge_groups(
                "pair_" + number,
                image_id,
                text.str.casefold().str.split().str.join(" "),
            ),
            "split": "",
            "dataset": "cosmos",
            "article_url": table["article_url"],
        }
    )
    return Dataset(
        "cosmos",
        validate(pairs, where=str(path), extra=("article_url",)),
        CARD,
        files=reader.digests,
    )


def _parse(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {number}: expected one JSON object a line, found {error}."
            " Use the publisher's own file."
        ) from error
    if not isinstance(row, dict):
        raise DataError(
            f"{path}, line {number}: expected a JSON object, found"
            f" {type(row).__name__}. Use the publisher's own file."
        )
    for key, kind in _KEYS.items():
        if type(row.get(key)) is not kind:
            found = f"{row[key]!r}" if key in row else "nothing"
            raise DataError(
                f"{path}, line {number}: expected {key!r} as {kind.__name__}, found"
                f" {found}. Use the publisher's own file."
            )
    if row["context_label"] not in (0, 1):
        raise DataError(
            f"{path}, line {number}: expected context_label 0 (true) or 1 (out of"
            f" context), found {row['context_label']}."
        )
    return {key: row[key] for key in _KEYS}
