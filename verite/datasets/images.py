"""Downloading the images that a table links to: politely, safely and resumably.

Hosts are worked through in parallel; requests to one host come one after the other,
with a delay between them. What :mod:`verite.http` accepts is an image only if it
decodes as one. A ledger records the status of each link, so that a later run requests
only what is missing and may still come.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from verite.datasets.ledger import COLUMNS, STATUSES, TEMPORARY, Ledger, Link
from verite.datasets.reading import Reader
from verite.datasets.verite import CARD as VERITE
from verite.errors import DataError, name_some
from verite.files import lock
from verite.http import Client, Limits
from verite.tables import read_table

__all__ = ["STATUSES", "Link", "fetch_images", "read_links", "summary", "verite_links"]

_FAILURES = 5  # in a row, after which a host is left alone until the next run
_ID = re.compile(r"""[^./\\:*?"<>|\x00-\x1f][^/\\:*?"<>|\x00-\x1f]{0,119}""")


def verite_links() -> list[Link]:
    """Links of VERITE's images: ``true_N`` and ``false_N`` of article N.

    Raises
    ------
    MissingDataError
        ``VERITE_articles.csv`` does not exist.
    """
    path = Reader(VERITE).path("verite/VERITE_articles.csv")
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
    """Read links from a CSV, leaving out rows without one.

    Parameters
    ----------
    prefix
        Put before each id.

    Raises
    ------
    DataError
        A column is missing, ids are duplicate or cannot be names of files, or no row
        has a link.
    """
    table = read_table(path)
    for option, name in (("--id-column", id_column), ("--url-column", url_column)):
        if name not in table.columns:
            raise DataError(
                f"{path}: no column {name!r}. Found:"
                f" {name_some(map(repr, table.columns), 20)}. Name another with"
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
    # Some file systems do not distinguish A from a.
    duplicates = ids[ids.str.casefold().duplicated(keep=False)]
    if len(duplicates):
        raise DataError(f"{path}: duplicate ids: {name_some(duplicates)}.")
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
    workers: int = 16,
    delay: float = 0.5,
    allow_host: str = "",
    retry_failed: bool = False,
) -> pd.DataFrame:
    """Download images into a folder, with a ledger of all links (``ledger.csv``).

    A later run requests only links that are new or changed, whose image is missing, or
    whose status is temporary (see :data:`STATUSES`). An image that is in the folder but
    not in the ledger was put there by hand and is kept.

    Parameters
    ----------
    links
        Ids must differ.
    out
        Folder for images and ledger.
    workers
        Hosts at a time.
    delay
        Seconds between the starts of two requests to one host.
    allow_host
        A host that may have a private address.
    retry_failed
        Also request links whose status was final.

    Returns
    -------
    pandas.DataFrame
        The ledger's row of each link, in the order of ``links``: ``id``, ``url``,
        ``status``, ``http_status`` (0: no answer), ``final_url`` (after redirects),
        ``file``, ``format``, ``width`` and ``height`` in pixels, ``bytes``, ``sha256``,
        ``when`` (UTC), ``what`` (details); and ``requested``: whether this run did.

    Raises
    ------
    DataError
        Duplicate ids, or another table in the ledger's place.
    VeriteError
        The folder cannot be written to, the disk is full, or another run is using it.

    >>> import tempfile
    >>> links = [Link("a", "file:///etc/passwd"), Link("b", "http://127.0.0.1/b.png")]
    >>> fetch_images(links, tempfile.mkdtemp())["status"].tolist()
    ['bad link', 'private address']
    """
    links = list(links)
    counts = Counter(link.id for link in links)
    if duplicates := [key for key, count in counts.items() if count > 1]:
        raise DataError(f"duplicate ids: {name_some(duplicates)}.")
    folder = Path(out)
    with lock(folder):
        for part in folder.glob(".part-*"):  # of a run that was killed
            part.unlink()
        ledger = Ledger(folder)
        todo = [link for link in links if not ledger.settles(link, retry_failed)]
        client = Client(
            limits or Limits(), allow_host=allow_host, turn=_Turns(delay).wait
        )
        try:
            _run(todo, client, ledger, workers)
        finally:
            ledger.write()
    requested = {link.id for link in todo}
    return pd.DataFrame(
        [{**ledger.rows[link.id], "requested": link.id in requested} for link in links],
        columns=[*COLUMNS, "requested"],
    )


def summary(images: pd.DataFrame) -> list[str]:
    """Count statuses, as lines to print.

    >>> images = pd.DataFrame({"status": ["ok", "gone"], "requested": [True, False]})
    >>> for line in summary(images):
    ...     print(line)
    2 links: 1 requested, 1 settled before
      ok                     1   the image was saved
      gone                   1   404 or 410
    """
    counts = images["status"].value_counts()
    requested = int(images["requested"].sum())
    settled = len(images) - requested
    lines = [
        f"{len(images):,} links: {requested:,} requested, {settled:,} settled before"
    ]
    lines += [
        f"  {status:18}{counts[status]:>6,}   {meaning}"
        for status, meaning in STATUSES.items()
        if status in counts.index
    ]
    if again := int(counts.reindex(TEMPORARY, fill_value=0).sum()):
        lines.append(f"{again:,} may still come: run the same command again later.")
    return lines


def _run(todo: list[Link], client: Client, ledger: Ledger, workers: int) -> None:
    hosts: defaultdict[str, list[Link]] = defaultdict(list)
    for link in todo:
        hosts[link.url.partition("://")[2].partition("/")[0]].append(link)
    groups: queue.SimpleQueue[list[Link]] = queue.SimpleQueue()
    for group in hosts.values():
        groups.put(group)
    stop = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while True:
                for link, row in _fetch_group(groups.get_nowait(), client, ledger):
                    ledger.record(link, row)
                    bar.update()
                    if stop.is_set():
                        return
        except queue.Empty:
            return
        except BaseException as error:  # such as a full disk: it ends the run
            errors.append(error)
            stop.set()

    # Daemons, so that Ctrl-C does not wait for the answers under way.
    threads = [
        threading.Thread(target=work, daemon=True)
        for _ in range(min(workers, len(hosts)))
    ]
    with tqdm(total=len(todo), desc="images", unit="", disable=None) as bar:
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads) and not stop.wait(0.05):
                pass
        finally:
            stop.set()
    if errors:
        raise errors[0]


def _fetch_group(
    links: list[Link], client: Client, ledger: Ledger
) -> Iterator[tuple[Link, dict[str, Any]]]:
    """Request the links of one host, until it is busy or keeps failing."""
    failures = 0
    for position, link in enumerate(links):
        row = ledger.fetch(link, client)
        yield link, row
        status = row["status"]
        failures = failures + 1 if status in ("unreachable", "timed out") else 0
        if status == "busy" or failures == _FAILURES:
            what = "not requested: the host failed before"
            for other in links[position + 1 :]:
                yield other, {"status": status, "what": what}
            return


class _Turns:
    """Lets requests to one host start one after the other, with a delay."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._locks: dict[str, threading.Lock] = {}
        self._ready: dict[str, float] = {}

    @contextlib.contextmanager
    def wait(self, host: str) -> Iterator[None]:
        with self._locks.setdefault(host, threading.Lock()):
            time.sleep(max(0.0, self._ready.get(host, 0) - time.monotonic()))
            self._ready[host] = time.monotonic() + self._delay
            yield
