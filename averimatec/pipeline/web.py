"""A web search engine behind an HTTP endpoint, used only if it is asked for."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Base64Bytes, BeforeValidator, TypeAdapter, ValidationError

from averimatec.models import check_endpoint
from averimatec.pipeline.search import RESULTS, Picture
from averimatec.reading import problems_of
from averimatec.store import Page
from verite.errors import VeriteError
from verite.files import atomic_path
from verite.http import Client, HttpError, Limits


class SearchError(VeriteError):
    """A search engine gave no answer that can be used."""


@dataclass(frozen=True)
class _Answer:
    pages: tuple[Page, ...] = ()
    images: Annotated[
        Mapping[str, Base64Bytes], BeforeValidator(lambda value: value or {})
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class WebSearch:
    """A search engine behind an HTTP endpoint of your own.

    The endpoint gets ``{"kind", "query", "before", "image"}`` by POST, with kind
    ``pages``, ``pages_with`` (then ``image`` is a file in base64) or ``pictures``, and
    replies ``{"pages": [{"url", "date", "title", "text", "images"}], "images": {name:
    base64}}``. So the engine's terms, its key and what is fetched from the web stay
    there. Redirects are not followed.

    Attributes
    ----------
    folder
        For the pictures of answers, named by their content.
    key_variable
        Environment variable that holds the key; empty for none.
    seconds, tries
        Time for one answer, and how often to ask.
    """

    url: str
    folder: Path
    key_variable: str = ""
    seconds: float = 60.0
    tries: int = 4

    def __post_init__(self) -> None:
        check_endpoint(self.url, self.key_variable)

    @property
    def name(self) -> str:
        """The endpoint's host."""
        host = self.url.split("://", 1)[1].split("@")[-1].split("?")[0]
        return f"search engine at {host}"

    def pages(self, query: str, day: datetime.date | None) -> list[Page]:
        """Ask for pages by words."""
        return list(self._ask("pages", query, day).pages[:RESULTS])

    def pages_with(self, picture: Path, day: datetime.date | None) -> list[Page]:
        """Ask for pages by a picture."""
        return list(self._ask("pages_with", "", day, picture).pages)

    def pictures(self, query: str, day: datetime.date | None) -> list[Picture]:
        """Ask for pictures by words."""
        answer = self._ask("pictures", query, day)
        files = {Path(name).name: self._keep(c) for name, c in answer.images.items()}
        return [
            Picture(files[name].name, files[name], page)
            for page in answer.pages
            for name in page.images
            if name in files
        ][:RESULTS]

    def _ask(
        self,
        kind: str,
        query: str,
        day: datetime.date | None,
        picture: Path | None = None,
    ) -> _Answer:
        image = base64.b64encode(picture.read_bytes()).decode() if picture else None
        before = day.isoformat() if day else None
        body = {"kind": kind, "query": query, "before": before, "image": image}
        key = os.environ.get(self.key_variable, "") if self.key_variable else ""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        wait = self.seconds
        limits = Limits(
            self.tries, redirects=0, silence=wait, seconds=wait, bytes=64_000_000
        )
        try:
            client = Client(limits, public_only=False)  # the user chose the address
            reply = client.request("POST", self.url, json=body, headers=headers)
            if reply.status != 200:
                raise SearchError(f"{self.name}: status {reply.status}.")
            content: Any = json.loads(reply.content)
            return TypeAdapter(_Answer).validate_python(content)
        except HttpError as error:
            raise SearchError(f"{self.name}: {error}.") from error
        except ValidationError as error:
            problem = problems_of(error, "answer")[0]
            raise SearchError(f"{self.name}: {problem}.") from error
        except ValueError as error:
            raise SearchError(f"{self.name}: the answer is no JSON.") from error

    def _keep(self, content: bytes) -> Path:
        path = self.folder / f"{hashlib.sha256(content).hexdigest()[:24]}.img"
        if not path.exists():
            with atomic_path(path) as temporary:
                temporary.write_bytes(content)
        return path
