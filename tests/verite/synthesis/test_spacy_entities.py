"""Entities from a pipeline of spaCy, made here so that no model is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verite.errors import DataError, VeriteError
from verite.synthesis import MAKERS
from verite.synthesis.entities import read
from verite.synthesis.spacy_entities import spacy_entities


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    spacy = pytest.importorskip("spacy")

    def saved(**names: list[str]) -> str:
        folder = tmp_path_factory.mktemp("model")
        pipeline = spacy.blank("en")
        ruler = pipeline.add_pipe("entity_ruler")
        ruler.add_patterns(
            [
                {"label": kind, "pattern": name}
                for kind, listed in names.items()
                for name in listed
            ]
        )
        pipeline.to_disk(folder)
        return str(folder)

    return saved


def test_a_caption_gives_the_entities_of_the_model(model: Callable[..., str]) -> None:
    source = spacy_entities(model(PERSON=["Ada Lux"], GPE=["Arland"]))
    assert source("In Arland, Ada Lux waits.") == [
        ("Arland", "GPE"),
        ("Ada Lux", "PERSON"),
    ]
    assert source("Nobody waits.") == []


def test_many_captions_give_what_each_gives_alone(model: Callable[..., str]) -> None:
    source = spacy_entities(model(PERSON=["Ada Lux"], GPE=["Arland"]))
    captions = ["In Arland.", "Nobody.", "Ada Lux in Arland."] * 200
    assert list(source.many(captions)) == [source(caption) for caption in captions]


def test_all_captions_of_a_table_are_read_in_one_pass(
    model: Callable[..., str], toy: Callable[..., Any], monkeypatch: Any
) -> None:
    source = spacy_entities(model(PERSON=["Ada Lux"]))
    monkeypatch.setattr(type(source), "__call__", None)
    pairs = toy(count=20).pairs
    found = read(pairs, source)
    assert [bool(one) for one in found] == pairs["caption"].str.contains(
        "Ada Lux"
    ).tolist()
    assert sum(map(bool, found)) > 0


def test_a_swap_takes_its_entities_from_the_model(
    model: Callable[..., str], toy: Callable[..., Any]
) -> None:
    from_column = toy().make("R-NESt")
    source = spacy_entities(
        model(
            PERSON=["Ada Lux", "Bo Marr", "Cy Tolle", "Dee Brandt", "Edo Fenn"],
            GPE=["Arland", "Borvia", "Cestria", "Dunmark"],
        )
    )
    pairs = toy().pairs.drop(columns="entities")
    from_model = MAKERS["R-NESt"](
        pairs, None, None, rng=np.random.default_rng(0), entities=source
    )
    assert from_model["caption"].tolist() == from_column["caption"].tolist()


def test_a_type_that_is_not_of_ontonotes_is_refused(
    model: Callable[..., str], toy: Callable[..., Any]
) -> None:
    with pytest.raises(
        DataError, match=r"pair_id p\d+: unknown type of entity: PER\. Known: PERSON"
    ):
        read(toy().pairs, spacy_entities(model(PER=["Ada Lux"])))


def test_a_model_that_is_not_installed_is_an_error_that_says_how_to_get_one() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(
        VeriteError, match=r"no_such_model.*python -m spacy download en_core_web_sm"
    ):
        spacy_entities("no_such_model")


def test_a_folder_without_a_model_is_an_error_that_names_it(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(VeriteError, match=str(tmp_path)):
        spacy_entities(str(tmp_path))


def test_without_spacy_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(
        VeriteError,
        match=(
            r"spaCy is not installed\. Install it with: pip install 'verite\[spacy\]'"
        ),
    ):
        spacy_entities()
