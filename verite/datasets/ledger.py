"""Ledger of image downloads: the status of each link, and the image if it was saved."""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from verite.encoders.pictures import FORMATS, open_picture
from verite.errors import DataError
from verite.files import atomic_path, write_csv
from verite.http import Client, HttpError
from verite.tables import read_table

__all__ = ["COLUMNS", "STATUSES", "TEMPORARY", "Ledger", "Link"]

STATUSES = {
    "ok": "the image was saved",
    "gone": "404 or 410",
    "forbidden": "any other answer from 400 to 499",
    "not an image": "no image that can be decoded",
    "too large": "more bytes than allowed",
    "private address": "the host, or one that it redirects to, is not public",
    "bad link": "not http or https, or not a URL",
    "too many redirects": "a loop, or a long chain",
    "timed out": "no answer, or no end of it, in time",
    "cut short": "the connection ended before the answer did",
    "busy": "429 or 503, after all tries",
    "server error": "an answer from 500 to 599",
    "unreachable": "no such host, no connection, or no secure one",
}
"""Statuses of links. The last five are temporary: a later run requests them again."""

TEMPORARY = ("timed out", "cut short", "busy", "server error", "unreachable")
_NUMBERS = ("http_status", "width", "height", "bytes")
COLUMNS = (
    *("id", "url", "status", "http_status", "final_url", "file", "format"),
    *("width", "height", "bytes", "sha256", "when", "what"),
)


@dataclass(frozen=True)
class Link:
    """Link to an image, which is saved as ``ID.jpg`` whatever its format."""

    id: str
    url: str

    @property
    def file(self) -> str:
        """Name of its file, as VERITE names its images."""
        return f"{self.id}.jpg"


class Ledger:
    """Images and their ledger: status of each link, written every few seconds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, dict[str, Any]] = {}
        self._path = folder / "ledger.csv"
        self._lock = threading.Lock()
        self._decoding = threading.Lock()  # one image may take hundreds of megabytes
        self._next_write = 0.0
        if not self._path.exists():
            return
        table = read_table(self._path)
        try:
            table = table[list(COLUMNS)].astype(dict.fromkeys(_NUMBERS, "int64"))
        except (KeyError, ValueError) as error:
            raise DataError(
                f"{self._path}: not the ledger of an earlier run ({error}). Move it, or"
                " choose another folder."
            ) from error
        for row in table.to_dict("records"):
            self.rows[row["id"]] = {str(name): value for name, value in row.items()}

    def settles(self, link: Link, retry_failed: bool) -> bool:
        """Whether there is nothing to request."""
        path, row = self.folder / link.file, self.rows.get(link.id)
        if row is None:
            if not path.is_file():
                return False
            try:
                self.record(link, {**self._inspect(path), "what": "was already there"})
            except DataError:
                return False
            return True
        if row["url"] != link.url:
            return False
        if row["status"] == "ok":
            return path.is_file() and path.stat().st_size == row["bytes"]
        return row["status"] not in TEMPORARY and not retry_failed

    def fetch(self, link: Link, client: Client) -> dict[str, Any]:
        """Request an image and save it; returns the ledger's row."""
        try:
            reply = client.get(link.url)
        except HttpError as error:
            return {"status": error.kind, "what": str(error)}
        row = {"http_status": reply.status, "final_url": reply.url}
        if reply.status != 200:
            return row | {"status": _status(reply.status)}
        try:
            with atomic_path(self.folder / link.file) as temporary:
                temporary.write_bytes(reply.content)
                return row | self._inspect(temporary)
        except DataError as error:
            return row | {"status": "not an image", "what": str(error)}

    def record(self, link: Link, row: dict[str, Any]) -> None:
        """Note the status of a link, and save the ledger now and then."""
        with self._lock:
            self.rows[link.id] = {
                **dict.fromkeys(COLUMNS, ""),
                **dict.fromkeys(_NUMBERS, 0),
                "final_url": link.url,
                "file": link.file if row["status"] == "ok" else "",
                "when": datetime.now(UTC).isoformat(timespec="seconds"),
                **row,
                "id": link.id,
                "url": link.url,
            }
            if time.monotonic() >= self._next_write:
                start = time.monotonic()
                self.write()
                # A long ledger must not hold up the run.
                seconds = max(2.0, 20 * (time.monotonic() - start))
                self._next_write = time.monotonic() + seconds

    def write(self) -> None:
        """Save the ledger."""
        rows = list(self.rows.values())
        write_csv(self._path, pd.DataFrame(rows, columns=list(COLUMNS)))

    def _inspect(self, path: Path) -> dict[str, Any]:
        """Format, size and digest of an image that decodes as a whole."""
        with self._decoding:
            open_picture(path)
            with Image.open(path, formats=FORMATS) as image:
                format_, (width, height) = image.format or "", image.size
        content = path.read_bytes()
        return {
            "status": "ok",
            "format": format_,
            "width": width,
            "height": height,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }


def _status(code: int) -> str:
    if code in (404, 410):
        return "gone"
    if code in (429, 503):
        return "busy"
    if code >= 500:
        return "server error"
    return "forbidden" if code >= 400 else "not an image"
