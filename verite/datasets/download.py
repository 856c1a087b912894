"""Fetching data: pinned, verified, resumable, and all or nothing.

A file comes into place in one step, when it is whole and has the digest that it must
have; until then what was there before stays. What has come of a file is kept beside it
as ``NAME.part``, so that a fetch that was cut goes on where it stopped if the server
can do that (HTTP ``Range`` with ``If-Range``).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from verite.datasets.home import home
from verite.datasets.registry import FILES, DataFile
from verite.errors import DownloadError, MissingDataError, ParameterError
from verite.files import sha256, write_text

if TYPE_CHECKING:
    import requests

__all__ = ["FileStatus", "checksums", "fetch", "instructions", "status"]

_CHUNK = 1 << 16
_TIMEOUT = (10, 60)  # seconds to connect, and between two pieces of data


@dataclass(frozen=True)
class FileStatus:
    """How one file of a data set stands.

    Attributes
    ----------
    dataset, path
        What it belongs to, and where it lies below the data folder.
    present
        Whether it is there.
    bytes
        Its size; of an absent file the size that it will have, 0 where that is not
        known.
    verified
        ``"yes"``: it has the pinned SHA-256. ``"as first fetched"``: the publisher's
        SHA-256 is not known, but it is what the pinned commit gave at the first fetch.
        ``"no: digest differs"``. ``"unknown"``: there is nothing to compare it with.
        Empty for an absent file.
    """

    dataset: str
    path: str
    present: bool
    bytes: int
    verified: str


def status() -> list[FileStatus]:
    """Look at every file of every data set; each that is there is read whole."""
    return [
        _status(dataset, file) for dataset, files in FILES.items() for file in files
    ]


def checksums(names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the files of these data sets that are there, by path below the data
    folder.

    >>> checksums(["newsroom"])
    {}
    """
    paths = [file.path for name in names for file in _files(name)]
    return {path: sha256(home() / path) for path in paths if (home() / path).is_file()}


def fetch(name: str, progress: bool = True) -> list[Path]:
    """Fetch the files of a data set that are not there or not as they should be.

    A file that is there is kept when it has the pinned digest, or when there is none to
    compare it with. Where the publisher's digest is not known, the first fetch writes
    it beside the file (``NAME.sha256``), and it is checked from then on.

    Parameters
    ----------
    progress
        Show a bar for each file, if the output is a terminal.

    Returns
    -------
    list of Path
        The files that were asked for, fetched or already there.

    Raises
    ------
    ParameterError
        No data set of this name.
    MissingDataError
        The data set cannot be fetched; the message is :func:`instructions`.
    DownloadError
        The host cannot be reached, refuses, or breaks off; what came has another
        digest; or it cannot be written.
    """
    files = _files(name)
    remote = [file for file in files if file.url]
    if not remote and not all((home() / file.path).is_file() for file in files):
        raise MissingDataError(instructions(name))
    return [_fetch(file, progress) for file in remote] or [
        home() / file.path for file in files
    ]


def instructions(name: str) -> str:
    """Say how to get a data set.

    By command, or where to ask for what and where to put it.

    >>> print(instructions("newsroom"))
    newsroom is made on the spot: there is nothing to fetch.
    """
    from verite.datasets import card
    from verite.datasets import names as loadable

    files = _files(name)
    if not files:
        return f"{name} is made on the spot: there is nothing to fetch."
    lines = []
    if any(file.url for file in files):
        lines += [f"Fetch it with: verite data fetch {name}"]
    if name in loadable():
        about = card(name)
        lines = [
            about.title,
            f"  source: {about.source}",
            f"  licence: {about.licence}",
            *lines,
            f"Not public: {about.not_public}",
        ]
    by_hand = [str(home() / file.path) for file in files if not file.url]
    if by_hand:
        lines += ["Put by hand:", *(f"  {path}" for path in by_hand)]
    return "\n".join(lines)


def _files(name: str) -> tuple[DataFile, ...]:
    if name == "newsroom":
        return ()
    if name not in FILES:
        raise ParameterError(
            f"no data set is called {name!r}. There are: {', '.join(FILES)}, newsroom."
        )
    return FILES[name]


def _status(dataset: str, file: DataFile) -> FileStatus:
    target = home() / file.path
    if not target.is_file():
        return FileStatus(dataset, file.path, False, file.size, "")
    known = _digest(file)
    if not known:
        verified = "unknown"
    elif sha256(target) != known:
        verified = "no: digest differs"
    else:
        verified = "yes" if file.sha256 else "as first fetched"
    return FileStatus(dataset, file.path, True, target.stat().st_size, verified)


def _record(file: DataFile) -> Path:
    """Where the digest of a first fetch stands, in the format of ``sha256sum``."""
    return home() / f"{file.path}.sha256"


def _digest(file: DataFile) -> str:
    if file.sha256 or not _record(file).is_file():
        return file.sha256
    return _record(file).read_text(encoding="utf8").partition(" ")[0]


def _fetch(file: DataFile, progress: bool) -> Path:
    import pooch

    target = home() / file.path
    known = _digest(file)
    is_new = not target.exists()
    pooch.get_logger().setLevel("WARNING")  # it would announce each file beside our bar
    part = target.with_name(target.name + ".part")
    try:
        pooch.retrieve(
            file.url,
            known_hash=known or None,
            fname=target.name,
            path=target.parent,
            downloader=functools.partial(
                _download, part=part, size=file.size, progress=progress
            ),
        )
    except ValueError as error:  # how pooch reports a digest that differs; the file that came is gone by then
        raise DownloadError(
            f"{file.url}: expected SHA-256 {known[:12]}…, found another. What came was"
            " removed, what was there before is intact. Fetch it again; if that does"
            " not help, something between you and the host changes the file."
        ) from error
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(
            f"cannot write {target}: {error.strerror or error}. Free it, or set"
            " VERITE_DATA to another folder."
        ) from error
    if is_new and not known:
        write_text(_record(file), f"{sha256(target)}  {target.name}\n")
    return target


def _download(
    url: str, output_file: str, _pooch: object, *, part: Path, size: int, progress: bool
) -> None:
    """Give pooch the whole file at ``output_file``, going on from ``part`` where the
    server allows it.
    """
    import requests

    host = urlsplit(url).netloc
    rest = (
        f"Run the same command again, or save {url} as {part.with_suffix('')} by hand."
    )
    try:
        with requests.Session() as session:
            _stream(session, url, part, size, progress)
    except requests.HTTPError as error:
        raise DownloadError(f"{host} refused: {error}. {rest}") from error
    except requests.RequestException as error:
        if part.is_file() and part.stat().st_size:
            raise DownloadError(
                f"the connection to {host} broke off after {part.stat().st_size:,}"
                f" bytes, which are kept. {rest}"
            ) from error
        raise DownloadError(
            f"cannot reach {host}: no network, or it is blocked. {rest}"
        ) from error
    part.replace(output_file)
    _tag(part).unlink(missing_ok=True)


def _stream(
    session: requests.Session, url: str, part: Path, size: int, progress: bool
) -> None:
    """Write what the server gives to ``part``.

    Behind what is there if the server goes on from there, else from the start.
    """
    from tqdm import tqdm

    have = part.stat().st_size if part.is_file() and _tag(part).is_file() else 0
    # Compressed bytes would be counted and resumed in another measure than the file's
    # own.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers |= {
            "Range": f"bytes={have}-",
            "If-Range": _tag(part).read_text(encoding="utf8"),
        }
    with session.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
        goes_on = answer.status_code == 206 and answer.headers.get(
            "Content-Range", ""
        ).startswith(f"bytes {have}-")
        if (
            have and not goes_on and answer.status_code != 200
        ):  # 416, or a range that was not asked for: begin anew
            _tag(part).unlink()
            _stream(session, url, part, size, progress)
            return
        answer.raise_for_status()
        if not goes_on:
            have = 0
            _tag(part).unlink(missing_ok=True)
            tag = answer.headers.get("ETag", "")
            if tag.startswith(
                '"'
            ):  # a weak one, W/"…", does not promise the same bytes
                _tag(part).write_text(tag, encoding="utf8")
        length = int(answer.headers.get("Content-Length", 0))
        bar = tqdm(
            total=have + length if length else size or None,
            initial=have,
            desc=part.stem,
            unit="B",
            unit_scale=True,
            disable=None if progress else True,  # None: shown on a terminal only
        )
        with bar, part.open("ab" if have else "wb") as stream:
            for chunk in answer.iter_content(_CHUNK):
                stream.write(chunk)
                bar.update(len(chunk))


def _tag(part: Path) -> Path:
    """Where the server's mark of the version stands that ``part`` is a piece of."""
    return part.with_name(part.name + ".etag")
