"""Training detectors: the paper's grid, and cross-validation over groups.

The paper (section 4.3) tries L ∈ {1, 4}, f ∈ {128, 1024} and h ∈ {2, 8} for each input
and keeps the point that is best on in-distribution validation. Every point is seeded by
itself here, so that its result does not depend on its place in the grid.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import inspect
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from verite import detector
from verite.blocks import content_key, run_blocks
from verite.detector import DetectorClassifier
from verite.errors import DataError, ParameterError, name_some
from verite.pairs import SPLITS, downsample, grouped_folds, to_binary

__all__ = ["PAPER_GRID", "cross_validate", "grid_search", "train_and_test"]

PAPER_GRID: tuple[dict[str, int], ...] = tuple(
    {"layers": layers, "feedforward": feedforward, "heads": heads}
    for layers, feedforward, heads in itertools.product((1, 4), (128, 1024), (2, 8))
)
"""The eight points of section 4.3, the smallest first."""


def grid_search(
    base: DetectorClassifier,
    train: tuple[np.ndarray, np.ndarray],
    validation: tuple[np.ndarray, np.ndarray],
    *,
    grid: Sequence[Mapping[str, Any]] = PAPER_GRID,
    directory: str | os.PathLike[str],
    executor: concurrent.futures.Executor | None = None,
    progress: bool = False,
) -> tuple[DetectorClassifier, pd.DataFrame]:
    """Train ``base`` at every point of ``grid``.

    Return the best on validation, and the score of each.

    Finished points are kept in ``directory``, so an interrupted grid goes on where it
    stopped. A point counts as finished only for the same data, parameters and code.

    Returns
    -------
    best : DetectorClassifier
        Highest validation accuracy; of equals the lowest validation loss, then the
        first of the grid.
    scores : pandas.DataFrame
        One row a point: its parameters, ``accuracy``, ``loss``, ``epoch``, ``file``.
    """
    if not grid:
        raise ParameterError("expected at least one grid point, found none.")
    data = content_key(*train, *validation)
    blocks = {}
    for point in grid:
        settings = {**base.get_params(), **point, "progress": False}
        key = content_key(data, _without_placement(settings), _code())
        blocks[key] = (
            settings,
            train,
            validation,
            str(Path(directory) / f"{key}.safetensors"),
        )
    results = run_blocks(
        _train_point,
        blocks,
        directory=directory,
        executor=executor,
        progress="grid" if progress else "",
    )
    files = [arguments[3] for arguments in blocks.values()]
    scores = pd.DataFrame(
        [
            {**point, **result, "file": file}
            for point, result, file in zip(grid, results.values(), files, strict=True)
        ]
    )
    order = scores.sort_values(
        ["accuracy", "loss"], ascending=[False, True], kind="stable"
    ).index
    return (
        DetectorClassifier.load(scores.loc[order[0], "file"], device=base.device),
        scores,
    )


def cross_validate(
    base: DetectorClassifier,
    pairs: pd.DataFrame,
    vectors: np.ndarray,
    *,
    inputs: Sequence[str],
    folds: int,
    seeds: Sequence[int],
    binary: bool = False,
    grid: Sequence[Mapping[str, Any]] = ({},),
    directory: str | os.PathLike[str] | None = None,
    executor: concurrent.futures.Executor | None = None,
    progress: str = "",
) -> pd.DataFrame:
    """Predict every pair by detectors that saw no pair of its group.

    Each fold is held out once; the next one is the validation set, on which the epoch
    and the grid point are chosen; the others are for training. A seed decides the
    folds, the weights and the batches, so the spread over seeds holds all of them.

    Parameters
    ----------
    pairs
        A pair table with three-class labels.
    vectors
        ``(len(pairs), 2, m)``, as :meth:`verite.datasets.Dataset.tokens` gives them for
        ``pairs``.
    inputs
        Which of :data:`verite.detector.INPUTS`.
    binary
        Train on ``true`` against ``misinformation``, classes balanced by down-sampling
        the rows that train and validate, never those that test (paper, section 4.1).
        ``prediction`` then holds binary labels; ``label`` always holds the table's own.
    grid
        Points among which each fold's validation set chooses.

    Returns
    -------
    pandas.DataFrame
        One row for each input, seed and pair: ``inputs``, ``seed``, ``fold``,
        ``pair_id``, ``group``, ``label``, ``prediction``, ``epoch``, and the chosen
        point as text in ``point``.

    Raises
    ------
    ParameterError
        Fewer than three folds.
    """
    if folds < 3:
        raise ParameterError(
            "expected at least 3 folds (one to test, one to validate, the rest to"
            f" train), found {folds}."
        )
    if len(pairs) != len(vectors):
        raise DataError(
            f"{len(pairs):,} pairs beside {len(vectors):,} vectors. Make them with"
            " Dataset.tokens(pairs)."
        )
    data = content_key(vectors, pairs["label"].to_numpy(object))
    blocks: dict[str, tuple[Any, ...]] = {}
    places: dict[str, tuple[str, int, int]] = {}
    for seed in seeds:
        held = [rows for _, rows in grouped_folds(pairs, folds, seed)]
        for what, fold in itertools.product(inputs, range(folds)):
            settings = {
                **base.get_params(),
                "inputs": what,
                "random_state": seed,
                "progress": False,
            }
            points = [{**settings, **point} for point in grid]
            rows = _roles(pairs, held, fold, seed, binary)
            key = content_key(
                data,
                *rows.values(),
                [_without_placement(point) for point in points],
                binary,
                _code(),
            )
            blocks[key] = (
                points,
                vectors,
                pairs["label"].to_numpy(object),
                rows,
                binary,
            )
            places[key] = (what, seed, fold)
    results = run_blocks(
        _train_fold, blocks, directory=directory, executor=executor, progress=progress
    )
    parts = []
    for key, result in results.items():
        what, seed, fold = places[key]
        rows = blocks[key][3]["test"]
        found = pairs.iloc[rows][["pair_id", "group", "label"]].assign(
            inputs=what,
            seed=seed,
            fold=fold,
            prediction=result["prediction"],
            epoch=result["epoch"],
            point=str(grid[result["point"]]),
        )
        parts.append(found.assign(position=rows))
    table = pd.concat(parts)
    table["order"] = table["inputs"].map({what: at for at, what in enumerate(inputs)})
    table = table.sort_values(["order", "seed", "position"], kind="stable").reset_index(
        drop=True
    )
    columns = [
        "inputs",
        "seed",
        "fold",
        "pair_id",
        "group",
        "label",
        "prediction",
        "epoch",
        "point",
    ]
    return pd.DataFrame(table[columns])


def train_and_test(
    base: DetectorClassifier,
    tables: Mapping[str, pd.DataFrame],
    tokens: Callable[[pd.DataFrame], np.ndarray],
    *,
    inputs: Sequence[str],
    seeds: Sequence[int],
    binary: bool = False,
    grid: Sequence[Mapping[str, Any]] = ({},),
    directory: str | os.PathLike[str] | None = None,
    executor: concurrent.futures.Executor | None = None,
    progress: str = "",
) -> pd.DataFrame:
    """Train on each table's training split, select on its validation split, and predict
    its test split.

    Parameters
    ----------
    tables
        Pair tables by name, each with rows of all three splits. The test rows may be of
        another data set than those that train: that is how a detector trained on made
        pairs is tested on real ones.
    tokens
        What gives the vectors of a table's rows, ``(len(rows), 2, m)``, such as
        :meth:`verite.datasets.Dataset.tokens`.
    seeds
        Each decides weights and batches, and what is dropped to balance classes where
        ``binary`` is true.
    inputs, binary, grid
        As for :func:`cross_validate`.

    Returns
    -------
    pandas.DataFrame
        One row for each table, input, seed and test pair: ``table``, ``inputs``,
        ``seed``, ``pair_id``, ``group``, ``label``, ``prediction``, ``epoch``,
        ``point``.

    Raises
    ------
    DataError
        A table has no row of one of the splits.
    """
    blocks: dict[str, tuple[Any, ...]] = {}
    places: list[tuple[str, str, int, str]] = []
    for name, table in tables.items():
        found = {split: np.flatnonzero(table["split"] == split) for split in SPLITS}
        if empty := [split for split, rows in found.items() if len(rows) == 0]:
            raise DataError(
                f"{name}: expected pairs of all three splits, found none of"
                f" {name_some(empty)}. Use grouped_split() to make them."
            )
        vectors, labels = tokens(table), table["label"].to_numpy(object)
        for what, seed in itertools.product(inputs, seeds):
            points = [
                {
                    **base.get_params(),
                    "inputs": what,
                    "random_state": seed,
                    "progress": False,
                    **point,
                }
                for point in grid
            ]
            rows = {
                **found,
                **(_balanced(table["label"], found, seed) if binary else {}),
            }
            key = content_key(
                vectors,
                labels,
                *rows.values(),
                [_without_placement(point) for point in points],
                binary,
                _code(),
            )
            blocks[key] = (points, vectors, labels, rows, binary)
            places.append((name, what, seed, key))
    results = run_blocks(
        _train_fold, blocks, directory=directory, executor=executor, progress=progress
    )
    parts = []
    for name, what, seed, key in places:
        result, tested = (
            results[key],
            tables[name].loc[
                tables[name]["split"] == "test", ["pair_id", "group", "label"]
            ],
        )
        told = {
            "prediction": result["prediction"],
            "epoch": result["epoch"],
            "point": str(grid[result["point"]]),
        }
        parts.append(tested.assign(table=name, inputs=what, seed=seed, **told))
    columns = [
        "table",
        "inputs",
        "seed",
        "pair_id",
        "group",
        "label",
        "prediction",
        "epoch",
        "point",
    ]
    return pd.DataFrame(pd.concat(parts, ignore_index=True)[columns])


def _roles(
    pairs: pd.DataFrame, held: Sequence[np.ndarray], fold: int, seed: int, binary: bool
) -> dict[str, np.ndarray]:
    """Row positions that train, validate and test.

    Balanced but for the test where classes are joined.
    """
    test, validation = held[fold], held[(fold + 1) % len(held)]
    train = np.setdiff1d(np.arange(len(pairs)), np.concatenate([test, validation]))
    rows = {"train": train, "validation": validation, "test": test}
    return {**rows, **(_balanced(pairs["label"], rows, seed) if binary else {})}


def _balanced(
    labels: pd.Series, rows: Mapping[str, np.ndarray], seed: int
) -> dict[str, np.ndarray]:
    """Rows that train and validate, as many of either binary class."""
    two = to_binary(labels.to_numpy(object))
    tables = {
        role: pd.DataFrame({"label": two[rows[role]], "row": rows[role]})
        for role in ("train", "validation")
    }
    return {
        role: downsample(table, seed)["row"].to_numpy()
        for role, table in tables.items()
    }


def _train_point(
    settings: dict[str, Any],
    train: tuple[np.ndarray, np.ndarray],
    validation: tuple[np.ndarray, np.ndarray],
    file: str,
) -> dict[str, Any]:
    fitted = DetectorClassifier(**settings).fit(*train, validation)
    fitted.save(file)
    return _best(fitted)


def _train_fold(
    points: Sequence[dict[str, Any]],
    vectors: np.ndarray,
    labels: np.ndarray,
    rows: Mapping[str, np.ndarray],
    binary: bool,
) -> dict[str, Any]:
    y = to_binary(labels) if binary else labels
    train, validation = (
        (vectors[rows[role]], y[rows[role]]) for role in ("train", "validation")
    )
    with _one_thread():
        fitted = [
            DetectorClassifier(**settings).fit(*train, validation)
            for settings in points
        ]
    scores = [_best(one) for one in fitted]
    chosen = min(
        range(len(fitted)),
        key=lambda at: (-scores[at]["accuracy"], scores[at]["loss"], at),
    )
    return {
        **scores[chosen],
        "point": chosen,
        "prediction": [
            str(label) for label in fitted[chosen].predict(vectors[rows["test"]])
        ],
    }


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Sums then do not depend on where a fold is trained.

    In a pool's process, or in one that has all cores.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _best(fitted: DetectorClassifier) -> dict[str, Any]:
    entry = fitted.history_[fitted.best_epoch_ - 1]
    return {
        "accuracy": entry["validation accuracy"],
        "loss": entry["validation loss"],
        "epoch": fitted.best_epoch_,
    }


def _without_placement(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that change the result.

    Where it is computed does not belong to a block's name.
    """
    return {
        name: value
        for name, value in settings.items()
        if name not in {"device", "progress"}
    }


@functools.cache
def _code() -> str:
    """Digest of the code whose change makes finished blocks stale."""
    return content_key(
        inspect.getsource(detector),
        Path(__file__).read_text(encoding="utf8"),
        torch.__version__,
    )
