"""What counting finds: multiplicity, ceilings, leaks, thresholds, alignment."""

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

__all__ = [
    "Near",
    "alignment",
    "ceilings",
    "label_counts",
    "leaks",
    "multiplicity",
    "thresholds",
]

_MOST_LABELS = 6  # with more, two labels at a time would be too many tables
_MOST_PAIRS = 5000

Near = Mapping[str, pd.DataFrame]
"""Near-duplicates: links between images by ``image_id``, and between captions by text.

``first``, ``second``, ``similarity``.
"""


def label_counts(benchmark: Benchmark) -> pd.DataFrame:
    """Rows by ``split`` and ``label``."""
    counts = benchmark.pairs.groupby(["split", "label"]).size()
    return counts.rename("rows").reset_index()


def multiplicity(benchmark: Benchmark) -> pd.DataFrame:
    """How often each image and each caption occurs, and under how many labels.

    Returns
    -------
    pandas.DataFrame
        One row per modality, number of rows and number of labels: ``modality``,
        ``rows``, ``labels``, ``count``, how many images or captions are like that, and
        ``example``, the first of them.
    """
    columns = ["modality", "rows", "labels", "count", "example"]
    parts = []
    for modality, key, name in (
        ("image", "image_id", "image_id"),
        ("text", "caption", "text_id"),
    ):
        pairs = benchmark.pairs[benchmark.pairs[key] != ""]
        occurrences = pairs.groupby(key, sort=False).agg(
            rows=("label", "size"), labels=("label", "nunique"), example=(name, "first")
        )
        counted = occurrences.groupby(["rows", "labels"]).agg(
            count=("example", "size"), example=("example", "first")
        )
        parts.append(counted.reset_index().assign(modality=modality))
    return pd.concat(parts, ignore_index=True)[columns]


def ceilings(benchmark: Benchmark, near: Near) -> pd.DataFrame:
    """Unimodal ceilings (:func:`verite.evaluation.unimodal_ceiling`).

    Returns
    -------
    pandas.DataFrame
        ``modality``, ``labels`` (``all``, or two of them), ``duplicates`` (``exact``,
        or ``near``: near-duplicates count as one), ``ceiling`` and ``chance``, the
        share of the largest label, both from 0 to 1; ``n`` rows, ``distinct`` items.
    """
    pairs, labels = benchmark.pairs, benchmark.labels
    choices = {"all": labels}
    if 2 < len(labels) <= _MOST_LABELS:
        choices |= {" / ".join(two): list(two) for two in combinations(labels, 2)}
    tables = {"exact": _items(pairs, None), "near": _items(pairs, near)}
    rows: list[dict[str, Any]] = []
    for modality, column in (("image", "image_id"), ("text", "text_id")):
        if modality == "image" and (pairs["image_id"] == "").any():
            continue
        for name, some in choices.items():
            part = pairs["label"].isin(some)
            for duplicates, items in tables.items():
                table = pd.DataFrame({column: items[modality], "label": pairs["label"]})
                limit = unimodal_ceiling(
                    table[part], "image" if modality == "image" else "text"
                )
                rows.append(
                    {
                        "modality": modality,
                        "labels": name,
                        "duplicates": duplicates,
                        "ceiling": limit.value,
                        "chance": limit.majority,
                        "n": limit.n,
                        "distinct": limit.distinct,
                    }
                )
    return pd.DataFrame(rows)


def leaks(benchmark: Benchmark, near: Near) -> pd.DataFrame:
    """What two splits have in common.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second`` split, ``shared`` (image, caption, group, near image,
        near caption), ``count`` of shared items, ``rows`` of the second split that hold
        one, and ``share``, of its rows.
    """
    pairs = benchmark.pairs
    items = _items(pairs, near)
    named = pairs["image_id"] != ""
    columns = {
        "image": pairs["image_id"].where(named),
        "caption": pairs["caption"].map(normalise),
        "group": pairs["group"],
    }
    if len(near["image"]):
        columns["near image"] = items["image"].where(named)
    if len(near["text"]):
        columns["near caption"] = items["text"]
    known = ["train", "validation", "test"]
    others = sorted(set(pairs["split"]) - {"", *known})
    splits = [name for name in known if name in set(pairs["split"])] + others
    rows = []
    for first, second in combinations(splits, 2):
        for name, values in columns.items():
            one = set(values[pairs["split"] == first].dropna())
            other = values[pairs["split"] == second]
            shared = other.isin(one) & other.notna()
            count = other[shared].nunique()
            rows.append(
                (first, second, name, count, int(shared.sum()), float(shared.mean()))
            )
    return pd.DataFrame(
        rows, columns=["first", "second", "shared", "count", "rows", "share"]
    )


def thresholds(benchmark: Benchmark, cosines: np.ndarray | None) -> pd.DataFrame:
    """How far one number and one threshold get, in-sample, between each two labels.

    Returns
    -------
    pandas.DataFrame
        ``number`` (``words`` in the caption; ``cosine`` of image and caption, where
        there are vectors), ``labels``, ``threshold``, ``above`` (the label of rows at
        or above it), ``accuracy``, ``chance`` and ``n``.
    """
    pairs = benchmark.pairs
    words = [len(caption.split()) for caption in pairs["caption"]]
    numbers = {"words": np.array(words, dtype=float)}
    if cosines is not None:
        numbers["cosine"] = cosines
    columns = ["number", "labels", "threshold", "above", "accuracy", "chance", "n"]
    rows = []
    few = benchmark.labels if len(benchmark.labels) <= _MOST_LABELS else []
    for one, other in combinations(few, 2):
        for name, values in numbers.items():
            part = pairs["label"].isin([one, other]).to_numpy() & np.isfinite(values)
            label = pairs["label"][part].to_numpy()
            if len(set(label)) < 2:
                continue
            best = best_threshold(
                values[part], np.where(label == one, TRUE, MISINFORMATION)
            )
            above = one if best.true_above else other
            chance = float(max((label == one).mean(), (label == other).mean()))
            between = f"{one} / {other}"
            rows.append(
                (name, between, best.threshold, above, best.accuracy, chance, best.n)
            )
    return pd.DataFrame(rows, columns=columns)


def alignment(
    benchmark: Benchmark, cosines: np.ndarray | None, seed: int
) -> dict[str, Any] | None:
    """Whether captions fit their own images better than those of other rows.

    If not, vectors may be of another order than the table.

    Returns
    -------
    dict or None
        Mean cosine of image and caption in their ``own`` pairs and in pairs with the
        caption of an ``other`` row, how many ``pairs`` were used (5,000 at most), and
        whether they ``seem`` to belong together: the gap is above three standard
        errors. None without vectors of both.
    """
    if cosines is None:
        return None
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.isfinite(cosines)))
    rows = rows[:_MOST_PAIRS]
    if len(rows) < 2:
        return None
    gap = cosines[rows] - benchmark.similarities(rows, np.roll(rows, 1))
    error = float(gap.std(ddof=1) / np.sqrt(len(rows)))
    return {
        "own": float(cosines[rows].mean()),
        "other": float((cosines[rows] - gap).mean()),
        "pairs": len(rows),
        "seem": bool(gap.mean() > 3 * error),
    }


def _items(pairs: pd.DataFrame, near: Near | None) -> pd.DataFrame:
    """Number of each row's image and caption; near-duplicates have one number."""
    items = {}
    for modality, column in (("image", "image_id"), ("text", "caption")):
        codes, names = pd.factorize(pairs[column])
        if near is not None and len(near[modality]):
            links, index = near[modality], pd.Index(names)
            first, second = (
                index.get_indexer(links[side]) for side in ("first", "second")
            )
            codes = cluster(len(names), first, second)[codes]
        items[modality] = codes
    return pd.DataFrame(items, index=pairs.index)
