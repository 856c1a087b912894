"""Shortcut probes: what is told of labels by length, by words, by ids, by one
modality's embeddings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from verite.audit.alignment import similarities
from verite.audit.features import (
    TEXT_PROBES,
    Features,
    Matrix,
    binned,
    categories,
    column_features,
    id_features,
)
from verite.audit.fitting import cross_validate, interval
from verite.audit.images import ImageFile
from verite.audit.permuting import Items
from verite.audit.reading import Benchmark
from verite.errors import ParameterError
from verite.pairs import grouped_folds

__all__ = [
    "ALPHA",
    "BROAD",
    "PROBES",
    "Probe",
    "list_probes",
    "run_probe",
    "run_probes",
    "with_holm",
]

ALPHA = 0.01
"""A probe fires where its p-value is below this and its interval lies above chance."""

PROBES = (
    *TEXT_PROBES,
    "text embedding",
    "image embedding",
    "image files",
    "ids",
    "columns",
    "similarity",
)
"""Names of families of probes.

``columns`` stands for one probe of each further column.
"""

BROAD = ("TF-IDF", "text embedding", "image embedding")
"""Probes that see all of a modality.

Where narrow ones fire, these fire only for what they tell beyond them.
"""

MOST_COLUMNS = 20
_CARRIERS = 6


class Probe(NamedTuple):
    """One probe of one benchmark, ready to be fitted."""

    name: str
    modality: str
    keys: np.ndarray
    """What each row holds: rows with one key (in one group) are one item."""
    rows: np.ndarray
    """Rows that can be looked at."""
    build: Callable[[pd.Index], Features]
    """Features for the items whose rows are given."""


def list_probes(
    benchmark: Benchmark, files: dict[str, ImageFile], chosen: Sequence[str]
) -> Iterator[Probe]:
    """Probes that a benchmark has something for, in the order of :data:`PROBES`.

    Raises
    ------
    ParameterError
        A probe is not known.
    """
    unknown = [name for name in chosen if name not in PROBES]
    if unknown:
        raise ParameterError(
            f"no probe is called {', '.join(map(repr, unknown))}. There are:"
            f" {', '.join(PROBES)}."
        )
    pairs = benchmark.pairs
    every, has_image = (
        np.ones(len(pairs), dtype=bool),
        (pairs["image_id"] != "").to_numpy(),
    )
    captions, images, numbers = (
        column.to_numpy(dtype=object)
        for column in (
            pairs["caption"],
            pairs["image_id"],
            pd.Series(range(len(pairs))),
        )
    )
    for name, make in TEXT_PROBES.items():
        yield Probe(
            name,
            "text",
            captions,
            every,
            lambda at, make=make: _by_value(captions[at], make),
        )  # type: ignore[misc]
    if (texts := benchmark.texts) is not None:
        yield Probe(
            "text embedding",
            "text",
            captions,
            every,
            lambda at: _vectors(texts.rows(pairs["text_id"].iloc[at])),
        )
    if (vectors := benchmark.images) is not None:
        yield Probe(
            "image embedding",
            "image",
            images,
            has_image,
            lambda at: _vectors(vectors.rows(images[at])),
        )
    if files:
        known = pairs["image_id"].isin(list(files)).to_numpy()
        yield Probe(
            "image files",
            "source",
            images,
            known,
            lambda at: _file_features([files[one] for one in images[at]]),
        )
    if benchmark.ids:
        yield Probe(
            "ids",
            "source",
            numbers,
            every,
            lambda at: id_features(
                {name: pairs[name].iloc[at].tolist() for name in benchmark.ids}
            ),
        )
    for name in benchmark.source.columns[:MOST_COLUMNS]:
        values = benchmark.source[name].to_numpy(dtype=object)
        yield Probe(
            f"column {name}",
            "source",
            numbers,
            every,
            lambda at, values=values: column_features(values[at]),
        )  # type: ignore[misc]
    if (
        vectors is not None
        and texts is not None
        and vectors.dimensions == texts.dimensions
        and has_image.any()
    ):
        yield Probe(
            "similarity",
            "both",
            numbers,
            has_image,
            lambda at: binned(similarities(benchmark, at), "cosine"),
        )


def is_chosen(probe: Probe, chosen: Sequence[str]) -> bool:
    """Whether a probe belongs to one of the families that were named."""
    return ("columns" if probe.name.startswith("column ") else probe.name) in chosen


def run_probe(
    benchmark: Benchmark,
    probe: Probe,
    *,
    folds: int,
    seed: int,
    resamples: int,
    permutations: int,
    beyond: Sequence[Probe] = (),
) -> dict[str, Any] | str:
    """Fit a probe under grouped cross-validation.

    What it reaches, or why it cannot be fitted.

    Folds are drawn by group, without looking at labels, so that permuted labels meet
    the same folds.

    Parameters
    ----------
    beyond
        Other probes of the same rows and keys: what their features say, linearly, is
        taken out first.
    """
    rows = np.flatnonzero(probe.rows)
    pairs = benchmark.pairs.iloc[rows]
    label, names = pd.factorize(pairs["label"], sort=True)
    group = pd.factorize(pairs["group"])[0]
    count = min(folds, group.max() + 1) if len(rows) else 0
    if len(names) < 2:
        return "all pairs have one label"
    if count < 2:
        return "all pairs are of one group"
    items = Items(probe.keys[rows], group, label, len(names))
    looked_at = pd.Index(rows[items.first])
    found = probe.build(looked_at)
    known = [one.build(looked_at).matrix for one in beyond]
    if not found.names or not _varies(found.matrix):
        return "nothing varies"
    table = pd.DataFrame({"group": items.group.astype(str), "label": "any"})
    fold = np.empty(len(items), dtype=int)
    for number, (_, out) in enumerate(grouped_folds(table, count, seed)):
        fold[out] = number
    rng = np.random.default_rng(
        [
            seed,
            *probe.name.encode(),
            *(byte for one in beyond for byte in one.name.encode()),
        ]
    )
    fit = cross_validate(
        found.matrix,
        items,
        fold,
        count,
        permutations=permutations,
        rng=rng,
        known=known,
    )
    right, before, joint = (
        items.counts * (guess[:, None] == np.arange(len(names)))
        for guess in (fit.predicted, fit.before, fit.joint)
    )
    bounds = interval(right, items.counts, items.group, resamples=resamples, rng=rng)
    gained = interval(
        joint - before, items.counts, items.group, resamples=resamples, rng=rng
    )[:, 0]
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
        "balanced_chance": 1 / len(names),
        "p_value": fit.p_value,
        "permutations": fit.permutations,
        "n": len(rows),
        "items": len(items),
        "groups": int(group.max() + 1),
        "carriers": _carriers(found, fit.weights, list(names)),
        "gains": bool((gained > 0).any()),
    }


def run_probes(
    benchmark: Benchmark,
    probes: Sequence[Probe],
    say: Callable[[str], None],
    *,
    folds: int,
    seed: int,
    resamples: int,
    permutations: int,
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Fit probes in turn; a broad one that fires beside narrow ones of its modality is
    fitted again to what these do not say.

    It then fires only if it still tells labels, and if both together are ahead of the
    narrow ones alone: the 95 % interval of the paired difference, of accuracy or
    balanced accuracy, lies above zero. Else ``explained_by`` names the narrow ones.

    Parameters
    ----------
    say
        Is given the name of each probe before it is fitted.
    folds, seed, resamples, permutations
        See :func:`verite.audit.audit`.

    Returns
    -------
    list of dict, dict
        What each reaches, ``fires`` and ``explained_by`` among it; why others were
        skipped.
    """
    fit = partial(
        run_probe,
        benchmark,
        folds=folds,
        seed=seed,
        resamples=resamples,
        permutations=permutations,
    )
    results: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for probe in probes:
        say(probe.name)
        found = fit(probe)
        if isinstance(found, str):
            skipped[probe.name] = found
            continue
        found |= {
            "fires": probe.modality != "both" and _fires(found),
            "explained_by": [],
        }
        firing = [
            one["probe"]
            for one in results
            if one["fires"] and one["modality"] == probe.modality
        ]
        narrow = [one for one in probes if one.name in firing and one.name not in BROAD]
        if found["fires"] and probe.name in BROAD and narrow:
            rest = fit(probe, beyond=narrow)
            if isinstance(rest, str) or not (rest["gains"] and _fires(rest)):
                found |= {"fires": False, "explained_by": [one.name for one in narrow]}
        results.append(found)
    return results, skipped


def with_holm(results: pd.DataFrame) -> pd.DataFrame:
    """Add Holm's adjusted p-values over all probes.

    They say how sure one can be that *any* of the probes tells something, and are for
    reading: firing does not use them.

    >>> with_holm(pd.DataFrame({"p_value": [.002, .5]}))["holm"].tolist()
    [0.004, 0.5]
    """
    p = results["p_value"].fillna(1.0).to_numpy()
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(
        1, np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    )
    return results.assign(holm=adjusted)


def _fires(found: Mapping[str, Any]) -> bool:
    """Whether p is below :data:`ALPHA` and the lower end of an interval lies above
    chance.

    Chance is the share of the largest label for accuracy, one over the number of labels
    for balanced accuracy.
    """
    above = (
        found["low"] > found["chance"]
        or found["balanced_low"] > found["balanced_chance"]
    )
    return bool(found["p_value"] < ALPHA and above)


def _by_value(
    values: np.ndarray, make: Callable[[Sequence[str]], Features]
) -> Features:
    """Look at each distinct value once.

    A caption that stands in many groups is no more common for that.
    """
    codes, names = pd.factorize(values)
    found = make(list(names))
    return Features(found.matrix[codes], found.names)


def _vectors(vectors: np.ndarray) -> Features:
    return Features(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        [f"dimension {at}" for at in range(vectors.shape[1])],
    )


def _file_features(files: Sequence[ImageFile]) -> Features:
    numbers = {
        "width": [one.width for one in files],
        "height": [one.height for one in files],
        "bytes": [one.bytes for one in files],
    }
    shape = {"width over height": [round(one.width / one.height, 3) for one in files]}
    parts = [binned(values, name) for name, values in (numbers | shape).items()]
    kinds = categories([f"{one.format} {one.mode}" for one in files])
    matrix = sparse.csr_array(
        sparse.hstack(
            [kinds.matrix, *(sparse.csr_array(part.matrix) for part in parts)]
        )
    )
    return Features(
        matrix, [*kinds.names, *(name for part in parts for name in part.names)]
    )


def _varies(matrix: Matrix) -> bool:
    if sparse.issparse(matrix):
        return bool((matrix.max(axis=0) - matrix.min(axis=0)).nnz)
    return bool((matrix.max(axis=0) > matrix.min(axis=0)).any())


def _carriers(
    found: Features, weights: np.ndarray, labels: Sequence[str]
) -> list[dict[str, Any]]:
    """The features that move scores most.

    Weight times spread, against the mean over labels. Below zero is away from the
    label.
    """
    matrix = found.matrix
    if found.names[0].startswith("dimension "):
        return []
    square = (
        np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel()
        if sparse.issparse(matrix)
        else (matrix.astype(float) ** 2).mean(axis=0)
    )
    mean = np.asarray(matrix.mean(axis=0)).ravel()
    effect = (weights - weights.mean(axis=1, keepdims=True)) * np.sqrt(
        np.maximum(square - mean**2, 0)
    )[:, None]
    strongest = np.argsort(-np.abs(effect).max(axis=1), kind="stable")[:_CARRIERS]
    signed = (
        effect if len(labels) == 2 else np.abs(effect)
    )  # of two labels, away from one is towards the other
    found_at = [
        (at, int(signed[at].argmax())) for at in strongest if signed[at].max() > 0
    ]
    return [
        {
            "feature": found.names[at],
            "label": labels[label],
            "weight": float(effect[at, label]),
        }
        for at, label in found_at
    ]
