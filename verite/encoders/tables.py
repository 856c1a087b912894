"""A pair table on disk to two files of vectors and a ledger, and back to a data set."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd

from verite.dataset import Dataset
from verite.embeddings import Embeddings
from verite.encoders.encoder import Encoder
from verite.encoders.weights import REGISTERED
from verite.errors import DataError, MissingDataError, name_some
from verite.files import require_file, sha256, write_csv
from verite.pairs import validate
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
    """Encode a pair table into a folder.

    It writes ``images.safetensors``, ``texts.safetensors`` and ``ledger.csv``.

    Parameters
    ----------
    table
        CSV with :data:`verite.pairs.COLUMNS` and any others. ``image_path`` is relative
        to ``images_from``, or to the table's folder.
    encoder, pretrained, device
        See :meth:`verite.encoders.Encoder.load`.

    Returns
    -------
    list of str
        Lines that summarise what was encoded and where it is.

    Raises
    ------
    DataError
        Not a pair table, an id with two images or two captions, or no image that can be
        encoded.
    """
    read = read_table(table)
    pairs = validate(read, where=str(table), extra=read.columns)
    paths = _unique(pairs, "image_id", "image_path", table)
    captions = _unique(pairs, "text_id", "caption", table)
    folder = table.parent if images_from is None else images_from
    # A URL stays as it is, so that the error calls it one.
    sources = {
        id_: path if "://" in path else str(folder / path)
        for id_, path in paths.items()
        if path
    }
    if not sources:
        raise DataError(
            f"{table}: image_path is empty in every row; there is no image to encode."
        )
    model = Encoder.load(encoder, pretrained, device=device)

    def encode(kind: str) -> tuple[Embeddings, pd.DataFrame]:
        method, items = {
            "image": (model.encode_images, sources),
            "caption": (model.encode_texts, captions),
        }[kind]
        encoded = method(  # type: ignore[operator]
            items,
            normalise=normalise,
            batch_size=batch_size,
            autocast=autocast,
            directory=out / "shards",
            progress=f"{kind}s",
        )
        return encoded.embeddings, encoded.ledger.assign(kind=kind)

    images, image_ledger = encode("image")
    texts, text_ledger = encode("caption")
    pathless = pd.DataFrame({"id": [id_ for id_, path in paths.items() if not path]})
    pathless = pathless.assign(
        source="", status="failed", what="no path in the table", kind="image"
    )
    ledger = pd.concat([pathless, image_ledger, text_ledger])
    files = [out / f"{name}.safetensors" for name in ("images", "texts")]
    images.save(files[0])
    texts.save(files[1])
    columns = ["kind", "id", "source", "status", "what"]
    write_csv(out / "ledger.csv", ledger[columns])
    counts = ledger.value_counts(["kind", "status"])

    def summary(kind: str, vectors: Embeddings) -> str:
        return (
            f"{len(vectors):,} encoded, {counts.get((kind, 'failed'), 0):,} failed,"
            f" {counts.get((kind, 'handled'), 0):,} handled"
        )

    length = "normalised" if normalise else "not normalised"
    return [
        f"encoder:  {model.identity}, {images.about['precision']}, {length}",
        f"images:   {summary('image', images)}: {files[0]}",
        f"captions: {summary('caption', texts)}: {files[1]}",
        f"ledger:   {out / 'ledger.csv'}",
    ]


def with_vectors(data: Dataset, folder: str | os.PathLike[str]) -> Dataset:
    """Add the vectors that :func:`encode_table` wrote for a data set's pairs.

    Pairs without a vector of their image are left out; ``files`` gains the two files.

    Raises
    ------
    MissingDataError
        A file is missing.
    DataError
        No pair has vectors, a caption has none, or vectors do not fit each other.
    """
    files = [Path(folder) / f"{name}.safetensors" for name in ("images", "texts")]
    hint = "Write it with: verite encode PAIRS.csv --out FOLDER."
    images, texts = (Embeddings.load(require_file(path, hint)) for path in files)
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
    digests = {path.as_posix(): sha256(path) for path in files}
    return replace(
        data, pairs=pairs, images=images, texts=texts, files={**data.files, **digests}
    )


def encoder_of(vectors: Embeddings, *, device: str = "auto") -> Encoder:
    """Load the encoder that computed some vectors, to encode more.

    Raises
    ------
    MissingDataError
        Its weights cannot be found, as for a local checkpoint or a publisher's vectors.
    DataError
        The weights found under its name differ.
    """
    name, tag = (vectors.about.get(key, "") for key in ("name", "tag"))
    if not name or tag == "local":
        raise MissingDataError(
            f"{vectors.where}: computed by {vectors.encoder}, whose weights cannot be"
            " found by that name. Encode with a tag of open_clip."
        )
    names = (tag,) if tag in REGISTERED else (name, tag)
    encoder = Encoder.load(*names, device=device)
    if encoder.identity != vectors.encoder:
        raise DataError(
            f"{vectors.where}: computed by {vectors.encoder}, but these weights are"
            f" {encoder.identity}. Encode the pairs again."
        )
    return encoder


def _unique(pairs: pd.DataFrame, id_: str, value: str, table: Path) -> dict[str, str]:
    distinct = pairs[[id_, value]].drop_duplicates()
    repeated = distinct.loc[distinct[id_].duplicated(), id_].unique()
    if len(repeated):
        raise DataError(
            f"{table}: each {id_} must have one {value}; several for"
            f" {name_some(repeated)}."
        )
    return dict(zip(distinct[id_], distinct[value], strict=True))
