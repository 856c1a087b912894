"""A table of pairs, as a CSV with images beside it, to two files of vectors and a
ledger; and the vectors back to their pairs.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd

from verite.dataset import Dataset
from verite.embeddings import Embeddings
from verite.encoders.encoder import Encoded, Encoder
from verite.encoders.weights import REGISTERED
from verite.errors import DataError, MissingDataError, name_some
from verite.files import require_file, sha256, write_csv
from verite.pairs import COLUMNS, validate
from verite.tables import read_table

__all__ = ["encode_table", "encoder_of", "with_vectors"]


def encode_table(
    table: Path,
    out: Path,
    *,
    encoder: str,
    pretrained: str | None,
    images_from: Path | None = None,
    batch_size: int = 64,
    autocast: bool = False,
    normalise: bool = True,
    device: str = "auto",
) -> list[str]:
    """Encode a pair table on the disk into ``out``.

    ``images.safetensors``, ``texts.safetensors`` and ``ledger.csv``.

    Parameters
    ----------
    table
        CSV with :data:`verite.pairs.COLUMNS`, and others if it likes. ``image_path`` is
        relative to ``images_from``, or to the table's own folder.
    encoder, pretrained, device
        As :meth:`verite.encoders.Encoder.load` takes them.

    Returns
    -------
    list of str
        Lines that say what was encoded, what was not, and where it lies.

    Raises
    ------
    DataError
        The table is none, an id stands for two images or two captions, or no image can
        be encoded.
    """
    read = read_table(table)
    pairs = validate(
        read,
        where=str(table),
        extra=[name for name in read.columns if name not in COLUMNS],
    )
    folder = table.parent if images_from is None else images_from
    images = _one_each(pairs, "image_id", "image_path", table)
    captions = _one_each(pairs, "text_id", "caption", table)
    # A URL is left as it is, so that it is called one.
    sources = {
        key: path if "://" in path else str(folder / path)
        for key, path in images.items()
        if path
    }

    loaded = Encoder.load(encoder, pretrained, device=device)
    shards = out / "shards"
    pathless = pd.DataFrame(
        [
            (key, "", "failed", "the table names no file for it")
            for key, path in images.items()
            if not path
        ],
        columns=["id", "source", "status", "what"],
        dtype="str",
    )
    if not sources:
        raise DataError(
            f"{table}: image_path is empty in every row; there is no image to encode."
        )
    seen = loaded.encode_images(
        sources,
        normalise=normalise,
        batch_size=batch_size,
        autocast=autocast,
        directory=shards,
        progress="images",
    )
    told = loaded.encode_texts(
        captions,
        normalise=normalise,
        batch_size=batch_size,
        autocast=autocast,
        directory=shards,
        progress="captions",
    )
    ledgers = {"image": pd.concat([pathless, seen.ledger]), "caption": told.ledger}
    seen.embeddings.save(out / "images.safetensors")
    told.embeddings.save(out / "texts.safetensors")
    write_csv(
        out / "ledger.csv",
        pd.concat([one.assign(kind=kind) for kind, one in ledgers.items()])[
            ["kind", *pathless.columns]
        ],
    )
    return [
        (
            f"encoder:  {loaded.identity}, {seen.embeddings.about['precision']},"
            f" {'normalised' if normalise else 'not normalised'}"
        ),
        f"images:   {_counted(seen, ledgers['image'])}: {out / 'images.safetensors'}",
        f"captions: {_counted(told, ledgers['caption'])}: {out / 'texts.safetensors'}",
        f"ledger:   {out / 'ledger.csv'}",
    ]


def with_vectors(data: Dataset, folder: str | os.PathLike[str]) -> Dataset:
    """Give a data set the vectors that :func:`encode_table` wrote for its pairs.

    Pairs without an image's vector are left out.

    ``files`` then names the two files of vectors, too, as ``folder`` names them.

    Raises
    ------
    MissingDataError
        A file is not there.
    DataError
        No pair has vectors, or a caption has none: they were made from other pairs. Or
        they do not fit each other.
    """
    files = {name: Path(folder) / f"{name}.safetensors" for name in ("images", "texts")}
    images, texts = (
        Embeddings.load(
            require_file(path, "Write it with: verite encode PAIRS.csv --out FOLDER.")
        )
        for path in files.values()
    )
    pairs = data.pairs[data.pairs["image_id"].isin(images.ids)].reset_index(drop=True)
    if pairs.empty:
        raise DataError(
            f"{folder}: none of the {len(data.pairs):,} pairs of {data.name} has an"
            f" image here. Encode what `verite data pairs {data.name}` writes."
        )
    missing = pairs.loc[~pairs["text_id"].isin(texts.ids), "text_id"].unique()
    if len(missing):
        raise DataError(
            f"{folder}: {len(missing):,} captions of {data.name} have no vector"
            f" ({name_some(missing)}). Encode its pairs again."
        )
    digests = {path.as_posix(): sha256(path) for path in files.values()}
    return replace(
        data, pairs=pairs, images=images, texts=texts, files={**data.files, **digests}
    )


def encoder_of(vectors: Embeddings, *, device: str = "auto") -> Encoder:
    """Load the encoder that made some vectors, to encode more.

    Raises
    ------
    MissingDataError
        Nothing says where its weights are, as for vectors of a local checkpoint or of a
        publisher.
    DataError
        The weights that were found under its name are others.
    """
    name, tag = (vectors.about.get(key, "") for key in ("name", "tag"))
    if not name or tag == "local":
        raise MissingDataError(
            f"{vectors.where}: made by {vectors.encoder}, whose weights cannot be found"
            " by that name. Encode with a tag of open_clip's."
        )
    found = (
        Encoder.load(tag, device=device)
        if tag in REGISTERED
        else Encoder.load(name, tag, device=device)
    )
    if found.identity != vectors.encoder:
        raise DataError(
            f"{vectors.where}: made by {vectors.encoder}, but these weights are"
            f" {found.identity}. Encode the pairs again."
        )
    return found


def _one_each(pairs: pd.DataFrame, id_: str, value: str, table: Path) -> dict[str, str]:
    distinct = pairs[[id_, value]].drop_duplicates()
    twice = distinct.loc[distinct[id_].duplicated(), id_]
    if len(twice):
        raise DataError(
            f"{table}: each {id_} must have one {value}; {name_some(twice.unique())}"
            " has several."
        )
    return dict(zip(distinct[id_], distinct[value], strict=True))


def _counted(encoded: Encoded, ledger: pd.DataFrame) -> str:
    counts = ledger["status"].value_counts()
    return (
        f"{len(encoded.embeddings):,} encoded, {counts.get('failed', 0):,} failed,"
        f" {counts.get('handled', 0):,} handled"
    )
