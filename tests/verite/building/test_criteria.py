from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from verite.building import CRITERIA, check, read
from verite.errors import DataError


def flags(path: Path, article: str = "0") -> dict[str, tuple[str, str]]:
    found = check(read(path))
    rows = found[found["id"] == article]
    return {
        name: (flag, why)
        for name, flag, why in zip(
            rows["criterion"], rows["flag"], rows["why"], strict=True
        )
    }


def test_an_article_that_meets_all_is_left_with_what_no_program_can_see(
    write: Callable[..., Path],
) -> None:
    found = flags(write())
    assert list(found) == list(CRITERIA)
    assert {name for name, (flag, _) in found.items() if flag != "met"} == {
        "rated_miscaptioned"
    }


@pytest.mark.parametrize(
    ("change", "criterion", "flag", "why"),
    [
        (
            {"snopes_url": "https://notsnopes.com/a"},
            "publisher",
            "not met",
            "the page is on notsnopes.com",
        ),
        (
            {"snopes_url": "https://snopes.com.example/a"},
            "publisher",
            "not met",
            "the page is on snopes.com.example",
        ),
        ({"snopes_url": ""}, "publisher", "not met", "the page is on no host"),
        (
            {"snopes_url": "https://www.reuters.com/article/a-video-of-boats"},
            "still_image",
            "look",
            "video",
        ),
        (
            {"true_caption": "An image shows a digitally altered red boat."},
            "honest_image",
            "look",
            "digitally altered",
        ),
        (
            {"true_url": "ftp://pictures.example/a.jpg"},
            "has_image",
            "not met",
            "true_url is no web link",
        ),
        (
            {"true_url": "https://[pictures/a.jpg"},
            "has_image",
            "not met",
            "true_url is no web link",
        ),
        (
            {"false_url": "boat.jpg"},
            "out_of_context",
            "not met",
            "false_url is no web link",
        ),
        (
            {"false_url": ""},
            "out_of_context",
            "look",
            "no false_url: two pairs, not three",
        ),
        (
            {"false_caption": "An image shows sharks."},
            "linked",
            "look",
            "share no keyword",
        ),
        (
            {"false_caption": "An image shows a red boat that is not there."},
            "no_giveaway",
            "look",
            "false: not",
        ),
        ({"false_caption": "Red boat!"}, "same_length", "look", "2 words and 11"),
        (
            {"false_caption": "Red boat near a wreck in the year 2021."},
            "direct_form",
            "look",
            "no such opening: false",
        ),
        (
            {"false_caption": "\u0391n image shows a red  boat near a wreck."},
            "clean_text",
            "look",
            "\u0391 (U+0391), spaces in a row",
        ),
    ],
)
def test_each_criterion_sees_what_it_is_for(
    change: dict[str, str],
    criterion: str,
    flag: str,
    why: str,
    write: Callable[..., Path],
) -> None:
    found = flags(write({"0": change}))[criterion]
    assert found[0] == flag
    assert why in found[1]


def test_a_rating_counts_where_the_table_has_one(write: Callable[..., Path]) -> None:
    path = write(rating=["Miscaptioned", "Satire", "", "miscaptioned", "miscaptioned"])
    found = [flags(path, article)["rated_miscaptioned"] for article in "012"]
    assert found == [
        ("met", ""),
        ("not met", "rated satire"),
        ("look", "no rating in the table"),
    ]


def test_a_persons_answer_counts_more_than_the_check(
    write: Callable[..., Path],
) -> None:
    path = write(
        {"0": {"snopes_url": "https://facts.example/"}},
        publisher=["yes", "No", "", "", ""],
    )
    found = check(read(path)).query("criterion == 'publisher'")
    assert found[["flag", "by"]].to_numpy().tolist()[:3] == [
        ["met", "person"],
        ["not met", "person"],
        ["met", "check"],
    ]


def test_an_answer_that_is_none_is_one_message(write: Callable[..., Path]) -> None:
    path = write(linked=["yes", "no", "perhaps", "", ""])
    with pytest.raises(
        DataError,
        match=(
            "article 2: expected yes, no or nothing in column 'linked', found 'perhaps'"
        ),
    ):
        check(read(path))


def test_no_article_of_the_release_is_ruled_out_and_some_are_to_look_at(
    real_data: Path,
) -> None:
    found = check(read(real_data / "verite" / "VERITE_articles.csv"))
    look = pd.crosstab(found["criterion"], found["flag"])["look"].to_dict()
    assert set(found["flag"]) == {"met", "look"}
    assert look == {
        "publisher": 0,
        "rated_miscaptioned": 338,
        "still_image": 12,
        "honest_image": 13,
        "has_image": 0,
        "linked": 26,
        "no_giveaway": 19,
        "same_length": 16,
        "direct_form": 36,
        "clean_text": 7,
        "out_of_context": 13,
    }
