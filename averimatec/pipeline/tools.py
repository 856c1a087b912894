"""The tools that look for evidence.

What a search gave, without what is too late, cut into chunks and ranked.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from averimatec.pipeline.bm25 import BM25, chunks, words
from averimatec.pipeline.search import Picture, Search, in_time
from averimatec.store import Page

__all__ = ["TOOLS", "Found", "Passage", "find"]

TOOLS = ("RIS", "WST", "WSI", "VQA")
"""Reverse image search, web search for texts, web search for images, visual question
answering (paper, section 7.1).
"""


@dataclass(frozen=True)
class Passage:
    """A chunk of a page. ``id`` is the page's address and the chunk's place in it."""

    id: str
    text: str
    url: str
    title: str = ""
    date: datetime.date | None = None


@dataclass(frozen=True)
class Found:
    """What a tool found: passages, the best first.

    A picture, where one was asked for; pages left out, as they are too late.
    """

    passages: tuple[Passage, ...] = ()
    picture: Picture | None = None
    late: tuple[str, ...] = ()


def find(
    tool: str,
    query: str,
    images: Sequence[Path],
    search: Search,
    day: datetime.date | None,
    *,
    undated: bool = False,
    chunk: int = 128,
    top: int = 30,
) -> Found:
    """Find passages, or a picture, for a question.

    Pages dated on the claim's day or later are dropped here, whatever the search did
    about them. A page without text stands for itself with its title, as pages that
    cannot be read do in the paper (appendix H.1).

    Parameters
    ----------
    tool
        ``RIS`` (pages with one of the ``images``), ``WST`` or ``WSI``.
    day
        The claim's; None where it is not known, and then dated pages are kept.
    undated
        Keep pages without a date.
    chunk, top
        Words a passage, and how many passages.

    >>> from averimatec.pipeline.search import StoreSearch
    >>> from averimatec.store import Store
    >>> page = Page("https://a.example", "The boat sank in Rome.", date=datetime.date(2020, 5, 1))
    >>> [passage.id for passage in find("WST", "Which boat sank?", (), StoreSearch(Store((page,))), None).passages]
    ['https://a.example#1']
    """
    if tool == "WSI":
        every = search.pictures(query, day)
        pictures = [each for each in every if in_time(each.page, day, undated=undated)]
        late = _late([each.page for each in every], day)
        best = pictures[0] if pictures else None
        return Found(
            _ranked(query, [best.page], chunk, top) if best else (), best, late
        )
    pages = (
        search.pages(query, day)
        if tool == "WST"
        else [page for image in images for page in search.pages_with(image, day)]
    )
    kept = [
        page for page in dict.fromkeys(pages) if in_time(page, day, undated=undated)
    ]
    return Found(_ranked(query, kept, chunk, top), None, _late(pages, day))


def _ranked(
    query: str, pages: Sequence[Page], chunk: int, top: int
) -> tuple[Passage, ...]:
    passages = [
        Passage(f"{page.url}#{place}", text, page.url, page.title, page.date)
        for page in pages
        for place, text in enumerate(
            chunks(_untokened(page.text or page.title), chunk), 1
        )
    ]
    index = BM25([words(passage.text) for passage in passages])
    return tuple(passages[place] for place in index.best(words(query), top))


def _late(pages: Sequence[Page], day: datetime.date | None) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            page.url for page in pages if page.date and not in_time(page, day)
        )
    )


def _untokened(text: str) -> str:
    """A page cannot name pictures by tokens: they would be taken for the claim's."""
    return re.sub(r"\[(IMG_\d+)\]", r"(\1)", text)
