"""Synthetic claims made once, pictures, and an endpoint that misbehaves on demand."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from averimatec import MadeClaims, make_claims
from verite.embeddings import Embeddings
from verite.newsroom import draw, sample_events


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeClaims:
    """Synthetic claims: 12, 6 and 6."""
    return make_claims(tmp_path_factory.mktemp("made") / "claims", claims=24, seed=1)


@dataclass
class Endpoint:
    """What the server answers next: ``script``, then ``always``.

    For chats a text is a reply; otherwise JSON is sent as it is, and text too. A number
    is a status; ``hang``, ``html``, ``cut``, ``null`` and ``elsewhere`` misbehave.
    """

    url: str = ""
    script: list[object] = field(default_factory=list)
    always: object = "[PRED in REF]: 0; None\n[REF in PRED]: 0; None"
    asked: list[dict[str, object]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)


def _chat(text: object) -> str:
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    return json.dumps({"choices": [choice], "usage": usage})


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A server on localhost, of chats at /v1 and of anything at /search."""
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            state.asked.append(json.loads(self.rfile.read(length)))
            state.keys.append(self.headers["Authorization"])
            what = state.script.pop(0) if state.script else state.always
            self.close_connection = True
            if what == "hang":
                time.sleep(0.5)
                what = 500
            status = what if isinstance(what, int) else 200
            body = _chat(None if what == "null" else what)
            if isinstance(what, int):
                body = json.dumps({"error": f"no: {self.headers['Authorization']}"})
            elif isinstance(what, dict):
                body = json.dumps(what)
            elif what == "html":
                body = "<html>Please log in</html>"
            self.send_response(307 if what == "elsewhere" else status)
            self.send_header("Location", "http://127.0.0.1:9/v1/chat/completions")
            self.send_header("Retry-After", "0.01" if "/v1" in self.path else "0")
            kind = "text/html" if what == "html" else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # the client gave up
                self.wfile.write(body.encode()[: 20 if what == "cut" else None])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


class FakeClip:
    """Knows pictures and texts by two numbers: how much of a fire, and of a boat."""

    identity = "two numbers"

    def encode_texts(self, texts: Any, *, normalise: bool) -> SimpleNamespace:
        return self._encoded({key: [0.6, 0.8] for key in texts})

    def encode_images(self, sources: Any, *, normalise: bool) -> SimpleNamespace:
        return self._encoded(
            {
                key: [1.0, 0.0] if Path(path).name == "b.png" else [0.0, 1.0]
                for key, path in sources.items()
            }
        )

    def _encoded(self, rows: dict[str, list[float]]) -> SimpleNamespace:
        vectors = np.array(list(rows.values()), dtype=np.float32)
        embeddings = Embeddings(rows, vectors, encoder=self.identity)
        return SimpleNamespace(embeddings=embeddings)


@pytest.fixture
def clip() -> FakeClip:
    return FakeClip()


@pytest.fixture
def pictures(tmp_path: Path) -> dict[str, Path]:
    """Two different pictures, and a resized copy of the first."""
    first, second = sample_events(2, np.random.default_rng(0))
    drawn = {
        "a.png": draw(first),
        "copy.png": draw(first).resize((200, 120)),
        "b.png": draw(second),
    }
    for name, picture in drawn.items():
        picture.save(tmp_path / name)
    return {name: tmp_path / name for name in drawn}
