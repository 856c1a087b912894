"""Parameters of makers as a command line gives them: text by name."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verite.errors import ParameterError
from verite.synthesis.base import maker_named
from verite.synthesis.entities import Source

__all__ = ["parameters_of", "parse_options"]


def parse_options(
    names: Sequence[str], given: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Parse parameters; each goes to all makers that have it.

    A ParameterError lists the parameters if none has it, or names a value that does not
    parse. Ranges are left to the makers.

    >>> parse_options(["CSt", "CHASMA"], {"by": "image", "band": "0.2,0.6"})
    {'CSt': {'by': 'image'}, 'CHASMA': {'band': (0.2, 0.6)}}
    """
    known = {name: parameters_of(name) for name in names}
    for key in given:
        if not any(key in parameters for parameters in known.values()):
            lists = (_listing(name, parameters) for name, parameters in known.items())
            raise ParameterError(
                f"{' + '.join(names)} has no parameter {key!r}.\n" + "\n".join(lists)
            )
    return {
        name: {
            key: _parse(key, text, parameters[key])
            for key, text in given.items()
            if key in parameters
        }
        for name, parameters in known.items()
    }


def parameters_of(name: str) -> dict[str, inspect.Parameter]:
    """Parameters of a maker that can be given as text."""
    return {
        key: parameter
        for key, parameter in maker_named(name).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        and parameter.annotation in _KINDS
    }


def _listing(name: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    lines = [
        f"  {key} = {parameter.default!r}   {_KINDS[parameter.annotation][0]}"
        for key, parameter in parameters.items()
    ]
    return "\n".join([f"{name} has:", *(lines or ["  (none)"])])


def _parse(key: str, text: str, parameter: inspect.Parameter) -> Any:
    expected, parse = _KINDS[parameter.annotation]
    try:
        return parse(text)
    except (ValueError, re.error) as error:
        raise ParameterError(
            f"parameter {key}: expected {expected}, found {text!r}."
        ) from error


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _two(text: str) -> tuple[float, float]:
    low, high = map(_number, text.split(","))
    return low, high


def _entities(text: str) -> Source:
    """A column; ``spacy`` or ``spacy:MODEL`` is a spaCy model."""
    kind, _, model = text.partition(":")
    if kind != "spacy":
        return text
    from verite.synthesis.spacy_entities import spacy_entities

    return spacy_entities(model) if model else spacy_entities()


def _pattern(text: str) -> Callable[[str], bool]:
    pattern = re.compile(text, re.IGNORECASE)
    return lambda caption: pattern.search(caption) is not None


_KINDS: Mapping[Any, tuple[str, Callable[[str], Any]]] = {
    str: ("a word", str),
    int: ("a whole number", int),
    float: ("a number", _number),
    float | None: ("a number", _number),
    tuple[float, float] | None: ("two numbers such as 0.2,0.6", _two),
    Sequence[str]: (
        "words such as PERSON,GPE",
        lambda text: [word.strip() for word in text.split(",")],
    ),
    Source: ("a column, or spacy, or spacy:MODEL", _entities),
    Callable[[str], bool] | None: ("a regular expression", _pattern),
}
"""What an annotation expects, and how it is parsed.

A parameter with another annotation, such as ``search``, is for Python only.
"""
