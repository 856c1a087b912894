"""Downloads of images; what the HTTP client refuses is in test_http.py."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from verite.datasets.images import (
    STATUSES,
    Link,
    fetch_images,
    read_links,
    summary,
    verite_links,
)
from verite.errors import DataError, VeriteError
from verite.files import lock
from verite.http import Limits


def picture(kind: str) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


PICTURE, PHOTO = picture("PNG"), picture("JPEG")
ANSWERS = {
    "picture": PICTURE,
    "photo": PHOTO,
    "pause": PICTURE,
    "damaged": PICTURE[:600],
    "text": b"<html>This image was removed.</html>",
    "empty": b"",
    "large": PICTURE + b"\0" * 200_000,
}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[float, str]] = []

    def handle_error(self, *_: object) -> None:  # a client that closed early
        pass

    def link(self, path: str) -> Link:
        name = path.strip("/").replace("/", "-")
        return Link(name, f"http://127.0.0.1:{self.server_port}{path}")

    def paths(self) -> list[str]:
        return [path for _, path in self.requests]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append((time.monotonic(), self.path))
        kind = self.path.split("/")[1]
        if kind == "pause":
            time.sleep(0.1)
        if kind == "slow":
            time.sleep(20)
        if kind == "drop":
            self.connection.close()
            return
        code = 302 if kind == "moved" else int(kind) if kind.isdecimal() else 200
        body = ANSWERS.get(kind, b"")
        self.send_response(code)
        self.send_header("Content-Type", "text/html")  # does not matter
        if code == 302:
            self.send_header("Location", "/picture")
        if code == 429:
            self.send_header("Retry-After", "7200")
        self.send_header("Content-Length", str(len(body)))
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


def fetch(links: list[Link], out: Path, **options: Any) -> pd.DataFrame:
    limits = Limits(tries=1, silence=2, seconds=3, bytes=100_000)
    settings = {"delay": 0, "limits": limits, "allow_host": "127.0.0.1"}
    return fetch_images(links, out, **(settings | options))


EXPECTED = {
    "picture": "ok",
    "photo": "ok",
    "moved": "ok",
    "404": "gone",
    "410": "gone",
    "403": "forbidden",
    "418": "forbidden",
    "204": "not an image",
    "text": "not an image",
    "empty": "not an image",
    "damaged": "not an image",
    "large": "too large",
    "drop": "unreachable",
    "500": "server error",
    "429": "busy",
}


def test_statuses_and_second_run(server: Server, tmp_path: Path) -> None:
    links = [server.link(f"/{name}") for name in EXPECTED]
    first = fetch(links, tmp_path).set_index("id")
    assert first["status"].to_dict() == EXPECTED
    assert first["requested"].all()
    saved = {path.stem for path in tmp_path.glob("*.jpg")}
    assert saved == {name for name, status in EXPECTED.items() if status == "ok"}
    ledger = pd.read_csv(tmp_path / "ledger.csv", keep_default_na=False).astype(str)
    assert dict(zip(ledger["id"], ledger["status"], strict=True)) == EXPECTED

    photo = first.loc["photo"]
    columns = ["format", "width", "height", "bytes", "sha256", "http_status"]
    digest = hashlib.sha256(PHOTO).hexdigest()
    assert photo[columns].tolist() == ["JPEG", 40, 30, len(PHOTO), digest, 200]
    assert (tmp_path / photo["file"]).read_bytes() == PHOTO
    assert first.loc["moved", "final_url"].endswith("/picture")
    assert first["when"].str.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00").all()

    server.requests.clear()
    second = fetch(links, tmp_path)
    assert server.paths() == ["/drop", "/500", "/429"]
    assert second.loc[second["requested"], "id"].tolist() == ["drop", "500", "429"]
    lines = summary(second)
    assert lines[0] == "15 links: 3 requested, 12 settled before"
    assert lines[-1] == "3 may still come: run the same command again later."
    fetch(links[3:4], tmp_path, retry_failed=True)
    assert server.paths()[-1] == "/404"
    assert set(EXPECTED.values()) <= set(STATUSES)


def test_refused(tmp_path: Path) -> None:
    links = [Link("a", "http://10.0.0.1/a.png"), Link("b", "picture.jpg")]
    images = fetch_images(links, tmp_path)
    assert images["status"].tolist() == ["private address", "bad link"]


def test_delay(server: Server, tmp_path: Path) -> None:
    links = [server.link(path) for path in ("/picture", "/moved", "/photo")]
    fetch(links, tmp_path, delay=0.1)
    times = [when for when, _ in server.requests]
    assert len(times) == 4  # redirects included
    assert np.diff(times).min() > 0.08


@pytest.mark.parametrize(("path", "requests"), [("/429", 1), ("/drop/{}", 5)])
def test_failing_host(server: Server, tmp_path: Path, path: str, requests: int) -> None:
    links = [server.link(path.format(i)) for i in range(1 if "{" not in path else 9)]
    links += [server.link(f"/picture/{i}") for i in range(3)]
    images = fetch(links, tmp_path)
    assert len(server.requests) == requests
    assert "ok" not in set(images["status"])
    assert images["what"].iloc[-1] == "not requested: the host failed before"


def test_changes(server: Server, tmp_path: Path) -> None:
    links = [server.link(f"/picture/{i}") for i in range(4)]
    fetch(links, tmp_path)
    (tmp_path / "picture-0.jpg").unlink()
    (tmp_path / "picture-1.jpg").write_bytes(b"cut")
    server.requests.clear()
    links[2] = Link("picture-2", server.link("/photo").url)
    images = fetch(links[:3], tmp_path)
    assert set(server.paths()) == {"/picture/0", "/picture/1", "/photo"}
    assert set(images["status"]) == {"ok"}
    assert len(pd.read_csv(tmp_path / "ledger.csv")) == 4


def test_put_by_hand(server: Server, tmp_path: Path) -> None:
    (tmp_path / "picture.jpg").write_bytes(PHOTO)
    (tmp_path / "photo.jpg").write_bytes(b"no image")
    images = fetch([server.link("/picture"), server.link("/photo")], tmp_path)
    assert images["what"].tolist() == ["was already there", ""]
    assert server.paths() == ["/photo"]
    assert (tmp_path / "photo.jpg").read_bytes() == PHOTO


def start(server: Server, table: Path, paths: list[str]) -> subprocess.Popen[str]:
    links = [server.link(path) for path in paths]
    lines = ["id,url", *(f"{link.id},{link.url}" for link in links)]
    table.write_text("\n".join(lines), encoding="utf8")
    command = f"{sys.executable} -m verite data images {table} --out {table.parent}/out"
    return subprocess.Popen(
        [*command.split(), "--allow-host", "127.0.0.1", "--delay", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed(server: Server, tmp_path: Path) -> None:
    paths = [f"/pause/{i}" for i in range(20)]
    with start(server, tmp_path / "links.csv", paths) as run:
        while len(server.requests) < 5:
            time.sleep(0.02)
            assert run.poll() is None
        os.kill(run.pid, signal.SIGKILL)
    out = tmp_path / "out"
    saved = list(out.glob("pause-*.jpg"))
    assert 3 <= len(saved) < 20
    assert all(path.read_bytes() == PICTURE for path in saved)
    time.sleep(0.2)
    server.requests.clear()
    images = fetch([server.link(path) for path in paths], out)
    assert set(images["status"]) == {"ok"}
    assert len(server.requests) == 20 - len(saved)
    assert not list(out.glob(".part-*"))


def test_stopped(server: Server, tmp_path: Path) -> None:
    with start(server, tmp_path / "links.csv", ["/picture", "/slow"]) as run:
        while len(server.requests) < 2:
            time.sleep(0.02)
        begin = time.monotonic()
        run.send_signal(signal.SIGINT)
        message = run.communicate(timeout=15)[1]
        assert time.monotonic() - begin < 10
    assert run.returncode == 130
    assert "verite: stopped. Images that were saved are in" in message
    assert "Traceback" not in message
    assert pd.read_csv(tmp_path / "out" / "ledger.csv")["id"].tolist() == ["picture"]


def test_folder_errors(server: Server, tmp_path: Path) -> None:
    links = [server.link("/picture")]
    with (
        lock(tmp_path / "locked"),
        pytest.raises(VeriteError, match="another run is using .*locked"),
    ):
        fetch(links, tmp_path / "locked")
    (tmp_path / "picture.jpg").mkdir()
    with pytest.raises(VeriteError, match="is a folder"):
        fetch(links, tmp_path)
    (tmp_path / "ledger.csv").write_text("kind,id\nimage,a\n", encoding="utf8")
    with pytest.raises(DataError, match="not the ledger of an earlier run"):
        fetch(links, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,link\na,http://x.example\n", r"no column 'url'.*'link'\..*--url-column"),
        ("id,url\na,http://x.example\nA,http://y.example\n", "duplicate ids: a, A"),
        ("id,url\n../a,http://x.example\n", r"'../a' cannot be \(row 1\)"),
        ("id,url\n,http://x.example\n", r"which '' cannot be \(row 1\)"),
        ("id,url\na,\n", "no row has a link in column 'url'"),
    ],
)
def test_bad_links(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text(content, encoding="utf8")
    with pytest.raises(DataError, match=message):
        read_links(path)


def test_links(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text("key,where\na, http://x.example/a b.png \nb,\n", encoding="utf8")
    links = read_links(path, "key", "where")
    assert links == [Link("a", "http://x.example/a b.png")]
    with pytest.raises(DataError, match="duplicate ids: a"):
        fetch_images(links * 2, tmp_path)


def test_real_links(real_data: Path) -> None:
    links = verite_links()
    kinds = Counter(link.id.partition("_")[0] for link in links)
    assert kinds == {"true": 338, "false": 325}
    assert len({link.url for link in links}) == 663
    schemes = Counter(link.url.partition(":")[0] for link in links)
    assert schemes == {"https": 655, "http": 8}
    pairs = pd.read_csv(real_data / "verite" / "VERITE.csv")
    assert {f"images/{link.file}" for link in links} == set(pairs["image_path"])
