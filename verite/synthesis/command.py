"""``verite synth``: truthful pairs to a table with misleading ones, and a record."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from verite import datasets
from verite.embeddings import Embeddings
from verite.errors import DataError, MissingDataError, ParameterError, name_some
from verite.files import check_overwrite, sha256, write_csv, write_json
from verite.pairs import LABELS, SPLITS, TRUE, grouped_split, validate
from verite.search import Neighbours, nearest
from verite.search.approximate import FaissSearch
from verite.synthesis import MAKERS, aggregate, made_share, maker_named, pool_use
from verite.synthesis.base import split_name
from verite.synthesis.options import parameters_of, parse_options
from verite.tables import read_table

__all__ = ["SHARES", "synthesise"]

SHARES: Mapping[str, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}
"""How groups are dealt where a table has no split."""

_LONG = 20_000  # truthful pairs from which on the blocks of a search are kept


def synthesise(
    name: str,
    data: str,
    out: Path,
    *,
    vectors: Path | None = None,
    pool: str | None = None,
    pool_vectors: Path | None = None,
    options: Mapping[str, str] | None = None,
    events: int | None = None,
    seed: int = 0,
    faiss: bool = False,
    force: bool = False,
    about: Mapping[str, Any] | None = None,
) -> list[str]:
    """Write ``pairs.csv`` and ``record.json`` into ``out``.

    Pairs and pool that have no split are dealt by :data:`SHARES` first, groups whole,
    so that no donor crosses splits. Each maker has a random generator of its own, so
    that it makes the same pairs alone and in an aggregate.

    Parameters
    ----------
    name
        A maker, or several joined by ``" + "``: one that makes out-of-context pairs,
        the others miscaptioned ones.
    data, pool
        Name of a data set, or path of a CSV. The newsroom is of the preset
        ``visualnews``; as a pool, which only CHASMA uses, of the preset ``fakeddit``
        and the next seed. It is the default pool of the newsroom.
    vectors, pool_vectors
        Folders that ``verite encode`` wrote. The newsroom has vectors of its own.
    options
        Parameters of the makers, as text; each goes to all makers that have it.
    events
        Size of a newsroom; None means 200.
    faiss
        Search in a FAISS index on disk, below ``out``, for pools larger than memory;
        its recall is measured on a sample and reported. Without it the search is exact,
        and a long one shows its progress and can be resumed.
    force
        Replace existing files.
    about
        What else to keep in the record, such as versions.

    Returns
    -------
    list of str
        Lines that say what was made and where it is.

    Raises
    ------
    ParameterError
        A maker, a data set or an option is unknown, or does not fit the others.
    MissingDataError
        A file or the vectors are missing.
    DataError
        :func:`verite.pairs.validate` or a maker refuses the data.
    """
    makers = {part.strip(): maker_named(part.strip()) for part in name.split("+")}
    names = split_name(name)
    parsed = parse_options(names, options or {})
    pooled = [key for key in MAKERS if MAKERS[key].uses_pool]
    if any(make.uses_pool for make in makers.values()):
        pool = pool or ("newsroom" if data == "newsroom" else None)
        if pool is None:
            raise ParameterError(
                "CHASMA takes misleading captions from a pool: name a data set or a CSV"
                " with --pool, such as --pool fakeddit."
            )
    elif pool is not None or pool_vectors is not None:
        raise ParameterError(
            f"--pool and --pool-vectors are for {' and '.join(pooled)}."
        )
    if events is not None and "newsroom" not in (data, pool):
        raise ParameterError(f"--events is for a newsroom, not for --data {data}.")
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out: expected a folder, found a file: {out}.")
    table, record = out / "pairs.csv", out / "record.json"
    for path in (table, record):
        check_overwrite(path, force)

    encode = any(make.uses_vectors for make in makers.values())
    world = {"events": events or 200, "seed": seed, "preset": "visualnews"}
    truths = _open(data, vectors, world, encode)
    _check_entities(parsed, data, truths.pairs)
    if encode and truths.images is None and truths.texts is None:
        raise _no_vectors(f"{name} needs vectors", data, "--vectors")
    tables, files = {"pairs": _labelled(truths.pairs, True)}, dict(truths.files)
    pool_options: dict[str, Any] = {}
    if pool is not None:
        world_of_pool = world | {"seed": seed + 1, "preset": "fakeddit"}
        posts = _open(pool, pool_vectors, world_of_pool, encode)
        if posts.texts is None:
            what = "CHASMA needs vectors of the pool's captions"
            raise _no_vectors(what, pool, "--pool-vectors")
        tables["pool"] = _labelled(posts.pairs, False)
        files |= posts.files
    dealt = _deal(tables, seed)
    pairs = tables["pairs"]
    if pool is not None:
        pool_options = {"pool": tables["pool"], "pool_texts": posts.texts}

    search = _Search(out, faiss, long=len(pairs) >= _LONG)
    made, about_makers = [], {}
    for key in names:
        make, extra = makers[key], dict(parsed[key])
        if make.uses_pool:
            extra |= pool_options
        if make.uses_vectors:
            extra["search"] = search
        rng = np.random.default_rng([seed, list(MAKERS).index(key)])
        made.append(make(pairs, truths.images, truths.texts, rng=rng, **extra))
        about_makers[key] = {
            "parameters": _as_record(key, parsed[key], options or {}),
            "made share": made_share(pairs, made[-1]),
        }
        if make.uses_pool:
            use = pool_use(made[-1], tables["pool"])
            about_makers[key]["pool"] = {
                "retained share": use.retained,
                "distinct donors": len(use.counts),
                "most used donor": int(use.counts.max()),
            }
    whole = made[0]
    if len(made) > 1:
        rng = np.random.default_rng([seed, len(MAKERS)])
        whole = aggregate(*made, rng=rng)
    _check_captions(whole)

    if data == "newsroom":
        datasets.load("newsroom", **world, image_dir=out / "images", encoder=None)
        whole["image_path"] = "images/" + whole["image_id"] + ".png"
    elif data not in datasets.names():
        move = partial(_relative_to, out, Path(data).parent)
        whole["image_path"] = whole["image_path"].map(move)
    write_csv(table, whole)
    given = truths.texts or truths.images
    content = {
        "method": " + ".join(names),
        "seed": seed,
        "data": data,
        **({} if pool is None else {"pool": pool}),
        **({"events": world["events"]} if "newsroom" in (data, pool) else {}),
        "encoder": None if given is None else given.encoder,
        **search.as_record(),
        "splits dealt": dealt,
        "makers": about_makers,
        "counts": _counts(whole),
        "files": dict(sorted(files.items())),
        "results": {table.name: sha256(table)},
        **(about or {}),
    }
    write_json(record, content)
    shutil.rmtree(out / "blocks", ignore_errors=True)
    captions = pd.concat(list(tables.values()))["text_id"]
    new = whole.loc[~whole["text_id"].isin(captions), "text_id"].nunique()
    return _report(content, table, len(pairs), new)


class _Search:
    """The search that makers use; of an approximate one, the recall is measured."""

    def __init__(self, out: Path, faiss: bool, *, long: bool) -> None:
        self._recalls: list[float] = []
        self._faiss = FaissSearch(out / "index") if faiss else None
        self._exact: Callable[..., Neighbours] = nearest
        if long:
            self._exact = partial(
                nearest, directory=out / "blocks", progress="neighbours"
            )

    def __call__(self, *vectors: Any, **options: Any) -> Neighbours:
        if self._faiss is None:
            return self._exact(*vectors, **options)
        self._recalls.append(self._faiss.recall(*vectors, **options))
        return self._faiss(*vectors, **options)

    def as_record(self) -> dict[str, Any]:
        if not self._recalls:
            return {}
        return {"search": {"index": "FAISS", "recall": min(self._recalls)}}


class _Given(NamedTuple):
    """A data set or a CSV, with vectors and the digests of its files."""

    pairs: pd.DataFrame
    images: Embeddings | None
    texts: Embeddings | None
    files: dict[str, str]


def _open(
    name: str, vectors: Path | None, world: Mapping[str, Any], encode: bool
) -> _Given:
    if name in datasets.names():
        options: dict[str, Any] = {}
        if name == "newsroom":
            encoder = "newsroom" if encode and vectors is None else None
            options = {**world, "encoder": encoder}
        data = datasets.load(name, **options)
        given = _Given(data.pairs, data.images, data.texts, dict(data.files))
    elif Path(name).exists():
        rows = read_table(name)
        pairs = validate(
            rows, where=name, extra=[str(column) for column in rows.columns]
        )
        given = _Given(pairs, None, None, {name: sha256(name)})
    else:
        raise MissingDataError(
            f"no data set {name!r}, and no such file. Data sets:"
            f" {', '.join(datasets.names())}; or give a CSV of pairs."
        )
    if vectors is None:
        return given
    images, texts = vectors / "images.safetensors", vectors / "texts.safetensors"
    files = {str(path): sha256(path) for path in (images, texts) if path.is_file()}
    if not files:
        raise MissingDataError(
            f"{vectors} contains neither {images.name} nor {texts.name}. `verite"
            " encode` writes them."
        )
    return _Given(
        given.pairs,
        Embeddings.load(images) if images.is_file() else None,
        Embeddings.load(texts) if texts.is_file() else None,
        given.files | files,
    )


def _labelled(pairs: pd.DataFrame, true: bool) -> pd.DataFrame:
    """Truthful or misleading rows; all if there are none: makers say what is wrong."""
    rows = pairs[(pairs["label"] == TRUE) == true].reset_index(drop=True)
    return pairs if rows.empty else rows


def _deal(tables: dict[str, pd.DataFrame], seed: int) -> list[str]:
    """Split the tables that have no split, in place, and return their names.

    They are split together, so that what is one group in both is on one side.
    """
    dealt = [name for name, rows in tables.items() if (rows["split"] == "").all()]
    if dealt:
        both = pd.concat({name: tables[name] for name in dealt})
        split = grouped_split(both, SHARES, seed)["split"]
        for name in dealt:
            tables[name] = tables[name].assign(split=split[name].to_numpy())
    return dealt


def _check_entities(
    parsed: Mapping[str, Mapping[str, Any]], data: str, pairs: pd.DataFrame
) -> None:
    for name, values in parsed.items():
        source = values.get("entities", "entities")
        named = "entities" in parameters_of(name) and isinstance(source, str)
        if named and source not in pairs.columns:
            raise ParameterError(
                f"{name} swaps entities, and {data} has no column {source!r} that lists"
                " them. Name another with -p entities COLUMN, or let spaCy find them"
                " with -p entities spacy."
            )


def _check_captions(made: pd.DataFrame) -> None:
    """Refuse a ``text_id`` of the pool that is another caption among the pairs."""
    distinct = made[["text_id", "caption"]].drop_duplicates()
    repeated = distinct.loc[distinct["text_id"].duplicated(), "text_id"]
    if len(repeated):
        raise DataError(
            f"text_id {name_some(repeated.unique())} is one caption among the pairs and"
            " another in the pool. Give the two tables different ids, and encode again."
        )


def _no_vectors(what: str, name: str, option: str) -> MissingDataError:
    first, table = "Encode", shlex.quote(name)
    if name in datasets.names():
        first, table = f"Run `verite data pairs {name} pairs.csv`, encode", "pairs.csv"
    return MissingDataError(
        f"{what}, and {name} has none. {first} them with `verite encode {table}`, and"
        f" name the folder it wrote with {option}."
    )


def _counts(made: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Pairs by split and label, without zeros."""
    counts = made.groupby(["split", "label"]).size()
    return {
        split: {
            label: int(counts[split, label])
            for label in LABELS
            if (split, label) in counts
        }
        for split in (*SPLITS, "")
        if split in counts
    }


def _relative_to(out: Path, folder: Path, path: str) -> str:
    """Path of an image from the folder of the new table, as ``verite encode`` needs."""
    if not path or "://" in path or Path(path).is_absolute():
        return path
    target = os.path.realpath(folder / path)
    return Path(os.path.relpath(target, os.path.realpath(out))).as_posix()


def _as_record(
    name: str, parsed: Mapping[str, Any], given: Mapping[str, str]
) -> dict[str, Any]:
    """All parameters of a maker as JSON can hold them: functions as they were given."""
    values = {key: p.default for key, p in parameters_of(name).items()} | {**parsed}
    return {
        key: given[key] if callable(value) else value for key, value in values.items()
    }


def _report(record: Mapping[str, Any], table: Path, truths: int, new: int) -> list[str]:
    """Lines for the command line."""
    data, makers, encoder = record["data"], record["makers"], record["encoder"]
    lines = [("made", f"{record['method']} from {truths:,} truthful pairs of {data}")]
    if dealt := record["splits dealt"]:
        shares = ", ".join(f"{share:.0%} {split}" for split, share in SHARES.items())
        names = " and ".join(dealt)
        lines.append(("split", f"{names} had none; whole groups were dealt: {shares}"))
    for name, about in makers.items():
        share = f"{about['made share']:.1%} of the truthful pairs"
        lines.append((name, f"a misleading partner for {share}"))
        if use := about.get("pool"):
            donors = f"{use['distinct donors']:,} captions, {use['retained share']:.1%}"
            most = f"the most used in {use['most used donor']:,} pair(s)"
            lines.append(("", f"{donors} of the pool; {most}"))
    if search := record.get("search"):
        recall = f"finds {search['recall']:.1%} of the nearest or more, on samples"
        lines.append(("search", f"a FAISS index, which {recall}"))
    for split, labels in record["counts"].items():
        counts = ", ".join(f"{count:,} {label}" for label, count in labels.items())
        equal = len(makers) > 1 and split == "train"
        equal_by = ", made equal by dropping pairs at random" if equal else ""
        lines.append((split or "no split", counts + equal_by))
    lines += [("pairs", str(table)), ("record", str(table.with_name("record.json")))]
    model, images = "--encoder ARCHITECTURE --pretrained TAG", ""
    if data == "newsroom":
        model = "--encoder newsroom"
    elif data in datasets.names():
        images = " --images-from FOLDER"
    path, vectors = (shlex.quote(str(p)) for p in (table, table.with_name("vectors")))
    what = f"{new:,} new captions have no vectors yet. " if new else ""
    command = f"verite encode {path} {model}{images} --out {vectors}"
    lines.append(("encode", f"{what}Write: {command}"))
    if encoder is not None and data != "newsroom":
        lines.append(("", f"with the model of the given vectors: {encoder}"))
    return [f"{label + ':' if label else '':13}{text}" for label, text in lines]
