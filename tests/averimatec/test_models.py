"""Endpoints that fail, keys that stay secret, replies that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from averimatec import CachedModel, EndpointModel, ModelError, ScriptedModel
from averimatec.models import PairedModel, open_model, parts
from verite.errors import MissingDataError, ParameterError


def model(endpoint: Any, tries: int = 2, **settings) -> EndpointModel:
    return EndpointModel(endpoint.url, "small", seconds=0.3, tries=tries, **settings)


def test_reply(endpoint: Any) -> None:
    endpoint.script = ["yes"]
    reply = model(endpoint, prices=(1.0, 10.0)).complete("Is it?")
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("yes", 100, 10)
    assert reply.cost == pytest.approx((100 * 1 + 10 * 10) / 1e6)
    assert endpoint.asked[0]["messages"] == [{"role": "user", "content": "Is it?"}]
    endpoint.script = ["half \ud83d of it"]  # half a character
    assert model(endpoint).complete("What?").text == "half ? of it"


@pytest.mark.parametrize("failure", ["hang", "cut", 429, 500, 503, 408])
def test_retried(endpoint: Any, failure: object) -> None:
    endpoint.script = [failure, "yes"]
    assert model(endpoint).complete("Is it?").text == "yes"
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    ("failure", "message", "requests"),
    [
        ("hang", "no answer in 2 tries of 0.3 s", 2),
        ("cut", "no connection after 2 tries", 2),
        (500, "500", 2),
        (401, "401.*Check address, model and key", 1),
        ("html", "no chat completion", 1),
        ("null", "no chat completion", 1),
        ("elsewhere", "307", 1),  # a redirect is not followed
    ],
)
def test_error(endpoint: Any, failure: object, message: str, requests: int) -> None:
    endpoint.always = failure
    with pytest.raises(ModelError, match=message):
        model(endpoint).complete("Is it?")
    assert len(endpoint.asked) == requests


def test_key_is_secret(
    endpoint: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", "sesame-1234")
    small = model(endpoint, key_variable="MY_KEY")
    CachedModel(tmp_path, small).complete("Is it?")
    assert endpoint.keys == ["Bearer sesame-1234"]
    files = "".join(path.read_text() for path in tmp_path.iterdir())
    assert "sesame" not in files + repr(small) + small.name
    endpoint.always = 403  # this server repeats the header
    with pytest.raises(ModelError) as caught:
        small.complete("Is it?")
    assert "sesame" not in str(caught.value)
    endpoint.always = "yes"
    monkeypatch.setenv("OPENAI_API_KEY", "sesame-5678")  # of another endpoint
    model(endpoint).complete("Is it?")
    assert "sesame" not in str(endpoint.keys[-1])


def test_checked_before_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(ParameterError, match="variable MY_KEY is empty"):
        EndpointModel("http://127.0.0.1:9/v1", "small", "MY_KEY")
    with pytest.raises(ParameterError, match="http:// or https://"):
        EndpointModel("file:///etc/passwd", "small")


def test_images_in_prompt(endpoint: Any, pictures: dict[str, Path]) -> None:
    endpoint.always = "yes"
    images = [pictures["a.png"], pictures["copy.png"]]
    model(endpoint).complete("Is <image 2> a copy of <image 1>?", images)
    content = endpoint.asked[0]["messages"][0]["content"]
    kinds = [part["type"] for part in content]
    assert kinds == ["text", "image_url", "text", "image_url", "text"]
    assert content[1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_parts() -> None:
    assert parts("Look.", [Path("a.png")]) == ["Look.", Path("a.png")]
    with pytest.raises(ParameterError, match="names image 2, and 1 were given"):
        parts("<image 2>", [Path("a.png")])


def test_paired_models(pictures: dict[str, Path]) -> None:
    text, seeing = (
        ScriptedModel(lambda prompt, images, name=name: name, name) for name in "ab"
    )
    pair = PairedModel(text, seeing)
    assert pair.complete("?").text == "a"
    assert pair.complete("?", [pictures["a.png"]]).text == "b"
    assert pair.name == "a; with images: b"


def test_cache(tmp_path: Path, pictures: dict[str, Path]) -> None:
    asked: list[str] = []

    def script(prompt: str, images: object) -> str:
        asked.append(prompt)
        return f"reply to {prompt}"

    for _ in range(2):
        replies = CachedModel(tmp_path / "replies", ScriptedModel(script))
        for prompt in ("a", "b", "a"):
            assert replies.complete(prompt).text == f"reply to {prompt}"
    assert asked == ["a", "b"]
    twin = tmp_path / "twin.png"
    twin.write_bytes(pictures["a.png"].read_bytes())
    for path in (pictures["a.png"], twin, pictures["b.png"]):
        replies.complete("?", [path])
    assert asked == ["a", "b", "?", "?"]  # images are known by their content
    alone = CachedModel(tmp_path / "replies")
    assert alone.complete("a").cached
    with pytest.raises(ModelError, match="no reply to this prompt: 'c'"):
        alone.complete("c")
    with pytest.raises(ParameterError, match="has replies of scripted"):
        CachedModel(tmp_path / "replies", ScriptedModel(script, "other"))
    with pytest.raises(MissingDataError, match="no folder of cached replies"):
        CachedModel(tmp_path / "none")


@pytest.mark.parametrize(
    ("kind", "message"), [("oracle", "unknown model"), ("endpoint", "model's name and")]
)
def test_open_model(tmp_path: Path, kind: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        open_model(kind, None, tmp_path)
