"""Where evidence is looked for.

A knowledge store on disk by default; :mod:`~averimatec.pipeline.web` by choice.

A search gives dated pages. What they say is untrusted: it is quoted to a model and
never followed, and nothing they link to is fetched. The date filter does not rest on
the search: see :func:`in_time`.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from averimatec.pictures import COPY, hash_distance, picture_hash
from averimatec.pipeline.bm25 import BM25, search_terms, words
from averimatec.store import Page, Store
from verite.blocks import content_key
from verite.errors import VeriteError
from verite.files import sha256

if TYPE_CHECKING:
    from verite.encoders import Encoder

__all__ = ["RESULTS", "Picture", "Search", "StoreSearch", "in_time"]

RESULTS = 30
"""Pages that a search for words gives (paper, appendix H.1)."""

_CUTS = 16  # indexes that are kept, one for each claim's day


@dataclass(frozen=True)
class Picture:
    """A picture that was found, and the page on which it stands."""

    name: str
    path: Path
    page: Page


class Search(Protocol):
    """Anything that finds pages.

    ``day`` is the claim's: what is dated on it or later need not be given, as it is
    dropped.
    """

    @property
    def name(self) -> str:
        """What it is; it stands in every record."""

    def pages(self, query: str, day: datetime.date | None) -> Sequence[Page]:
        """Find pages by words, the best first."""

    def pages_with(self, picture: Path, day: datetime.date | None) -> Sequence[Page]:
        """Find pages on which a picture stands: reverse image search."""

    def pictures(self, query: str, day: datetime.date | None) -> Sequence[Picture]:
        """Find pictures by words, the best first."""


def in_time(page: Page, day: datetime.date | None, *, undated: bool = False) -> bool:
    """Whether a page may be used.

    Dated before the claim. ``undated`` decides on pages without a date.

    For a claim without a date every dated page may be.

    >>> page = Page("https://a.example", "A boat.", date=datetime.date(2020, 5, 1))
    >>> in_time(page, datetime.date(2020, 5, 2)), in_time(page, datetime.date(2020, 5, 1))
    (True, False)
    """
    return undated if page.date is None else day is None or page.date < day


class StoreSearch:
    """Search in a knowledge store.

    Words by BM25, pictures by CLIP where an encoder is given and by perceptual hash
    otherwise.

    Pictures by words are ranked by the cosine of query and picture with an encoder, and
    otherwise by the pages they stand on.

    Parameters
    ----------
    undated
        Keep pages without a date.
    alike
        Cosine from which on an encoder takes two pictures for one.

    >>> store = Store((Page("https://a.example", "A boat sank.", date=datetime.date(2020, 5, 1)),))
    >>> [page.url for page in StoreSearch(store).pages("Which boat?", None)]
    ['https://a.example']
    """

    def __init__(
        self,
        store: Store,
        *,
        undated: bool = False,
        encoder: Encoder | None = None,
        alike: float = 0.95,
    ) -> None:
        self.store, self.undated, self.encoder, self.alike = (
            store,
            undated,
            encoder,
            alike,
        )
        self._cuts: dict[
            datetime.date | None, tuple[list[Page], list[list[str]], BM25]
        ] = {}
        self._vectors: dict[str, np.ndarray] = {}

    @property
    def name(self) -> str:
        """The store's size and digest, and what it is searched by."""
        how = (
            f"vectors of {self.encoder.identity}" if self.encoder else "perceptual hash"
        )
        size = (
            f"{len(self.store.pages):,} pages and {len(self.store.images):,} pictures"
        )
        return (
            f"knowledge store of {size}, digest {self._digest} (words by BM25, pictures"
            f" by {how})"
        )

    @cached_property
    def _digest(self) -> str:
        pages = [
            [page.url, page.text, page.title, str(page.date), list(page.images)]
            for page in self.store.pages
        ]
        return content_key(
            pages, {name: sha256(path) for name, path in self.store.images.items()}
        )[:16]

    def pages(self, query: str, day: datetime.date | None) -> list[Page]:
        """The pages in time that share words with the query, by BM25."""
        kept, texts, index = self._index(day)
        terms = search_terms(query)
        return [
            kept[place]
            for place in index.best(terms, RESULTS)
            if not set(terms).isdisjoint(texts[place])
        ]

    def pages_with(self, picture: Path, day: datetime.date | None) -> list[Page]:
        """The pages with a picture that is a copy, the nearest copy first.

        As such services do, of any date.
        """
        names = list(
            dict.fromkeys(
                name
                for page in self.store.pages
                for name in page.images
                if name in self.store.images
            )
        )
        found = self._copies(picture, names)
        return list(
            dict.fromkeys(
                page for name in found for page in self.store.pages_with(name)
            )
        )

    def pictures(self, query: str, day: datetime.date | None) -> list[Picture]:
        """The pictures on the pages that are found by words."""
        found = [
            Picture(name, self.store.images[name], page)
            for page in self.pages(query, day)
            for name in page.images
            if name in self.store.images
        ]
        if self.encoder is None or not found:
            return found
        text = self.encoder.encode_texts(
            {"query": query}, normalise=True
        ).embeddings.rows(["query"])[0]
        likeness = self._pictured([picture.path for picture in found]) @ text
        return [found[place] for place in np.argsort(-likeness, kind="stable")]

    def _copies(self, picture: Path, names: Sequence[str]) -> list[str]:
        if not names:
            return []
        paths = [self.store.images[name] for name in names]
        if self.encoder is not None:
            far = 1 - self._pictured(paths) @ self._pictured([picture])[0]
            limit = 1 - self.alike
        else:
            asked = picture_hash(picture)
            far, limit = (
                np.array([self._bits(asked, path) for path in paths], dtype=float),
                float(COPY),
            )
        return [
            names[place]
            for place in np.argsort(far, kind="stable")
            if far[place] <= limit
        ]

    def _bits(self, asked: np.ndarray, path: Path) -> int:
        try:
            return hash_distance(asked, picture_hash(path))
        except VeriteError:  # a file of the store that is no picture is nobody's copy
            return 64

    def _pictured(self, paths: Sequence[Path]) -> np.ndarray:
        assert self.encoder is not None  # noqa: S101
        new = {str(path): path for path in paths if str(path) not in self._vectors}
        if new:
            made = self.encoder.encode_images(new, normalise=True).embeddings
            self._vectors |= dict(
                zip(made.ids, np.asarray(made.rows(list(made.ids))), strict=True)
            )
        size = len(next(iter(self._vectors.values())))
        return np.array(
            [self._vectors.get(str(path), np.zeros(size)) for path in paths]
        )

    def _index(
        self, day: datetime.date | None
    ) -> tuple[list[Page], list[list[str]], BM25]:
        cut = self._cuts.get(day)
        if cut is None:
            kept = [
                page
                for page in self.store.pages
                if in_time(page, day, undated=self.undated)
            ]
            texts = [words(f"{page.title} {page.text}") for page in kept]
            cut = kept, texts, BM25(texts)
            if len(self._cuts) >= _CUTS:
                self._cuts.clear()
            self._cuts[day] = cut
        return cut
