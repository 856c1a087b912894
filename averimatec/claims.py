"""Claims with evidence: AVerImaTeC's published JSON, and AVeriTeC's, in one typed form.

A claim is a text with images, and what fact-checkers need to know of it: the speaker,
the place, the date. Questions with answers from the web lead to its verdict (AVerImaTeC
paper, section 3). AVeriTeC is the same scheme without images and with other names for
some fields.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, AliasPath, BeforeValidator
from pydantic.fields import Field

from averimatec.reading import (
    Day,
    FileNames,
    Identifier,
    RequiredText,
    Text,
    Texts,
    expected,
    parse_rows,
    read_rows,
)
from verite.errors import MissingDataError
from verite.files import write_text

SUPPORTED = "Supported"
REFUTED = "Refuted"
NOT_ENOUGH_EVIDENCE = "Not Enough Evidence"
CONFLICTING = "Conflicting/Cherrypicking"

VERDICTS = (SUPPORTED, REFUTED, CONFLICTING, NOT_ENOUGH_EVIDENCE)
"""The four verdicts, in the order of Table 2's last row."""

ANSWER_TYPES = ("Extractive", "Abstractive", "Boolean", "Image", "Unanswerable")


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.lower())


_VERDICT_SPELLINGS = {_letters(verdict): verdict for verdict in VERDICTS} | {
    "conflicting": CONFLICTING,
    "conflictingevidence": CONFLICTING,
    "conflictingevidencecherrypicking": CONFLICTING,
    "cherrypicking": CONFLICTING,
    "nee": NOT_ENOUGH_EVIDENCE,
}
_ANSWER_SPELLINGS = {_letters(kind): kind for kind in ANSWER_TYPES} | {
    "booleanwithexplanation": "Boolean"
}


def plain_verdict(text: str) -> str:
    """Verdict that a spelling means, or an empty text; files spell them differently.

    >>> plain_verdict(" Conflicting Evidence/Cherry-picking"), plain_verdict("false")
    ('Conflicting/Cherrypicking', '')
    """
    return _VERDICT_SPELLINGS.get(_letters(text), "")


def _label(value: Any) -> str:
    verdict = plain_verdict(str(value or ""))
    if value and not verdict:
        raise expected(f"one of {', '.join(VERDICTS)}")
    return verdict


def _answer_type(value: Any) -> str:
    kind = _ANSWER_SPELLINGS.get(_letters(str(value)))
    if kind is None:
        raise expected(f"one of {', '.join(ANSWER_TYPES)}")
    return kind


def _named(*names: str) -> Any:
    """A field under any of these names in a file."""
    return Field(validation_alias=AliasChoices(*names))


def _metadata(*names: str) -> Any:
    """A field of ``metadata`` in AVerImaTeC, of the claim itself in AVeriTeC."""
    inner = [AliasPath("metadata", name) for name in names]
    return Field(validation_alias=AliasChoices(*inner, *names))


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
        Reason for a yes or no.
    images
        Names of the files that are the answer.
    url, medium
        The source and its kind ("Web text", "PDF"); empty where there is none.
    """

    kind: Annotated[str, BeforeValidator(_answer_type), _named("answer_type")]
    text: Annotated[Text, _named("answer_text", "answer")] = ""
    explanation: Annotated[Text, _named("boolean_explanation")] = ""
    images: Annotated[FileNames, _named("image_answers")] = ()
    url: Annotated[Text, _named("source_url")] = ""
    medium: Annotated[Text, _named("source_medium")] = ""


def _complete(answer: Answer) -> Answer:
    if answer.kind == "Image" and not answer.images:
        raise expected("at least one image in image_answers")
    if answer.kind not in ("Image", "Unanswerable") and not answer.text:
        raise expected("text in answer_text")
    return answer


@dataclass(frozen=True)
class Question:
    """A question, its images, and its answers: several where the evidence disagrees."""

    text: Annotated[RequiredText, _named("question")]
    answers: tuple[Annotated[Answer, AfterValidator(_complete)], ...] = ()
    kinds: Annotated[Texts, _named("question_type")] = ()
    """Such as "Image-related"; AVeriTeC has none."""
    method: Annotated[Text, _named("answer_method")] = ""
    """How it was answered, such as "Image-search"; AVeriTeC does not say."""
    images: Annotated[FileNames, _named("input_images")] = ()


@dataclass(frozen=True)
class Claim:
    """A claim with its evidence.

    Attributes
    ----------
    id
        The file's own id, or else the claim's place in the file, counted from 0 as
        submissions count.
    label
        One of :data:`VERDICTS`; empty where it is withheld.
    publisher
        Where it was published first: ``reporting_source`` of the files.
    url
        Address where it first appeared.
    refuting_reasons, image_misuse_types
        Why it is refuted, such as "Misuse of images", and how images were misused, such
        as "Out-of-context".
    reannotated
        Whether it went through the second round of checks; None where the file does not
        say.
    """

    id: Identifier
    text: Annotated[RequiredText, _named("claim_text", "claim")]
    images: Annotated[FileNames, _named("claim_images")] = ()
    label: Annotated[str, BeforeValidator(_label)] = ""
    date: Annotated[Day, _named("date", "claim_date")] = None
    justification: Text = ""
    questions: tuple[Question, ...] = ()
    location: Annotated[Text, _named("location", "location_ISO_code")] = ""
    speaker: Annotated[Text, _metadata("speaker")] = ""
    publisher: Annotated[Text, _metadata("reporting_source", "publisher")] = ""
    url: Annotated[Text, _metadata("original_claim_url")] = ""
    article: Annotated[Text, _named("article", "fact_checking_article")] = ""
    claim_types: Annotated[Texts, _metadata("claim_types")] = ()
    strategies: Annotated[Texts, _metadata("fact_checking_strategies")] = ()
    refuting_reasons: Annotated[Texts, _metadata("refuting_reasons")] = ()
    image_misuse_types: Annotated[Texts, _metadata("image_misuse_types")] = ()
    reannotated: Annotated[bool | None, _metadata("required_reannotation")] = None

    def image_names(self) -> tuple[str, ...]:
        """Names of all images of claim, questions and answers, without repeats."""
        names = [*self.images]
        for question in self.questions:
            names += question.images
            names += [name for answer in question.answers for name in answer.images]
        return tuple(dict.fromkeys(names))


def read_claims(path: str | os.PathLike[str]) -> tuple[Claim, ...]:
    """Read claims as AVerImaTeC or AVeriTeC publish them: an array, or one per line.

    Raises
    ------
    MissingDataError
        There is no such file.
    DataError
        Fields are wrong; the message names claims and fields.

    >>> import datetime, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "val.json"
    >>> boat = Claim("0", "A boat.", ("a.png",), REFUTED, datetime.date(2023, 7, 8))
    >>> write_claims(path, [boat])
    >>> read_claims(path) == (boat,)
    True
    """
    rows = [
        {"id": row.get("claim_id", place), **row} if isinstance(row, dict) else row
        for place, row in enumerate(read_rows(path))
    ]
    return parse_rows(Claim, rows, lambda row, _: f"claim {row['id']}", path)


def claims_json(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """Claims as AVerImaTeC's JSON writes them, without ids: places serve as ids."""
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


def _question_json(question: Question) -> dict[str, Any]:
    answers = []
    for answer in question.answers:
        row: dict[str, Any] = {"answer_type": answer.kind}
        if answer.kind == "Image":
            row["image_answers"] = list(answer.images)
        else:
            row["answer_text"] = answer.text
        if answer.kind == "Boolean":
            row["boolean_explanation"] = answer.explanation
        answers.append(row | {"source_url": answer.url, "source_medium": answer.medium})
    return {
        "question": question.text,
        "question_type": list(question.kinds),
        "answer_method": question.method,
        "input_images": list(question.images),
        "answers": answers,
    }


def write_claims(path: str | os.PathLike[str], claims: Iterable[Claim]) -> None:
    """Write claims as AVerImaTeC's JSON."""
    rows = claims_json(claims)
    write_text(path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def image_files(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Files of a folder by name."""
    place = Path(folder)
    if not place.is_dir():
        raise MissingDataError(
            f"no such folder of images: {place}. Unpack the data set's images.zip and"
            " name its folder."
        )
    return {path.name: path for path in sorted(place.iterdir()) if path.is_file()}


def missing_images(
    claims: Iterable[Claim], files: Mapping[str, Path]
) -> dict[str, tuple[str, ...]]:
    """Images that claims name and a folder lacks, by claim.

    >>> claim = Claim("0", "A boat.", ("a.png", "b.png"))
    >>> missing_images([claim], {"a.png": Path("a.png")})
    {'0': ('b.png',)}
    """
    missing = {
        claim.id: tuple(name for name in claim.image_names() if name not in files)
        for claim in claims
    }
    return {claim: names for claim, names in missing.items() if names}
