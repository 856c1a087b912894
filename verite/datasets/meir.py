"""MEIR: Flickr photos with captions in which places, people or organisations were
swapped.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from verite.dataset import Card, Dataset
from verite.datasets.home import Reader, first_of, read_json
from verite.errors import DataError, name_some
from verite.files import read_text
from verite.pairs import MISCAPTIONED, TRUE, merge_groups, validate

__all__ = ["CARD", "load", "needs"]

_REFERENCE = "meir/reference_dataset.json"
_MANIPULATED = "meir/manipulated_dataset.json"
_LOG = "meir/manipulation_log.json"
_LISTS = {
    split: f"meir/manipulated_{part}_id.txt"
    for split, part in (("train", "train"), ("validation", "dev"), ("test", "test"))
}
_TYPES = {"LOCATION": "GPE", "PERSON": "PERSON", "ORGANIZATION": "ORG"}

CARD = Card(
    name="meir",
    title="MEIR: Multimodal Entity Image Repurposing",
    source="https://github.com/Ekraam/MEIR",
    licence=(
        "none stated; photos and captions under the Creative Commons licences of their"
        " authors on Flickr"
    ),
    citation="sabir2018meir",
    expected={"train/true": 82_156, "train/miscaptioned": 57_940},
    not_public=(
        "The packages: the repository describes reference_dataset.json,"
        " manipulated_dataset.json and manipulation_log.json and holds only the lists"
        " of ids and the photos' addresses; see its README, or ask the authors. Links"
        " to some photos are dead."
    ),
    notes=(
        "Packages of manipulated_dataset.json are manipulated or not: those that the"
        " log calls unmanipulated are true pairs here. Each cluster of photos of one"
        " place has reference packages beside those to be judged."
    ),
)


def needs(reference: bool = True) -> tuple[str, ...]:
    """Files that :func:`load` reads with these options, below the data folder.

    >>> len(needs()), len(needs(reference=False))
    (6, 5)
    """
    return (*((_REFERENCE,) if reference else ()), _MANIPULATED, _LOG, *_LISTS.values())


def load(reference: bool = True) -> Dataset:
    """Load MEIR with the publisher's splits (paper, sections 2.2 and 4.1).

    A package is a pair of a photo and its caption, named after the photo's file; a
    manipulated one is ``miscaptioned``. ``donor_id`` is the package that new entities
    are from, ``swapped`` a JSON list of [old, new, type] and ``manipulation`` the
    publisher's kind. Reference packages are true and have no split: the publisher's
    detectors compare with them.

    Packages of one cluster, or with one caption (but for case), are one group. A group
    is named after its part, and ``leaks`` is True for each row whose group stands in
    another part too; reference packages are a part.

    Parameters
    ----------
    reference
        False leaves the reference packages out.

    Raises
    ------
    MissingDataError
        A file is not there.
    DataError
        A file does not have the publisher's format, a photo stands twice, or a package
        has no split or no entry in the log.
    """
    files = needs(reference)
    reader = Reader(CARD)
    path = {name: reader.path(name) for name in files}
    table = _packages(path[_MANIPULATED], read_json(path[_MANIPULATED]))
    table = table.join(_log(path[_LOG], read_json(path[_LOG])), on=["cluster", "file"])
    table["split"] = table["file"].map(
        _splits({split: path[name] for split, name in _LISTS.items()}, table["file"])
    )
    for column, lacking, name in (
        ("label", "entry", _LOG),
        ("split", "line", "meir/manipulated_{train,dev,test}_id.txt"),
    ):
        bare = table.loc[table[column].isna(), "file"]
        if len(bare):
            raise DataError(
                f"{path[_MANIPULATED]}: {name_some(bare)} has no {lacking} in {name}."
                " Use files of one release."
            )
    if reference:
        kept = _packages(path[_REFERENCE], read_json(path[_REFERENCE]))
        table = pd.concat(
            [
                kept.assign(
                    label=TRUE,
                    split="",
                    method="",
                    donor_id="",
                    swapped="[]",
                    manipulation="",
                ),
                table,
            ],
            ignore_index=True,
        )
    twice = table.loc[table["file"].duplicated(), "file"]
    if len(twice):
        raise DataError(
            f"meir: each photo must stand once, found {name_some(twice)} several times."
            " Use the publisher's own files."
        )
    pair_id = table["file"].map(_stem)
    part = table["split"].where(table["split"] != "", "reference")
    group = pd.Series(merge_groups(table["cluster"], table["caption"].str.casefold()))
    pairs = pd.DataFrame(
        {
            "pair_id": pair_id,
            "image_id": pair_id,
            "text_id": first_of(pair_id, table["caption"]),
            "caption": table["caption"],
            "image_path": table["file"],
            "label": table["label"],
            "group": part + ":" + group,
            "split": table["split"],
            "dataset": "meir",
            "method": table["method"],
            "donor_id": table["donor_id"],
            "swapped": table["swapped"],
            "manipulation": table["manipulation"],
            "leaks": part.groupby(group).transform("nunique") > 1,
        }
    )
    return Dataset(
        "meir",
        validate(pairs, where="meir", extra=("swapped", "manipulation", "leaks")),
        CARD,
        files=reader.digests,
    )


def _entries(path: Path, read: Any, kind: type) -> list[tuple[str, str, Any]]:
    """Cluster, file and entry of each package in ``{cluster: {file: entry}}``."""
    if not isinstance(read, dict) or not all(
        isinstance(files, dict) for files in read.values()
    ):
        raise DataError(
            f"{path}: expected a JSON object of clusters, each an object of files. Use"
            " the publisher's own file."
        )
    entries = [
        (cluster, file, entry)
        for cluster, files in read.items()
        for file, entry in files.items()
    ]
    wrong = [(file, entry) for _, file, entry in entries if not isinstance(entry, kind)]
    if wrong or not entries:
        found = f"{wrong[0][1]!r} for {wrong[0][0]}" if wrong else "no package"
        raise DataError(
            f"{path}: expected a {kind.__name__} for each package, found {found}. Use"
            " the publisher's own file."
        )
    return entries


def _packages(path: Path, read: Any) -> pd.DataFrame:
    rows = []
    for cluster, file, package in _entries(path, read, list):
        lines = package[0] if package else None
        if not isinstance(lines, list) or not all(
            isinstance(line, str) for line in lines
        ):
            raise DataError(
                f"{path}, {file}: expected a list of texts first, the caption, found"
                f" {lines!r}. Use the publisher's own file."
            )
        rows.append((cluster, file, " ".join(lines)))
    return pd.DataFrame(rows, columns=["cluster", "file", "caption"], dtype="str")


def _log(path: Path, read: Any) -> pd.DataFrame:
    rows = {}
    for cluster, file, entry in _entries(path, read, dict):
        if type(entry.get("manipulated")) is not bool:
            found = entry.get("manipulated")
            raise DataError(
                f"{path}, {file}: expected 'manipulated' as true or false, found"
                f" {found!r}. Use the publisher's own file."
            )
        if not entry["manipulated"]:
            rows[cluster, file] = (TRUE, "", "", "[]", "")
            continue
        source, kind, mapping = (
            entry.get(f"manipulation_{name}")
            for name in ("source_file", "type", "mapping")
        )
        swaps = (
            [
                swap
                for swap in mapping
                if isinstance(swap, list) and [*map(type, swap)] == [str, str]
            ]
            if isinstance(mapping, list)
            else []
        )
        if not isinstance(source, str) or not isinstance(kind, str) or swaps != mapping:
            raise DataError(
                f"{path}, {file}: expected manipulation_source_file and"
                " manipulation_type as text and manipulation_mapping as a list of"
                f" [old, new], found {source!r}, {kind!r} and {mapping!r}. Use the"
                " publisher's own file."
            )
        swapped = json.dumps(
            [[*swap, _TYPES.get(kind, kind)] for swap in swaps], ensure_ascii=False
        )
        rows[cluster, file] = (MISCAPTIONED, "MEIR", _stem(source), swapped, kind)
    index = pd.MultiIndex.from_tuples(list(rows), names=["cluster", "file"])
    return pd.DataFrame(
        list(rows.values()),
        index=index,
        columns=["label", "method", "donor_id", "swapped", "manipulation"],
    )


def _splits(paths: dict[str, Path], files: pd.Series) -> dict[str, str]:
    """Split of each file that the lists name."""
    known = set(files)
    splits: dict[str, str] = {}
    for split, path in paths.items():
        for number, line in enumerate(read_text(path).splitlines(), start=1):
            if not (file := line.strip()):
                continue
            if file in splits or file not in known:
                fault = (
                    f"stands in {splits[file]} already"
                    if file in splits
                    else "is no package of manipulated_dataset.json"
                )
                raise DataError(
                    f"{path}, line {number}: {file!r} {fault}. Use files of one"
                    " release."
                )
            splits[file] = split
    return splits


def _stem(file: str) -> str:
    return PurePosixPath(file).stem
