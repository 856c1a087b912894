"""Files of claims, submissions and pages: what is read, what is reported."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from averimatec import (
    Answer,
    Claim,
    Evidence,
    Page,
    Prediction,
    Question,
    image_files,
    read_claims,
    read_store,
    read_submission,
    reference_evidence,
    write_claims,
    write_store,
    write_submission,
)
from averimatec.claims import CONFLICTING, claims_json, missing_images
from averimatec.submission import read_statements
from verite.errors import DataError, MissingDataError

DAY = datetime.date(2020, 5, 1)


def row(**changes: Any) -> dict[str, Any]:
    """A claim as AVerImaTeC's JSON writes it."""
    answer = {"answer_type": "Extractive", "answer_text": "In Rome."}
    answer |= {"source_url": "https://a.example/1", "source_medium": "Web text"}
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
    path = folder / "file.json"
    path.write_text(json.dumps(rows), encoding="utf8")
    return path


def test_claim_fields(tmp_path: Path) -> None:
    [claim] = read_claims(written(tmp_path, [row()]))
    url, images = "https://a.example/1", ("boat#0.jpg",)
    answer = Answer("Extractive", "In Rome.", url=url, medium="Web text")
    kinds = ("Image-related",)
    question = Question("Where is it?", (answer,), kinds, "Image-search", images)
    assert claim == Claim(
        "0",
        "A boat in Paris.",
        images,
        "Refuted",
        datetime.date(2023, 7, 8),
        "It is in Rome.",
        (question,),
        "IT",
        "a reader",
        "X",
        article="https://check.example",
        claim_types=("Causal Claim",),
        strategies=("Consultation",),
    )
    assert claim.image_names() == images


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "val.jsonl"
    lines = [json.dumps(row(claim_text=text)) for text in ("One.", "Two.")]
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    claims = read_claims(path)
    assert [(c.id, c.text) for c in claims] == [("0", "One."), ("1", "Two.")]


def test_averitec_names(tmp_path: Path) -> None:
    answer = {"answer": "In Rome.", "answer_type": "Abstractive", "source_url": None}
    averitec = {
        "claim": "A boat.",
        "label": "Conflicting Evidence/Cherrypicking",
        "claim_date": "8-7-2020",
        "location_ISO_code": "IT",
        "speaker": None,
        "reporting_source": "Facebook",
        "required_reannotation": True,
        "claim_types": ["Quote Verification"],
        "questions": [{"question": "Where?", "answers": [answer]}],
    }
    [claim] = read_claims(written(tmp_path, [averitec]))
    assert (claim.label, claim.date) == (CONFLICTING, datetime.date(2020, 7, 8))
    assert (claim.location, claim.publisher, claim.speaker) == ("IT", "Facebook", "")
    assert claim.reannotated is True
    assert claim.claim_types == ("Quote Verification",)
    assert claim.questions[0].answers[0].text == "In Rome."


def test_all_problems_at_once(tmp_path: Path) -> None:
    bad = row(label="False", date="July 2023", claim_text=None)
    bad["questions"][0]["answers"][0]["answer_type"] = "Guess"
    with pytest.raises(DataError, match="^[^\n]*$") as caught:
        read_claims(written(tmp_path, [row(), bad]))
    message = str(caught.value)
    for part in (
        "4 problem(s)",
        "claim 1, claim_text: expected text, found null",
        "claim 1, label: expected one of Supported, Refuted",
        "claim 1, date: expected a day such as 2023-07-08 or 8-7-2023, found",
        "claim 1, questions[0], answers[0], answer_type: expected one of Extractive",
    ):
        assert part in message


def _question(**fields: object) -> dict[str, Any]:
    return {"questions": [{"question": "Which?", **fields}]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"questions": {"question": "Where?"}}, "claim 0, questions: expected a list"),
        ({"claim_images": [3]}, "claim 0, claim_images[0]: expected text, found 3"),
        ({"date": "2023-02-30"}, "claim 0, date: expected a day"),
        (_question(answers=[{"answer_type": "Image"}]), "expected at least one image"),
        (_question(answers=[{"answer_type": "Boolean"}]), "expected text in answer_te"),
        ({"required_reannotation": "no?"}, "expected true or false"),
    ],
)
def test_each_problem(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_claims(written(tmp_path, [row(**change)]))
    assert message in str(caught.value)


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "val.json"
    path.write_text(json.dumps([row()], indent=1)[:200], encoding="utf8")
    with pytest.raises(DataError, match=r"val.json, line \d+: expected JSON"):
        read_claims(path)
    with pytest.raises(DataError, match="duplicate: claim 7"):
        read_claims(written(tmp_path, [row(id=7), row(id=7)]))


def test_round_trip(tmp_path: Path) -> None:
    answers = Answer("Image", images=("b.png",)), Answer("Boolean", "No", "It is not.")
    which = Question("Which?", answers, ("Text-related",), "Text-search", ("a.png",))
    claim = Claim(
        "0",
        "A boat.",
        ("a.png",),
        CONFLICTING,
        DAY,
        "Because.",
        (which, Question("Who?", (Answer("Unanswerable"),))),
        refuting_reasons=("Others",),
        reannotated=False,
    )
    write_claims(tmp_path / "train.json", [claim])
    assert read_claims(tmp_path / "train.json") == (claim,)
    assert "answer_text" not in claims_json([claim])[0]["questions"][0]["answers"][0]


def test_missing_images(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    claims = [Claim("0", "A boat.", ("a.png", "b.png")), Claim("1", "A.", ("a.png",))]
    assert missing_images(claims, image_files(tmp_path)) == {"0": ("b.png",)}
    with pytest.raises(MissingDataError, match="no such folder of images"):
        image_files(tmp_path / "images")


def test_averitec_dev(real_data: Path) -> None:
    claims = read_claims(real_data / "averitec" / "dev.json")
    assert len(claims) == 500
    assert sum(len(claim.questions) for claim in claims) == 1287
    labels = [claim.label for claim in claims]
    counts = [labels.count(label) for label in ("Refuted", "Supported", CONFLICTING)]
    assert counts == [305, 122, 38]
    assert all(claim.date for claim in claims)


def test_submission_format(tmp_path: Path) -> None:
    evidence = {"text": "[IMG_1] is Rome.", "images": ["/data/images/a.png"]}
    official = {
        "id": 3,
        "questions": ["Where?"],
        "evidence": [evidence],
        "verdict": "Refuted",
        "justification": "It is Rome.",
    }
    [prediction] = read_submission(written(tmp_path, [official]))
    items = (Evidence("[IMG_1] is Rome.", ("a.png",)),)
    assert prediction == Prediction("3", ("Where?",), items, "Refuted", "It is Rome.")
    write_submission(tmp_path / "again.json", [prediction])
    evidence["images"] = ["a.png"]
    assert json.loads((tmp_path / "again.json").read_text()) == [official]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"questions": []}], "item 0, id: expected text, found nothing"),
        ([{"id": 1, "evidence": ["It is."]}], "claim 1, evidence[0]: expected an obj"),
        ([{"id": 1, "evidence": [{"text": 3}]}], "evidence[0], text: expected text, f"),
        ([{"id": 1}, {"id": "1"}], "duplicate: claim 1"),
    ],
)
def test_bad_submission(tmp_path: Path, rows: object, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_submission(written(tmp_path, rows))
    assert message in str(caught.value)


def test_reference_evidence() -> None:
    no, image = Answer("Boolean", "No", "It is Paris."), Answer("Image", images=("c",))
    questions = (
        Question("Is it Rome?", (no,), images=("a", "b")),
        Question("What does it look like?", (image,), images=("a",)),
        Question("Who took it?", (Answer("Unanswerable"),)),
        Question("When?"),
    )
    assert reference_evidence(Claim("0", "A boat.", questions=questions)) == (
        Evidence("Is it Rome? [IMG_1] [IMG_2] No. It is Paris.", ("a", "b")),
        Evidence("What does it look like? [IMG_1] [IMG_2]", ("a", "c")),
        Evidence("Who took it? No answer could be found."),
        Evidence("When? No answer could be found."),
    )


def test_statements(tmp_path: Path) -> None:
    claims = [Claim("0", "A.", questions=(Question("Where?"),)), Claim("1", "B.")]
    path = written(tmp_path, [[{"text": "In Rome.", "images": []}], []])
    assert read_statements(path, claims) == {"0": (Evidence("In Rome."),), "1": ()}
    with pytest.raises(DataError, match="expected statements for 1 claims, found 2"):
        read_statements(path, claims[:1])
    with pytest.raises(DataError, match="claim 0: expected 1 statements"):
        read_statements(written(tmp_path, [[]]), claims[:1])


def test_store(tmp_path: Path) -> None:
    pages = (
        Page("https://a.example", "Text ∂.", "Title", DAY, ("a.png",)),
        Page("https://b.example", "Text."),
    )
    store = read_store(write_store(tmp_path, pages, {"a.png": b"a"}))
    assert store.pages == pages
    assert store.pages_with("a.png") == pages[:1]
    assert store.images == {"a.png": tmp_path / "images" / "a.png"}
    page = {"claim_id": 12, "url": "https://a.example", "url2text": ["One.", "Two."]}
    shared_task = read_store(written(tmp_path, [page]))
    assert shared_task.pages == (Page("https://a.example", "One. Two."),)


def test_bad_pages(tmp_path: Path) -> None:
    rows = [{"url": "", "text": "x"}, {"url": "a", "date": "soon", "text": "y"}]
    with pytest.raises(DataError) as caught:
        read_store(written(tmp_path, [*rows, {"url": "b", "text": ""}]))
    assert "page 0, url: expected text" in str(caught.value)
    assert "page a, date: expected a day" in str(caught.value)
    assert "page b: expected text or a title" in str(caught.value)
    with pytest.raises(DataError, match="duplicate: page a"):
        read_store(written(tmp_path, [{"url": "a", "text": "x"}] * 2))
    with pytest.raises(MissingDataError, match=r"no such file: .*pages.jsonl"):
        read_store(tmp_path)
    with pytest.raises(DataError, match="expected a plain file name"):
        write_store(tmp_path, [], {"../a.png": b"a"})
