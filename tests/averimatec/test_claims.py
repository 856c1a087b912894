from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from averimatec import Answer, Claim, Question, image_files, read_claims, write_claims
from averimatec.claims import CONFLICTING, claims_json, missing_images, plain_verdict
from verite.errors import DataError, MissingDataError


def row(**changes: Any) -> dict[str, Any]:
    """A claim as AVerImaTeC's JSON writes it."""
    answer = {
        "answer_type": "Extractive",
        "answer_text": "In Rome.",
        "source_url": "https://a.example/1",
        "source_medium": "Web text",
    }
    question = {
        "question": "Where is it?",
        "question_type": ["Image-related"],
        "answer_method": "Image-search",
        "input_images": ["/data/images/boat#0.jpg"],
        "answers": [answer],
    }
    metadata = {
        "speaker": "a reader",
        "reporting_source": "X",
        "claim_types": ["Causal Claim"],
        "fact_checking_strategies": ["Consultation"],
    }
    return {
        "article": "https://check.example",
        "date": "2023-07-08",
        "label": "Refuted",
        "location": "IT",
        "questions": [question],
        "justification": "It is in Rome.",
        "claim_text": "A boat in Paris.",
        "claim_images": ["boat#0.jpg"],
        "metadata": metadata,
    } | changes


def written(folder: Path, rows: object) -> Path:
    path = folder / "val.json"
    path.write_text(json.dumps(rows), encoding="utf8")
    return path


def test_a_claim_is_read_with_its_metadata_questions_and_answers(
    tmp_path: Path,
) -> None:
    [claim] = read_claims(written(tmp_path, [row()]))
    assert (claim.id, claim.text, claim.label, claim.date) == (
        "0",
        "A boat in Paris.",
        "Refuted",
        datetime.date(2023, 7, 8),
    )
    assert (claim.speaker, claim.publisher, claim.location) == ("a reader", "X", "IT")
    assert (claim.claim_types, claim.strategies) == (
        ("Causal Claim",),
        ("Consultation",),
    )
    [question] = claim.questions
    assert (question.kinds, question.method) == (("Image-related",), "Image-search")
    assert question.answers == (
        Answer("Extractive", "In Rome.", url="https://a.example/1", medium="Web text"),
    )


def test_images_go_by_their_names_whatever_folder_a_file_puts_in_front(
    tmp_path: Path,
) -> None:
    [claim] = read_claims(written(tmp_path, [row()]))
    assert claim.questions[0].images == ("boat#0.jpg",)
    assert claim.image_names() == ("boat#0.jpg",)


def test_claims_one_a_line_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "val.jsonl"
    path.write_text(
        "\n".join(json.dumps(row(claim_text=text)) for text in ("One.", "Two.")) + "\n",
        encoding="utf8",
    )
    assert [(claim.id, claim.text) for claim in read_claims(path)] == [
        ("0", "One."),
        ("1", "Two."),
    ]


def test_averitecs_names_of_fields_and_days_are_read(tmp_path: Path) -> None:
    averitec = {
        "claim": "A boat.",
        "label": "Conflicting Evidence/Cherrypicking",
        "claim_date": "8-7-2020",
        "location_ISO_code": "IT",
        "speaker": None,
        "reporting_source": "Facebook",
        "required_reannotation": True,
        "claim_types": ["Quote Verification"],
        "questions": [
            {
                "question": "Where?",
                "answers": [
                    {
                        "answer": "In Rome.",
                        "answer_type": "Abstractive",
                        "source_url": "",
                    }
                ],
            }
        ],
    }
    [claim] = read_claims(written(tmp_path, [averitec]))
    assert (claim.label, claim.date, claim.location, claim.publisher) == (
        CONFLICTING,
        datetime.date(2020, 7, 8),
        "IT",
        "Facebook",
    )
    assert claim.reannotated is True
    assert claim.questions[0].answers[0].text == "In Rome."


def test_what_is_wrong_is_named_by_claim_and_field_all_at_once(tmp_path: Path) -> None:
    bad = row(label="False", date="July 2023", claim_text=None)
    bad["questions"][0]["answers"][0]["answer_type"] = "Guess"
    with pytest.raises(DataError) as caught:
        read_claims(written(tmp_path, [row(), bad]))
    message = str(caught.value)
    assert "4 field(s) cannot be read" in message
    assert "claim 1, claim_text: expected text, found null" in message
    assert (
        "claim 1, label: expected one of Supported, Refuted, Conflicting/Cherrypicking,"
        ' Not Enough Evidence, found "False"' in message
    )
    assert (
        'claim 1, date: expected a day such as 2023-07-08 or 8-7-2023, found "July'
        ' 2023"' in message
    )
    assert (
        "claim 1, questions[0], answers[0], answer_type: expected one of Extractive,"
        " Abstractive, Boolean, Image, Unanswerable" in message
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"questions": {"question": "Where?"}},
            "claim 0, questions: expected a list of objects",
        ),
        ({"claim_images": [3]}, "claim 0, claim_images: expected a list of texts"),
        ({"metadata": "none"}, 'claim 0, metadata: expected an object, found "none"'),
        ({"date": "2023-02-30"}, "claim 0, date: expected a day"),
        (
            {"questions": [{"question": "", "answers": []}]},
            "claim 0, questions[0], question: expected text",
        ),
        (
            {
                "questions": [
                    {"question": "Which?", "answers": [{"answer_type": "Image"}]}
                ]
            },
            "image_answers: expected at least one image",
        ),
        (
            {
                "questions": [
                    {"question": "Which?", "answers": [{"answer_type": "Boolean"}]}
                ]
            },
            "answer_text: expected text",
        ),
    ],
)
def test_each_wrong_field_has_its_own_message(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match="^[^\n]*$") as caught:
        read_claims(written(tmp_path, [row(**change)]))
    assert message in str(caught.value)


def test_a_file_cut_short_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "val.json"
    path.write_text(json.dumps([row()], indent=1)[:200], encoding="utf8")
    with pytest.raises(DataError, match=r"val.json, line \d+: expected JSON"):
        read_claims(path)


def test_two_claims_with_one_id_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="claim 7: stands in the file more than once"):
        read_claims(written(tmp_path, [row(id=7), row(id=7)]))


def test_a_split_without_gold_is_read_without_labels_and_questions(
    tmp_path: Path,
) -> None:
    [claim] = read_claims(
        written(
            tmp_path,
            [
                {
                    "claim_text": "A boat.",
                    "claim_images": ["a.jpg"],
                    "date": "2024-01-02",
                    "location": "US",
                }
            ],
        )
    )
    assert (claim.label, claim.questions) == ("", ())


def test_what_is_written_is_read_again_unchanged(tmp_path: Path) -> None:
    questions = (
        Question(
            "Which?",
            (Answer("Image", images=("b.png",)), Answer("Boolean", "No", "It is not.")),
            ("Text-related",),
            "Text-search",
            ("a.png",),
        ),
        Question("Who?", (Answer("Unanswerable"),)),
    )
    claim = Claim(
        "0",
        "A boat.",
        ("a.png",),
        CONFLICTING,
        datetime.date(2020, 1, 2),
        "Because.",
        questions,
        refuting_reasons=("Others",),
        reannotated=False,
    )
    write_claims(tmp_path / "train.json", [claim])
    assert read_claims(tmp_path / "train.json") == (claim,)
    assert claims_json([claim])[0]["questions"][0]["answers"][0] == {
        "answer_type": "Image",
        "image_answers": ["b.png"],
        "source_url": "",
        "source_medium": "",
    }


def test_missing_images_are_reported_by_claim(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    claims = [
        Claim("0", "A boat.", ("a.png", "b.png")),
        Claim("1", "A dog.", ("a.png",)),
    ]
    assert missing_images(claims, image_files(tmp_path)) == {"0": ("b.png",)}


def test_a_folder_of_images_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="no such folder of images"):
        image_files(tmp_path / "images")


def test_an_unknown_verdict_has_no_plain_spelling() -> None:
    assert plain_verdict("half true") == ""


def test_averitecs_development_set_is_read_whole(real_data: Path) -> None:
    claims = read_claims(real_data / "averitec" / "dev.json")
    assert len(claims) == 500
    assert sum(len(claim.questions) for claim in claims) == 1287
    assert [
        sum(claim.label == label for claim in claims)
        for label in ("Refuted", "Supported", CONFLICTING)
    ] == [305, 122, 38]
    assert all(claim.date for claim in claims)
