"""Detectors trained on made pairs and tested on a benchmark's own, over grouped folds.

The paper trains on synthetic sets and tests on VERITE (section 5). Where such a set is
made *from* the benchmark, nothing of a test article may reach training, neither its
image nor its captions. So articles are dealt into splits first, and each set is made
anew in every fold, within the splits.
"""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from verite.datasets import Dataset
from verite.pairs import TRUE, grouped_folds, to_binary

if TYPE_CHECKING:
    from verite.detector import DetectorClassifier

__all__ = ["Recipe", "transfer"]

Recipe = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]
"""Makes a training set of the benchmark's pairs, whose splits are filled, and keeps to
these splits.
"""


def transfer(
    base: DetectorClassifier,
    data: Dataset,
    recipes: Mapping[str, Recipe],
    *,
    folds: int,
    seeds: Sequence[int],
    inputs: Sequence[str],
    binary: bool = True,
    directory: str | os.PathLike[str] | None = None,
    executor: concurrent.futures.Executor | None = None,
    progress: str = "",
) -> pd.DataFrame:
    """Train on each made set and test on its own pairs and on the benchmark's.

    Each fold is tested once, the next one validates, the others train.

    Parameters
    ----------
    base
        The detector's settings.
    data
        The benchmark, with three-class labels and vectors of all that the recipes use.
    recipes
        Training sets by name.
    folds
        3 or more.
    seeds
        Each deals other folds, makes other sets and starts from other weights.
    binary
        Train for two classes, with rows that train and validate balanced by dropping
        some at random; else for the classes that the made sets have.

    Returns
    -------
    pandas.DataFrame
        One row for each prediction under each test: ``trained`` (the recipe),
        ``tested``, ``inputs``, ``seed``, ``fold``, ``pair_id``, ``group``, ``label``,
        ``right`` (0 or 1). ``tested`` is ``"own"``, the made set's own test pairs;
        ``"all"``, the benchmark's pairs of the fold; or, for two classes, the name of a
        false label: the fold's true pairs and those with that label.
    """
    from verite.training import train_and_test

    tables: dict[str, pd.DataFrame] = {}
    tests: dict[str, dict[str, set[str]]] = {}
    about: dict[str, tuple[str, int, int]] = {}
    for seed in seeds:
        held = [rows for _, rows in grouped_folds(data.pairs, folds, seed)]
        for fold in range(folds):
            split = np.full(len(data.pairs), "train", dtype=object)
            split[held[(fold + 1) % folds]], split[held[fold]] = "validation", "test"
            dealt = data.pairs.assign(split=split)
            real = dealt[dealt["split"] == "test"]
            true = set(real.loc[real["label"] == TRUE, "pair_id"])
            for at, (name, make) in enumerate(recipes.items()):
                made = make(dealt, np.random.default_rng([seed, fold, at]))
                own = made[made["split"] == "test"]
                key = f"{name}, seed {seed}, fold {fold}"
                tables[key] = pd.concat(
                    [
                        made[made["split"] != "test"],
                        real,
                        own[~own["pair_id"].isin(real["pair_id"])],
                    ]
                )
                tests[key] = {"own": set(own["pair_id"]), "all": set(real["pair_id"])}
                if binary:
                    false = real[real["label"] != TRUE].groupby("label")
                    tests[key] |= {
                        str(label): true | set(part["pair_id"]) for label, part in false
                    }
                about[key] = (name, seed, fold)
    answers = []
    for seed in seeds:
        chosen = {key: table for key, table in tables.items() if about[key][1] == seed}
        told = f"{progress}, seed {seed}" if progress else ""
        found = train_and_test(
            base,
            chosen,
            data.tokens,
            inputs=inputs,
            seeds=[seed],
            binary=binary,
            directory=directory,
            executor=executor,
            progress=told,
        )
        for table, part in found.groupby("table", sort=False):
            key = str(table)
            name, _, fold = about[key]
            truth, given = (
                (to_binary(part[name]) if binary else part[name].to_numpy())
                for name in ("label", "prediction")
            )
            right = pd.Series(truth == given, part.index).astype(float)
            for tested, ids in tests[key].items():
                rows = part["pair_id"].isin(ids)
                answers.append(
                    part[rows].assign(
                        trained=name, tested=tested, fold=fold, right=right[rows]
                    )
                )
    columns = [
        "trained",
        "tested",
        "inputs",
        "seed",
        "fold",
        "pair_id",
        "group",
        "label",
        "right",
    ]
    return pd.DataFrame(pd.concat(answers, ignore_index=True)[columns])
