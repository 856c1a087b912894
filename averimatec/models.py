"""Language models behind one interface, for judges and for the baseline.

An endpoint, a local model, cached replies, a script.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from averimatec.endpoint import EndpointModel
from averimatec.replies import Model, ModelError, Reply, ScriptedModel, parts, snippet
from verite.encoders.pictures import open_picture
from verite.errors import DataError, MissingDataError, ParameterError

__all__ = [
    "CachedModel",
    "EndpointModel",
    "HuggingFaceModel",
    "Model",
    "ModelError",
    "Reply",
    "ScriptedModel",
    "open_model",
    "parts",
]


@dataclass
class HuggingFaceModel:
    """A chat model that runs on this machine, through the library transformers, which
    is not installed with this package.

    Attributes
    ----------
    model
        A folder, or a name on the hub, as transformers takes it.
    images
        Whether it sees: the pipeline ``image-text-to-text`` is used, and otherwise
        ``text-generation``.
    """

    model: str
    images: bool = True
    max_tokens: int = 1024
    device: str = "auto"
    _pipeline: Any = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The model and its settings."""
        return f"{self.model} through transformers (greedy, {self.max_tokens} tokens)"

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Run the model, greedily; it is loaded at the first call."""
        if images and not self.images:
            raise ParameterError(
                f"{self.model} was opened as a model that sees no images, and the"
                f" prompt has {len(images)}."
            )
        if self._pipeline is None:
            try:
                pipeline = importlib.import_module("transformers").pipeline
            except ImportError as error:
                raise MissingDataError(
                    f"{self.model}: needs the library transformers. Install it, or use"
                    " an endpoint."
                ) from error
            task = "image-text-to-text" if self.images else "text-generation"
            try:
                self._pipeline = pipeline(
                    task, model=self.model, device_map=self.device
                )
            except (OSError, ValueError) as error:
                raise ModelError(
                    f"{self.model}: cannot be loaded ({error}). Give a folder that"
                    " holds it."
                ) from error
        content: Any = [
            (
                {"type": "text", "text": part}
                if isinstance(part, str)
                else {"type": "image", "image": open_picture(part)[0]}
            )
            for part in parts(prompt, images)
        ]
        message = {"role": "user", "content": content if self.images else prompt}
        how = {"max_new_tokens": self.max_tokens, "do_sample": False}
        if self.images:
            found = self._pipeline(
                text=[message], generate_kwargs=how, return_full_text=False
            )
        else:
            found = self._pipeline([message], return_full_text=False, **how)
        text = found[0]["generated_text"]
        return Reply(
            text if isinstance(text, str) else str(text[-1]["content"]), self.name
        )


class CachedModel:
    """A model whose replies are kept in a file, by the content of prompt and images.

    Or such a file alone.

    The file has a line of JSON a reply. Lines are only ever added, each in one write,
    so a run that is killed loses no reply; a last line that was cut short is left out.

    Parameters
    ----------
    path
        The file.
    model
        Who is asked for what the file lacks; None raises :class:`ModelError` instead.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "replies.jsonl"
    >>> CachedModel(path, ScriptedModel(lambda prompt, images: "yes")).complete("Is it?").cached
    False
    >>> CachedModel(path).complete("Is it?")
    Reply(text='yes', model='scripted', tokens_in=0, tokens_out=0, cost=0.0, cached=True)
    """

    def __init__(
        self, path: str | os.PathLike[str], model: Model | None = None
    ) -> None:
        self.path, self.model = Path(path), model
        self._lock = threading.Lock()
        if model is None and not self.path.is_file():
            raise MissingDataError(
                f"no such file of cached replies: {self.path}. Make one by asking a"
                " model."
            )
        if model is not None and self.path.is_file():
            _cut_unfinished(self.path)
        self._replies = self._read() if self.path.is_file() else {}
        names = sorted({reply.model for reply in self._replies.values()})
        if model is None and len(names) > 1:
            raise DataError(
                f"{self.path}: holds replies of {len(names)} models"
                f" ({', '.join(names)}). Use a file of one model."
            )
        self.name = model.name if model else next(iter(names), "nobody")

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Reply from the file, or ask and keep the reply."""
        digests = [
            hashlib.sha256(Path(image).read_bytes()).hexdigest() for image in images
        ]
        key = hashlib.sha256(
            json.dumps([self.name, prompt, digests]).encode()
        ).hexdigest()
        with self._lock:
            known = self._replies.get(key)
        if known is not None:
            return replace(known, cached=True)
        if self.model is None:
            raise ModelError(
                f"{self.path}: has no reply to this prompt: {prompt[:60]!r}... Ask a"
                " model, and keep its replies there."
            )
        reply = self.model.complete(prompt, images)
        with self._lock:
            self._replies[key] = reply
            self.path.parent.mkdir(parents=True, exist_ok=True)
            line = json.dumps(
                {"key": key, **asdict(reply)}
            )  # in ASCII: a reply may hold half a character
            with self.path.open("ab") as stream:
                stream.write(f"{line}\n".encode())
        return reply

    def _read(self) -> dict[str, Reply]:
        lines = self.path.read_bytes().split(b"\n")
        found = {}
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line) if line.strip() else None
                if row is not None:
                    key = row.pop("key")
                    found[key] = Reply(**row)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                if number < len(lines):  # only the last line can have been cut short
                    raise DataError(
                        f"{self.path}, line {number}: expected a cached reply, found"
                        f" {snippet(line)}."
                    ) from error
        return found


def open_model(
    kind: str,
    *,
    model: str = "",
    url: str = "",
    key_variable: str = "",
    cache: Path | None = None,
    **settings: Any,
) -> CachedModel | EndpointModel | HuggingFaceModel:
    """Open a model as a command line names it.

    Parameters
    ----------
    kind
        ``endpoint``, ``huggingface`` or ``cached``.
    cache
        File of replies, kept there and taken from there.
    settings
        Of :class:`EndpointModel` or :class:`HuggingFaceModel`.

    Raises
    ------
    ParameterError
        There is no such kind, or something it needs is not given.
    """
    if kind == "cached":
        if cache is None:
            raise ParameterError("which file holds the cached replies? Name it.")
        return CachedModel(cache)
    if kind not in ("endpoint", "huggingface"):
        raise ParameterError(
            f"unknown kind of model: {kind!r}. There are: endpoint, huggingface,"
            " cached."
        )
    if not model or (kind == "endpoint" and not url):
        raise ParameterError(
            f"{kind}: which model? Give"
            f" {'its name and the address of the endpoint' if kind == 'endpoint' else 'its folder'}."
        )
    opened = (
        EndpointModel(url, model, key_variable, **settings)
        if kind == "endpoint"
        else HuggingFaceModel(model, **settings)
    )
    return CachedModel(cache, opened) if cache is not None else opened


def _cut_unfinished(path: Path) -> None:
    """Take away what follows the last line end.

    A line that a killed run could not finish.
    """
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)
