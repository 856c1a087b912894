"""Prompts that quote, replies read strictly, demonstrations."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from averimatec import Answer, Claim, Evidence, Question, ScriptedModel
from averimatec.pipeline.search import Passage
from averimatec.pipeline.steps import Ask, Steps
from averimatec.pipeline.verify import Examples, tool_of
from averimatec.prompts import TASKS, blocks, fill_task, versions

CLAIM = Claim(
    "0",
    "A boat in Rome.",
    ("a.png", "b.png"),
    date=datetime.date(2020, 5, 1),
    location="IT",
)


def test_prompt_files() -> None:
    assert set(versions()) == set(TASKS)
    assert len(set(versions().values())) == len(TASKS)
    for version in versions().values():
        assert re.fullmatch(r"version \d+, sha256 [0-9a-f]{16}", version)


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            [">>>", "<<<", "\n", "<image 1>", "$claim", "verdict", " ", "<<<<", "\r"]
        )
    ).map("".join)
)
def test_quoted_text_stays_in_its_block(text: str) -> None:
    prompt = fill_task("verdict", pictures=1, claim=text, about="a", evidence="b")
    quoted = blocks(prompt)
    assert set(quoted) == {"claim", "about", "evidence"}
    assert (quoted["about"], quoted["evidence"]) == ("a", "b")
    assert re.findall(r"<image \d+>", prompt) == ["<image 1>"]
    assert prompt.startswith("Task: verdict.\n")


def steps(
    reply: str, files: dict[str, Path] | None = None, seen: list[str] | None = None
) -> Steps:
    def script(prompt: str, images: object) -> str:
        if seen is not None:
            seen.append(prompt)
        return reply

    return Steps(CLAIM, CLAIM.images, ScriptedModel(script), dict(files or {}))


def test_questions() -> None:
    reply = "Here they are:\n1. When was [IMG_2] taken?\n2) Who?\n3. Who?"
    own = steps(reply)
    assert own.questions(2, "") == [
        Ask("When was the image taken?", ("b.png",)),
        Ask("Who?"),
    ]
    assert own.problems == []
    many = steps("\n".join(f"{number}. Question {number}?" for number in range(1, 50)))
    assert len(many.questions(5, "")) == 5
    few = steps("1. Is [IMG_7] old?")
    assert few.questions(5, "") == [Ask("Is the image old?")]
    assert few.problems == ["questions: expected 5 different ones, found 1"]


def test_next_question() -> None:
    own = steps("who built it?")
    assert own.next_question([], (), "") == Ask("who built it?")
    assert own.next_question([Ask("Who built it?")], (), "") is None
    assert own.problems == ["next-question: the model repeated itself"]
    assert steps("NONE").next_question([], (), "") is None


@pytest.mark.parametrize(
    ("reply", "tool", "problems"),
    [
        ("**VQA**.", "VQA", 0),
        ("RIS or WST", "WST", 1),
        ("rm -rf", "WST", 1),
    ],
)
def test_tool(reply: str, tool: str, problems: int) -> None:
    own = steps(reply)
    assert (own.tool(Ask("Who?"), ""), len(own.problems)) == (tool, problems)
    assert own.usage.replies == 1


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Refuted.", "Refuted"),
        ("Verdict: Conflicting", "Conflicting/Cherrypicking"),
        ("**Not Enough Evidence**", "Not Enough Evidence"),
        ("I would say that it is refuted", ""),
        ("Supported, or Refuted", ""),
        ("", ""),
    ],
)
def test_verdict(reply: str, verdict: str) -> None:
    own = steps(reply)
    assert own.verdict(()) == verdict
    assert bool(own.problems) == (verdict == "")


@pytest.mark.parametrize(
    ("reply", "images", "text"),
    [
        ("[IMG_1] is of 2019 [IMG_5]", ("a",), "[IMG_1] is of 2019"),
        ("It is of 2019.", ("a", "c"), "It is of 2019. [IMG_1] [IMG_2]"),
    ],
)
def test_statement(reply: str, images: tuple[str, ...], text: str) -> None:
    statement = steps(reply).statement(Ask("When?", ("a",)), "2019", images)
    assert statement == Evidence(text, images)


def test_prompt_of_verdict(pictures: dict[str, Path]) -> None:
    seen: list[str] = []
    evidence = [Evidence("[IMG_1] is like [IMG_2].", ("b.png", "copy.png"))]
    steps("Refuted", pictures, seen).verdict(evidence)
    quoted = blocks(seen[0])
    assert quoted["claim"] == "A boat in Rome. [IMG_1] [IMG_2]"
    assert quoted["evidence"] == "1. [IMG_2] is like [IMG_3]."
    assert quoted["about"].startswith("date: 2020-05-01\nplace: IT")
    marks = "".join(f"\n[IMG_{k}] is <image {k}>" for k in (1, 2, 3))
    assert seen[0].endswith(marks)


def test_prompt_of_answer() -> None:
    seen: list[str] = []
    url, day = "https://a.example", datetime.date(2020, 1, 2)
    passage = Passage(f"{url}#1", "It\nsank.", url, "A boat", day)
    assert steps("Yes.", seen=seen).answer(Ask("Did it sink?"), [passage]) == "Yes."
    quoted = "(1) A boat, 2020-01-02, https://a.example\nIt sank."
    assert blocks(seen[0])["passages"] == quoted


def test_odd_replies() -> None:
    empty, endless = steps(" "), steps("word " * 100_000)
    assert empty.answer(Ask("Who?"), ()) == "No answer could be found."
    assert empty.problems == ["answer: an empty reply"]
    assert len(endless.answer(Ask("Who?"), ())) <= 8000
    assert endless.problems == ["a reply of 500,000 characters was cut"]


def training(number: int, text: str, days: int = 0) -> Claim:
    so, thus = (Answer("Extractive", word) for word in ("So.", "Thus."))
    first = f"Question {number}?"
    asked = Question(first, (so,), ("Image-related",), "Image-search", ("x.png",))
    day = datetime.date(2019, 1, 1) + datetime.timedelta(days)
    questions = (asked, Question("Then?", (thus,)))
    return Claim(str(number), text, ("x.png",), date=day, questions=questions)


def test_nearest_examples() -> None:
    claims = [
        training(0, "A fire in Pisa."),
        training(1, "A boat in Rome!"),
        training(2, "A boat in Pisa."),
        training(3, "Nothing"),
        training(4, "A boat in Rome, again.", days=1000),  # later than the claim
        training(5, CLAIM.text),
    ]
    nearest = Examples(claims, 3).nearest(CLAIM)
    assert [claim.id for claim in nearest] == ["1", "2", "0"]


def test_examples() -> None:
    examples = Examples([training(1, "A boat in Pisa.")], 3)
    asked = "1. Question 1? [IMG_1]\n2. Then?"
    assert examples.questions(CLAIM) == f"Claim: A boat in Pisa.\n{asked}"
    first, second = (examples.next_question(CLAIM, asked) for asked in (0, 1))
    assert first.endswith("- nothing\nNext question: Question 1? [IMG_1]")
    assert second.endswith("- Question 1? [IMG_1] So.\nNext question: Then?")
    tools = "Question: Question 1? [IMG_1]\nKind: Image-related\nTool: RIS"
    assert examples.tools(CLAIM) == tools


@pytest.mark.parametrize(
    ("method", "answer", "tool"),
    [
        ("Image-search", Answer("Extractive", "So."), "RIS"),
        ("Text-search", Answer("Extractive", "So."), "WST"),
        ("Text-search", Answer("Image", images=("x.png",)), "WSI"),
        ("Image Analysis", Answer("Extractive", "So."), "VQA"),
        ("Metadata", Answer("Extractive", "So."), ""),
    ],
)
def test_tool_of(method: str, answer: Answer, tool: str) -> None:
    assert tool_of(Question("?", (answer,), method=method)) == tool
