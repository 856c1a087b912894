"""Reading and writing files so that bad input is named and nothing is lost.

All writers of the package go through :func:`atomic_path`: the new content goes to a
temporary neighbour, reaches the disk, and takes the old file's place in one step.
Whatever happens before that step (a full disk, Ctrl-C, a bug) leaves the old file as it
was and no litter behind it.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from safetensors import SafetensorError

from verite.errors import DataError, MissingDataError, VeriteError, name_some

__all__ = [
    "atomic_path",
    "read_csv",
    "read_text",
    "require_file",
    "sha256",
    "write_csv",
    "write_json",
    "write_text",
]


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to.

    Put it in the place of ``path`` when the block ends well.

    The temporary name ends in the final one, for writers that look at the suffix.
    Folders on the way are made. A link is followed: the file it points to is replaced,
    the link stays.

    Raises
    ------
    VeriteError
        The folder cannot be written to, the disk is full, or ``path`` is a folder.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("kept", encoding="utf8")
    >>> target.read_text(encoding="utf8")
    'kept'
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".part-{secrets.token_hex(6)}-{target.name}")
    try:
        if target.is_dir():
            raise VeriteError(
                f"expected a file to write, found a folder: {path}. Give a file name"
                " inside it."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
        permissions = temporary.stat().st_mode & 0o777
    except OSError as error:
        raise VeriteError(
            f"cannot write {path}: {error.strerror} ({error.filename}). Choose another"
            " output, or free it."
        ) from error
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        # safetensors puts a file that only its owner can read in the place of ours.
        temporary.chmod(permissions)
        os.replace(temporary, target)
    except (OSError, SafetensorError) as error:
        if isinstance(error, VeriteError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise VeriteError(
            f"could not save {path}: {reason}. Nothing was changed; free space or"
            " choose another output."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text with Unix line ends, all or nothing."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf8", newline="\n")


def write_json(path: str | os.PathLike[str], value: Mapping[str, Any]) -> None:
    """Write a JSON object, indented, keys in the order given, all or nothing.

    Raises
    ------
    DataError
        A number is NaN or infinite: JSON has no word for it, and what other readers
        make of it differs.
    """
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        bad = [key for key, part in value.items() if not _is_json(part)]
        raise DataError(
            f"{path}: {error}, found under {name_some(bad)}. Write None where there is"
            " no number."
        ) from error
    write_text(path, text + "\n")


def write_csv(path: str | os.PathLike[str], frame: pd.DataFrame) -> None:
    """Write a table as UTF-8 CSV, all or nothing, floats with ten significant digits.

    Ten digits are more than any figure here carries and few enough that the last bits
    of a sum, which may depend on the processor, do not show.
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
    """Return ``path`` if it is a file with something in it.

    Raises
    ------
    MissingDataError
        There is nothing at ``path``.
    DataError
        ``path`` is a folder, an empty file, or cannot be read.
    """
    target = Path(path)
    advice = f" {hint}" if hint else ""
    try:
        if target.is_dir():
            raise DataError(f"expected a file, found a folder: {target}.{advice}")
        if not target.exists():
            raise MissingDataError(f"no such file: {target}.{advice}")
        if target.stat().st_size == 0:
            raise DataError(f"expected data, found an empty file: {target}.{advice}")
        target.open("rb").close()
    except OSError as error:
        if isinstance(error, VeriteError):
            raise
        raise DataError(f"cannot read {target}: {error.strerror}.{advice}") from error
    return target


def read_text(path: str | os.PathLike[str], hint: str = "") -> str:
    """Read UTF-8 text, with or without a byte-order mark.

    Raises
    ------
    DataError
        The bytes are not UTF-8; the message names the line where reading stopped.
    """
    raw = require_file(path, hint).read_bytes()
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(
            f"{path}: expected UTF-8 text, found UTF-16. Save the file as UTF-8 and try"
            " again."
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: expected UTF-8 text, found the byte"
            f" 0x{raw[error.start]:02x}. Save the file as UTF-8 (it may be Latin-1 or"
            " Windows-1252) and try again."
        ) from error


def read_csv(
    path: str | os.PathLike[str], hint: str = "", **options: Any
) -> pd.DataFrame:
    """Read a delimited table as text.

    UTF-8, any line ends, no value turned into a number or a gap.

    ``options`` go to :func:`pandas.read_csv`. Empty cells are empty strings, and ``NA``
    is two letters. Give ``on_bad_lines`` to let pandas deal with rows of another width.

    Raises
    ------
    DataError
        Not UTF-8, no header, or rows whose width differs from the header's.
    """
    text = read_text(path, hint)
    if not text.strip():
        raise DataError(f"{path}: expected a header line, found only white space.")
    settings: dict[str, Any] = {
        "dtype": str,
        "na_filter": False,
        "sep": ",",
        "quoting": csv.QUOTE_MINIMAL,
    }
    settings.update(options)
    try:
        if "on_bad_lines" not in settings:
            _check_widths(text, path, settings)
        frame: pd.DataFrame = pd.read_csv(io.StringIO(text), **settings)
    except (pd.errors.ParserError, csv.Error) as error:
        raise DataError(f"{path}: not a table that can be read: {error}") from error
    return frame


def sha256(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check_widths(
    text: str, path: str | os.PathLike[str], settings: Mapping[str, Any]
) -> None:
    # pandas fills short rows, and takes the first column for an index where all rows
    # have one cell too many.
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=settings["sep"],
        quoting=settings["quoting"],
    )
    widths = [
        (reader.line_num, len(row))
        for row in reader
        if len(row) > 1 or "".join(row).strip()
    ]
    bad = [f"line {line}: {width}" for line, width in widths if width != widths[0][1]]
    if bad:
        raise DataError(
            f"{path}: expected {widths[0][1]} cells in each row, as in the first, found"
            f" {name_some(bad)}."
        )


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True
