"""Makers that swap entities change exactly those, for fitting ones of a donor."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verite import load
from verite.errors import DataError, ParameterError
from verite.pairs import MISCAPTIONED, TRUE
from verite.synthesis import MAKERS, made_share
from verite.synthesis.entities import same_entity

SWAPS = ("R-NESt", "CLIP-NESt", "MEIR")
each_maker = pytest.mark.parametrize("name", SWAPS)


@each_maker
@given(count=st.integers(25, 60), world=st.integers(0, 30), seed=st.integers(0, 3))
@settings(max_examples=15, deadline=None)
def test_swaps_change_exactly_the_entities_they_list(
    toy: Callable[..., Any], name: str, count: int, world: int, seed: int
) -> None:
    room = toy(count=count, seed=world)
    try:
        made = room.make(name, seed)
    except DataError as error:
        assert "no misleading pair" in str(error)  # noqa: PT017 - right in tiny worlds
        return
    pairs = room.pairs
    known = {tuple(e) for cell in pairs["entities"] for e in json.loads(cell)}
    donors = pairs.set_index("pair_id")["entities"].map(json.loads)
    true, false = (made[made["label"] == label] for label in (TRUE, MISCAPTIONED))
    both = zip(true.to_dict("records"), false.to_dict("records"), strict=True)
    for before, after in both:
        changes = json.loads(after["swapped"])
        assert len(changes) == (2 if name == "MEIR" else 1)
        text, listed = before["caption"], json.loads(before["entities"])
        for old, new, kind in changes:
            assert (new, kind) in known
            assert [new, kind] in donors[after["donor_id"]]
            assert not any(same_entity(new, own) for own, _ in listed)
            text = text.replace(old, new)
            listed[listed.index([old, kind])] = [new, kind]
        assert after["caption"] == text != before["caption"]
        assert sorted(json.loads(after["entities"])) == sorted(listed)
        for column in ("image_id", "image_path", "group"):
            assert after[column] == before[column]
    assert made["text_id"].is_unique
    assert not set(false["text_id"]) & set(pairs["text_id"])


@each_maker
def test_captions_without_entities_are_left_out(
    toy: Callable[..., Any], name: str
) -> None:
    world = toy(count=100)
    silent = np.arange(100) % 4 == 0
    pairs = world.pairs.assign(entities=world.pairs["entities"].mask(silent, "[]"))
    made = world.make(name, pairs=pairs)
    assert not set(made["image_id"]) & set(pairs.loc[silent, "image_id"])
    assert 0.4 < made_share(pairs, made) <= 0.75
    with pytest.raises(DataError, match="mention entities, found none in 100 captions"):
        world.make(name, pairs=pairs.assign(entities="[]"))


@each_maker
def test_spellings_of_one_entity_leave_nothing_to_swap(
    toy: Callable[..., Any], name: str
) -> None:
    world = toy()
    names = ["Arland", "ARLAND", "the Arland", "Árland"] * 15
    pairs = world.pairs.assign(
        caption=[f"Seen in {n}, day {i}" for i, n in enumerate(names)],
        entities=[json.dumps([[n, "GPE"]]) for n in names],
    )
    with pytest.raises(DataError, match="no misleading pair could be made"):
        world.make(name, pairs=pairs)


def test_entities_come_from_any_column_or_function(toy: Callable[..., Any]) -> None:
    world = toy()
    captions = world.make("R-NESt")["caption"].tolist()
    pairs = world.pairs.rename(columns={"entities": "names"})
    lists = dict(zip(pairs["caption"], pairs["names"].map(json.loads), strict=True))
    for source in ("names", lambda caption: [tuple(e) for e in lists[caption]]):
        made = world.make("R-NESt", pairs=pairs, entities=source)
        assert made["caption"].tolist() == captions
    with pytest.raises(DataError, match="expected a column 'entities' with entities"):
        world.make("R-NESt", pairs=pairs)


def test_meir_swaps_only_given_types(toy: Callable[..., Any]) -> None:
    with pytest.raises(DataError, match="no misleading pair could be made"):
        toy().make("MEIR", types=["PERSON"])  # one person per caption: never two swaps
    with pytest.raises(ParameterError, match="unknown type of entity: person"):
        toy().make("MEIR", types=["person"])


@pytest.mark.parametrize(
    ("first", "second"),
    [  # no entity twice under two spellings, and none that has another type here
        ("from Borvia/GPE to Cestria/GPE", "from Arland/GPE to New Arland/GPE"),
        (
            "Arland Club/FAC meets Ada Lux/PERSON in Borvia/GPE",
            "Bo Marr/PERSON in Arland/GPE",
        ),
    ],
)
def test_meir_brings_nothing_in_twice(
    toy: Callable[..., Any], first: str, second: str
) -> None:
    lists, captions = [], []
    for text in (first, second):
        parts = [part.strip().rpartition("/") for part in _names(text)]
        lists.append(json.dumps([[name, kind] for name, _, kind in parts]))
        captions.append("; ".join(name for name, _, _ in parts))
    world = toy(count=2)
    pairs = world.pairs.assign(split="", group=["a", "b"], caption=captions)
    made = world.make("MEIR", pairs=pairs.assign(entities=lists))
    assert made["pair_id"].tolist() == ["p001", "p001:MEIR"]


def _names(text: str) -> list[str]:
    return re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*/[A-Z]+", text)


def test_meir_donors_are_of_the_same_cluster(
    toy: Callable[..., Any], make_vectors: Callable[..., Any]
) -> None:
    world = toy(count=80)
    odd = np.arange(80)[:, None] % 2 == 1
    texts = make_vectors(world.pairs["text_id"], 0)
    texts.matrix[:] = np.where(odd, [1] * 4 + [0] * 4, [0] * 4 + [1] * 4) + (
        0.01 * texts.matrix
    )
    pairs = world.pairs.assign(split="", group=world.pairs["pair_id"])
    rng = np.random.default_rng(0)
    made = MAKERS["MEIR"](pairs, None, texts, rng=rng, cluster_size=5)
    false = made[made["label"] == MISCAPTIONED]
    own, donor = (
        false[key].str[1:4].astype(int) % 2 for key in ("pair_id", "donor_id")
    )
    assert len(false) > 20
    assert (own == donor).all()
    assert (false["similarity"] > 0.9).all()


def test_clip_nest_takes_from_the_nearest_pair_that_fits(
    toy: Callable[..., Any],
) -> None:
    world = toy(count=30)
    pairs = world.pairs.assign(split="", topic="all", group=world.pairs["pair_id"])
    made = world.make("CLIP-NESt", pairs=pairs, by="text", neighbours=29)
    vectors, rows = world.texts.normalised(), pairs.set_index("pair_id")
    lists = rows["entities"].map(lambda cell: set(map(tuple, json.loads(cell))))
    for row in made[made["label"] == MISCAPTIONED].itertuples():
        own = row.pair_id.removesuffix(":CLIP-NESt")
        fitting = rows[[bool(names - lists[own]) for names in lists]]
        fitting = fitting.drop(index=own, errors="ignore")
        vector = vectors.rows([rows.loc[own, "text_id"]])[0]
        cosine = vectors.rows(fitting["text_id"]) @ vector
        assert row.donor_id == fitting.index[cosine.argmax()]


def test_nearly_every_caption_of_the_newsroom_can_be_swapped() -> None:
    pairs = load("newsroom", preset="visualnews", events=200, encoder=None).pairs
    made = MAKERS["R-NESt"](pairs, rng=np.random.default_rng(0))
    assert made_share(pairs, made) > 0.95
    swapped = made.loc[made["label"] == MISCAPTIONED, "swapped"].map(json.loads)
    kinds = {kind for [[_, _, kind]] in swapped}
    assert kinds == {"PERSON", "GPE", "DATE", "CARDINAL"}
