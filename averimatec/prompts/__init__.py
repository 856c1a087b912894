"""Prompts, one a file, with the version in its name.

A prompt that changes gets a new name, so that cached replies stay true.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

__all__ = ["fill"]


def fill(name: str, **values: str) -> str:
    """Fill a prompt's ``$places``.

    What is put there is text, and places within it are not filled.

    Raises
    ------
    KeyError
        A place has no value.

    >>> fill("judge-questions-1", reference="1. Where?", predicted="1. When? $reference").splitlines()[-4:]
    ['[PRED]:', '1. When? $reference', '[REF]:', '1. Where?']
    """
    return _template(name).substitute(values)


@cache
def _template(name: str) -> Template:
    return Template(
        files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf8").rstrip("\n")
    )
