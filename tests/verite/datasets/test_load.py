from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from verite import datasets
from verite.datasets.registry import FILES
from verite.errors import MissingDataError, ParameterError

ON_DISK = tuple(name for name in datasets.names() if name != "newsroom")


def test_an_unknown_data_set_is_an_error_that_lists_those_there_are() -> None:
    known = (
        "verite, vmu-twitter, cosmos, fakeddit, visualnews, newsclippings, meir,"
        " newsroom"
    )
    with pytest.raises(ParameterError, match=rf"'VERITE'.*There are: {known}"):
        datasets.load("VERITE")


def test_an_unknown_option_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(
        ParameterError,
        match=(
            r"vmu-twitter has no option 'images'. It has: with_images, protocol, seed"
        ),
    ):
        datasets.load("vmu-twitter", images="all")


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
def test_an_unknown_value_is_an_error_that_names_option_and_value(
    name: str, option: str, value: object
) -> None:
    with pytest.raises(
        ParameterError, match=rf"{option}: expected .* found '?{value}'?"
    ):
        datasets.load(name, **{option: value})


@pytest.mark.parametrize("name", ON_DISK)
def test_data_that_are_not_there_are_an_error_that_says_how_to_get_them(
    name: str, data_home: Path
) -> None:
    assert not datasets.available(name)
    with pytest.raises(MissingDataError) as caught:
        datasets.load(name)
    message = str(caught.value)
    assert str(data_home) in message
    assert (
        f"verite data fetch {name}" in message
        or datasets.card(name).not_public in message
    )


@pytest.mark.parametrize("name", ON_DISK)
def test_every_file_that_a_loader_needs_is_in_the_registry(name: str) -> None:
    module = importlib.import_module(f"verite.datasets.{name.replace('-', '_')}")
    assert set(module.needs()) <= {file.path for file in FILES[name]}
    assert list(inspect.signature(module.needs).parameters) == list(
        inspect.signature(module.load).parameters
    )


@pytest.mark.parametrize("name", ON_DISK)
def test_a_card_tells_source_licence_citation_and_what_is_not_public(name: str) -> None:
    card = datasets.card(name)
    assert card.name == name
    assert card.source.startswith("https://")
    assert all(
        [card.title, card.licence, card.citation, card.expected, card.not_public]
    )
    assert not card.synthetic


def test_the_newsroom_is_made_without_any_file(data_home: Path) -> None:
    pytest.importorskip("verite.newsroom")
    assert datasets.available("newsroom")
    dataset = datasets.load("newsroom", events=5, seed=1)
    assert dataset.card.synthetic
    assert datasets.card("newsroom").synthetic
    assert len(dataset.pairs) > 0


def test_the_data_folder_is_the_variables_or_the_users_cache(
    data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert datasets.home() == data_home
    monkeypatch.setenv("VERITE_DATA", "")
    assert datasets.home().name == "verite"
    assert datasets.home() != data_home


def test_naming_data_sets_loads_no_loader_and_nothing_heavy() -> None:
    code = (
        "import sys; from verite import datasets; datasets.names();print([m for m in"
        " sys.modules if m in ('torch', 'open_clip', 'matplotlib', 'pooch', 'requests')"
        " or m.startswith('verite.datasets.') and m.endswith(('verite', 'twitter',"
        " 'cosmos', 'fakeddit', 'news', 'clippings', 'meir', 'newsroom'))])"
    )
    root = Path(datasets.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_options_are_parsed_as_the_data_sets_own_defaults_are() -> None:
    assert datasets.parse_options("vmu-twitter", {"seed": "3"}) == {"seed": 3}
    assert datasets.parse_options("meir", {"reference": "False"}) == {
        "reference": False
    }


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "vmu-twitter",
            {"seed": "many"},
            "seed: expected a whole number, found 'many'",
        ),
        (
            "meir",
            {"reference": "maybe"},
            "reference: expected true or false, found 'maybe'",
        ),
        ("cosmos", {"captions": "caption2"}, "cosmos has no option 'captions'"),
    ],
)
def test_an_option_that_does_not_parse_is_named(
    name: str, given: dict[str, str], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        datasets.parse_options(name, given)
