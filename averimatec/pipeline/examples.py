"""Demonstrations: what people asked of the claims that are nearest by BM25, and how
they found answers (paper, appendix H.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from averimatec.claims import Claim, Question
from averimatec.pipeline.bm25 import BM25, words
from averimatec.submission import reference_evidence

__all__ = ["Examples", "tool_of"]


class Examples:
    """Training claims to learn from.

    Parameters
    ----------
    training
        Claims with questions.
    shots
        How many demonstrations a prompt gets; the paper gives three.

    >>> old = Claim("0", "A boat sank in Rome.", questions=(Question("Did a boat sink?"),))
    >>> print(Examples([old], 3).questions(Claim("1", "A boat sank in Pisa.")))
    Claim: A boat sank in Rome.
    1. Did a boat sink?
    """

    def __init__(self, training: Sequence[Claim] = (), shots: int = 0) -> None:
        self.training = [claim for claim in training if claim.questions]
        self.shots = shots
        self._index = BM25([words(claim.text) for claim in self.training])

    def nearest(self, claim: Claim) -> list[Claim]:
        """The training claims whose words fit best, without the claim itself and
        without any that is not older.
        """
        ranked = [
            self.training[place]
            for place in self._index.best(words(claim.text), len(self.training))
        ]
        older = [
            each
            for each in ranked
            if each.text != claim.text
            and not (each.date and claim.date and each.date >= claim.date)
        ]
        return older[: self.shots]

    def questions(self, claim: Claim) -> str:
        """Demonstrations of all questions at once."""
        return "\n\n".join(
            "\n".join(
                [
                    f"Claim: {each.text}",
                    *(
                        f"{number}. {_asked(each, ask)}"
                        for number, ask in enumerate(each.questions, 1)
                    ),
                ]
            )
            for each in self.nearest(claim)
        )

    def next_question(self, claim: Claim, asked: int) -> str:
        """Demonstrations of the question that follows on ``asked`` others, with the
        evidence that those gave.
        """
        shown = []
        for each in self.nearest(claim):
            place = min(asked, len(each.questions) - 1)
            known = [f"- {item.text}" for item in reference_evidence(each)[:place]]
            shown.append(
                "\n".join(
                    [
                        f"Claim: {each.text}",
                        "Found so far:",
                        *(known or ["- nothing"]),
                        f"Next question: {_asked(each, each.questions[place])}",
                    ]
                )
            )
        return "\n\n".join(shown)

    def tools(self, claim: Claim) -> str:
        """Demonstrations of tools.

        The questions of the same claims whose way of answering is known.
        """
        shown = [
            f"Question: {_asked(each, ask)}\nKind:"
            f" {', '.join(ask.kinds) or 'not known'}\nTool: {tool}"
            for each in self.nearest(claim)
            for ask in each.questions
            if (tool := tool_of(ask))
        ]
        return "\n\n".join(dict.fromkeys(shown))


def tool_of(question: Question) -> str:
    """Tool that the annotated way of answering stands for, or an empty text.

    >>> tool_of(Question("Where?", method="Image-search")), tool_of(Question("Who?", method="Metadata"))
    ('RIS', '')
    """
    method = question.method.lower().replace("-", " ")
    if method == "text search":
        return "WSI" if any(answer.images for answer in question.answers) else "WST"
    return {"image search": "RIS", "image analysis": "VQA"}.get(method, "")


def _asked(claim: Claim, question: Question) -> str:
    named = [
        f"[IMG_{claim.images.index(name) + 1}]"
        for name in question.images
        if name in claim.images
    ]
    return " ".join([question.text, *named])
