from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.characters import clean, find_problems, normalise


def test_look_alikes() -> None:
    assert list(find_problems("\u0391 man by a red boat.")) == ["look-alike letter"]
    problems = find_problems("A b\u043eat near a bridge")
    assert problems["look-alike letter"] == "U+043E in 'b\u043eat'"


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
def test_other_scripts_pass(text: str) -> None:
    assert "look-alike letter" not in find_problems(text)


def test_encodings() -> None:
    assert list(find_problems("A cafÃ© by the sea")) == ["broken encoding"]
    assert list(find_problems("A caf\ufffd by the sea")) == ["replacement character"]


def test_clean() -> None:
    text = "\u0391  boat\u200b,\na caf\ufffd "
    assert clean(text) == "A boat, a caf\ufffd"


def test_normalise() -> None:
    assert normalise("\u0391 BOAT,  at sea!") == normalise("a boat at sea")
    assert normalise("a boat") != normalise("a boot")
    assert normalise("!!!") != normalise("???")


@given(st.text())
def test_clean_is_idempotent(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    fixed = {"invisible character", "odd white space", "compatibility form"}
    assert not fixed & set(find_problems(cleaned))
