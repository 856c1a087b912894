"""Checks of judges, and the changes of wording that they make."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averimatec import (
    CHECKS,
    Claim,
    Evidence,
    LexicalJudge,
    MadeClaims,
    check_judge,
    image_files,
    read_claims,
    reference_evidence,
)
from averimatec.robustness import Surroundings, fluency, shuffle
from averimatec.similarity import similarities
from averimatec.wording import (
    contracted,
    digits_to_words,
    expanded,
    number_words,
    with_synonyms,
    words_to_digits,
)
from verite.errors import DataError, ParameterError

DATED = "[IMG_1] was taken on 12 April 2019, when it is not known that two boats sank."
ITEMS = (
    Evidence(DATED, ("a.png",)),
    Evidence("Mayor Ruby came, and she will say that there are three pictures.", ()),
    Evidence("No answer could be found.", ()),
)


@pytest.fixture
def around(tmp_path: Path, pictures: dict[str, Path]) -> Surroundings:
    rng = np.random.default_rng(0)
    return Surroundings(dict(pictures), ["b.png"], tmp_path / "changed", rng)


def test_table_11() -> None:
    falls = [name for name, check in CHECKS.items() if check.expected == "fall"]
    assert falls == ["Completeness", "Shuffle", "Irrelevant Image"]
    assert len(CHECKS) == 11


@pytest.mark.parametrize("name", sorted(set(CHECKS) - {"Completeness"}))
def test_changes(name: str, around: Surroundings) -> None:
    changed = CHECKS[name].change(ITEMS, around)
    assert changed != ITEMS
    assert len(changed) == len(ITEMS)
    assert any("[IMG_1]" in item.text for item in changed)


def test_completeness(around: Surroundings) -> None:
    assert len(CHECKS["Completeness"].change(ITEMS, around)) == 1
    assert CHECKS["Completeness"].change(ITEMS[:1], around) == ()


def test_words(around: Surroundings) -> None:
    shuffled = CHECKS["Shuffle"].change(ITEMS, around)
    for before, after in zip(ITEMS, shuffled, strict=True):
        assert sorted(before.text.split()) == sorted(after.text.split())
    [item, *_] = CHECKS["Redundant words"].change(ITEMS, around)
    words = item.text.split()
    assert len(words) == len(DATED.split()) + 1
    assert any(one == other for one, other in pairwise(words))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Inv. contract", "it's not known that two boats sank"),
        ("Inv. num2text", "twelve April two thousand and nineteen"),
        ("Inv. text2num", "2 boats sank"),
        ("Inv. synonyms", "was captured on"),
    ],
)
def test_wordings(name: str, text: str, around: Surroundings) -> None:
    assert text in CHECKS[name].change(ITEMS, around)[0].text


def test_images(around: Surroundings, pictures: dict[str, Path]) -> None:
    exchanged = CHECKS["Irrelevant Image"].change(ITEMS, around)
    assert [item.images for item in exchanged] == [("b.png",), (), ()]
    before = pictures["a.png"].read_bytes()
    [item, *_] = CHECKS["Image Invariance"].change(ITEMS, around)
    changed = around.files[item.images[0]].read_bytes()
    assert changed != before == pictures["a.png"].read_bytes()


def differences(table: pd.DataFrame, mode: str) -> pd.Series:
    return table[table["mode"] == mode].set_index("check")["difference"]


def test_made_claims(made: MadeClaims, tmp_path: Path) -> None:
    claims = [c for c in made.splits["train"] if c.label != "Not Enough Evidence"]
    options = {"files": image_files(made.images), "resamples": 200}
    table = check_judge(LexicalJudge(), claims, tmp_path, **options)
    separated = differences(table, "separated")
    falls = [name for name, check in CHECKS.items() if check.expected == "fall"]
    assert separated[falls].max() < -30
    stays = set(CHECKS) - set(falls) - {"Inv. synonyms", "Fluency"}
    assert separated[sorted(stays)].abs().max() < 5
    # Text alone cannot see images: the paper's cell is 0 as well.
    assert differences(table, "text-only")["Irrelevant Image"] == 0
    row = table.set_index(["check", "mode"]).loc[("Irrelevant Image", "text-only")]
    assert not row["holds"]


def test_averitec(real_data: Path, tmp_path: Path) -> None:
    claims = read_claims(real_data / "averitec" / "dev.json")[:150]
    options = {"modes": ("text-only",), "resamples": 200}
    table = check_judge(LexicalJudge(), claims, tmp_path, **options)
    text_only = differences(table, "text-only")
    assert text_only[["Completeness", "Shuffle"]].max() < -50
    stays = [name for name, check in CHECKS.items() if check.expected == "stay"]
    assert text_only[stays].abs().max() < 5
    unchanged = table[table["changed"] == 0]  # there are no images
    assert set(unchanged["check"]) == {"Irrelevant Image", "Image Invariance"}
    assert unchanged["holds"].isna().all()


def test_indiscriminate_judge(made: MadeClaims, tmp_path: Path) -> None:
    options = {"modes": ("text-only",), "resamples": 200}
    judge = LexicalJudge(least=0.01)
    table = check_judge(judge, made.splits["val"], tmp_path, **options)
    assert table.set_index("check")["holds"]["Shuffle"] is False
    pd.testing.assert_frame_equal(
        table, check_judge(judge, made.splits["val"], tmp_path, **options)
    )


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="claims with evidence"):
        check_judge(LexicalJudge(), [Claim("0", "A boat.")], tmp_path)
    with pytest.raises(ParameterError, match="unknown mode: joint"):
        check_judge(LexicalJudge(), [], tmp_path, modes=("joint",))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 999_999_999))
def test_numbers(number: int) -> None:
    assert words_to_digits(number_words(number)) == str(number)


def test_other_numbers() -> None:
    text = "3.14 metres at 10:30 on 2020-03-04, the A380, 50/50, 1,50 euros"
    assert digits_to_words(text) == text
    text = "five six and twenty-one two, a hundred people"
    assert words_to_digits(text) == "5 6 and 21 2, a 100 people"


def test_contractions_and_synonyms() -> None:
    text = "They do not know. He will say we cannot. I am sure they have gone."
    assert contracted(text).count("'") == 5
    assert expanded(contracted(text)) == text
    assert expanded("It isn\N{RIGHT SINGLE QUOTATION MARK}t.") == "It is not."
    changed = with_synonyms("Picture of a firefighter's car")
    assert changed == "Photograph of a firefighter's automobile"


def test_threshold_on_real_statements(real_data: Path) -> None:
    around = Surroundings({}, [], real_data, np.random.default_rng(0))
    values: dict[str, list[float]] = {"shuffled": [], "slips": [], "others": []}
    for claim in read_claims(real_data / "averitec" / "dev.json"):
        items = reference_evidence(claim)
        texts = [item.text for item in items]
        for name, change in (("shuffled", shuffle), ("slips", fluency)):
            changed = [item.text for item in change(items, around)]
            values[name] += np.diag(similarities(texts, changed)).tolist()
        others = ~np.eye(len(texts), dtype=bool)
        values["others"] += similarities(texts, texts)[others].tolist()
    least = LexicalJudge().least
    shares = {name: np.mean(np.array(x) >= least) for name, x in values.items()}
    # What LexicalJudge's docstring says.
    assert shares["shuffled"] == pytest.approx(0.22, abs=0.02)
    assert shares["others"] == pytest.approx(0.05, abs=0.005)
    assert shares["slips"] > 0.99
