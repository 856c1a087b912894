from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.building import read
from verite.building.captions import (
    agreement,
    compare,
    find_giveaways,
    form,
    keywords,
    odd_letters,
    suggest,
    table,
)


@pytest.fixture(scope="module")
def articles(real_data: Path) -> pd.DataFrame:
    return read(real_data / "verite" / "VERITE_articles.csv")


@pytest.mark.parametrize(
    ("caption", "found"),
    [
        ("Photo supposedly shows a boat.", [("doubt", "supposedly")]),
        ("It was, however, another boat.", [("contrast", "however")]),
        (
            "This is not the case.",
            [("verdict", "This is not the case"), ("negation", "not")],
        ),
        (
            "The boat wasn't there, nor was it never there.",
            [("negation", "wasn't"), ("negation", "nor"), ("negation", "never")],
        ),
        ("The boat couldn’t sink.", [("negation", "couldn’t")]),
        ("NOT a boat", [("negation", "NOT")]),
        (
            "A fake boat out of context.",
            [("verdict", "fake"), ("verdict", "out of context")],
        ),
        ("Knot No. 5, a notable noon in the north.", []),
        ("A not-so-good boat and an ex-never.", []),
    ],
)
def test_words_that_give_a_caption_away_are_found_as_whole_words(
    caption: str, found: list[tuple[str, str]]
) -> None:
    assert [(kind, word) for kind, word, _ in find_giveaways(caption)] == found
    assert all(caption[at:].startswith(word) for _, word, at in find_giveaways(caption))


@given(st.text(), st.text())
def test_a_comparison_is_symmetric_and_within_its_bounds(one: str, other: str) -> None:
    there, back = compare(one, other), compare(other, one)
    assert 0 <= there.shared <= 1
    assert 0 <= there.similarity <= 1
    assert (there.shared, there.opening, there.true_words) == (
        back.shared,
        back.opening,
        back.false_words,
    )
    assert compare(one, one).true_words == compare(one, one).false_words


def test_captions_are_compared_by_words_whatever_their_case_and_punctuation() -> None:
    same = compare("A boat, in 2019.", "a BOAT in 2019")
    assert (same.shared, same.similarity, same.opening) == (1, 1, 4)
    apart = compare("A boat. It sank! Dr. Lee saw it.", "Two dogs")
    assert (apart.shared, apart.similarity, apart.opening) == (0, 0, 0)
    assert (apart.true_words, apart.false_words, apart.false_sentences) == (8, 2, 1)


@pytest.mark.parametrize(
    ("caption", "kind", "suggested", "sure"),
    [
        ("An image shows a boat.", "shows", "An image shows a boat.", True),
        ("Photographs show two boats.", "shows", "An image shows two boats.", True),
        ("\u0391 photograph showed a boat.", "shows", "An image shows a boat.", True),
        ("Photograph documenting a boat.", "shows", "An image shows a boat.", True),
        (
            "A photograph taken in May 2012 shows a boat.",
            "shows",
            "A photograph taken in May 2012 shows a boat.",
            True,
        ),
        (
            "A picture of a man who shows a boat.",
            "of",
            "An image shows a man who shows a boat.",
            True,
        ),
        ("Image from a fair in 2012.", "of", "Image from a fair in 2012.", False),
        ("A photograph by a sailor.", "", "A photograph by a sailor.", False),
        (
            "Three boats near a bridge.",
            "",
            "An image shows three boats near a bridge.",
            False,
        ),
        ("Lee on a boat.", "", "An image shows Lee on a boat.", False),
    ],
)
def test_the_form_of_a_caption_is_seen_and_the_papers_form_suggested(
    caption: str, kind: str, suggested: str, sure: bool
) -> None:
    assert form(caption) == kind
    assert suggest(caption) == (suggested, sure)
    assert suggest(suggested) == (suggested, True) or not sure


def test_keywords_leave_out_the_opening_stop_words_numbers_and_repetitions() -> None:
    assert keywords(
        "A photograph shows the Mayor's boat and the boat of 12 sailors, in 2019, at a"
        " pier.",
        3,
    ) == [
        "Mayor",
        "boat",
        "sailors",
    ]
    assert keywords("", 3) == []


def test_words_agree_with_a_query_by_their_first_five_letters() -> None:
    assert agreement(["Collapsed", "bridge"], "collapse of a bridge") == 1.0
    assert agreement(["bridge"], "railway bridge") == 0.5
    assert agreement([], "bridge") == 0.0
    assert np.isnan(agreement(["bridge"], "of the"))


def test_letters_of_other_scripts_are_named_once() -> None:
    assert (
        odd_letters("\u0391 boat, \u0391 \u0399sland, 5 naïve Ærøs") == "\u0391\u0399"
    )


def test_the_releases_captions_hold_few_giveaways(articles: pd.DataFrame) -> None:
    _, giveaways = table(articles)
    counts = giveaways.groupby(["kind", "caption"])["id"].nunique().to_dict()
    assert counts == {
        ("contrast", "false"): 1,
        ("contrast", "true"): 1,
        ("doubt", "true"): 1,
        ("negation", "false"): 9,
        ("negation", "true"): 6,
        ("verdict", "false"): 1,
        ("verdict", "true"): 3,
    }


def test_the_releases_true_captions_are_longer_and_most_captions_are_in_form(
    articles: pd.DataFrame,
) -> None:
    captions, _ = table(articles)
    assert captions[["true_words", "false_words"]].mean().round(1).tolist() == [
        21.9,
        18.9,
    ]
    assert (captions["true_words"] > captions["false_words"]).sum() == 204
    assert (captions["true_words"] < captions["false_words"]).sum() == 107
    assert captions["shared"].mean() == pytest.approx(0.33, abs=0.005)
    assert (captions["opening"] >= 2).sum() == 298
    assert captions["true_form"].value_counts().to_dict() == {
        "shows": 230,
        "of": 77,
        "": 31,
    }
    assert captions["false_form"].value_counts().to_dict() == {
        "shows": 258,
        "of": 60,
        "": 20,
    }


def test_greek_letters_that_look_latin_stand_in_five_articles(
    articles: pd.DataFrame,
) -> None:
    captions, _ = table(articles)
    odd = captions[(captions["true_odd"] != "") | (captions["false_odd"] != "")]
    assert odd["id"].tolist() == ["28", "149", "187", "235", "285"]
    assert set("".join(odd["true_odd"] + odd["false_odd"])) == {
        "\u0391",
        "\u03bf",
        "\u0399",
    }


def test_first_words_agree_with_the_authors_queries_better_than_rare_ones(
    articles: pd.DataFrame,
) -> None:
    asked = articles[articles["query"] != ""]

    def recall(chosen: list[list[str]]) -> float:
        return pd.Series(
            [
                agreement(some, query)
                for some, query in zip(chosen, asked["query"], strict=True)
            ]
        ).mean()

    everything = [keywords(caption, 99) for caption in asked["true_caption"]]
    often = pd.Series([word for some in everything for word in some]).value_counts()
    rare = [sorted(some, key=lambda word: often[word])[:5] for some in everything]
    first, rarest, ceiling = (
        recall([some[:5] for some in everything]),
        recall(rare),
        recall(everything),
    )
    assert rarest < first < ceiling
    assert [round(100 * value) for value in (first, rarest, ceiling)] == [38, 30, 52]
