"""Claims with evidence.

AVerImaTeC's published JSON, and AVeriTeC's, read into one typed form.

A claim is a text with images, and with what fact-checkers need to know of it: who said
it, where, when. Questions with answers from the web lead to its verdict (AVerImaTeC
paper, section 3). AVeriTeC is the same scheme without images and with other names for
some fields; :func:`read_claims` reads both.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from averimatec.reading import (
    Fields,
    letters,
    raise_problems,
    read_rows,
    repeated,
    short,
)
from verite.errors import MissingDataError
from verite.files import write_text

__all__ = [
    "ANSWER_TYPES",
    "CONFLICTING",
    "NOT_ENOUGH_EVIDENCE",
    "REFUTED",
    "SUPPORTED",
    "VERDICTS",
    "Answer",
    "Claim",
    "Question",
    "claims_json",
    "image_files",
    "missing_images",
    "plain_verdict",
    "read_claims",
    "write_claims",
]

SUPPORTED = "Supported"
REFUTED = "Refuted"
NOT_ENOUGH_EVIDENCE = "Not Enough Evidence"
CONFLICTING = "Conflicting/Cherrypicking"

VERDICTS = (SUPPORTED, REFUTED, CONFLICTING, NOT_ENOUGH_EVIDENCE)
"""The four verdicts, in the order of Table 2's last row."""

ANSWER_TYPES = ("Extractive", "Abstractive", "Boolean", "Image", "Unanswerable")


@dataclass(frozen=True)
class Answer:
    """One answer to a question.

    Attributes
    ----------
    kind
        One of :data:`ANSWER_TYPES`.
    text
        Empty for an image.
    explanation
        What comes with a yes or no.
    images
        Names of the files that are the answer.
    url, medium
        Where it was found, and what kind of source that is ("Web text", "PDF"); empty
        where there is none.
    """

    kind: str
    text: str = ""
    explanation: str = ""
    images: tuple[str, ...] = ()
    url: str = ""
    medium: str = ""


@dataclass(frozen=True)
class Question:
    """One question, the images it is about, and its answers.

    Several where the evidence disagrees.
    """

    text: str
    answers: tuple[Answer, ...] = ()
    kinds: tuple[str, ...] = ()
    """Such as "Image-related"; AVeriTeC has none."""
    method: str = ""
    """How it was answered, such as "Image-search"; AVeriTeC does not say."""
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim with its evidence.

    Attributes
    ----------
    id
        What the file calls it, or else its place in the file, counted from 0 as
        submissions count.
    label
        One of :data:`VERDICTS`; empty where it is withheld.
    publisher
        Who published it first: ``reporting_source`` of the files.
    url
        Where it first appeared.
    refuting_reasons, image_misuse_types
        Why it is refuted, such as "Misuse of images", and how images were misused, such
        as "Out-of-context".
    reannotated
        Whether it went through the second round of checks; None where the file does not
        say.
    """

    id: str
    text: str
    images: tuple[str, ...] = ()
    label: str = ""
    date: datetime.date | None = None
    justification: str = ""
    questions: tuple[Question, ...] = ()
    location: str = ""
    speaker: str = ""
    publisher: str = ""
    url: str = ""
    article: str = ""
    claim_types: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    refuting_reasons: tuple[str, ...] = ()
    image_misuse_types: tuple[str, ...] = ()
    reannotated: bool | None = None

    def image_names(self) -> tuple[str, ...]:
        """Names of all images of claim, questions and answers, each once."""
        names = [*self.images]
        for question in self.questions:
            names += [
                *question.images,
                *(name for answer in question.answers for name in answer.images),
            ]
        return tuple(dict.fromkeys(names))


def plain_verdict(text: str) -> str:
    """Verdict that a spelling means, or an empty text.

    Files write the fourth one in several ways.

    >>> plain_verdict(" Conflicting Evidence/Cherry-picking"), plain_verdict("refuted"), plain_verdict("NEE"), plain_verdict("false")
    ('Conflicting/Cherrypicking', 'Refuted', 'Not Enough Evidence', '')
    """
    return _SPELLINGS.get(letters(text), "")


def read_claims(path: str | os.PathLike[str]) -> tuple[Claim, ...]:
    """Read claims from JSON as AVerImaTeC or AVeriTeC publish them.

    One array, or one object a line.

    Labels and answer types must be known ones. Kinds of claims, strategies, methods and
    media are taken as they are.

    Raises
    ------
    MissingDataError
        There is no such file.
    DataError
        It is no such file, or fields are wrong; the message names claims and fields.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "val.json"
    >>> write_claims(path, [Claim("0", "A boat in Rome.", ("a.png",), REFUTED, datetime.date(2023, 7, 8))])
    >>> [claim] = read_claims(path)
    >>> claim.label, claim.date
    ('Refuted', datetime.date(2023, 7, 8))
    """
    rows = read_rows(path)
    problems: list[str] = []
    claims = []
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            problems.append(f"claim {place}: expected an object, found {short(row)}")
            continue
        name = str(row.get("id", row.get("claim_id", place)))
        claims.append(_claim(Fields(_renamed(row), f"claim {name}", problems), name))
    problems += [
        f"claim {name}: stands in the file more than once"
        for name in repeated(claim.id for claim in claims)
    ]
    raise_problems(path, problems, "Mend them, or take the file as it was published.")
    return tuple(claims)


def claims_json(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """Claims as AVerImaTeC's JSON writes them; ids are left to the places."""
    return [
        {
            "article": claim.article,
            "date": claim.date.isoformat() if claim.date else None,
            "label": claim.label,
            "location": claim.location,
            "questions": [_question_json(question) for question in claim.questions],
            "justification": claim.justification,
            "claim_text": claim.text,
            "claim_images": list(claim.images),
            "metadata": {
                "speaker": claim.speaker,
                "original_claim_url": claim.url,
                "reporting_source": claim.publisher,
                "claim_types": list(claim.claim_types),
                "fact_checking_strategies": list(claim.strategies),
                "refuting_reasons": list(claim.refuting_reasons),
                "image_misuse_types": list(claim.image_misuse_types),
                "required_reannotation": claim.reannotated,
            },
        }
        for claim in claims
    ]


def write_claims(path: str | os.PathLike[str], claims: Iterable[Claim]) -> None:
    """Write claims as AVerImaTeC's JSON, all or nothing."""
    write_text(
        path,
        json.dumps(claims_json(claims), indent=1, ensure_ascii=False, allow_nan=False)
        + "\n",
    )


def image_files(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Files of a folder by their names.

    Raises
    ------
    MissingDataError
        There is no such folder.
    """
    place = Path(folder)
    if not place.is_dir():
        raise MissingDataError(
            f"no such folder of images: {place}. Unpack the data set's images.zip, and"
            " name its folder."
        )
    return {path.name: path for path in sorted(place.iterdir()) if path.is_file()}


def missing_images(
    claims: Iterable[Claim], files: Mapping[str, Path]
) -> dict[str, tuple[str, ...]]:
    """Images that claims name and a folder lacks, by claim.

    >>> missing_images([Claim("0", "A boat.", ("a.png", "b.png"))], {"a.png": Path("a.png")})
    {'0': ('b.png',)}
    """
    lacking = {
        claim.id: tuple(name for name in claim.image_names() if name not in files)
        for claim in claims
    }
    return {name: images for name, images in lacking.items() if images}


_SPELLINGS = {
    **{letters(verdict): verdict for verdict in VERDICTS},
    **dict.fromkeys(
        (
            "conflicting",
            "conflictingevidencecherrypicking",
            "conflictingevidence",
            "cherrypicking",
        ),
        CONFLICTING,
    ),
    "nee": NOT_ENOUGH_EVIDENCE,
}
_KINDS = {
    **{kind.lower(): kind for kind in ANSWER_TYPES},
    "booleanwithexplanation": "Boolean",
}
_AVERITEC = {
    "claim": "claim_text",
    "claim_date": "date",
    "location_ISO_code": "location",
    "fact_checking_article": "article",
    "answer": "answer_text",
}


def _renamed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give AVeriTeC's fields the names that AVerImaTeC has for them."""
    if "claim" not in row or "claim_text" in row:
        return dict(row)
    named = {_AVERITEC.get(name, name): value for name, value in row.items()}
    return named | {
        "metadata": {
            name: value for name, value in row.items() if name not in _AVERITEC
        }
    }


def _claim(row: Fields, name: str) -> Claim:
    more = row.object("metadata")
    reannotated = row.flag("required_reannotation")
    return Claim(
        id=name,
        text=row.text("claim_text", required=True),
        images=row.images("claim_images"),
        label=row.choice("label", _SPELLINGS, VERDICTS, required=False),
        date=row.day("date"),
        justification=row.text("justification"),
        questions=tuple(_question(each) for each in row.objects("questions")),
        location=row.text("location"),
        speaker=more.text("speaker"),
        publisher=more.text("reporting_source") or more.text("publisher"),
        url=more.text("original_claim_url"),
        article=row.text("article"),
        claim_types=more.texts("claim_types"),
        strategies=more.texts("fact_checking_strategies"),
        refuting_reasons=more.texts("refuting_reasons"),
        image_misuse_types=more.texts("image_misuse_types"),
        reannotated=(
            more.flag("required_reannotation") if reannotated is None else reannotated
        ),
    )


def _question(row: Fields) -> Question:
    return Question(
        text=row.text("question", required=True),
        answers=tuple(_answer(each) for each in row.objects("answers")),
        kinds=row.texts("question_type"),
        method=row.text("answer_method"),
        images=row.images("input_images"),
    )


def _answer(row: Fields) -> Answer:
    kind = row.choice("answer_type", _KINDS, ANSWER_TYPES)
    images = row.images("image_answers")
    if kind == "Image" and not images:
        row.wrong("image_answers", "at least one image, for it is the answer", [])
    text = row.text("answer_text") or row.text("answer")
    if kind not in ("", "Image", "Unanswerable") and not text:
        row.wrong("answer_text", "text", text)
    return Answer(
        kind=kind,
        text=text,
        explanation=row.text("boolean_explanation"),
        images=images,
        url=row.text("source_url"),
        medium=row.text("source_medium"),
    )


def _question_json(question: Question) -> dict[str, Any]:
    return {
        "question": question.text,
        "question_type": list(question.kinds),
        "answer_method": question.method,
        "input_images": list(question.images),
        "answers": [_answer_json(answer) for answer in question.answers],
    }


def _answer_json(answer: Answer) -> dict[str, Any]:
    row: dict[str, Any] = {"answer_type": answer.kind}
    if answer.kind == "Image":
        row["image_answers"] = list(answer.images)
    else:
        row["answer_text"] = answer.text
    if answer.kind == "Boolean":
        row["boolean_explanation"] = answer.explanation
    return row | {"source_url": answer.url, "source_medium": answer.medium}
