"""A stand-in for a language model: rules that read the pipeline's prompts.

It is no model, and its name says so in every output. With it the pipeline runs anywhere
in seconds, for teaching and tests. It matches words; it knows no synonyms, sees no
picture, and its questions fit claims that report an event, as the newsroom's do. Its
scores on those say nothing about real claims.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from averimatec.claims import CONFLICTING, NOT_ENOUGH_EVIDENCE, REFUTED, SUPPORTED
from averimatec.models import Reply
from averimatec.pipeline.search import search_terms, words
from averimatec.prompts import blocks
from averimatec.submission import NO_ANSWER

Blocks = Mapping[str, str]

_ABOUT = re.compile(
    r"^(?:the|this) (?:image|picture|photo|photograph)s? shows? ", re.IGNORECASE
)
_SIGHT = re.compile(
    r"\b(?:see|seen|weather|colours?|many|wear\w*|look)\b", re.IGNORECASE
)
_POLAR = r"^(?:do|does|did|is|are|was|were|has|have)\b"
_ENOUGH = 0.5  # share of a question's words that a sentence about it must exceed


class RuleModel:
    """Rules instead of a language model.

    >>> from averimatec.prompts import fill_task
    >>> prompt = fill_task("tool", question="Where was it taken? [IMG_1]", examples="")
    >>> RuleModel().complete(prompt).text
    'RIS'
    """

    name = "rules, no language model (stand-in, for teaching and tests)"

    def complete(self, prompt: str, images: Sequence[Path] = ()) -> Reply:
        """Reply by the rules of the prompt's task; nothing else in it is read."""
        task = re.match(r"Task: ([a-z-]+)\.$", prompt.split("\n", 1)[0])
        given = blocks(prompt)
        text = NO_ANSWER
        if task and task[1] == "questions":
            count = re.search(r"exactly (\d+) questions", prompt)
            plan = _plan(given)[: int(count[1]) if count else None]
            text = "\n".join(f"{number}. {line}" for number, line in enumerate(plan, 1))
        elif task and task[1] in _RULES:
            text = _RULES[task[1]](given)
        return Reply(text, self.name)


def _next_question(given: Blocks) -> str:
    """The plan's next question, about the event of a report if that differs."""
    event, other = _event(given["claim"]), _reported(given["evidence"])
    kinds = {_kind(line.removeprefix("- ")) for line in given["asked"].splitlines()}
    for question in _plan(given):
        if _kind(question) not in kinds:
            return question.replace(event, other) if event and other else question
    return "NONE"


def _tool(given: Blocks) -> str:
    question = given["question"]
    if "[IMG_" in question:
        return "VQA" if _SIGHT.search(question) else "RIS"
    looks = re.search(r"\blooks? like\b|\banother picture\b", question)
    return "WSI" if looks else "WST"


def _answer(given: Blocks) -> str:
    """The sentence nearest to the question; for yes or no, a sentence for each."""
    question = _bare(given["question"])
    polar = re.match(_POLAR, question, re.IGNORECASE) is not None
    terms = set(search_terms(question))
    if polar:
        terms &= set(words(given["claim"]))
    numbers = {term for term in terms if term.isdigit()}
    terms -= numbers
    sentences: dict[str, str] = {}
    best = (_ENOUGH, NO_ANSWER)
    for passage in given["passages"].splitlines():
        if re.match(r"\(\d+\) ", passage):  # its title and address
            continue
        shares = [
            (len(terms & set(words(sentence))) / max(len(terms), 1), sentence)
            for sentence in _sentences(passage)
            if not sentence.endswith("?")
        ]
        share, sentence = max(shares, key=lambda pair: pair[0], default=(0.0, ""))
        if share > _ENOUGH and numbers <= set(words(passage)):
            sentences.setdefault("Yes" if share == 1 else "No", sentence)
            best = max(best, (share, sentence), key=lambda pair: pair[0])
    if not polar:
        return best[1]
    both = [f"{word}. {sentences[word]}" for word in ("Yes", "No") if word in sentences]
    return " ".join(both) or NO_ANSWER


def _verdict(given: Blocks) -> str:
    numbers = {w for w in words(given["claim"]) if w.isdigit() and len(w) > 1}
    yes = no = elsewhere = False
    for line in given["evidence"].splitlines():
        answer = line.partition("? ")[2] if "? " in line else line
        yes = yes or "Yes. " in answer
        no = no or bool(re.search(r"\bNo\. ", answer))
        if "taken" in answer and "[IMG_" in line:
            years = {word for word in words(answer) if re.fullmatch(r"\d{4}", word)}
            elsewhere |= bool(years and numbers and not years <= numbers)
    if elsewhere or (no and not yes):
        return REFUTED
    return CONFLICTING if yes and no else SUPPORTED if yes else NOT_ENOUGH_EVIDENCE


def _justification(given: Blocks) -> str:
    lines = [
        re.sub(r"^\d+\. |\[IMG_\d+\] ?", "", line)
        for line in given["evidence"].splitlines()
    ]
    facts = [line.partition("? ")[2] or line for line in lines if NO_ANSWER not in line]
    nothing = "No page has the picture and none tells of the event."
    because = " ".join(facts[:2]) or nothing
    return f"{given['verdict']}, by rules without a language model. {because}"


_RULES: dict[str, Callable[[Blocks], str]] = {
    "next-question": _next_question,
    "tool": _tool,
    "answer": _answer,
    "answer-pictures": lambda given: f"[IMG_{given['question'].count('[IMG_') + 1}]",
    "statement": lambda given: f"{given['question']} {given['answer']}",
    "verdict": _verdict,
    "justification": _justification,
    "summary": lambda given: " ".join(_sentences(given["justification"])[:4]),
}


def _plan(given: Blocks) -> list[str]:
    """Questions on a claim: those asked of similar claims, then some of its own."""
    claim = given["claim"]
    content = _ABOUT.sub("", _bare(claim)).rstrip(".")
    event = _event(claim)
    own = [f"Is it true that {content[:1].lower()}{content[1:]}?"]
    if event:
        own = [
            f"Was there {content}?",
            f"Which people came to the {event}?",
            f"What does the {event} look like in another picture?",
        ]
    has_picture = "[IMG_1]" in claim
    if has_picture:
        own = [
            "Where and when was this picture taken? [IMG_1]",
            *own,
            "What can be seen in the picture? [IMG_1]",
        ]
    # The first question of each kind, in the order in which kinds appear last: that of
    # its own questions.
    plan: dict[str, str] = {}
    for question in reversed([*_borrowed(_bare(claim), given["examples"]), *own]):
        if has_picture or "[IMG_1]" not in question:
            plan[_kind(question)] = question
    return list(plan.values())[::-1]


def _borrowed(claim: str, examples: str) -> list[str]:
    """Questions on claims of the same structure, with the differing words exchanged."""
    questions = []
    here = re.findall(r"\w+", claim)
    for example in re.split(r"^Claim: ", examples, flags=re.MULTILINE)[1:]:
        first, *lines = example.splitlines()
        there = re.findall(r"\w+", first)
        if len(there) != len(here):
            continue
        other = dict(zip(there, here, strict=True))
        for line in lines:
            match = re.match(r"(?:\d+\.|Next question:) (.*)", line)
            pieces = re.findall(r"\w+|\W+", match[1]) if match else []
            question = "".join(other.get(piece, piece) for piece in pieces)
            names = set(re.findall(r"\b(?:[A-Z]\w+|\d+)\b", _bare(question)[1:]))
            questions += [question] if question and names <= set(here) else []
    return questions


def _kind(question: str) -> str:
    """What a question asks for, however it is worded."""
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
    """Event of a claim ("flood in Rome on 8 May 2019"), or an empty text."""
    match = re.match(r"an? ([^,]+ on [^,]+),", _ABOUT.sub("", _bare(claim)))
    return match[1] if match and _ABOUT.match(claim) else ""


def _reported(evidence: str) -> str:
    """The event as a report has it, where that is not what the claim says."""
    for line in evidence.splitlines():
        report = line.partition("? No. ")[2]
        topic = re.search(r"\bat an? (\w+)", report)
        country = re.search(r" in ([A-Z]\w+)", report)
        day = re.search(r"\b(\d{1,2} [A-Z]\w+ \d{4})\b", report)
        if topic and country and day:
            return f"{topic[1]} in {country[1]} on {day[1]}"
    return ""


def _bare(question: str) -> str:
    return re.sub(r"\s*\[IMG_\d+\]", "", question).strip()


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]
