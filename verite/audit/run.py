"""Running probes: cross-validation, permutation tests, and what explains what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from verite.audit.features import Features, Matrix
from verite.audit.fitting import cross_validate, interval
from verite.audit.permutation import Items
from verite.audit.probes import BROAD, Probe
from verite.audit.reading import Benchmark
from verite.pairs import grouped_folds

__all__ = ["ALPHA", "Plan", "run_probe", "run_probes", "with_holm"]

ALPHA = 0.01
"""A probe fires where its p-value is below this and its interval lies above chance."""

_MOST_CARRIERS = 6


@dataclass(frozen=True)
class Plan:
    """How probes are fitted: see :func:`verite.audit.audit`."""

    folds: int = 5
    seed: int = 0
    resamples: int = 2000
    permutations: int = 1000


def run_probe(
    benchmark: Benchmark, probe: Probe, plan: Plan, beyond: Sequence[Probe] = ()
) -> dict[str, Any] | str:
    """Fit a probe under grouped cross-validation.

    Folds are drawn by group, without looking at labels, so that permuted labels meet
    the same folds.

    Parameters
    ----------
    beyond
        Other probes of the same rows and keys: what their features say, linearly, is
        taken out first.

    Returns
    -------
    dict or str
        Its figures, or why it cannot be fitted.
    """
    rows = np.flatnonzero(probe.rows)
    pairs = benchmark.pairs.iloc[rows]
    label, labels = pd.factorize(pairs["label"], sort=True)
    group = pd.factorize(pairs["group"])[0]
    folds = min(plan.folds, group.max() + 1) if len(rows) else 0
    if len(labels) < 2:
        return "all pairs have one label"
    if folds < 2:
        return "all pairs are of one group"
    items = Items(probe.keys[rows], group, label, len(labels))
    at = pd.Index(rows[items.first])
    features = probe.build(at)
    if not features.names or not _varies(features.matrix):
        return "nothing varies"
    table = pd.DataFrame({"group": items.group.astype(str), "label": "any"})
    fold = np.empty(len(items), dtype=int)
    for number, (_, test) in enumerate(grouped_folds(table, folds, plan.seed)):
        fold[test] = number
    names = [probe.name, *(other.name for other in beyond)]
    rng = np.random.default_rng([plan.seed, *"".join(names).encode()])
    fit = cross_validate(
        features.matrix,
        items,
        fold,
        permutations=plan.permutations,
        rng=rng,
        known=[other.build(at).matrix for other in beyond],
    )
    right, before, joint = (
        items.counts * (guess[:, None] == np.arange(len(labels)))
        for guess in (fit.predicted, fit.before, fit.joint)
    )
    draws: dict[str, Any] = {"resamples": plan.resamples, "rng": rng}
    bounds = interval(right, items.counts, items.group, **draws)
    gains = interval(joint - before, items.counts, items.group, **draws)[:, 0]
    total = items.counts.sum(axis=0)
    return {
        "probe": probe.name,
        "modality": probe.modality,
        "accuracy": float(right.sum() / total.sum()),
        "low": bounds[0, 0],
        "high": bounds[0, 1],
        "chance": float(total.max() / total.sum()),
        "balanced_accuracy": float((right.sum(axis=0) / total).mean()),
        "balanced_low": bounds[1, 0],
        "balanced_high": bounds[1, 1],
        "balanced_chance": 1 / len(labels),
        "p_value": fit.p_value,
        "permutations": fit.permutations,
        "n": len(rows),
        "items": len(items),
        "groups": int(group.max() + 1),
        "carriers": _carriers(features, fit.weights, list(labels)),
        "gains": bool((gains > 0).any()),
    }


def run_probes(
    benchmark: Benchmark,
    probes: Sequence[Probe],
    plan: Plan,
    step: Callable[[str], None] = lambda _: None,
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Fit probes in turn, and explain broad ones by narrow ones.

    A broad probe that fires beside narrow ones of its modality is fitted again to what
    these do not say. It then fires only if that, too, predicts labels, and if both
    together are ahead of the narrow ones alone: the 95 % interval of the paired
    difference, of accuracy or balanced accuracy, lies above zero. Otherwise
    ``explained_by`` names the narrow ones.

    Parameters
    ----------
    step
        Called with the name of each probe before it is fitted.

    Returns
    -------
    list of dict, dict
        The figures of each, with ``fires`` and ``explained_by``; why others were
        skipped.
    """
    results: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for probe in probes:
        step(probe.name)
        result = run_probe(benchmark, probe, plan)
        if isinstance(result, str):
            skipped[probe.name] = result
            continue
        fires = probe.modality != "both" and _fires(result)
        firing = {
            row["probe"]
            for row in results
            if row["fires"] and row["modality"] == probe.modality
        }
        narrow = [p for p in probes if p.name in firing and p.name not in BROAD]
        explained_by: list[str] = []
        if fires and probe.name in BROAD and narrow:
            rest = run_probe(benchmark, probe, plan, narrow)
            if isinstance(rest, str) or not (rest["gains"] and _fires(rest)):
                fires, explained_by = False, [other.name for other in narrow]
        results.append(result | {"fires": fires, "explained_by": explained_by})
    return results, skipped


def with_holm(results: pd.DataFrame) -> pd.DataFrame:
    """Add Holm's adjusted p-values over all probes.

    They say how sure one can be that *any* of the probes predicts labels, and are for
    reading: firing does not use them.

    >>> with_holm(pd.DataFrame({"p_value": [0.002, 0.5]}))["holm"].tolist()
    [0.004, 0.5]
    """
    p = results["p_value"].fillna(1.0).to_numpy()
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, steps)
    return results.assign(holm=adjusted)


def _fires(result: Mapping[str, Any]) -> bool:
    above = (
        result["low"] > result["chance"]
        or result["balanced_low"] > result["balanced_chance"]
    )
    return bool(result["p_value"] < ALPHA and above)


def _varies(matrix: Matrix) -> bool:
    if sparse.issparse(matrix):
        return bool((matrix.max(axis=0) - matrix.min(axis=0)).nnz)
    return bool((matrix.max(axis=0) > matrix.min(axis=0)).any())


def _carriers(
    features: Features, weights: np.ndarray, labels: Sequence[str]
) -> list[dict[str, Any]]:
    """The features that move scores most: weight times standard deviation.

    A negative weight speaks against the label.
    """
    matrix = features.matrix
    if features.names[0].startswith("dimension "):
        return []
    if sparse.issparse(matrix):
        square = np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel()
    else:
        square = (matrix.astype(float) ** 2).mean(axis=0)
    mean = np.asarray(matrix.mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    effect = (weights - weights.mean(axis=1, keepdims=True)) * spread[:, None]
    # Of two labels, a feature against one speaks for the other.
    signed = effect if len(labels) == 2 else np.abs(effect)
    strongest = np.argsort(-np.abs(effect).max(axis=1), kind="stable")[:_MOST_CARRIERS]
    carriers = []
    for at in strongest:
        label = int(signed[at].argmax())
        if signed[at, label] > 0:
            weight = float(effect[at, label])
            name = features.names[at]
            carriers.append({"feature": name, "label": labels[label], "weight": weight})
    return carriers
