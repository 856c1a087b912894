"""Rows to look at, with evidence and suggestions; and fixing some by rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from verite.audit.findings import Near
from verite.audit.reading import Benchmark
from verite.characters import PROBLEMS, clean, find_problems, normalise

__all__ = ["fix", "for_spreadsheets", "suspects"]

_SHOWN = 3
_COMMON, _PURE = 0.5, 0.95  # shares of the rows of a label, and of the rows with a word
_MERGE = "put these groups together before splitting"

Row = tuple[str, str, str, str]
"""``pair_id``, ``problem``, ``evidence``, ``suggestion``."""


def suspects(benchmark: Benchmark, near: Near) -> pd.DataFrame:
    """List rows that may have to be corrected.

    That an image or a caption occurs under several labels is no fault, it is how
    benchmarks are balanced; that a *pair* does, or that a caption occurs twice under
    one label, is.

    Returns
    -------
    pandas.DataFrame
        ``pair_id``, ``problem``, ``evidence``, ``suggestion``; a row may have several
        problems. The text is as in the data: escape it for a spreadsheet or a browser.
    """
    pairs = benchmark.pairs
    pairs = pairs.assign(plain=pairs["caption"].map(normalise))
    rows: list[Row] = [
        *_odd_captions(pairs),
        *_repeated(pairs[pairs["plain"] != ""]),
        *_near_duplicates(pairs, near),
        *_leaks(pairs[pairs["split"] != ""]),
        *_labels_in_ids(pairs, benchmark.ids),
    ]
    columns = ["pair_id", "problem", "evidence", "suggestion"]
    return pd.DataFrame(rows, columns=columns, dtype="str")


def fix(benchmark: Benchmark) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make a cleaned copy, and a log of the changes.

    Captions: look-alike letters become Latin, invisible characters are removed, accents
    are composed (NFC), white space becomes single spaces. Rows that repeat image,
    caption and label of an earlier row are removed, whatever their split; where no
    image is named, none is. A broken encoding and U+FFFD are left alone, since only the
    source has what was lost; so is what needs a decision, such as two labels.

    The cleaned copy is data: its cells are not escaped for spreadsheets.

    Returns
    -------
    cleaned, log : pandas.DataFrame
        The table that was read, all columns under their own names; and ``pair_id``,
        ``change``, ``before``, ``after``.

    >>> from verite.datasets import load
    >>> world = Benchmark.of(load("newsroom", events=2, encoder=None))
    >>> fix(world)[1].empty
    True
    """
    table = benchmark.pairs if benchmark.table is None else benchmark.table
    before = benchmark.pairs["caption"]
    pairs = benchmark.pairs.assign(caption=before.map(clean))
    log = []
    for pair_id, old, new in zip(
        pairs["pair_id"], before, pairs["caption"], strict=True
    ):
        if old != new:
            left = find_problems(new)
            fixed = [problem for problem in find_problems(old) if problem not in left]
            log.append((pair_id, ", ".join(fixed), old, new))
    key = ["image_id", "caption", "label"]
    repeats = pairs.duplicated(key) & (pairs["image_id"] != "")
    first = pairs.groupby(key)["pair_id"].transform("first")
    for pair_id, original in zip(
        pairs.loc[repeats, "pair_id"], first[repeats], strict=True
    ):
        log.append((pair_id, f"left out: repeats {original}", "", ""))
    cleaned = table.assign(**{benchmark.caption_column: pairs["caption"]})
    columns = ["pair_id", "change", "before", "after"]
    return (
        cleaned[~repeats].reset_index(drop=True),
        pd.DataFrame(log, columns=columns, dtype="str"),
    )


def for_spreadsheets(table: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before cells that a spreadsheet would take for a formula.

    >>> table = pd.DataFrame({"caption": ["=1+1", "a = b", "-"]})
    >>> for_spreadsheets(table)["caption"].tolist()
    ["'=1+1", 'a = b', "'-"]
    """
    safe = table.copy()
    for name in safe.columns:
        if pd.api.types.is_string_dtype(safe[name]) or safe[name].dtype == object:
            text = safe[name].astype("str")
            safe[name] = text.where(~text.str.match(r"\s*[=+\-@]|[\t\r\n]"), "'" + text)
    return safe


def _odd_captions(pairs: pd.DataFrame) -> Iterator[Row]:
    problems = {
        caption: find_problems(caption) for caption in pairs["caption"].unique()
    }
    for pair_id, caption in zip(pairs["pair_id"], pairs["caption"], strict=True):
        if not caption.strip():
            yield pair_id, "no caption", "empty", "remove the row, or find its caption"
        for problem, evidence in problems[caption].items():
            yield pair_id, problem, evidence[:200], PROBLEMS[problem]


def _repeated(pairs: pd.DataFrame) -> Iterator[Row]:
    named = pairs[pairs["image_id"] != ""]
    for (image, _), rows in _repeats(named, ["image_id", "plain"]):
        labels = sorted(set(rows["label"]))
        if len(labels) > 1:
            evidence = f"image {image} and caption also {', '.join(labels)}: "
            for pair_id, others in _with_others(rows):
                problem = "one pair, several labels"
                yield pair_id, problem, evidence + others, "settle its label"
        else:
            first, *rest = rows["pair_id"]
            for pair_id in rest:
                evidence = f"same image and caption as {first}"
                yield pair_id, "pair repeated", evidence, "keep one of them"
    for (_, label), rows in _repeats(pairs, ["plain", "label"]):
        if (rows["image_id"] != "").all():
            rows = rows.drop_duplicates("image_id")
        first, *rest = rows["pair_id"]
        for pair_id in rest:
            yield (
                pair_id,
                "caption repeated under one label",
                f"as {first}, both {label}",
                "keep one of them, or keep both in one group",
            )
    for _, rows in _repeats(pairs, ["plain"]):
        if len(set(rows["group"])) > 1:
            for pair_id, others in _with_others(rows):
                yield pair_id, "caption in several groups", others, _MERGE
    for (image,), rows in _repeats(named, ["image_id"]):
        if len(set(rows["group"])) > 1:
            for pair_id, others in _with_others(rows):
                problem = "image in several groups"
                yield pair_id, problem, f"{image}: {others}", _MERGE


def _near_duplicates(pairs: pd.DataFrame, near: Near) -> Iterator[Row]:
    for modality, column in (("image", "image_id"), ("text", "caption")):
        rows = pairs.drop_duplicates(column).set_index(column)
        for first, second, similarity in near[modality].itertuples(index=False):
            if modality == "text" and normalise(first) == normalise(second):
                continue  # reported as repeated
            one, other = rows.loc[first], rows.loc[second]
            if one["group"] == other["group"]:
                continue  # never on two sides of a split
            if modality == "image":
                problem, what = "image nearly the same", f"{first} and {second}"
            else:
                problem, what = "caption nearly the same", f"as {one['pair_id']}"
            yield (
                other["pair_id"],
                problem,
                f"{what}, similarity {similarity:.3f}; in {one['pair_id']}",
                "count both as one, in one group",
            )


def _leaks(pairs: pd.DataFrame) -> Iterator[Row]:
    for column, name in (
        ("image_id", "image"),
        ("plain", "caption"),
        ("group", "group"),
    ):
        for (key,), rows in _repeats(pairs[pairs[column] != ""], [column]):
            splits = list(rows["split"].unique())
            evidence = f"in {', '.join(splits)}"
            if name != "caption":
                evidence = f"{key} {evidence}"
            for pair_id in rows.loc[rows["split"] != "train", "pair_id"]:
                if len(splits) > 1:
                    suggestion = "move it, or take it out of training"
                    yield pair_id, f"{name} in several splits", evidence, suggestion


def _labels_in_ids(pairs: pd.DataFrame, columns: tuple[str, ...]) -> Iterator[Row]:
    """Ids with a word that most rows of one label have and hardly another row."""
    sizes = pairs["label"].value_counts()
    reported = set()
    for column in columns:
        words = pairs[column].str.casefold().str.split(r"[\W\d_]+", regex=True)
        table = words.explode().rename("word").rename_axis("row").reset_index()
        table = table[table["word"] != ""].drop_duplicates()
        table["label"] = pairs["label"].reindex(table["row"]).to_numpy()
        counts = pd.crosstab(table["word"], table["label"])
        for label in counts.columns:
            common = counts[label] > _COMMON * sizes[label]
            pure = counts[label] > _PURE * counts.sum(axis=1)
            telling = counts.loc[common & pure, label]
            if sizes[label] in (1, len(pairs)) or telling.empty or label in reported:
                continue
            reported.add(label)
            word = str(telling.idxmax())
            others = counts.loc[word].sum() - telling[word]
            evidence = (
                f"{word!r}, in {telling[word]:,} of {sizes[label]:,} pairs labelled"
                f" {label}, and {others:,} others"
            )
            rows = table.loc[(table["word"] == word) & (table["label"] == label), "row"]
            for pair_id, value in pairs.loc[rows, ["pair_id", column]].to_numpy():
                found = f"{column} {value}: {evidence}"
                yield pair_id, "label in an id", found, "use ids that reveal nothing"


def _repeats(
    rows: pd.DataFrame, columns: list[str]
) -> Iterator[tuple[Any, pd.DataFrame]]:
    repeated = rows[rows.duplicated(columns, keep=False)]
    yield from repeated.groupby(columns, sort=False)


def _with_others(rows: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Each pair id, and the other rows it shares something with."""
    ids = list(rows["pair_id"])
    for pair_id in ids:
        others = [other for other in ids[: _SHOWN + 1] if other != pair_id][:_SHOWN]
        rest = len(ids) - 1 - len(others)
        more = f" and {rest:,} more" if rest > 0 else ""
        yield pair_id, f"also in {', '.join(others)}{more}"
