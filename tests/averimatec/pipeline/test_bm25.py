from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from averimatec.pipeline.bm25 import BM25, chunks, search_terms, words

DOCUMENTS = [
    "the old boat lay in the harbour",
    "a market in the harbour town",
    "boat boat harbour fire",
    "the fire engine came",
    "two nurses met the mayor at the market",
    "the mayor",
]


def test_bm25_agrees_with_rank_bm25_on_a_fixed_example() -> None:
    # BM25Okapi of rank-bm25 0.2.2 on these documents and this query; "the" has a
    # negative idf, and a query word stands twice.
    expected = [
        1.5655739456007827,
        0.9492561083051787,
        0.9054105148802828,
        0.47904412887545805,
        0.5226789026123999,
        0.5942707790281295,
    ]
    index = BM25([text.split() for text in DOCUMENTS])
    assert index.scores(["boat", "in", "the", "harbour", "the"]) == pytest.approx(
        expected, abs=1e-12
    )


def test_bm25_agrees_with_the_example_of_rank_bm25s_readme() -> None:
    texts = [
        "Hello there good man!",
        "It is quite windy in London",
        "How is the weather today?",
    ]
    assert BM25([text.split() for text in texts]).scores(
        ["windy", "London"]
    ) == pytest.approx([0, 0.93729472, 0], abs=1e-8)


def test_the_best_documents_come_first_and_equal_ones_in_their_order() -> None:
    index = BM25([["x"], ["boat"], ["y"], ["boat"], ["z"], ["w"], ["v"]])
    assert index.best(["boat"], 4) == [1, 3, 0, 2]


def test_an_index_of_nothing_finds_nothing() -> None:
    assert BM25([]).best(["boat"], 3) == []


def test_function_words_are_not_searched_for_unless_there_are_no_others() -> None:
    assert search_terms("Who was at the flood?") == ["flood"]
    assert search_terms("Who was it?") == ["who", "was", "it"]


@given(st.text(max_size=400), st.integers(1, 20))
def test_chunks_hold_every_word_once_in_order_and_none_is_too_long(
    text: str, size: int
) -> None:
    made = chunks(text, size)
    assert " ".join(made).split() == text.split()
    assert all(1 <= len(chunk.split()) <= size for chunk in made)


def test_a_chunk_has_128_words_at_most_and_ends_with_a_sentence_where_it_can() -> None:
    text = " ".join(["One two three four five six seven."] * 30)
    made = chunks(text)
    assert [len(chunk.split()) for chunk in made] == [126, 84]
    assert len(chunks("word " * 300)) == 3


def test_words_are_lower_case_and_without_marks() -> None:
    assert words("The Mayor's (old) boat-house, 2019!") == [
        "the",
        "mayor",
        "s",
        "old",
        "boat",
        "house",
        "2019",
    ]
    assert np.isfinite(BM25([[], ["a"]]).scores(["a"])).all()
