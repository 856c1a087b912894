"""The HTTP client against a server that misbehaves."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from verite.http import Client, HttpError, Limits

BODY = b"x" * 1000
BOMB = gzip.compress(b"\0" * 50_000_000)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[float, str, dict[str, str]]] = []

    def handle_error(self, *_: object) -> None:  # a client that closed early
        pass

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append((time.monotonic(), self.path, dict(self.headers)))
        again = Counter(path for _, path, _ in self.server.requests)[self.path] > 1
        match self.path.split("/")[1]:
            case "ok":
                self.give(BODY)
            case "moved":
                self.give(b"", 302, Location="/ok")
            case "to":
                self.give(b"", 302, Location=self.path.removeprefix("/to/"))
            case "loop":
                self.give(b"", 301, Location=f"/loop/{len(self.path)}{self.path}")
            case "busy":
                self.give(BODY) if again else self.give(
                    b"", 429, **{"Retry-After": "1"}
                )
            case "later":
                self.give(b"", 503, **{"Retry-After": "7200"})
            case "failing":
                self.give(b"", 500, **{"Retry-After": "soon"})
            case "slow":
                self.give(b"", length=1000)
                for _ in range(100):
                    self.wfile.write(b"x")
                    time.sleep(0.05)
            case "slow-head":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                for turn in range(90):
                    self.wfile.write(f"X-{turn}: x\r\n".encode())
                    time.sleep(0.05)
            case "silent":
                time.sleep(1.5)
            case "cut":
                self.give(BODY[:600], length=1000)
            case "large":
                self.give(b"\0" * 200_000)
            case "bomb":
                self.give(BOMB, **{"Content-Encoding": "gzip"})
            case "drop":
                self.connection.close()

    do_POST = do_GET  # noqa: N815

    def give(
        self, body: bytes, status: int = 200, length: int = -1, **headers: str
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length < 0 else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(
            target=running.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield running
        running.shutdown()
        thread.join()


CLIENT = Client(
    Limits(tries=2, backoff=0.01, patience=2, silence=1, seconds=1.2, bytes=100_000),
    allow_host="127.0.0.1",
)


@pytest.mark.parametrize(
    ("path", "status", "requests"),
    [
        ("/ok", 200, 1),
        ("/moved", 200, 2),
        ("/busy", 200, 2),
        ("/later", 503, 1),  # it asks for more patience than there is
        ("/failing", 500, 2),
    ],
)
def test_reply(server: Server, path: str, status: int, requests: int) -> None:
    reply = CLIENT.get(server.url(path))
    assert reply.status == status
    assert reply.content == (BODY if status == 200 else b"")
    assert len(server.requests) == requests
    times = [when for when, _, _ in server.requests]
    assert path != "/busy" or times[1] - times[0] >= 1
    headers = server.requests[0][2]
    assert headers["User-Agent"].startswith("verite")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/loop", "too many redirects"),
        ("/to/http://10.1.2.3/secret.png", "private address"),
        ("/to/file:///etc/passwd", "bad link"),
        ("/slow", "timed out"),
        ("/slow-head", "timed out"),
        ("/silent", "timed out"),
        ("/cut", "cut short"),
        ("/large", "too large"),
        ("/bomb", "too large"),
        ("/drop", "unreachable"),
    ],
)
def test_failures(server: Server, path: str, kind: str) -> None:
    with pytest.raises(HttpError) as caught:
        CLIENT.get(server.url(path))
    assert caught.value.kind == kind


def test_post(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    client = Client(Limits(redirects=0), public_only=False)
    reply = client.request(
        "POST", server.url("/ok"), json={"a": 1}, headers={"Authorization": "key"}
    )
    assert reply.content == BODY
    assert server.requests[0][2]["Authorization"] == "key"
    with pytest.raises(HttpError, match="over 0"):
        client.request("POST", server.url("/moved"), json={})


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://example.org/a.jpg", "data:image/png;base64,AAAA",
     "picture.jpg", "http://", "http://[::1/a", f"http://{'a' * 70}.example/"],
)  # fmt: skip
def test_bad_links(url: str) -> None:
    with pytest.raises(HttpError) as caught:
        CLIENT.get(url)
    assert caught.value.kind == "bad link"


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "2130706433", "0x7f.1", "localhost", "10.0.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),  # noqa: S104
        *("[::1]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]"),
        *("[64:ff9b::a00:1]", "[2002:7f00:1::]"),
    ],
)
def test_private_addresses(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("connected"))
    with pytest.raises(HttpError) as caught:
        Client().get(f"http://{host}/a.png")
    assert caught.value.kind == "private address"


def test_name_that_resolves_anew(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A name that is public when it is checked, and private a moment later.
    addresses = iter(["93.184.215.14", "127.0.0.1"])
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda _host, port, *_: [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(addresses), port))
        ],
    )
    with pytest.raises(HttpError, match="private address 127") as caught:
        Client().get(f"http://x.example:{server.server_port}/ok")
    assert caught.value.kind == "private address"
    assert not server.requests


def test_only_the_allowed_host_may_be_private(server: Server) -> None:
    with pytest.raises(HttpError, match="private address"):
        CLIENT.get(server.url("/ok").replace("127.0.0.1", "localhost"))


def test_turns(server: Server) -> None:
    hosts: list[str] = []

    def turn(host: str) -> nullcontext[None]:
        hosts.append(host)
        return nullcontext()

    replace(CLIENT, turn=turn).get(server.url("/moved"))
    assert hosts == [f"127.0.0.1:{server.server_port}"] * 2


def test_certificate(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2"
        f" -addext subjectAltName=DNS:localhost -keyout {key} -out {certificate}"
    )
    try:
        subprocess.run(command.split(), check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl to make a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    url = f"https://localhost:{server.server_port}/ok"
    client = replace(CLIENT, allow_host="localhost")
    assert client.get(url).content == BODY
    with pytest.raises(HttpError, match="certificate"):
        CLIENT.get(url.replace("localhost", "127.0.0.1"))
