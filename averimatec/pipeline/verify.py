"""One claim verified: questions, tools, answers, evidence, verdict, justification
(paper, section 7.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from averimatec.claims import Claim
from averimatec.pipeline.examples import Examples
from averimatec.pipeline.search import Picture, Search
from averimatec.pipeline.steps import Ask, Steps, unanswered
from averimatec.pipeline.tools import find
from averimatec.submission import NO_ANSWER, Evidence, Prediction, reference_evidence
from verite.encoders.pictures import open_picture
from verite.errors import ParameterError, VeriteError

__all__ = ["EVIDENCE", "STRATEGIES", "Settings", "Trace", "verify"]

STRATEGIES = {"parallel": 5, "dynamic": 0, "hybrid": 2}
"""How many of five questions each strategy writes at once."""

EVIDENCE = ("search", "gold", "none")
"""Where evidence comes from.

The last two are the blocks of Table 4: annotated evidence, and no search.
"""


@dataclass(frozen=True)
class Settings:
    """How claims are verified.

    The defaults are the paper's (section 7.1, appendix H.1).

    Attributes
    ----------
    strategy
        ``parallel`` writes all questions at once, ``dynamic`` one by one from what was
        found, ``hybrid`` the first two at once.
    evidence
        ``search``; ``gold`` takes the annotated questions and answers; ``none`` answers
        what needs a search with "No answer".
    questions
        How many.
    shots
        Demonstrations from training claims for questions and tools; 0 for none, 3 in
        the paper.
    chunk, top
        Words a passage, and passages an answer is made from.
    images
        Pictures of the claim that are looked at.
    undated
        Use pages without a date, if the search gives any.
    """

    strategy: str = "hybrid"
    evidence: str = "search"
    questions: int = 5
    shots: int = 0
    chunk: int = 128
    top: int = 30
    images: int = 3
    undated: bool = False

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ParameterError(
                f"strategy: expected one of {', '.join(STRATEGIES)}, found"
                f" {self.strategy!r}."
            )
        if self.evidence not in EVIDENCE:
            raise ParameterError(
                f"evidence: expected one of {', '.join(EVIDENCE)}, found"
                f" {self.evidence!r}."
            )
        low = [
            name for name in ("questions", "chunk", "top") if getattr(self, name) < 1
        ]
        low += [name for name in ("shots", "images") if getattr(self, name) < 0]
        if low:
            raise ParameterError(
                f"{low[0]}: expected {'0' if low[0] in ('shots', 'images') else '1'} or"
                " more."
            )


@dataclass
class Trace:
    """All that happened to one claim, in plain values that JSON can hold.

    Attributes
    ----------
    questions
        For each: ``text``, ``images``, ``tool``, ``chunks`` (ids of passages, the best
        first), ``picture``, ``late`` (pages that were left out), ``answer``.
    """

    id: str
    questions: list[dict[str, Any]] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    verdict: str = ""
    justification: str = ""
    summary: str = ""

    def prediction(self) -> Prediction:
        """What is handed in, with the short justification."""
        asked = tuple(each["text"] for each in self.questions)
        return Prediction(
            self.id, asked, tuple(self.evidence), self.verdict, self.summary
        )


def verify(
    claim: Claim,
    steps: Steps,
    search: Search,
    settings: Settings,
    examples: Examples,
    trace: Trace | None = None,
) -> Trace:
    """Verify one claim.

    Parameters
    ----------
    trace
        Filled on the way, so that what was found is there if a step fails.

    Raises
    ------
    ModelError, SearchError
        A model or a search gives no reply.
    """
    trace = Trace(claim.id) if trace is None else trace
    images = [name for name in claim.images[: settings.images] if _usable(name, steps)]
    if settings.evidence == "gold":
        trace.evidence += reference_evidence(claim)
        for name in dict.fromkeys(
            name
            for item in trace.evidence
            for name in item.images
            if name not in images
        ):
            _usable(name, steps)
        trace.questions += [
            {"text": question.text, "images": list(question.images), "tool": "gold"}
            for question in claim.questions
        ]
    else:
        for ask in _asks(claim, steps, settings, examples, images, trace):
            _resolve(claim, ask, steps, search, settings, examples, trace)
    trace.verdict = steps.verdict(claim, trace.evidence, images)
    trace.justification, trace.summary = steps.justification(
        claim, trace.evidence, images, trace.verdict
    )
    return trace


def _asks(
    claim: Claim,
    steps: Steps,
    settings: Settings,
    examples: Examples,
    images: list[str],
    trace: Trace,
) -> Iterator[Ask]:
    """Questions, one by one.

    Those that follow on others are written when the others are answered.
    """
    asked: list[Ask] = []
    at_once = (
        settings.questions
        if settings.strategy == "parallel"
        else min(STRATEGIES[settings.strategy], settings.questions)
    )
    if at_once:
        for ask in steps.questions(claim, at_once, images, examples.questions(claim)):
            asked.append(ask)
            yield ask
    for _ in range(settings.questions - at_once):
        ask_next = steps.next_question(
            claim,
            asked,
            trace.evidence,
            images,
            examples.next_question(claim, len(asked)),
        )
        if ask_next is None:
            return
        asked.append(ask_next)
        yield ask_next


def _resolve(
    claim: Claim,
    ask: Ask,
    steps: Steps,
    search: Search,
    settings: Settings,
    examples: Examples,
    trace: Trace,
) -> None:
    tool = steps.tool(ask, examples.tools(claim))
    if tool in ("RIS", "VQA") and not ask.images:
        steps.problems.append(
            f"tool: {tool} for a question without a picture; words were searched for"
        )
        tool = "WST"
    row: dict[str, Any] = {
        "text": ask.text,
        "images": list(ask.images),
        "tool": tool,
        "chunks": [],
        "picture": "",
        "late": [],
    }
    trace.questions.append(row)
    images = list(ask.images)
    answer = NO_ANSWER
    if tool == "VQA":
        answer = steps.look(ask)
    elif settings.evidence == "search":
        paths = [steps.files[name] for name in ask.images]
        found = find(
            tool,
            ask.text,
            paths,
            search,
            claim.date,
            undated=settings.undated,
            chunk=settings.chunk,
            top=settings.top,
        )
        row |= {
            "chunks": [passage.id for passage in found.passages],
            "late": list(found.late),
        }
        if found.picture and _usable(_known_as(found.picture, steps.files), steps):
            row["picture"] = name = _known_as(found.picture, steps.files)
            answer = steps.answer_pictures(ask, found.passages, name)
            images += [] if unanswered(answer) else [name]
        elif found.passages:
            answer = steps.answer(claim, ask, found.passages)
    row["answer"] = NO_ANSWER if unanswered(answer) else answer
    trace.evidence.append(steps.statement(ask, row["answer"], images))


def _usable(name: str, steps: Steps) -> bool:
    """Whether there is a picture of that name and it can be opened.

    If not, it is a problem, and nobody is shown it.
    """
    try:
        open_picture(steps.files[name])
    except KeyError:
        steps.problems.append(f"images: no file of {name}")
    except VeriteError as error:
        steps.problems.append(f"images: {error}")
        del steps.files[name]
    return name in steps.files


def _known_as(picture: Picture, files: dict[str, Path]) -> str:
    """Name of a picture that was found.

    Another one where a picture of the claim has that name.
    """
    content = picture.path.read_bytes()
    name = picture.name
    if name in files and files[name].read_bytes() != content:
        name = f"{hashlib.sha256(content).hexdigest()[:12]}-{name}"
    files.setdefault(name, picture.path)
    return name
