from __future__ import annotations

import json
from pathlib import Path

import pytest

from averimatec import (
    Answer,
    Claim,
    Evidence,
    Prediction,
    Question,
    read_submission,
    reference_evidence,
    write_submission,
)
from averimatec.submission import image_tokens, read_statements
from verite.errors import DataError


def written(folder: Path, rows: object) -> Path:
    path = folder / "submission.json"
    path.write_text(json.dumps(rows), encoding="utf8")
    return path


def test_the_official_format_is_read_and_written(tmp_path: Path) -> None:
    row = {
        "id": 3,
        "questions": ["Where?"],
        "evidence": [{"text": "[IMG_1] is Rome.", "images": ["/data/images/a.png"]}],
        "verdict": "Refuted",
        "justification": "It is Rome.",
    }
    [prediction] = read_submission(written(tmp_path, [row]))
    assert prediction == Prediction(
        "3",
        ("Where?",),
        (Evidence("[IMG_1] is Rome.", ("a.png",)),),
        "Refuted",
        "It is Rome.",
    )
    write_submission(tmp_path / "again.json", [prediction])
    assert json.loads((tmp_path / "again.json").read_text()) == [
        row | {"evidence": [{"text": "[IMG_1] is Rome.", "images": ["a.png"]}]}
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"questions": []}], "item 0: expected an object with the id of its claim"),
        ([{"id": True}], "item 0: expected an object with the id of its claim"),
        (
            [{"id": 1, "evidence": ["It is Rome."]}],
            "claim 1, evidence: expected a list of objects",
        ),
        (
            [{"id": 1, "questions": [{"q": 1}]}],
            "claim 1, questions: expected a list of texts",
        ),
        (
            [{"id": 1, "evidence": [{"text": 3}]}],
            "claim 1, evidence[0], text: expected text, found 3",
        ),
        ([{"id": 1}, {"id": "1"}], "claim 1: stands in the file more than once"),
    ],
)
def test_what_is_not_in_the_format_is_named(
    tmp_path: Path, rows: object, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        read_submission(written(tmp_path, rows))
    assert message in str(caught.value)


def test_questions_and_answers_become_evidence_with_tokens_for_their_images() -> None:
    boolean = Question(
        "Is it Rome?",
        (Answer("Boolean", "No", "It is Paris."),),
        images=("a.png", "b.png"),
    )
    image = Question(
        "What does it look like?",
        (Answer("Image", images=("c.png",)),),
        images=("a.png",),
    )
    unanswered = Question("Who took it?", (Answer("Unanswerable"),))
    asked = Question("When?")
    assert reference_evidence(
        Claim("0", "A boat.", questions=(boolean, image, unanswered, asked))
    ) == (
        Evidence("Is it Rome? [IMG_1] [IMG_2] No. It is Paris.", ("a.png", "b.png")),
        Evidence("What does it look like? [IMG_1] [IMG_2]", ("a.png", "c.png")),
        Evidence("Who took it? No answer could be found."),
        Evidence("When? No answer could be found."),
    )


def test_image_tokens_count_each_items_own_list() -> None:
    assert image_tokens("[IMG_2], unlike [IMG_1] and [IMG_x]") == (2, 1)


def test_statements_of_a_model_are_matched_to_the_claims(tmp_path: Path) -> None:
    claims = [
        Claim("0", "A boat.", questions=(Question("Where?"),)),
        Claim("1", "A dog."),
    ]
    path = written(tmp_path, [[{"text": "It is in Rome.", "images": []}], []])
    assert read_statements(path, claims) == {
        "0": (Evidence("It is in Rome."),),
        "1": (),
    }


def test_statements_of_other_claims_are_an_error(tmp_path: Path) -> None:
    claims = [Claim("0", "A boat.", questions=(Question("Where?"),))]
    with pytest.raises(DataError, match="2 lists of statements beside 1 claims"):
        read_statements(written(tmp_path, [[], []]), claims)
    with pytest.raises(
        DataError,
        match="claim 0: expected a statement for each of its 1 questions, found 0",
    ):
        read_statements(written(tmp_path, [[]]), claims)
