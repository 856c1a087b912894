"""Data sets, one file each, all loaded by the same call.

>>> from verite import datasets
>>> "verite" in datasets.names()
True
>>> datasets.card("verite").expected["true"]
338
"""

from verite.dataset import Card, DataFile, Dataset
from verite.datasets.download import FileStatus, checksums, fetch, instructions, status
from verite.datasets.reading import home
from verite.datasets.registry import available, card, load, names, parse_options

__all__ = [
    "Card",
    "DataFile",
    "Dataset",
    "FileStatus",
    "available",
    "card",
    "checksums",
    "fetch",
    "home",
    "instructions",
    "load",
    "names",
    "parse_options",
    "status",
]
