from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from averimatec import Answer, Claim, Evidence, Question, ScriptedModel
from averimatec.pipeline import Examples, Passage, Steps
from averimatec.pipeline.examples import tool_of
from averimatec.pipeline.prompts import blocks
from averimatec.pipeline.steps import Ask

CLAIM = Claim(
    "0",
    "A boat in Rome.",
    ("a.png", "b.png"),
    date=datetime.date(2020, 5, 1),
    location="IT",
)


def steps(
    reply: str, files: dict[str, Path] | None = None, seen: list[str] | None = None
) -> Steps:
    def script(prompt: str, images: object) -> str:
        if seen is not None:
            seen.append(prompt)
        return reply

    model = ScriptedModel(script)
    return Steps(model, model, dict(files or {}))


def test_questions_are_read_with_the_pictures_they_name() -> None:
    made = steps(
        "Here they are:\n1. When was [IMG_2] taken?\n2) Who built it?\n3. Who built it?"
    )
    assert made.questions(CLAIM, 2, CLAIM.images, "") == [
        Ask("When was the image taken?", ("b.png",)),
        Ask("Who built it?"),
    ]
    assert made.problems == []


def test_no_more_questions_are_taken_than_were_asked_for_and_fewer_are_a_problem() -> (
    None
):
    many = steps("\n".join(f"{number}. Question {number}?" for number in range(1, 50)))
    assert len(many.questions(CLAIM, 5, (), "")) == 5
    few = steps("1. Who?")
    assert len(few.questions(CLAIM, 5, (), "")) == 1
    assert few.problems == ["questions: expected 5 different ones, found 1"]


def test_a_picture_that_is_not_there_is_no_picture_of_a_question() -> None:
    assert steps("1. Is [IMG_7] old?").questions(CLAIM, 1, CLAIM.images, "") == [
        Ask("Is the image old?")
    ]


def test_a_question_asked_before_ends_the_asking_and_is_a_problem() -> None:
    made = steps("who built it?")
    assert made.next_question(CLAIM, [Ask("Who built it?")], (), (), "") is None
    assert made.problems == ["next-question: the model repeated itself"]
    assert steps("NONE").next_question(CLAIM, [], (), (), "") is None


@pytest.mark.parametrize(
    ("reply", "tool", "problems"),
    [
        ("RIS", "RIS", 0),
        ("**VQA**.", "VQA", 0),
        ("RIS or WST", "WST", 1),
        ("rm -rf", "WST", 1),
    ],
)
def test_a_tool_is_one_of_four_whatever_the_reply(
    reply: str, tool: str, problems: int
) -> None:
    made = steps(reply)
    assert (made.tool(Ask("Who?"), ""), len(made.problems)) == (tool, problems)


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
def test_a_verdict_is_one_of_four_or_empty_and_a_problem(
    reply: str, verdict: str
) -> None:
    made = steps(reply)
    assert made.verdict(CLAIM, (), ()) == verdict
    assert bool(made.problems) == (verdict == "")


def test_statements_keep_the_pictures_that_are_there_and_no_others() -> None:
    ask = Ask("When was it taken?", ("a.png",))
    assert steps("[IMG_1] is of 2019 [IMG_5]").statement(
        ask, "2019", ("a.png",)
    ) == Evidence("[IMG_1] is of 2019", ("a.png",))
    assert steps("It is of 2019.").statement(
        ask, "2019", ("a.png", "c.png")
    ) == Evidence("It is of 2019. [IMG_1] [IMG_2]", ("a.png", "c.png"))


def test_the_verdict_sees_claim_and_evidence_with_one_number_for_each_picture(
    pictures: dict[str, Path],
) -> None:
    seen: list[str] = []
    evidence = [Evidence("[IMG_1] is like [IMG_2].", ("b.png", "copy.png"))]
    steps("Refuted", pictures, seen).verdict(CLAIM, evidence, ("a.png", "b.png"))
    found = blocks(seen[0])
    assert found["claim"] == "A boat in Rome. [IMG_1] [IMG_2]"
    assert found["evidence"] == "1. [IMG_2] is like [IMG_3]."
    assert found["about"].startswith("date: 2020-05-01\nplace: IT")
    assert seen[0].endswith(
        "[IMG_1] is <image 1>\n[IMG_2] is <image 2>\n[IMG_3] is <image 3>"
    )


def test_passages_are_shown_with_date_and_address() -> None:
    seen: list[str] = []
    passage = Passage(
        "https://a.example#1",
        "It\nsank.",
        "https://a.example",
        "A boat",
        datetime.date(2020, 1, 2),
    )
    assert (
        steps("Yes.", seen=seen).answer(CLAIM, Ask("Did it sink?"), [passage]) == "Yes."
    )
    assert (
        blocks(seen[0])["passages"]
        == "(1) A boat, 2020-01-02, https://a.example\nIt sank."
    )


def test_an_empty_reply_is_no_answer_and_a_problem() -> None:
    made = steps(" ")
    assert made.answer(CLAIM, Ask("Who?"), ()) == "No answer could be found."
    assert made.problems == ["answer: an empty reply"]


def test_a_reply_without_end_is_cut_and_a_problem() -> None:
    made = steps("word " * 100_000)
    assert len(made.answer(CLAIM, Ask("Who?"), ())) <= 8000
    assert made.problems == ["a reply of 500,000 characters was cut"]


def test_replies_are_counted() -> None:
    made = steps("RIS")
    made.tool(Ask("Who?"), "")
    made.tool(Ask("What?"), "")
    assert made.usage.replies == 2


def training(number: int, text: str, days: int = 0) -> Claim:
    asked = Question(
        f"Question {number}?",
        (Answer("Extractive", "So."),),
        ("Image-related",),
        "Image-search",
        ("x.png",),
    )
    day = datetime.date(2019, 1, 1) + datetime.timedelta(days)
    return Claim(
        str(number),
        text,
        ("x.png",),
        date=day,
        questions=(asked, Question("Then?", (Answer("Extractive", "Thus."),))),
    )


def test_demonstrations_are_the_three_nearest_older_claims() -> None:
    old = [
        training(0, "A fire in Pisa."),
        training(1, "A boat in Rome!"),
        training(2, "A boat in Pisa."),
        training(3, "Nothing"),
    ]
    later = training(4, "A boat in Rome, again.", days=1000)
    same = training(5, CLAIM.text)
    found = Examples([*old, later, same], 3).nearest(CLAIM)
    assert [claim.id for claim in found] == ["1", "2", "0"]


def test_demonstrations_show_questions_evidence_and_tools() -> None:
    examples = Examples([training(1, "A boat in Pisa.")], 3)
    assert (
        examples.questions(CLAIM)
        == "Claim: A boat in Pisa.\n1. Question 1? [IMG_1]\n2. Then?"
    )
    assert examples.next_question(CLAIM, 0).endswith(
        "- nothing\nNext question: Question 1? [IMG_1]"
    )
    assert examples.next_question(CLAIM, 1).endswith(
        "- Question 1? [IMG_1] So.\nNext question: Then?"
    )
    assert (
        examples.tools(CLAIM)
        == "Question: Question 1? [IMG_1]\nKind: Image-related\nTool: RIS"
    )


def test_ways_of_answering_are_tools() -> None:
    picture, text = Answer("Image", images=("x.png",)), Answer("Extractive", "So.")
    ways = [
        ("Image-search", text),
        ("Text-search", text),
        ("Text-search", picture),
        ("Image Analysis", text),
        ("Metadata", text),
    ]
    assert [tool_of(Question("?", (answer,), method=way)) for way, answer in ways] == [
        "RIS",
        "WST",
        "WSI",
        "VQA",
        "",
    ]
