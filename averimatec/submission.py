"""What a system hands in, and what it is compared with.

Evidence items in words and images.

The official format is a list of ``{"id", "questions", "evidence": [{"text", "images"}],
"verdict", "justification"}``. Images are named in the text as ``[IMG_k]``, where k
counts the item's own list from 1.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from averimatec.claims import Claim, Question
from averimatec.reading import Fields, raise_problems, read_rows, repeated
from verite.errors import DataError
from verite.files import write_text

__all__ = [
    "Evidence",
    "Prediction",
    "read_statements",
    "read_submission",
    "reference_evidence",
    "write_submission",
]

NO_ANSWER = "No answer could be found."
_TOKEN = re.compile(r"\[IMG_(\d+)\]")


@dataclass(frozen=True)
class Evidence:
    """A statement and the images it names as ``[IMG_1]``, ``[IMG_2]``.

    Names of files.
    """

    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """What a system says of one claim. ``verdict`` is kept as it was written."""

    id: str
    questions: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdict: str = ""
    justification: str = ""


def reference_evidence(claim: Claim) -> tuple[Evidence, ...]:
    """The claim's questions and answers as evidence items, one a question.

    The official scorer lets a language model turn question and answer into a statement.
    Here they are put side by side, with a token for each image of the question behind
    it and one for each image that is an answer in its place: the same facts in plainer
    words, and the same each time. Statements that a model made can be used instead, see
    :func:`read_statements`.

    >>> from averimatec.claims import Answer
    >>> question = Question("When was it taken?", (Answer("Extractive", "In 2019."), Answer("Image", images=("b.png",))), images=("a.png",))
    >>> reference_evidence(Claim("0", "A boat.", questions=(question,)))
    (Evidence(text='When was it taken? [IMG_1] In 2019. [IMG_2]', images=('a.png', 'b.png')),)
    """
    return tuple(_statement(question) for question in claim.questions)


def read_submission(path: str | os.PathLike[str]) -> tuple[Prediction, ...]:
    """Read a submission in the official format.

    Raises
    ------
    MissingDataError
        There is no such file.
    DataError
        It is not in that format, or has a claim twice; the message names claims and
        fields.

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "submission.json")
    >>> write_submission(path, [Prediction("0", ("Where?",), (Evidence("[IMG_1] is Rome.", ("a.png",)),), "Refuted", "It is Rome.")])
    >>> read_submission(path)[0].evidence
    (Evidence(text='[IMG_1] is Rome.', images=('a.png',)),)
    """
    problems: list[str] = []
    made = []
    for place, row in enumerate(read_rows(path)):
        if (
            not isinstance(row, dict)
            or isinstance(row.get("id"), bool)
            or not isinstance(row.get("id"), int | str)
        ):
            problems.append(
                f"item {place}: expected an object with the id of its claim, a number"
                " or text"
            )
            continue
        name = str(row["id"])
        fields = Fields(row, f"claim {name}", problems)
        made.append(
            Prediction(
                name,
                fields.texts("questions"),
                tuple(_evidence(each) for each in fields.objects("evidence")),
                fields.text("verdict"),
                fields.text("justification"),
            )
        )
    problems += [
        f"claim {name}: stands in the file more than once"
        for name in repeated(prediction.id for prediction in made)
    ]
    raise_problems(
        path,
        problems,
        "The official format: id, questions, evidence (text, images), verdict,"
        " justification.",
    )
    return tuple(made)


def write_submission(
    path: str | os.PathLike[str], predictions: Iterable[Prediction]
) -> None:
    """Write a submission in the official format, all or nothing.

    An id of digits is written as a number.
    """
    rows = [_row(prediction) for prediction in predictions]
    write_text(
        path, json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def read_statements(
    path: str | os.PathLike[str], claims: Iterable[Claim]
) -> dict[str, tuple[Evidence, ...]]:
    """Read reference evidence that a model has put into statements.

    A list a claim, in the order of the claims, by claim id.

    Raises
    ------
    DataError
        There are more lists than claims or fewer, a list has another number of items
        than its claim has questions, or fields are wrong.
    """
    rows, listed = read_rows(path), list(claims)
    problems: list[str] = []
    if len(rows) != len(listed):
        raise DataError(
            f"{path}: {len(rows):,} lists of statements beside {len(listed):,} claims."
            " Use the statements of these claims."
        )
    made = {}
    for claim, row in zip(listed, rows, strict=True):
        items = Fields({"evidence": row}, f"claim {claim.id}", problems).objects(
            "evidence"
        )
        if len(items) != len(claim.questions):
            problems.append(
                f"claim {claim.id}: expected a statement for each of its"
                f" {len(claim.questions)} questions, found {len(items)}"
            )
        made[claim.id] = tuple(_evidence(item) for item in items)
    raise_problems(path, problems, "Make them from the same release of the claims.")
    return made


def image_tokens(text: str) -> tuple[int, ...]:
    """Numbers of the images that a statement names.

    >>> image_tokens("[IMG_2] is older than [IMG_1].")
    (2, 1)
    """
    return tuple(int(number) for number in _TOKEN.findall(text))


def _statement(question: Question) -> Evidence:
    images = [*question.images]
    words = [
        question.text.replace("\n", " "),
        *(f"[IMG_{place}]" for place in range(1, len(images) + 1)),
    ]
    for answer in question.answers:
        if answer.kind == "Image":
            words += [
                f"[IMG_{place}]"
                for place in range(
                    len(images) + 1, len(images) + len(answer.images) + 1
                )
            ]
            images += answer.images
        else:
            text = answer.text or NO_ANSWER
            words += [
                (
                    f"{text.rstrip('.')}. {answer.explanation}"
                    if answer.explanation
                    else text
                )
            ]
    return Evidence(
        (
            " ".join(word for word in words if word)
            if question.answers
            else f"{' '.join(words)} {NO_ANSWER}"
        ),
        tuple(images),
    )


def _evidence(row: Fields) -> Evidence:
    return Evidence(
        row.text("text"),
        tuple(PurePosixPath(name).name for name in row.texts("images")),
    )


def _row(prediction: Prediction) -> Mapping[str, Any]:
    return {
        "id": int(prediction.id) if prediction.id.isdecimal() else prediction.id,
        "questions": list(prediction.questions),
        "evidence": [
            {"text": item.text, "images": list(item.images)}
            for item in prediction.evidence
        ],
        "verdict": prediction.verdict,
        "justification": prediction.justification,
    }
