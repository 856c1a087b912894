from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averimatec import LexicalJudge, read_claims, reference_evidence
from averimatec.lexical import align, similarities
from averimatec.robustness import Surroundings, fluency, shuffle
from averimatec.wording import (
    contracted,
    digits_to_words,
    expanded,
    number_words,
    with_synonyms,
    words_to_digits,
)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 999_999_999))
def test_a_number_in_words_is_that_number_in_digits(number: int) -> None:
    assert words_to_digits(number_words(number)) == str(number)


@pytest.mark.parametrize(
    "text",
    ["3.14 metres", "at 10:30", "on 2020-03-04", "the A380", "50/50", "1,50 euros"],
)
def test_decimals_times_and_numbers_within_words_stay(text: str) -> None:
    assert digits_to_words(text) == text


def test_words_that_are_no_one_number_stay_apart() -> None:
    assert (
        words_to_digits("five six and twenty-one two, a hundred people")
        == "5 6 and 21 2, a 100 people"
    )


@pytest.mark.parametrize(
    "text",
    [
        "They do not know that it is not true.",
        "He will say we cannot.",
        "I am sure they have gone.",
    ],
)
def test_what_is_contracted_can_be_written_out_again(text: str) -> None:
    assert contracted(text) != text
    assert expanded(contracted(text)) == text


def test_typographic_apostrophes_are_read() -> None:
    assert expanded("It isn\N{RIGHT SINGLE QUOTATION MARK}t.") == "It is not."


def test_synonyms_keep_capitals_and_whole_words() -> None:
    assert (
        with_synonyms("Picture of a firefighter's car")
        == "Photograph of a firefighter's automobile"
    )


def test_a_statement_is_like_itself_and_in_no_order_unlike() -> None:
    text = "Mayor Ruby came to the flood in Italy and met nurses on 12 April 2019."
    same, shuffled = similarities(
        [text],
        [
            text,
            "2019 met flood Ruby April Italy to nurses came 12 and Mayor in on the.",
        ],
    )[0]
    assert same == pytest.approx(1)
    assert shuffled < 0.5


def test_contractions_numbers_and_image_tokens_make_no_difference() -> None:
    one = "[IMG_1] is not older than twenty-one years, and 1,500 people saw it"
    other = "[IMG_7] isn't older than 21 years, and 1500 people saw it"
    assert similarities([one], [other])[0, 0] == pytest.approx(1)


def test_that_no_answer_was_found_is_like_no_answer() -> None:
    found = similarities(
        ["When was the boat built? No answer could be found."],
        ["When was the boat built? In 2019.", "When was it? No answer found."],
    )
    assert found[0, 0] == 0
    assert found[0, 1] > 0


def test_empty_sides_have_empty_similarities() -> None:
    assert similarities([], ["a"]).shape == (0, 1)
    assert similarities(["a"], []).shape == (1, 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 1000))
def test_alignment_uses_each_item_once_and_keeps_no_weak_pair(
    rows: int, columns: int, seed: int
) -> None:
    likeness = np.random.default_rng(seed).random((rows, columns))
    pairs = align(likeness, 0.5)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert all(likeness[i, j] >= 0.5 for i, j in pairs)


def test_alignment_sums_to_the_most_not_to_the_first() -> None:
    assert align(np.array([[1.0, 0.9], [0.9, 0.0]]), 0.5) == [(0, 1), (1, 0)]


def test_a_pair_that_cannot_be_kept_costs_no_other() -> None:
    assert align(np.array([[0.6, 0.49], [0.49, 0.1]]), 0.5) == [(0, 0)]


def test_on_real_statements_the_threshold_keeps_slips_of_the_pen_and_drops_what_is_shuffled_or_other(
    real_data: Path,
) -> None:
    around = Surroundings({}, [], real_data, np.random.default_rng(0))
    found: dict[str, list[float]] = {"shuffled": [], "slips": [], "others": []}
    for claim in read_claims(real_data / "averitec" / "dev.json"):
        items = reference_evidence(claim)
        texts = [item.text for item in items]
        for name, changed in (
            ("shuffled", shuffle(items, around)),
            ("slips", fluency(items, around)),
        ):
            found[name] += np.diag(
                similarities(texts, [item.text for item in changed])
            ).tolist()
        found["others"] += similarities(texts, texts)[
            ~np.eye(len(texts), dtype=bool)
        ].tolist()
    kept = {
        name: np.mean(np.array(values) >= LexicalJudge().least)
        for name, values in found.items()
    }  # what LexicalJudge's docstring says
    assert kept["shuffled"] == pytest.approx(0.22, abs=0.02)
    assert kept["others"] == pytest.approx(0.05, abs=0.005)
    assert kept["slips"] > 0.99
