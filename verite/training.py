"""Training detectors: the paper's grid, grouped cross-validation, and given splits.

The paper (section 4.3) tries L ∈ {1, 4}, f ∈ {128, 1024} and h ∈ {2, 8} for each input
and keeps the point that is best on in-distribution validation. Here every point has a
seed of its own, so that its result does not depend on its place in the grid.

All three functions are lists of blocks (:mod:`verite.blocks`): with a ``directory``,
finished blocks are kept and a stopped run continues. A block is reused only for the
same data, parameters and code.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
import pandas as pd
import torch

from verite import detector
from verite.blocks import content_key, run_blocks
from verite.detector import DetectorClassifier, Vectors
from verite.errors import DataError, ParameterError, name_some
from verite.pairs import SPLITS, downsample, grouped_folds, to_binary
from verite.provenance import code_digest

__all__ = ["PAPER_GRID", "Running", "cross_validate", "grid_search", "train_and_test"]

PAPER_GRID: tuple[dict[str, int], ...] = tuple(
    {"layers": layers, "feedforward": feedforward, "heads": heads}
    for layers, feedforward, heads in itertools.product((1, 4), (128, 1024), (2, 8))
)
"""The eight points of section 4.3, the smallest first."""


class Running(TypedDict, total=False):
    """How blocks run: the options of :func:`verite.blocks.run_blocks`."""

    directory: str | os.PathLike[str] | None
    executor: concurrent.futures.Executor | None
    progress: str


class _Job(NamedTuple):
    """One detector to train and test; ``names`` has its inputs and seed."""

    names: dict[str, Any]
    pairs: pd.DataFrame
    vectors: np.ndarray
    data: str  # digest of vectors and labels
    rows: dict[str, np.ndarray]  # row positions of each split


def grid_search(
    base: DetectorClassifier,
    train: Vectors,
    validation: Vectors,
    *,
    grid: Sequence[Mapping[str, Any]] = PAPER_GRID,
    directory: str | os.PathLike[str],
    executor: concurrent.futures.Executor | None = None,
    progress: bool = False,
) -> tuple[DetectorClassifier, pd.DataFrame]:
    """Train ``base`` at every point of ``grid`` and keep the best on validation.

    Returns
    -------
    best : DetectorClassifier
        Highest validation accuracy; of equals the lowest validation loss, then the
        first of the grid.
    scores : pandas.DataFrame
        One row per point: its parameters, ``accuracy``, ``loss``, ``epoch``, ``file``.
    """
    if not grid:
        raise ParameterError("expected at least one grid point, found none.")
    data = content_key(*train, *validation)
    blocks, files = {}, []
    for point in grid:
        settings = {**base.get_params(), **point, "progress": False}
        key = content_key(data, _without_placement(settings), _code())
        files.append(str(Path(directory) / f"{key}.safetensors"))
        blocks[key] = (settings, train, validation, files[-1])
    results = run_blocks(
        _train_point,
        blocks,
        directory=directory,
        executor=executor,
        progress="grid" if progress else "",
    )
    rows = zip(grid, results.values(), files, strict=True)
    scores = pd.DataFrame(
        [{**point, **result, "file": file} for point, result, file in rows]
    )
    best = _best(list(results.values()))
    return DetectorClassifier.load(files[best], device=base.device), scores


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
    **running: Unpack[Running],
) -> pd.DataFrame:
    """Predict every pair by detectors that saw no pair of its group.

    Each fold is held out once; the next one is the validation set, which chooses the
    epoch and the grid point; the others are for training. A seed decides the folds, the
    weights and the batches, so the spread over seeds includes all three.

    Parameters
    ----------
    pairs, vectors
        A pair table with three-class labels, and ``(len(pairs), 2, m)`` from
        :meth:`verite.dataset.Dataset.tokens`.
    inputs, folds
        Any of :data:`verite.detector.INPUTS`; 3 folds or more.
    binary
        Train on ``true`` against ``misinformation``, classes balanced by down-sampling
        the rows that train and validate, never those that test (paper, section 4.1).
        ``prediction`` is then binary; ``label`` is always the table's own.
    grid
        Points among which each fold's validation set chooses.

    Returns
    -------
    pandas.DataFrame
        One row per input, seed and pair: ``inputs``, ``seed``, ``fold``, ``pair_id``,
        ``group``, ``label``, ``prediction``, ``epoch``, and the grid ``point`` as text.
    """
    if folds < 3:
        raise ParameterError(
            f"expected at least 3 folds (test, validation, training), found {folds}."
        )
    if len(pairs) != len(vectors):
        raise DataError(
            f"{len(pairs):,} pairs beside {len(vectors):,} vectors. Make them with"
            " Dataset.tokens(pairs)."
        )
    data = content_key(vectors, pairs["label"].to_numpy(object))
    jobs = []
    for seed in seeds:
        held_out = [rows for _, rows in grouped_folds(pairs, folds, seed)]
        for kind, fold in itertools.product(inputs, range(folds)):
            test, validation = held_out[fold], held_out[(fold + 1) % folds]
            used = np.concatenate([test, validation])
            train = np.setdiff1d(np.arange(len(pairs)), used)
            rows = {"train": train, "validation": validation, "test": test}
            names = {"inputs": kind, "seed": seed, "fold": fold, "position": test}
            jobs.append(_Job(names, pairs, vectors, data, rows))
    table = _run(base, jobs, grid, binary, running)
    order = {kind: at for at, kind in enumerate(inputs)}
    table = table.assign(order=table["inputs"].map(order))
    table = table.sort_values(
        ["order", "seed", "position"], kind="stable", ignore_index=True
    )
    columns = ["inputs", "seed", "fold", "pair_id", "group", "label"]
    return table[[*columns, "prediction", "epoch", "point"]]


def train_and_test(
    base: DetectorClassifier,
    tables: Mapping[str, pd.DataFrame],
    tokens: Callable[[pd.DataFrame], np.ndarray],
    *,
    inputs: Sequence[str],
    seeds: Sequence[int],
    binary: bool = False,
    grid: Sequence[Mapping[str, Any]] = ({},),
    **running: Unpack[Running],
) -> pd.DataFrame:
    """Train, select and test on the three splits of each table.

    Parameters
    ----------
    tables
        Pair tables by name, each with rows of all three splits. The test rows may be of
        another data set: so a detector trained on synthetic pairs is tested on real
        ones.
    tokens
        Gives the vectors of a table's rows, such as
        :meth:`verite.dataset.Dataset.tokens`.
    inputs, seeds, binary, grid
        As for :func:`cross_validate`.

    Returns
    -------
    pandas.DataFrame
        As :func:`cross_validate` does, with ``table`` in the place of ``fold``.
    """
    jobs = []
    for name, table in tables.items():
        rows = {split: np.flatnonzero(table["split"] == split) for split in SPLITS}
        if empty := [split for split in SPLITS if len(rows[split]) == 0]:
            raise DataError(
                f"{name}: expected pairs of all three splits, found none of"
                f" {name_some(empty)}. Use grouped_split() to make them."
            )
        vectors = tokens(table)
        data = content_key(vectors, table["label"].to_numpy(object))
        for kind, seed in itertools.product(inputs, seeds):
            names = {"table": name, "inputs": kind, "seed": seed}
            jobs.append(_Job(names, table, vectors, data, rows))
    columns = ["table", "inputs", "seed", "pair_id", "group", "label"]
    result = _run(base, jobs, grid, binary, running)
    return result[[*columns, "prediction", "epoch", "point"]]


def _run(
    base: DetectorClassifier,
    jobs: Sequence[_Job],
    grid: Sequence[Mapping[str, Any]],
    binary: bool,
    running: Running,
) -> pd.DataFrame:
    """Train one detector per job; predict its test rows, in the order of the jobs."""
    blocks, keys = {}, []
    for job in jobs:
        seed = job.names["seed"]
        settings = {"inputs": job.names["inputs"], "random_state": seed}
        settings = {**base.get_params(), **settings, "progress": False}
        points = [{**settings, **point} for point in grid]
        labels, rows = job.pairs["label"].to_numpy(object), dict(job.rows)
        if binary:
            labels = to_binary(labels)
            for split in ("train", "validation"):
                rows[split] = _balanced(labels, rows[split], seed)
        computed = [_without_placement(point) for point in points]
        key = content_key(job.data, *rows.values(), computed, binary, _code())
        blocks[key] = (points, job.vectors, labels, rows)
        keys.append(key)
    results = run_blocks(_train_fold, blocks, **running)
    parts = []
    for job, key in zip(jobs, keys, strict=True):
        tested = job.pairs.iloc[job.rows["test"]][["pair_id", "group", "label"]]
        tested = tested.assign(**job.names, point=str(grid[results[key]["point"]]))
        columns = {name: results[key][name] for name in ("prediction", "epoch")}
        parts.append(tested.assign(**columns))
    return pd.concat(parts, ignore_index=True)


def _balanced(labels: np.ndarray, rows: np.ndarray, seed: int) -> np.ndarray:
    """As many rows of either class."""
    table = pd.DataFrame({"label": labels[rows], "row": rows})
    return downsample(table, seed)["row"].to_numpy()


def _train_point(
    settings: dict[str, Any], train: Vectors, validation: Vectors, file: str
) -> dict[str, Any]:
    fitted = DetectorClassifier(**settings).fit(*train, validation)
    fitted.save(file)
    return _best_epoch(fitted)


def _train_fold(
    points: Sequence[dict[str, Any]],
    vectors: np.ndarray,
    labels: np.ndarray,
    rows: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    train, validation = (
        (vectors[rows[split]], labels[rows[split]]) for split in ("train", "validation")
    )
    with _one_thread():
        fitted = [DetectorClassifier(**p).fit(*train, validation) for p in points]
    scores = [_best_epoch(model) for model in fitted]
    best = _best(scores)
    prediction = fitted[best].predict(vectors[rows["test"]])
    return {**scores[best], "point": best, "prediction": [*map(str, prediction)]}


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Make sums independent of the number of cores of the process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _best(scores: Sequence[Mapping[str, Any]]) -> int:
    """Position of the highest accuracy; of equals the lowest loss, then the first."""
    ranks = [(-score["accuracy"], score["loss"]) for score in scores]
    return ranks.index(min(ranks))


def _best_epoch(fitted: DetectorClassifier) -> dict[str, Any]:
    entry = fitted.history_[fitted.best_epoch_ - 1]
    scores = {name: entry[f"validation {name}"] for name in ("accuracy", "loss")}
    return {**scores, "epoch": fitted.best_epoch_}


def _without_placement(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that change the result, not those of where it is computed."""
    skipped = {"device", "progress"}
    return {name: value for name, value in settings.items() if name not in skipped}


@functools.cache
def _code() -> str:
    """Digest of the code whose change makes finished blocks stale."""
    files = (detector.__file__, __file__)
    return content_key([code_digest(Path(file)) for file in files], torch.__version__)
