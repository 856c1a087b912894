from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from averimatec import rouge_1
from averimatec.rouge import stem


def test_rouge_1_of_the_librarys_own_example() -> None:  # rouge_scorer_test.testRouge1
    assert rouge_1("testing one two", "testing") == pytest.approx((1 / 3, 1, 1 / 2))


def test_an_empty_text_has_nothing_of_the_reference() -> None:
    assert rouge_1("testing one two", "") == (0, 0, 0)
    assert rouge_1("", "testing") == (0, 0, 0)


def test_words_count_as_often_as_they_stand_there() -> None:
    assert rouge_1("boat boat dog", "boat boat boat").recall == pytest.approx(2 / 3)


def test_words_are_stemmed_and_those_of_three_letters_are_not() -> None:
    assert rouge_1(
        "the boats were meeting", "the boat was meetings"
    ).recall == pytest.approx(3 / 4)
    assert rouge_1("his", "hi").recall == 0


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [("caresses", "caress"), ("died", "die"), ("enjoy", "enjoy"), ("news", "news")],
)
def test_a_stem_is_the_one_that_rouge_counts(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


@given(
    st.text(alphabet="abcdeiy s", max_size=40),
    st.text(alphabet="abcdeiy s", max_size=40),
)
def test_recall_of_one_is_precision_of_the_other(one: str, other: str) -> None:
    assert rouge_1(one, other).recall == rouge_1(other, one).precision
    assert 0 <= rouge_1(one, other).f1 <= 1
