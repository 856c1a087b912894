"""What the paper says of its own numbers, against its own tables."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from verite.paper import claims, published
from verite.paper.claims import VERDICTS


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return claims().set_index("key")


def test_each_claim_stands_once_with_a_verdict_and_what_was_found(
    found: pd.DataFrame,
) -> None:
    assert found.index.is_unique
    assert set(found["verdict"]) == set(VERDICTS)
    assert (found["found"].str.len() > 10).all()


@pytest.mark.parametrize(
    ("key", "verdict", "words"),
    [
        (
            "attention-on-verite",
            "does not follow",
            "7 of 8 training sets, not for R-NESt + CHASMA (49.6 against 51.1 %)",
        ),
        ("verite-topics", "does not follow", "whole numbers out of 272 only"),
        ("vmu-rounded", "does not follow", "16,440, which rounds to 16 thousand"),
        (
            "verite-b-joined",
            "follows in part",
            "Fakeddit (-2.8 points), CHASMA-D (-0.3 points); for R-NESt it is +0.4",
        ),
        ("gain", "follows in part", "by 9.2 % of what it was, or 4.4 points"),
        ("fakeddit-sample", "follows in part", "all together make 99 %"),
        ("chasma-d-size", "follows in part", "80% of the 1,259,732"),
        ("vmu-third", "cannot be checked", "it is number 3"),
        ("cosmos-which", "follows", "CLIP-NESt, R-NESt, Fakeddit, CHASMA, CHASMA-D"),
        ("test-sets-no-bias", "follows", "9 of 9 sets"),
        ("verite-no-bias", "follows", "8 of 8 training sets"),
        (
            "chasma-joined, image;text",
            "follows",
            "46.9 to 51.1 % against 40.1 to 43.9 %",
        ),
        ("verite-b-attention", "follows", "CHASMA-D: -0.3 without, -6.4 with it"),
    ],
)
def test_a_claim_is_judged_by_the_papers_own_cells(
    found: pd.DataFrame, key: str, verdict: str, words: str
) -> None:
    assert found.loc[key, "verdict"] == verdict
    assert words in found.loc[key, "found"]


def test_a_changed_cell_changes_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def mended(name: int | str) -> pd.DataFrame:
        table = published.wide(name)
        if name == 5:
            table.loc["R-NESt + CHASMA", "image;text"] = 49.0
        return table

    monkeypatch.setattr(sys.modules["verite.paper.claims"], "wide", mended)
    assert claims().set_index("key").loc["attention-on-verite", "verdict"] == "follows"
