"""A web search engine behind an HTTP endpoint.

An optional backend, which is never used unless it is asked for.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from averimatec.pipeline.search import RESULTS, Picture
from averimatec.reading import Fields
from averimatec.replies import check_endpoint
from averimatec.store import Page
from verite.errors import DataError, VeriteError
from verite.files import atomic_path

__all__ = ["SearchError", "WebSearch"]


class SearchError(VeriteError):
    """A search engine gave no answer that can be used."""


@dataclass(frozen=True)
class WebSearch:
    """A search engine behind an HTTP endpoint of your own.

    Never used unless it is asked for.

    The endpoint gets ``{"kind", "query", "before", "image"}`` by POST, with kind
    ``pages``, ``pages_with`` (then ``image`` is a file in base64) or ``pictures``, and
    replies ``{"pages": [{"url", "date", "title", "text", "images"}], "images": {name:
    base64}}``. So the engine's terms, its key and what is fetched from the web stay
    there. Redirects are not followed.

    Attributes
    ----------
    folder
        Where pictures that came are kept, named by their content.
    key_variable
        Environment variable that holds the key; empty for none.
    seconds, tries, wait
        As for :class:`averimatec.EndpointModel`.
    """

    url: str
    folder: Path
    key_variable: str = ""
    seconds: float = 60.0
    tries: int = 4
    wait: float = 1.0
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        check_endpoint(self.url, self.key_variable)

    @property
    def name(self) -> str:
        """The endpoint's host."""
        return (
            "search engine at"
            f" {self.url.split('://', 1)[1].split('@')[-1].split('?')[0]}"
        )

    def pages(self, query: str, day: datetime.date | None) -> list[Page]:
        """Ask for pages by words."""
        return self._ask("pages", query, day)[0][:RESULTS]

    def pages_with(self, picture: Path, day: datetime.date | None) -> list[Page]:
        """Ask for pages by a picture."""
        return self._ask("pages_with", "", day, picture)[0]

    def pictures(self, query: str, day: datetime.date | None) -> list[Picture]:
        """Ask for pictures by words."""
        pages, files = self._ask("pictures", query, day)
        return [
            Picture(files[name].name, files[name], page)
            for page in pages
            for name in page.images
            if name in files
        ][:RESULTS]

    def _ask(
        self,
        kind: str,
        query: str,
        day: datetime.date | None,
        picture: Path | None = None,
    ) -> tuple[list[Page], dict[str, Path]]:
        image = base64.b64encode(picture.read_bytes()).decode() if picture else None
        body = {
            "kind": kind,
            "query": query,
            "before": day.isoformat() if day else None,
            "image": image,
        }
        why = ""
        for attempt in range(self.tries):
            if attempt:
                self.sleep(self.wait * 2 ** (attempt - 1))
            answer, why = self._post(body)
            if answer is not None:
                try:
                    return self._read(answer)
                except (DataError, binascii.Error) as error:
                    why = str(error)
        raise SearchError(
            f"{self.name}: no result after {self.tries} tries; the last one failed"
            f" with: {why}. Try again later."
        )

    def _post(self, body: Mapping[str, Any]) -> tuple[Any, str]:
        import requests

        key = os.environ.get(self.key_variable, "") if self.key_variable else ""
        end, content = time.monotonic() + self.seconds, b""
        try:
            with requests.post(
                self.url,
                json=body,
                headers={"Authorization": f"Bearer {key}"} if key else {},
                auth=lambda request: (
                    request
                ),  # keeps requests from looking for a key in ~/.netrc
                timeout=(min(10, self.seconds), self.seconds),
                allow_redirects=False,
                stream=True,
            ) as response:
                for piece in response.iter_content(65_536):
                    content += piece
                    if len(content) > 64_000_000 or time.monotonic() > end:
                        return None, f"an answer over 64 MB or {self.seconds:g} seconds"
                status = response.status_code
        except requests.RequestException as error:
            return None, type(error).__name__
        if status != 200:
            return None, f"status {status}"
        try:
            return json.loads(content), ""
        except ValueError:
            return None, "an answer that is no JSON"

    def _read(self, answer: Any) -> tuple[list[Page], dict[str, Path]]:
        problems: list[str] = []
        if not isinstance(answer, dict):
            raise DataError("an answer that is no object")
        reply = Fields(answer, "answer", problems)
        pages = [
            Page(
                row.text("url", required=True),
                row.text("text"),
                row.text("title"),
                row.day("date"),
                row.images("images"),
            )
            for row in reply.objects("pages")
        ]
        given = answer.get("images") or {}
        if (
            problems
            or not isinstance(given, dict)
            or not all(isinstance(each, str) for each in given.values())
        ):
            raise DataError(
                "; ".join(problems[:3]) or "images that are no object of base64 texts"
            )
        return pages, {
            Path(name).name: self._keep(base64.b64decode(each, validate=True))
            for name, each in given.items()
        }

    def _keep(self, content: bytes) -> Path:
        path = self.folder / f"{hashlib.sha256(content).hexdigest()[:24]}.img"
        if not path.exists():
            with atomic_path(path) as temporary:
                temporary.write_bytes(content)
        return path
