from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import requests

from verite.datasets import download
from verite.datasets.registry import FILES, DataFile
from verite.errors import DownloadError, MissingDataError, ParameterError

BODY = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(BODY).hexdigest()
WRONG = hashlib.sha256(b"another file").hexdigest()


class Server(ThreadingHTTPServer):
    """Gives BODY, in the way that a test sets."""

    ranges = True
    etag: str | None = '"v1"'
    cut_after: int | None = None
    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file.bin"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append(wanted)
        if self.server.status != 200:
            self.send_error(self.server.status)
            return
        start = (
            int(wanted.removeprefix("bytes=").removesuffix("-"))
            if wanted and self.server.ranges
            else 0
        )
        if start and self.headers.get("If-Range") != self.server.etag:
            start = 0
        if start >= len(BODY):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header(
                "Content-Range", f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"
            )
        if self.server.etag:
            self.send_header("ETag", self.server.etag)
        self.send_header("Content-Length", str(len(BODY) - start))
        self.end_headers()
        self.wfile.write(BODY[start : self.server.cut_after])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as made:
        thread = threading.Thread(
            target=made.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def offer(
    server: Server, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Put one file into the registry, as the data set "toy".

    Gives the path it will have.
    """

    def one_file(sha256: str = SHA256) -> Path:
        monkeypatch.setattr(
            download,
            "FILES",
            {"toy": (DataFile("toy/file.bin", server.url, sha256, len(BODY)),)},
        )
        return data_home / "toy" / "file.bin"

    return one_file


def cut(server: Server, target: Path) -> Path:
    """Fetch once with the connection cut half-way; gives the part that is kept."""
    server.cut_after = 150_000
    with pytest.raises(DownloadError, match="broke off"):
        download.fetch("toy", progress=False)
    server.cut_after = None
    return target.with_name("file.bin.part")


def test_a_file_comes_whole_and_leaves_nothing_beside_it(
    offer: Callable[..., Path],
) -> None:
    target = offer()
    assert download.fetch("toy") == [target]
    assert target.read_bytes() == BODY
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]
    assert target.stat().st_mode & 0o044 == 0o044


def test_a_file_that_is_as_it_should_be_is_not_fetched_again(
    offer: Callable[..., Path], server: Server
) -> None:
    offer()
    download.fetch("toy")
    download.fetch("toy")
    assert len(server.asked) == 1


def test_a_file_with_another_digest_is_replaced(offer: Callable[..., Path]) -> None:
    target = offer()
    target.parent.mkdir()
    target.write_bytes(b"cut")
    assert [entry.verified for entry in download.status()] == ["no: digest differs"]
    download.fetch("toy")
    assert target.read_bytes() == BODY


def test_a_cut_fetch_goes_on_where_it_stopped(
    offer: Callable[..., Path], server: Server
) -> None:
    target = offer()
    kept = cut(server, target).stat().st_size
    assert 0 < kept < len(BODY)
    assert not target.exists()
    download.fetch("toy", progress=False)
    assert server.asked == [None, f"bytes={kept}-"]
    assert target.read_bytes() == BODY
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]


def test_the_error_of_a_cut_fetch_names_host_bytes_and_what_to_do_in_one_line(
    offer: Callable[..., Path], server: Server
) -> None:
    target = offer()
    server.cut_after = 150_000
    with pytest.raises(DownloadError) as caught:
        download.fetch("toy", progress=False)
    message = str(caught.value)
    assert (
        f"the connection to 127.0.0.1:{server.server_port} broke off after" in message
    )
    assert (
        f"Run the same command again, or save {server.url} as {target} by hand."
        in message
    )
    assert "\n" not in message


def test_a_server_that_ignores_ranges_gives_the_file_from_the_start(
    offer: Callable[..., Path], server: Server
) -> None:
    target = offer()
    server.ranges = False
    cut(server, target)
    download.fetch("toy", progress=False)
    assert target.read_bytes() == BODY


def test_a_file_that_changed_meanwhile_is_fetched_from_the_start(
    offer: Callable[..., Path], server: Server
) -> None:
    target = offer()
    part = cut(server, target)
    part.write_bytes(b"x" * part.stat().st_size)
    server.etag = '"v2"'
    download.fetch("toy", progress=False)
    assert target.read_bytes() == BODY


@pytest.mark.parametrize("etag", [None, 'W/"v1"'])
def test_without_a_strong_mark_of_the_version_nothing_is_resumed(
    offer: Callable[..., Path], server: Server, etag: str | None
) -> None:
    target = offer()
    server.etag = etag
    cut(server, target)
    download.fetch("toy", progress=False)
    assert server.asked == [None, None]
    assert target.read_bytes() == BODY


def test_a_part_that_is_too_long_is_thrown_away(
    offer: Callable[..., Path], server: Server
) -> None:
    target = offer()
    part = cut(server, target)
    part.write_bytes(BODY + b"more")
    download.fetch("toy", progress=False)
    assert target.read_bytes() == BODY


def test_a_wrong_digest_removes_what_came_and_keeps_what_was_there(
    offer: Callable[..., Path],
) -> None:
    target = offer(sha256=WRONG)
    target.parent.mkdir()
    target.write_bytes(b"what was there before")
    with pytest.raises(
        DownloadError,
        match=rf"file\.bin: expected SHA-256 {WRONG[:12]}…, found another.*intact",
    ):
        download.fetch("toy", progress=False)
    assert target.read_bytes() == b"what was there before"
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]


def test_a_refusal_names_host_status_and_address(
    offer: Callable[..., Path], server: Server
) -> None:
    target = offer()
    server.status = 404
    with pytest.raises(
        DownloadError, match=rf"^127\.0\.0\.1:\d+ refused: 404 .*{server.url}"
    ):
        download.fetch("toy", progress=False)
    assert not target.exists()


def test_a_server_that_is_gone_is_one_clear_line(
    data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(
        download,
        "FILES",
        {"toy": (DataFile("toy/file.bin", f"http://{address}/file.bin", SHA256),)},
    )
    with pytest.raises(DownloadError) as caught:
        download.fetch("toy", progress=False)
    assert (
        str(caught.value)
        == f"cannot reach {address}: no network, or it is blocked. Run the same command"
        f" again, or save http://{address}/file.bin as"
        f" {data_home / 'toy' / 'file.bin'} by hand."
    )


def test_an_interrupt_keeps_the_part_and_leaves_no_half_file(
    offer: Callable[..., Path], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = offer()
    whole = requests.Response.iter_content

    def interrupted(self: requests.Response, size: int) -> Iterator[bytes]:
        yield next(whole(self, size))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(requests.Response, "iter_content", interrupted)
        with pytest.raises(KeyboardInterrupt):
            download.fetch("toy", progress=False)
    assert sorted(path.name for path in target.parent.iterdir()) == [
        "file.bin.part",
        "file.bin.part.etag",
    ]
    download.fetch("toy", progress=False)
    assert target.read_bytes() == BODY
    assert server.asked[1] is not None


def test_a_full_disk_is_an_error_and_leaves_the_old_file(
    offer: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = offer()
    target.parent.mkdir()
    target.write_bytes(b"old")

    def full(self: requests.Response, size: int) -> Iterator[bytes]:
        raise OSError(28, "No space left on device")
        yield b""

    monkeypatch.setattr(requests.Response, "iter_content", full)
    with pytest.raises(
        DownloadError, match=r"cannot write .*file\.bin: No space left on device"
    ):
        download.fetch("toy", progress=False)
    assert target.read_bytes() == b"old"


def test_the_first_fetch_without_a_known_digest_is_recorded_and_checked_from_then_on(
    offer: Callable[..., Path], server: Server
) -> None:
    target = offer(sha256="")
    download.fetch("toy", progress=False)
    assert (target.parent / "file.bin.sha256").read_text(
        encoding="utf8"
    ) == f"{SHA256}  file.bin\n"
    assert [entry.verified for entry in download.status()] == ["as first fetched"]
    target.write_bytes(b"edited")
    assert [entry.verified for entry in download.status()] == ["no: digest differs"]
    download.fetch("toy", progress=False)
    assert target.read_bytes() == BODY
    assert len(server.asked) == 2


def test_a_file_that_lay_there_before_is_kept_and_not_vouched_for(
    offer: Callable[..., Path], server: Server
) -> None:
    target = offer(sha256="")
    target.parent.mkdir()
    target.write_bytes(b"a copy of the user's own")
    download.fetch("toy", progress=False)
    assert target.read_bytes() == b"a copy of the user's own"
    assert [entry.verified for entry in download.status()] == ["unknown"]
    assert server.asked == []


def test_status_tells_absent_from_present(offer: Callable[..., Path]) -> None:
    offer()
    assert download.status() == [
        download.FileStatus("toy", "toy/file.bin", False, len(BODY), "")
    ]
    download.fetch("toy", progress=False)
    assert download.status() == [
        download.FileStatus("toy", "toy/file.bin", True, len(BODY), "yes")
    ]


def test_checksums_are_those_of_the_files_that_are_there(
    offer: Callable[..., Path],
) -> None:
    offer()
    assert download.checksums(["toy"]) == {}
    download.fetch("toy", progress=False)
    assert download.checksums(["toy", "newsroom"]) == {"toy/file.bin": SHA256}


def test_fetching_says_nothing_beside_the_bar(
    offer: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    offer()
    download.fetch("toy")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["cosmos", "fakeddit"])
def test_what_cannot_be_fetched_gives_instructions_instead(
    name: str, data_home: Path
) -> None:
    with pytest.raises(MissingDataError) as caught:
        download.fetch(name)
    assert str(caught.value) == download.instructions(name)
    for file in FILES[name]:
        assert str(data_home / file.path) in str(caught.value)
        (data_home / file.path).parent.mkdir(exist_ok=True)
        (data_home / file.path).write_text("there", encoding="utf8")
    assert download.fetch(name) == [data_home / file.path for file in FILES[name]]


def test_instructions_tell_where_to_ask_for_what(data_home: Path) -> None:
    assert "docs.google.com/forms/" in download.instructions("cosmos")
    assert "multimodal_only_samples" in download.instructions("fakeddit")
    assert "verite data fetch verite" in download.instructions("verite")
    assert str(
        data_home / "vmu-twitter" / "images_available.txt"
    ) in download.instructions("vmu-twitter")
    assert "verite data fetch verite-evidence" in download.instructions(
        "verite-evidence"
    )
    assert str(
        data_home / "visualnews" / "origin" / "data.json"
    ) in download.instructions("visualnews")
    assert "download.sh" in download.instructions("newsclippings")
    assert "verite data fetch meir" in download.instructions("meir")


def test_an_unknown_data_set_is_an_error_that_lists_those_there_are() -> None:
    known = (
        "verite, verite-evidence, vmu-twitter, cosmos, fakeddit, visualnews,"
        " newsclippings, meir, averitec, averimatec, newsroom"
    )
    with pytest.raises(ParameterError, match=rf"'VERITE'. There are: {known}"):
        download.fetch("VERITE")


@pytest.mark.parametrize(
    "file",
    [file for files in FILES.values() for file in files if file.url],
    ids=lambda file: file.path,
)
def test_every_address_is_pinned_by_a_commit_and_every_digest_has_a_size(
    file: DataFile,
) -> None:
    host, commit, name = (
        file.url.removeprefix("https://").split("/", 4)[0],
        file.url.split("/")[5],
        file.url.rsplit("/", 1)[1],
    )
    assert host == "raw.githubusercontent.com"
    assert len(commit) == 40
    assert int(commit, 16)
    assert Path(file.path).name == name
    assert bool(file.sha256) == bool(file.size)


def test_the_real_files_have_the_pinned_digests_and_sizes(real_data: Path) -> None:
    pinned = {
        file.path: file for files in FILES.values() for file in files if file.sha256
    }
    found = [entry for entry in download.status() if entry.path in pinned]
    assert len(found) == 10
    for entry in found:
        assert (entry.present, entry.verified, entry.bytes) == (
            True,
            "yes",
            pinned[entry.path].size,
        )
