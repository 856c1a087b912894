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
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import verite.newsroom  # noqa: F401  # registers its encoder
from verite.dataset import Card, Dataset
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
    "parse_options",
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
        What the data set's own ``load`` takes, for example
        ``verite.datasets.verite.load``.

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


def parse_options(name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Options of :func:`load` from text, as they come from a command line.

    Raises
    ------
    ParameterError
        There is no such data set or option, or a value does not parse.

    >>> parse_options("vmu-twitter", {"seed": "3", "protocol": "comparable"})
    {'seed': 3, 'protocol': 'comparable'}
    """
    known = inspect.signature(_loader(name, dict(given)).load).parameters
    return {
        option: _parse(option, text, known[option].default if option in known else "")
        for option, text in given.items()
    }


def _parse(option: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise ParameterError(f"{option}: expected true or false, found {text!r}.")
        return text.lower() == "true"
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise ParameterError(
                f"{option}: expected a whole number, found {text!r}."
            ) from None
    return text


def card(name: str) -> Card:
    """Card of a data set: source, licence, citation, expected counts, what is not
    public.
    """
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
    return all(
        (home() / path).is_file() for path in _loader(name, options).needs(**options)
    )


def _loader(name: str, options: dict[str, Any]) -> ModuleType:
    if name not in _MODULES:
        raise ParameterError(
            f"no data set is called {name!r}. There are: {', '.join(_MODULES)}."
        )
    module = importlib.import_module(f"verite.datasets.{_MODULES[name]}")
    known = inspect.signature(module.load).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
        return module  # it checks its further options by itself
    for option in options:
        if option not in known:
            raise ParameterError(
                f"{name} has no option {option!r}. It has: {', '.join(known)}."
            )
    return module
