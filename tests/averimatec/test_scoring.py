"""Scores of submissions, and both conventions of counting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from averimatec import (
    Answer,
    Claim,
    Evidence,
    LexicalJudge,
    MadeClaims,
    Prediction,
    Question,
    Scores,
    image_files,
    read_claims,
    reference_evidence,
    score_submission,
)
from averimatec.judges import Files, ImageScore, Matches, Paths, Statements
from verite.errors import DataError, ParameterError

FACTS = (
    "The boat was built in Rome.",
    "The dog barked at night.",
    "Snow fell in Paris today.",
    "Nurses met the mayor.",
    "Stalls sold red fruit.",
)
REASON = "The boat is not from Paris."


def claim(name: str, label: str = "Refuted") -> Claim:
    """A claim with five facts behind it."""
    questions = tuple(
        Question(f"Question {number}?", (Answer("Extractive", fact),))
        for number, fact in enumerate(FACTS)
    )
    return Claim(
        name, "A claim.", label=label, justification=REASON, questions=questions
    )


class Covering:
    """A judge that covers as many items as the first predicted item says."""

    name = "covering"

    def questions(self, reference: Sequence[str], predicted: Sequence[str]) -> Matches:
        return self._matches(len(predicted))

    def evidence(self, reference: Statements, predicted: Statements) -> Matches:
        return self._matches(int(predicted[0].text))

    def interleaved(
        self, reference: Statements, predicted: Statements, files: Files
    ) -> Matches:
        return self.evidence(reference, predicted)

    def images(self, reference: Paths, predicted: Paths) -> ImageScore:
        raise AssertionError

    def _matches(self, count: int) -> Matches:
        if count < 0:
            return Matches(problem="cannot be read")
        numbers = range(1, count + 1)
        first, second = ((1, i) for i in numbers), ((i, 1) for i in numbers)
        return Matches(count, count, tuple(first), tuple(second))


def predicted(
    name: str, count: int, verdict: str = "Refuted", justification: str = REASON
) -> Prediction:
    evidence = (Evidence(str(count)),)
    return Prediction(name, ("Question?",), evidence, verdict, justification)


def scored(
    claims: Sequence[Claim], predictions: Sequence[Prediction], **options: Any
) -> Scores:
    return score_submission(claims, predictions, Covering(), resamples=50, **options)


def cell(
    scores: Scores,
    metric: str,
    least: float | None = None,
    convention: str = "official",
    group: str = "all",
    mode: str = "separated",
) -> Any:
    table = scores.table
    conditions = {"metric": metric, "convention": convention, "group": group}
    for name, wanted in (conditions | {"mode": mode}).items():
        table = table[table[name] == wanted]
    table = table[table["lambda"].isna() if least is None else table["lambda"] == least]
    [row] = table.itertuples()
    return row


def test_recall_must_exceed_lambda() -> None:
    names = [str(number) for number in range(4)]  # recall 0, .2, .4, .6
    scores = scored([claim(n) for n in names], [predicted(n, int(n)) for n in names])
    for least, value in ((0.2, 0.5), (0.3, 0.5), (0.4, 0.25)):
        assert cell(scores, "verdict accuracy", least).value == value


def test_justification() -> None:
    predictions = [
        predicted("0", 3, justification="The boat is old"),
        predicted("1", 1),
    ]
    claims = [claim("0"), claim("1")]
    scores = scored(claims, predictions)
    assert cell(scores, "justification", 0.3).value == pytest.approx(3 / 6 / 2)
    plain = cell(scores, "justification", mode="").value
    assert plain == pytest.approx((3 / 6 + 1) / 2)
    f1 = scored(claims[:1], predictions[:1], rouge="f1")
    value = cell(f1, "justification", 0.3).value
    assert value == pytest.approx(2 * 0.5 * 0.75 / 1.25)


def test_no_predicted_evidence() -> None:
    nothing = Prediction("1", (), (), "Refuted", REASON)
    scores = scored([claim("0"), claim("1")], [predicted("0", 5), nothing])
    official = cell(scores, "verdict accuracy", 0.2)
    corrected = cell(scores, "verdict accuracy", 0.2, "corrected")
    assert (official.value, official.n, official.unscored) == (1, 1, 1)
    assert (corrected.value, corrected.n, corrected.unscored) == (0.5, 2, 0)


def test_unreadable_reply() -> None:
    scores = scored([claim("0"), claim("1")], [predicted("0", 5), predicted("1", -1)])
    assert scores.problems.to_numpy().tolist() == [
        ["1", "text-only", "cannot be read"],
        ["1", "interleaved", "cannot be read"],
    ]
    assert scores.about["problems"] == 2
    official = cell(scores, "evidence recall")
    corrected = cell(scores, "evidence recall", None, "corrected")
    assert (official.value, corrected.value, corrected.unscored) == (0.5, 1, 1)


def test_matched_by_id() -> None:
    claims = [claim("0", "Refuted"), claim("1", "Supported")]
    predictions = [predicted("1", 5, "Supported"), predicted("0", 5, "Refuted")]
    assert cell(scored(claims, predictions), "verdict accuracy", 0.4).value == 1


def test_spelling_of_verdicts() -> None:
    claims = [claim("0", "Conflicting/Cherrypicking"), claim("1", "Refuted")]
    said = [predicted("0", 5, "Conflicting"), predicted("1", 5, " refuted ")]
    scores = scored(claims, said)
    assert cell(scores, "verdict accuracy", 0.4).value == 0.5
    assert cell(scores, "verdict accuracy", 0.4, "corrected").value == 1


def test_groups() -> None:
    claims = [claim("0"), claim("1", "Supported")]
    scores = scored(claims, [predicted("0", 5), predicted("1", 5)])
    assert cell(scores, "verdict accuracy", 0.2, group="Supported").value == 0
    assert cell(scores, "verdict accuracy", 0.2, group="Refuted").value == 1
    assert set(scores.table["group"]) == {"all", "Supported", "Refuted"}


def test_intervals_and_threads() -> None:
    claims = [claim(str(number)) for number in range(12)]
    predictions = [predicted(str(number), number % 6) for number in range(12)]
    scores = scored(claims, predictions)
    row = cell(scores, "evidence recall")
    assert row.value == pytest.approx(0.5)
    assert row.low < row.value < row.high
    threads = scored(claims, predictions, workers=4)
    pd.testing.assert_frame_equal(scores.table, threads.table)


def test_rows_of_claims() -> None:
    [row] = scored([claim("0")], [predicted("0", 2)]).claims.to_dict("records")
    assert (row["references"], row["predictions"], row["problems"]) == (5, 1, 0)
    for mode in ("separated", "text-only", "interleaved"):
        assert row[f"{mode}_recall_official"] == 0.4
        assert row[f"{mode}_precision_official"] == 1


@pytest.mark.parametrize(
    ("claims", "predictions", "message"),
    [
        ([claim("0")], [], r"lacks 1 claim\(s\): 0"),
        ([claim("0")], [predicted("0", 1), predicted("9", 1)], "reference lacks: 9"),
        ([claim("0", "")], [predicted("0", 1)], "no label: 0"),
        ([], [], "claims to score against"),
    ],
)
def test_other_claims(
    claims: list[Claim], predictions: list[Prediction], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        scored(claims, predictions)


def test_missing_as_wrong() -> None:
    claims = [claim("0"), claim("1")]
    scores = scored(claims, [predicted("0", 5)], missing="wrong")
    assert cell(scores, "verdict accuracy", mode="").value == 0.5
    assert cell(scores, "verdict accuracy", 0.2, "corrected").value == 0.5


@pytest.mark.parametrize(
    ("name", "value"),
    [("rouge", "f2"), ("missing", "skip"), ("modes", ("joint",)), ("workers", 0)],
)
def test_unknown_options(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"{name}: expected"):
        scored([claim("0")], [predicted("0", 1)], **{name: value})


def test_statements() -> None:
    fact = (Evidence("Another fact altogether."),)
    prediction = Prediction("0", (), fact, "Refuted", "")
    options = {"statements": {"0": fact}, "resamples": 50}
    scores = score_submission([claim("0")], [prediction], LexicalJudge(), **options)
    assert scores.claims["separated_recall_official"].tolist() == [1]


def own_evidence(claims: Sequence[Claim]) -> list[Prediction]:
    return [
        Prediction(c.id, texts, reference_evidence(c), c.label, c.justification)
        for c in claims
        for texts in [tuple(question.text for question in c.questions)]
    ]


def test_perfect_submission(made: MadeClaims) -> None:
    claims, files = made.splits["val"], image_files(made.images)
    options = {"files": files, "resamples": 50}
    scores = score_submission(claims, own_evidence(claims), LexicalJudge(), **options)
    assert scores.table["value"].min() == 1
    assert scores.problems.empty


def test_wrong_pictures(made: MadeClaims) -> None:
    claims = made.splits["train"]
    first, second = claims[0].images[0], claims[-1].images[0]
    predictions = []
    for each, prediction in zip(claims, own_evidence(claims), strict=True):
        other = first if first not in each.images else second
        items = tuple(
            replace(item, images=(other,) * len(item.images))
            for item in prediction.evidence
        )
        predictions.append(replace(prediction, evidence=items))
    options = {"files": image_files(made.images), "resamples": 50}
    scores = score_submission(claims, predictions, LexicalJudge(), **options)
    assert cell(scores, "evidence recall", mode="text-only").value == 1
    for mode in ("interleaved", "separated"):
        assert cell(scores, "evidence recall", mode=mode).value < 0.7


def test_no_image_files(made: MadeClaims) -> None:
    claims = made.splits["val"]
    options = {"modes": ("separated",), "resamples": 50}
    scores = score_submission(claims, own_evidence(claims), LexicalJudge(), **options)
    corrected = cell(scores, "evidence recall", None, "corrected")
    assert corrected.unscored == len(claims)
    assert math.isnan(corrected.value)
    assert scores.problems["problem"].str.startswith("no file of the image").all()


def test_averitec(real_data: Path) -> None:
    claims = read_claims(real_data / "averitec" / "dev.json")[:100]
    predictions = [
        replace(prediction, evidence=prediction.evidence[:1], questions=())
        for prediction in own_evidence(claims)
    ]
    scores = score_submission(claims, predictions, LexicalJudge(), resamples=50)
    value = cell(scores, "evidence recall", convention="corrected").value
    expected = sum(1 / len(each.questions) for each in claims) / len(claims)
    assert value == pytest.approx(expected)
