from __future__ import annotations

import hashlib
import io
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from verite.datasets import images
from verite.datasets.images import (
    FATES,
    Limits,
    Link,
    fetch_images,
    read_links,
    summary,
    verite_links,
)
from verite.errors import DataError, VeriteError


def picture(
    kind: str = "PNG", size: tuple[int, int] = (40, 30), seed: int = 0
) -> bytes:
    pixels = np.random.default_rng(seed).integers(
        0, 256, (size[1], size[0], 3), dtype=np.uint8
    )
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few dozen bytes whose header promises many pixels."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body))
            + name
            + body
            + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 100))
        + chunk(b"IEND", b"")
    )


PICTURE, PHOTO = picture(), picture("JPEG")


class Server(ThreadingHTTPServer):
    """Answers by path; remembers when each was asked for, how many at a time, and with
    which headers.
    """

    daemon_threads = True
    request_queue_size = 128  # all links at once

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[float, str]] = []
        self.headers: list[dict[str, str]] = []
        self.now = self.most = 0
        self.lock = threading.Lock()

    def handle_error(self, *_: object) -> None:  # a client that had enough is no news
        pass

    def count(self, path: str) -> int:
        return sum(one == path for _, one in self.asked)

    def link(self, path: str, key: str = "") -> Link:
        return Link(
            key or path.strip("/").replace("/", "-"),
            f"http://127.0.0.1:{self.server_port}{path}",
        )


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.asked.append((time.monotonic(), self.path))
            self.server.headers.append(dict(self.headers))
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        try:
            self.reply(self.path.split("/")[1])
        finally:
            with self.server.lock:
                self.server.now -= 1

    def reply(self, what: str) -> None:
        again = self.server.count(self.path) > 1
        match what:
            case "picture":
                self.give(PICTURE)
            case "photo":
                self.give(
                    PHOTO, kind="text/html"
                )  # what it says of itself does not count
            case "pause":
                time.sleep(0.1)
                self.give(PICTURE)
            case "loop":
                self.give(
                    b"",
                    301,
                    Location=(
                        f"/loop/{int(self.path.rsplit('/', 1)[1]) + 1}"
                        if "/loop/" in self.path
                        else "/loop/1"
                    ),
                )
            case "moved":
                self.give(b"", 302, Location="/picture")
            case "to-private":
                self.give(b"", 302, Location="http://10.1.2.3/secret.png")
            case "to-file":
                self.give(b"", 302, Location="file:///etc/passwd")
            case "403" | "404" | "410" | "418" | "500":
                self.give(b"no", int(what))
            case "204":
                self.give(b"", 204)
            case "429-then-200":
                (
                    self.give(PICTURE)
                    if again
                    else self.give(b"", 429, **{"Retry-After": "1"})
                )
            case "429-long":
                self.give(b"", 429, **{"Retry-After": "7200"})
            case "500-then-200":
                self.give(PICTURE) if again else self.give(b"", 500)
            case "slow":
                self.give(b"", length=1000)
                for _ in range(200):
                    self.wfile.write(b"x")
                    time.sleep(0.05)
            case "slow-head":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                for turn in range(90):  # http.client takes no more than 100
                    self.wfile.write(f"X-{turn}: x\r\n".encode())
                    time.sleep(0.1)
            case "silent":
                time.sleep(3)
            case "cut":
                self.give(PICTURE[:600], length=len(PICTURE))
            case "cut-unannounced":
                self.give(PICTURE[:600], length=None)
            case "damaged":
                self.give(PICTURE[:600])
            case "text":
                self.give(b"<html>This picture was removed.</html>", kind="image/png")
            case "empty":
                self.give(b"")
            case "bomb":
                self.give(bomb(60_000, 60_000))
            case "large":
                self.give(PICTURE + b"\0" * 200_000)
            case "large-unannounced":
                self.give(PICTURE + b"\0" * 200_000, length=None)
            case "gzip-bomb":
                packed = zlib.compressobj(wbits=31)
                self.give(
                    packed.compress(b"\0" * 50_000_000) + packed.flush(),
                    **{"Content-Encoding": "gzip"},
                )
            case "drop":
                self.connection.close()

    def give(
        self,
        body: bytes,
        status: int = 200,
        kind: str = "image/png",
        length: int | None = -1,
        **headers: str,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header(
                "Content-Length", str(len(body) if length == -1 else length)
            )
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(
            target=made.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield made
        made.shutdown()
        thread.join()


LIMITS = Limits(
    per_host=16,
    delay=0,
    backoff=0.01,
    tries=2,
    patience=2,
    silence=2.5,
    seconds=3,
    bytes=100_000,
    strikes=99,
    allow_host="127.0.0.1",
)


def fates(fetched: pd.DataFrame) -> dict[str, str]:
    return dict(zip(fetched["id"], fetched["status"], strict=True))


# Each kind of answer
# -----------------------------------------------------------------------------------------

EXPECTED = {
    "picture": "ok",
    "photo": "ok",
    "moved": "ok",
    "429-then-200": "ok",
    "500-then-200": "ok",
    "404": "gone",
    "410": "gone",
    "403": "forbidden",
    "418": "forbidden",
    "text": "not an image",
    "empty": "not an image",
    "204": "not an image",
    "damaged": "unreadable",
    "bomb": "too large",
    "large": "too large",
    "large-unannounced": "too large",
    "gzip-bomb": "too large",
    "to-private": "private address",
    "to-file": "bad link",
    "loop": "too many redirects",
    "slow": "timed out",
    "slow-head": "timed out",
    "silent": "timed out",
    "cut": "cut short",
    "cut-unannounced": "cut short",
    "500": "server error",
    "drop": "unreachable",
}
PASSING = {"timed out", "cut short", "busy", "server error", "unreachable"}


def test_each_answer_ends_as_it_should_and_a_second_run_asks_only_for_what_may_come(
    server: Server, tmp_path: Path
) -> None:
    links = [server.link(f"/{name}") for name in EXPECTED]
    first = fetch_images(links, tmp_path, limits=LIMITS, progress=False)
    assert fates(first) == EXPECTED
    assert first["asked"].all()

    there = {path.name for path in tmp_path.iterdir()} - {"ledger.csv", ".lock"}
    assert there == {f"{name}.jpg" for name, fate in EXPECTED.items() if fate == "ok"}
    ledger = pd.read_csv(tmp_path / "ledger.csv", dtype=str, keep_default_na=False)
    assert fates(ledger) == EXPECTED

    server.asked.clear()
    second = fetch_images(
        links, tmp_path, limits=replace(LIMITS, tries=1), progress=False
    )
    assert fates(second) == EXPECTED
    assert {path.split("/")[1] for _, path in server.asked} == {
        name for name, fate in EXPECTED.items() if fate in PASSING
    }
    assert set(second.loc[second["asked"], "id"]) == {
        name for name, fate in EXPECTED.items() if fate in PASSING
    }


def test_the_ledger_says_what_came_from_where_and_how_often_it_was_asked_for(
    server: Server, tmp_path: Path
) -> None:
    links = [
        server.link("/photo"),
        server.link("/moved"),
        server.link("/500"),
        server.link("/404"),
    ]
    fetched = fetch_images(links, tmp_path, limits=LIMITS, progress=False).set_index(
        "id"
    )
    photo = fetched.loc["photo"]
    assert (photo["format"], photo["width"], photo["height"], photo["bytes"]) == (
        "JPEG",
        40,
        30,
        len(PHOTO),
    )
    assert photo["sha256"] == hashlib.sha256(PHOTO).hexdigest()
    assert (tmp_path / photo["file"]).read_bytes() == PHOTO
    assert fetched.loc["moved", "final_url"].endswith("/picture")
    assert fetched["http_status"].tolist() == [200, 200, 500, 404]
    assert fetched["tries"].tolist() == [1, 1, 2, 1]
    assert fetched["when"].str.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00").all()


def test_the_project_names_itself(server: Server, tmp_path: Path) -> None:
    fetch_images([server.link("/picture")], tmp_path, limits=LIMITS, progress=False)
    assert server.headers[0]["User-Agent"].startswith("verite/")
    assert server.headers[0]["Host"] == f"127.0.0.1:{server.server_port}"


def test_a_link_without_a_host_or_of_another_scheme_is_a_bad_one_and_nothing_is_asked(
    tmp_path: Path,
) -> None:
    urls = [
        "file:///etc/passwd",
        "ftp://example.org/a.jpg",
        "data:image/png;base64,AAAA",
        "picture.jpg",
        "http://",
        "http://[::1/a",
    ]
    fetched = fetch_images(
        [Link(str(i), url) for i, url in enumerate(urls)],
        tmp_path,
        limits=LIMITS,
        progress=False,
    )
    assert set(fetched["status"]) == {"bad link"}


# Private addresses
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "2130706433", "0x7f.1", "localhost", "10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",  # noqa: S104
     "[::1]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::a00:1]", "[2002:7f00:1::]"],
)  # fmt: skip
def test_a_private_address_is_refused_in_every_spelling(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        socket, "create_connection", lambda *_, **__: pytest.fail("connected")
    )
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("connected"))
    fetched = fetch_images(
        [Link("a", f"http://{host}/a.png")], tmp_path, progress=False
    )
    assert fates(fetched) == {"a": "private address"}


def answers(*addresses: str) -> Callable[..., list[tuple[object, ...]]]:
    """A resolver that gives one address at the first question, the next at the second."""
    left = list(addresses)
    return lambda _host, port, **_: [
        (
            socket.AF_INET,
            socket.SOCK_STREAM,
            6,
            "",
            (left.pop(0) if len(left) > 1 else left[0], port),
        )
    ]


def test_the_connection_goes_to_the_address_that_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A name that is public when it is checked, and private a moment later.
    connected: list[object] = []

    def connect(_self: socket.socket, address: object) -> None:
        connected.append(address)
        raise ConnectionRefusedError("refused")

    real = socket.getaddrinfo
    fake = answers("93.184.215.14", "127.0.0.1")
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: (fake if host == "x.example" else real)(
            host, *rest, **more
        ),
    )
    monkeypatch.setattr(socket.socket, "connect", connect)
    fetched = fetch_images(
        [Link("a", "http://x.example/a.png")],
        tmp_path,
        limits=Limits(tries=1),
        progress=False,
    )
    assert fates(fetched) == {"a": "unreachable"}
    assert connected == [("93.184.215.14", 80)]


def test_only_the_host_that_is_named_may_be_private(
    server: Server, tmp_path: Path
) -> None:
    link = server.link("/picture")
    named = Link("b", link.url.replace("127.0.0.1", "localhost"))
    fetched = fetch_images([link, named], tmp_path, limits=LIMITS, progress=False)
    assert fates(fetched) == {"picture": "ok", "b": "private address"}


# TLS
# ---------------------------------------------------------------------------------------------------------


def test_a_certificate_counts_for_the_name_in_the_link_only(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-days",
        "2",
    ]
    words += [
        "-addext",
        "subjectAltName=DNS:localhost",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    ]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl to make a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))

    def fetch(host: str, out: str) -> pd.DataFrame:
        url = f"https://{host}:{server.server_port}/picture"
        return fetch_images(
            [Link("a", url)],
            tmp_path / out,
            limits=replace(LIMITS, allow_host=host),
            progress=False,
        )

    assert fates(fetch("localhost", "right")) == {"a": "ok"}
    wrong = fetch("127.0.0.1", "wrong")
    assert fates(wrong) == {"a": "unreachable"}
    assert "certificate" in wrong.loc[0, "what"]


# Politeness
# --------------------------------------------------------------------------------------------------


def test_a_host_is_asked_by_so_many_at_a_time(server: Server, tmp_path: Path) -> None:
    links = [server.link(f"/pause/{i}") for i in range(6)]
    fetched = fetch_images(
        links, tmp_path, limits=replace(LIMITS, per_host=2), progress=False
    )
    assert set(fetched["status"]) == {"ok"}
    assert server.most == 2


def test_requests_to_a_host_start_with_a_delay_between_them_redirects_included(
    server: Server, tmp_path: Path
) -> None:
    links = [server.link("/picture"), server.link("/moved"), server.link("/photo")]
    fetch_images(links, tmp_path, limits=replace(LIMITS, delay=0.1), progress=False)
    times = sorted(when for when, _ in server.asked)
    assert len(times) == 4
    assert np.diff(times).min() > 0.08


def test_a_host_that_asks_to_wait_is_left_alone_for_as_long(
    server: Server, tmp_path: Path
) -> None:
    links = [
        server.link("/429-then-200"),
        *(server.link(f"/pause/{i}") for i in range(3)),
    ]
    fetched = fetch_images(
        links, tmp_path, limits=replace(LIMITS, per_host=1), progress=False
    )
    assert set(fetched["status"]) == {"ok"}
    assert fetched["tries"].tolist() == [2, 1, 1, 1]
    times = [when for when, _ in server.asked]
    assert server.asked[0][1] == "/429-then-200"
    assert times[1] - times[0] >= 1  # seconds, as it asked
    assert times[-1] - times[0] < 2


def test_a_host_that_asks_for_more_patience_than_there_is_is_not_asked_again(
    server: Server, tmp_path: Path
) -> None:
    links = [
        server.link("/429-long"),
        *(server.link(f"/picture/{i}") for i in range(5)),
    ]
    fetched = fetch_images(
        links, tmp_path, limits=replace(LIMITS, per_host=1), progress=False
    )
    assert set(fetched["status"]) == {"busy"}
    assert len(server.asked) == 1
    assert fetched["what"].tolist()[1] == "not asked: the host asks to wait 7,200 s"


def test_a_host_that_keeps_failing_is_given_up(server: Server, tmp_path: Path) -> None:
    links = [server.link(f"/drop/{i}") for i in range(20)]
    fetched = fetch_images(
        links, tmp_path, limits=replace(LIMITS, per_host=1, strikes=4), progress=False
    )
    assert set(fetched["status"]) == {"unreachable"}
    assert len(server.asked) == 4


def test_tries_are_further_and_further_apart(server: Server, tmp_path: Path) -> None:
    fetch_images(
        [server.link("/500")],
        tmp_path,
        limits=replace(LIMITS, tries=4, backoff=0.1),
        progress=False,
    )
    gaps = np.diff([when for when, _ in server.asked])
    assert len(gaps) == 3
    for gap, base in zip(gaps, (0.1, 0.2, 0.4), strict=True):
        assert 0.5 * base <= gap < 1.5 * base + 0.1


# Second runs
# -------------------------------------------------------------------------------------------------


def test_a_file_that_was_removed_or_changed_and_a_link_that_was_changed_are_asked_for_again(
    server: Server, tmp_path: Path
) -> None:
    links = [server.link(f"/picture/{i}") for i in range(4)]
    fetch_images(links, tmp_path, limits=LIMITS, progress=False)
    (tmp_path / "picture-0.jpg").unlink()
    (tmp_path / "picture-1.jpg").write_bytes(b"cut")
    server.asked.clear()
    links[2] = Link("picture-2", server.link("/photo").url)
    fetched = fetch_images(links, tmp_path, limits=LIMITS, progress=False)
    assert {path for _, path in server.asked} == {"/picture/0", "/picture/1", "/photo"}
    assert set(fetched["status"]) == {"ok"}


def test_final_fates_are_asked_again_only_if_told_so(
    server: Server, tmp_path: Path
) -> None:
    links = [server.link("/404"), server.link("/picture")]
    for retry, asked in ((False, 2), (False, 2), (True, 3)):
        fetch_images(links, tmp_path, limits=LIMITS, retry_failed=retry, progress=False)
        assert len(server.asked) == asked


def test_a_picture_that_was_put_there_by_hand_is_taken_as_it_is(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "picture.jpg").write_bytes(PHOTO)
    (tmp_path / "photo.jpg").write_bytes(b"no picture")
    fetched = fetch_images(
        [server.link("/picture"), server.link("/photo")],
        tmp_path,
        limits=LIMITS,
        progress=False,
    ).set_index("id")
    assert fetched.loc["picture", ["status", "tries", "what", "format"]].tolist() == [
        "ok",
        0,
        "was there",
        "JPEG",
    ]
    assert [path for _, path in server.asked] == ["/photo"]
    assert (tmp_path / "photo.jpg").read_bytes() == PHOTO


def test_the_ledger_keeps_what_it_knows_of_links_that_are_not_asked_for_now(
    server: Server, tmp_path: Path
) -> None:
    fetch_images([server.link("/404")], tmp_path, limits=LIMITS, progress=False)
    fetch_images([server.link("/picture")], tmp_path, limits=LIMITS, progress=False)
    assert pd.read_csv(tmp_path / "ledger.csv", dtype=str)["id"].tolist() == [
        "404",
        "picture",
    ]


def test_a_run_that_is_killed_loses_nothing_that_had_come(
    server: Server, tmp_path: Path
) -> None:
    table = tmp_path / "links.csv"
    links = [server.link(f"/pause/{i}") for i in range(40)]
    table.write_text(
        "id,url\n" + "".join(f"{link.id},{link.url}\n" for link in links),
        encoding="utf8",
    )
    out = tmp_path / "out"
    words = [
        "data",
        "images",
        str(table),
        "--out",
        str(out),
        "--allow-host",
        "127.0.0.1",
        "--delay",
        "0",
        "--per-host",
        "1",
    ]
    started = subprocess.Popen(
        [sys.executable, "-m", "verite", *words],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    while len(server.asked) < 5:
        time.sleep(0.02)
        assert started.poll() is None
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    pictures = list(out.glob("pause-*.jpg"))
    assert 3 <= len(pictures) < 40
    assert all(path.read_bytes() == PICTURE for path in pictures)
    time.sleep(0.2)
    server.asked.clear()
    fetched = fetch_images(links, out, limits=LIMITS, progress=False)
    assert set(fetched["status"]) == {"ok"}
    assert len(server.asked) == 40 - len(pictures)
    assert not list(out.glob(".part-*"))


def test_a_run_that_is_stopped_ends_at_once_and_keeps_its_ledger(
    server: Server, tmp_path: Path
) -> None:
    table = tmp_path / "links.csv"
    links = [server.link("/picture"), *(server.link(f"/slow/{i}") for i in range(3))]
    table.write_text(
        "id,url\n" + "".join(f"{link.id},{link.url}\n" for link in links),
        encoding="utf8",
    )
    words = [
        "data",
        "images",
        str(table),
        "--out",
        str(tmp_path / "out"),
        "--allow-host",
        "127.0.0.1",
        "--delay",
        "0",
        "--per-host",
        "4",
    ]
    started = subprocess.Popen(
        [sys.executable, "-m", "verite", *words], stderr=subprocess.PIPE, text=True
    )
    while len(server.asked) < 4:
        time.sleep(0.02)
    time.sleep(0.3)
    start = time.monotonic()
    started.send_signal(signal.SIGINT)
    message = started.communicate(timeout=10)[1]
    assert time.monotonic() - start < 3
    assert started.returncode == 130
    assert "verite: stopped. Pictures that came are kept" in message
    assert "Traceback" not in message
    assert pd.read_csv(tmp_path / "out" / "ledger.csv")["id"].tolist() == ["picture"]


def test_two_runs_do_not_work_in_one_folder(server: Server, tmp_path: Path) -> None:
    with (
        images._alone(tmp_path),
        pytest.raises(
            VeriteError, match="another run fetches pictures into this folder"
        ),
    ):
        fetch_images([server.link("/picture")], tmp_path, limits=LIMITS, progress=False)


def test_a_file_that_cannot_be_written_ends_the_run_and_is_no_fate_of_a_link(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "picture.jpg").mkdir()
    with pytest.raises(VeriteError, match="is a folder"):
        fetch_images([server.link("/picture")], tmp_path, limits=LIMITS, progress=False)


def test_another_table_in_the_ledgers_place_is_not_overwritten(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "ledger.csv").write_text("kind,id\nimage,a\n", encoding="utf8")
    with pytest.raises(DataError, match="expected the ledger of an earlier run"):
        fetch_images([server.link("/picture")], tmp_path, limits=LIMITS, progress=False)
    assert not server.asked


# Tables of links
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,link\na,http://x.example\n",
            (
                r"no column 'url'\. Found: 'id', 'link'\. Name another one with"
                r" --url-column"
            ),
        ),
        (
            "id,url\na,http://x.example\nA,http://y.example\n",
            r"each id must stand once; a, A does not \(row 1, 2\)",
        ),
        (
            "id,url\n../a,http://x.example\n",
            r"an id becomes the name of a file, which '../a' cannot be \(row 1\)",
        ),
        ("id,url\n,http://x.example\n", r"which '' cannot be \(row 1\)"),
        ("id,url\na,\n", "no row has a link in column 'url'"),
        ("id,url\n", "no row has a link in column 'url'"),
    ],
)
def test_a_table_of_links_that_is_none_is_one_clear_message(
    content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "links.csv"
    path.write_text(content, encoding="utf8")
    with pytest.raises(DataError, match=message):
        read_links(path)


def test_columns_have_the_names_one_gives_them_and_rows_without_a_link_are_left_out(
    tmp_path: Path,
) -> None:
    path = tmp_path / "links.csv"
    path.write_text("key,where\na, http://x.example/a b.png \nb,\n", encoding="utf8")
    assert read_links(path, "key", "where") == [Link("a", "http://x.example/a b.png")]


def test_an_id_that_stands_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="each id must stand once; a stands several times"
    ):
        fetch_images(
            [Link("a", "http://x.example"), Link("a", "http://y.example")], tmp_path
        )


def test_a_summary_counts_each_fate_and_says_what_may_come(
    server: Server, tmp_path: Path
) -> None:
    links = [server.link(path) for path in ("/picture", "/photo", "/404", "/500")]
    lines = summary(fetch_images(links, tmp_path, limits=LIMITS, progress=False))
    assert lines[0] == "4 links: 4 asked for, 0 settled before"
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["ok", "2"],
        ["gone", "1"],
        ["server", "error"],
    ]
    assert lines[-1] == "1 may come yet: run the same command again later."
    assert set(EXPECTED.values()) | {"busy"} == set(FATES)


def test_the_real_table_links_to_663_images(real_data: Path) -> None:
    links = verite_links()
    assert Counter(link.id.partition("_")[0] for link in links) == {
        "true": 338,
        "false": 325,
    }
    assert len({link.url for link in links}) == 663
    assert all(link.url.startswith(("https://", "http://")) for link in links)
    assert Counter(link.url.partition(":")[0] for link in links) == {
        "https": 655,
        "http": 8,
    }
    pairs = pd.read_csv(real_data / "verite" / "VERITE.csv")
    assert {f"images/{link.file}" for link in links} == set(pairs["image_path"])
