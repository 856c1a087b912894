"""VERITE, executed: pairs, bias, detectors and benchmarks behind the book.

Importing the package is quick: torch, open_clip and matplotlib are loaded by the
functions that use them.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verite.datasets import Card, Dataset, load

__all__ = ["Card", "Dataset", "__version__", "load"]

try:
    __version__ = version("verite")
except PackageNotFoundError:  # a checkout on the path that nobody installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name in {"Card", "Dataset", "load"}:
        from verite import datasets

        return getattr(datasets, name)
    raise AttributeError(f"module 'verite' has no attribute {name!r}")
