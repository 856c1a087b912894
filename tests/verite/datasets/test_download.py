from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from verite import datasets
from verite.dataset import DataFile
from verite.datasets import averitec
from verite.datasets.registry import cards
from verite.errors import DownloadError, MissingDataError

BODY = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(BODY).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves BODY, cut or refused as a test sets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 200
        self.end = len(BODY)
        self.requests = 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY[: self.server.end])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as running:
        thread = threading.Thread(
            target=running.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def offer(
    server: Server, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Give "averitec" one file on the server; returns the path it will have."""

    def one_file(sha256: str = SHA256) -> Path:
        url = f"http://127.0.0.1:{server.server_port}/file.bin"
        file = DataFile("toy/file.bin", url, sha256, len(BODY))
        monkeypatch.setattr(averitec, "CARD", replace(averitec.CARD, files=(file,)))
        return data_home / "toy" / "file.bin"

    return one_file


def verified() -> list[str]:
    return [
        entry.verified for entry in datasets.status() if entry.dataset == "averitec"
    ]


def test_fetch(offer: Callable[..., Path], server: Server) -> None:
    target = offer()
    assert verified() == [""]
    assert datasets.checksums(["averitec"]) == {}
    assert datasets.fetch("averitec") == [target]
    assert datasets.fetch("averitec") == [target]
    assert server.requests == 1
    assert target.read_bytes() == BODY
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]
    assert verified() == ["yes"]
    assert datasets.checksums(["averitec", "newsroom"]) == {"toy/file.bin": SHA256}
    target.write_bytes(b"edited")
    assert verified() == ["no: digest differs"]
    datasets.fetch("averitec")
    assert target.read_bytes() == BODY


def test_without_digest(offer: Callable[..., Path], server: Server) -> None:
    target = offer(sha256="")
    target.parent.mkdir()
    target.write_bytes(b"the user's own copy")
    datasets.fetch("averitec")
    assert server.requests == 0
    assert verified() == ["unknown"]
    target.unlink()
    datasets.fetch("averitec")
    assert target.read_bytes() == BODY


@pytest.mark.parametrize(
    ("sha256", "status", "end", "message"),
    [
        ("0" * 64, 200, len(BODY), r"expected SHA-256 000000000000…, found"),
        (SHA256, 404, 0, "cut short|status 404"),
        (SHA256, 200, 1000, "cut short"),
    ],
)
def test_failures(
    offer: Callable[..., Path],
    server: Server,
    sha256: str,
    status: int,
    end: int,
    message: str,
) -> None:
    target = offer(sha256)
    target.parent.mkdir()
    target.write_bytes(b"old")
    server.status, server.end = status, end
    with pytest.raises(DownloadError, match=message) as caught:
        datasets.fetch("averitec")
    assert f"as {target} by hand" in str(caught.value)
    assert target.read_bytes() == b"old"
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]


@pytest.mark.parametrize("name", ["cosmos", "fakeddit"])
def test_not_public(name: str, data_home: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        datasets.fetch(name)
    assert str(caught.value) == datasets.instructions(name)
    paths = [data_home / file.path for file in datasets.card(name).files]
    for path in paths:
        assert str(path) in str(caught.value)
        path.parent.mkdir(exist_ok=True)
        path.write_text("there", encoding="utf8")
    assert datasets.fetch(name) == paths


def test_instructions(data_home: Path) -> None:
    for name, words in {
        "cosmos": "docs.google.com/forms/",
        "verite": "verite data fetch verite",
        "vmu-twitter": str(data_home / "vmu-twitter" / "images_available.txt"),
        "verite-evidence": "verite data fetch verite-evidence",
        "newsclippings": "download.sh",
    }.items():
        assert words in datasets.instructions(name)


def test_real_digests(real_data: Path) -> None:
    sizes = {
        file.path: file.size
        for card in cards().values()
        for file in card.files
        if file.sha256
    }
    pinned = [entry for entry in datasets.status() if entry.path in sizes]
    assert len(pinned) == 10
    for entry in pinned:
        assert (entry.verified, entry.bytes) == ("yes", sizes[entry.path])
