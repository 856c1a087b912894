"""Reading and writing files: bad input is named, and nothing is lost.

All writers of the package go through :func:`atomic_path`: the new content is written to
a temporary file beside the target, synced, and renamed into place. If anything fails
before the renaming (a full disk, Ctrl-C, a bug), the old file is unchanged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout
from safetensors import SafetensorError

from verite.errors import (
    DataError,
    MissingDataError,
    ParameterError,
    VeriteError,
)

__all__ = [
    "atomic_path",
    "check_overwrite",
    "lock",
    "read_text",
    "require_file",
    "sha256",
    "write_csv",
    "write_json",
    "write_text",
]


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to, and rename it to ``path`` at the end.

    The temporary name has the suffix of the final one. Missing folders are created. A
    symbolic link is followed: the file it points to is replaced.

    Raises
    ------
    VeriteError
        The folder cannot be written to, the disk is full, or ``path`` is a folder.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("text", encoding="utf8")
    >>> target.read_text(encoding="utf8")
    'text'
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".part-{secrets.token_hex(6)}-{target.name}")
    if target.is_dir():
        raise VeriteError(f"{path} is a folder; give the name of a file inside it.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
        permissions = temporary.stat().st_mode & 0o777
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        # safetensors replaces our file by one that only its owner can read.
        temporary.chmod(permissions)
        os.replace(temporary, target)
    except (OSError, SafetensorError) as error:
        if isinstance(error, VeriteError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise VeriteError(
            f"cannot write {path}: {reason}. Free space, or choose another output."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def check_overwrite(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse to replace a file or folder unless ``force`` is set.

    Raises
    ------
    ParameterError
        ``path`` exists and ``force`` is False.
    """
    if not force and os.path.lexists(path):
        raise ParameterError(f"{path} already exists; use --force to replace it.")


@contextlib.contextmanager
def lock(folder: str | os.PathLike[str], *, wait: bool = False) -> Iterator[None]:
    """Keep other processes out of a folder while this one writes there.

    The folder is created if missing. The lock is ``folder/.lock``; the system releases
    it when the process ends, however it ends.

    Parameters
    ----------
    wait
        Wait for the other process to finish instead of raising an error.

    Raises
    ------
    VeriteError
        Another process holds the lock, or the folder cannot be written to.
    """
    file_lock = FileLock(Path(folder) / ".lock")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        file_lock.acquire(timeout=-1 if wait else 0)
    except Timeout as error:
        raise VeriteError(
            f"another run is using {folder}. Wait for it, or choose another folder."
        ) from error
    except OSError as error:
        raise VeriteError(
            f"cannot write to {folder}: {error.strerror}. Choose another folder."
        ) from error
    try:
        yield
    finally:
        file_lock.release()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text with Unix line ends, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf8", newline="\n")


def write_json(path: str | os.PathLike[str], value: Mapping[str, Any]) -> None:
    """Write an indented JSON object, keys in the given order, atomically.

    Raises
    ------
    DataError
        A number is NaN or infinite, for which JSON has no notation.
    """
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise DataError(
            f"{path}: {error}. Write None where there is no number."
        ) from error
    write_text(path, text + "\n")


def write_csv(path: str | os.PathLike[str], frame: pd.DataFrame) -> None:
    """Write a UTF-8 CSV atomically, floats with ten significant digits.

    Ten digits are more than any figure needs, and few enough to hide the last bits of a
    sum, which may depend on the processor.
    """
    with atomic_path(path) as temporary:
        frame.to_csv(
            temporary,
            index=False,
            float_format="%.10g",
            lineterminator="\n",
            encoding="utf8",
        )


def require_file(path: str | os.PathLike[str], hint: str = "") -> Path:
    """Return ``path`` if it is a readable file that is not empty.

    ``hint`` is appended to the error message: what the user can do.

    Raises
    ------
    MissingDataError
        There is no file.
    DataError
        ``path`` is a folder, an empty file, or cannot be read.
    """
    target = Path(path)
    advice = f" {hint}" if hint else ""
    if target.is_dir():
        raise DataError(f"expected a file, found a folder: {target}.{advice}")
    try:
        if target.stat().st_size == 0:
            raise DataError(f"expected data, found an empty file: {target}.{advice}")
        target.open("rb").close()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingDataError(f"no such file: {target}.{advice}") from error
    except OSError as error:
        raise DataError(f"cannot read {target}: {error.strerror}.{advice}") from error
    return target


def read_text(path: str | os.PathLike[str], hint: str = "") -> str:
    """Read UTF-8 text, with or without a byte-order mark.

    Raises
    ------
    DataError
        The bytes are not UTF-8; the message names the line.
    """
    raw = require_file(path, hint).read_bytes()
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: expected UTF-8, found UTF-16. Save it as UTF-8.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: expected UTF-8, found the byte"
            f" 0x{raw[error.start]:02x}. Save it as UTF-8 (it may be Latin-1)."
        ) from error


def sha256(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
