"""Tables of claims, late evidence, duplicates, and the agreement of raters."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averimatec import (
    Answer,
    Claim,
    MadeClaims,
    Question,
    duplicate_claims,
    fleiss_kappa,
    late_evidence,
    randolph_kappa,
    rating_counts,
    read_claims,
    split_order,
    statistics,
)
from averimatec.corpus import url_date
from verite.errors import DataError, ParameterError

DAY = datetime.date(2023, 7, 8)


def value(table: pd.DataFrame, number: int, row: str, block: str = "") -> float:
    rows = table[(table["table"] == number) & (table["block"] == block)]
    return float(rows.set_index("row")["value"][row])


@pytest.fixture(scope="module")
def described() -> pd.DataFrame:
    answers = Answer("Extractive", "Rome", medium="Web text"), Answer("Unanswerable")
    kinds = ("Image-related", "Metadata-related")
    question = Question("Where?", answers, kinds, "Metadata")
    first = Claim("0", "A.", ("a", "b"), "Refuted", DAY, location="IT")
    second = replace(first, id="1", images=("c",), label="Supported", reannotated=False)
    first = replace(first, questions=(question, question), reannotated=True)
    first = replace(first, claim_types=("Causal Claim",))
    second = replace(second, claim_types=("Causal Claim", "Other"))
    return statistics({"val": [first, replace(second, date=DAY.replace(month=1))]})


@pytest.mark.parametrize(
    ("number", "block", "row", "expected"),
    [
        (2, "", "claims", 2),
        (2, "", "images / claim", 1.5),
        (2, "", "QA pairs / claim", 1),
        (2, "", "reannotated", 50),
        (2, "", "end date", 20230708),
        (2, "", "Refuted", 50),
        (2, "", "Not Enough Evidence", 0),
        (5, "", "Other", 50),
        (7, "", "IT", 2),
        (8, "", "Image-related", 100),
        (9, "answering method", "Metadata", 100),
        (9, "answer type", "Unanswerable", 50),
        (9, "source medium", "Web text", 50),
    ],
)
def test_statistics(
    described: pd.DataFrame, number: int, block: str, row: str, expected: float
) -> None:
    assert value(described, number, row, block) == expected


def test_unknown_reannotation() -> None:
    assert np.isnan(value(statistics({"val": [Claim("0", "A.")]}), 2, "reannotated"))
    with pytest.raises(DataError, match="split 'val' has no claims"):
        statistics({"val": []})


@pytest.mark.parametrize(
    ("url", "day"),
    [
        ("https://news.example/2023/07/10/boats", datetime.date(2023, 7, 10)),
        (
            "https://web.archive.org/web/20240101000000/https://n.example/2023-07-10-a",
            datetime.date(2023, 7, 10),
        ),
        ("https://news.example/2023/13/45", None),
        ("https://news.example/12023/07/10", None),
        ("", None),
    ],
)
def test_url_date(url: str, day: datetime.date | None) -> None:
    assert url_date(url) == day


def test_late_evidence() -> None:
    def claim(day: str) -> Claim:
        answer = Answer("Extractive", "Yes.", url=f"https://news.example/{day}/boats")
        return Claim("0", "A.", date=DAY, questions=(Question("?", (answer,)),))

    late = claim("2023/07/10")
    assert len(late_evidence([late])) == 1
    [url] = [answer.url for answer in late.questions[0].answers]
    assert late_evidence([late], {url: DAY}).empty  # the store's date goes first
    same_day = late_evidence([claim("2023/07/08")])
    assert same_day.empty
    assert same_day.attrs == {"answers": 1, "judged": 1}


def test_split_order() -> None:
    early = [Claim("0", "B.", date=DAY.replace(day=1)), Claim("1", "C.")]
    table = split_order({"train": [Claim("0", "A.", date=DAY)], "val": early})
    rows = table[["split", "undated", "too_early"]].to_numpy().tolist()
    assert rows == [["train", 0, 0], ["val", 1, 1]]


def test_duplicates() -> None:
    texts = ["boat sank in rome", "boat sank in rome today", "snow fell"]
    claims = [Claim(str(i), text) for i, text in enumerate(texts)]
    [row] = duplicate_claims(claims, words=(1, 1)).to_dict("records")
    assert (row["first"], row["second"]) == ("0", "1")
    assert row["jaccard"] == pytest.approx(4 / 5)
    assert row["cosine"] == pytest.approx(4 / np.sqrt(4 * 5))
    repeated = [Claim("a", "x x x x x x b c"), Claim("b", "b c y")]
    [row] = duplicate_claims(repeated, words=(1, 1)).to_dict("records")
    assert row["cosine"] < 0.3 < row["jaccard"]
    with pytest.raises(ParameterError, match="least must be from 0 to 1"):
        duplicate_claims([], least=2)


def test_made_splits(made: MadeClaims) -> None:
    assert split_order(made.splits)["too_early"].sum() == 0
    for claims in made.splits.values():
        late = late_evidence(claims, made.store.dates())
        assert late.empty
        assert late.attrs["judged"] == late.attrs["answers"] > 0


def test_averitec(real_data: Path) -> None:
    claims = read_claims(real_data / "averitec" / "dev.json")
    late = late_evidence(claims)
    assert (len(late), late.attrs["judged"]) == (20, 144)
    assert value(statistics({"dev": claims}), 2, "reannotated") == pytest.approx(24.4)


# Ten subjects, fourteen raters, five categories: the worked example of Wikipedia's
# "Fleiss' kappa", which gives 0.210.
TEXT = "0 0 0 0 14, 0 2 6 4 2, 0 0 3 5 6, 0 3 9 2 0, 2 2 8 1 1"
TEXT += ", 7 7 0 0 0, 3 2 6 3 0, 2 5 3 2 2, 6 5 2 1 0, 0 2 2 3 7"
WORKED = np.array([row.split() for row in TEXT.split(", ")]).astype(int)

# Diagnoses of 30 patients by six psychiatrists, one digit per rater: Fleiss (1971), as
# the R package irr prints them with kappa = 0.4302445 (kappam.fleiss).
DIAGNOSES = (
    "444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444"
    " 124444 222333 144444 224445 333335 111455 111112 224444 133555 555555 244444"
    " 224555 114444 144445 222224 111155 224444 133333 555555"
)


def test_published_kappas() -> None:
    assert fleiss_kappa(WORKED).value == pytest.approx(0.210, abs=0.0005)
    ratings = pd.DataFrame([list(patient) for patient in DIAGNOSES.split()])
    kappa = fleiss_kappa(rating_counts(ratings, "12345")).value
    assert kappa == pytest.approx(0.4302445, abs=1e-7)


# The two kappas that Randolph's online calculator (justusrandolph.net/kappa) gives, as
# statsmodels' tests cite them.
@pytest.mark.parametrize(
    ("table", "fixed", "free"),
    [
        ([[7, 1], [3, 5]], 0.161905, 0.214286),
        ([[7, 0], [0, 7]], 1, 1),
        ([[6, 1, 0], [0, 7, 0]], 0.708333, 0.785714),
    ],
)
def test_randolphs_calculator(
    table: list[list[int]], fixed: float, free: float
) -> None:
    assert fleiss_kappa(np.array(table)).value == pytest.approx(fixed, abs=1e-6)
    assert randolph_kappa(np.array(table)).value == pytest.approx(free, abs=1e-6)


ROWS = (4, 0, 0), (2, 1, 1), (1, 3, 0), (0, 0, 4), (2, 2, 0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(ROWS), min_size=2, max_size=8))
def test_free_is_not_below_fixed(rows: list[tuple[int, ...]]) -> None:
    counts = np.array([(4, 0, 0), (0, 4, 0), *rows])  # Warrens (2010)
    free, fixed = (f(counts, resamples=10) for f in (randolph_kappa, fleiss_kappa))
    assert free.value >= fixed.value - 1e-12


def test_uneven_raters() -> None:
    kappa = randolph_kappa(np.array([[2, 0], [1, 2], [1, 0]]))
    assert kappa.n == 2
    assert kappa.value == pytest.approx(((1 + 1 / 3) / 2 - 0.5) / 0.5)


def test_unused_categories() -> None:
    padded = np.hstack([WORKED, np.zeros((10, 3), dtype=int)])
    assert fleiss_kappa(padded).value == pytest.approx(fleiss_kappa(WORKED).value)
    assert randolph_kappa(padded).value > randolph_kappa(WORKED).value


def test_interval_and_seed() -> None:
    first, again, other = (fleiss_kappa(WORKED, seed=seed) for seed in (0, 0, 1))
    assert first.low < first.value < first.high
    assert first == again != other


def test_one_category() -> None:
    with pytest.raises(ParameterError, match="two categories or more"):
        randolph_kappa(np.array([[2], [3]]))
    assert np.isnan(fleiss_kappa(np.array([[3, 0], [3, 0]])).value)
    assert randolph_kappa(np.array([[3, 0], [3, 0]])).value == 1


def test_missing_and_unknown_ratings() -> None:
    ratings = pd.DataFrame({"a": ["Refuted", None], "b": ["Refuted", "Supported"]})
    assert rating_counts(ratings).sum(axis=1).tolist() == [2, 1]
    with pytest.raises(DataError, match="found False"):
        rating_counts(ratings.replace("Refuted", "False"))


@pytest.mark.parametrize("table", [[[1, -1]], [[1.5, 2]], [1, 2], [[1, 0]]])
def test_bad_counts(table: object) -> None:
    with pytest.raises(DataError, match="whole numbers|two ratings or more"):
        fleiss_kappa(np.array(table))
