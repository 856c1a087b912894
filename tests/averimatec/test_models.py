from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

from averimatec import (
    CachedModel,
    EndpointModel,
    HuggingFaceModel,
    ModelError,
    ScriptedModel,
    open_model,
)
from averimatec.models import parts
from verite.errors import DataError, MissingDataError, ParameterError


def model(endpoint, **settings) -> EndpointModel:  # type: ignore[no-untyped-def]
    waits: list[float] = []
    made = EndpointModel(
        endpoint.url, "small", seconds=0.3, wait=0.01, sleep=waits.append, **settings
    )
    object.__setattr__(made, "waits", waits)
    return made


def test_a_reply_comes_with_its_tokens_and_its_cost(endpoint) -> None:  # type: ignore[no-untyped-def]
    endpoint.script = ["yes"]
    reply = model(endpoint, prices=(1.0, 10.0)).complete("Is it?")
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("yes", 100, 10)
    assert reply.cost == pytest.approx((100 * 1 + 10 * 10) / 1e6)
    assert endpoint.asked[0]["messages"] == [{"role": "user", "content": "Is it?"}]


@pytest.mark.parametrize(
    "trouble", ["hang", "trickle", "html", "half", "refusal", 429, 500, 503, 408]
)
def test_what_may_pass_is_asked_again(endpoint, trouble: object) -> None:  # type: ignore[no-untyped-def]
    endpoint.script = [trouble, "yes"]
    asked = model(endpoint)
    assert asked.complete("Is it?").text == "yes"
    assert len(endpoint.asked) == 2


def test_waiting_doubles_and_obeys_the_server(endpoint) -> None:  # type: ignore[no-untyped-def]
    endpoint.script = [500, 500, 429, 500, "yes"]
    asked = model(endpoint)
    asked.complete("Is it?")
    assert asked.waits == [0.01, 0.02, 7.0, 0.08]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("hang", "no answer in time"),
        ("trickle", "or 0.3 seconds"),
        ("html", "Please log in"),
        (500, "status 500"),
        ("half", "choices"),
    ],
)
def test_what_does_not_pass_is_an_error_that_says_why(
    endpoint, trouble: object, said: str
) -> None:  # type: ignore[no-untyped-def]
    endpoint.always = trouble
    with pytest.raises(ModelError, match=f"no reply after 2 tries.*{said}"):
        model(endpoint, tries=2).complete("Is it?")


def test_what_cannot_pass_is_asked_once(endpoint) -> None:  # type: ignore[no-untyped-def]
    endpoint.always = 401
    with pytest.raises(ModelError, match="status 401.*Check address, model and key"):
        model(endpoint).complete("Is it?")
    assert len(endpoint.asked) == 1


def test_an_endpoint_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ModelError, match="no connection"):
        EndpointModel(
            "http://127.0.0.1:9/v1", "small", tries=2, wait=0, sleep=lambda _: None
        ).complete("Is it?")


def test_the_key_is_sent_and_shown_nowhere(
    endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("MY_KEY", "sesame-1234")
    asked = model(endpoint, key_variable="MY_KEY")
    CachedModel(tmp_path / "replies.jsonl", asked).complete("Is it?")
    assert endpoint.keys == ["Bearer sesame-1234"]
    assert (
        "sesame"
        not in (tmp_path / "replies.jsonl").read_text() + repr(asked) + asked.name
    )
    endpoint.always = 403  # this server repeats the header
    with pytest.raises(ModelError) as caught:
        asked.complete("Is it?")
    assert "sesame" not in str(caught.value)


def test_a_redirect_is_not_followed(endpoint) -> None:  # type: ignore[no-untyped-def]
    endpoint.always = "elsewhere"
    with pytest.raises(ModelError, match="status 307"):
        model(endpoint).complete("Is it?")


def test_a_key_that_is_not_set_is_an_error_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(
        ParameterError, match="the environment variable MY_KEY is empty"
    ):
        EndpointModel("http://127.0.0.1:9/v1", "small", "MY_KEY")
    with pytest.raises(ParameterError, match="http:// or https://"):
        EndpointModel("file:///etc/passwd", "small")


def test_images_stand_where_the_prompt_says(
    endpoint, pictures: dict[str, Path]
) -> None:  # type: ignore[no-untyped-def]
    endpoint.always = "yes"
    model(endpoint).complete(
        "Is <image 2> a copy of <image 1>?", [pictures["a.png"], pictures["copy.png"]]
    )
    content = endpoint.asked[0]["messages"][0]["content"]
    assert [part["type"] for part in content] == [
        "text",
        "image_url",
        "text",
        "image_url",
        "text",
    ]
    assert content[1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_images_without_a_place_follow_and_places_without_an_image_are_an_error() -> (
    None
):
    assert parts("Look.", [Path("a.png")]) == ["Look.", Path("a.png")]
    with pytest.raises(ParameterError, match="names image 2, and 1 were given"):
        parts("<image 2>", [Path("a.png")])


def test_a_cached_reply_is_not_asked_for_again(tmp_path: Path) -> None:
    asked: list[str] = []
    inner = ScriptedModel(
        lambda prompt, images: asked.append(prompt) or f"reply to {prompt}"
    )  # type: ignore[func-returns-value]
    for _ in range(2):
        replies = CachedModel(tmp_path / "replies.jsonl", inner)
        assert [replies.complete(prompt).text for prompt in ("a", "b", "a")] == [
            "reply to a",
            "reply to b",
            "reply to a",
        ]
    assert asked == ["a", "b"]


def test_an_image_is_known_by_its_content(
    tmp_path: Path, pictures: dict[str, Path]
) -> None:
    replies = CachedModel(
        tmp_path / "replies.jsonl", ScriptedModel(lambda prompt, images: images[0].name)
    )
    assert replies.complete("?", [pictures["a.png"]]).text == "a.png"
    twin = tmp_path / "twin.png"
    twin.write_bytes(pictures["a.png"].read_bytes())
    assert replies.complete("?", [twin]).text == "a.png"
    assert replies.complete("?", [pictures["b.png"]]).text == "b.png"


def test_a_line_that_a_killed_run_left_half_written_loses_no_other(
    tmp_path: Path,
) -> None:
    path = tmp_path / "replies.jsonl"
    inner = ScriptedModel(lambda prompt, images: prompt)
    CachedModel(path, inner).complete("a")
    with path.open("a") as stream:
        stream.write('{"key": "123", "te')
    replies = CachedModel(path, inner)
    assert replies.complete("a").cached
    replies.complete("b")
    assert CachedModel(path).complete("b").text == "b"


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"key": "1"}\n{}\n')
    with pytest.raises(DataError, match="line 1: expected a cached reply"):
        CachedModel(path)


def test_a_file_of_replies_alone_says_what_it_lacks(tmp_path: Path) -> None:
    CachedModel(
        tmp_path / "replies.jsonl", ScriptedModel(lambda prompt, images: "yes")
    ).complete("a")
    with pytest.raises(ModelError, match="has no reply to this prompt: 'b'"):
        CachedModel(tmp_path / "replies.jsonl").complete("b")
    with pytest.raises(MissingDataError, match="no such file of cached replies"):
        CachedModel(tmp_path / "none.jsonl")


def test_replies_of_another_model_are_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    for name in ("one", "two"):
        assert (
            not CachedModel(path, ScriptedModel(lambda prompt, images: "yes", name))
            .complete("a")
            .cached
        )
    with pytest.raises(DataError, match="holds replies of 2 models"):
        CachedModel(path)


def test_a_local_model_is_run_by_transformers(
    monkeypatch: pytest.MonkeyPatch, pictures: dict[str, Path]
) -> None:
    seen: list[object] = []

    def pipeline(task: str, **settings: object):  # type: ignore[no-untyped-def]
        seen.append((task, settings["model"]))
        if task == "text-generation":
            return lambda messages, **how: [
                {"generated_text": messages[0]["content"].upper()}
            ]
        return lambda text, generate_kwargs, **how: [
            {
                "generated_text": json.dumps(
                    [part["type"] for part in text[0]["content"]]
                )
            }
        ]

    monkeypatch.setitem(
        sys.modules, "transformers", types.SimpleNamespace(pipeline=pipeline)
    )
    reply = HuggingFaceModel("some/folder").complete(
        "Is <image 1> old?", [pictures["a.png"]]
    )
    assert json.loads(reply.text) == ["text", "image", "text"]
    assert HuggingFaceModel("some/folder", images=False).complete("yes").text == "YES"
    assert seen == [
        ("image-text-to-text", "some/folder"),
        ("text-generation", "some/folder"),
    ]


def test_a_model_that_sees_no_images_is_given_none(pictures: dict[str, Path]) -> None:
    with pytest.raises(ParameterError, match="sees no images, and the prompt has 1"):
        HuggingFaceModel("some/folder", images=False).complete(
            "Look.", [pictures["a.png"]]
        )


def test_without_transformers_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingDataError, match="needs the library transformers"):
        HuggingFaceModel("some/folder").complete("Is it?")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "oracle"}, "unknown kind of model"),
        ({"kind": "cached"}, "which file holds the cached replies"),
        ({"kind": "endpoint", "model": "small"}, "address of the endpoint"),
        ({"kind": "huggingface"}, "its folder"),
    ],
)
def test_a_model_that_is_not_named_whole_is_an_error(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        open_model(**options)  # type: ignore[arg-type]


def test_half_a_character_in_a_reply_is_kept_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    CachedModel(
        path, ScriptedModel(lambda prompt, images: "half \ud83d of it")
    ).complete("What?")
    assert CachedModel(path).complete("What?").text == "half \ud83d of it"
