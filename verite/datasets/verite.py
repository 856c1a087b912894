"""VERITE: real pairs in three classes, each true image and each true caption standing
twice.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from verite.dataset import Card, Dataset
from verite.datasets.home import Reader, choose, first_of
from verite.embeddings import Embeddings, per_id, read_npy
from verite.errors import DataError, ParameterError, name_some
from verite.pairs import merge_groups, validate
from verite.tables import read_columns

__all__ = ["CARD", "ENCODERS", "load", "needs", "read_articles"]

ENCODERS = ("ViT-L-14", "ViT-B-32")
"""Encoders whose vectors the authors released."""

_TABLES = {"release": "verite/VERITE.csv", "paper": "figments/FIGMENTS.csv"}
_ARTICLES = "verite/VERITE_articles.csv"

CARD = Card(
    name="verite",
    title="VERITE: VERification of Image-TExt pairs",
    source="https://github.com/stevejpapad/image-text-verification",
    licence="Apache-2.0 (repository); intended for research only",
    citation="papadopoulos2024verite",
    expected={"true": 338, "out-of-context": 324, "miscaptioned": 338},
    not_public=(
        "The images. VERITE_articles.csv links to them (true_url, false_url) on the"
        " pages of Snopes, Reuters and others; some links are dead. Ask the authors"
        " about those."
    ),
    notes=(
        "version='release' is today's file, with one out-of-context pair and one edited"
        " caption more than version='paper', the first release, which has the counts"
        " that the paper prints."
    ),
)


def needs(
    version: str = "release", encoder: str = "ViT-L-14", embeddings: bool = True
) -> tuple[str, ...]:
    """Files that :func:`load` reads with these options, below the data folder.

    >>> needs(embeddings=False)
    ('verite/VERITE.csv', 'verite/VERITE_articles.csv')
    """
    choose("version", version, _TABLES)
    choose("encoder", encoder, ENCODERS)
    if version == "paper" and encoder != "ViT-L-14":
        raise ParameterError(
            "encoder: version='paper' was released with ViT-L-14 only, found"
            f" {encoder!r}. Use encoder='ViT-L-14', or version='release' which has"
            " both."
        )
    stem = _TABLES[version].removesuffix(".csv")
    kinds = ("image", "text") if embeddings else ()
    arrays = tuple(
        f"{stem}_clip_{kind}_embeddings_{encoder.replace('-', '')}.npy"
        for kind in kinds
    )
    return (_TABLES[version], _ARTICLES, *arrays)


def load(
    version: str = "release", encoder: str = "ViT-L-14", embeddings: bool = True
) -> Dataset:
    """Load VERITE (paper, section 3).

    Row i of the table and row i of the arrays belong together. That is checked, not
    assumed: lengths must agree, and an image or a caption that stands in several rows
    must have one vector there.

    A pair is named after the release's own row number; an image after its file; a
    caption after the first row that holds it. The group is the article, and articles
    that share a caption, an image or a source page are one group. Pages are looked up
    in the release's table of articles for both versions, so that the groups do not
    depend on which files happen to be there.

    Parameters
    ----------
    version
        ``"release"``: 1,001 pairs; vectors float32 of length 1. ``"paper"``: the first
        release, 1,000 pairs; vectors float16, not normalised.
    encoder
        ``"ViT-L-14"`` (768 dimensions, both versions) or ``"ViT-B-32"`` (512, release
        only).
    embeddings
        False loads the table without vectors.

    Raises
    ------
    MissingDataError
        A file is not there.
    DataError
        A file does not hold what it must hold, or table and arrays do not belong
        together.
    ParameterError
        An option has a value that does not exist.
    """
    table_name, _, *arrays = needs(version, encoder, embeddings)
    reader = Reader(CARD)
    path = reader.path(table_name)
    # The column of row numbers has no name in the file.
    table, _ = read_columns(path, [("row", ""), "caption", "image_path", "label"])
    row, caption = table["row"], table["caption"]
    moved = row != pd.Series(range(len(table)), index=table.index).astype(str)
    if moved.any():
        raise DataError(
            f"{path}: expected the release's own row numbers, 0 to {len(table) - 1:,}"
            f" in order, in the unnamed first column; found {name_some(row[moved])}"
            f" (line {name_some(table.index[moved])}). A table that was sorted or"
            " filtered does not belong to these arrays any more: fetch it again."
        )
    image_id = table["image_path"].map(lambda name: PurePosixPath(name).stem)
    vectors: list[Embeddings | None] = [None, None]
    text_id = first_of("text_" + row, caption)
    for kind, (name, ids) in enumerate(zip(arrays, (image_id, text_id), strict=False)):
        array = reader.path(name)
        vectors[kind] = per_id(
            ids.tolist(),
            read_npy(array, rows=len(table)),
            encoder=encoder,
            where=str(array),
        )

    pairs = pd.DataFrame(
        {
            "pair_id": f"{path.parent.name}_" + row,
            "image_id": image_id,
            "text_id": text_id,
            "caption": caption,
            "image_path": table["image_path"],
            "label": table["label"],
            "group": _groups(image_id, caption, path, reader.path(_ARTICLES)),
            "split": "",
            "dataset": "verite",
        }
    )
    return Dataset(
        "verite",
        validate(pairs, where=str(path)),
        CARD,
        vectors[0],
        vectors[1],
        files=reader.digests,
    )


def read_articles() -> pd.DataFrame:
    """Read what the released table of articles says, without its links and texts.

    Returns
    -------
    pandas.DataFrame
        ``article`` (as in a group's name), ``publisher`` (``snopes`` or ``reuters``)
        and ``out_of_context``: whether an out-of-context image was found for it (paper,
        section 3.2).
    """
    path = Reader(CARD).path(_ARTICLES)
    articles, _ = read_columns(path, ["id", "snopes_url", "false_url"])
    publisher = articles["snopes_url"].str.extract(
        r"(snopes|reuters)\.com/", expand=False
    )
    if publisher.isna().any():
        raise DataError(
            f"{path}: article {name_some(articles.loc[publisher.isna(), 'id'])} is of"
            " neither Snopes nor Reuters."
        )
    return pd.DataFrame(
        {
            "article": "article_" + articles["id"],
            "publisher": publisher,
            "out_of_context": articles["false_url"] != "",
        }
    )


def _groups(
    image_id: pd.Series, caption: pd.Series, path: Path, articles_path: Path
) -> np.ndarray:
    article = image_id.str.extract(r"^(?:true|false)_(\d+)$", expand=False)
    if article.isna().any():
        bad = image_id[article.isna()]
        raise DataError(
            f"{path}: expected images named true_N or false_N after article N, found"
            f" {name_some(bad)} (line {name_some(bad.index)})."
        )
    articles, _ = read_columns(articles_path, ["id", "snopes_url"])
    page = article.map(dict(zip(articles["id"], articles["snopes_url"], strict=True)))
    if page.isna().any():
        raise DataError(
            f"{path}: {articles_path.name} has no article"
            f" {name_some(article[page.isna()].unique())}. Use both files from one"
            " release."
        )
    return merge_groups("article_" + article, image_id, caption, page)
