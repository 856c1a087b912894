"""What predictions are scored against, and which of its pairs each prediction is for.

Ids are those of our pair tables. For VERITE and COSMOS the publisher's row numbers are
understood too, for VMU-Twitter the posts. VERITE is out in two versions whose row
numbers mean different pairs from the 816th row on, so row numbers alone are taken only
where they can be of one version, or where other columns of the predictions tell which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from verite import datasets
from verite.errors import DataError, ParameterError, name_some
from verite.files import sha256
from verite.pairs import MISINFORMATION, TRUE, validate
from verite.scoring.predictions import to_labels
from verite.tables import read_table

__all__ = ["BENCHMARKS", "Benchmark", "Matched", "match", "open_benchmark"]

BENCHMARKS = ("verite", "vmu-twitter", "cosmos")
"""Benchmarks known by name; any other is a CSV of pairs."""

_OPTIONS = {
    "verite": "version",
    "vmu-twitter": "with_images",
    "cosmos": "caption",
}  # which pairs there are; others do not touch labels
_PREFIXES = {"release": "verite_", "paper": "figments_"}
_CHECKED = ("image_id", "image_path", "caption")


@dataclass(frozen=True)
class Benchmark:
    """Pairs that are scored, and what else they may be called."""

    name: str
    title: str
    pairs: pd.DataFrame
    """A pair table: the test set, where there is a split."""
    version: str = ""
    """Which of several releases or options; empty where there is one."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other id -> ``pair_id``."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file that was read."""
    note: str = ""
    """Which pairs these are, in a sentence."""


@dataclass(frozen=True)
class Matched:
    """Predictions beside the truth."""

    table: pd.DataFrame
    """``pair_id``, ``image_id``, ``text_id``, ``label``, ``group``, ``prediction``
    (empty where there is none), and ``seed``
    where there are several."""
    missing: tuple[str, ...]
    """Pairs without a prediction, as ``pair_id``, with the seed behind it where there
    are several.
    """
    surplus: tuple[str, ...]
    """Ids that are of no pair that is scored."""
    policy: str
    """What missing pairs count: ``error``, ``wrong`` or ``skip``."""


def open_benchmark(
    source: str | Path | pd.DataFrame,
    predictions: pd.DataFrame | None = None,
    options: Mapping[str, Any] | None = None,
) -> Benchmark:
    """Open a benchmark by its name, a CSV of pairs, or a pair table.

    Parameters
    ----------
    predictions
        As :func:`verite.scoring.read_predictions` gives them: they tell which version
        of VERITE is meant, if no option does.
    options
        What decides which pairs there are: ``version`` of VERITE, ``with_images`` of
        VMU-Twitter, ``caption`` of COSMOS; as their ``load`` takes it, for example
        ``{"version": "paper"}``.

    Raises
    ------
    ParameterError
        There is no such benchmark or option, or the version of VERITE must be said.
    MissingDataError
        A file is not there.
    DataError
        A table holds no pairs, or no row that is scored.

    >>> open_benchmark("nothing")
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: no benchmark is called 'nothing', and there is no such file. Known: verite, vmu-twitter, cosmos, \
or a CSV of pairs.
    """
    chosen = dict(options or {})
    if isinstance(source, pd.DataFrame) or source not in BENCHMARKS:
        if chosen:
            raise ParameterError(
                f"a table of pairs has no options, found {name_some(chosen)}. Leave"
                " them out."
            )
        return _table(source)
    if other := [name for name in chosen if name != _OPTIONS[str(source)]]:
        raise ParameterError(
            f"{source} is scored with the option {_OPTIONS[str(source)]} or none, found"
            f" {name_some(other)}. Leave it out."
        )
    if source == "verite":
        return _which_verite(predictions, chosen)
    return _named(str(source), chosen)


def match(
    predictions: pd.DataFrame, benchmark: Benchmark, missing: str = "error"
) -> Matched:
    """Find the pair of each prediction, by id.

    Columns of the predictions that the benchmark has too (``caption``, ``image_path``,
    ``image_id``, ``label``) must agree with it, which finds tables that were sorted or
    counted anew.

    Raises
    ------
    DataError
        No id is known, a pair has two predictions, a column does not agree, or pairs
        are missing and ``missing`` is ``error``.
    """
    truth = benchmark.pairs.set_index("pair_id")
    several = "seed" in predictions
    known = predictions["id"].isin(truth.index)
    pair = predictions["id"].where(
        known, predictions["id"].map(dict(benchmark.aliases))
    )
    surplus = tuple(dict.fromkeys(predictions.loc[pair.isna(), "id"]))
    found = predictions.assign(pair_id=pair)[pair.notna()]
    if found.empty:
        raise DataError(
            f"no prediction is for a pair of {_called(benchmark)}: expected ids such as"
            f" {name_some(map(repr, truth.index[:2]))}, found"
            f" {name_some(map(repr, surplus))}. `verite data pairs` writes the ids."
        )
    key = ["pair_id", "seed"] if several else ["pair_id"]
    twice = found.duplicated(key)
    if twice.any():
        raise DataError(
            "expected one prediction for each pair, found more for"
            f" {name_some(map(repr, found.loc[twice, 'id'].unique()))}"
            f" ({int(twice.sum()):,} row(s) too many). Tell repeated runs apart by a"
            " column `seed`."
        )
    _check_content(found, truth)
    runs = (
        pd.MultiIndex.from_product([truth.index, found["seed"].unique()], names=key)
        if several
        else truth.index
    )
    answers = found.set_index(key)["prediction"].reindex(runs).reset_index()
    table = answers.join(truth[["image_id", "text_id", "label", "group"]], on="pair_id")
    gone = table["prediction"].isna()
    lacking = (
        tuple(table.loc[gone, key].agg(" of seed ".join, axis=1)) if gone.any() else ()
    )
    if lacking and missing == "error":
        raise DataError(
            f"{len(lacking):,} of {len(table):,} predictions are missing for"
            f" {_called(benchmark)}: {name_some(lacking)}. Predict these pairs, or"
            " choose what they count with --missing wrong or --missing skip."
        )
    table = (
        table[~gone].reset_index(drop=True)
        if missing == "skip"
        else table.fillna({"prediction": ""})
    )
    return Matched(table, lacking, surplus, missing)


def _check_content(found: pd.DataFrame, truth: pd.DataFrame) -> None:
    beside = truth.loc[found["pair_id"]]
    for name in _CHECKED:
        if (
            name in found
            and (
                differs := (_words(found[name]) != _words(beside[name])).to_numpy()
            ).any()
        ):
            _differ(found, differs, name)
    if "label" in found:
        try:
            said = pd.Series(to_labels(found["label"], found["id"], {}, "label"))
        except DataError:
            return  # spelled in a way of their own: no check, and no harm, for labels are the benchmark's
        real = beside["label"].reset_index(drop=True)
        binary = (said == MISINFORMATION) | (real == MISINFORMATION)
        differs = (
            (said != real) & ~(binary & (said != TRUE) & (real != TRUE))
        ).to_numpy()
        if differs.any():
            _differ(found, differs, "label")


def _differ(found: pd.DataFrame, differs: Any, name: str) -> None:
    raise DataError(
        f"column {name!r} of the predictions is not the benchmark's in"
        f" {int(differs.sum()):,} of {len(found):,} rows (id"
        f" {name_some(map(repr, found.loc[differs, 'id']))}). They were sorted or"
        " numbered anew, or are of another version."
    )


def _words(values: pd.Series) -> pd.Series:
    return values.str.split().str.join(" ").reset_index(drop=True)


def _called(benchmark: Benchmark) -> str:
    return (
        f"{benchmark.name} (version {benchmark.version})"
        if benchmark.version
        else benchmark.name
    )


def _table(source: str | Path | pd.DataFrame) -> Benchmark:
    name, files = "pairs", {}
    if isinstance(source, pd.DataFrame):
        table = source
    else:
        path = Path(source)
        if not path.exists():
            raise ParameterError(
                f"no benchmark is called {str(source)!r}, and there is no such file."
                f" Known: {', '.join(BENCHMARKS)}, or a CSV of pairs."
            )
        name, table, files = path.name, read_table(path), {path.name: sha256(path)}
    pairs = validate(table, where=name, extra=set(map(str, table.columns)))
    note = "every pair of the table"
    if (pairs["split"] != "").any():
        note, pairs = (
            "pairs of the table with split `test`",
            pairs[pairs["split"] == "test"].reset_index(drop=True),
        )
        if pairs.empty:
            raise DataError(
                f"{name}: has splits but none is `test`, so there is nothing to score."
            )
    return Benchmark(name.removesuffix(".csv"), name, pairs, files=files, note=note)


def _named(name: str, options: Mapping[str, Any]) -> Benchmark:
    loaded = datasets.load(name, **options)
    pairs, version = (
        loaded.pairs,
        ", ".join(f"{key} {value}" for key, value in options.items()),
    )
    note, aliases = f"all {len(pairs):,} pairs", {}
    if name == "vmu-twitter":
        pairs = loaded.part("test")
        note = (
            f"the test set of 2016, one row for each post and image: {len(pairs):,} of"
            f" {len(loaded.pairs):,} pairs"
        )
        posts = pairs.drop_duplicates("post_id", keep=False)
        aliases = dict(zip(posts["post_id"], posts["pair_id"], strict=True))
    else:
        aliases = {pair_id.rsplit("_", 1)[1]: pair_id for pair_id in pairs["pair_id"]}
    if name == "verite":
        version = options["version"]
        note = (
            f"{'first' if version == 'paper' else 'present'} release, all"
            f" {len(pairs):,} pairs"
        )
    return Benchmark(
        name, loaded.card.title, pairs, version, aliases, loaded.files, note
    )


def _which_verite(
    predictions: pd.DataFrame | None, options: dict[str, Any]
) -> Benchmark:
    plain = {"embeddings": False, **options}
    if predictions is None or "version" in options:
        return _named("verite", {"version": "release", **plain})
    said = [
        version
        for version, prefix in _PREFIXES.items()
        if predictions["id"].str.startswith(prefix).any()
    ]
    if len(said) == 1:
        return _named("verite", {"version": said[0], **plain})
    if said:
        raise DataError(
            "the predictions mix ids of both versions of VERITE (verite_N and"
            " figments_N). Score one version at a time."
        )
    opened = [_named("verite", {"version": version, **plain}) for version in _PREFIXES]
    why = {benchmark.version: _misfit(predictions, benchmark) for benchmark in opened}
    fitting = [benchmark for benchmark in opened if not why[benchmark.version]]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ParameterError(
            "the predictions name row numbers that both versions of VERITE have, and"
            " the same number is another pair in each. Say which: -p version release"
            " (1,001 rows, VERITE.csv) or -p version paper (1,000 rows, FIGMENTS.csv);"
            " or keep the column image_path beside the predictions, which tells."
        )
    reasons = "; ".join(f"{version}: {reason}" for version, reason in why.items())
    raise DataError(
        f"the predictions fit neither version of VERITE whole ({reasons}). Say which is"
        " meant: -p version release or paper."
    )


def _misfit(predictions: pd.DataFrame, benchmark: Benchmark) -> str:
    try:
        surplus = match(predictions, benchmark, "wrong").surplus
    except DataError as error:
        return str(error)
    return f"no row {name_some(map(repr, surplus))}" if surplus else ""
