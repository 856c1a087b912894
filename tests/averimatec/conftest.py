"""What several tests of claims need.

Claims made once, and a model endpoint on this machine that misbehaves as told.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from averimatec import MadeClaims, make_claims


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeClaims:
    """Synthetic claims, a dozen in each but the last split."""
    return make_claims(tmp_path_factory.mktemp("made") / "claims", claims=24, seed=1)


@dataclass
class Endpoint:
    """What the endpoint does next.

    A text is a reply; a number is a status; ``hang``, ``html``, ``half`` and
    ``trickle`` misbehave.
    """

    url: str = ""
    script: list[object] = field(default_factory=list)
    always: object = "[PRED in REF]: 0; None\n[REF in PRED]: 0; None"
    asked: list[dict[str, object]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A chat endpoint on localhost."""
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.asked.append(
                json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            )
            state.keys.append(self.headers["Authorization"])
            what = state.script.pop(0) if state.script else state.always
            self.close_connection = True
            body = json.dumps(
                {
                    "choices": [{"message": {"content": what}}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 10},
                }
            )
            if isinstance(what, int):
                self._send(what, f"no: {self.headers['Authorization']}")
            elif what == "hang":
                time.sleep(1.0)
            elif what == "trickle":
                self.send_response(200)
                self.end_headers()
                with contextlib.suppress(OSError):  # the client gives up
                    for _ in range(40):
                        self.wfile.write(b" ")
                        self.wfile.flush()
                        time.sleep(0.05)
            elif what == "html":
                self._send(200, "<html><body>Please log in</body></html>")
            elif what == "half":
                self._send(200, body[: len(body) // 2])
            elif what == "refusal":
                self._send(
                    200, json.dumps({"choices": [{"message": {"content": None}}]})
                )
            elif what == "elsewhere":
                self.send_response(307)
                self.send_header("Location", "http://127.0.0.1:9/v1/chat/completions")
                self.end_headers()
            else:
                self._send(200, body)

        def _send(self, status: int, text: str) -> None:
            content = text.encode()
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "7")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

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


@pytest.fixture
def pictures(tmp_path: Path) -> dict[str, Path]:
    """Two different pictures, and a resized copy of the first."""
    import numpy as np

    from verite.newsroom import draw, sample_events

    first, second = sample_events(2, np.random.default_rng(0))
    made = {
        "a.png": draw(first),
        "copy.png": draw(first).resize((200, 120)),
        "b.png": draw(second),
    }
    for name, picture in made.items():
        picture.save(tmp_path / name)
    return {name: tmp_path / name for name in made}
