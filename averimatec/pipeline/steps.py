"""The steps that ask a language model.

Prompts filled, replies read strictly, what they took counted.

A reply can be a text, one of four tools, one of four verdicts, or a list of questions
of which no more are taken than were asked for. There is nothing else that it can bring
about, whatever the pages that it was shown say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from averimatec.claims import VERDICTS, Claim, plain_verdict
from averimatec.models import Model
from averimatec.pipeline.prompts import fill
from averimatec.pipeline.tools import TOOLS, Passage
from averimatec.submission import NO_ANSWER, Evidence

__all__ = ["Ask", "Steps", "Usage", "about", "unanswered"]

_TOKEN = re.compile(r"\[IMG_(\d+)\]")
_LONGEST = (
    8000  # characters of a reply; five questions or one explanation need far fewer
)


@dataclass
class Usage:
    """What replies took when they were asked for."""

    replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class Ask:
    """A question, and the names of the claim's pictures it is about."""

    text: str
    images: tuple[str, ...] = ()

    def with_tokens(self) -> str:
        """The question with a token for each picture, counted from 1."""
        return " ".join(
            [
                self.text,
                *(f"[IMG_{number}]" for number in range(1, len(self.images) + 1)),
            ]
        )


@dataclass
class Steps:
    """Asks models for one claim.

    Attributes
    ----------
    model, seeing
        For steps with text alone and for steps with pictures: the paper's LLM and MLLM.
    files
        Paths of pictures by name; pictures without a file are left out of prompts.
    usage, problems
        What the replies took; what could not be read in them.
    """

    model: Model
    seeing: Model
    files: dict[str, Path]
    usage: Usage = field(default_factory=Usage)
    problems: list[str] = field(default_factory=list)

    def questions(
        self, claim: Claim, count: int, images: Sequence[str], examples: str
    ) -> list[Ask]:
        """Write all questions at once (parallel)."""
        prompt, paths = self._claim(
            "questions", claim, images, count=count, examples=examples
        )
        lines = [
            line
            for line in self._ask(self.seeing, prompt, paths).splitlines()
            if line.strip()
        ]
        numbered = [line for line in lines if re.match(r"\W*\d+\W*[.):]", line)]
        found = [_asked(line, images) for line in numbered or lines]
        made = [ask for ask in dict.fromkeys(found) if ask.text][:count]
        if len(made) < count:
            self.problems.append(
                f"questions: expected {count} different ones, found {len(made)}"
            )
        return made

    def next_question(
        self,
        claim: Claim,
        asked: Sequence[Ask],
        evidence: Sequence[Evidence],
        images: Sequence[str],
        examples: str,
    ) -> Ask | None:
        """Write one more question from what was found so far (dynamic).

        None if there is none, or it was asked before.
        """
        said = "\n".join(f"- {ask.text}" for ask in asked) or "nothing"
        prompt, paths = self._claim(
            "next-question", claim, images, evidence, asked=said, examples=examples
        )
        reply = self._ask(self.seeing, prompt, paths)
        lines = [line for line in reply.splitlines() if line.strip()]
        if not lines or re.fullmatch(r"\W*none\W*", lines[0], re.IGNORECASE):
            return None
        made = _asked(lines[0], images)
        if not made.text or made.text.lower() in {ask.text.lower() for ask in asked}:
            self.problems.append("next-question: the model repeated itself")
            return None
        return made

    def tool(self, ask: Ask, examples: str) -> str:
        """Choose one of :data:`TOOLS`.

        A reply that names none, or several, counts as a problem, and words are searched
        for.
        """
        reply = self._ask(
            self.model, fill("tool", question=ask.with_tokens(), examples=examples)
        )
        named = set(re.findall(rf"\b({'|'.join(TOOLS)})\b", reply))
        if len(named) != 1:
            self.problems.append(
                f"tool: expected one of {', '.join(TOOLS)}, found {_short(reply)}"
            )
            return "WST"
        return str(named.pop())

    def answer(self, claim: Claim, ask: Ask, passages: Sequence[Passage]) -> str:
        """Answer from passages."""
        prompt = fill(
            "answer",
            claim=claim.text,
            question=ask.with_tokens(),
            passages=_quoted(passages),
        )
        return self._text("answer", self._ask(self.model, prompt))

    def answer_pictures(
        self, ask: Ask, passages: Sequence[Passage], picture: str
    ) -> str:
        """Answer from a picture that was found, and the page it stands on.

        Its token is the one after the question's own.
        """
        paths = [
            self.files[name] for name in (*ask.images, picture) if name in self.files
        ]
        prompt = fill(
            "answer-pictures",
            pictures=len(paths),
            question=ask.with_tokens(),
            passages=_quoted(passages),
        )
        return self._text("answer-pictures", self._ask(self.seeing, prompt, paths))

    def look(self, ask: Ask) -> str:
        """Answer by looking at the question's pictures."""
        paths = [self.files[name] for name in ask.images if name in self.files]
        if not paths:
            return NO_ANSWER
        return self._text(
            "look",
            self._ask(
                self.seeing,
                fill("look", pictures=len(paths), question=ask.with_tokens()),
                paths,
            ),
        )

    def statement(self, ask: Ask, answer: str, images: Sequence[str]) -> Evidence:
        """Turn question and answer into an evidence item.

        ``images`` are the question's, and then those that are the answer.

        Tokens of pictures that are not there are taken out of the statement, and those
        it left out are put behind it.
        """
        reply = self._ask(
            self.model, fill("statement", question=ask.with_tokens(), answer=answer)
        )
        said = " ".join(self._text("statement", reply).split())
        kept = _TOKEN.sub(
            lambda found: found[0] if 1 <= int(found[1]) <= len(images) else "", said
        )
        lacking = [
            f"[IMG_{number}]"
            for number in range(1, len(images) + 1)
            if f"[IMG_{number}]" not in kept
        ]
        return Evidence(" ".join([kept, *lacking]).strip(), tuple(images))

    def verdict(
        self, claim: Claim, evidence: Sequence[Evidence], images: Sequence[str]
    ) -> str:
        """Decide on the claim; a reply that is no verdict is a problem, and leaves the
        verdict empty, which counts as wrong.
        """
        prompt, paths = self._claim("verdict", claim, images, evidence)
        reply = self._ask(self.seeing, prompt, paths)
        plain = re.sub(
            r"^\W*(?:the )?verdict(?: is)?\W*", "", reply.strip(), flags=re.IGNORECASE
        )
        found = plain_verdict(plain)
        if not found:
            self.problems.append(
                f"verdict: expected one of {', '.join(VERDICTS)}, found {_short(reply)}"
            )
        return found

    def justification(
        self,
        claim: Claim,
        evidence: Sequence[Evidence],
        images: Sequence[str],
        verdict: str,
    ) -> tuple[str, str]:
        """Explain the verdict, and shorten the explanation: both."""
        prompt, paths = self._claim(
            "justification",
            claim,
            images,
            evidence,
            verdict=verdict or "none could be reached",
        )
        full = self._text("justification", self._ask(self.seeing, prompt, paths))
        return full, self._text(
            "summary", self._ask(self.model, fill("summary", justification=full))
        )

    def _claim(
        self,
        task: str,
        claim: Claim,
        images: Sequence[str],
        evidence: Sequence[Evidence] | None = None,
        **values: str | int,
    ) -> tuple[str, list[Path]]:
        """A prompt on a claim; its pictures come first, then those of the evidence,
        each once.
        """
        named = [*images, *(name for item in evidence or () for name in item.images)]
        order = [name for name in dict.fromkeys(named) if name in self.files]
        places = {name: f"[IMG_{number}]" for number, name in enumerate(order, 1)}
        shown = " ".join(places[name] for name in images if name in places)
        if evidence is not None:
            values["evidence"] = (
                "\n".join(
                    f"{number}. {_placed(item, places)}"
                    for number, item in enumerate(evidence, 1)
                )
                or "nothing"
            )
        text = f"{claim.text} {shown}".strip()
        return fill(
            task, pictures=len(order), claim=text, about=about(claim), **values
        ), [self.files[name] for name in order]

    def _ask(self, model: Model, prompt: str, images: Sequence[Path] = ()) -> str:
        reply = model.complete(prompt, images)
        self.usage.replies += 1
        self.usage.tokens_in += reply.tokens_in
        self.usage.tokens_out += reply.tokens_out
        self.usage.cost += reply.cost
        if len(reply.text) > _LONGEST:
            self.problems.append(f"a reply of {len(reply.text):,} characters was cut")
        return reply.text[:_LONGEST]

    def _text(self, task: str, reply: str) -> str:
        if not reply.strip():
            self.problems.append(f"{task}: an empty reply")
            return NO_ANSWER
        return reply.strip()


def about(claim: Claim) -> str:
    r"""What is known of a claim beside its words.

    Date, place, who said it and who published it.

    >>> about(Claim("0", "A boat.", speaker="a reader"))
    'date: not known\nplace: not known\nsaid by: a reader\npublished by: not known'
    """
    day = claim.date.isoformat() if claim.date else ""
    known = {
        "date": day,
        "place": claim.location,
        "said by": claim.speaker,
        "published by": claim.publisher,
    }
    return "\n".join(f"{name}: {value or 'not known'}" for name, value in known.items())


def unanswered(answer: str) -> bool:
    """Whether an answer says that there is none.

    >>> unanswered("No answer could be found."), unanswered("No. The boat sank.")
    (True, False)
    """
    return (
        re.match(r"\W*no answer (?:can|could) be found\b", answer, re.IGNORECASE)
        is not None
    )


def _asked(line: str, images: Sequence[str]) -> Ask:
    """A question from a line of a reply.

    Tokens become names of pictures, and words where the sentence needs some.

    >>> _asked("1. Is [IMG_2] older than [IMG_1]?", ["a.png", "b.png"])
    Ask(text='Is image 1 older than image 2?', images=('b.png', 'a.png'))
    >>> _asked("When was it taken? [IMG_1]", ["a.png"])
    Ask(text='When was it taken?', images=('a.png',))
    """
    plain = re.sub(r"^\W*\d+\W*?[.):]+\s*|^\s*[-*]\s+", "", line.strip())
    numbers = [
        int(number)
        for number in dict.fromkeys(_TOKEN.findall(plain))
        if 1 <= int(number) <= len(images)
    ]
    inner = re.sub(
        r"^(?:\[IMG_\d+\]\W*)+(?=[A-Z])|(?<=[?.!])(?:\W*\[IMG_\d+\])+\W*$", "", plain
    )

    def word(found: re.Match[str]) -> str:
        number = int(found[1])
        return (
            f"image {numbers.index(number) + 1}"
            if len(numbers) > 1 and number in numbers
            else "the image"
        )

    return Ask(
        " ".join(_TOKEN.sub(word, inner).split()),
        tuple(images[number - 1] for number in numbers),
    )


def _placed(item: Evidence, places: dict[str, str]) -> str:
    """A statement with its own tokens replaced by those of the prompt."""

    def put(found: re.Match[str]) -> str:
        number = int(found[1])
        return (
            places.get(item.images[number - 1], "a picture")
            if 1 <= number <= len(item.images)
            else "a picture"
        )

    return _TOKEN.sub(put, item.text)


def _quoted(passages: Sequence[Passage]) -> str:
    shown = []
    for number, each in enumerate(passages, 1):
        title, url, text = (
            " ".join(part.split())
            for part in (each.title or "no title", each.url, each.text)
        )
        shown.append(f"({number}) {title}, {each.date or 'no date'}, {url}\n{text}")
    return "\n".join(shown) or "nothing"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return repr(plain if len(plain) <= 80 else f"{plain[:77]}...")
