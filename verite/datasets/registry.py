"""Finds the data sets: each module of this package with a ``CARD``.

A module with pairs also has ``load`` and, with the same options, ``needs``: the files
that ``load`` reads. A data set is therefore added by one file.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from verite.dataset import Card, Dataset
from verite.datasets.reading import home
from verite.errors import ParameterError

__all__ = ["available", "card", "cards", "load", "names", "parse_options"]


@functools.cache
def _modules() -> dict[str, ModuleType]:
    modules = [
        importlib.import_module(f"verite.datasets.{module.name}")
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
    ]
    known = {module.CARD.name: module for module in modules if hasattr(module, "CARD")}
    return dict(sorted(known.items()))


def cards() -> dict[str, Card]:
    """Cards of all data sets by name, of those without pairs too."""
    return {name: module.CARD for name, module in _modules().items()}


def card(name: str) -> Card:
    """Card of a data set: source, licence, citation, files, what is not public.

    Raises
    ------
    ParameterError
        There is no such data set.
    """
    if name not in cards():
        raise ParameterError(
            f"no data set is called {name!r}. There are: {', '.join(cards())}."
        )
    return cards()[name]


def names() -> tuple[str, ...]:
    """Names that :func:`load` knows."""
    return tuple(name for name, module in _modules().items() if hasattr(module, "load"))


def load(name: str, **options: Any) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name
        One of :func:`names`.
    options
        Those of the data set's own ``load``, such as ``verite.datasets.verite.load``.

    Raises
    ------
    ParameterError
        There is no such data set or option.
    MissingDataError
        A file is missing; the message says how to get it.
    DataError
        The content of a file is not as expected.

    >>> load("verite", encoders="ViT-B-32")
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: verite has no option 'encoders'. It has: version, \
encoder, embeddings.
    """
    dataset: Dataset = _loader(name, options).load(**options)
    return dataset


def available(name: str, **options: Any) -> bool:
    """Whether all files exist that :func:`load` would read with these options.

    >>> available("newsroom")
    True
    """
    return all(
        (home() / path).is_file() for path in _loader(name, options).needs(**options)
    )


def parse_options(name: str, words: Mapping[str, str]) -> dict[str, Any]:
    """Options of :func:`load` from the text of a command line.

    Raises
    ------
    ParameterError
        There is no such data set or option, or a value does not parse.

    >>> parse_options("vmu-twitter", {"seed": "3", "protocol": "comparable"})
    {'seed': 3, 'protocol': 'comparable'}
    """
    known = inspect.signature(_loader(name, words).load).parameters
    return {
        option: _parse(option, text, known[option].default if option in known else "")
        for option, text in words.items()
    }


def _parse(option: str, text: str, default: object) -> object:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise ParameterError(f"{option}: expected true or false, found {text!r}.")
        return text.lower() == "true"
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise ParameterError(
                f"{option}: expected an integer, found {text!r}."
            ) from None
    return text


def _loader(name: str, options: Mapping[str, object]) -> ModuleType:
    if name not in names():
        raise ParameterError(
            f"no data set is called {name!r}. There are: {', '.join(names())}."
        )
    module = _modules()[name]
    known = inspect.signature(module.load).parameters
    if any(option.kind is option.VAR_KEYWORD for option in known.values()):
        return module  # the newsroom checks its knobs itself
    for option in options:
        if option not in known:
            raise ParameterError(
                f"{name} has no option {option!r}. It has: {', '.join(known)}."
            )
    return module
