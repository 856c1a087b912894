"""A stand-in for a language model.

Rules that read the pipeline's prompts. It is no model, and says so wherever it is
named.

With it the pipeline runs anywhere, in seconds and the same each time: for teaching, for
tests, and to see which step does what. It matches words; it knows no synonyms, sees no
picture, and its questions fit claims that tell an event, as the newsroom's do. What it
reaches on those says nothing about real claims.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from averimatec.claims import CONFLICTING, NOT_ENOUGH_EVIDENCE, REFUTED, SUPPORTED
from averimatec.models import Reply
from averimatec.pipeline.bm25 import search_terms, words
from averimatec.pipeline.prompts import blocks
from averimatec.submission import NO_ANSWER

__all__ = ["RuleModel"]

_ABOUT = re.compile(
    r"^(?:the|this) (?:image|picture|photo|photograph)s? shows? ", re.IGNORECASE
)
_SIGHT = re.compile(
    r"\b(?:see|seen|weather|colours?|many|wear\w*|look)\b", re.IGNORECASE
)
_POLAR = r"^(?:do|does|did|is|are|was|were|has|have)\b"
_ENOUGH = 0.5  # a sentence must have more than this share of a question's words to be about it


class RuleModel:
    """Rules in the place of a language model.

    >>> from averimatec.pipeline.prompts import fill
    >>> RuleModel().complete(fill("tool", question="Where was it taken? [IMG_1]", examples="")).text
    'RIS'
    """

    name = "rules, no language model (stand-in, for teaching and tests)"

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Reply by the rules of the prompt's task.

        Whatever else the prompt says is not read.
        """
        found = re.match(r"Task: ([a-z-]+)\.$", prompt.split("\n", 1)[0])
        given = blocks(prompt)
        rules: dict[str, Callable[[dict[str, str]], str]] = {
            "questions": lambda given: self._questions(given, prompt),
            "next-question": self._next,
            "tool": self._tool,
            "answer": self._answer,
            "answer-pictures": lambda given: (
                f"[IMG_{given['question'].count('[IMG_') + 1}]"
            ),
            "statement": lambda given: f"{given['question']} {given['answer']}",
            "verdict": self._verdict,
            "justification": self._justification,
            "summary": lambda given: " ".join(_sentences(given["justification"])[:4]),
        }
        rule = rules.get(found[1]) if found else None
        return Reply(rule(given) if rule else NO_ANSWER, self.name)

    def _questions(self, given: dict[str, str], prompt: str) -> str:
        count = re.search(r"exactly (\d+) questions", prompt)
        asked = _plan(given["claim"], given["examples"])[
            : int(count[1]) if count else None
        ]
        return "\n".join(
            f"{number}. {question}" for number, question in enumerate(asked, 1)
        )

    def _next(self, given: dict[str, str]) -> str:
        """What the plan has left, asked of the event that a report was found to tell,
        where that is not the claim's.
        """
        event, found = _event(given["claim"]), _reported(given["evidence"])
        done = {_kind(line.removeprefix("- ")) for line in given["asked"].splitlines()}
        for question in _plan(given["claim"], given["examples"]):
            if _kind(question) not in done:
                return question.replace(event, found) if event and found else question
        return "NONE"

    def _tool(self, given: dict[str, str]) -> str:
        question = given["question"]
        if "[IMG_" in question:
            return "VQA" if _SIGHT.search(question) else "RIS"
        return (
            "WSI"
            if re.search(r"\blooks? like\b|\banother picture\b", question)
            else "WST"
        )

    def _answer(self, given: dict[str, str]) -> str:
        """The sentence with most words of the question, from pages with all its
        numbers; for yes or no, a sentence for each.
        """
        question = _bare(given["question"])
        polar = re.match(_POLAR, question, re.IGNORECASE) is not None
        terms = set(search_terms(question))
        terms = terms & set(words(given["claim"])) if polar else terms
        numbers = {term for term in terms if term.isdigit()}
        terms -= numbers
        said: dict[str, str] = {}
        best = (_ENOUGH, NO_ANSWER)
        for passage in _passages(given["passages"]):
            shares = [
                (len(terms & set(words(each))) / max(len(terms), 1), each)
                for each in _sentences(passage)
                if not each.endswith("?")
            ]
            share, sentence = max(shares, key=lambda each: each[0], default=(0.0, ""))
            if share > _ENOUGH and numbers <= set(words(passage)):
                said.setdefault("Yes" if share == 1 else "No", sentence)
                best = max(best, (share, sentence), key=lambda each: each[0])
        if polar:
            return (
                " ".join(
                    f"{word}. {said[word]}" for word in ("Yes", "No") if word in said
                )
                or NO_ANSWER
            )
        return best[1]

    def _verdict(self, given: dict[str, str]) -> str:
        claimed = {
            word for word in words(given["claim"]) if word.isdigit() and len(word) > 1
        }
        yes = no = elsewhere = False
        for line in given["evidence"].splitlines():
            _, asked, answer = line.partition("? ")
            answer = answer if asked else line
            yes, no = (
                yes or "Yes. " in answer,
                no or bool(re.search(r"\bNo\. ", answer)),
            )
            taken = (
                {word for word in words(answer) if re.fullmatch(r"\d{4}", word)}
                if "taken" in answer and "[IMG_" in line
                else set()
            )
            elsewhere = elsewhere or bool(taken and claimed and not taken <= claimed)
        if elsewhere or (no and not yes):
            return REFUTED
        return CONFLICTING if yes and no else SUPPORTED if yes else NOT_ENOUGH_EVIDENCE

    def _justification(self, given: dict[str, str]) -> str:
        lines = [
            re.sub(r"^\d+\. |\[IMG_\d+\] ?", "", line)
            for line in given["evidence"].splitlines()
        ]
        facts = [
            line.partition("? ")[2] or line for line in lines if NO_ANSWER not in line
        ]
        because = (
            " ".join(facts[:2])
            or "No page has the picture and none tells of the event."
        )
        return f"{given['verdict']}, by rules without a language model. {because}"


def _plan(claim: str, examples: str) -> list[str]:
    """Questions on a claim, as far as its words allow.

    First those that others asked of claims like it, then some of its own.
    """
    text = _bare(claim)
    told = _ABOUT.sub("", text).rstrip(".")
    event = _event(claim)
    own = [f"Is it true that {told[:1].lower()}{told[1:]}?"]
    if event:
        own = [
            f"Was there {told}?",
            f"Which people came to the {event}?",
            f"What does the {event} look like in another picture?",
        ]
    if "[IMG_1]" in claim:
        own = [
            "Where and when was this picture taken? [IMG_1]",
            *own,
            "What can be seen in the picture? [IMG_1]",
        ]
    asked = [
        question
        for question in (*_borrowed(text, examples), *own)
        if "[IMG_1]" in claim or "[IMG_1]" not in question
    ]
    return list({_kind(question): question for question in reversed(asked)}.values())[
        ::-1
    ]


def _borrowed(claim: str, examples: str) -> list[str]:
    """Questions on claims of the same build, with the words in which the claims differ
    exchanged.
    """
    made = []
    here = re.findall(r"\w+", claim)
    for example in re.split(r"^Claim: ", examples, flags=re.MULTILINE)[1:]:
        first, *lines = example.splitlines()
        there = re.findall(r"\w+", first)
        if len(there) != len(here):
            continue
        other = dict(zip(there, here, strict=True))
        for line in lines:
            found = re.match(r"(?:\d+\.|Next question:) (.*)", line)
            asked = (
                "".join(
                    other.get(part, part) for part in re.findall(r"\w+|\W+", found[1])
                )
                if found
                else ""
            )
            names = set(re.findall(r"\b(?:[A-Z]\w+|\d+)\b", _bare(asked)[1:]))
            made += [asked] if asked and names <= set(here) else []
    return made


def _kind(question: str) -> str:
    """What a question asks for, in whatever words it asks."""
    for kind, pattern in (
        ("origin", r"\btaken\b"),
        ("event", _POLAR),
        ("people", r"^(?:who|which people)\b"),
        ("look", r"\banother picture\b"),
    ):
        if re.search(pattern, question, re.IGNORECASE):
            return kind
    return " ".join(words(question)[:2])


def _event(claim: str) -> str:
    """What a claim of the kind "The image shows a flood in Rome on 8 May 2019, with
    ..." is about: "flood in Rome on 8 May 2019".
    """
    found = re.match(r"an? ([^,]+ on [^,]+),", _ABOUT.sub("", _bare(claim)))
    return found[1] if found and _ABOUT.match(claim) else ""


def _reported(evidence: str) -> str:
    """The event as a report told it, where that is not what the claim says."""
    for line in evidence.splitlines():
        said = line.partition("? No. ")[2]
        topic, land, day = (
            re.search(pattern, said)
            for pattern in (
                r"\bat an? (\w+)",
                r" in ([A-Z]\w+)",
                r"\b(\d{1,2} [A-Z]\w+ \d{4})\b",
            )
        )
        if topic and land and day:
            return f"{topic[1]} in {land[1]} on {day[1]}"
    return ""


def _bare(question: str) -> str:
    return re.sub(r"\s*\[IMG_\d+\]", "", question).strip()


def _passages(quoted: str) -> list[str]:
    """Texts of passages, without the lines that say where they are from."""
    return [line for line in quoted.splitlines() if not re.match(r"\(\d+\) ", line)]


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]
