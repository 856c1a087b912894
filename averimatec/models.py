"""Language models behind one interface: an endpoint, cached replies, a script.

A prompt may say where its images belong: ``<image 1>`` is the first of them, and those
not named follow the prompt. What a prompt quotes (claims, pages) is text; nothing in it
is run, followed or fetched here.
"""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from verite.blocks import content_key, run_blocks
from verite.encoders.pictures import open_picture
from verite.errors import MissingDataError, ParameterError, VeriteError
from verite.files import read_text, sha256, write_text

if TYPE_CHECKING:
    from openai import OpenAI

_IMAGE = re.compile(r"<image (\d+)>")
_SIDE = 1024  # pixels; larger pictures are scaled down, as endpoints would do


class ModelError(VeriteError):
    """A model gave no reply that can be used."""


@dataclass(frozen=True)
class Reply:
    """A model's reply and what it took.

    Attributes
    ----------
    tokens_in, tokens_out
        As the model counts them; 0 where it does not say.
    cost
        By the prices given when it was asked for.
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
        """The model, with all settings that its replies depend on."""

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Reply to a prompt, or raise :class:`ModelError`."""


@dataclass(frozen=True)
class ScriptedModel:
    """A function as a model: rules, or the replies of a test.

    >>> ScriptedModel(lambda prompt, images: prompt.upper()).complete("yes").text
    'YES'
    """

    script: Callable[[str, Sequence[Path]], str]
    name: str = "scripted"

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Reply as the function says."""
        return Reply(self.script(prompt, images), self.name)


@dataclass(frozen=True)
class EndpointModel:
    """A chat model behind an OpenAI-compatible endpoint, through the library openai.

    The library asks again after a growing pause, or the one that the server names, if
    there is no answer, too many requests, or a fault of the server's. Other errors (a
    wrong key, an unknown model) are raised at once. Redirects are not followed: the key
    goes to no other host. A local model is served to this class by vLLM, llama.cpp or
    ``transformers serve``.

    Attributes
    ----------
    url
        Without ``/chat/completions``, such as ``http://localhost:8000/v1``.
    model
        The endpoint's name for it.
    key_variable
        Environment variable that holds the key; empty for none. The key itself is
        never written or shown.
    seconds
        Time for one answer.
    tries
        How often to ask.
    prices
        Of a million tokens read and written.
    """

    url: str
    model: str
    key_variable: str = ""
    seconds: float = 120.0
    tries: int = 5
    prices: tuple[float, float] = (0.0, 0.0)
    max_tokens: int = 1024
    temperature: float = 0.0

    def __post_init__(self) -> None:
        check_endpoint(self.url, self.key_variable)

    @property
    def name(self) -> str:
        """The model, its host, and its settings."""
        host = self.url.split("://", 1)[1].split("@")[-1]
        settings = f"temperature {self.temperature:g}, {self.max_tokens} tokens"
        return f"{self.model} at {host} ({settings})"

    @cached_property
    def _client(self) -> OpenAI:
        import openai

        return openai.OpenAI(
            base_url=self.url,
            api_key=os.environ.get(self.key_variable) or "none",  # one is required
            max_retries=self.tries - 1,
            timeout=self.seconds,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Ask the endpoint."""
        import openai

        content: Any = [_content(part) for part in parts(prompt, images)]
        try:
            answer = self._client.chat.completions.create(
                model=self.model,
                messages=[{"role": "user", "content": content if images else prompt}],
                temperature=self.temperature,
                max_tokens=self.max_tokens,
            )
            text, usage = answer.choices[0].message.content, answer.usage
            if text is None:
                raise TypeError
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise ModelError(
                f"{self.url}: the answer is no chat completion. Check the address."
            ) from error
        except openai.APITimeoutError as error:
            raise ModelError(
                f"{self.url}: no answer in {self.tries} tries of {self.seconds:g} s."
            ) from error
        except openai.APIConnectionError as error:
            raise ModelError(
                f"{self.url}: no connection after {self.tries} tries."
            ) from error
        except openai.APIError as error:
            key = os.environ.get(self.key_variable) or None  # some servers repeat it
            reason = str(error).replace(key, "***") if key else str(error)
            raise ModelError(
                f"{self.url}: {excerpt(reason)}. Check address, model and key; replies"
                " so far are kept."
            ) from None
        read = usage.prompt_tokens if usage else 0
        written = usage.completion_tokens if usage else 0
        cost = (read * self.prices[0] + written * self.prices[1]) / 1e6
        plain = text.encode("utf8", "replace").decode()  # may hold half a character
        return Reply(plain, self.name, read, written, cost)


@dataclass(frozen=True)
class PairedModel:
    """One model for text alone, another for images: the paper's LLM and MLLM."""

    text: Model
    seeing: Model

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.text.name}; with images: {self.seeing.name}"

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Ask one of them."""
        return (self.seeing if images else self.text).complete(prompt, images)


class CachedModel:
    """A model whose replies are kept in a folder, or such a folder alone.

    Parameters
    ----------
    folder
        The folder, for replies of one model.
    model
        Asked for what the folder lacks; None raises :class:`ModelError` instead.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> model = ScriptedModel(lambda prompt, images: "yes")
    >>> CachedModel(folder, model).complete("Is it?").cached
    False
    >>> CachedModel(folder).complete("Is it?").cached
    True
    """

    def __init__(
        self, folder: str | os.PathLike[str], model: Model | None = None
    ) -> None:
        self.folder, self.model = Path(folder), model
        record = self.folder / "model.txt"
        if record.is_file():
            self.name = read_text(record)
            if model is not None and model.name != self.name:
                raise ParameterError(
                    f"{folder} has replies of {self.name}. Use another folder."
                )
        elif model is not None:
            self.name = model.name
            write_text(record, model.name)
        else:
            raise MissingDataError(
                f"no folder of cached replies: {folder}. Make one by asking a model."
            )

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Reply from the folder, or ask and keep the reply."""
        cached = True

        def ask() -> dict[str, Any]:
            nonlocal cached
            cached = False
            if self.model is None:
                start = excerpt(prompt)
                raise ModelError(f"{self.folder}: no reply to this prompt: {start}.")
            return asdict(self.model.complete(prompt, images))

        key = content_key(self.name, prompt, [sha256(path) for path in images])
        row = run_blocks(ask, {key: ()}, directory=self.folder)[key]
        return Reply(**{**row, "cached": cached})


def open_model(kind: str, endpoint: EndpointModel | None, cache: Path) -> CachedModel:
    """Open a model as the command line names it.

    Parameters
    ----------
    kind
        ``endpoint`` or ``cached``.
    cache
        Folder of replies.
    """
    if kind == "cached":
        return CachedModel(cache)
    if kind != "endpoint":
        raise ParameterError(f"unknown model {kind!r}. Choose endpoint or cached.")
    if endpoint is None:
        raise ParameterError("endpoint: give the model's name and its address.")
    return CachedModel(cache, endpoint)


def check_endpoint(url: str, key_variable: str) -> None:
    """Check address and key before anything is asked.

    >>> check_endpoint("localhost:8000", "")
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: expected an http:// or https:// address, found 'localhost:8000'.
    """  # noqa: E501
    if not url.startswith(("http://", "https://")):
        raise ParameterError(f"expected an http:// or https:// address, found {url!r}.")
    if key_variable and not os.environ.get(key_variable):
        raise ParameterError(
            f"the environment variable {key_variable} is empty. Set it to your key."
        )


def parts(prompt: str, images: Sequence[Path] = ()) -> list[str | Path]:
    """Split a prompt where its images belong.

    >>> parts("Is <image 2> older than <image 1>?", [Path("a.png"), Path("b.png")])
    ['Is ', PosixPath('b.png'), ' older than ', PosixPath('a.png'), '?']
    """
    pieces = _IMAGE.split(prompt)
    numbers = [int(number) for number in pieces[1::2]]
    if any(not 1 <= number <= len(images) for number in numbers):
        raise ParameterError(
            f"the prompt names image {max(numbers)}, and {len(images)} were given."
        )
    split: list[str | Path] = [
        images[int(piece) - 1] if place % 2 else piece
        for place, piece in enumerate(pieces)
    ]
    split += [image for number, image in enumerate(images, 1) if number not in numbers]
    return [piece for piece in split if piece != ""]


def excerpt(text: str) -> str:
    """A text as an error shows it: one line of at most 80 characters, quoted.

    >>> excerpt("Please  log in")
    "'Please log in'"
    """
    plain = " ".join(text.split())
    return repr(plain if len(plain) <= 80 else f"{plain[:77]}...")


def _content(part: str | Path) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    picture, _ = open_picture(part)
    picture.thumbnail((_SIDE, _SIDE))
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    data = base64.b64encode(stream.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
