"""Fetching data: from pinned URLs, verified, and never half a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from verite.dataset import DataFile
from verite.datasets.reading import home
from verite.datasets.registry import card, cards
from verite.errors import DownloadError, MissingDataError
from verite.files import atomic_path, sha256
from verite.http import Client, HttpError, Limits

__all__ = ["FileStatus", "checksums", "fetch", "instructions", "status"]

_LIMITS = Limits(seconds=600, bytes=500_000_000)


@dataclass(frozen=True)
class FileStatus:
    """Whether one file of a data set is present and verified.

    Attributes
    ----------
    bytes
        Its size; of a missing file the expected one, 0 if that is not known.
    verified
        ``"yes"``: it has the pinned SHA-256; ``"no: digest differs"``; ``"unknown"``:
        there is none to compare with. Empty for a missing file.
    """

    dataset: str
    path: str
    present: bool
    bytes: int
    verified: str


def status() -> list[FileStatus]:
    """Check every file of every data set; each file is read whole."""
    return [
        _status(name, file) for name, card in cards().items() for file in card.files
    ]


def checksums(datasets: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the existing files of data sets, by path below the data folder.

    >>> checksums(["newsroom"])
    {}
    """
    paths = [file.path for name in datasets for file in card(name).files]
    return {path: sha256(home() / path) for path in paths if (home() / path).is_file()}


def fetch(name: str) -> list[Path]:
    """Download the files of a data set that are missing or differ from the pinned ones.

    An existing file without a pinned digest is kept.

    Returns
    -------
    list of Path
        The files, downloaded or already there.

    Raises
    ------
    ParameterError
        There is no such data set.
    MissingDataError
        The data set cannot be downloaded; the message is :func:`instructions`.
    DownloadError
        The host cannot be reached or refuses, or the file has another digest.
    """
    files = card(name).files
    public = [file for file in files if file.url]
    if not public and not all((home() / file.path).is_file() for file in files):
        raise MissingDataError(instructions(name))
    for file in public:
        if _status(name, file).verified not in ("yes", "unknown"):
            _download(file)
    return [home() / file.path for file in public or files]


def instructions(name: str) -> str:
    """How to get a data set: by which command, or whom to ask and where to put it.

    >>> print(instructions("newsroom"))
    newsroom is generated: there is nothing to fetch.
    """
    about = card(name)
    if not about.files:
        return f"{name} is generated: there is nothing to fetch."
    lines = [about.title, f"  source: {about.source}", f"  licence: {about.licence}"]
    if any(file.url for file in about.files):
        lines.append(f"Fetch it with: verite data fetch {name}")
    if about.not_public:
        lines.append(f"Not public: {about.not_public}")
    by_hand = [f"  {home() / file.path}" for file in about.files if not file.url]
    return "\n".join([*lines, *(["Put there by hand:", *by_hand] if by_hand else [])])


def _status(name: str, file: DataFile) -> FileStatus:
    path = home() / file.path
    if not path.is_file():
        return FileStatus(name, file.path, False, file.size, "")
    verified = "unknown"
    if file.sha256:
        verified = "yes" if sha256(path) == file.sha256 else "no: digest differs"
    return FileStatus(name, file.path, True, path.stat().st_size, verified)


def _download(file: DataFile) -> None:
    path = home() / file.path
    advice = f"Run the command again, or save {file.url} as {path} by hand."
    try:
        reply = Client(_LIMITS, public_only=False).get(file.url)
    except HttpError as error:
        raise DownloadError(f"{file.url}: {error.kind}: {error}. {advice}") from error
    if reply.status != 200:
        raise DownloadError(f"{file.url}: status {reply.status}. {advice}")
    digest = hashlib.sha256(reply.content).hexdigest()
    if file.sha256 and digest != file.sha256:
        raise DownloadError(
            f"{file.url}: expected SHA-256 {file.sha256[:12]}…, found {digest[:12]}…."
            f" Nothing was replaced. {advice}"
        )
    with atomic_path(path) as temporary:
        temporary.write_bytes(reply.content)
