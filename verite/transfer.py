"""Detectors trained on synthetic pairs and tested on a benchmark, over grouped folds.

The paper trains on synthetic sets and tests on VERITE (section 5). Where such a set is
made *from* the benchmark, nothing of a test article may reach training, neither its
image nor its captions. So articles are dealt into splits first, and each set is made
anew in every fold, within the splits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd

from verite.dataset import Dataset
from verite.pairs import TRUE, grouped_folds, to_binary

if TYPE_CHECKING:
    from verite.detector import DetectorClassifier
    from verite.training import Running

__all__ = ["Recipe", "transfer"]

Recipe = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]
"""Makes a training set of the benchmark's pairs and keeps to the splits they are in."""


def transfer(
    base: DetectorClassifier,
    data: Dataset,
    recipes: Mapping[str, Recipe],
    *,
    folds: int,
    seeds: Sequence[int],
    inputs: Sequence[str],
    binary: bool = True,
    **running: Unpack[Running],
) -> pd.DataFrame:
    """Train on each synthetic set; test on its own pairs and on the benchmark's.

    Each fold is tested once, the next one validates, the others train.

    Parameters
    ----------
    data
        The benchmark, with three-class labels and vectors of all that the recipes use.
    recipes
        Training sets by name.
    folds, seeds
        3 folds or more; each seed deals other folds, makes other sets and starts from
        other weights.
    binary
        Train for two classes, with rows that train and validate balanced by dropping
        some at random; otherwise for the classes of the synthetic sets.
    base, inputs, running
        As for :func:`verite.training.cross_validate`.

    Returns
    -------
    pandas.DataFrame
        One row per prediction and test: ``trained`` (the recipe), ``tested``,
        ``inputs``, ``seed``, ``fold``, ``pair_id``, ``group``, ``label``, ``right`` (0
        or 1). ``tested`` is ``"own"``, the synthetic set's own test pairs; ``"all"``,
        the benchmark's pairs of the fold; or, for two classes, the name of a false
        label: the fold's true pairs and those with that label.
    """
    from verite.training import train_and_test

    progress = running.get("progress")
    parts = []
    for seed in seeds:
        held_out = [rows for _, rows in grouped_folds(data.pairs, folds, seed)]
        tables: dict[str, pd.DataFrame] = {}
        tests: dict[str, tuple[str, int, dict[str, set[str]]]] = {}
        for fold in range(folds):
            split = np.full(len(data.pairs), "train", dtype=object)
            split[held_out[(fold + 1) % folds]] = "validation"
            split[held_out[fold]] = "test"
            dealt = data.pairs.assign(split=split)
            real = dealt[dealt["split"] == "test"]
            for at, (name, make) in enumerate(recipes.items()):
                synthetic = make(dealt, np.random.default_rng([seed, fold, at]))
                own = synthetic[synthetic["split"] == "test"]
                rest = synthetic[synthetic["split"] != "test"]
                extra = own[~own["pair_id"].isin(real["pair_id"])]
                key = f"{name}, seed {seed}, fold {fold}"
                tables[key] = pd.concat([rest, real, extra])
                ids = {"own": set(own["pair_id"]), **_tests_on(real, binary)}
                tests[key] = (name, fold, ids)
        predictions = train_and_test(
            base,
            tables,
            data.tokens,
            inputs=inputs,
            seeds=[seed],
            binary=binary,
            **running | {"progress": f"{progress}, seed {seed}" if progress else ""},
        )
        for key, (name, fold, ids) in tests.items():
            part = predictions[predictions["table"] == key]
            truth, prediction = (
                to_binary(part[name]) if binary else part[name].to_numpy()
                for name in ("label", "prediction")
            )
            right = (truth == prediction).astype(float)
            part = part.assign(trained=name, fold=fold, right=right)
            for tested, chosen in ids.items():
                rows = part["pair_id"].isin(chosen)
                parts.append(part[rows].assign(tested=tested))
    columns = ["trained", "tested", "inputs", "seed", "fold"]
    table = pd.concat(parts, ignore_index=True)
    return table[[*columns, "pair_id", "group", "label", "right"]]


def _tests_on(real: pd.DataFrame, binary: bool) -> dict[str, set[str]]:
    """Ids of the benchmark's pairs under each test, by its name."""
    tests = {"all": set(real["pair_id"])}
    if binary:
        true = set(real.loc[real["label"] == TRUE, "pair_id"])
        false = real[real["label"] != TRUE].groupby("label")["pair_id"]
        tests |= {str(label): true | set(ids) for label, ids in false}
    return tests
