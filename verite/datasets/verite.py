"""VERITE: real pairs in three classes, with each true image and caption twice."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from verite.dataset import Card, DataFile, Dataset
from verite.datasets.reading import Reader, choose, first_of
from verite.embeddings import Embeddings, per_id
from verite.errors import DataError, ParameterError, name_some
from verite.mapped import read_npy
from verite.pairs import merge_groups, validate
from verite.tables import read_columns

__all__ = ["CARD", "ENCODERS", "load", "needs", "read_articles"]

ENCODERS = ("ViT-L-14", "ViT-B-32")
"""Encoders whose vectors the authors released."""

_GITHUB = "https://raw.githubusercontent.com/stevejpapad"
_URLS = {
    "VERITE": f"{_GITHUB}/image-text-verification"
    "/fee01f0d2e4d2a4fb918a0ab0e1dd2c48ed7067e/VERITE",
    "FIGMENTS": f"{_GITHUB}/image-text-verification"
    "/0a8087c69dec6437eaa574c27d2da93c7687861d/FIGMENTS",
    "ViTB32": f"{_GITHUB}/relevant-evidence-detection"
    "/493ed7eab9d42ffeebb5bda7f7101fe8c58f9dea/data/VERITE",
}
_TABLES = {"release": "verite/VERITE.csv", "paper": "figments/FIGMENTS.csv"}
_ARTICLES = "verite/VERITE_articles.csv"


def _file(name: str, size: int, sha256: str) -> DataFile:
    release = name.partition(".")[0].partition("_")[0]
    url = _URLS["ViTB32" if "ViTB32" in name else release]
    return DataFile(f"{release.lower()}/{name}", f"{url}/{name}", sha256, size)


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
    files=(
        _file(
            "VERITE.csv",
            162_347,
            "7f5661860f2e34624c1721710ed37fac5e1e78a4307400530dd587cb0d15a040",
        ),
        _file(
            "VERITE_articles.csv",
            184_717,
            "add4059c43dd796d512d9489358923263110a5e9430f1ea930dee0dfa5bc2197",
        ),
        _file(
            "VERITE_clip_image_embeddings_ViTL14.npy",
            3_075_200,
            "db01def1697a8e5cf87a8a906149ed4dfcedda96341ef4f35c146a8955c587f3",
        ),
        _file(
            "VERITE_clip_text_embeddings_ViTL14.npy",
            3_075_200,
            "1dc8af9ef62edee3346eb5cdd3bfbb027bf2ee0212bb1df73654caef3773b06d",
        ),
        _file(
            "VERITE_clip_image_embeddings_ViTB32.npy",
            2_050_176,
            "8afb3db9161c97bc2fd1fe35424f3ca803276f68bb989968038a48c35e4ea0a2",
        ),
        _file(
            "VERITE_clip_text_embeddings_ViTB32.npy",
            2_050_176,
            "f283fea9804a1a8e45908b47f75196b3021a0be58361b62e64c220259a968fb1",
        ),
        _file(
            "FIGMENTS.csv",
            162_036,
            "da2903ce9a8ad33b036ac745c6f49d8be604b5a8c6dd6a974b4402812c8bf7cf",
        ),
        _file(
            "FIGMENTS_clip_image_embeddings_ViTL14.npy",
            1_536_128,
            "2631728e90beed435fe5a93d834554d6c747ca587d5570af3410f2b12c72ee33",
        ),
        _file(
            "FIGMENTS_clip_text_embeddings_ViTL14.npy",
            1_536_128,
            "c03aaee220e0baaf3ea6ccf4fefaa9fffd0f6497de72ffb3fe54285feafe390e",
        ),
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
            "version='paper' was released with ViT-L-14 only, found encoder"
            f" {encoder!r}. version='release' has both."
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

    Row i of the table belongs to row i of the arrays. This is checked: lengths must
    agree, and an image or a caption of several rows must have one vector.

    A pair is named after the release's own row number; an image after its file; a
    caption after the first row that holds it. The group is the article; articles that
    share a caption, an image or a source page are one group. Pages are looked up in
    the release's table of articles for both versions.

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
        A file does not exist.
    DataError
        The content of a file is not as expected, or table and arrays do not match.
    ParameterError
        An option has an unknown value.
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
            f"{path}: expected the row numbers 0 to {len(table) - 1:,} in order in the"
            f" unnamed first column, found {name_some(row[moved])} (line"
            f" {name_some(table.index[moved])}). A table that was sorted or filtered"
            " does not match the arrays: fetch it again."
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
    """Read publisher and out-of-context status of each article.

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
