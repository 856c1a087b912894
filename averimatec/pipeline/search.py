"""Where evidence is looked for: a knowledge store, or another :class:`Search`.

A search gives dated pages. Their text is untrusted: it is quoted to a model and never
followed, and nothing they link to is fetched. :func:`find` filters pages by date
whatever the search did, cuts them into passages and ranks these (paper, section 7.1 and
appendix H.1).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from rank_bm25 import BM25Okapi

from averimatec.pictures import COPY, hash_distance, picture_hash
from averimatec.store import Page, Store
from verite.blocks import content_key
from verite.errors import VeriteError
from verite.files import sha256

if TYPE_CHECKING:
    from verite.encoders import Encoder

TOOLS = ("RIS", "WST", "WSI", "VQA")
"""Reverse image search, web search for texts, web search for images, visual question
answering (paper, section 7.1).
"""

RESULTS = 30
"""Pages that a search for words gives (paper, appendix H.1)."""

_CHUNK = 128  # words per passage
_SAME = 0.95  # cosine from which a CLIP takes two pictures for copies

# Lists that libraries ship leave out words such as "fire" and "bill", which news is
# about.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those of in on at by to for from with into about and"
        " or but if than as not no is are was were be been being am do does did has"
        " have had will would can could shall should may might must it its he his him"
        " her she they them their we us our you your i me my who whom whose which what"
        " where when why how there here s t",
    )
)


class BM25:
    """Okapi's BM25 over tokenised documents (``rank-bm25``), equal ones in their order.

    References
    ----------
    Robertson and Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and
    Beyond.

    >>> index = BM25([["a", "boat", "in", "rome"], ["a", "fire"], ["the", "harbour"]])
    >>> index.scores(["boat", "rome", "boat"]).round(3).tolist()
    [1.251, 0.0, 0.0]
    """

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._size = len(documents)
        # The library divides by the mean length, so it needs at least one word.
        self._index = (
            BM25Okapi([list(d) for d in documents]) if any(documents) else None
        )

    def scores(self, query: Sequence[str]) -> np.ndarray:
        """Score of each document, shape (n,); repeated words count repeatedly."""
        if self._index is None:
            return np.zeros(self._size)
        return np.asarray(self._index.get_scores(list(query)))

    def best(self, query: Sequence[str], n: int) -> list[int]:
        """Places of the ``n`` documents that fit best, the best one first."""
        order = np.argsort(-self.scores(query), kind="stable")
        return [int(place) for place in order[:n]]


def words(text: str) -> list[str]:
    """Words in lower case.

    >>> words("Mayor Ruby's 3 boats")
    ['mayor', 'ruby', 's', '3', 'boats']
    """
    return re.findall(r"\w+", text.lower())


def search_terms(text: str) -> list[str]:
    """Words to search with: function words are left out, unless there are no others.

    The paper keeps verbs, nouns and adjectives by a tagger (appendix H.1); this needs
    no model.

    >>> search_terms("When did the boat sink in Rome?")
    ['boat', 'sink', 'rome']
    """
    every = words(text)
    return [word for word in every if word not in _FUNCTION_WORDS] or every


def chunks(text: str, size: int = _CHUNK) -> list[str]:
    """Cut a text into chunks of at most ``size`` words, between sentences if possible.

    Words are separated by white space, which becomes a single space.

    >>> chunks("A boat sank. It was old. Nobody was hurt, they say.", size=6)
    ['A boat sank. It was old.', 'Nobody was hurt, they say.']
    """
    parts: list[list[str]] = []
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        new = sentence.split()
        if parts and len(parts[-1]) + len(new) <= size:
            parts[-1] += new
        else:
            parts += [new[start : start + size] for start in range(0, len(new), size)]
    return [" ".join(part) for part in parts]


@dataclass(frozen=True)
class Picture:
    """A picture and the page that shows it."""

    name: str
    path: Path
    page: Page


class Search(Protocol):
    """Anything that finds pages; those dated on the claim's ``day`` or later may go."""

    @property
    def name(self) -> str:
        """Name of the search, written into every record."""

    def pages(self, query: str, day: datetime.date | None) -> Sequence[Page]:
        """Find pages by words, the best first."""

    def pages_with(self, picture: Path, day: datetime.date | None) -> Sequence[Page]:
        """Find pages that show a picture: reverse image search."""

    def pictures(self, query: str, day: datetime.date | None) -> Sequence[Picture]:
        """Find pictures by words, the best first."""


def in_time(page: Page, day: datetime.date | None, *, undated: bool = False) -> bool:
    """Whether a page is dated before the claim; ``undated`` decides if it has no date.

    >>> page = Page("https://a.example", "A boat.", date=datetime.date(2020, 5, 1))
    >>> [in_time(page, datetime.date(2020, 5, day)) for day in (1, 2)]
    [False, True]
    """
    return undated if page.date is None else day is None or page.date < day


class StoreSearch:
    """Search in a knowledge store: words by BM25, pictures by CLIP or by hash.

    Parameters
    ----------
    undated
        Keep pages without a date.

    >>> page = Page("https://a.example", "A boat sank.", date=datetime.date(2020, 5, 1))
    >>> [page.url for page in StoreSearch(Store((page,))).pages("Which boat?", None)]
    ['https://a.example']
    """

    def __init__(
        self, store: Store, *, undated: bool = False, encoder: Encoder | None = None
    ) -> None:
        self.store, self.undated, self.encoder = store, undated, encoder
        self._index = lru_cache(maxsize=16)(self._make_index)  # one per claim's day
        self._vectors: dict[str, np.ndarray] = {}

    @cached_property
    def name(self) -> str:
        """The store's size and digest, and how it is searched."""
        store, encoder = self.store, self.encoder
        pages = [
            [page.url, page.text, page.title, str(page.date), list(page.images)]
            for page in store.pages
        ]
        images = {name: sha256(path) for name, path in store.images.items()}
        how = f"vectors of {encoder.identity}" if encoder else "perceptual hash"
        return (
            f"knowledge store of {len(pages):,} pages and {len(images):,} pictures,"
            f" digest {content_key(pages, images)[:16]} (words by BM25, pictures by"
            f" {how})"
        )

    def pages(self, query: str, day: datetime.date | None) -> list[Page]:
        """The pages in time that share words with the query, by BM25."""
        pages, texts, index = self._index(day)
        terms = search_terms(query)
        return [
            pages[place]
            for place in index.best(terms, RESULTS)
            if not set(terms).isdisjoint(texts[place])
        ]

    def pages_with(self, picture: Path, day: datetime.date | None) -> list[Page]:
        """The pages, of any date, with a copy of a picture, the nearest copy first."""
        used = dict.fromkeys(name for p in self.store.pages for name in p.images)
        names = [name for name in used if name in self.store.images]
        paths = [self.store.images[name] for name in names]
        if not paths:
            return []
        if self.encoder is not None:
            distances = 1 - self._encode(paths) @ self._encode([picture])[0]
            limit = 1 - _SAME
        else:
            own = picture_hash(picture)
            distances = np.array([_bits(own, path) for path in paths], dtype=float)
            limit = float(COPY)
        order = np.argsort(distances, kind="stable")
        copies = [names[place] for place in order if distances[place] <= limit]
        pages = [page for name in copies for page in self.store.pages_with(name)]
        return list(dict.fromkeys(pages))

    def pictures(self, query: str, day: datetime.date | None) -> list[Picture]:
        """The pictures of the pages that match the words; a CLIP ranks them anew."""
        pictures = [
            Picture(name, self.store.images[name], page)
            for page in self.pages(query, day)
            for name in page.images
            if name in self.store.images
        ]
        if self.encoder is None or not pictures:
            return pictures
        encoded = self.encoder.encode_texts({"query": query}, normalise=True)
        text = encoded.embeddings.rows(["query"])[0]
        similarity = self._encode([picture.path for picture in pictures]) @ text
        return [pictures[place] for place in np.argsort(-similarity, kind="stable")]

    def _encode(self, paths: Sequence[Path]) -> np.ndarray:
        """Vectors of pictures, shape (n, m); zeros for those that cannot be opened."""
        assert self.encoder is not None  # noqa: S101
        new = {str(path): path for path in paths if str(path) not in self._vectors}
        if new:
            encoded = self.encoder.encode_images(new, normalise=True).embeddings
            rows = np.asarray(encoded.rows(list(encoded.ids)))
            self._vectors |= dict(zip(encoded.ids, rows, strict=True))
        size = len(next(iter(self._vectors.values())))
        return np.array(
            [self._vectors.get(str(path), np.zeros(size)) for path in paths]
        )

    def _make_index(
        self, day: datetime.date | None
    ) -> tuple[list[Page], list[list[str]], BM25]:
        pages = [p for p in self.store.pages if in_time(p, day, undated=self.undated)]
        texts = [words(f"{page.title} {page.text}") for page in pages]
        return pages, texts, BM25(texts)


def _bits(own: np.ndarray, path: Path) -> int:
    try:
        return hash_distance(own, picture_hash(path))
    except VeriteError:  # a broken file of the store is a copy of nothing
        return 64


@dataclass(frozen=True)
class Passage:
    """A chunk of a page. ``id`` is the page's address and the chunk's place in it."""

    id: str
    text: str
    url: str
    title: str = ""
    date: datetime.date | None = None


@dataclass(frozen=True)
class Findings:
    """Passages, the best first; a picture; addresses of pages that are too late."""

    passages: tuple[Passage, ...] = ()
    picture: Picture | None = None
    late: tuple[str, ...] = ()


@dataclass(frozen=True)
class Query:
    """A question to search for: words, images, and the claim's day, if known."""

    text: str
    images: tuple[Path, ...] = ()
    day: datetime.date | None = None
    undated: bool = False
    """Keep pages without a date."""


def find(
    tool: str, query: Query, search: Search, *, chunk: int = _CHUNK, top: int = 30
) -> Findings:
    """Find passages, or a picture, for a question.

    Pages dated on the claim's day or later are dropped, whatever the search did about
    them. A page without text counts with its title, as pages that cannot be read do in
    the paper (appendix H.1).

    Parameters
    ----------
    tool
        ``RIS`` (pages with one of the images), ``WST`` or ``WSI``.
    chunk, top
        Words per passage, and how many passages.

    >>> page = Page("https://a.example", "A boat sank.", date=datetime.date(2020, 5, 1))
    >>> search = StoreSearch(Store((page,)))
    >>> [passage.id for passage in find("WST", Query("Which boat?"), search).passages]
    ['https://a.example#1']
    """
    day = query.day
    picture = None
    if tool == "WSI":
        pictures = search.pictures(query.text, day)
        pages = [item.page for item in pictures]
        usable = [p for p in pictures if in_time(p.page, day, undated=query.undated)]
        picture = usable[0] if usable else None
        timely = [picture.page] if picture else []
    else:
        pages = list(search.pages(query.text, day)) if tool == "WST" else []
        if tool == "RIS":
            pages = [p for path in query.images for p in search.pages_with(path, day)]
        unique = dict.fromkeys(pages)
        timely = [p for p in unique if in_time(p, day, undated=query.undated)]
    late = [page.url for page in pages if page.date and not in_time(page, day)]
    passages = [
        Passage(f"{page.url}#{place}", text, page.url, page.title, page.date)
        for page in timely
        for place, text in enumerate(chunks(_plain(page), chunk), 1)
    ]
    index = BM25([words(passage.text) for passage in passages])
    best = [passages[place] for place in index.best(words(query.text), top)]
    return Findings(tuple(best), picture, tuple(dict.fromkeys(late)))


def _plain(page: Page) -> str:
    """A page's text, whose image tokens cannot be taken for the claim's."""
    return re.sub(r"\[(IMG_\d+)\]", r"(\1)", page.text or page.title)
