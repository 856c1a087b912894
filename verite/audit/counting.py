"""Counting: labels, how often things stand, what one modality can reach at best, and
what splits share.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from verite.audit.reading import Benchmark
from verite.characters import normalise
from verite.evaluation import best_threshold, unimodal_ceiling
from verite.pairs import MISINFORMATION, TRUE
from verite.similar import cluster

__all__ = ["ceilings", "keys", "leaks", "multiplicity", "thresholds"]

_MOST_LABELS = 6  # of which all pairs are looked at

Near = Mapping[str, pd.DataFrame]
"""Links between images, by ``image_id``, and between captions, by the text itself.

``first``, ``second``, ``similarity``.
"""


def keys(benchmark: Benchmark, near: Near, *, merged: bool) -> pd.DataFrame:
    """What each row holds of each modality, by number.

    ``image`` and ``text``; with near-duplicates under one number.
    """
    found = {}
    for modality, column in (("image", "image_id"), ("text", "caption")):
        codes, names = pd.factorize(benchmark.pairs[column])
        if merged and len(near[modality]):
            at = pd.Index(names)
            links = near[modality]
            codes = cluster(
                len(names),
                at.get_indexer(links["first"]),
                at.get_indexer(links["second"]),
            )[codes]
        found[modality] = codes
    return pd.DataFrame(found, index=benchmark.pairs.index)


def multiplicity(benchmark: Benchmark) -> pd.DataFrame:
    """How often each image and each caption stands, and under how many labels.

    Returns
    -------
    pandas.DataFrame
        One row for each modality, number of rows and number of labels: ``modality``,
        ``rows``, ``labels``, ``count``, how many images or captions there are like
        that, and ``example``, the first of them.
    """
    parts = []
    for modality, column in (("image", "image_id"), ("text", "text_id")):
        key = "image_id" if modality == "image" else "caption"
        table = benchmark.pairs[benchmark.pairs[key] != ""]
        if table.empty:
            continue
        each = table.groupby(key, sort=False).agg(
            rows=("label", "size"),
            labels=("label", "nunique"),
            example=(column, "first"),
        )
        counted = (
            each.groupby(["rows", "labels"])
            .agg(count=("example", "size"), example=("example", "first"))
            .reset_index()
        )
        parts.append(counted.assign(modality=modality))
    columns = ["modality", "rows", "labels", "count", "example"]
    return (
        pd.concat(parts, ignore_index=True)[columns]
        if parts
        else pd.DataFrame(columns=columns)
    )


def ceilings(benchmark: Benchmark, near: Near) -> pd.DataFrame:
    """Best accuracy of any function of one modality
    (:func:`verite.evaluation.unimodal_ceiling`), for all labels and for each two.

    Returns
    -------
    pandas.DataFrame
        ``modality``, ``labels`` (``all``, or two of them), ``duplicates`` (``exact``,
        or ``near``: near-duplicates count as one), ``ceiling`` and ``chance``, the
        share of the largest label, both from 0 to 1; ``n`` rows, ``distinct`` things.
    """
    labels = benchmark.labels
    chosen = {"all": labels}
    if 2 < len(labels) <= _MOST_LABELS:
        chosen |= {
            f"{one} / {other}": [one, other] for one, other in combinations(labels, 2)
        }
    tables = {
        kind: keys(benchmark, near, merged=kind == "near") for kind in ("exact", "near")
    }
    rows: list[dict[str, Any]] = []
    for modality, column in (("image", "image_id"), ("text", "text_id")):
        if modality == "image" and not (benchmark.pairs["image_id"] != "").all():
            continue
        for name, some in chosen.items():
            for kind, table in tables.items():
                part = benchmark.pairs["label"].isin(some)
                found = unimodal_ceiling(
                    pd.DataFrame(
                        {
                            column: table.loc[part, modality],
                            "label": benchmark.pairs.loc[part, "label"],
                        }
                    ),
                    "image" if modality == "image" else "text",
                )
                rows.append(
                    {
                        "modality": modality,
                        "labels": name,
                        "duplicates": kind,
                        "ceiling": found.value,
                        "chance": found.majority,
                        "n": found.n,
                        "distinct": found.distinct,
                    }
                )
    return pd.DataFrame(rows)


def leaks(benchmark: Benchmark, near: Near) -> pd.DataFrame:
    """What two splits have in common, though nothing should stand on both sides.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second`` split, ``shared`` (image, caption, group, near image,
        near caption), ``count`` of such things, ``rows`` of the second split that hold
        one, and ``share``, of its rows.
    """
    pairs = benchmark.pairs
    merged = keys(benchmark, near, merged=True)
    columns = {
        "image": pairs["image_id"].where(pairs["image_id"] != ""),
        "caption": pairs["caption"].map(normalise),
        "group": pairs["group"],
        "near image": merged["image"].where(pairs["image_id"] != ""),
        "near caption": merged["text"],
    }
    splits = [
        name for name in ("train", "validation", "test") if name in set(pairs["split"])
    ]
    splits += sorted(set(pairs["split"]) - {"", *splits})
    rows = []
    for first, second in combinations(splits, 2):
        here, there = pairs["split"] == first, pairs["split"] == second
        for name, values in columns.items():
            if name.startswith("near") and not len(
                near["image" if "image" in name else "text"]
            ):
                continue
            both = set(values[here].dropna()) & set(values[there].dropna())
            held = values[there].isin(both)
            rows.append(
                (first, second, name, len(both), int(held.sum()), float(held.mean()))
            )
    return pd.DataFrame(
        rows, columns=["first", "second", "shared", "count", "rows", "share"]
    )


def thresholds(benchmark: Benchmark, cosine: np.ndarray | None) -> pd.DataFrame:
    """How far one number and one threshold get, in-sample, between each two labels
    (:func:`verite.evaluation.best_threshold`).

    Returns
    -------
    pandas.DataFrame
        ``number`` (``words`` in the caption; ``cosine`` of image and caption, where
        there are vectors), ``labels``, ``threshold``, ``above`` (the label of rows at
        or above it), ``accuracy``, ``chance`` and ``n``.
    """
    pairs = benchmark.pairs
    numbers = {
        "words": (
            pairs["caption"]
            .map(lambda caption: len(caption.split()))
            .to_numpy(dtype=float)
        )
    }
    if cosine is not None:
        numbers["cosine"] = cosine
    rows = []
    for one, other in (
        combinations(benchmark.labels, 2)
        if len(benchmark.labels) <= _MOST_LABELS
        else ()
    ):
        for name, values in numbers.items():
            part = pairs["label"].isin([one, other]).to_numpy() & np.isfinite(values)
            label = pairs["label"][part].to_numpy()
            if len(set(label)) < 2:
                continue
            found = best_threshold(
                values[part], np.where(label == one, TRUE, MISINFORMATION)
            )
            chance = float(max((label == one).mean(), (label == other).mean()))
            rows.append(
                (
                    name,
                    f"{one} / {other}",
                    found.threshold,
                    one if found.true_above else other,
                    found.accuracy,
                    chance,
                    found.n,
                )
            )
    return pd.DataFrame(
        rows,
        columns=["number", "labels", "threshold", "above", "accuracy", "chance", "n"],
    )
