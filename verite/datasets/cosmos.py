"""COSMOS: an image, two captions, and whether one is out of context."""

from __future__ import annotations

from pathlib import PurePosixPath

import pandas as pd

from verite.dataset import Card, DataFile, Dataset
from verite.datasets.reading import (
    Reader,
    check_rows,
    check_values,
    choose,
    first_of,
    read_json,
)
from verite.pairs import MISINFORMATION, TRUE, merge_groups, validate

__all__ = ["CARD", "load", "needs"]

_FILE = "cosmos/test_data.json"
_LABELS = {0: TRUE, 1: MISINFORMATION}
_KINDS: dict[str, tuple[type, ...]] = {
    "img_local_path": (str,),
    "caption1": (str,),
    "caption2": (str,),
    "context_label": (int,),
    "article_url": (str,),
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
        " sites: the source alone separates the classes."
    ),
    files=(DataFile(_FILE),),
)


def needs(caption: str = "caption1") -> tuple[str, ...]:
    """Files that :func:`load` reads with these options, below the data folder."""
    choose("caption", caption, ("caption1", "caption2"))
    return (_FILE,)


def load(caption: str = "caption1") -> Dataset:
    """Load the COSMOS test pairs, 1,000 or 1,700 of them (paper, section 4.2).

    ``context_label`` 0 is ``true``, 1 (out of context) is ``misinformation``. A pair
    and a caption are named after the row, an image after its path. Pairs that share an
    image, or a caption except for case and white space, are one group. The column
    ``article_url`` is kept.

    Parameters
    ----------
    caption
        ``"caption1"``, as the paper uses it, or ``"caption2"``; the label is the same
        for both.

    Raises
    ------
    MissingDataError
        The file does not exist.
    DataError
        A line is not a JSON object with the fields that are read.
    """
    needs(caption)
    reader = Reader(CARD)
    path = reader.path(_FILE)
    table = check_rows(path, read_json(path, lines=True), _KINDS)
    check_values(path, table["context_label"], _LABELS)
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
            "label": table["context_label"].map(_LABELS),
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
