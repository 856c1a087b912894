"""A table of pairs, as a CSV with images beside it, to two files of vectors and a ledger."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from verite.encoders.encoder import Encoded, Encoder
from verite.errors import DataError, name_some
from verite.files import read_csv, write_csv
from verite.pairs import COLUMNS, validate

__all__ = ["encode_table"]


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
    """Encode a pair table on the disk into ``out``: ``images.safetensors``, ``texts.safetensors`` and ``ledger.csv``.

    Parameters
    ----------
    table
        CSV with :data:`verite.pairs.COLUMNS`, and others if it likes. ``image_path`` is relative to ``images_from``,
        or to the table's own folder.
    encoder, pretrained, device
        As :meth:`verite.encoders.Encoder.load` takes them.

    Returns
    -------
    list of str
        Lines that say what was encoded, what was not, and where it lies.

    Raises
    ------
    DataError
        The table is none, an id stands for two images or two captions, or no image can be encoded.
    """
    read = read_csv(table)
    pairs = validate(read, where=str(table), extra=[name for name in read.columns if name not in COLUMNS])
    folder = table.parent if images_from is None else images_from
    images = _one_each(pairs, "image_id", "image_path", table)
    captions = _one_each(pairs, "text_id", "caption", table)
    # A URL is left as it is, so that it is called one.
    sources = {key: path if "://" in path else str(folder / path) for key, path in images.items() if path}

    loaded = Encoder.load(encoder, pretrained, device=device)
    shards = out / "shards"
    pathless = pd.DataFrame(
        [(key, "", "failed", "the table names no file for it") for key, path in images.items() if not path],
        columns=["id", "source", "status", "what"],
        dtype="str",
    )
    if not sources:
        raise DataError(f"{table}: image_path is empty in every row; there is no image to encode.")
    seen = loaded.encode_images(sources, normalise=normalise, batch_size=batch_size, autocast=autocast, directory=shards, progress="images")
    told = loaded.encode_texts(
        captions, normalise=normalise, batch_size=batch_size, autocast=autocast, directory=shards, progress="captions"
    )
    ledgers = {"image": pd.concat([pathless, seen.ledger]), "caption": told.ledger}
    seen.embeddings.save(out / "images.safetensors")
    told.embeddings.save(out / "texts.safetensors")
    write_csv(out / "ledger.csv", pd.concat([one.assign(kind=kind) for kind, one in ledgers.items()])[["kind", *pathless.columns]])
    return [
        f"encoder:  {loaded.identity}, {seen.embeddings.about['precision']}, {'normalised' if normalise else 'not normalised'}",
        f"images:   {_counted(seen, ledgers['image'])}: {out / 'images.safetensors'}",
        f"captions: {_counted(told, ledgers['caption'])}: {out / 'texts.safetensors'}",
        f"ledger:   {out / 'ledger.csv'}",
    ]


def _one_each(pairs: pd.DataFrame, id_: str, value: str, table: Path) -> dict[str, str]:
    distinct = pairs[[id_, value]].drop_duplicates()
    twice = distinct.loc[distinct[id_].duplicated(), id_]
    if len(twice):
        raise DataError(f"{table}: each {id_} must have one {value}; {name_some(twice.unique())} has several.")
    return dict(zip(distinct[id_], distinct[value], strict=True))


def _counted(encoded: Encoded, ledger: pd.DataFrame) -> str:
    counts = ledger["status"].value_counts()
    return f"{len(encoded.embeddings):,} encoded, {counts.get('failed', 0):,} failed, {counts.get('handled', 0):,} handled"
