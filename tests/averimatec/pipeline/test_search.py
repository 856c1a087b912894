"""Search by words and pictures, in a store and at an endpoint."""

from __future__ import annotations

import base64
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from averimatec import Page, Store
from averimatec.pipeline import SearchError, StoreSearch, WebSearch
from averimatec.pipeline.search import BM25, Query, chunks, find, in_time, search_terms
from verite.errors import ParameterError

DAY = datetime.date(2020, 5, 10)


def test_bm25_of_rank_bm25() -> None:
    # The example of rank-bm25's README.
    texts = (
        "Hello there good man!",
        "It is quite windy in London",
        "How is the weather today?",
    )
    scores = BM25([text.split() for text in texts]).scores(["windy", "London"])
    assert scores == pytest.approx([0, 0.93729472, 0], abs=1e-8)


def test_best_documents() -> None:
    index = BM25([["x"], ["boat"], ["y"], ["boat"], ["z"], ["w"], ["v"]])
    assert index.best(["boat"], 4) == [1, 3, 0, 2]
    assert BM25([]).best(["boat"], 3) == []
    assert np.isfinite(BM25([[], ["a"]]).scores(["a"])).all()


def test_search_terms() -> None:
    assert search_terms("Who was at the flood?") == ["flood"]
    assert search_terms("Who was it?") == ["who", "was", "it"]


@given(st.text(max_size=400), st.integers(1, 20))
def test_chunks(text: str, size: int) -> None:
    parts = chunks(text, size)
    assert " ".join(parts).split() == text.split()
    assert all(1 <= len(part.split()) <= size for part in parts)


def test_chunks_end_with_sentences() -> None:
    text = " ".join(["One two three four five six seven."] * 30)
    assert [len(part.split()) for part in chunks(text)] == [126, 84]
    assert len(chunks("word " * 300)) == 3


def page(name: str, text: str, days: int | None, *images: str) -> Page:
    day = None if days is None else DAY + datetime.timedelta(days)
    return Page(f"https://{name}.example", text, name, day, images)


@pytest.fixture
def store(pictures: dict[str, Path]) -> Store:
    pages = (
        page("origin", "The boat was built in Rome.", -30, "a.png"),
        page("other", "A fire in Pisa.", -20, "b.png"),
        page("same-day", "The boat is in Rome now.", 0, "a.png"),
        page("later", "The boat in Rome: false.", 3, "a.png"),
        page("undated", "A boat of Rome.", None, "a.png"),
    )
    return Store(pages, {name: pictures[name] for name in ("a.png", "b.png")})


def names(pages: Any) -> list[str]:
    return [page.url.split("/")[-1].removesuffix(".example") for page in pages]


def test_in_time() -> None:
    dated = [in_time(page("p", "t", days), DAY) for days in (-1, 0, 1)]
    assert dated == [True, False, False]
    assert in_time(page("p", "t", 5), None)
    undated = page("p", "t", None)
    assert not in_time(undated, DAY)
    assert in_time(undated, DAY, undated=True)


def test_pages(store: Store) -> None:
    search = StoreSearch(store)
    assert names(search.pages("Where is the boat?", DAY)) == ["origin"]
    assert search.pages("A plane?", DAY) == []
    undated = StoreSearch(store, undated=True)
    assert names(undated.pages("Where is the boat?", DAY)) == ["undated", "origin"]


def test_reverse_search(store: Store, pictures: dict[str, Path]) -> None:
    query = Query("When?", (pictures["copy.png"],), DAY)
    findings = find("RIS", query, StoreSearch(store))
    assert [passage.id for passage in findings.passages] == ["https://origin.example#1"]
    assert findings.late == ("https://same-day.example", "https://later.example")


def test_image_search(store: Store) -> None:
    query = Query("What does a fire look like?", day=DAY)
    picture = find("WSI", query, StoreSearch(store)).picture
    assert picture is not None
    assert (picture.name, picture.page.title) == ("b.png", "other")


def test_search_by_clip(clip: Any, store: Store, pictures: dict[str, Path]) -> None:
    search = StoreSearch(store, encoder=clip)
    results = search.pictures("Pisa fire, Rome boat", DAY)
    assert [picture.name for picture in results] == ["a.png", "b.png"]
    assert names(search.pages_with(pictures["copy.png"], DAY))[0] == "origin"
    assert names(search.pages_with(pictures["b.png"], DAY)) == ["other"]
    assert "two numbers" in search.name


def test_broken_file(store: Store, pictures: dict[str, Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    files = {"a.png": broken, "b.png": pictures["b.png"]}
    search = StoreSearch(Store(store.pages, files))
    assert search.pages_with(pictures["copy.png"], DAY) == []


def test_passages() -> None:
    text = " ".join(["The boat [IMG_1] sank again, they say."] * 2000)
    long = page("long", text, -1)
    found = find("WST", Query("Which boat?", day=DAY), StoreSearch(Store((long,))))
    assert len(found.passages) == 30
    assert max(len(passage.text.split()) for passage in found.passages) <= 128
    assert "(IMG_1)" in found.passages[0].text  # a page cannot name pictures by tokens
    assert "[IMG_1]" not in found.passages[0].text


PAGE = {"url": "https://a.example", "date": "2020-05-01", "text": "The boat sank."}
GOOD = {"pages": [PAGE | {"images": ["x.png"]}]}


def engine_of(endpoint: Any, folder: Path, **settings: Any) -> WebSearch:
    url = endpoint.url.replace("/v1", "/search")
    return WebSearch(url, folder, seconds=0.3, tries=2, **settings)


@pytest.mark.parametrize("failure", ["hang", 429, 500])
def test_web_retries(endpoint: Any, tmp_path: Path, failure: object) -> None:
    endpoint.script = [failure, GOOD]
    pages = engine_of(endpoint, tmp_path).pages("boat", DAY)
    assert names(pages) == ["a"]
    body = {"kind": "pages", "query": "boat", "before": "2020-05-10", "image": None}
    assert endpoint.asked[0] == body


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (500, "status 500"),
        ("html", "no JSON"),
        ({"pages": "none"}, "answer, pages: expected a list"),
        ({"images": {"a": "abc"}}, "answer, images, a: expected"),
    ],
)
def test_web_errors(
    endpoint: Any, tmp_path: Path, answer: object, message: str
) -> None:
    endpoint.always = answer
    with pytest.raises(SearchError, match=message):
        engine_of(endpoint, tmp_path).pages("boat", DAY)


def test_web_dates(endpoint: Any, tmp_path: Path) -> None:
    late = {"url": "https://late.example", "date": "2020-05-10", "text": "Boat: false."}
    undated = {"url": "https://undated.example", "text": "A boat."}
    endpoint.script = [{"pages": [*GOOD["pages"], late, undated]}]
    found = find("WST", Query("boat", day=DAY), engine_of(endpoint, tmp_path))
    assert [passage.url for passage in found.passages] == ["https://a.example"]
    assert found.late == ("https://late.example",)


def test_web_pictures(
    endpoint: Any,
    tmp_path: Path,
    pictures: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_ENGINE_KEY", "s3cret")
    content = pictures["a.png"].read_bytes()
    images = {"../../x.png": base64.b64encode(content).decode()}
    endpoint.script = [GOOD | {"images": images}, GOOD]
    search = engine_of(endpoint, tmp_path / "found", key_variable="MY_ENGINE_KEY")
    [picture] = search.pictures("boat", DAY)
    assert picture.path.parent == tmp_path / "found"
    assert picture.path.read_bytes() == content
    search.pages_with(pictures["a.png"], DAY)
    assert base64.b64decode(str(endpoint.asked[1]["image"])) == content
    assert endpoint.keys == ["Bearer s3cret"] * 2
    assert "s3cret" not in repr(search) + search.name


def test_web_options(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="http:// or https://"):
        WebSearch("file:///etc", tmp_path)
    with pytest.raises(ParameterError, match="NO_SUCH_KEY is empty"):
        WebSearch("http://localhost", tmp_path, "NO_SUCH_KEY")
