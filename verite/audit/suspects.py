"""Row by row what to look at, with the evidence and what could be done."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verite.audit.counting import Near
from verite.audit.reading import Benchmark
from verite.characters import PROBLEMS, find_problems, normalise

__all__ = ["suspects"]

_COLUMNS = ["pair_id", "problem", "evidence", "suggestion"]
_SHOWN = 3
_MOST, _PURE = 0.5, 0.95  # of the rows of a label, and of the rows with the word


def suspects(benchmark: Benchmark, near: Near) -> pd.DataFrame:
    """List rows that may have to be mended.

    That an image or a caption stands under several labels is no fault, it is how
    benchmarks are balanced; that a *pair* does, or that a caption stands twice under
    one label, is.

    Returns
    -------
    pandas.DataFrame
        ``pair_id``, ``problem``, ``evidence``, ``suggestion``; a row may have several
        problems. Text as it is in the data: escape it before a spreadsheet or a browser
        sees it.
    """
    found = [
        row
        for part in (_captions, _repeats, _near, _splits, _spelled)
        for row in part(benchmark, near)
    ]
    return pd.DataFrame(found, columns=_COLUMNS, dtype="str")


Row = tuple[str, str, str, str]


def _captions(benchmark: Benchmark, near: Near) -> Iterator[Row]:
    looked = {
        caption: find_problems(caption)
        for caption in benchmark.pairs["caption"].unique()
    }
    for pair_id, caption in zip(
        benchmark.pairs["pair_id"], benchmark.pairs["caption"], strict=True
    ):
        if not caption.strip():
            yield (
                pair_id,
                "no caption",
                "empty",
                "take the row out, or find its caption",
            )
        for problem, evidence in looked[caption].items():
            yield pair_id, problem, evidence[:200], PROBLEMS[problem]


def _repeats(benchmark: Benchmark, near: Near) -> Iterator[Row]:
    pairs = benchmark.pairs.assign(plain=benchmark.pairs["caption"].map(normalise))
    pairs = pairs[pairs["plain"] != ""]
    named = pairs[pairs["image_id"] != ""]
    for (image, _), rows in _several(named, ["image_id", "plain"]):
        if len(set(rows["label"])) > 1:
            labels = ", ".join(sorted(set(rows["label"])))
            for pair_id in rows["pair_id"]:
                yield (
                    pair_id,
                    "one pair, several labels",
                    (
                        f"image {image} and caption also {labels}:"
                        f" {_others(rows, pair_id)}"
                    ),
                    "settle its label",
                )
        else:
            for pair_id in rows["pair_id"].iloc[1:]:
                yield (
                    pair_id,
                    "pair repeated",
                    f"same image and caption as {rows['pair_id'].iloc[0]}",
                    "keep one of them",
                )
    for (_, label), rows in _several(pairs, ["plain", "label"]):
        distinct = (
            rows.drop_duplicates("image_id") if (rows["image_id"] != "").all() else rows
        )
        for pair_id in distinct["pair_id"].iloc[1:]:
            first = distinct["pair_id"].iloc[0]
            yield (
                pair_id,
                "caption repeated under one label",
                f"as {first}, both {label}",
                "keep one of them, or keep both in one group",
            )
    for (_,), rows in _several(pairs, ["plain"]):
        if len(set(rows["group"])) > 1:
            for pair_id in rows["pair_id"]:
                yield (
                    pair_id,
                    "caption in several groups",
                    _others(rows, pair_id),
                    "put these groups together before splitting",
                )
    for (image,), rows in _several(named, ["image_id"]):
        if len(set(rows["group"])) > 1:
            for pair_id in rows["pair_id"]:
                yield (
                    pair_id,
                    "image in several groups",
                    f"{image}: {_others(rows, pair_id)}",
                    "put these groups together before splitting",
                )


def _near(benchmark: Benchmark, near: Near) -> Iterator[Row]:
    for modality, column in (("image", "image_id"), ("text", "caption")):
        rows = benchmark.pairs.drop_duplicates(column).set_index(column)
        links = near[modality]
        if modality == "text":
            links = links[
                links["first"].map(normalise) != links["second"].map(normalise)
            ]
        for first, second, similarity in zip(
            links["first"], links["second"], links["similarity"], strict=True
        ):
            if rows.loc[first, "group"] == rows.loc[second, "group"]:
                continue  # never on two sides of a split
            one, other = rows.loc[first, "pair_id"], rows.loc[second, "pair_id"]
            what, by = (
                ("image nearly the same", f"{first} and {second}")
                if modality == "image"
                else ("caption nearly the same", f"as {one}")
            )
            yield (
                other,
                what,
                f"{by}, similarity {similarity:.3f}; in {one}",
                "count both as one, in one group",
            )


def _splits(benchmark: Benchmark, near: Near) -> Iterator[Row]:
    pairs = benchmark.pairs[benchmark.pairs["split"] != ""]
    pairs = pairs.assign(plain=pairs["caption"].map(normalise))
    for column, what in (
        ("image_id", "image"),
        ("plain", "caption"),
        ("group", "group"),
    ):
        for (key,), rows in _several(pairs[pairs[column] != ""], [column]):
            splits = list(rows["split"].unique())
            if len(splits) > 1:
                for pair_id, split in zip(rows["pair_id"], rows["split"], strict=True):
                    if split != "train":
                        shown = "" if what == "caption" else f"{key} "
                        yield (
                            pair_id,
                            f"{what} in several splits",
                            f"{shown}in {', '.join(splits)}",
                            "move it, or take it out of training",
                        )


def _spelled(benchmark: Benchmark, near: Near) -> Iterator[Row]:
    """Ids with a word that most rows of one label have and hardly another row."""
    pairs, done = benchmark.pairs, set()
    for column in benchmark.ids:
        words = (
            pairs[column].str.casefold().str.split(r"[\W\d_]+", regex=True).explode()
        )
        table = pd.DataFrame(
            {"row": words.index, "word": words.to_numpy()}
        ).drop_duplicates()
        table = table[table["word"] != ""]
        table = table.assign(label=pairs["label"].reindex(table["row"]).to_numpy())
        counts = pd.crosstab(table["word"], table["label"])
        of_label = pairs["label"].value_counts()
        for label in counts.columns:
            telling = counts[
                (counts[label] > _MOST * of_label[label])
                & (counts[label] > _PURE * counts.sum(axis=1))
            ]
            if of_label[label] in (1, len(pairs)) or telling.empty or label in done:
                continue
            done.add(label)
            word = str(telling[label].idxmax())
            mine, all_rows = counts[label][word], counts.loc[word].sum()
            evidence = (
                f"{word!r}, in {mine:,} of {of_label[label]:,} pairs labelled {label},"
                f" and {all_rows - mine:,} others"
            )
            rows = table.loc[(table["word"] == word) & (table["label"] == label), "row"]
            for pair_id, value in zip(
                pairs.loc[rows, "pair_id"], pairs.loc[rows, column], strict=True
            ):
                yield (
                    pair_id,
                    "label in an id",
                    f"{column} {value}: {evidence}",
                    "give ids that say nothing",
                )


def _several(
    rows: pd.DataFrame, columns: list[str]
) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    twice = rows[rows.duplicated(columns, keep=False)]
    for key, part in twice.groupby(columns, sort=False):
        yield tuple(map(str, key)) if isinstance(key, tuple) else (str(key),), part


def _others(rows: pd.DataFrame, pair_id: str) -> str:
    others = [
        other for other in rows["pair_id"].iloc[: _SHOWN + 1] if other != pair_id
    ][:_SHOWN]
    rest = len(rows) - 1 - len(others)
    return f"also in {', '.join(others)}" + (f" and {rest:,} more" if rest > 0 else "")
