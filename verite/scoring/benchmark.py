"""What predictions are scored against, and which of its pairs each prediction is for.

Ids are those of our pair tables. For VERITE and COSMOS the publisher's row numbers work
too, for VMU-Twitter the posts. VERITE has two releases whose row numbers mean different
pairs from the 816th row on, so row numbers alone are accepted only where they fit one
release, or where other columns of the predictions decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verite import datasets
from verite.errors import DataError, ParameterError, name_some
from verite.files import sha256
from verite.pairs import MISINFORMATION, TRUE, validate
from verite.scoring.predictions import to_labels
from verite.tables import read_table

__all__ = ["BENCHMARKS", "Benchmark", "Matched", "match", "open_benchmark"]

BENCHMARKS = ("verite", "vmu-twitter", "cosmos")
"""Benchmarks known by name; any other is a table of pairs."""

# The options that decide which pairs there are.
_OPTIONS = {"verite": "version", "vmu-twitter": "with_images", "cosmos": "caption"}
_PREFIXES = {"release": "verite_", "paper": "figments_"}


@dataclass(frozen=True)
class Benchmark:
    """Pairs to score, and what else they may be called."""

    name: str
    title: str
    pairs: pd.DataFrame
    """A pair table: the test set, where there is a split."""
    version: str = ""
    """Which of several releases or options; empty where there is one."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """``pair_id`` by other ids."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file that was read."""
    note: str = ""
    """Which pairs these are, in a sentence."""

    def __str__(self) -> str:
        return self.name + (f" (version {self.version})" if self.version else "")


@dataclass(frozen=True)
class Matched:
    """Predictions with the truth."""

    table: pd.DataFrame
    """``pair_id``, ``image_id``, ``text_id``, ``label``, ``group``, ``prediction``
    (empty where there is none), and ``seed`` where there are several."""
    missing: tuple[str, ...]
    """Pairs without a prediction, with the seed where there are several."""
    surplus: tuple[str, ...]
    """Ids of no pair that is scored."""
    policy: str
    """What missing pairs count: ``error``, ``wrong`` or ``skip``."""


def open_benchmark(
    source: str | Path | pd.DataFrame,
    predictions: pd.DataFrame | None = None,
    options: Mapping[str, Any] | None = None,
) -> Benchmark:
    """Open a benchmark by its name, a file of pairs, or a pair table.

    Parameters
    ----------
    predictions
        From :func:`verite.scoring.read_predictions`: they decide which release of
        VERITE is meant, if no option does.
    options
        Options that decide which pairs there are: ``version`` of VERITE,
        ``with_images`` of VMU-Twitter, ``caption`` of COSMOS.

    Raises
    ------
    ParameterError
        There is no such benchmark or option, or the version of VERITE is unclear.
    MissingDataError
        A file is missing.
    DataError
        A table holds no pairs, or no row that is scored.

    >>> open_benchmark("nothing")
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: no benchmark is called 'nothing', and there is no \
such file. Known: verite, vmu-twitter, cosmos, or a table of pairs.
    """
    given = dict(options or {})
    if isinstance(source, pd.DataFrame) or source not in BENCHMARKS:
        if given:
            raise ParameterError(
                f"a table of pairs has no options: {name_some(given)}."
            )
        return _open_table(source)
    option = _OPTIONS[str(source)]
    if unknown := set(given) - {option}:
        raise ParameterError(
            f"{source} is scored with the option {option} or none, found"
            f" {name_some(sorted(unknown))}."
        )
    if source == "verite":
        return _open_verite(predictions, given.get("version"))
    return _open_named(str(source), given)


def match(
    predictions: pd.DataFrame, benchmark: Benchmark, missing: str = "error"
) -> Matched:
    """Find the pair of each prediction, by id.

    Columns of the predictions that the benchmark has too (``caption``, ``image_path``,
    ``image_id``, ``label``) must agree with it: a table that was sorted or numbered
    anew does not.

    Raises
    ------
    DataError
        No id is known, a pair has two predictions, a column does not agree, or pairs
        are missing and ``missing`` is ``error``.
    """
    truth = benchmark.pairs.set_index("pair_id")
    ids = predictions["id"]
    pair = ids.where(ids.isin(truth.index), ids.map(dict(benchmark.aliases)))
    surplus = tuple(dict.fromkeys(ids[pair.isna()]))
    known = predictions.assign(pair_id=pair)[pair.notna()]
    if known.empty:
        raise DataError(
            f"no prediction is for a pair of {benchmark}: expected ids such as"
            f" {name_some(map(repr, truth.index[:2]))}, found"
            f" {name_some(map(repr, surplus))}. `verite data pairs` writes the ids."
        )
    key = ["pair_id", "seed"] if "seed" in known else ["pair_id"]
    if (repeated := known.duplicated(key)).any():
        raise DataError(
            "duplicate predictions for"
            f" {name_some(map(repr, known.loc[repeated, 'id'].unique()))}. Distinguish"
            " repeated runs by a column `seed`."
        )
    _check_content(known, truth.loc[known["pair_id"]])
    pairs = truth.index
    if "seed" in known:
        pairs = pd.MultiIndex.from_product([pairs, known["seed"].unique()], names=key)
    table = known.set_index(key)["prediction"].reindex(pairs).reset_index()
    table = table.join(truth[["image_id", "text_id", "label", "group"]], on="pair_id")
    gone = table["prediction"].isna()
    absent = tuple(map(" of seed ".join, table.loc[gone, key].to_numpy()))
    if absent and missing == "error":
        raise DataError(
            f"{len(absent):,} of {len(table):,} predictions are missing for"
            f" {benchmark}: {name_some(absent)}. Predict these pairs, or choose what"
            " they count with --missing wrong or --missing skip."
        )
    if missing == "skip":
        table = table[~gone].reset_index(drop=True)
    return Matched(table.fillna({"prediction": ""}), absent, surplus, missing)


def _check_content(known: pd.DataFrame, truth: pd.DataFrame) -> None:
    for name in ("image_id", "image_path", "caption"):
        if name in known:
            one, other = (
                table[name].str.split().str.join(" ") for table in (known, truth)
            )
            _check_equal(known, (one.to_numpy() != other.to_numpy()), name)
    if "label" in known:
        try:
            labels = np.array(to_labels(known["label"], known["id"], {}, "label"))
        except DataError:
            return  # other spellings cannot be compared; the benchmark's labels count
        real = truth["label"].to_numpy()
        binary = (labels == MISINFORMATION) | (real == MISINFORMATION)
        both_false = (labels != TRUE) & (real != TRUE)
        _check_equal(known, (labels != real) & ~(binary & both_false), "label")


def _check_equal(known: pd.DataFrame, differs: np.ndarray, name: str) -> None:
    if differs.any():
        raise DataError(
            f"column {name!r} of the predictions differs from the benchmark's in"
            f" {int(differs.sum()):,} of {len(known):,} rows (id"
            f" {name_some(map(repr, known.loc[differs, 'id']))}). They were sorted or"
            " numbered anew, or are of another version."
        )


def _open_table(source: str | Path | pd.DataFrame) -> Benchmark:
    name, files = "pairs", {}
    if isinstance(source, pd.DataFrame):
        table = source
    elif Path(source).exists():
        name = Path(source).name
        table, files = read_table(source), {name: sha256(source)}
    else:
        raise ParameterError(
            f"no benchmark is called {str(source)!r}, and there is no such file. Known:"
            f" {', '.join(BENCHMARKS)}, or a table of pairs."
        )
    pairs = validate(table, where=name, extra=set(map(str, table.columns)))
    note = "every pair of the table"
    if (pairs["split"] != "").any():
        note = "pairs of the table with split `test`"
        pairs = pairs[pairs["split"] == "test"].reset_index(drop=True)
        if pairs.empty:
            raise DataError(f"{name}: has splits but none is `test`: nothing to score.")
    return Benchmark(name.removesuffix(".csv"), name, pairs, files=files, note=note)


def _open_named(name: str, options: Mapping[str, Any]) -> Benchmark:
    loaded = datasets.load(name, **options)
    pairs = loaded.pairs
    version = ", ".join(f"{key} {value}" for key, value in options.items())
    note = f"all {len(pairs):,} pairs"
    if name == "vmu-twitter":
        pairs = loaded.part("test")
        note = (
            f"the test set of 2016, one row per post and image: {len(pairs):,} of"
            f" {len(loaded.pairs):,} pairs"
        )
        posts = pairs.drop_duplicates("post_id", keep=False)
        aliases = dict(zip(posts["post_id"], posts["pair_id"], strict=True))
    else:
        aliases = {pair_id.rsplit("_", 1)[1]: pair_id for pair_id in pairs["pair_id"]}
    if name == "verite":
        version = options["version"]
        release = "first" if version == "paper" else "present"
        note = f"{release} release, all {len(pairs):,} pairs"
    title, files = loaded.card.title, loaded.files
    return Benchmark(name, title, pairs, version, aliases, files, note)


def _open_verite(predictions: pd.DataFrame | None, version: str | None) -> Benchmark:
    """Open the release that is named, or else the one that the predictions fit."""
    if predictions is None or version is not None:
        return _open_release(version or "release")
    prefixed = [
        version
        for version, prefix in _PREFIXES.items()
        if predictions["id"].str.startswith(prefix).any()
    ]
    if len(prefixed) == 1:
        return _open_release(prefixed[0])
    if prefixed:
        raise DataError(
            "the predictions mix ids of both versions of VERITE (verite_N and"
            " figments_N). Score one version at a time."
        )
    releases = [_open_release(version) for version in _PREFIXES]
    reasons = {release.version: _misfit(predictions, release) for release in releases}
    fitting = [release for release in releases if not reasons[release.version]]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ParameterError(
            "the predictions name row numbers that both versions of VERITE have, for"
            " different pairs. Choose one: -p version release (1,001 rows, VERITE.csv)"
            " or -p version paper (1,000 rows, FIGMENTS.csv); or keep the column"
            " image_path in the predictions, which decides."
        )
    listed = "; ".join(f"{version}: {reason}" for version, reason in reasons.items())
    raise DataError(
        f"the predictions fit neither version of VERITE completely ({listed}). Choose"
        " one: -p version release or paper."
    )


def _open_release(version: str) -> Benchmark:
    return _open_named("verite", {"version": version, "embeddings": False})


def _misfit(predictions: pd.DataFrame, benchmark: Benchmark) -> str:
    try:
        surplus = match(predictions, benchmark, "wrong").surplus
    except DataError as error:
        return str(error)
    return f"no row {name_some(map(repr, surplus))}" if surplus else ""
