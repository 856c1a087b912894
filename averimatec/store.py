"""A knowledge store: dated pages and images to search in, in the place of the web.

As a folder: ``pages.jsonl`` with an object a line (``url``, ``date``, ``title``,
``text``, ``images``), and ``images/`` with the files that pages name. Read as well:
``pages.parquet`` with such columns, and the shared task's files, whose lines have
``url`` and ``url2text``, a list of sentences. Their pages have no date.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from averimatec.claims import image_files
from averimatec.reading import Fields, raise_problems, read_rows, repeated
from verite.errors import DataError, MissingDataError
from verite.files import atomic_path, require_file, write_text

__all__ = ["Page", "Store", "read_store", "write_store"]


@dataclass(frozen=True)
class Page:
    """A page, as it was on a day."""

    url: str
    text: str
    title: str = ""
    date: datetime.date | None = None
    images: tuple[str, ...] = ()
    """Names of the images that stand on it."""


@dataclass(frozen=True)
class Store:
    """Pages, and the files of their images by name.

    >>> day = datetime.date
    >>> store = Store((Page("https://a.example", "Old.", date=day(2020, 1, 1)), Page("https://b.example", "New.", date=day(2024, 1, 1))))
    >>> [page.text for page in store.before(day(2022, 1, 1)).pages]
    ['Old.']
    """

    pages: tuple[Page, ...]
    images: Mapping[str, Path] = field(default_factory=dict)

    def before(self, day: datetime.date | None, *, undated: bool = False) -> Store:
        """What could be known on a day.

        Pages dated on it or before it, and the images that stand on those.

        Parameters
        ----------
        day
            The claim's; None drops no dated page.
        undated
            Keep pages without a date. The official baseline drops them.
        """
        kept = tuple(
            page
            for page in self.pages
            if (undated if page.date is None else day is None or page.date <= day)
        )
        named = {name for page in kept for name in page.images}
        return Store(
            kept, {name: path for name, path in self.images.items() if name in named}
        )

    def pages_with(self, image: str) -> tuple[Page, ...]:
        """Pages on which an image stands."""
        return tuple(page for page in self.pages if image in page.images)

    def dates(self) -> dict[str, datetime.date | None]:
        """Days of the pages, by address."""
        return {page.url: page.date for page in self.pages}


def read_store(path: str | os.PathLike[str]) -> Store:
    """Read a knowledge store.

    A folder as :func:`write_store` makes it, or one file of pages.

    Raises
    ------
    MissingDataError
        There is no such folder or file, or it needs pyarrow, which is not installed.
    DataError
        A page lacks its address or text, a date does not parse, or two pages have one
        address.
    """
    place = Path(path)
    if place.is_dir():
        found = [
            file
            for file in (place / "pages.jsonl", place / "pages.parquet")
            if file.is_file()
        ]
        if not found:
            raise MissingDataError(
                f"{place}: expected pages.jsonl or pages.parquet in the folder, found"
                " neither."
            )
        place = found[0]
    rows = _parquet(place) if place.suffix == ".parquet" else read_rows(place)
    problems: list[str] = []
    pages = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataError(
                f"{place}: page {number} is no object. A page has url, date, title,"
                " text and images."
            )
        pages.append(_page(row, number, problems))
    problems += [
        f"page {url}: stands in the store more than once"
        for url in repeated(page.url for page in pages)
    ]
    raise_problems(
        place, problems, "A page needs an address of its own, and text or a title."
    )
    folder = place.parent / "images"
    return Store(tuple(pages), image_files(folder) if folder.is_dir() else {})


def write_store(
    folder: str | os.PathLike[str],
    pages: Iterable[Page],
    images: Mapping[str, bytes] | None = None,
) -> Path:
    """Write pages and the bytes of their images; the folder.

    >>> import tempfile
    >>> folder = write_store(tempfile.mkdtemp(), [Page("https://a.example", "Old.", images=("a.png",))], {"a.png": b"..."})
    >>> store = read_store(folder)
    >>> store.pages[0].text, sorted(store.images)
    ('Old.', ['a.png'])
    """
    place = Path(folder)
    for name, content in (images or {}).items():
        if Path(name).name != name:
            raise DataError(f"image {name!r}: expected a plain file name.")
        with atomic_path(place / "images" / name) as temporary:
            temporary.write_bytes(content)
    write_text(
        place / "pages.jsonl",
        "".join(f"{json.dumps(_row(page), ensure_ascii=False)}\n" for page in pages),
    )
    return place


def _row(page: Page) -> dict[str, Any]:
    day = page.date.isoformat() if page.date else None
    return {
        "url": page.url,
        "date": day,
        "title": page.title,
        "text": page.text,
        "images": list(page.images),
    }


def _page(row: Mapping[str, Any], number: int, problems: list[str]) -> Page:
    fields = Fields(row, f"page {number}", problems)
    text = fields.text("text") or " ".join(fields.texts("url2text"))
    title = fields.text("title")
    if not text and not title:
        fields.wrong("text", "text", text)
    return Page(
        fields.text("url", required=True),
        text,
        title,
        fields.day("date"),
        fields.images("images"),
    )


def _parquet(path: Path) -> list[Any]:
    import pandas as pd

    try:
        table = pd.read_parquet(require_file(path))
    except ImportError as error:
        raise MissingDataError(
            f"{path}: reading parquet needs pyarrow (pip install 'verite[parquet]'). Or"
            " use pages.jsonl."
        ) from error
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path}: not a parquet file that can be read ({error})."
        ) from error
    rows = table.to_dict("records")
    for row in rows:
        for name, value in row.items():
            if hasattr(value, "tolist"):
                row[name] = value.tolist()
            elif isinstance(value, datetime.date):
                row[name] = value.isoformat()[:10]
            elif isinstance(value, float):  # how pandas writes that nothing is there
                row[name] = None
    return rows
