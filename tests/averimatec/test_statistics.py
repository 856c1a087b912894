from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from averimatec import (
    Answer,
    Claim,
    MadeClaims,
    Question,
    duplicate_claims,
    late_evidence,
    read_claims,
    split_order,
    statistics,
)
from averimatec.statistics import url_date
from verite.errors import DataError, ParameterError

DAY = datetime.date(2023, 7, 8)


def value(table: pd.DataFrame, number: int, row: str, block: str = "") -> float:
    [found] = table.loc[
        (table["table"] == number) & (table["row"] == row) & (table["block"] == block),
        "value",
    ]
    return float(found)


@pytest.fixture(scope="module")
def described() -> pd.DataFrame:
    search = Question(
        "Where?",
        (Answer("Extractive", "Rome", medium="Web text"), Answer("Unanswerable")),
        ("Image-related", "Metadata-related"),
        "Metadata",
    )
    claims = [
        Claim(
            "0",
            "A.",
            ("a", "b"),
            "Refuted",
            DAY,
            questions=(search, search),
            location="IT",
            claim_types=("Causal Claim",),
            reannotated=True,
        ),
        Claim(
            "1",
            "B.",
            ("c",),
            "Supported",
            DAY.replace(month=1),
            location="IT",
            claim_types=("Causal Claim", "Other"),
            reannotated=False,
        ),
    ]
    return statistics({"val": claims})


def test_table_2_counts_claims_images_questions_and_labels(
    described: pd.DataFrame,
) -> None:
    rows = (
        "claims",
        "images / claim",
        "QA pairs / claim",
        "reannotated",
        "end date",
        "Refuted",
        "Not Enough Evidence",
    )
    assert [value(described, 2, row) for row in rows] == [
        2,
        1.5,
        1,
        50,
        20230708,
        50,
        0,
    ]


def test_claims_of_several_types_count_in_each(described: pd.DataFrame) -> None:
    assert (value(described, 5, "Causal Claim"), value(described, 5, "Other")) == (
        100,
        50,
    )


def test_question_types_are_shares_of_questions_and_answer_types_of_answers(
    described: pd.DataFrame,
) -> None:
    assert value(described, 8, "Image-related") == 100
    assert value(described, 9, "Unanswerable", "answer type") == 50
    assert value(described, 9, "Web text", "source medium") == 50


def test_a_method_and_a_medium_of_one_name_stand_in_blocks_of_their_own(
    described: pd.DataFrame,
) -> None:
    assert value(described, 9, "Metadata", "answering method") == 100
    assert "Metadata" not in set(
        described.loc[described["block"] == "source medium", "row"]
    )


def test_locations_are_counted_over_all_splits(described: pd.DataFrame) -> None:
    assert described.loc[
        described["table"] == 7, ["row", "column", "value"]
    ].to_numpy().tolist() == [["IT", "all", 2.0]]


def test_reannotation_that_no_file_tells_of_is_no_number() -> None:
    assert np.isnan(value(statistics({"val": [Claim("0", "A.")]}), 2, "reannotated"))


def test_a_split_without_claims_is_an_error() -> None:
    with pytest.raises(DataError, match="split 'val' has no claims"):
        statistics({"val": []})


@pytest.mark.parametrize(
    ("url", "day"),
    [
        ("https://news.example/2023/07/10/boats", datetime.date(2023, 7, 10)),
        (
            "https://web.archive.org/web/20240101000000/https://news.example/2023-07-10-boats",
            datetime.date(2023, 7, 10),
        ),
        ("https://news.example/2023/13/45", None),
        ("https://news.example/12023/07/10", None),
        ("", None),
    ],
)
def test_days_are_read_from_addresses_where_they_are_spelled(
    url: str, day: datetime.date | None
) -> None:
    assert url_date(url) == day


def test_the_stores_date_of_a_page_goes_before_that_of_its_address() -> None:
    answer = Answer("Extractive", "Yes.", url="https://news.example/2023/07/10/boats")
    claim = Claim("0", "A boat.", date=DAY, questions=(Question("Where?", (answer,)),))
    assert len(late_evidence([claim])) == 1
    assert late_evidence([claim], {answer.url: DAY}).empty


def test_evidence_of_the_claims_own_day_is_not_late() -> None:
    answer = Answer("Extractive", "Yes.", url="https://news.example/2023/07/08/boats")
    found = late_evidence(
        [Claim("0", "A boat.", date=DAY, questions=(Question("Where?", (answer,)),))]
    )
    assert found.empty
    assert found.attrs == {"answers": 1, "judged": 1}


def test_claims_before_the_end_of_the_split_in_front_are_counted() -> None:
    splits = {
        "train": [Claim("0", "A.", date=DAY)],
        "val": [Claim("0", "B.", date=DAY.replace(day=1)), Claim("1", "C.")],
    }
    assert split_order(splits)[
        ["split", "undated", "too_early"]
    ].to_numpy().tolist() == [["train", 0, 0], ["val", 1, 1]]


def test_duplicates_are_found_by_cosine_or_by_jaccard_index() -> None:
    claims = [
        Claim("a", "boat sank in rome"),
        Claim("b", "boat sank in rome today"),
        Claim("c", "snow fell"),
    ]
    [row] = duplicate_claims(claims, words=(1, 1)).to_dict("records")
    assert (row["first"], row["second"]) == ("a", "b")
    assert row["jaccard"] == pytest.approx(4 / 5)
    assert row["cosine"] == pytest.approx(4 / np.sqrt(4 * 5))


def test_words_that_are_repeated_do_not_hide_a_duplicate() -> None:
    [row] = duplicate_claims(
        [Claim("a", "x x x x x x b c"), Claim("b", "b c y")], words=(1, 1)
    ).to_dict("records")
    assert row["jaccard"] == pytest.approx(1 / 2)
    assert row["cosine"] < 0.3


def test_a_threshold_out_of_range_is_an_error() -> None:
    with pytest.raises(ParameterError, match="least must be from 0 to 1"):
        duplicate_claims([], least=2)


def test_made_splits_follow_each_other_in_time_and_no_evidence_is_late(
    made: MadeClaims,
) -> None:
    assert split_order(made.splits)["too_early"].sum() == 0
    for claims in made.splits.values():
        found = late_evidence(claims, made.store.dates())
        assert found.empty
        assert found.attrs["judged"] == found.attrs["answers"] > 0


def test_averitecs_own_late_evidence_is_found_by_address(real_data: Path) -> None:
    claims = read_claims(real_data / "averitec" / "dev.json")
    found = late_evidence(claims)
    assert (len(found), found.attrs["judged"]) == (20, 144)
    assert value(statistics({"dev": claims}), 2, "reannotated") == pytest.approx(24.4)
