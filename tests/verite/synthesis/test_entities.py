"""Entities are found, told apart and replaced as a careful reader would."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verite.errors import DataError, VeriteError
from verite.synthesis.entities import Entity, find, plain, read, replace, same_entity
from verite.synthesis.spacy_entities import spacy_entities


def swap(
    caption: str, old: str, new: str, kind: str = "GPE", *others: tuple[str, str]
) -> str:
    entities = find(caption, [(old, kind), *others])
    [entity] = [e for e in entities if plain(e.name) == plain(old)]
    return replace(caption, {entity: new})


@pytest.mark.parametrize(
    ("caption", "old", "new", "expected"),
    [
        (
            "Arland's coast, and Arland.",
            "Arland",
            "Borvia",
            "Borvia's coast, and Borvia.",
        ),
        ("Arland’s coast", "Arland's", "Borvia", "Borvia’s coast"),
        ("The Marrs' boat", "Marrs", "Lux", "The Lux' boat"),
        ("ARLAND FLOODS; Arland", "Arland", "Borvia", "BORVIA FLOODS; Borvia"),
        ("ARLAND'S COAST", "ARLAND", "Borvia", "BORVIA'S COAST"),
        ("Members of NATO meet", "NATO", "Interpol", "Members of Interpol meet"),
        ("Arlander New-Arland", "Arland", "Borvia", "Arlander New-Borvia"),
        ("Jose\u0301 met Jose", "Jose", "Ada", "Jose\u0301 met Ada"),
        ("O'Arland is in Arland", "Arland", "Borvia", "O'Arland is in Borvia"),
        ("Don says: Don't", "Don", "Ada", "Ada says: Don't"),
    ],
)
def test_whole_words_with_capitals_and_possessives(
    caption: str, old: str, new: str, expected: str
) -> None:
    assert swap(caption, old, new) == expected


@pytest.mark.parametrize(
    ("caption", "old", "new", "expected"),
    [
        ("Five boats, five men", "five", "three", "Three boats, three men"),
        ("five men", "five", "Three", "three men"),
        ("5 men paid 5,000 or 2.5 each", "5", "7", "7 men paid 5,000 or 2.5 each"),
        ("No one knows. One left.", "One", "six", "No one knows. Six left."),
    ],
)
def test_numbers(caption: str, old: str, new: str, expected: str) -> None:
    assert swap(caption, old, new, "CARDINAL") == expected


def test_a_longer_name_is_no_mention_of_a_place_within_it() -> None:
    caption, other = "Arland Times reports from Arland", ("Arland Times", "ORG")
    text = swap(caption, "Arland", "Borvia", "GPE", other)
    assert text == "Arland Times reports from Borvia"


def test_a_short_name_is_replaced_with_the_full_one() -> None:
    caption = "Ada Lux came; Lux's friends left Lux."
    [entity] = find(caption, [("Lux", "PERSON"), ("Ada Lux", "PERSON")])
    text = replace(caption, {entity: "Bo Marr"})
    assert text == "Bo Marr came; Bo Marr's friends left Bo Marr."


def test_a_short_name_that_two_people_share_is_neither() -> None:
    names = ["Lux", "Ada Lux", "Bo Lux"]
    entities = find("Ada Lux, Bo Lux and Lux", [(name, "PERSON") for name in names])
    assert sorted(entity.name for entity in entities) == ["Ada Lux", "Bo Lux", "Lux"]


def test_two_replacements_do_not_touch_each_other() -> None:
    caption = "From Arland to Borvia"
    first, second = find(caption, [("Arland", "GPE"), ("Borvia", "GPE")])
    text = replace(caption, {first: "Borvia", second: "Arland"})
    assert text == "From Borvia to Arland"


def test_only_what_a_caption_mentions_is_an_entity() -> None:
    assert find("Nobody came.", [("Ada", "PERSON"), ("...", "ORG")]) == []
    expected = Entity("Ada", "PERSON", ("Ada",), ((0, 3),))
    assert find("Ada came.", [("Ada", "PERSON")]) == [expected]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("arland", "ARLAND", True),
        ("the Arland", "Arland", True),
        ("Côte d’Or", "Cote d'Or", True),
        ("Jean-Luc", "Jean Luc", True),
        ("Arland's", "Arland", True),
        ("Ada Lux", "Lux", True),
        ("e-mail", "email", True),
        ("May 2014", "May 2015", False),
        ("Ada Lux", "Bo Lux", False),
        ("five", "six", False),
    ],
)
def test_spellings_of_one_name(one: str, other: str, same: bool) -> None:
    assert same_entity(one, other) == same_entity(other, one) == same


RESPELL = [str.upper, str.title, "the {}".format, "{}.".format, "{}'s".format]


@given(st.text(max_size=12), st.sampled_from(RESPELL))
@settings(max_examples=200, deadline=None)
def test_respelling_keeps_a_name_the_same(
    name: str, respell: Callable[[str], str]
) -> None:
    latin = re.sub("[^a-z ]", "", name.lower()).strip() or "lux"
    assert same_entity(latin, respell(latin))


WORDS = "boats|Arland|Borvia|Ada|ADA|five|Five|Arland's|New Arland|day.|(Borvia)|x-Ada"
KNOWN = [
    ("Arland", "GPE"),
    ("Borvia", "GPE"),
    ("Ada", "PERSON"),
    ("five", "CARDINAL"),
    ("New Arland", "LOC"),
]


@given(
    st.lists(st.sampled_from(WORDS.split("|")), min_size=1, max_size=12).map(" ".join),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_text_outside_of_mentions_never_changes(
    caption: str, data: st.DataObject
) -> None:
    entities = find(caption, KNOWN)
    some = st.lists(st.sampled_from(entities), unique=True) if entities else st.just([])
    chosen = data.draw(some)
    text = replace(caption, dict.fromkeys(chosen, "qqq"))
    outside, end = [], 0
    for left, right in sorted(span for entity in chosen for span in entity.spans):
        outside.append(caption[end:left])
        end = right
    assert re.split("qqq", text, flags=re.IGNORECASE) == [*outside, caption[end:]]
    for entity in entities:
        names = {name.casefold() for name in entity.names}
        assert all(caption[a:b].casefold() in names for a, b in entity.spans)


@pytest.mark.parametrize(
    "cell", ["no json", '["Ada"]', "[[1, 2]]", "3", '{"a": 1}', '[["Ada", "HUMAN"]]']
)
def test_unusable_lists_are_named_by_their_pair(
    toy: Callable[..., Any], cell: str
) -> None:
    pairs = toy(count=5).pairs.assign(entities=cell)
    message = (
        r"pair_id p000: (expected entities as a JSON|unknown type of entity: HUMAN)"
    )
    with pytest.raises(DataError, match=message):
        read(pairs)


# --- spaCy


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    spacy = pytest.importorskip("spacy")

    def save(**names: list[str]) -> str:
        folder = tmp_path_factory.mktemp("model")
        pipeline = spacy.blank("en")
        pipeline.add_pipe("entity_ruler").add_patterns(
            [{"label": kind, "pattern": n} for kind in names for n in names[kind]]
        )
        pipeline.to_disk(folder)
        return str(folder)

    return save


def test_captions_have_the_entities_of_the_model(model: Callable[..., str]) -> None:
    source = spacy_entities(model(PERSON=["Ada Lux"], GPE=["Arland"]))
    both = [("Arland", "GPE"), ("Ada Lux", "PERSON")]
    assert source("In Arland, Ada Lux waits.") == both
    captions = ["In Arland.", "Nobody.", "Ada Lux in Arland."] * 200
    assert list(source.many(captions)) == [source(caption) for caption in captions]


def test_all_captions_of_a_table_are_read_in_one_pass(
    model: Callable[..., str], toy: Callable[..., Any], monkeypatch: Any
) -> None:
    source = spacy_entities(model(PERSON=["Ada Lux"]))
    monkeypatch.setattr(type(source), "__call__", None)
    pairs = toy(count=20).pairs
    mentions = [bool(entities) for entities in read(pairs, source)]
    assert mentions == pairs["caption"].str.contains("Ada Lux").tolist()
    assert any(mentions)


def test_missing_models_and_spacy_itself_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(VeriteError, match=r"no_such_model.*python -m spacy download"):
        spacy_entities("no_such_model")
    with pytest.raises(VeriteError, match=str(tmp_path)):
        spacy_entities(str(tmp_path))
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(VeriteError, match=r"pip install 'verite\[spacy\]'"):
        spacy_entities()
