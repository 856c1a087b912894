"""Data sets, one file each, all loaded by the same call.

>>> from verite import datasets
>>> datasets.names()
('verite', 'vmu-twitter', 'cosmos', 'fakeddit', 'visualnews', 'newsclippings', 'meir', 'newsroom')
>>> datasets.card("verite").expected["true"]
338
"""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

from verite.datasets.base import Card, Dataset
from verite.datasets.download import FileStatus, checksums, fetch, instructions, status
from verite.datasets.home import home
from verite.errors import ParameterError

__all__ = [
    "Card",
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
    "status",
]

_MODULES = {
    "verite": "verite",
    "vmu-twitter": "vmu_twitter",
    "cosmos": "cosmos",
    "fakeddit": "fakeddit",
    "visualnews": "visualnews",
    "newsclippings": "newsclippings",
    "meir": "meir",
    "newsroom": "newsroom",
}


def names() -> tuple[str, ...]:
    """Names that :func:`load` knows."""
    return tuple(_MODULES)


def load(name: str, **options: Any) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name
        One of :func:`names`.
    options
        What the data set's own ``load`` takes, for example ``verite.datasets.verite.load``.

    Raises
    ------
    ParameterError
        There is no such data set or option; the message lists those that exist.
    MissingDataError
        A file is not there; the message says how to get it.
    DataError
        A file does not hold what it must hold.

    >>> load("verite", encoders="ViT-B-32")
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: verite has no option 'encoders'. It has: version, encoder, embeddings.
    """
    dataset: Dataset = _loader(name, options).load(**options)
    return dataset


def card(name: str) -> Card:
    """Card of a data set: source, licence, citation, expected counts, what is not public."""
    module = _loader(name, {})
    found: Card = module.CARD if hasattr(module, "CARD") else module.card()
    return found


def available(name: str, **options: Any) -> bool:
    """Whether every file is there that :func:`load` would read with these options.

    Raises
    ------
    ParameterError
        There is no such data set, option or value.

    >>> available("newsroom")
    True
    """
    return all((home() / path).is_file() for path in _loader(name, options).needs(**options))


def _loader(name: str, options: dict[str, Any]) -> ModuleType:
    if name not in _MODULES:
        raise ParameterError(f"no data set is called {name!r}. There are: {', '.join(_MODULES)}.")
    module = importlib.import_module(f"verite.datasets.{_MODULES[name]}")
    known = inspect.signature(module.load).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
        return module  # it checks its further options by itself
    for option in options:
        if option not in known:
            raise ParameterError(f"{name} has no option {option!r}. It has: {', '.join(known)}.")
    return module
