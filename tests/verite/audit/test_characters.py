from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.audit.characters import clean, look, plain


def test_a_greek_alpha_at_the_start_of_an_english_caption_is_found():
    assert list(look("\u0391 man stands by a red boat.")) == ["look-alike letter"]


def test_a_cyrillic_letter_within_an_english_word_is_found():
    assert (
        look("A b\u043eat near a bridge")["look-alike letter"]
        == "U+043E in 'b\u043eat'"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Ένα σπίτι",
        "Привет, мир",
        "A boat by the Москва river",
        "日本の船",
        "قارب أحمر",
        "naïve café",
        "𝗯𝗼𝗮𝘁",
    ],
)
def test_other_scripts_are_no_look_alikes(text: str):
    assert "look-alike letter" not in look(text)


def test_a_broken_encoding_and_a_lost_character_are_told_apart():
    assert list(look("A cafÃ© by the sea")) == ["broken encoding"]
    assert list(look("A caf\ufffd by the sea")) == ["replacement character"]


def test_cleaning_mends_what_can_be_mended_and_leaves_the_rest():
    assert clean("\u0391  boat\u200b,\na caf\ufffd ") == "A boat, a caf\ufffd"


def test_captions_count_as_one_but_for_case_space_marks_and_look_alikes():
    assert plain("\u0391 BOAT,  at sea!") == plain("a boat at sea")
    assert plain("a boat") != plain("a boot")
    assert plain("!!!") != plain("???")


@given(st.text())
def test_cleaning_twice_changes_nothing_more(text: str):
    once = clean(text)
    assert clean(once) == once
    assert not {"invisible character", "odd white space", "compatibility form"} & set(
        look(once)
    )
