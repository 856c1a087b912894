"""What ``verite synth`` does.

Truthful pairs, by name or as a CSV, to a table with misleading ones and a record of
how.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from verite import datasets
from verite.embeddings import Embeddings
from verite.errors import DataError, MissingDataError, ParameterError, name_some
from verite.files import sha256, write_csv, write_json
from verite.pairs import LABELS, SPLITS, TRUE, grouped_split, validate
from verite.search import Neighbours, nearest
from verite.search.approximate import FaissSearch
from verite.synthesis import MAKERS, aggregate, made_share, maker_named, pool_use
from verite.synthesis.chasma import chasma
from verite.synthesis.entities import Source
from verite.synthesis.out_of_context import cst, nc_t2t, rst
from verite.tables import read_table

__all__ = ["SHARES", "parse_options", "synthesise"]

SHARES: Mapping[str, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}
"""How groups are dealt where a table has no split."""

_LONG = 20_000  # truthful pairs: from here on a search is worth keeping
_BLOCKS = "blocks"
_MISMATCHERS = [name for name, maker in MAKERS.items() if maker in (rst, cst, nc_t2t)]
_POOLED = [name for name in MAKERS if name.startswith("CHASMA")]


class _Search:
    """What makers search with, and what the approximate one was measured to find."""

    def __init__(self, out: Path, faiss: bool, *, long: bool) -> None:
        self.recalls: list[float] = []
        self._faiss = FaissSearch(out / "index") if faiss else None
        self._exact = (
            partial(nearest, directory=out / _BLOCKS, progress="neighbours")
            if long
            else nearest
        )

    def __call__(self, *vectors: Any, **options: Any) -> Neighbours:
        if self._faiss is None:
            return self._exact(*vectors, **options)
        found = self._faiss(*vectors, **options)
        self.recalls.append(self._faiss.recall(*vectors, **options))
        return found


class _Given(NamedTuple):
    """A table that was asked for, and what came with it."""

    pairs: pd.DataFrame
    images: Embeddings | None
    texts: Embeddings | None
    files: dict[str, str]


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
    """Make misleading pairs by name, and write ``pairs.csv`` and ``record.json`` into
    ``out``.

    Pairs and pool that have no split are dealt by :data:`SHARES` first, groups whole,
    so that no donor crosses splits. Each maker has a random generator of its own, so
    that it makes the same pairs alone and in an aggregate.

    Parameters
    ----------
    name
        A maker, or several joined by ``" + "``: one that makes out-of-context pairs,
        the others miscaptioned ones.
    data, pool
        A data set's name or the path of a CSV. The newsroom is of the preset
        ``visualnews``; as a pool, which only CHASMA takes, of the preset ``fakeddit``
        and the next seed. It is the pool of the newsroom if none is named.
    vectors, pool_vectors
        Folders that ``verite encode`` wrote for them. The newsroom brings vectors of
        its own.
    options
        Parameters of the makers, as text; each goes to all makers that have it.
    events
        Size of a newsroom; 200 if None.
    faiss
        Search for neighbours in an index of FAISS on the disk, below ``out``, for pools
        past memory. What it finds of the true neighbours is measured on a sample and
        told. Without it the search is exact; where it is long, it shows its progress,
        and goes on where it was if it is stopped.
    force
        Replace a table that is there.
    about
        What else to keep in the record, such as versions.

    Returns
    -------
    list of str
        Lines that say what was made and where it lies.

    Raises
    ------
    ParameterError
        A maker, a data set or an option is unknown, or does not fit the others.
    MissingDataError
        A file is not there, or vectors are needed and there are none.
    DataError
        What :func:`verite.pairs.validate` or a maker refuses.
    """
    names = _maker_names(name)
    parsed = parse_options(names, options or {})
    table, record = out / "pairs.csv", out / "record.json"
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out: expected a folder, found a file: {out}.")
    if not force and (
        there := next((path for path in (table, record) if path.exists()), None)
    ):
        raise ParameterError(
            f"{there} is there. Choose another folder, or replace it with --force."
        )
    pool = _pool_named(names, data, pool, pool_vectors)
    if events is not None and "newsroom" not in (data, pool):
        raise ParameterError(
            f"--events is the size of a newsroom, and --data is {data}. Leave it out."
        )

    world = {
        "events": 200 if events is None else events,
        "seed": seed,
        "preset": "visualnews",
    }
    encode = any(_looks_at_vectors(each) for each in names)
    truths = _open(data, vectors, world, encode)
    _check_entities(parsed, data, truths.pairs.columns)
    if encode and truths.images is None and truths.texts is None:
        raise MissingDataError(
            f"{name} needs vectors, and {data} brings none."
            f" {_how_to_encode(data, '--vectors')}"
        )
    files, tables, pool_texts = (
        dict(truths.files),
        {"pairs": _labelled(truths.pairs, True)},
        None,
    )
    if pool is not None:
        posts = _open(
            pool,
            pool_vectors,
            {**world, "seed": seed + 1, "preset": "fakeddit"},
            encode,
        )
        if posts.texts is None:
            how = _how_to_encode(pool, "--pool-vectors")
            raise MissingDataError(
                f"CHASMA needs vectors of the pool's captions, and {pool} brings none."
                f" {how}"
            )
        files |= posts.files
        tables["pool"], pool_texts = _labelled(posts.pairs, False), posts.texts
    dealt = _deal(tables, seed)
    pairs = tables["pairs"]
    told: dict[str, Any] = (
        {} if pool is None else {"pool": tables["pool"], "pool_texts": pool_texts}
    )
    search = _Search(out, faiss, long=len(pairs) >= _LONG)

    made, makers = [], {}
    for each in names:
        rng = np.random.default_rng([seed, list(MAKERS).index(each)])
        more = {
            **parsed[each],
            **(told if each in _POOLED else {}),
            **({"search": search} if _looks_at_vectors(each) else {}),
        }
        one = maker_named(each)(pairs, truths.images, truths.texts, rng=rng, **more)
        made.append(one)
        makers[each] = {
            "parameters": _shown(each, parsed[each], options or {}),
            "made share": made_share(pairs, one),
        }
        if each in _POOLED:
            use = pool_use(one, told["pool"])
            makers[each]["pool"] = {
                "retained share": use.retained,
                "distinct donors": len(use.counts),
                "most used donor": int(use.counts.max()),
            }
    whole = (
        made[0]
        if len(made) == 1
        else aggregate(*made, rng=np.random.default_rng([seed, len(MAKERS)]))
    )
    _check_captions(whole)

    if data == "newsroom":
        datasets.load("newsroom", **world, image_dir=out / "images", encoder=None)
        whole["image_path"] = [
            f"images/{image_id}.png" for image_id in whole["image_id"]
        ]
    elif data not in datasets.names():
        whole["image_path"] = [
            _seen_from(out, Path(data).parent, path) for path in whole["image_path"]
        ]
    write_csv(table, whole)
    encoder = next(
        (each.encoder for each in (truths.texts, truths.images) if each is not None),
        None,
    )
    kept = {
        "method": " + ".join(names),
        "seed": seed,
        "data": data,
        **({"pool": pool} if pool is not None else {}),
        **({"events": world["events"]} if "newsroom" in (data, pool) else {}),
        "encoder": encoder,
        **(
            {"search": {"index": "FAISS", "recall": min(search.recalls)}}
            if search.recalls
            else {}
        ),
        "splits dealt": dealt,
        "makers": makers,
        "counts": _counts(whole),
        "files": dict(sorted(files.items())),
        "results": {table.name: sha256(table)},
        **(about or {}),
    }
    write_json(record, kept)
    shutil.rmtree(out / _BLOCKS, ignore_errors=True)
    known = {*pairs["text_id"], *(told["pool"]["text_id"] if told else ())}
    new = whole.loc[~whole["text_id"].isin(known), "text_id"].nunique()
    return _told(kept, table, len(pairs), new, encoder)


def parse_options(
    names: Sequence[str], given: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Turn parameters as a command line gives them into what each maker takes.

    Raises
    ------
    ParameterError
        No maker has such a parameter, or a value does not parse. Ranges are left to the
        makers.

    >>> parse_options(["CSt", "CHASMA"], {"by": "image", "band": "0.2,0.6"})
    {'CSt': {'by': 'image'}, 'CHASMA': {'band': (0.2, 0.6)}}
    """
    known = {name: _parameters(name) for name in names}
    for key in given:
        if not any(key in each for each in known.values()):
            listing = "\n".join(_listing(name, each) for name, each in known.items())
            raise ParameterError(
                f"{' + '.join(names)} has no parameter {key!r}.\n{listing}"
            )
    return {
        name: {
            key: _parse(key, text, each[key])
            for key, text in given.items()
            if key in each
        }
        for name, each in known.items()
    }


def _maker_names(name: str) -> list[str]:
    names = [part.strip() for part in name.split("+")]
    for each in names:
        maker_named(each)
    if len(names) == 1:
        return names
    first = [each for each in names if each in _MISMATCHERS]
    if len(first) != 1 or len(set(names)) != len(names):
        raise ParameterError(
            f"{name}: an aggregate joins one maker of out-of-context pairs"
            f" ({', '.join(_MISMATCHERS)}) and one or more others, each once."
        )
    return [*first, *(each for each in names if each not in first)]


def _pool_named(
    names: Iterable[str], data: str, pool: str | None, pool_vectors: Path | None
) -> str | None:
    if not any(each in _POOLED for each in names):
        if pool is not None or pool_vectors is not None:
            raise ParameterError(
                f"--pool and --pool-vectors are for {' and '.join(_POOLED)}, which take"
                " misleading captions from it."
            )
        return None
    if pool is None and data != "newsroom":
        raise ParameterError(
            "CHASMA takes misleading captions from a pool: name a data set or a CSV"
            " with --pool, such as --pool fakeddit."
        )
    return pool or "newsroom"


def _looks_at_vectors(name: str) -> bool:
    return (
        inspect.signature(maker_named(name)).parameters["texts"].default
        is inspect.Parameter.empty
    )


def _open(
    asked: str, vectors: Path | None, world: Mapping[str, Any], encode: bool
) -> _Given:
    if asked in datasets.names():
        made_up = (
            {**world, "encoder": "newsroom" if encode and vectors is None else None}
            if asked == "newsroom"
            else {}
        )
        loaded = datasets.load(asked, **made_up)
        found = _Given(loaded.pairs, loaded.images, loaded.texts, dict(loaded.files))
    elif Path(asked).exists():
        read = read_table(asked)
        pairs = validate(read, where=asked, extra=[str(name) for name in read.columns])
        found = _Given(pairs, None, None, {asked: sha256(asked)})
    else:
        raise MissingDataError(
            f"no data set is called {asked!r}, and there is no such file. There are:"
            f" {', '.join(datasets.names())}; or give a CSV of pairs."
        )
    if vectors is None:
        return found
    paths = [vectors / f"{kind}.safetensors" for kind in ("images", "texts")]
    if not any(path.is_file() for path in paths):
        raise MissingDataError(
            f"{vectors} holds neither images.safetensors nor texts.safetensors. `verite"
            " encode` writes them."
        )
    images, texts = (
        Embeddings.load(path) if path.is_file() else None for path in paths
    )
    return found._replace(
        images=images,
        texts=texts,
        files=found.files
        | {str(path): sha256(path) for path in paths if path.is_file()},
    )


def _labelled(pairs: pd.DataFrame, true: bool) -> pd.DataFrame:
    """Truthful or misleading rows, of which alone splits are to be made.

    All, if there are none: makers say what is wrong.
    """
    rows = pairs[(pairs["label"] == TRUE) == true].reset_index(drop=True)
    return pairs if rows.empty else rows


def _deal(tables: dict[str, pd.DataFrame], seed: int) -> list[str]:
    """Deal the tables that have no split, and name them.

    Together, so that what is one group in both falls on one side.
    """
    dealt = [name for name, rows in tables.items() if (rows["split"] == "").all()]
    if dealt:
        split = grouped_split(
            pd.concat({name: tables[name] for name in dealt}), SHARES, seed
        )["split"]
        tables |= {
            name: tables[name].assign(split=split[name].to_numpy()) for name in dealt
        }
    return dealt


def _check_entities(
    parsed: Mapping[str, Mapping[str, Any]], data: str, columns: Iterable[str]
) -> None:
    for name, values in parsed.items():
        source = values.get("entities", "entities")
        if (
            "entities" in _parameters(name)
            and isinstance(source, str)
            and source not in columns
        ):
            raise ParameterError(
                f"{name} swaps entities, and {data} has no column {source!r} that lists"
                " them. Name another with -p entities COLUMN, or let spaCy find them"
                " with -p entities spacy."
            )


def _check_captions(made: pd.DataFrame) -> None:
    """A ``text_id`` of the pool may be one of the pairs', for tables that count from
    one; vectors would be mixed up.
    """
    distinct = made[["text_id", "caption"]].drop_duplicates()
    twice = distinct.loc[distinct["text_id"].duplicated(), "text_id"]
    if len(twice):
        raise DataError(
            f"text_id {name_some(twice.unique())} stands for one caption among the"
            " pairs and for another in the pool. Give ids that tell the two tables"
            " apart, and encode that table again."
        )


def _counts(made: pd.DataFrame) -> dict[str, dict[str, int]]:
    sides = {
        split: made.loc[made["split"] == split, "label"] for split in (*SPLITS, "")
    }
    return {
        split: {
            label: int((labels == label).sum())
            for label in LABELS
            if (labels == label).any()
        }
        for split, labels in sides.items()
        if len(labels)
    }


def _seen_from(out: Path, folder: Path, path: str) -> str:
    """Path of an image as ``verite encode`` will look for it.

    From the folder of the new table.
    """
    if not path or "://" in path or Path(path).is_absolute():
        return path
    return Path(
        os.path.relpath(os.path.realpath(folder / path), os.path.realpath(out))
    ).as_posix()


def _how_to_encode(asked: str, option: str) -> str:
    written = (
        f"Write its pairs with `verite data pairs {asked} pairs.csv`, encode"
        if asked in datasets.names()
        else "Encode"
    )
    table = "pairs.csv" if asked in datasets.names() else shlex.quote(asked)
    return (
        f"{written} them with `verite encode {table}`, and name the folder it wrote"
        f" with {option}."
    )


def _told(
    record: Mapping[str, Any], table: Path, truths: int, new: int, encoder: str | None
) -> list[str]:
    """Lines for the command line, from what the record holds."""
    data, makers = record["data"], record["makers"]
    lines = [("made", f"{record['method']} from {truths:,} truthful pairs of {data}")]
    if record["splits dealt"]:
        shares = ", ".join(f"{share:.0%} {split}" for split, share in SHARES.items())
        lines.append(
            (
                "split",
                (
                    f"{' and '.join(record['splits dealt'])} had none; whole groups"
                    f" were dealt: {shares}"
                ),
            )
        )
    for each, one in makers.items():
        lines.append(
            (
                each,
                (
                    f"a misleading partner for {one['made share']:.1%} of the truthful"
                    " pairs"
                ),
            )
        )
        if use := one.get("pool"):
            donors = (
                f"{use['distinct donors']:,} captions, {use['retained share']:.1%} of"
                " the pool"
            )
            lines.append(
                ("", f"{donors}; the most used in {use['most used donor']:,} pair(s)")
            )
    if search := record.get("search"):
        lines.append(
            (
                "search",
                (
                    f"an index of FAISS, which finds {search['recall']:.1%} of the"
                    " nearest or more, on samples"
                ),
            )
        )
    for split, labels in record["counts"].items():
        equal = (
            ", made equal by dropping pairs at random"
            if len(makers) > 1 and split == "train"
            else ""
        )
        lines.append(
            (
                split or "no split",
                ", ".join(f"{count:,} {label}" for label, count in labels.items())
                + equal,
            )
        )
    lines += [("pairs", str(table)), ("record", str(table.with_name("record.json")))]
    model = (
        "--encoder newsroom"
        if data == "newsroom"
        else "--encoder ARCHITECTURE --pretrained TAG"
    )
    images = (
        " --images-from FOLDER"
        if data in datasets.names() and data != "newsroom"
        else ""
    )
    command = (
        f"verite encode {shlex.quote(str(table))} {model}{images} --out"
        f" {shlex.quote(str(table.with_name('vectors')))}"
    )
    what = f"{new:,} new captions have no vectors yet. " if new else ""
    lines.append(("encode", f"{what}Write: {command}"))
    if encoder is not None and data != "newsroom":
        lines.append(("", f"with the model of the vectors that were given: {encoder}"))
    return [f"{label + ':' if label else '':13}{text}" for label, text in lines]


def _parameters(name: str) -> dict[str, inspect.Parameter]:
    """Those that can be given as text."""
    maker = (
        chasma if name in _POOLED else maker_named(name)
    )  # CHASMA-D passes its options on
    found = inspect.signature(maker, eval_str=True).parameters
    return {
        key: one
        for key, one in found.items()
        if one.annotation in _KINDS and one.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _listing(name: str, known: Mapping[str, inspect.Parameter]) -> str:
    listed = (
        f"  {key} = {one.default!r}   {_KINDS[one.annotation][0]}"
        for key, one in known.items()
    )
    return f"{name} has:\n" + ("\n".join(listed) or "  (none)")


def _parse(key: str, text: str, parameter: inspect.Parameter) -> Any:
    wanted, parse = _KINDS[parameter.annotation]
    try:
        return parse(text)
    except (ValueError, re.error) as error:
        raise ParameterError(
            f"parameter {key}: expected {wanted}, found {text!r}."
        ) from error


def _shown(
    name: str, parsed: Mapping[str, Any], given: Mapping[str, str]
) -> dict[str, Any]:
    """All parameters as a record can hold them."""
    values = {
        key: parsed.get(key, one.default) for key, one in _parameters(name).items()
    }
    return {
        key: given[key] if callable(value) else value for key, value in values.items()
    }


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _two(text: str) -> tuple[float, float]:
    low, high = map(_number, text.split(","))
    return low, high


def _entities(text: str) -> Source:
    """The column of that name; ``spacy`` or ``spacy:MODEL`` asks a model of spaCy's."""
    kind, _, model = text.partition(":")
    if kind != "spacy":
        return text
    from verite.synthesis.spacy_entities import spacy_entities

    return spacy_entities(model) if model else spacy_entities()


def _pattern(text: str) -> Callable[[str], bool]:
    found = re.compile(text, re.IGNORECASE)
    return lambda caption: found.search(caption) is not None


_KINDS: Mapping[Any, tuple[str, Callable[[str], Any]]] = {
    str: ("a word", str),
    int: ("a whole number", int),
    float: ("a number", _number),
    float | None: ("a number", _number),
    tuple[float, float] | None: ("two numbers such as 0.2,0.6", _two),
    Sequence[str]: (
        "words such as PERSON,GPE",
        lambda text: [word.strip() for word in text.split(",")],
    ),
    Source: ("a column, or spacy, or spacy:MODEL", _entities),
    Callable[[str], bool] | None: ("a regular expression", _pattern),
}
"""How parameters are told apart.

By their annotation. What has another one, such as ``search``, is for callers in Python.
"""
