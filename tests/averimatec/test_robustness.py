from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from averimatec import (
    CHECKS,
    Claim,
    Evidence,
    LexicalJudge,
    MadeClaims,
    check_judge,
    image_files,
    read_claims,
)
from averimatec.robustness import Surroundings
from verite.errors import DataError, ParameterError

ITEMS = (
    Evidence(
        "[IMG_1] was taken on 12 April 2019, when it is not known that two boats sank.",
        ("a.png",),
    ),
    Evidence(
        "Mayor Ruby came to the flood, and she will say that there are three pictures.",
        (),
    ),
    Evidence("No answer could be found.", ()),
)


@pytest.fixture
def around(tmp_path: Path, pictures: dict[str, Path]) -> Surroundings:
    return Surroundings(
        dict(pictures), ["b.png"], tmp_path / "changed", np.random.default_rng(0)
    )


def test_there_are_the_eleven_checks_of_table_11_three_of_which_should_fall() -> None:
    assert len(CHECKS) == 11
    assert [name for name, check in CHECKS.items() if check.expected == "fall"] == [
        "Completeness",
        "Shuffle",
        "Irrelevant Image",
    ]


@pytest.mark.parametrize("name", sorted(set(CHECKS) - {"Completeness"}))
def test_every_check_changes_something_and_keeps_the_number_of_items(
    name: str, around: Surroundings
) -> None:
    changed = CHECKS[name].change(ITEMS, around)
    assert changed != ITEMS
    assert len(changed) == len(ITEMS)


def test_completeness_takes_half_of_the_items_and_at_least_one(
    around: Surroundings,
) -> None:
    assert len(CHECKS["Completeness"].change(ITEMS, around)) == 1
    assert CHECKS["Completeness"].change(ITEMS[:1], around) == ()


def test_shuffled_words_are_the_same_words(around: Surroundings) -> None:
    for before, after in zip(
        ITEMS, CHECKS["Shuffle"].change(ITEMS, around), strict=True
    ):
        assert sorted(before.text.split()) == sorted(after.text.split())


def test_images_are_exchanged_for_those_of_other_claims(around: Surroundings) -> None:
    assert [
        item.images for item in CHECKS["Irrelevant Image"].change(ITEMS, around)
    ] == [("b.png",), (), ()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Inv. contract", "it's not known that two boats sank"),
        ("Inv. num2text", "twelve April two thousand and nineteen"),
        ("Inv. text2num", "2 boats sank"),
        ("Inv. synonyms", "was captured on"),
    ],
)
def test_changes_of_wording_are_what_their_names_say(
    name: str, text: str, around: Surroundings
) -> None:
    assert text in CHECKS[name].change(ITEMS, around)[0].text


def test_redundant_words_are_repeated_words(around: Surroundings) -> None:
    [item, *_] = CHECKS["Redundant words"].change(ITEMS, around)
    words = item.text.split()
    assert len(words) == len(ITEMS[0].text.split()) + 1
    assert any(one == other for one, other in pairwise(words))


def test_image_tokens_are_left_alone_by_every_change_of_words(
    around: Surroundings,
) -> None:
    for check in CHECKS.values():
        changed = check.change(ITEMS, around)
        assert "Completeness" in [
            name for name, other in CHECKS.items() if other is check
        ] or "[IMG_1]" in " ".join(item.text for item in changed)


def test_changed_images_are_new_files_and_the_old_ones_stay(
    around: Surroundings, pictures: dict[str, Path]
) -> None:
    before = pictures["a.png"].read_bytes()
    [item, *_] = CHECKS["Image Invariance"].change(ITEMS, around)
    assert around.files[item.images[0]].is_file()
    assert (
        around.files[item.images[0]].read_bytes()
        != before
        == pictures["a.png"].read_bytes()
    )


def recall_changes(table: pd.DataFrame, mode: str) -> dict[str, float]:
    return table[table["mode"] == mode].set_index("check")["difference"].to_dict()


def test_the_deterministic_judge_has_table_11s_pattern_on_made_claims(
    made: MadeClaims, tmp_path: Path
) -> None:
    claims = [
        claim for claim in made.splits["train"] if claim.label != "Not Enough Evidence"
    ]
    table = check_judge(
        LexicalJudge(), claims, tmp_path, files=image_files(made.images), resamples=200
    )
    separated, text_only = (
        recall_changes(table, "separated"),
        recall_changes(table, "text-only"),
    )
    assert (
        max(separated[name] for name in ("Completeness", "Shuffle", "Irrelevant Image"))
        < -30
    )
    claimed = (
        "Inv. contract",
        "Inv. num2text",
        "Inv. text2num",
        "Redundant words",
        "Argument structure",
        "Image Invariance",
    )
    assert max(abs(separated[name]) for name in claimed) < 5
    assert (
        text_only["Irrelevant Image"] == 0
    )  # the paper's cell says so too: text alone cannot see it
    assert table.loc[
        (table["check"] == "Irrelevant Image") & (table["mode"] == "text-only"), "holds"
    ].tolist() == [False]


def test_the_deterministic_judge_has_table_11s_pattern_on_averitec(
    real_data: Path, tmp_path: Path
) -> None:
    claims = read_claims(real_data / "averitec" / "dev.json")[:150]
    table = check_judge(
        LexicalJudge(), claims, tmp_path, modes=("text-only",), resamples=200
    )
    found = recall_changes(table, "text-only")
    assert max(found["Completeness"], found["Shuffle"]) < -50
    assert (
        max(abs(found[name]) for name in found if CHECKS[name].expected == "stay") < 5
    )
    nothing = table[table["changed"] == 0]
    assert set(nothing["check"]) == {
        "Irrelevant Image",
        "Image Invariance",
    }  # there are no images
    assert nothing["holds"].isna().all()


def test_a_judge_that_matches_anything_is_found_out(
    made: MadeClaims, tmp_path: Path
) -> None:
    table = check_judge(
        LexicalJudge(least=0.01),
        made.splits["val"],
        tmp_path,
        modes=("text-only",),
        resamples=200,
    )
    assert table.set_index("check")["holds"]["Shuffle"] is False


def test_the_same_seed_gives_the_same_checks(made: MadeClaims, tmp_path: Path) -> None:
    one, other = (
        check_judge(
            LexicalJudge(),
            made.splits["val"],
            tmp_path,
            modes=("text-only",),
            resamples=50,
        )
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, other)


def test_claims_without_evidence_and_unknown_modes_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="claims with evidence"):
        check_judge(LexicalJudge(), [Claim("0", "A boat.")], tmp_path)
    with pytest.raises(ParameterError, match="unknown mode: joint"):
        check_judge(LexicalJudge(), [], tmp_path, modes=("joint",))
