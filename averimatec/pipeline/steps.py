"""The steps that ask a language model: prompts filled, replies read strictly.

A reply can be a text, one of four tools, one of four verdicts, or a list of questions
of which no more are taken than were asked for. It can cause nothing else, whatever the
pages that the model was shown say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from averimatec.claims import VERDICTS, Claim, plain_verdict
from averimatec.models import Model, excerpt
from averimatec.pipeline.search import TOOLS, Passage
from averimatec.prompts import fill_task
from averimatec.submission import NO_ANSWER, Evidence

_TOKEN = re.compile(r"\[IMG_(\d+)\]")
_LONGEST = 8000  # characters of a reply: five questions or one explanation are shorter


@dataclass
class Usage:
    """What replies took when they were asked for."""

    replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class Ask:
    """A question, and the names of the claim's pictures that it is about."""

    text: str
    images: tuple[str, ...] = ()

    def with_tokens(self) -> str:
        """The question with a token for each picture, counted from 1."""
        tokens = [f"[IMG_{number}]" for number in range(1, len(self.images) + 1)]
        return " ".join([self.text, *tokens])


@dataclass
class Steps:
    """Asks a model about one claim.

    Attributes
    ----------
    images
        Names of the claim's pictures that are shown.
    files
        Paths of pictures by name; pictures without a file are left out of prompts.
    usage, problems
        What the replies took; what could not be read in them.
    """

    claim: Claim
    images: Sequence[str]
    model: Model
    files: dict[str, Path]
    usage: Usage = field(default_factory=Usage)
    problems: list[str] = field(default_factory=list)

    def questions(self, count: int, examples: str) -> list[Ask]:
        """Write all questions at once (parallel)."""
        reply = self._about_claim("questions", count=count, examples=examples)
        lines = [line for line in reply.splitlines() if line.strip()]
        numbered = [line for line in lines if re.match(r"\W*\d+\W*[.):]", line)]
        every = [_ask(line, self.images) for line in numbered or lines]
        asks = [ask for ask in dict.fromkeys(every) if ask.text][:count]
        if len(asks) < count:
            self.problems.append(
                f"questions: expected {count} different ones, found {len(asks)}"
            )
        return asks

    def next_question(
        self, asked: Sequence[Ask], evidence: Sequence[Evidence], examples: str
    ) -> Ask | None:
        """Write one more question from the evidence so far (dynamic), or none."""
        listed = "\n".join(f"- {ask.text}" for ask in asked) or "nothing"
        reply = self._about_claim(
            "next-question", evidence, asked=listed, examples=examples
        )
        lines = [line for line in reply.splitlines() if line.strip()]
        if not lines or re.fullmatch(r"\W*none\W*", lines[0], re.IGNORECASE):
            return None
        ask = _ask(lines[0], self.images)
        if not ask.text or ask.text.lower() in {other.text.lower() for other in asked}:
            self.problems.append("next-question: the model repeated itself")
            return None
        return ask

    def tool(self, ask: Ask, examples: str) -> str:
        """Choose one of :data:`TOOLS`: the one in the reply, or else WST."""
        prompt = fill_task("tool", question=ask.with_tokens(), examples=examples)
        reply = self._complete(prompt)
        named = set(re.findall(rf"\b({'|'.join(TOOLS)})\b", reply))
        if len(named) != 1:
            self.problems.append(
                f"tool: expected one of {', '.join(TOOLS)}, found {excerpt(reply)}"
            )
            return "WST"
        return str(named.pop())

    def answer(self, ask: Ask, passages: Sequence[Passage]) -> str:
        """Answer from passages."""
        prompt = fill_task(
            "answer",
            claim=self.claim.text,
            question=ask.with_tokens(),
            passages=_quoted(passages),
        )
        return self._text("answer", self._complete(prompt))

    def answer_pictures(
        self, ask: Ask, passages: Sequence[Passage], picture: str
    ) -> str:
        """Answer from a picture, whose token follows the question's, and its page."""
        paths = self._paths([*ask.images, picture])
        prompt = fill_task(
            "answer-pictures",
            pictures=len(paths),
            question=ask.with_tokens(),
            passages=_quoted(passages),
        )
        reply = self._complete(prompt, paths)
        return self._text("answer-pictures", reply)

    def look(self, ask: Ask) -> str:
        """Answer by looking at the question's pictures."""
        paths = self._paths(ask.images)
        if not paths:
            return NO_ANSWER
        prompt = fill_task("look", pictures=len(paths), question=ask.with_tokens())
        return self._text("look", self._complete(prompt, paths))

    def statement(self, ask: Ask, answer: str, images: Sequence[str]) -> Evidence:
        """Turn question and answer into an evidence item.

        ``images`` are the question's, then those of the answer. Tokens of other
        pictures are removed from the statement, and missing ones are appended.
        """
        prompt = fill_task("statement", question=ask.with_tokens(), answer=answer)
        reply = self._text("statement", self._complete(prompt))
        tokens = [f"[IMG_{number}]" for number in range(1, len(images) + 1)]
        text = _TOKEN.sub(
            lambda token: token[0] if 1 <= int(token[1]) <= len(images) else "",
            " ".join(reply.split()),
        )
        missing = [token for token in tokens if token not in text]
        return Evidence(" ".join([text, *missing]).strip(), tuple(images))

    def verdict(self, evidence: Sequence[Evidence]) -> str:
        """Decide on the claim; empty, which counts as wrong, if the reply does not."""
        reply = self._about_claim("verdict", evidence)
        plain = re.sub(
            r"^\W*(?:the )?verdict(?: is)?\W*", "", reply.strip(), flags=re.IGNORECASE
        )
        verdict = plain_verdict(plain)
        if not verdict:
            options = ", ".join(VERDICTS)
            self.problems.append(
                f"verdict: expected one of {options}, found {excerpt(reply)}"
            )
        return verdict

    def justification(
        self, evidence: Sequence[Evidence], verdict: str
    ) -> tuple[str, str]:
        """Explain the verdict, and shorten the explanation: both."""
        reply = self._about_claim(
            "justification", evidence, verdict=verdict or "none could be reached"
        )
        full = self._text("justification", reply)
        prompt = fill_task("summary", justification=full)
        return full, self._text("summary", self._complete(prompt))

    def _about_claim(
        self,
        task: str,
        evidence: Sequence[Evidence] | None = None,
        **values: str | int,
    ) -> str:
        """Ask about the claim, with its pictures and then those of the evidence."""
        named = [*self.images, *(n for item in evidence or () for n in item.images)]
        order = [name for name in dict.fromkeys(named) if name in self.files]
        places = {name: f"[IMG_{number}]" for number, name in enumerate(order, 1)}
        shown = " ".join(places[name] for name in self.images if name in places)
        if evidence is not None:
            texts = [_placed(item, places) for item in evidence]
            lines = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
            values["evidence"] = "\n".join(lines) or "nothing"
        prompt = fill_task(
            task,
            pictures=len(order),
            claim=f"{self.claim.text} {shown}".strip(),
            about=about(self.claim),
            **values,
        )
        return self._complete(prompt, self._paths(order))

    def _paths(self, names: Sequence[str]) -> list[Path]:
        return [self.files[name] for name in names if name in self.files]

    def _complete(self, prompt: str, images: Sequence[Path] = ()) -> str:
        reply = self.model.complete(prompt, images)
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
    r"""Metadata of a claim: date, place, speaker and publisher.

    >>> about(Claim("0", "A boat.", speaker="a reader"))
    'date: not known\nplace: not known\nsaid by: a reader\npublished by: not known'
    """
    known = {
        "date": claim.date.isoformat() if claim.date else "",
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
    pattern = r"\W*no answer (?:can|could) be found\b"
    return re.match(pattern, answer, re.IGNORECASE) is not None


def _ask(line: str, images: Sequence[str]) -> Ask:
    """A question from a line of a reply; tokens become names of pictures, or words.

    >>> _ask("1. Is [IMG_2] older than [IMG_1]?", ["a.png", "b.png"])
    Ask(text='Is image 1 older than image 2?', images=('b.png', 'a.png'))
    >>> _ask("When was it taken? [IMG_1]", ["a.png"])
    Ask(text='When was it taken?', images=('a.png',))
    """
    plain = re.sub(r"^\W*\d+\W*?[.):]+\s*|^\s*[-*]\s+", "", line.strip())
    numbers = [int(number) for number in dict.fromkeys(_TOKEN.findall(plain))]
    numbers = [number for number in numbers if 1 <= number <= len(images)]
    inner = re.sub(
        r"^(?:\[IMG_\d+\]\W*)+(?=[A-Z])|(?<=[?.!])(?:\W*\[IMG_\d+\])+\W*$", "", plain
    )

    def word(token: re.Match[str]) -> str:
        number = int(token[1])
        several = len(numbers) > 1 and number in numbers
        return f"image {numbers.index(number) + 1}" if several else "the image"

    text = " ".join(_TOKEN.sub(word, inner).split())
    return Ask(text, tuple(images[number - 1] for number in numbers))


def _placed(item: Evidence, places: dict[str, str]) -> str:
    """A statement with its own tokens replaced by those of the prompt."""

    def place(token: re.Match[str]) -> str:
        number = int(token[1])
        name = item.images[number - 1] if 1 <= number <= len(item.images) else ""
        return places.get(name, "a picture")

    return _TOKEN.sub(place, item.text)


def _quoted(passages: Sequence[Passage]) -> str:
    lines = []
    for number, passage in enumerate(passages, 1):
        texts = passage.title or "no title", passage.url, passage.text
        title, url, text = (" ".join(part.split()) for part in texts)
        lines.append(f"({number}) {title}, {passage.date or 'no date'}, {url}\n{text}")
    return "\n".join(lines) or "nothing"
