"""NewsCLIPpings: captions of VisualNews beside an image of another story that fits
them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from verite.dataset import Card, Dataset
from verite.datasets import visualnews
from verite.datasets.home import Reader, choose, first_of, read_json
from verite.datasets.registry import NEWSCLIPPINGS
from verite.errors import DataError, name_some
from verite.pairs import OUT_OF_CONTEXT, TRUE, merge_groups, validate

__all__ = ["CARD", "TYPES", "load", "needs"]

_CAPTIONS = "newsclippings/context_newsclippings_test.json"
_SPLITS = {"train": "train", "val": "validation", "test": "test"}
_EXTRA = ("topic", "source", "method", "donor_id", "similarity")

TYPES = {
    "people": "PERSON",
    "location": "GPE",
    "date": "DATE",
    "event": "EVENT",
    "things": "PRODUCT",
}
"""OntoNotes type of what each field of the caption file names.

It is coarse: people are also groups, things also works or buildings.
"""

_NONE = "not enough information"
_REMARK = re.compile(r"\([^)]*\)")
_APOSTROPHE = re.compile("['’]")
_PUNCTUATION = re.compile(r"[^\w\s]")
_ARTICLE = re.compile(r"^(?:the|an?) ", re.IGNORECASE)

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
        " its story, also stands in another split."
    ),
)


def needs(subset: str = "semantics_clip_text_text") -> tuple[str, ...]:
    """Files that :func:`load` reads with these options, below the data folder.

    >>> needs("captions")
    ('newsclippings/context_newsclippings_test.json',)
    """
    choose("subset", subset, (*NEWSCLIPPINGS, "captions"))
    if subset == "captions":
        return (_CAPTIONS,)
    return (
        visualnews.FILE,
        *(f"newsclippings/data/{subset}/{part}.json" for part in _SPLITS),
    )


def load(subset: str = "semantics_clip_text_text") -> Dataset:
    """Load a subset of NewsCLIPpings (paper, section 4.1), or its test captions with
    their entities.

    Of a subset, truthful pairs and ids of images and captions are VisualNews's. An
    out-of-context pair is named after its caption and its image; ``donor_id`` is the
    image's own pair, ``method`` the subset it comes from and ``similarity`` the score
    that it was found by. A pair that is annotated twice counts once.

    ``"captions"`` reads a file with the test pairs of ``merged_balanced`` by twos. Each
    row holds an image and *its own* caption, so both rows are truthful; the first row's
    caption and the second row's image are the out-of-context pair. A pair is named
    after the first row that holds it. The column ``entities`` lists [name, type] as
    :mod:`verite.synthesis.entities` reads it, by :data:`TYPES`: what begins with a
    capital (dates: anything) and stands in the caption, without the remarks in brackets
    and, like the captions, without punctuation; of what does not stand there as a
    whole, the parts between commas that do. Its ``topic`` is ``"news"`` throughout: the
    file has none.

    Pairs are one group that share a caption, an image or a story, directly or through
    others. Such chains are short among the test captions (at most nine pairs); in a
    large subset they may be long.

    Parameters
    ----------
    subset
        One of :data:`verite.datasets.registry.NEWSCLIPPINGS`, or ``"captions"``.

    Raises
    ------
    MissingDataError
        A file is not there.
    DataError
        A file does not hold what it must hold, or names an id that VisualNews does not
        have.
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
    news = news[news["id"].isin({*table["id"], *table["image_id"]})]
    absent = sorted({*table["id"], *table["image_id"]} - {*news["id"]})
    if absent:
        raise DataError(
            f"{news_path}: no id {name_some(absent)}, which the annotations of {subset}"
            " name. Use the VisualNews that they are for."
        )
    news = news.assign(
        story=visualnews.story(news), text_id=first_of(news["id"], news["caption"])
    ).set_index("id")
    news["image_id"] = first_of(news.index.to_series(), news["image_path"])
    text, image = (
        news.loc[table["id"]].reset_index(),
        news.loc[table["image_id"]].reset_index(),
    )
    stories = pd.concat([text["story"], image["story"]], ignore_index=True)
    leaks = (
        pd.concat([table["split"]] * 2, ignore_index=True)
        .groupby(stories)
        .transform("nunique")
        .to_numpy()
        > 1
    )
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
                *(table["split"] + ":" + one["story"] for one in (text, image))
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
    """Read one split: text ``id`` and ``image_id``, ``falsified``, ``similarity`` and
    ``method``.
    """
    read = read_json(path)
    rows = read.get("annotations") if isinstance(read, dict) else None
    if (
        not isinstance(rows, list)
        or not rows
        or not all(isinstance(row, dict) for row in rows)
    ):
        raise DataError(
            f"{path}: expected an object with a list of 'annotations'. Use the"
            " publisher's own file."
        )
    for name, known in (
        ("id", [int]),
        ("image_id", [int]),
        ("falsified", [bool]),
        ("similarity_score", [float, int, type(None)]),
    ):
        wrong = next(
            (at for at, row in enumerate(rows) if type(row.get(name)) not in known),
            None,
        )
        if wrong is not None:
            raise DataError(
                f"{path}, annotation {wrong} (id {rows[wrong].get('id')}): expected"
                f" {name!r} as {known[0].__name__}, found {rows[wrong].get(name)!r}."
                " Use the publisher's own file."
            )
    table = pd.DataFrame(
        {name: [row[name] for row in rows] for name in ("id", "image_id", "falsified")}
    )
    odd = table.index[table["falsified"] == (table["id"] == table["image_id"])]
    if len(odd):
        raise DataError(
            f"{path}: a pair is falsified exactly if its image is another's; not so in"
            f" annotation {name_some(odd)}. Use the publisher's own file."
        )
    return table.assign(
        id=table["id"].astype("str"),
        image_id=table["image_id"].astype("str"),
        similarity=pd.Series(
            [row.get("similarity_score") for row in rows], dtype=float
        ),
        method=_methods(path, read.get("source_datasets"), rows) or subset,
    )


def _methods(path: Path, names: Any, rows: list[dict[str, Any]]) -> list[str]:
    """Subsets that the pairs of a merged subset are from.

    Empty where the file does not tell.
    """
    if names is None:
        return []
    try:
        return [str(names[row["source_dataset"]]) for row in rows]
    except (KeyError, IndexError, TypeError) as error:
        raise DataError(
            f"{path}: expected 'source_datasets' as a list of names and"
            f" 'source_dataset' of each annotation as a place in it; found {names!r}"
            f" ({type(error).__name__}: {error}). Use the publisher's own file."
        ) from error


def _from_captions(path: Path) -> pd.DataFrame:
    read = read_json(path)
    if not isinstance(read, list) or not read or len(read) % 2:
        raise DataError(
            f"{path}: expected a JSON list with an even number of rows, two for each"
            " test pair. Fetch the file again."
        )
    table = pd.DataFrame(
        [_checked(row, f"{path}, row {at}") for at, row in enumerate(read)]
    )
    first, second = (
        table[["caption", "image_path"]].iloc[at::2].reset_index(drop=True)
        for at in (0, 1)
    )
    same = first.index[(first == second).any(axis=1)] * 2
    if len(same):
        raise DataError(
            f"{path}: expected the row behind a pristine pair to hold another image"
            f" with its own caption; row {name_some(same)} and the next share one."
            " Fetch the file again."
        )
    number = table.index.astype("str").to_series(index=table.index)
    pair = first_of(number, table["image_path"] + "\n" + table["caption"])
    true = pd.DataFrame(
        {
            "pair_id": "newsclippings_" + pair,
            "image_id": table["image_path"].str.removesuffix(".jpg"),
            "text_id": first_of("text_" + number, table["caption"]),
            "caption": table["caption"],
            "image_path": table["image_path"],
            "label": TRUE,
            "group": merge_groups(
                "pair_" + number,
                table["image_path"],
                table["caption"],
                table.index.to_series().floordiv(2).astype("str"),
            ),
            "split": "test",
            "dataset": "newsclippings",
            "topic": "news",
            "source": table["image_path"].str.partition("/")[0],
            "method": "",
            "donor_id": "",
            "similarity": float("nan"),
            "entities": table["entities"],
        }
    )
    caption, image = true.iloc[::2], true.iloc[1::2].set_axis(true.index[::2])
    taken = {name: image[name] for name in ("image_id", "image_path")}
    pair_id = caption["pair_id"] + ":" + pair.iloc[1::2].set_axis(caption.index)
    false = caption.assign(
        pair_id=pair_id,
        label=OUT_OF_CONTEXT,
        method="merged_balanced",
        donor_id=image["pair_id"],
        **taken,
    )
    return pd.concat([true.drop_duplicates("pair_id"), false]).sort_index(kind="stable")


def _checked(row: Any, where: str) -> dict[str, str]:
    if not isinstance(row, dict):
        raise DataError(
            f"{where}: expected a JSON object, found {type(row).__name__}. Fetch the"
            " file again."
        )
    for name in ("true_caption", "image_path"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise DataError(
                f"{where}: expected {name!r} as text, found {row.get(name)!r}. Fetch"
                " the file again."
            )
    caption = row["true_caption"]
    named: list[list[str]] = []
    for field, kind in TYPES.items():
        cell = row.get(field) or []  # a few rows have none of the fields
        listed = [cell] if isinstance(cell, str) else cell
        if not isinstance(listed, list) or not all(
            isinstance(name, str) for name in listed
        ):
            raise DataError(
                f"{where}: expected {field!r} as text or a list of texts, found"
                f" {cell!r}. Fetch the file again."
            )
        standing = [
            name
            for one in listed
            if _NONE not in one.lower()
            for name in _standing(one, caption)
        ]
        named += [
            [name, kind]
            for name in dict.fromkeys(standing)
            if kind == "DATE" or _is_name(name)
        ]
    image = row["image_path"].rpartition("origin/")[2].removeprefix("./")
    return {
        "caption": caption,
        "image_path": image,
        "entities": json.dumps(named, ensure_ascii=False),
    }


def _standing(name: str, caption: str) -> list[str]:
    """Write a name as the caption does and give it if it stands there, else those of
    its parts between commas that do.
    """
    bare = _REMARK.sub(" ", name)
    forms = [
        " ".join(_PUNCTUATION.sub("", _APOSTROPHE.sub(" ", part)).split())
        for part in (bare, *bare.split(","))
    ]
    there = [
        form
        for form in forms
        if form
        and any(
            f" {one} " in f" {caption} " for one in (form, form[0].upper() + form[1:])
        )
    ]
    return there[:1] if there[:1] == forms[:1] else there


def _is_name(words: str) -> bool:
    first = _ARTICLE.sub("", words)[:1]
    return not first.islower() and words != words.lower()
