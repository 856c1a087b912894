from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

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
    image_files,
    reference_evidence,
    score_submission,
)
from averimatec.judges import ImageScore, Matches
from verite.errors import DataError, ParameterError

FACTS = (
    "The boat was built in Rome.",
    "The dog barked at night.",
    "Snow fell in Paris today.",
    "Nurses met the mayor.",
    "Stalls sold red fruit.",
)


def claim(name: str, label: str = "Refuted") -> Claim:
    """A claim with five facts behind it."""
    questions = tuple(
        Question(f"Question {number}?", (Answer("Extractive", fact),))
        for number, fact in enumerate(FACTS)
    )
    return Claim(
        name,
        "A claim.",
        label=label,
        justification="The boat is not from Paris.",
        questions=questions,
    )


class Covering:
    """A judge that finds so many reference items covered as the first predicted item
    says.
    """

    name = "covering"

    def questions(self, reference: Sequence[str], predicted: Sequence[str]) -> Matches:
        return self._found(len(predicted))

    def evidence(
        self, reference: Sequence[Evidence], predicted: Sequence[Evidence]
    ) -> Matches:
        return self._found(int(predicted[0].text))

    def interleaved(
        self,
        reference: Sequence[Evidence],
        predicted: Sequence[Evidence],
        files: Mapping[str, Path],
    ) -> Matches:
        return self._found(int(predicted[0].text))

    def images(
        self, reference: Sequence[Path], predicted: Sequence[Path]
    ) -> ImageScore:
        raise AssertionError

    def _found(self, count: int) -> Matches:
        if count < 0:
            return Matches(problem="cannot be read")
        return Matches(
            count,
            count,
            tuple((1, number) for number in range(1, count + 1)),
            tuple((number, 1) for number in range(1, count + 1)),
        )


def predicted(
    name: str,
    count: int,
    verdict: str = "Refuted",
    justification: str = "The boat is not from Paris.",
) -> Prediction:
    return Prediction(
        name, ("Question?",), (Evidence(str(count)),), verdict, justification
    )


def value(
    table: pd.DataFrame,
    metric: str,
    least: float | None = None,
    convention: str = "official",
    group: str = "all",
    mode: str = "separated",
):  # type: ignore[no-untyped-def]
    rows = table[
        (table["metric"] == metric)
        & (table["convention"] == convention)
        & (table["group"] == group)
        & (table["mode"] == mode)
    ]
    rows = (
        rows[rows["lambda"].isna()] if least is None else rows[rows["lambda"] == least]
    )
    [found] = rows.itertuples()
    return found


def scored(
    claims: Sequence[Claim], predictions: Sequence[Prediction], **options: object
):  # type: ignore[no-untyped-def]
    return score_submission(claims, predictions, Covering(), resamples=50, **options)  # type: ignore[arg-type]


def test_a_verdict_counts_if_recall_is_above_lambda_and_not_if_it_equals_it() -> None:
    claims = [claim(str(number)) for number in range(4)]
    table = scored(
        claims, [predicted(str(number), number) for number in range(4)]
    ).table  # recall 0, .2, .4, .6
    assert [
        value(table, "verdict accuracy", least).value for least in (0.2, 0.3, 0.4)
    ] == [0.5, 0.5, 0.25]


def test_a_justification_is_its_rouge_recall_and_zero_below_lambda() -> None:
    predictions = [
        predicted("0", 3, justification="The boat is old"),
        predicted("1", 1),
    ]
    table = scored([claim("0"), claim("1")], predictions).table
    assert value(table, "justification", 0.3).value == pytest.approx(3 / 6 / 2)
    assert value(table, "justification", mode="").value == pytest.approx(
        (3 / 6 + 1) / 2
    )


def test_f1_is_an_option() -> None:
    predictions = [predicted("0", 3, justification="The boat is old")]
    assert value(
        scored([claim("0")], predictions, rouge="f1").table, "justification", 0.3
    ).value == pytest.approx(2 * 0.5 * 0.75 / 1.25)


def test_claims_without_predicted_evidence_leave_the_official_mean_and_weigh_on_the_corrected_one() -> (
    None
):
    nothing = Prediction("1", (), (), "Refuted", "The boat is not from Paris.")
    table = scored([claim("0"), claim("1")], [predicted("0", 5), nothing]).table
    official, corrected = (
        value(table, "verdict accuracy", 0.2, convention)
        for convention in ("official", "corrected")
    )
    assert (official.value, official.n, official.unscored) == (1, 1, 1)
    assert (corrected.value, corrected.n, corrected.unscored) == (0.5, 2, 0)


def test_a_reply_that_does_not_parse_is_counted_and_shown() -> None:
    scores = scored([claim("0"), claim("1")], [predicted("0", 5), predicted("1", -1)])
    assert scores.problems.to_numpy().tolist() == [
        ["1", "text-only", "cannot be read"],
        ["1", "interleaved", "cannot be read"],
    ]
    assert scores.about["problems"] == 2
    official, corrected = (
        value(scores.table, "evidence recall", None, convention)
        for convention in ("official", "corrected")
    )
    assert (official.value, corrected.value, corrected.n, corrected.unscored) == (
        0.5,
        1,
        1,
        1,
    )


def test_predictions_go_by_id_whatever_their_order() -> None:
    claims = [claim("0", "Refuted"), claim("1", "Supported")]
    predictions = [predicted("1", 5, "Supported"), predicted("0", 5, "Refuted")]
    assert value(scored(claims, predictions).table, "verdict accuracy", 0.4).value == 1


def test_a_verdict_in_another_spelling_is_right_only_in_the_corrected_convention() -> (
    None
):
    claims = [claim("0", "Conflicting/Cherrypicking"), claim("1", "Refuted")]
    table = scored(
        claims, [predicted("0", 5, "Conflicting"), predicted("1", 5, " refuted ")]
    ).table
    assert [
        value(table, "verdict accuracy", 0.4, convention).value
        for convention in ("official", "corrected")
    ] == [0.5, 1]


def test_each_class_has_rows_of_its_own_and_absent_ones_none() -> None:
    table = scored(
        [claim("0"), claim("1", "Supported")], [predicted("0", 5), predicted("1", 5)]
    ).table
    assert value(table, "verdict accuracy", 0.2, group="Supported").value == 0
    assert value(table, "verdict accuracy", 0.2, group="Refuted").value == 1
    assert set(table["group"]) == {"all", "Supported", "Refuted"}


def test_intervals_are_drawn_over_claims_and_hold_the_value() -> None:
    claims = [claim(str(number)) for number in range(12)]
    found = value(
        scored(
            claims, [predicted(str(number), number % 6) for number in range(12)]
        ).table,
        "evidence recall",
    )
    assert found.value == pytest.approx(0.5)
    assert found.low < found.value < found.high


def test_each_claim_has_a_row_with_all_its_shares() -> None:
    scores = scored([claim("0")], [predicted("0", 2)])
    [row] = scores.claims.to_dict("records")
    assert (row["claim"], row["references"], row["predictions"], row["problems"]) == (
        "0",
        5,
        1,
        0,
    )
    assert (
        row["separated_recall_official"]
        == row["text-only_recall_official"]
        == row["interleaved_recall_official"]
        == 0.4
    )
    assert row["separated_precision_official"] == 1


def test_threads_change_nothing() -> None:
    claims, predictions = (
        [claim(str(number)) for number in range(6)],
        [predicted(str(number), number % 6) for number in range(6)],
    )
    pd.testing.assert_frame_equal(
        scored(claims, predictions).table, scored(claims, predictions, workers=4).table
    )


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([], r"the submission lacks 1 claim\(s\): 0"),
        (
            [predicted("0", 1), predicted("9", 1)],
            r"the submission has 1 claim\(s\) that the reference lacks: 9",
        ),
    ],
)
def test_submissions_of_other_claims_are_an_error(
    predictions: list[Prediction], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        scored([claim("0")], predictions)


def test_missing_claims_can_count_as_wrong() -> None:
    table = scored([claim("0"), claim("1")], [predicted("0", 5)], missing="wrong").table
    assert value(table, "verdict accuracy", mode="").value == 0.5
    assert value(table, "verdict accuracy", 0.2, "corrected").value == 0.5


def test_claims_whose_label_is_withheld_cannot_be_scored_against() -> None:
    with pytest.raises(DataError, match="no label: 0"):
        scored([claim("0", "")], [predicted("0", 1)])


@pytest.mark.parametrize(
    "options",
    [
        {"rouge": "precision"},
        {"missing": "skip"},
        {"modes": ("joint",)},
        {"modes": ()},
        {"workers": 0},
    ],
)
def test_options_that_do_not_exist_are_errors(options: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        scored([claim("0")], [predicted("0", 1)], **options)


def test_statements_stand_in_for_questions_and_answers() -> None:
    said = {"0": (Evidence("Another fact altogether."),)}
    prediction = Prediction(
        "0", (), (Evidence("Another fact altogether."),), "Refuted", ""
    )
    scores = score_submission(
        [claim("0")], [prediction], LexicalJudge(), statements=said, resamples=50
    )
    assert scores.claims["separated_recall_official"].tolist() == [1]


def test_the_references_own_evidence_scores_one_on_made_claims(
    made: MadeClaims,
) -> None:
    claims = made.splits["val"]
    predictions = [
        Prediction(
            each.id,
            tuple(question.text for question in each.questions),
            reference_evidence(each),
            each.label,
            each.justification,
        )
        for each in claims
    ]
    scores = score_submission(
        claims,
        predictions,
        LexicalJudge(),
        files=image_files(made.images),
        resamples=50,
    )
    everyone = scores.table[scores.table["group"] == "all"]
    assert everyone["value"].min() == 1
    assert scores.problems.empty


def test_evidence_with_the_wrong_pictures_keeps_its_text_score_alone(
    made: MadeClaims,
) -> None:
    claims = made.splits["train"]
    first, second = claims[0].images[0], claims[-1].images[0]

    def swapped(each: Claim) -> tuple[Evidence, ...]:
        other = first if first not in each.images else second
        return tuple(
            replace(item, images=tuple(other for _ in item.images))
            for item in reference_evidence(each)
        )

    predictions = [
        Prediction(each.id, (), swapped(each), each.label, each.justification)
        for each in claims
    ]
    scores = score_submission(
        claims,
        predictions,
        LexicalJudge(),
        files=image_files(made.images),
        resamples=50,
    )
    recall = {
        mode: value(scores.table, "evidence recall", mode=mode).value
        for mode in ("text-only", "interleaved", "separated")
    }
    assert recall["text-only"] == 1
    assert max(recall["interleaved"], recall["separated"]) < 0.7


def test_images_that_no_folder_was_given_for_are_problems_and_not_zeros(
    made: MadeClaims,
) -> None:
    claims = made.splits["val"]
    predictions = [
        Prediction(each.id, (), reference_evidence(each), each.label, "")
        for each in claims
    ]
    scores = score_submission(
        claims, predictions, LexicalJudge(), modes=("separated",), resamples=50
    )
    corrected = value(scores.table, "evidence recall", None, "corrected")
    assert corrected.unscored == len(claims)
    assert math.isnan(corrected.value)
    assert scores.problems["problem"].str.startswith("no file of the image").all()


def test_averitec_is_scored_with_the_deterministic_judge(real_data: Path) -> None:
    from averimatec import read_claims

    claims = read_claims(real_data / "averitec" / "dev.json")[:100]
    predictions = [
        Prediction(
            each.id, (), reference_evidence(each)[:1], each.label, each.justification
        )
        for each in claims
    ]
    found = value(
        score_submission(claims, predictions, LexicalJudge(), resamples=50).table,
        "evidence recall",
        convention="corrected",
    )
    expected = sum(1 / len(each.questions) for each in claims) / len(claims)
    assert found.value == pytest.approx(expected)
