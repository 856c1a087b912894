"""NewsCLIPpings: captions of VisualNews with a fitting image of another story."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from verite.dataset import Card, DataFile, Dataset
from verite.datasets import visualnews
from verite.datasets.reading import Reader, check_rows, choose, first_of, read_json
from verite.errors import DataError, name_some
from verite.pairs import OUT_OF_CONTEXT, TRUE, merge_groups, validate

__all__ = ["CARD", "SUBSETS", "TYPES", "load", "needs"]

SUBSETS = (
    "merged_balanced",
    "semantics_clip_text_text",
    "semantics_clip_text_image",
    "person_sbert_text_text",
    "scene_resnet_place",
)
"""The publisher's subsets, by what images were found with."""

TYPES = {
    "people": "PERSON",
    "location": "GPE",
    "date": "DATE",
    "event": "EVENT",
    "things": "PRODUCT",
}
"""OntoNotes type for each field of the caption file.

It is coarse: people are also groups, things also works or buildings.
"""

_CAPTIONS = "newsclippings/context_newsclippings_test.json"
_SPLITS = {"train": "train", "val": "validation", "test": "test"}
_EXTRA = ("topic", "source", "method", "donor_id", "similarity")
_KINDS: dict[str, tuple[type, ...]] = {
    "id": (int,),
    "image_id": (int,),
    "falsified": (bool,),
    "similarity_score": (float, int, type(None)),
}
_REMARK = re.compile(r"\([^)]*\)")
_APOSTROPHE = re.compile("['’]")
_PUNCTUATION = re.compile(r"[^\w\s]")
_ARTICLE = re.compile(r"^(?:the|an?) ", re.IGNORECASE)


def _paths(subset: str) -> tuple[str, ...]:
    return tuple(f"newsclippings/data/{subset}/{part}.json" for part in _SPLITS)


CARD = Card(
    name="newsclippings",
    title="NewsCLIPpings: out-of-context pairs from VisualNews",
    source="https://github.com/g-luo/news_clippings",
    licence=(
        "none stated; offered for research, captions and images under the terms of"
        " VisualNews"
    ),
    citation="luo2021newsclippings",
    expected={"train/true": 258_036, "train/out-of-context": 258_036},
    not_public=(
        "Captions and images: they are VisualNews's, which is given on request. The"
        " annotations are public: run the repository's download.sh and put its folder"
        " `data` into `newsclippings`. subset='captions' reads a derived file of the"
        " merged_balanced test pairs with their captions, which needs no VisualNews."
    ),
    notes=(
        "The paper's NC-t2t is subset='semantics_clip_text_text'. Publishers' splits"
        " are kept; the column `leaks` marks rows whose image or caption, or another of"
        " its story, is also in another split."
    ),
    files=(
        *visualnews.CARD.files,
        *(DataFile(path) for subset in SUBSETS for path in _paths(subset)),
        DataFile(_CAPTIONS),
    ),
)


def needs(subset: str = "semantics_clip_text_text") -> tuple[str, ...]:
    """Files that :func:`load` reads with these options, below the data folder.

    >>> needs("captions")
    ('newsclippings/context_newsclippings_test.json',)
    """
    choose("subset", subset, (*SUBSETS, "captions"))
    if subset == "captions":
        return (_CAPTIONS,)
    return (visualnews.FILE, *_paths(subset))


def load(subset: str = "semantics_clip_text_text") -> Dataset:
    """Load a subset (paper, section 4.1), or the test captions with their entities.

    Of a subset, true pairs and ids of images and captions are VisualNews's. An
    out-of-context pair is named after its caption and its image; ``donor_id`` is the
    image's own pair, ``method`` the subset, and ``similarity`` the score by which the
    image was found. Duplicate annotations count once.

    ``"captions"`` reads a file with the test pairs of ``merged_balanced``, two rows
    each. A row holds an image and *its own* caption, so both rows are true; the first
    row's caption with the second row's image is the out-of-context pair. A pair is
    named after the first row that holds it. The column ``entities`` lists [name, type]
    as :mod:`verite.synthesis.entities` reads it, with the types of :data:`TYPES`: names
    with a capital (dates: any) that are in the caption, without remarks in brackets and
    without punctuation, as the captions are; of a list that is not in the caption as a
    whole, the parts between commas that are. ``topic`` is ``"news"`` throughout.

    Pairs that share a caption, an image or a story, directly or through others, are one
    group. Such chains are short among the test captions (at most nine pairs), and may
    be long in a large subset.

    Parameters
    ----------
    subset
        One of :data:`SUBSETS`, or ``"captions"``.

    Raises
    ------
    MissingDataError
        A file does not exist.
    DataError
        The content of a file is not as expected, or an id is not in VisualNews.
    ParameterError
        There is no such subset.
    """
    files = needs(subset)
    reader = Reader(CARD)
    paths = [reader.path(name) for name in files]
    if subset == "captions":
        pairs, extra = _from_captions(paths[0]), (*_EXTRA, "entities")
    else:
        pairs, extra = _from_annotations(subset, *paths), (*_EXTRA, "leaks")
    return Dataset(
        "newsclippings",
        validate(pairs, where=f"newsclippings, {subset}", extra=extra),
        CARD,
        files=reader.digests,
    )


def _from_annotations(subset: str, news_path: Path, *paths: Path) -> pd.DataFrame:
    parts = [
        _read_annotations(path, subset).assign(split=split)
        for path, split in zip(paths, _SPLITS.values(), strict=True)
    ]
    table = pd.concat(parts, ignore_index=True).drop_duplicates(
        ["id", "image_id", "split"], ignore_index=True
    )
    news = visualnews.read_rows(news_path)
    ids = {*table["id"], *table["image_id"]}
    if missing := sorted(ids - {*news["id"]}):
        raise DataError(
            f"{news_path}: no id {name_some(missing)}, which are annotated in {subset}."
            " Use the VisualNews that the annotations are for."
        )
    news = news[news["id"].isin(ids)]
    news = news.assign(
        story=visualnews.story(news), text_id=first_of(news["id"], news["caption"])
    ).set_index("id")
    news["image_id"] = first_of(news.index.to_series(), news["image_path"])
    text, image = (news.loc[table[key]].reset_index() for key in ("id", "image_id"))
    # A story is in several splits if one of its captions or images is.
    stories = pd.concat([text["story"], image["story"]], ignore_index=True)
    splits = pd.concat([table["split"]] * 2, ignore_index=True)
    leaks = splits.groupby(stories).transform("nunique").to_numpy() > 1
    false = table["falsified"]
    return pd.DataFrame(
        {
            "pair_id": text["id"].where(~false, text["id"] + ":" + image["id"]),
            "image_id": image["image_id"],
            "text_id": text["text_id"],
            "caption": text["caption"],
            "image_path": image["image_path"],
            "label": false.map({True: OUT_OF_CONTEXT, False: TRUE}),
            "group": merge_groups(
                *(table["split"] + ":" + part["story"] for part in (text, image))
            ),
            "split": table["split"],
            "dataset": "newsclippings",
            "topic": text["topic"],
            "source": text["source"],
            "method": table["method"].where(false, ""),
            "donor_id": image["id"].where(false, ""),
            "similarity": table["similarity"],
            "leaks": leaks[: len(table)] | leaks[len(table) :],
        }
    )


def _read_annotations(path: Path, subset: str) -> pd.DataFrame:
    """Text ``id`` and ``image_id``, ``falsified``, ``similarity``, ``method``."""
    content = read_json(path)
    content = content if isinstance(content, dict) else {}
    rows: Any = content.get("annotations")
    table = check_rows(path, rows, _KINDS)
    odd = table.index[table["falsified"] == (table["id"] == table["image_id"])]
    if len(odd):
        raise DataError(
            f"{path}: a pair is falsified exactly if its image is another's; not so in"
            f" row {name_some(odd)}. Use the publisher's own file."
        )
    methods: Any = subset
    if (subsets := content.get("source_datasets")) is not None:  # a merged subset
        try:
            methods = [str(subsets[row["source_dataset"]]) for row in rows]
        except (KeyError, IndexError, TypeError) as error:
            raise DataError(
                f"{path}: expected 'source_dataset' of each row to be a place in"
                f" 'source_datasets', found {type(error).__name__}: {error}."
            ) from error
    return pd.DataFrame(
        {
            "id": table["id"].astype("str"),
            "image_id": table["image_id"].astype("str"),
            "falsified": table["falsified"],
            "similarity": table["similarity_score"].astype(float),
            "method": methods,
        }
    )


def _from_captions(path: Path) -> pd.DataFrame:
    rows = read_json(path)
    table = check_rows(path, rows, {"true_caption": (str,), "image_path": (str,)})
    if len(table) % 2:
        raise DataError(f"{path}: expected an even number of rows, two per test pair.")
    captions = table["true_caption"]
    paths = table["image_path"].map(
        lambda name: name.rpartition("origin/")[2].removeprefix("./")
    )
    same = [
        row
        for row in range(0, len(table), 2)
        if captions[row] == captions[row + 1] or paths[row] == paths[row + 1]
    ]
    if same:
        raise DataError(
            f"{path}: expected two rows with different images and captions per pair;"
            f" row {name_some(same)} and the next share one. Fetch the file again."
        )
    number = table.index.astype("str").to_series(index=table.index)
    pair = first_of(number, paths + "\n" + captions)
    true = pd.DataFrame(
        {
            "pair_id": "newsclippings_" + pair,
            "image_id": paths.str.removesuffix(".jpg"),
            "text_id": first_of("text_" + number, captions),
            "caption": captions,
            "image_path": paths,
            "label": TRUE,
            "group": merge_groups(
                "pair_" + number,
                paths,
                captions,
                table.index.to_series().floordiv(2).astype("str"),
            ),
            "split": "test",
            "dataset": "newsclippings",
            "topic": "news",
            "source": paths.str.partition("/")[0],
            "method": "",
            "donor_id": "",
            "similarity": float("nan"),
            "entities": [
                _entities(row, f"{path}, row {at}") for at, row in enumerate(rows)
            ],
        }
    )
    caption, image = true.iloc[::2], true.iloc[1::2].set_axis(true.index[::2])
    false = caption.assign(
        pair_id=caption["pair_id"] + ":" + pair.iloc[1::2].set_axis(caption.index),
        label=OUT_OF_CONTEXT,
        method="merged_balanced",
        donor_id=image["pair_id"],
        image_id=image["image_id"],
        image_path=image["image_path"],
    )
    return pd.concat([true.drop_duplicates("pair_id"), false]).sort_index(kind="stable")


def _entities(row: dict[str, Any], where: str) -> str:
    """Named entities of a caption, as a JSON list of [name, type]."""
    entities: list[list[str]] = []
    for field, kind in TYPES.items():
        cell = row.get(field) or []  # a few rows have none of the fields
        listed = [cell] if isinstance(cell, str) else cell
        if not isinstance(listed, list) or {*map(type, listed)} - {str}:
            raise DataError(
                f"{where}: expected {field!r} as text or a list of texts, found"
                f" {cell!r}. Fetch the file again."
            )
        names = [
            name
            for text in listed
            if "not enough information" not in text.lower()
            for name in _in_caption(text, row["true_caption"])
        ]
        entities += [
            [name, kind]
            for name in dict.fromkeys(names)
            if kind == "DATE" or _is_name(name)
        ]
    return json.dumps(entities, ensure_ascii=False)


def _in_caption(name: str, caption: str) -> list[str]:
    """The name as the caption writes it, or those parts of it that the caption has."""
    bare = _REMARK.sub(" ", name)
    forms = [
        " ".join(_PUNCTUATION.sub("", _APOSTROPHE.sub(" ", part)).split())
        for part in (bare, *bare.split(","))
    ]
    present = [
        form
        for form in forms
        if form
        and any(
            f" {spelling} " in f" {caption} "
            for spelling in (form, form[0].upper() + form[1:])
        )
    ]
    return present[:1] if present[:1] == forms[:1] else present


def _is_name(words: str) -> bool:
    first = _ARTICLE.sub("", words)[:1]
    return not first.islower() and words != words.lower()
