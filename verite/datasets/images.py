"""Fetching pictures that a table links to.

Politely, from hosts that nobody vouches for, and so that the fate of each link is
known.

The links are other people's: one may lead to a page, to nothing, to a gigabyte, to a
machine of one's own network. So a name is resolved once, its addresses are checked, and
the connection goes to an address that was checked, anew after each redirect; a whole
answer has one deadline; and what comes is a picture only if it decodes as one.

One thread decides which request starts when (:class:`_Schedule`), so that no host is
asked too often however many links and redirects lead to it; worker threads make one
request each (:class:`_Asker`).
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import heapq
import io
import ipaddress
import itertools
import os
import random
import re
import socket
import threading
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin

import pandas as pd
from filelock import FileLock, Timeout

from verite.errors import DataError, VeriteError, name_some
from verite.files import atomic_path, write_csv
from verite.tables import read_table

if TYPE_CHECKING:
    from urllib3 import HTTPResponse
    from urllib3.connection import HTTPConnection
    from urllib3.util import Url

__all__ = [
    "FATES",
    "Limits",
    "Link",
    "fetch_images",
    "read_links",
    "summary",
    "verite_links",
]

FATES = {
    "ok": "the picture is there",
    "gone": "404 or 410",
    "forbidden": "any other answer from 400 to 499",
    "not an image": "what came is no picture of a known kind",
    "unreadable": "a picture that does not decode",
    "too large": "more bytes or pixels than allowed",
    "private address": "the host is no public one, or a redirect leads to such a one",
    "bad link": "not http or https, or no address at all",
    "too many redirects": "a loop, or a long chain",
    "timed out": "no answer, or no end of it, in time",
    "cut short": "the connection ended before the answer did",
    "busy": "429 or 503, and patience ran out",
    "server error": "an answer from 500 to 599",
    "unreachable": "no such host, no connection, or no secure one",
}
"""What can become of a link.

The last five may pass: a second run asks again; the others are final.
"""

_PASSING = ("timed out", "cut short", "busy", "server error", "unreachable")
_COLUMNS = (
    "id", "url", "status", "http_status", "final_url", "file", "format", "width", "height", "bytes", "sha256", "tries", "when", "what",
)  # fmt: skip
_CHUNK = (
    1 << 14
)  # of compressed bytes; small, since a thousand times as many may come out of them
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ID = re.compile(r"""[^./\\:*?"<>|\x00-\x1f][^/\\:*?"<>|\x00-\x1f]{0,119}""")


@dataclass(frozen=True)
class Link:
    """A picture that a table links to.

    It is kept as ``ID.jpg``, the way VERITE names its images, whatever format it has.
    """

    id: str
    url: str

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.id}.jpg"


@dataclass(frozen=True)
class Limits:
    """How politely to ask, and how much to take."""

    workers: int = 16
    """Requests at a time, to all hosts together."""
    per_host: int = 2
    """Requests at a time to one host."""
    delay: float = 0.5
    """Seconds between the starts of two requests to one host."""
    tries: int = 3
    """How often to ask for a picture if what stands in the way may pass."""
    backoff: float = 2.0
    """Seconds before the second try, doubled before each further one, times a random
    factor between ½ and 1½.
    """
    patience: float = 120.0
    """Seconds to wait if a host asks for it (``Retry-After``).

    If it asks for more, it is left alone until the next run.
    """
    strikes: int = 5
    """Failures to connect, one after the other, after which a host is left alone until
    the next run.
    """
    redirects: int = 5
    """Redirects to follow."""
    silence: float = 15.0
    """Seconds without a byte after which a connection is given up."""
    seconds: float = 60.0
    """Seconds for a whole answer, however steadily it drips."""
    bytes: int = 20_000_000
    """Size of a picture's file.

    Pixels are limited as in :func:`verite.encoders.open_picture`.
    """
    seed: int = 0
    """Decides the random factors of waiting."""
    allow_host: str = ""
    """One host that may have a private address, for a mirror of one's own and for
    tests.
    """


@dataclass(frozen=True)
class _Fate:
    """What one request came to. The first fields are columns of the ledger."""

    status: str
    http_status: int = 0
    what: str = ""
    format: str = ""
    width: int = 0
    height: int = 0
    bytes: int = 0
    sha256: str = ""
    wait: float | None = None
    """Seconds that the host asks to wait."""
    redirect: str = ""


@dataclass(frozen=True)
class _Job:
    link: Link
    url: str
    tries: int = 1
    hops: int = 0

    @property
    def host(self) -> str:
        return _host(self.url)


class _FailedError(Exception):
    def __init__(self, status: str, what: str = "", **more: int | float | None) -> None:
        super().__init__(what)
        self.fate = _Fate(status, what=what, **more)  # type: ignore[arg-type]


def verite_links() -> list[Link]:
    """Links of VERITE's images, under the names that the release gives them.

    ``true_N`` and ``false_N`` of article N.

    Raises
    ------
    MissingDataError
        ``VERITE_articles.csv`` is not there.
    """
    from verite.datasets.home import Reader
    from verite.datasets.verite import CARD

    path = Reader(CARD).path("verite/VERITE_articles.csv")
    return [
        link
        for kind in ("true", "false")
        for link in read_links(path, "id", f"{kind}_url", prefix=f"{kind}_")
    ]


def read_links(
    path: str | os.PathLike[str],
    id_column: str = "id",
    url_column: str = "url",
    *,
    prefix: str = "",
) -> list[Link]:
    """Read links from a CSV; a row without one is left out.

    Parameters
    ----------
    prefix
        Put before each id.

    Raises
    ------
    DataError
        A column is missing, an id stands twice or cannot be the name of a file, or no
        row has a link.
    """
    table = read_table(path)
    for option, name in (("--id-column", id_column), ("--url-column", url_column)):
        if name not in table.columns:
            raise DataError(
                f"{path}: no column {name!r}. Found:"
                f" {name_some(map(repr, table.columns), 20)}. Name another one with"
                f" {option}."
            )
    ids = table[id_column]
    bad = ids[~ids.map(lambda key: bool(_ID.fullmatch(key)))]
    if len(bad):
        raise DataError(
            f"{path}: an id becomes the name of a file, which"
            f" {name_some(map(repr, bad))} cannot be (row {name_some(bad.index + 1)})."
            ' Use 1 to 120 characters, no / \\ : * ? " < > |, and no dot in front.'
        )
    twice = ids[
        ids.str.casefold().duplicated(keep=False)
    ]  # some file systems do not tell A from a
    if len(twice):
        raise DataError(
            f"{path}: each id must stand once; {name_some(twice.unique())} does not"
            f" (row {name_some(twice.index + 1)})."
        )
    links = [
        Link(prefix + key, url.strip())
        for key, url in zip(ids, table[url_column], strict=True)
        if url.strip()
    ]
    if not links:
        raise DataError(f"{path}: no row has a link in column {url_column!r}.")
    return links


def fetch_images(
    links: Iterable[Link],
    out: str | os.PathLike[str],
    *,
    limits: Limits | None = None,
    retry_failed: bool = False,
    progress: bool = True,
) -> pd.DataFrame:
    """Fetch pictures into a folder, and keep a ledger of what became of each link
    (``ledger.csv``).

    A second run asks only for what is not there and may come: not for pictures that are
    there, nor for links whose fate is final (see :data:`FATES`). A link that was
    changed is asked for anew; a picture that lies in the folder though the ledger does
    not know it was put there by hand, and is taken as it is.

    Connections are direct: through a proxy it would be the proxy that resolves names,
    and addresses could not be checked.

    Parameters
    ----------
    links
        Ids must differ.
    out
        Folder for pictures and ledger. Each file comes into place whole; the ledger is
        written every few seconds.
    retry_failed
        Ask again for links whose fate was final.
    progress
        Show a bar, if the output is a terminal.

    Returns
    -------
    pandas.DataFrame
        A row of the ledger for each of ``links``, in their order: ``id``, ``url``,
        ``status`` (one of :data:`FATES`), ``http_status`` (0: no answer), ``final_url``
        (behind redirects), ``file``, ``format``, ``width`` and ``height`` in pixels,
        ``bytes``, ``sha256``, ``tries``, ``when`` (UTC), ``what`` (details), and
        ``asked``: whether this run asked.

    Raises
    ------
    DataError
        An id stands twice, or the ledger there is none.
    VeriteError
        The folder cannot be written to, the disk is full, or another run works in it.

    >>> import tempfile
    >>> fetched = fetch_images([Link("a", "file:///etc/passwd"), Link("b", "http://127.0.0.1/b.png")], tempfile.mkdtemp())
    >>> fetched["status"].tolist()
    ['bad link', 'private address']
    """
    listed = list(links)
    if twice := [
        key for key, times in Counter(link.id for link in listed).items() if times > 1
    ]:
        raise DataError(
            f"fetch_images: each id must stand once; {name_some(twice)} stands several"
            " times."
        )
    folder = Path(out)
    with _alone(folder), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # Pillow's, of pictures; threads cannot silence them one by one
        ledger = _Ledger(folder / "ledger.csv")
        for left in folder.glob(".part-*"):  # by a run that was killed
            left.unlink()
        todo = [link for link in listed if not ledger.settles(link, retry_failed)]
        try:
            _run(todo, folder, ledger, limits or Limits(), progress)
        finally:
            ledger.write()
    asked = {link.id for link in todo}
    return pd.DataFrame(
        [
            {**ledger.rows[key], "asked": key in asked}
            for key in (link.id for link in listed)
        ],
        columns=[*_COLUMNS, "asked"],
    )


def summary(fetched: pd.DataFrame) -> list[str]:
    """Count fates, as lines to print.

    >>> for line in summary(pd.DataFrame({"status": ["ok", "ok", "gone"], "asked": [True, False, False]})):
    ...     print(line)
    3 links: 1 asked for, 2 settled before
      ok                     2   the picture is there
      gone                   1   404 or 410
    """
    counts = fetched["status"].value_counts()
    lines = [
        f"{len(fetched):,} links: {fetched['asked'].sum():,} asked for,"
        f" {(~fetched['asked']).sum():,} settled before"
    ]
    shown = [fate for fate in FATES if fate in counts.index]
    lines += [f"  {fate:18}{counts[fate]:>6,}   {FATES[fate]}" for fate in shown]
    again = int(counts.reindex(_PASSING, fill_value=0).sum())
    if again:
        lines.append(f"{again:,} may come yet: run the same command again later.")
    return lines


def _run(
    todo: list[Link], folder: Path, ledger: _Ledger, limits: Limits, progress: bool
) -> None:
    from tqdm import tqdm

    schedule = _Schedule(limits.per_host, limits.delay)
    asker = _Asker(folder, limits)
    strikes: Counter[str] = Counter()
    running: dict[concurrent.futures.Future[_Fate], _Job] = {}
    pool = concurrent.futures.ThreadPoolExecutor(limits.workers)
    bar = tqdm(
        total=len(todo), desc="pictures", unit="", disable=None if progress else True
    )

    def settle(job: _Job, fate: _Fate) -> None:
        ledger.record(job, fate)
        bar.update()

    def leave_alone(host: str, status: str, what: str) -> None:
        for job in schedule.drop(host):
            settle(job, _Fate(status, what=f"not asked: {what}"))

    def digest(job: _Job, fate: _Fate) -> None:
        """Decide what follows from an answer.

        The end, another try, or a request to another place.
        """
        host = job.host
        failed = fate.status in ("unreachable", "timed out")
        strikes[host] = strikes[host] + 1 if failed else 0
        impatient = fate.wait is not None and fate.wait > limits.patience
        if fate.redirect:
            onward = replace(job, url=fate.redirect, hops=job.hops + 1)
            if onward.hops > limits.redirects:
                settle(
                    job,
                    replace(
                        fate,
                        status="too many redirects",
                        what=f"over {limits.redirects}",
                    ),
                )
            else:
                schedule.add(onward, time.monotonic())
        elif (
            fate.status in _PASSING
            and job.tries < limits.tries
            and not impatient
            and strikes[host] < limits.strikes
        ):
            jitter = random.Random(f"{limits.seed} {job.link.id} {job.tries}").uniform(
                0.5, 1.5
            )
            at = time.monotonic() + (
                limits.backoff * 2 ** (job.tries - 1) * jitter
                if fate.wait is None
                else fate.wait
            )
            schedule.add(replace(job, tries=job.tries + 1), at)
        else:
            settle(job, fate)
        if impatient:
            leave_alone(host, "busy", f"the host asks to wait {fate.wait:,.0f} s")
        elif fate.wait is not None:
            schedule.pause(host, time.monotonic() + fate.wait)
        elif strikes[host] >= limits.strikes:
            leave_alone(
                host, fate.status, f"the host failed {strikes[host]} times in a row"
            )

    for link in todo:
        schedule.add(_Job(link, link.url), time.monotonic())
    try:
        with bar:
            while schedule or running:
                now = time.monotonic()
                while len(running) < limits.workers and (job := schedule.pop(now)):
                    running[pool.submit(asker.ask, job)] = job
                full = len(running) >= limits.workers
                pause = (
                    None
                    if full or schedule.next is None
                    else max(0.0, schedule.next - time.monotonic())
                )
                if not running:
                    time.sleep(pause or 0.0)
                    continue
                for future in concurrent.futures.wait(
                    running, pause, concurrent.futures.FIRST_COMPLETED
                ).done:
                    job = running.pop(future)
                    schedule.done(job.host)
                    digest(job, future.result())
                ledger.write_now_and_then()
    finally:  # in good order nothing runs any more; on Ctrl-C or a full disk what runs is cut
        asker.cut()
        pool.shutdown(cancel_futures=True)


class _Schedule:
    """Which request may start when.

    So many to a host at a time, and not too soon after one another.

    ``_soon`` holds for each host with requests that wait and with room for one more at
    least one entry, whose time is not later than when the next of them may start; what
    an entry says is checked when its time has come.
    """

    def __init__(self, per_host: int, delay: float) -> None:
        self._per_host, self._delay = per_host, delay
        self._waiting: defaultdict[str, list[tuple[float, int, _Job]]] = defaultdict(
            list
        )
        self._active: Counter[str] = Counter()
        self._ready: defaultdict[str, float] = defaultdict(float)
        self._soon: list[tuple[float, int, str]] = []
        self._count = itertools.count()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def next(self) -> float | None:
        """When to look again, if anything waits."""
        return self._soon[0][0] if self._soon else None

    def add(self, job: _Job, at: float) -> None:
        heapq.heappush(self._waiting[job.host], (at, next(self._count), job))
        self._size += 1
        self._offer(job.host)

    def pop(self, now: float) -> _Job | None:
        """A request that may start now."""
        while self._soon and self._soon[0][0] <= now:
            host = heapq.heappop(self._soon)[2]
            waiting = self._waiting[host]
            if not waiting or self._active[host] >= self._per_host:
                continue
            if max(self._ready[host], waiting[0][0]) > now:
                self._offer(host)
                continue
            job = heapq.heappop(waiting)[2]
            self._size -= 1
            self._active[host] += 1
            self.pause(host, now + self._delay)
            self._offer(host)
            return job
        return None

    def done(self, host: str) -> None:
        self._active[host] -= 1
        self._offer(host)

    def pause(self, host: str, until: float) -> None:
        self._ready[host] = max(self._ready[host], until)

    def drop(self, host: str) -> list[_Job]:
        """Forget what waits for a host."""
        dropped = [job for _, _, job in sorted(self._waiting.pop(host, []))]
        self._size -= len(dropped)
        return dropped

    def _offer(self, host: str) -> None:
        if self._waiting[host] and self._active[host] < self._per_host:
            heapq.heappush(
                self._soon,
                (
                    max(self._ready[host], self._waiting[host][0][0]),
                    next(self._count),
                    host,
                ),
            )


class _Watch:
    """Cuts a connection when its time is over, whatever the thread that reads from it
    is waiting for.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._sock: socket.socket | None = None
        self._timer = threading.Timer(seconds, self.cut)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def attach(self, sock: socket.socket | None) -> None:
        self._sock = sock
        if self.over:
            self.cut()

    def cut(self) -> None:
        self.over = True
        if self._sock is not None:
            with contextlib.suppress(OSError):
                # The method of a TLS socket would take its state from under the reader.
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)


class _Asker:
    """Makes requests, one a call, from several threads."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        from verite import __version__

        self._folder, self._limits = folder, limits
        self._headers = {
            "User-Agent": (
                f"verite/{__version__} (VERITE, executed; research on misinformation;"
                " arXiv 2304.14133)"
            ),
            "Accept": "image/*, */*;q=0.1",
            "Accept-Encoding": "identity",  # pictures are compressed as they are
            "Connection": "close",
        }
        self._watches: set[_Watch] = set()
        self._decoding = (
            threading.Lock()
        )  # a picture may take hundreds of megabytes while it is decoded

    def cut(self) -> None:
        """End all requests that are under way."""
        for watch in list(self._watches):
            watch.cut()

    def ask(self, job: _Job) -> _Fate:
        from urllib3.exceptions import HTTPError, LocationParseError, NewConnectionError
        from urllib3.exceptions import TimeoutError as SilenceError
        from urllib3.util import parse_url

        with _Watch(self._limits.seconds) as watch:
            self._watches.add(watch)
            try:
                url = parse_url(job.url)
                if url.scheme not in ("http", "https") or not url.host:
                    return _Fate("bad link", what=f"not http or https: {job.url[:80]}")
                with contextlib.closing(self._connect(url, watch)) as connection:
                    connection.request(
                        "GET",
                        url.request_uri,
                        headers={"Host": url.netloc or "", **self._headers},
                        preload_content=False,
                    )
                    fate = self._take(job, connection.getresponse(), watch)
                return (
                    self._timed_out() if watch.over and fate.status != "ok" else fate
                )  # what was cut looks like all sorts of things
            except _FailedError as failed:
                return self._timed_out() if watch.over else failed.fate
            except (LocationParseError, UnicodeError) as error:
                return _Fate("bad link", what=str(error))
            except (HTTPError, HTTPException, OSError) as error:
                if isinstance(error, VeriteError):  # a full disk is no fate of a link
                    raise
                if watch.over:
                    return self._timed_out()
                silent = isinstance(
                    error, (TimeoutError, SilenceError)
                ) and not isinstance(error, NewConnectionError)
                return _Fate(
                    "timed out" if silent else "unreachable", what=_reason(error)
                )
            finally:
                self._watches.discard(watch)

    def _timed_out(self) -> _Fate:
        return _Fate("timed out", what=f"not whole after {self._limits.seconds:g} s")

    def _connect(self, url: Url, watch: _Watch) -> HTTPConnection:
        """Connect to an address of the host that was checked.

        TLS checks the certificate for the host's name.
        """
        from requests.utils import DEFAULT_CA_BUNDLE_PATH
        from urllib3.connection import HTTPConnection, HTTPSConnection

        host = (url.host or "").strip("[]")
        port = url.port or (443 if url.scheme == "https" else 80)
        failure: Exception = OSError("no address")
        for address in _addresses(host, port, allow=host == self._limits.allow_host):
            connection: HTTPConnection
            if url.scheme == "https":
                authorities = (
                    os.environ.get("REQUESTS_CA_BUNDLE") or DEFAULT_CA_BUNDLE_PATH
                )
                connection = HTTPSConnection(
                    address,
                    port,
                    timeout=self._limits.silence,
                    server_hostname=host,
                    ca_certs=authorities,
                )
            else:
                connection = HTTPConnection(address, port, timeout=self._limits.silence)
            try:
                connection.connect()
            except Exception as error:
                connection.close()
                failure = error
                if watch.over:
                    break
                continue
            watch.attach(connection.sock)
            return connection
        raise failure

    def _take(self, job: _Job, answer: HTTPResponse, watch: _Watch) -> _Fate:
        code = answer.status
        if location := answer.get_redirect_location():
            return _Fate("", code, redirect=urljoin(job.url, location))
        if code in (404, 410):
            return _Fate("gone", code)
        if code in (429, 503):
            return _Fate("busy", code, wait=_wait(answer.headers))
        if 400 <= code < 600:
            return _Fate("forbidden" if code < 500 else "server error", code)
        if code != 200:
            return _Fate("not an image", code, what="an answer without content")
        try:
            body = self._body(answer)
            if (
                watch.over
            ):  # before it is written: a picture may decode although its end is missing
                return self._timed_out()
            framed = answer.length_remaining is not None or answer.chunked
            return replace(self._keep(job.link, body, framed=framed), http_status=code)
        except _FailedError as failed:
            return replace(failed.fate, http_status=code)

    def _body(self, answer: HTTPResponse) -> bytes:
        from urllib3.exceptions import DecodeError, ProtocolError

        limit = self._limits.bytes
        too_large = f"over {limit:,} bytes"
        if (answer.length_remaining or 0) > limit:
            raise _FailedError(
                "too large", f"{too_large}: {answer.length_remaining:,} announced"
            )
        body = io.BytesIO()
        try:
            for chunk in answer.stream(_CHUNK, decode_content=True):
                if body.tell() + len(chunk) > limit:
                    raise _FailedError("too large", too_large)
                body.write(chunk)
        except (ProtocolError, DecodeError) as error:
            raise _FailedError(
                "cut short", f"after {body.tell():,} bytes: {_reason(error)}"
            ) from error
        return body.getvalue()

    def _keep(self, link: Link, body: bytes, *, framed: bool) -> _Fate:
        """Write a body to its file if it is a picture."""
        if not body:
            raise _FailedError("not an image", "an empty answer")
        with atomic_path(self._folder / link.file) as temporary:
            temporary.write_bytes(body)
            with self._decoding:
                try:
                    format_, (width, height) = _picture(temporary)
                except _FailedError as failed:
                    if (
                        failed.fate.status == "unreadable" and not framed
                    ):  # then a cut does not show in any other way
                        raise _FailedError(
                            "cut short", failed.fate.what, bytes=len(body)
                        ) from failed
                    raise _FailedError(
                        failed.fate.status, failed.fate.what, bytes=len(body)
                    ) from failed
        return _Fate(
            "ok",
            format=format_,
            width=width,
            height=height,
            bytes=len(body),
            sha256=hashlib.sha256(body).hexdigest(),
        )


@dataclass
class _Ledger:
    """What became of each link, by id.

    On the disk it is never more than a few seconds behind.
    """

    path: Path
    rows: dict[str, dict[str, object]] = field(default_factory=dict)
    _next: float = 0.0

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        table = read_table(self.path)
        if list(table.columns) != list(_COLUMNS):
            raise DataError(
                f"{self.path}: expected the ledger of an earlier run, found another"
                " table. Move it, or choose another folder."
            )
        numbers = ["http_status", "width", "height", "bytes", "tries"]
        try:
            table = table.astype(dict.fromkeys(numbers, "int64"))
        except ValueError as error:
            raise DataError(
                f"{self.path}: damaged ({error}). Remove it; pictures that are there"
                " are kept."
            ) from error
        self.rows = {
            row["id"]: {str(name): value for name, value in row.items()}
            for row in table.to_dict("records")
        }

    def settles(self, link: Link, retry_failed: bool) -> bool:
        """Whether there is nothing to ask for."""
        file, row = self.path.parent / link.file, self.rows.get(link.id)
        if row is None:
            return file.is_file() and self._adopt(link, file)
        if row["url"] != link.url:
            return False
        if row["status"] == "ok":
            return file.is_file() and file.stat().st_size == row["bytes"]
        return row["status"] not in _PASSING and not retry_failed

    def record(self, job: _Job, fate: _Fate) -> None:
        kept = {name: value for name, value in asdict(fate).items() if name in _COLUMNS}
        file = job.link.file if fate.status == "ok" else ""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        self.rows[job.link.id] = {
            **kept, "id": job.link.id, "url": job.link.url, "final_url": job.url, "file": file, "tries": job.tries, "when": when,
        }  # fmt: skip

    def write_now_and_then(self) -> None:
        if time.monotonic() >= self._next:
            start = time.monotonic()
            self.write()
            self._next = time.monotonic() + max(
                2.0, 20 * (time.monotonic() - start)
            )  # a long ledger does not hold up the run

    def write(self) -> None:
        write_csv(
            self.path, pd.DataFrame(list(self.rows.values()), columns=list(_COLUMNS))
        )

    def _adopt(self, link: Link, file: Path) -> bool:
        try:
            format_, (width, height) = _picture(file)
        except _FailedError:
            return False
        body = file.read_bytes()
        fate = _Fate(
            "ok",
            0,
            "was there",
            format_,
            width,
            height,
            len(body),
            hashlib.sha256(body).hexdigest(),
        )
        self.record(_Job(link, link.url, tries=0), fate)
        return True


def _picture(path: Path) -> tuple[str, tuple[int, int]]:
    """Format and size of a picture that decodes as a whole."""
    from PIL import Image, UnidentifiedImageError

    from verite.encoders.pictures import FORMATS, decode

    try:
        with Image.open(path, formats=FORMATS) as opened:
            format_, size = opened.format or "", opened.size
    except UnidentifiedImageError as error:
        raise _FailedError(
            "not an image", "no picture, or of no kind that is read"
        ) from error
    except Image.DecompressionBombError as error:
        raise _FailedError("too large", str(error)) from error
    except (
        Exception
    ) as error:  # a damaged header makes decoders raise all sorts of errors
        raise _FailedError("unreadable", _reason(error)) from error
    try:
        decode(path)
    except DataError as error:
        many = size[0] * size[1] > (Image.MAX_IMAGE_PIXELS or 0)
        raise _FailedError(
            "too large" if many else "unreadable", str(error).removeprefix(f"{path}: ")
        ) from error
    return format_, size


def _addresses(host: str, port: int, *, allow: bool) -> list[str]:
    """Addresses of a host, each of them public."""
    found = list(
        dict.fromkeys(
            str(entry[4][0])
            for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
    )
    private = [address for address in found if not _is_public(address)]
    if private and not allow:
        raise _FailedError("private address", f"{host} is {name_some(private)}")
    return found


def _is_public(address: str) -> bool:
    """Whether an address, and one that is wrapped in it, belongs to the public
    internet.

    >>> [_is_public(one) for one in ("93.184.215.14", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1")]
    [True, False, False, False, False]
    """
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(str(inner))
    return ip.is_global and not ip.is_multicast


def _host(url: str) -> str:
    """Host of a URL, as far as one can tell."""
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    try:
        return parse_url(url).netloc or ""
    except LocationParseError:
        return ""


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait, if it says so in a way that can be read."""
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    try:
        return Retry().parse_retry_after(headers["Retry-After"])
    except (KeyError, InvalidHeader):
        return None


def _reason(error: BaseException) -> str:
    """One line of an error, without the objects that urllib3 puts in front."""
    return re.sub(r"^<[^>]*>: |^\w+\(.*?\): ", "", str(error) or type(error).__name__)[
        :200
    ]


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock")
        lock.acquire(timeout=0)
    except Timeout as error:
        raise VeriteError(
            f"{folder}: another run fetches pictures into this folder. Wait for its"
            " end."
        ) from error
    except OSError as error:
        raise VeriteError(
            f"cannot write to {folder}: {error.strerror or error}. Choose another"
            " folder, or free it."
        ) from error
    try:
        yield
    finally:
        lock.release()
