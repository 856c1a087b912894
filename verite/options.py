"""Options that several commands share, and how ``-p KEY VALUE`` is parsed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from verite.errors import ParameterError

__all__ = [
    "CaptionVectors",
    "Force",
    "Out",
    "Parameters",
    "Seed",
    "join_options",
    "parse_options",
]

Out = Annotated[Path, typer.Option(help="Output folder.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random draws.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "-p", "--parameter", metavar="KEY VALUE", help="A parameter; repeat for more."
    ),
]
CaptionVectors = Annotated[Path | None, typer.Option(help="Vectors of the captions.")]


def join_options(words: list[str]) -> list[str]:
    """Join ``-p key value`` into ``-p key=value``, which click can repeat.

    >>> join_options(["run", "a", "-p", "folds", "5", "-p", "seed=-1"])
    ['run', 'a', '-p', 'folds=5', '-p', 'seed=-1']
    """
    joined: list[str] = []
    rest = iter(words)
    for word in rest:
        joined.append(word)
        if word in {"-p", "--parameter"} and (key := next(rest, None)) is not None:
            if "=" in key:
                joined.append(key)
                continue
            value = next(rest, None)
            if value is None or value.startswith("--") or value == "-p":
                raise ParameterError(
                    f"parameter {key} has no value. Write: -p {key} VALUE."
                )
            joined.append(f"{key}={value}")
    return joined


def parse_options(words: Iterable[str] | None) -> dict[str, str]:
    """Values by name from ``NAME=VALUE`` words.

    Raises
    ------
    ParameterError
        A word has no ``=``, or a name is given twice.

    >>> parse_options(["a=1", "b=x=y"])
    {'a': '1', 'b': 'x=y'}
    """
    options: dict[str, str] = {}
    for word in words or ():
        key, equals, value = word.partition("=")
        if not equals:
            raise ParameterError(f"expected NAME=VALUE, found {word!r}.")
        if key in options:
            raise ParameterError(f"parameter {key} is given twice.")
        options[key] = value
    return options
