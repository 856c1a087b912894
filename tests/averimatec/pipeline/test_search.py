from __future__ import annotations

import base64
import contextlib
import datetime
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from averimatec import Page, Store
from averimatec.pipeline import SearchError, StoreSearch, WebSearch, find
from averimatec.pipeline.search import in_time
from verite.embeddings import Embeddings
from verite.errors import ParameterError

DAY = datetime.date(2020, 5, 10)


def page(name: str, text: str, days: int | None, *images: str) -> Page:
    return Page(
        f"https://{name}.example",
        text,
        name,
        None if days is None else DAY + datetime.timedelta(days),
        images,
    )


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


def urls(found: Any) -> list[str]:
    return [
        each.url.removeprefix("https://").removesuffix(".example") for each in found
    ]


def test_pages_of_the_claims_day_and_later_are_too_late() -> None:
    assert [in_time(page("p", "t", days), DAY) for days in (-1, 0, 1)] == [
        True,
        False,
        False,
    ]
    assert (
        in_time(page("p", "t", 5), None),
        in_time(page("p", "t", None), DAY),
        in_time(page("p", "t", None), DAY, undated=True),
    ) == (
        True,
        False,
        True,
    )


def test_text_search_gives_pages_in_time_that_share_words(store: Store) -> None:
    assert urls(StoreSearch(store).pages("Where is the boat?", DAY)) == ["origin"]
    assert urls(StoreSearch(store, undated=True).pages("Where is the boat?", DAY)) == [
        "undated",
        "origin",
    ]
    assert urls(StoreSearch(store).pages("A plane?", DAY)) == []


def test_reverse_search_finds_a_resized_copy_and_drops_pages_that_came_later(
    store: Store, pictures: dict[str, Path]
) -> None:
    found = find("RIS", "When?", [pictures["copy.png"]], StoreSearch(store), DAY)
    assert [passage.id for passage in found.passages] == ["https://origin.example#1"]
    assert urls(SimpleNamespace(url=url) for url in found.late) == ["same-day", "later"]


def test_image_search_without_an_encoder_goes_by_the_pages_words(store: Store) -> None:
    found = find("WSI", "What does a fire look like?", (), StoreSearch(store), DAY)
    assert found.picture is not None
    assert (found.picture.name, found.picture.page.title) == ("b.png", "other")


class FakeClip:
    """Knows two pictures and every text by two numbers.

    How much of a fire there is, and how much of a boat.
    """

    identity = "two numbers"

    def encode_texts(
        self, texts: dict[str, str], *, normalise: bool
    ) -> SimpleNamespace:
        return self._made({key: [0.6, 0.8] for key in texts})

    def encode_images(
        self, sources: dict[str, Path], *, normalise: bool
    ) -> SimpleNamespace:
        return self._made(
            {
                key: [1.0, 0.0] if Path(path).name == "b.png" else [0.0, 1.0]
                for key, path in sources.items()
            }
        )

    def _made(self, rows: dict[str, list[float]]) -> SimpleNamespace:
        return SimpleNamespace(
            embeddings=Embeddings(
                rows,
                np.array(list(rows.values()), dtype=np.float32),
                encoder=self.identity,
            )
        )


def test_image_search_with_an_encoder_takes_the_picture_that_is_most_like_the_words(
    store: Store,
) -> None:
    search = StoreSearch(store, encoder=FakeClip())  # type: ignore[arg-type]
    words = "Pisa fire, Rome boat"
    assert [picture.name for picture in search.pictures(words, DAY)] == [
        "a.png",
        "b.png",
    ]
    assert "two numbers" in search.name


def test_reverse_search_with_an_encoder_goes_by_likeness(
    store: Store, pictures: dict[str, Path]
) -> None:
    search = StoreSearch(store, encoder=FakeClip())  # type: ignore[arg-type]
    assert urls(search.pages_with(pictures["copy.png"], DAY))[0] == "origin"
    assert urls(search.pages_with(pictures["b.png"], DAY)) == ["other"]


def test_a_file_of_the_store_that_is_no_picture_is_nobodys_copy(
    store: Store, pictures: dict[str, Path], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    search = StoreSearch(
        Store(store.pages, {"a.png": broken, "b.png": pictures["b.png"]})
    )
    assert urls(search.pages_with(pictures["copy.png"], DAY)) == []


def test_no_more_than_thirty_chunks_of_128_words_are_kept() -> None:
    long = Page(
        "https://long.example",
        " ".join(["The boat sank again and again, they say."] * 2000),
        date=DAY - datetime.timedelta(1),
    )
    found = find("WST", "Which boat sank?", (), StoreSearch(Store((long,))), DAY)
    assert len(found.passages) == 30
    assert max(len(passage.text.split()) for passage in found.passages) <= 128


def test_a_page_cannot_name_pictures_by_tokens() -> None:
    sly = Page(
        "https://sly.example",
        "The boat [IMG_1] sank.",
        date=DAY - datetime.timedelta(1),
    )
    [passage] = find("WST", "Which boat?", (), StoreSearch(Store((sly,))), DAY).passages
    assert passage.text == "The boat (IMG_1) sank."


@pytest.fixture
def engine() -> Iterator[SimpleNamespace]:
    """A search engine on localhost that replies as told."""
    state = SimpleNamespace(script=[], asked=[], keys=[], url="")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.asked.append(
                json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            )
            state.keys.append(self.headers["Authorization"])
            what = state.script.pop(0)
            if what == "hang":
                time.sleep(0.6)
                what = 500
            body = (what if isinstance(what, str) else json.dumps(what)).encode()
            self.send_response(what if isinstance(what, int) else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(BrokenPipeError):  # whoever asked has gone
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}/search"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


GOOD = {
    "pages": [
        {
            "url": "https://a.example",
            "date": "2020-05-01",
            "title": "A",
            "text": "The boat sank.",
            "images": ["x.png"],
        }
    ]
}


def test_a_web_engine_that_fails_is_asked_again(
    engine: SimpleNamespace, tmp_path: Path
) -> None:
    waits: list[float] = []
    engine.script = [429, 500, "<html>", '{"pages": [', {"pages": "none"}, "hang", GOOD]
    search = WebSearch(
        engine.url, tmp_path, seconds=0.3, tries=7, wait=1, sleep=waits.append
    )
    assert [each.url for each in search.pages("boat", DAY)] == ["https://a.example"]
    assert waits == [1, 2, 4, 8, 16, 32]
    assert engine.asked[0] == {
        "kind": "pages",
        "query": "boat",
        "before": "2020-05-10",
        "image": None,
    }


def test_a_web_engine_that_goes_on_failing_is_an_error_that_says_why(
    engine: SimpleNamespace, tmp_path: Path
) -> None:
    engine.script = [500, "<html>"]
    with pytest.raises(
        SearchError,
        match=(
            "no result after 2 tries; the last one failed with: an answer that is no"
            " JSON"
        ),
    ):
        WebSearch(engine.url, tmp_path, tries=2, sleep=lambda _: None).pages(
            "boat", DAY
        )


def test_pages_of_a_web_engine_are_filtered_by_date_as_well(
    engine: SimpleNamespace, tmp_path: Path
) -> None:
    late = {
        "url": "https://late.example",
        "date": "2020-05-10",
        "text": "The boat: false.",
    }
    engine.script = [
        {
            "pages": [
                *GOOD["pages"],
                late,
                {"url": "https://undated.example", "text": "A boat."},
            ]
        }
    ]
    found = find("WST", "boat", (), WebSearch(engine.url, tmp_path), DAY)
    assert [passage.url for passage in found.passages] == ["https://a.example"]
    assert found.late == ("https://late.example",)


def test_pictures_of_a_web_engine_are_kept_by_their_content(
    engine: SimpleNamespace, tmp_path: Path, pictures: dict[str, Path]
) -> None:
    content = pictures["a.png"].read_bytes()
    engine.script = [
        GOOD | {"images": {"../../x.png": base64.b64encode(content).decode()}}
    ]
    [picture] = WebSearch(engine.url, tmp_path / "found").pictures("boat", DAY)
    assert picture.path.parent == tmp_path / "found"
    assert picture.path.read_bytes() == content


def test_a_claims_picture_is_sent_for_reverse_search_and_the_key_is_named_only(
    engine: SimpleNamespace,
    tmp_path: Path,
    pictures: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_ENGINE_KEY", "s3cret")
    engine.script = [GOOD]
    search = WebSearch(engine.url, tmp_path, "MY_ENGINE_KEY")
    search.pages_with(pictures["a.png"], DAY)
    assert base64.b64decode(engine.asked[0]["image"]) == pictures["a.png"].read_bytes()
    assert engine.keys == ["Bearer s3cret"]
    assert "s3cret" not in repr(search) + search.name


def test_a_web_engine_needs_an_http_address_and_its_key(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="starts with http"):
        WebSearch("file:///etc", tmp_path)
    with pytest.raises(ParameterError, match="NO_SUCH_KEY is empty"):
        WebSearch("http://localhost", tmp_path, "NO_SUCH_KEY")
