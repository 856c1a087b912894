"""Entities are found, told apart and swapped as a careful reader would."""

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
from verite.synthesis.entities import Entity, find, plain, read, replace, same_entity

SWAPS = ("R-NESt", "CLIP-NESt", "MEIR")


def swapped(
    caption: str, old: str, new: str, kind: str = "GPE", *others: tuple[str, str]
) -> str:
    entity = next(
        one
        for one in find(caption, [(old, kind), *others])
        if plain(one.name) == plain(old)
    )
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
        (
            "ARLAND FLOODS; Arland asks for help",
            "Arland",
            "Borvia",
            "BORVIA FLOODS; Borvia asks for help",
        ),
        ("ARLAND'S COAST", "ARLAND", "Borvia", "BORVIA'S COAST"),
        ("Members of NATO meet", "NATO", "Interpol", "Members of Interpol meet"),
        (
            "Arlander people in New-Arland",
            "Arland",
            "Borvia",
            "Arlander people in New-Borvia",
        ),
        ("Arland-based firms", "Arland", "Borvia", "Borvia-based firms"),
        (
            "The Arland Times of Arland",
            "Arland",
            "Borvia",
            "The Borvia Times of Borvia",
        ),
        ("Jose\u0301 met Jose", "Jose", "Ada", "Jose\u0301 met Ada"),
        ("O'Arland is in Arland", "Arland", "Borvia", "O'Arland is in Borvia"),
        ("Don says: Don't", "Don", "Ada", "Ada says: Don't"),
    ],
)
def test_whole_words_are_swapped_with_their_capitals_and_possessives(
    caption: str, old: str, new: str, expected: str
) -> None:
    assert swapped(caption, old, new) == expected


@pytest.mark.parametrize(
    ("caption", "old", "new", "expected"),
    [
        ("Five boats, five men", "five", "three", "Three boats, three men"),
        ("five men", "five", "Three", "three men"),
        ("5 men paid 5,000 or 2.5 each", "5", "7", "7 men paid 5,000 or 2.5 each"),
        ("No one knows. One left.", "One", "six", "No one knows. Six left."),
    ],
)
def test_numbers_are_swapped_as_whole_numbers_and_words(
    caption: str, old: str, new: str, expected: str
) -> None:
    assert swapped(caption, old, new, "CARDINAL") == expected


def test_a_longer_name_is_no_mention_of_a_place_within_it() -> None:
    assert (
        swapped(
            "Arland Times reports from Arland",
            "Arland",
            "Borvia",
            "GPE",
            ("Arland Times", "ORG"),
        )
        == "Arland Times reports from Borvia"
    )


def test_a_persons_short_name_is_swapped_with_the_full_one() -> None:
    caption = "Ada Lux came; Lux's friends left Lux."
    [entity] = find(caption, [("Lux", "PERSON"), ("Ada Lux", "PERSON")])
    assert (
        replace(caption, {entity: "Bo Marr"})
        == "Bo Marr came; Bo Marr's friends left Bo Marr."
    )


def test_a_short_name_that_two_people_share_is_left_to_neither() -> None:
    found = find(
        "Ada Lux, Bo Lux and Lux",
        [("Lux", "PERSON"), ("Ada Lux", "PERSON"), ("Bo Lux", "PERSON")],
    )
    assert sorted(entity.name for entity in found) == ["Ada Lux", "Bo Lux", "Lux"]


def test_two_swaps_at_once_do_not_swap_each_others_result() -> None:
    caption = "From Arland to Borvia"
    first, second = find(caption, [("Arland", "GPE"), ("Borvia", "GPE")])
    assert (
        replace(caption, {first: "Borvia", second: "Arland"}) == "From Borvia to Arland"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("arland", "ARLAND"), ("the Arland", "Arland"), ("U.S.", "US"), ("Côte d’Or", "Cote d'Or"), ("Jean-Luc", "Jean Luc"),
        ("Arland's", "Arland"), ("Ada Lux", "Lux"), ("2014", "May 2014"), ("e-mail", "email"),
    ],
)  # fmt: skip
def test_spellings_of_one_name_are_the_same_entity(one: str, other: str) -> None:
    assert same_entity(one, other)
    assert same_entity(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Niger", "Nigeria"),
        ("May 2014", "May 2015"),
        ("Ada Lux", "Bo Lux"),
        ("five", "six"),
    ],
)
def test_other_names_are_other_entities(one: str, other: str) -> None:
    assert not same_entity(one, other)


@given(
    st.text(max_size=12),
    st.sampled_from(
        [
            str.upper,
            str.title,
            lambda s: f"the {s}",
            lambda s: f"{s}.",
            lambda s: f"{s}'s",
        ]
    ),
)
@settings(max_examples=200, deadline=None)
def test_respelling_a_latin_name_keeps_it_the_same(
    name: str, respell: Callable[[str], str]
) -> None:
    latin = re.sub("[^a-z ]", "", name.lower()).strip() or "lux"
    assert same_entity(latin, respell(latin))


WORDS = st.sampled_from(
    [
        "boats",
        "Arland",
        "Borvia",
        "Ada",
        "ADA",
        "five",
        "Five",
        "Arland's",
        "New Arland",
        "day.",
        "(Borvia)",
        "x-Ada",
    ]
)


@given(st.lists(WORDS, min_size=1, max_size=12).map(" ".join), st.data())
@settings(max_examples=200, deadline=None)
def test_text_outside_the_mentions_of_swapped_entities_never_changes(
    caption: str, data: st.DataObject
) -> None:
    found = find(
        caption,
        [
            ("Arland", "GPE"),
            ("Borvia", "GPE"),
            ("Ada", "PERSON"),
            ("five", "CARDINAL"),
            ("New Arland", "LOC"),
        ],
    )
    chosen = data.draw(st.lists(st.sampled_from(found), unique=True)) if found else []
    text = replace(caption, dict.fromkeys(chosen, "qqq"))
    outside, end = [], 0
    for left, right in sorted(span for entity in chosen for span in entity.spans):
        outside.append(caption[end:left])
        end = right
    assert re.split("qqq", text, flags=re.IGNORECASE) == [*outside, caption[end:]]
    assert all(
        caption[left:right].casefold() in {n.casefold() for n in one.names}
        for one in found
        for left, right in one.spans
    )


# --- makers
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SWAPS)
@given(
    size=st.fixed_dictionaries(
        {"count": st.integers(25, 60), "seed": st.integers(0, 30)}
    ),
    seed=st.integers(0, 3),
)
@settings(max_examples=15, deadline=None)
def test_swaps_change_exactly_the_entities_they_list(
    toy: Callable[..., Any], name: str, size: dict[str, int], seed: int
) -> None:
    world = toy(**size)
    try:
        made = world.make(name, seed)
    except DataError as error:
        assert "no misleading pair" in str(error)  # noqa: PT017 - refusing is right in tiny worlds
        return
    true, false = (
        made[made["label"] == label].reset_index(drop=True)
        for label in (TRUE, MISCAPTIONED)
    )
    everything = {
        (n, kind) for cell in world.pairs["entities"] for n, kind in json.loads(cell)
    }
    for before, after in zip(
        true.to_dict("records"), false.to_dict("records"), strict=True
    ):
        changes = json.loads(after["swapped"])
        assert len(changes) == 2 if name == "MEIR" else len(changes) == 1
        text, listed = before["caption"], json.loads(before["entities"])
        donor = world.pairs.set_index("pair_id").loc[after["donor_id"]]
        for old, new, kind in changes:
            assert [old, kind] in listed
            assert (new, kind) in everything
            assert [new, kind] in json.loads(donor["entities"])
            assert not any(same_entity(new, one) for one, _ in listed)
            text = text.replace(old, new)
            listed[listed.index([old, kind])] = [new, kind]
        assert after["caption"] == text != before["caption"]
        assert sorted(json.loads(after["entities"])) == sorted(listed)
        assert (after["image_id"], after["image_path"], after["group"]) == (
            before["image_id"],
            before["image_path"],
            before["group"],
        )


@pytest.mark.parametrize("name", SWAPS)
def test_a_swapped_caption_gets_a_new_text_id_and_other_rows_keep_theirs(
    toy: Callable[..., Any], name: str
) -> None:
    world = toy()
    made = world.make(name)
    assert made["text_id"].is_unique
    assert not set(made.loc[made["label"] == MISCAPTIONED, "text_id"]) & set(
        world.pairs["text_id"]
    )


@pytest.mark.parametrize("name", SWAPS)
def test_captions_without_entities_are_left_out_and_the_share_says_so(
    toy: Callable[..., Any], name: str
) -> None:
    world = toy(count=100)
    silent = np.arange(100) % 4 == 0
    pairs = world.pairs.assign(entities=np.where(silent, "[]", world.pairs["entities"]))
    made = world.make(name, pairs=pairs)
    assert not set(made["image_id"]) & set(pairs.loc[silent, "image_id"])
    assert 0.4 < made_share(pairs, made) <= 0.75


@pytest.mark.parametrize("name", SWAPS)
def test_no_caption_with_an_entity_is_an_error_that_says_so(
    toy: Callable[..., Any], name: str
) -> None:
    world = toy()
    with pytest.raises(
        DataError,
        match="expected captions that mention entities, found none in 60 captions",
    ):
        world.make(name, pairs=world.pairs.assign(entities="[]"))


@pytest.mark.parametrize("name", SWAPS)
def test_spellings_of_one_entity_everywhere_leave_nothing_to_swap(
    toy: Callable[..., Any], name: str
) -> None:
    world = toy()
    spelled = ["Arland", "ARLAND", "the Arland", "Árland"]
    names = [spelled[i % 4] for i in range(60)]
    pairs = world.pairs.assign(
        caption=[f"Seen in {n}, day {i}" for i, n in enumerate(names)],
        entities=[json.dumps([[n, "GPE"]]) for n in names],
    )
    with pytest.raises(DataError, match="no misleading pair could be made"):
        world.make(name, pairs=pairs)


def test_entities_may_come_from_a_function_of_the_caption(
    toy: Callable[..., Any],
) -> None:
    world = toy()
    from_column = world.make("R-NESt")
    table = dict(
        zip(
            world.pairs["caption"],
            map(json.loads, world.pairs["entities"]),
            strict=True,
        )
    )
    pairs = world.pairs.drop(columns="entities")
    from_function = world.make(
        "R-NESt",
        pairs=pairs,
        entities=lambda caption: [tuple(one) for one in table[caption]],
    )
    assert from_function["caption"].tolist() == from_column["caption"].tolist()


def test_entities_may_stand_in_a_column_of_another_name(
    toy: Callable[..., Any],
) -> None:
    world = toy()
    renamed = world.pairs.rename(columns={"entities": "named"})
    assert (
        world.make("R-NESt", pairs=renamed, entities="named")["caption"].tolist()
        == world.make("R-NESt")["caption"].tolist()
    )


def test_a_missing_column_of_entities_is_named(toy: Callable[..., Any]) -> None:
    world = toy()
    with pytest.raises(DataError, match="expected a column 'entities' with entities"):
        world.make("R-NESt", pairs=world.pairs.drop(columns="entities"))


@pytest.mark.parametrize("cell", ["no json", '["Ada"]', "[[1, 2]]", "3", '{"a": 1}'])
def test_entities_that_do_not_parse_are_named_by_their_pair(
    toy: Callable[..., Any], cell: str
) -> None:
    pairs = toy(count=5).pairs.assign(entities=cell)
    with pytest.raises(
        DataError,
        match=r"pair_id p000: expected entities as a JSON list of \[name, type\]",
    ):
        read(pairs)


def test_an_unknown_type_of_entity_is_refused(toy: Callable[..., Any]) -> None:
    pairs = toy(count=5).pairs.assign(entities='[["Ada Lux", "HUMAN"]]')
    with pytest.raises(
        DataError, match=r"unknown type of entity: HUMAN\. Known: PERSON, NORP"
    ):
        read(pairs)


def test_meir_swaps_only_types_it_is_asked_for(toy: Callable[..., Any]) -> None:
    with pytest.raises(DataError, match="no misleading pair could be made"):
        toy().make("MEIR", types=["PERSON"])  # one person a caption: never two swaps
    with pytest.raises(ParameterError, match="unknown type of entity: person"):
        toy().make("MEIR", types=["person"])


def two_captions(toy: Callable[..., Any], *told: tuple[str, list[list[str]]]) -> Any:
    world = toy(count=2)
    captions, entities = zip(*told, strict=True)
    return world, world.pairs.assign(
        split="",
        group=["a", "b"],
        caption=captions,
        entities=[json.dumps(one) for one in entities],
    )


def test_meir_brings_no_entity_in_twice_under_two_spellings(
    toy: Callable[..., Any],
) -> None:
    world, pairs = two_captions(
        toy,
        ("From Borvia to Cestria", [["Borvia", "GPE"], ["Cestria", "GPE"]]),
        ("From Arland to New Arland", [["Arland", "GPE"], ["New Arland", "GPE"]]),
    )
    made = world.make("MEIR", pairs=pairs)
    assert made["pair_id"].tolist() == ["p001", "p001:MEIR"]
    assert sorted(made["caption"][1].split()) == ["Borvia", "Cestria", "From", "to"]


def test_meir_brings_in_nothing_that_the_caption_names_as_another_type(
    toy: Callable[..., Any],
) -> None:
    world, pairs = two_captions(
        toy,
        (
            "Arland Club meets Ada Lux in Borvia",
            [["Arland Club", "FAC"], ["Ada Lux", "PERSON"], ["Borvia", "GPE"]],
        ),
        ("Bo Marr in Arland", [["Bo Marr", "PERSON"], ["Arland", "GPE"]]),
    )
    assert world.make("MEIR", pairs=pairs)["pair_id"].tolist() == ["p001", "p001:MEIR"]


def test_meir_donors_are_of_the_same_cluster(
    toy: Callable[..., Any], make_vectors: Callable[..., Any]
) -> None:
    world = toy(count=80)
    half = np.arange(80) % 2
    texts = make_vectors(world.pairs["text_id"], 0)
    texts.matrix[:] = (
        np.where(half[:, None] == 1, [1] * 4 + [0] * 4, [0] * 4 + [1] * 4)
        + 0.01 * texts.matrix
    )
    pairs = world.pairs.assign(split="", group=world.pairs["pair_id"])
    made = MAKERS["MEIR"](
        pairs, None, texts, rng=np.random.default_rng(0), cluster_size=5
    )
    false = made[made["label"] == MISCAPTIONED]
    own, donor = (
        ids.str.slice(1, 4).astype(int).to_numpy() % 2
        for ids in (false["pair_id"], false["donor_id"])
    )
    assert len(false) > 20
    assert (own == donor).all()
    assert (false["similarity"] > 0.9).all()


def test_clip_nest_takes_from_the_nearest_pair_that_has_something_to_give(
    toy: Callable[..., Any],
) -> None:
    world = toy(count=30)
    pairs = world.pairs.assign(split="", topic="all", group=world.pairs["pair_id"])
    made = world.make("CLIP-NESt", pairs=pairs, by="text", neighbours=29)
    false = made[made["label"] == MISCAPTIONED]
    vectors, rows = world.texts.normalised(), pairs.set_index("pair_id")
    for pair_id, donor_id in zip(
        false["pair_id"].str.removesuffix(":CLIP-NESt"), false["donor_id"], strict=True
    ):
        own = set(map(tuple, json.loads(rows.loc[pair_id, "entities"])))
        gives = rows[
            [bool(set(map(tuple, json.loads(cell))) - own) for cell in rows["entities"]]
        ].drop(index=pair_id, errors="ignore")
        cosine = (
            vectors.rows(gives["text_id"])
            @ vectors.rows([rows.loc[pair_id, "text_id"]])[0]
        )
        assert donor_id == gives.index[cosine.argmax()]


def test_nearly_every_caption_of_the_newsroom_can_be_swapped() -> None:
    pairs = load("newsroom", preset="visualnews", events=200, encoder=None).pairs
    made = MAKERS["R-NESt"](pairs, None, None, rng=np.random.default_rng(0))
    assert made_share(pairs, made) > 0.95
    assert {
        json.loads(cell)[0][2]
        for cell in made.loc[made["label"] == MISCAPTIONED, "swapped"]
    } == {"PERSON", "GPE", "DATE", "CARDINAL"}


def test_an_entity_that_the_caption_does_not_mention_is_no_entity_of_it() -> None:
    assert find("Nobody came.", [("Ada", "PERSON"), ("...", "ORG")]) == []
    assert plain("...") == ""
    assert find("Ada came.", [("Ada", "PERSON")]) == [
        Entity("Ada", "PERSON", ("Ada",), ((0, 3),))
    ]
