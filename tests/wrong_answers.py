"""Functions that readers might well write and that are wrong, by chapter: a check that passes one of them checks nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

WRONG: dict[str, list[Any]] = {
    "annotation": [
        lambda first, second: 100 * np.mean([a == b for a, b in zip(first, second, strict=True)]),  # in per cent
        lambda first, second: float(first == second),
        lambda first, second: len(set(first) & set(second)) / len(set(first)),
    ],
}
