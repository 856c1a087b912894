"""A chat model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from averimatec.replies import ModelError, Reply, check_endpoint, parts, snippet
from verite.encoders.pictures import open_picture

__all__ = ["EndpointModel"]

_SIDE = 1024  # pixels; larger pictures are scaled down, as endpoints would do
_BYTES = 8_000_000
_LONGEST_WAIT = 60.0
_PASSING = frozenset({408, 409, 425, 429})


@dataclass(frozen=True)
class EndpointModel:
    """A chat model behind an OpenAI-compatible endpoint.

    What may pass (no answer, too many requests, a fault of the server's, an answer that
    is cut short or no JSON) is asked again after a while that doubles each time, or
    that the server names. What will not pass (a wrong key, an unknown model) is an
    error at once. Redirects are not followed: the key goes to no other host.

    Attributes
    ----------
    url
        Up to and without ``/chat/completions``, such as ``http://localhost:8000/v1``.
    model
        The endpoint's name for it.
    key_variable
        Environment variable that holds the key; empty for none. The key itself is
        written nowhere.
    seconds
        For one answer, from the request to its last byte.
    tries
        How often to ask.
    wait
        Seconds before the second try.
    prices
        Of a million tokens read and written.
    """

    url: str
    model: str
    key_variable: str = ""
    seconds: float = 120.0
    tries: int = 5
    wait: float = 1.0
    max_tokens: int = 1024
    temperature: float = 0.0
    prices: tuple[float, float] = (0.0, 0.0)
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        check_endpoint(self.url, self.key_variable)

    @property
    def name(self) -> str:
        """The model, its host, and its settings."""
        host = self.url.split("://", 1)[1].split("@")[-1]
        return (
            f"{self.model} at {host} (temperature {self.temperature:g},"
            f" {self.max_tokens} tokens)"
        )

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Ask the endpoint, again if what stands in the way may pass."""
        content = [_content(part) for part in parts(prompt, images)]
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": content if images else prompt}],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        why, pause = "", self.wait
        for left in range(self.tries - 1, -1, -1):
            found, why, asked = self._ask(body)
            if found is not None:
                return found
            if left:
                self.sleep(min(pause if asked is None else asked, _LONGEST_WAIT))
                pause *= 2
        raise ModelError(
            f"{self.url}: no reply after {self.tries} tries; the last one failed with:"
            f" {why}. Try again later: replies are kept."
        )

    def _ask(self, body: dict[str, Any]) -> tuple[Reply | None, str, float | None]:
        """One try: the reply, or why there is none, and how long the server asks to
        wait.
        """
        import requests
        import urllib3

        end = time.monotonic() + self.seconds
        try:
            with requests.post(
                f"{self.url.rstrip('/')}/chat/completions",
                json=body,
                auth=_Bearer(
                    os.environ.get(self.key_variable, "") if self.key_variable else ""
                ),
                timeout=(min(self.seconds, 10), self.seconds),
                allow_redirects=False,
                stream=True,
            ) as response:
                content = b""
                while piece := response.raw.read1(
                    65_536, decode_content=True
                ):  # what has come: a trickle must not outlast its time
                    content += piece
                    if len(content) > _BYTES or time.monotonic() > end:
                        return (
                            None,
                            (
                                f"an answer over {_BYTES:,} bytes or {self.seconds:g}"
                                " seconds"
                            ),
                            None,
                        )
                status, after = (
                    response.status_code,
                    response.headers.get("Retry-After", ""),
                )
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            return None, _reason(error), None
        if status in _PASSING or status >= 500:
            return (
                None,
                f"status {status}",
                float(after) if re.fullmatch(r"\d{1,6}(\.\d+)?", after) else None,
            )
        if status != 200:
            key = os.environ.get(self.key_variable, "")  # some servers repeat it
            said = snippet(content.replace(key.encode(), b"***") if key else content)
            raise ModelError(
                f"{self.url}: status {status}: {said}. Check address, model and key."
            )
        try:
            answer = json.loads(content)
            text, usage = (
                answer["choices"][0]["message"]["content"],
                answer.get("usage") or {},
            )
            if not isinstance(text, str):
                raise TypeError
            read, written = (
                int(usage.get(name) or 0)
                for name in ("prompt_tokens", "completion_tokens")
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            return (
                None,
                f"an answer that is no chat completion: {snippet(content)}",
                None,
            )
        return (
            Reply(
                text,
                self.name,
                read,
                written,
                (read * self.prices[0] + written * self.prices[1]) / 1e6,
            ),
            "",
            None,
        )


class _Bearer:
    """Puts the key into the header.

    As an ``auth`` it also keeps requests from looking for one in ~/.netrc.
    """

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: Any) -> Any:
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def _content(part: str | Path) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    picture, _ = open_picture(part)
    picture.thumbnail((_SIDE, _SIDE))
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    return {
        "type": "image_url",
        "image_url": {
            "url": (
                f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
            )
        },
    }


def _reason(error: Exception) -> str:
    name = type(error).__name__
    return {
        "ReadTimeout": "no answer in time",
        "ConnectTimeout": "no connection in time",
        "ConnectionError": "no connection",
    }.get(name, name)
