"""One claim verified, from questions to justification (paper, section 7.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from averimatec.claims import Claim, Question
from averimatec.pipeline.search import BM25, Picture, Query, Search, find, words
from averimatec.pipeline.steps import Ask, Steps, unanswered
from averimatec.submission import NO_ANSWER, Evidence, Prediction, reference_evidence
from verite.encoders.pictures import open_picture
from verite.errors import ParameterError, VeriteError

STRATEGIES = {"parallel": 5, "dynamic": 0, "hybrid": 2}
"""How many of five questions each strategy writes at once."""

EVIDENCE = ("search", "gold", "none")
"""Where evidence comes from. The last two are the blocks of Table 4: annotated
evidence, and no search.
"""


@dataclass(frozen=True)
class Settings:
    """How claims are verified; defaults as in the paper (7.1, appendix H.1).

    Attributes
    ----------
    strategy
        ``parallel`` writes all questions at once, ``dynamic`` one by one from the
        evidence so far, ``hybrid`` the first two at once.
    evidence
        ``search``; ``gold`` takes the annotated questions and answers; ``none`` answers
        what needs a search with "No answer".
    questions
        How many.
    shots
        Demonstrations from training claims for questions and tools; 0 for none, 3 in
        the paper.
    chunk, top
        Words per passage, and passages per answer.
    images
        Pictures of the claim that are shown.
    undated
        Use pages without a date, if the search gives any.
    workers
        Claims at a time; results do not depend on it.
    """

    strategy: str = "hybrid"
    evidence: str = "search"
    questions: int = 5
    shots: int = 0
    chunk: int = 128
    top: int = 30
    images: int = 3
    undated: bool = False
    workers: int = 1

    def __post_init__(self) -> None:
        for name, options in (("strategy", STRATEGIES), ("evidence", EVIDENCE)):
            if (value := getattr(self, name)) not in options:
                raise ParameterError(
                    f"{name}: expected one of {', '.join(options)}, found {value!r}."
                )
        for name in ("questions", "chunk", "top", "workers", "shots", "images"):
            least = 0 if name in ("shots", "images") else 1
            if getattr(self, name) < least:
                raise ParameterError(f"{name}: expected {least} or more.")


@dataclass
class Trace:
    """Record of one claim, in plain values that JSON can hold.

    Attributes
    ----------
    questions
        For each: ``text``, ``images``, ``tool``, ``chunks`` (ids of passages, the best
        first), ``picture``, ``late`` (pages left out as too late), ``answer``.
    """

    id: str
    questions: list[dict[str, Any]] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    verdict: str = ""
    justification: str = ""
    summary: str = ""

    def prediction(self) -> Prediction:
        """The prediction to submit, with the short justification."""
        texts = tuple(question["text"] for question in self.questions)
        evidence = tuple(self.evidence)
        return Prediction(self.id, texts, evidence, self.verdict, self.summary)


class Examples:
    """Demonstrations from the nearest training claims by BM25 (appendix H.1).

    Parameters
    ----------
    training
        Claims with questions.
    shots
        Demonstrations per prompt; the paper gives three.

    >>> question = Question("Did a boat sink?")
    >>> old = Claim("0", "A boat sank in Rome.", questions=(question,))
    >>> print(Examples([old], 3).questions(Claim("1", "A boat sank in Pisa.")))
    Claim: A boat sank in Rome.
    1. Did a boat sink?
    """

    def __init__(self, training: Sequence[Claim] = (), shots: int = 0) -> None:
        self.training = [claim for claim in training if claim.questions]
        self.shots = shots
        self._index = BM25([words(claim.text) for claim in self.training])

    def nearest(self, claim: Claim) -> list[Claim]:
        """The nearest training claims that are older than the claim."""
        ranked = self._index.best(words(claim.text), len(self.training))
        older = [
            other
            for other in (self.training[place] for place in ranked)
            if other.text != claim.text
            and not (other.date and claim.date and other.date >= claim.date)
        ]
        return older[: self.shots]

    def questions(self, claim: Claim) -> str:
        """Demonstrations of all questions at once."""
        examples = []
        for other in self.nearest(claim):
            lines = [
                f"{number}. {_with_tokens(other, question)}"
                for number, question in enumerate(other.questions, 1)
            ]
            examples.append("\n".join([f"Claim: {other.text}", *lines]))
        return "\n\n".join(examples)

    def next_question(self, claim: Claim, asked: int) -> str:
        """Demonstrations of the question after ``asked`` others and their evidence."""
        examples = []
        for other in self.nearest(claim):
            place = min(asked, len(other.questions) - 1)
            known = [f"- {item.text}" for item in reference_evidence(other)[:place]]
            evidence = "\n".join(known or ["- nothing"])
            following = f"Next question: {_with_tokens(other, other.questions[place])}"
            examples.append(
                f"Claim: {other.text}\nFound so far:\n{evidence}\n{following}"
            )
        return "\n\n".join(examples)

    def tools(self, claim: Claim) -> str:
        """Demonstrations of tools: questions whose way of answering is known."""
        shown = [
            f"Question: {_with_tokens(other, question)}\n"
            f"Kind: {', '.join(question.kinds) or 'not known'}\nTool: {tool}"
            for other in self.nearest(claim)
            for question in other.questions
            if (tool := tool_of(question))
        ]
        return "\n\n".join(dict.fromkeys(shown))


def tool_of(question: Question) -> str:
    """Tool of the annotated way of answering, or an empty text.

    >>> tool_of(Question("?", method="Image-search")), tool_of(Question("?"))
    ('RIS', '')
    """
    method = question.method.lower().replace("-", " ")
    if method == "text search":
        return "WSI" if any(answer.images for answer in question.answers) else "WST"
    return {"image search": "RIS", "image analysis": "VQA"}.get(method, "")


def _with_tokens(claim: Claim, question: Question) -> str:
    own = [name for name in question.images if name in claim.images]
    tokens = [f"[IMG_{claim.images.index(name) + 1}]" for name in own]
    return " ".join([question.text, *tokens])


def verify(
    steps: Steps, search: Search, settings: Settings, examples: Examples, trace: Trace
) -> None:
    """Verify one claim, filling its trace on the way, also before a step that fails.

    Raises
    ------
    ModelError, SearchError
        A model or a search gives no reply.
    """
    claim = steps.claim
    if settings.evidence == "gold":
        trace.evidence += reference_evidence(claim)
        named = [name for item in trace.evidence for name in item.images]
        for name in dict.fromkeys(named):
            if name not in steps.images:  # those are checked
                usable(name, steps.files, steps.problems)
        trace.questions += [
            {"text": question.text, "images": list(question.images), "tool": "gold"}
            for question in claim.questions
        ]
    else:
        for ask in _asks(steps, settings, examples, trace):
            _resolve(ask, steps, search, settings, examples, trace)
    trace.verdict = steps.verdict(trace.evidence)
    both = steps.justification(trace.evidence, trace.verdict)
    trace.justification, trace.summary = both


def _asks(
    steps: Steps, settings: Settings, examples: Examples, trace: Trace
) -> Iterator[Ask]:
    """Questions, one by one; those that depend on answers are written after these."""
    asks: list[Ask] = []
    at_once = settings.questions
    if settings.strategy != "parallel":
        at_once = min(STRATEGIES[settings.strategy], at_once)
    if at_once:
        for ask in steps.questions(at_once, examples.questions(steps.claim)):
            asks.append(ask)
            yield ask
    for _ in range(settings.questions - at_once):
        shown = examples.next_question(steps.claim, len(asks))
        following = steps.next_question(asks, trace.evidence, shown)
        if following is None:
            return
        asks.append(following)
        yield following


def _resolve(
    ask: Ask,
    steps: Steps,
    search: Search,
    settings: Settings,
    examples: Examples,
    trace: Trace,
) -> None:
    """Answer a question with a tool, and add both to the trace."""
    claim = steps.claim
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
    images, answer = list(ask.images), NO_ANSWER
    if tool == "VQA":
        answer = steps.look(ask)
    elif settings.evidence == "search":
        paths = tuple(steps.files[name] for name in ask.images)
        query = Query(ask.text, paths, claim.date, settings.undated)
        findings = find(tool, query, search, chunk=settings.chunk, top=settings.top)
        row["chunks"] = [passage.id for passage in findings.passages]
        row["late"] = list(findings.late)
        name = _add_picture(findings.picture, steps) if findings.picture else ""
        if name:
            row["picture"] = name
            answer = steps.answer_pictures(ask, findings.passages, name)
            images += [] if unanswered(answer) else [name]
        elif findings.passages:
            answer = steps.answer(ask, findings.passages)
    row["answer"] = NO_ANSWER if unanswered(answer) else answer
    trace.evidence.append(steps.statement(ask, row["answer"], images))


def usable(name: str, files: dict[str, Path], problems: list[str]) -> bool:
    """Whether a picture exists and opens; if not, it is a problem and is not shown."""
    try:
        open_picture(files[name])
    except KeyError:
        problems.append(f"images: no file of {name}")
    except VeriteError as error:
        problems.append(f"images: {error}")
        del files[name]
    return name in files


def _add_picture(picture: Picture, steps: Steps) -> str:
    """Add a picture of a search to the files; its name, empty if it does not open."""
    content, name = picture.path.read_bytes(), picture.name
    if name in steps.files and steps.files[name].read_bytes() != content:
        name = f"{hashlib.sha256(content).hexdigest()[:12]}-{name}"
    steps.files.setdefault(name, picture.path)
    return name if usable(name, steps.files, steps.problems) else ""
