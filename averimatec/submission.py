"""Submissions and what they are compared with: evidence items in words and images.

The official format is a list of ``{"id", "questions", "evidence": [{"text", "images"}],
"verdict", "justification"}``. The text names images as ``[IMG_k]``, where k counts the
item's own list from 1.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from averimatec.claims import Claim, Question
from averimatec.reading import (
    FileNames,
    Identifier,
    Text,
    Texts,
    parse_rows,
    raise_problems,
    read_rows,
)
from verite.files import write_text

NO_ANSWER = "No answer could be found."


@dataclass(frozen=True)
class Evidence:
    """A statement, and the files that it names as ``[IMG_1]``, ``[IMG_2]``."""

    text: Text
    images: FileNames = ()


@dataclass(frozen=True)
class Prediction:
    """A system's output for one claim. ``verdict`` is kept as it was written."""

    id: Identifier
    questions: Texts = ()
    evidence: tuple[Evidence, ...] = ()
    verdict: Text = ""
    justification: Text = ""


def reference_evidence(claim: Claim) -> tuple[Evidence, ...]:
    """The claim's questions and answers as evidence items, one per question.

    The official scorer lets a language model turn question and answer into a statement.
    Here they are put side by side, with tokens for the question's images and for images
    that are an answer: the same facts in plainer words, and the same each time. See
    :func:`read_statements` for a model's statements.

    >>> from averimatec.claims import Answer
    >>> answers = Answer("Extractive", "In 2019."), Answer("Image", images=("b.png",))
    >>> question = Question("When was it taken?", answers, images=("a.png",))
    >>> reference_evidence(Claim("0", "A boat.", questions=(question,)))[0].text
    'When was it taken? [IMG_1] In 2019. [IMG_2]'
    """
    return tuple(_statement(question) for question in claim.questions)


def _statement(question: Question) -> Evidence:
    images = [*question.images]
    words = [question.text.replace("\n", " "), *_tokens(0, len(images))]
    for answer in question.answers:
        if answer.kind == "Image":
            words += _tokens(len(images), len(answer.images))
            images += answer.images
        elif answer.explanation:
            text = answer.text or NO_ANSWER
            words.append(f"{text.rstrip('.')}. {answer.explanation}")
        else:
            words.append(answer.text or NO_ANSWER)
    if not question.answers:
        words.append(NO_ANSWER)
    return Evidence(" ".join(word for word in words if word), tuple(images))


def _tokens(start: int, count: int) -> list[str]:
    return [f"[IMG_{place}]" for place in range(start + 1, start + count + 1)]


def read_submission(path: str | os.PathLike[str]) -> tuple[Prediction, ...]:
    """Read a submission in the official format.

    Raises
    ------
    DataError
        It is not in that format, or has a claim twice; the message names claims and
        fields.

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "submission.json")
    >>> write_submission(path, [Prediction("0", evidence=(Evidence("It is Rome."),))])
    >>> read_submission(path)[0].evidence
    (Evidence(text='It is Rome.', images=()),)
    """
    return parse_rows(
        Prediction,
        read_rows(path),
        lambda row, place: f"claim {row['id']}" if "id" in row else f"item {place}",
        path,
    )


def write_submission(
    path: str | os.PathLike[str], predictions: Iterable[Prediction]
) -> None:
    """Write a submission in the official format; an id of digits becomes a number."""
    rows = [asdict(prediction) for prediction in predictions]
    for row in rows:
        row["id"] = int(row["id"]) if row["id"].isdecimal() else row["id"]
    write_text(path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def read_statements(
    path: str | os.PathLike[str], claims: Iterable[Claim]
) -> dict[str, tuple[Evidence, ...]]:
    """Read reference evidence that a model put into words, by claim id.

    The file has one list of statements per claim, in the order of the claims.

    Raises
    ------
    DataError
        The lists do not fit the claims and their questions, or fields are wrong.
    """
    rows, claims = read_rows(path), list(claims)
    if len(rows) != len(claims):
        raise_problems(
            path, [f"expected statements for {len(claims)} claims, found {len(rows)}"]
        )
    statements = {}
    for claim, row in zip(claims, rows, strict=True):
        items = row if isinstance(row, list) else [row]
        if len(items) != len(claim.questions):
            wanted = f"{len(claim.questions)} statements, one per question"
            problem = f"claim {claim.id}: expected {wanted}, found {len(items)}"
            raise_problems(path, [problem])
        where = f"{path}, claim {claim.id}"
        statements[claim.id] = parse_rows(
            Evidence, items, lambda _, place: f"statement {place}", where
        )
    return statements
