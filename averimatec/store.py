"""A knowledge store: dated pages and images to search in, instead of the web.

As a folder: ``pages.jsonl`` with one object per line (``url``, ``date``, ``title``,
``text``, ``images``), and ``images/`` with the files that pages name. Also read:
the shared task's files, whose lines have ``url`` and ``url2text``, a list of sentences,
and no date.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BeforeValidator
from pydantic.fields import Field

from averimatec.claims import image_files
from averimatec.reading import (
    Day,
    FileNames,
    RequiredText,
    Text,
    expected,
    parse_rows,
    read_rows,
)
from verite.errors import DataError
from verite.files import atomic_path, write_text


def _joined(value: Any) -> Any:
    """The shared task's files hold a page's text as a list of sentences."""
    return " ".join(map(str, value)) if isinstance(value, list) else value or ""


@dataclass(frozen=True)
class Page:
    """A page, as it was on a day, and the names of its images."""

    url: RequiredText
    text: Annotated[
        Text,
        BeforeValidator(_joined),
        Field(validation_alias=AliasChoices("text", "url2text")),
    ] = ""
    title: Text = ""
    date: Day = None
    images: FileNames = ()


def _not_empty(page: Page) -> Page:
    if not page.text and not page.title:
        raise expected("text or a title")
    return page


@dataclass(frozen=True)
class Store:
    """Pages, and the files of their images by name."""

    pages: tuple[Page, ...]
    images: Mapping[str, Path] = field(default_factory=dict)

    def pages_with(self, image: str) -> tuple[Page, ...]:
        """Pages that show an image."""
        return tuple(page for page in self.pages if image in page.images)

    def dates(self) -> dict[str, datetime.date | None]:
        """Days of the pages, by address."""
        return {page.url: page.date for page in self.pages}


def read_store(path: str | os.PathLike[str]) -> Store:
    """Read a knowledge store: a folder as :func:`write_store` makes it, or one file.

    Raises
    ------
    MissingDataError
        There is no such folder or file.
    DataError
        A page lacks its address or text, a date does not parse, or two pages have one
        address.
    """
    place = Path(path)
    if place.is_dir():
        place = place / "pages.jsonl"
    pages = parse_rows(
        Annotated[Page, AfterValidator(_not_empty)],
        read_rows(place),
        lambda row, place: f"page {row.get('url') or place}",
        place,
    )
    folder = place.parent / "images"
    return Store(pages, image_files(folder) if folder.is_dir() else {})


def write_store(
    folder: str | os.PathLike[str],
    pages: Iterable[Page],
    images: Mapping[str, bytes] | None = None,
) -> Path:
    """Write pages and the bytes of their images; return the folder.

    >>> import tempfile
    >>> page = Page("https://a.example", "Old.", images=("a.png",))
    >>> store = read_store(write_store(tempfile.mkdtemp(), [page], {"a.png": b"..."}))
    >>> store.pages == (page,), sorted(store.images)
    (True, ['a.png'])
    """
    place = Path(folder)
    for name, content in (images or {}).items():
        if Path(name).name != name:
            raise DataError(f"image {name!r}: expected a plain file name.")
        with atomic_path(place / "images" / name) as temporary:
            temporary.write_bytes(content)
    rows = map(asdict, pages)
    lines = [f"{json.dumps(row, ensure_ascii=False, default=str)}\n" for row in rows]
    write_text(place / "pages.jsonl", "".join(lines))
    return place
