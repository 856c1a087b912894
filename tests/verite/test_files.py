"""Reading and writing files: nothing is lost, and bad input is named."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verite.errors import DataError, MissingDataError, ParameterError, VeriteError
from verite.files import (
    atomic_path,
    check_overwrite,
    lock,
    read_text,
    require_file,
    sha256,
    write_csv,
    write_json,
    write_text,
)
from verite.tables import read_table


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """A file with the text "old"."""
    write_text(tmp_path / "note.txt", "old")
    return tmp_path / "note.txt"


@pytest.fixture
def locked() -> Iterator[Path]:
    """A read-only folder with an unreadable file, also for root."""
    # Not tmp_path: only its owner can look into that.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "old.txt", "old")
        (folder / "old.txt").chmod(0)
        folder.chmod(0o555)
        user = os.geteuid()
        if user == 0:  # root ignores permissions
            os.seteuid(65534)
        yield folder
        os.seteuid(user)
        folder.chmod(0o700)


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_replaced_at_the_end_only(note: Path) -> None:
    with atomic_path(note) as temporary:
        temporary.write_text("new", encoding="utf8")
        assert note.read_text(encoding="utf8") == "old"
    assert note.read_text(encoding="utf8") == "new"
    assert list(note.parent.iterdir()) == [note]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_interrupted(note: Path, interruption: type[BaseException]) -> None:
    def write_half() -> None:
        with atomic_path(note) as temporary:
            temporary.write_text("ne", encoding="utf8")
            raise interruption

    with pytest.raises(interruption):
        write_half()
    assert note.read_text(encoding="utf8") == "old"
    assert list(note.parent.iterdir()) == [note]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_full_disk(note: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(f"verite.files.os.{step}", full_disk)
    with pytest.raises(VeriteError, match=r"cannot write .*note\.txt: No space"):
        write_text(note, "new")
    assert note.read_text(encoding="utf8") == "old"
    assert list(note.parent.iterdir()) == [note]


def test_own_error_passes(tmp_path: Path) -> None:
    with (
        pytest.raises(MissingDataError, match=r"no such file: .*source\.txt"),
        atomic_path(tmp_path / "note.txt"),
    ):
        require_file(tmp_path / "source.txt")


def test_cannot_write(tmp_path: Path, note: Path) -> None:
    with pytest.raises(VeriteError, match=f"{tmp_path} is a folder"):
        write_text(tmp_path, "new")
    with pytest.raises(VeriteError, match=r"cannot write .*sub\.txt"):
        write_text(note / "sub.txt", "new")


def test_no_permission(locked: Path) -> None:
    with pytest.raises(VeriteError, match=r"cannot write .*new\.txt: Permission"):
        write_text(locked / "new.txt", "new")
    with pytest.raises(DataError, match=r"cannot read .*old\.txt: Permission"):
        read_text(locked / "old.txt")


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "note.txt", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "note.txt").stat().st_mode) == mode


def test_link_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "far" / "note.txt", tmp_path / "link.txt"
    write_text(target, "old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf8") == "new"


def test_temporary_name(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "a" / "table.csv.gz") as temporary:
        assert temporary.parent == tmp_path / "a"
        assert temporary.name.endswith(".csv.gz")


def test_overwrite(note: Path) -> None:
    with pytest.raises(ParameterError, match=r"note\.txt already exists; use --force"):
        check_overwrite(note, False)
    check_overwrite(note, True)
    check_overwrite(note.with_name("other.txt"), False)


def test_lock(tmp_path: Path) -> None:
    program = (
        "import sys; from verite.files import lock\n"
        "with lock(sys.argv[1]): print('inside', flush=True); sys.stdin.read()"
    )
    folder = tmp_path / "run"
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(VeriteError, match=f"another run is using {folder}"):
            lock(folder).__enter__()
        other.kill()
        with lock(folder, wait=True):
            pass


def test_written_formats(tmp_path: Path) -> None:
    write_text(tmp_path / "note.txt", "é\n雪\n")
    assert (tmp_path / "note.txt").read_bytes() == b"\xc3\xa9\n\xe9\x9b\xaa\n"
    write_json(tmp_path / "run.json", {"b": 1.5, "a": ["é", None]})
    text = (tmp_path / "run.json").read_text(encoding="utf8")
    assert list(json.loads(text)) == ["b", "a"]
    assert "é" in text
    frame = pd.DataFrame(
        {"x": [0.1 + 0.2, 1 / 3, float("nan")], "n": [1, 2, 3], "t": ["a", "b,c", "é"]}
    )
    write_csv(tmp_path / "t.csv", frame)
    text = (tmp_path / "t.csv").read_text(encoding="utf8")
    assert text == 'x,n,t\n0.3,1,a\n0.3333333333,2,"b,c"\n,3,é\n'


@pytest.mark.parametrize("value", [float("nan"), -float("inf")])
def test_json_refuses_nan(note: Path, value: float) -> None:
    with pytest.raises(DataError, match=r"note\.txt: .* Write None"):
        write_json(note, {"scores": {"accuracy": [0.5, value]}})
    assert note.read_text(encoding="utf8") == "old"


# Without carriage returns: csv readers take them for line ends outside quotes.
_TEXT = st.text(st.characters(exclude_characters="\r\x00", codec="utf-8"))


@given(st.lists(st.tuples(_TEXT, _TEXT), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_csv_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    target = tmp_path_factory.getbasetemp() / "roundtrip.csv"
    frame = pd.DataFrame([("id", *row) for row in rows], columns=["key", "a", "b"])
    write_csv(target, frame)
    assert read_table(target).to_numpy().tolist() == frame.to_numpy().tolist()


def test_sha256(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000
    (tmp_path / "large").write_bytes(content)
    assert sha256(tmp_path / "large") == hashlib.sha256(content).hexdigest()


def test_no_data(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"no such file: .*gone\.csv\. Fetch"):
        require_file(tmp_path / "gone.csv", "Fetch it first.")
    with pytest.raises(DataError, match=f"expected a file, found a folder: {tmp_path}"):
        read_text(tmp_path)
    (tmp_path / "t.csv").touch()
    with pytest.raises(DataError, match=r"found an empty file: .*t\.csv"):
        read_text(tmp_path / "t.csv")
