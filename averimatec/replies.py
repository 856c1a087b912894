"""What a language model is to this package: a prompt and images in, a reply out.

A prompt may say where its images stand: ``<image 1>`` is the first of them, and those
not named follow the prompt. What a prompt quotes (claims, pages) is text; nothing in it
is run, followed or fetched here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from verite.errors import ParameterError, VeriteError

__all__ = [
    "Model",
    "ModelError",
    "Reply",
    "ScriptedModel",
    "check_endpoint",
    "parts",
    "snippet",
]

_IMAGE = re.compile(r"<image (\d+)>")


class ModelError(VeriteError):
    """A model gave no reply that can be used.

    What was asked for is not done, everything else is kept.
    """


@dataclass(frozen=True)
class Reply:
    """What a model said, and what it took.

    Attributes
    ----------
    tokens_in, tokens_out
        As the model counts them; 0 where it does not say.
    cost
        In the currency of the prices that were given, at the time when it was asked
        for.
    cached
        Whether it was read from a file, and so took nothing now.
    """

    text: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    cached: bool = False


class Model(Protocol):
    """Anything that completes prompts."""

    @property
    def name(self) -> str:
        """What it is, with all settings that its replies hang on."""

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Reply to a prompt.

        Raises
        ------
        ModelError
            There is no reply.
        """


def parts(prompt: str, images: Sequence[Path] = ()) -> list[str | Path]:
    """Split a prompt where its images stand.

    Raises
    ------
    ParameterError
        It names an image that is not given.

    >>> parts("Is <image 2> older than <image 1>?", [Path("a.png"), Path("b.png")])
    ['Is ', PosixPath('b.png'), ' older than ', PosixPath('a.png'), '?']
    """
    pieces = _IMAGE.split(prompt)
    numbers = [int(number) for number in pieces[1::2]]
    if any(not 1 <= number <= len(images) for number in numbers):
        raise ParameterError(
            f"the prompt names image {max(numbers)}, and {len(images)} were given."
        )
    found: list[str | Path] = [
        images[int(piece) - 1] if place % 2 else piece
        for place, piece in enumerate(pieces)
    ]
    found += [image for number, image in enumerate(images, 1) if number not in numbers]
    return [piece for piece in found if piece != ""]


@dataclass(frozen=True)
class ScriptedModel:
    """A model that a function stands in for: rules, or a list of replies in a test.

    >>> ScriptedModel(lambda prompt, images: prompt.upper()).complete("yes").text
    'YES'
    """

    script: Callable[[str, Sequence[Path]], str]
    name: str = "scripted"

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Reply as the function says."""
        return Reply(self.script(prompt, images), self.name)


def snippet(content: bytes) -> str:
    """What was sent, as an error shows it: at most 120 characters."""
    text = " ".join(content[:300].decode("utf8", "replace").split())
    return repr(text if len(text) <= 120 else f"{text[:117]}...")


def check_endpoint(url: str, key_variable: str) -> None:
    """Refuse an address that is none, and a key that is not there, before anything is
    asked.

    Raises
    ------
    ParameterError
        The address does not start with http:// or https://, or the environment variable
        is empty.

    >>> check_endpoint("localhost:8000", "")
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: expected an address that starts with http:// or https://, found 'localhost:8000'.
    """
    if not url.startswith(("http://", "https://")):
        raise ParameterError(
            f"expected an address that starts with http:// or https://, found {url!r}."
        )
    if key_variable and not os.environ.get(key_variable):
        raise ParameterError(
            f"no key: the environment variable {key_variable} is empty. Set it to your"
            " key."
        )
