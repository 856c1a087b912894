"""Whether the vectors of a benchmark belong to its rows.

The cosine of each image with its caption tells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from verite.audit.reading import Benchmark

__all__ = ["alignment", "cosines", "similarities"]


def similarities(benchmark: Benchmark, at: np.ndarray | pd.Index) -> np.ndarray:
    """Cosine of image and caption of some rows."""
    assert benchmark.images is not None and benchmark.texts is not None  # noqa: S101, PT018
    rows = benchmark.pairs.iloc[at]
    V, T = (
        benchmark.images.rows(rows["image_id"]),
        benchmark.texts.rows(rows["text_id"]),
    )
    return np.asarray(
        np.einsum("ij,ij->i", V, T)
        / np.linalg.norm(V, axis=1)
        / np.linalg.norm(T, axis=1)
    )


def cosines(benchmark: Benchmark) -> np.ndarray | None:
    """Cosine of image and caption of every row, NaN without an image.

    None without vectors of one space.
    """
    if benchmark.images is None or benchmark.texts is None:
        return None
    if benchmark.images.dimensions != benchmark.texts.dimensions:
        return None
    rows = np.flatnonzero(benchmark.pairs["image_id"] != "")
    out = np.full(len(benchmark.pairs), np.nan)
    for start in range(0, len(rows), 8192):
        block = rows[start : start + 8192]
        out[block] = similarities(benchmark, block)
    return out


def alignment(
    benchmark: Benchmark, cosine: np.ndarray | None, seed: int
) -> dict[str, Any] | None:
    """Do captions fit their own images better than other rows' do? If not, vectors may
    be of another order than the table.

    Returns
    -------
    dict or None
        Mean cosine of image and caption in their ``own`` pairs and in pairs with the
        caption of an ``other`` row, how many ``pairs`` were looked at (5,000 at most),
        and whether they ``seem`` to belong together: the gap is above three standard
        errors. None without vectors of both.
    """
    if cosine is None:
        return None
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.isfinite(cosine)))[
        :5000
    ]
    if len(rows) < 2:
        return None
    pairs = benchmark.pairs.iloc[rows]
    other = pairs.assign(text_id=np.roll(pairs["text_id"].to_numpy(dtype=object), 1))
    gap = cosine[rows] - similarities(
        Benchmark(
            "", other, benchmark.source, images=benchmark.images, texts=benchmark.texts
        ),
        np.arange(len(rows)),
    )
    error = float(gap.std(ddof=1) / np.sqrt(len(rows)))
    return {
        "own": float(cosine[rows].mean()),
        "other": float((cosine[rows] - gap).mean()),
        "pairs": len(rows),
        "seem": bool(gap.mean() > 3 * error),
    }
