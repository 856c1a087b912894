from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from verite import datasets
from verite.datasets.registry import cards
from verite.errors import MissingDataError, ParameterError

ON_DISK = tuple(name for name in datasets.names() if name != "newsroom")


def test_unknown_name() -> None:
    with pytest.raises(
        ParameterError, match=r"'VERITE'.*There are: cosmos, .*visualnews, vmu-twitter"
    ):
        datasets.load("VERITE")
    with pytest.raises(ParameterError, match=r"'VERITE'.*averimatec.*verite-evidence"):
        datasets.card("VERITE")


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("verite", "version", "first"),
        ("verite", "encoder", "ViT-L/14"),
        ("vmu-twitter", "with_images", "some"),
        ("vmu-twitter", "protocol", "Corrected"),
        ("vmu-twitter", "seed", -1),
        ("cosmos", "caption", "caption3"),
        ("fakeddit", "caption", "text"),
        ("newsclippings", "subset", "test"),
    ],
)
def test_unknown_value(name: str, option: str, value: object) -> None:
    message = rf"{option}: expected .* found '?{value}'?"
    with pytest.raises(ParameterError, match=message):
        datasets.load(name, **{option: value})


@pytest.mark.parametrize("name", ON_DISK)
def test_missing_files(name: str, data_home: Path) -> None:
    assert not datasets.available(name)
    with pytest.raises(MissingDataError) as caught:
        datasets.load(name)
    message = str(caught.value)
    assert str(data_home) in message
    hint = f"verite data fetch {name}"
    assert hint in message or datasets.card(name).not_public in message


@pytest.mark.parametrize("name", ON_DISK)
def test_files_and_options(name: str) -> None:
    module = importlib.import_module(f"verite.datasets.{name.replace('-', '_')}")
    assert set(module.needs()) <= {file.path for file in module.CARD.files}
    assert list(inspect.signature(module.needs).parameters) == list(
        inspect.signature(module.load).parameters
    )


@pytest.mark.parametrize("name", sorted(cards()))
def test_card(name: str) -> None:
    card = datasets.card(name)
    assert all([card.title, card.source, card.licence])
    if name == "newsroom":
        assert card.synthetic
        return
    assert card.source.startswith("https://")
    assert card.citation
    assert card.not_public
    assert bool(card.expected) == (name in ON_DISK)
    for file in card.files:
        assert bool(file.sha256) <= bool(file.url)
        assert bool(file.sha256) == bool(file.size)
        if file.url:
            path = file.url.removeprefix("https://raw.githubusercontent.com/")
            assert int(path.split("/")[2], 16) > 0  # a commit
            assert Path(file.path).name == Path(path).name


def test_newsroom(data_home: Path) -> None:
    assert datasets.available("newsroom")
    dataset = datasets.load("newsroom", events=5, seed=1, encoder=None)
    assert dataset.card.synthetic
    assert len(dataset.pairs) > 0


def test_parsed_options() -> None:
    assert datasets.parse_options("vmu-twitter", {"seed": "3"}) == {"seed": 3}
    parsed = datasets.parse_options("meir", {"reference": "False"})
    assert parsed == {"reference": False}


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("vmu-twitter", {"seed": "many"}, "seed: expected an integer, found 'many'"),
        ("meir", {"reference": "maybe"}, "reference: expected true or false"),
        ("cosmos", {"captions": "x"}, "no option 'captions'. It has: caption"),
    ],
)
def test_options_that_do_not_parse(
    name: str, words: dict[str, str], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        datasets.parse_options(name, words)
