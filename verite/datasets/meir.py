"""MEIR: Flickr photos with captions in which named entities were swapped."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from verite.dataset import Card, DataFile, Dataset
from verite.datasets.reading import Reader, first_of, read_json
from verite.errors import DataError, name_some
from verite.files import read_text
from verite.pairs import MISCAPTIONED, TRUE, merge_groups, validate

__all__ = ["CARD", "load", "needs"]

_ADVICE = "Use the publisher's files, of one release."
_REFERENCE = "meir/reference_dataset.json"
_MANIPULATED = "meir/manipulated_dataset.json"
_LOG = "meir/manipulation_log.json"
_LISTS = {
    split: f"meir/manipulated_{part}_id.txt"
    for split, part in (("train", "train"), ("validation", "dev"), ("test", "test"))
}
_URL = (
    "https://raw.githubusercontent.com/Ekraam/MEIR"
    "/ae470ec4bccb8843668b17a1b45799d5cead7ae7/dataset"
)
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
    files=(
        *(DataFile(path) for path in (_REFERENCE, _MANIPULATED, _LOG)),
        *(
            DataFile(path, f"{_URL}/{PurePosixPath(path).name}")
            for path in _LISTS.values()
        ),
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

    Packages of one cluster, or with one caption (except for case), are one group. A
    group is named after its part (a split, or the reference), and ``leaks`` is True for
    rows whose group is in another part too.

    Parameters
    ----------
    reference
        False leaves the reference packages out.

    Raises
    ------
    MissingDataError
        A file does not exist.
    DataError
        A file does not have the publisher's format, photos are duplicate, or a package
        has no split or no entry in the log.
    """
    files = needs(reference)
    reader = Reader(CARD)
    path = {name: reader.path(name) for name in files}
    table = _packages(path[_MANIPULATED])
    table = table.join(_log(path[_LOG]), on=["cluster", "file"])
    splits = _splits({split: path[name] for split, name in _LISTS.items()})
    table["split"] = table["file"].map(splits)
    for column, missing in (
        ("label", f"has no entry in {_LOG}"),
        ("split", "is in none of manipulated_{train,dev,test}_id.txt"),
    ):
        bare = table.loc[table[column].isna(), "file"]
        if len(bare):
            raise DataError(
                f"{path[_MANIPULATED]}: {name_some(bare)} {missing}. {_ADVICE}"
            )
    if unknown := sorted(set(splits) - set(table["file"])):
        raise DataError(
            f"meir: {name_some(unknown)} of the lists of ids is no package of"
            f" manipulated_dataset.json. {_ADVICE}"
        )
    if reference:
        true = _packages(path[_REFERENCE]).assign(
            label=TRUE, split="", method="", donor_id="", swapped="[]", manipulation=""
        )
        table = pd.concat([true, table], ignore_index=True)
    duplicates = table.loc[table["file"].duplicated(), "file"]
    if len(duplicates):
        raise DataError(f"meir: duplicate photos: {name_some(duplicates)}. {_ADVICE}")
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


def _packages(path: Path) -> pd.DataFrame:
    rows = []
    for cluster, file, package in _entries(path):
        lines = package[0] if isinstance(package, list) and package else None
        if not isinstance(lines, list) or {*map(type, lines)} - {str}:
            raise DataError(
                f"{path}, {file}: expected a list of texts first, the caption, found"
                f" {lines!r}. {_ADVICE}"
            )
        rows.append((cluster, file, " ".join(lines)))
    return pd.DataFrame(rows, columns=["cluster", "file", "caption"], dtype="str")


def _log(path: Path) -> pd.DataFrame:
    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for cluster, file, entry in _entries(path):
        try:
            if entry["manipulated"] is False:
                rows[cluster, file] = (TRUE, "", "", "[]", "")
                continue
            kind = entry["manipulation_type"]
            swaps = [
                [old, new, _TYPES.get(kind, kind)]
                for old, new in entry["manipulation_mapping"]
            ]
            donor = _stem(entry["manipulation_source_file"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{path}, {file}: expected manipulated (true or false),"
                " manipulation_source_file, manipulation_type and"
                f" manipulation_mapping ([old, new]), found {entry!r}. {_ADVICE}"
            ) from error
        swapped = json.dumps(swaps, ensure_ascii=False)
        rows[cluster, file] = (MISCAPTIONED, "MEIR", donor, swapped, kind)
    index = pd.MultiIndex.from_tuples(list(rows), names=["cluster", "file"])
    return pd.DataFrame(
        list(rows.values()),
        index=index,
        columns=["label", "method", "donor_id", "swapped", "manipulation"],
    )


def _entries(path: Path) -> list[tuple[str, str, Any]]:
    """Cluster, file and entry of each package in ``{cluster: {file: entry}}``."""
    content = read_json(path)
    if (
        not isinstance(content, dict)
        or not content
        or not all(isinstance(files, dict) for files in content.values())
    ):
        raise DataError(
            f"{path}: expected clusters, each an object of files. {_ADVICE}"
        )
    return [
        (cluster, file, entry)
        for cluster, files in content.items()
        for file, entry in files.items()
    ]


def _splits(paths: dict[str, Path]) -> dict[str, str]:
    """Split of each file that the lists name."""
    splits: dict[str, str] = {}
    for split, path in paths.items():
        for line in read_text(path).splitlines():
            file = line.strip()
            if file in splits:
                raise DataError(
                    f"{path}: {file!r} is already in {splits[file]}. {_ADVICE}"
                )
            if file:
                splits[file] = split
    return splits


def _stem(file: str) -> str:
    return PurePosixPath(file).stem
