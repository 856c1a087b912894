"""Judges: which questions and evidence items of a reference a system's cover, and how
alike two sets of images are.

A judge is a language model behind :class:`ModelJudge`, or :class:`LexicalJudge`, which
is no model. The former's replies are read strictly. What does not parse is a problem
that is counted and shown; the official scorer takes it for 0 without a word.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from averimatec.lexical import align, similarities
from averimatec.models import Model, ModelError, Reply
from averimatec.pictures import hash_similarity, set_score
from averimatec.prompts import fill
from averimatec.submission import Evidence
from verite.errors import DataError, MissingDataError

if TYPE_CHECKING:
    from verite.encoders import Encoder

__all__ = [
    "ImageScore",
    "Judge",
    "LexicalJudge",
    "Matches",
    "ModelJudge",
    "parse_matches",
]

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Matches:
    """What a judge found. Items are counted from 1, as replies count them.

    Attributes
    ----------
    predicted, reference
        How many predicted items are in the reference, and the other way round; None
        where the reply does not say.
    predicted_pairs, reference_pairs
        ``(predicted, reference)`` and ``(reference, predicted)``, in the reply's order.
    problem
        What is wrong with the reply; empty if nothing is.
    replied
        Whether there was a reply at all.
    """

    predicted: int | None = None
    reference: int | None = None
    predicted_pairs: Pairs = ()
    reference_pairs: Pairs = ()
    problem: str = ""
    replied: bool = True


@dataclass(frozen=True)
class ImageScore:
    """How alike two sets of images are, 0 to 10; None, and why, where it is not known.

    ``replied`` is False where nobody said anything: an image could not be opened, or
    the judge could not be reached.
    """

    value: float | None
    problem: str = ""
    replied: bool = True


class Judge(Protocol):
    """Anything that compares references with predictions.

    ``files`` are image files by name.
    """

    @property
    def name(self) -> str:
        """What it is; it stands in every output."""

    def questions(self, reference: Sequence[str], predicted: Sequence[str]) -> Matches:
        """Compare questions by their text (Q-Eval)."""

    def evidence(
        self, reference: Sequence[Evidence], predicted: Sequence[Evidence]
    ) -> Matches:
        """Compare evidence by its text, all images taken for one."""

    def interleaved(
        self,
        reference: Sequence[Evidence],
        predicted: Sequence[Evidence],
        files: Mapping[str, Path],
    ) -> Matches:
        """Compare evidence with its images in one step."""

    def images(
        self, reference: Sequence[Path], predicted: Sequence[Path]
    ) -> ImageScore:
        """Score how alike two sets of images are."""


@dataclass(frozen=True)
class LexicalJudge:
    """A judge without a model.

    Words aligned one to one, images compared by hash or by CLIP. Deterministic, and
    literal.

    It knows no synonyms, no paraphrase and no reasoning, so its recall is a lower bound
    of sorts; it serves for teaching, for tests, and for what must be the same tomorrow.
    It does not replace the paper's scores.

    Attributes
    ----------
    least
        Similarity from which on two statements match
        (:func:`averimatec.lexical.similarities`). At 0.5, on AVeriTeC's questions and
        answers, a statement whose words are shuffled matches itself in 22 % of cases,
        two statements of one claim match in 5 %, and one with slips of the pen in a
        tenth of its words in over 99 %.
    encoder
        A CLIP to compare images by the cosine of their vectors; without one, perceptual
        hashes find copies.
    """

    least: float = 0.5
    encoder: Encoder | None = None

    @property
    def name(self) -> str:
        """Says that it is no model, and what it compares by."""
        how = (
            f"vectors of {self.encoder.identity}" if self.encoder else "perceptual hash"
        )
        return (
            f"deterministic, no language model (lexical alignment from {self.least:g},"
            f" images by {how})"
        )

    def questions(self, reference: Sequence[str], predicted: Sequence[str]) -> Matches:
        """Align questions."""
        return self._matches(similarities(reference, predicted))

    def evidence(
        self, reference: Sequence[Evidence], predicted: Sequence[Evidence]
    ) -> Matches:
        """Align statements."""
        return self._matches(_texts(reference, predicted))

    def interleaved(
        self,
        reference: Sequence[Evidence],
        predicted: Sequence[Evidence],
        files: Mapping[str, Path],
    ) -> Matches:
        """Align statements by likeness of text times likeness of images, where both
        have images.
        """
        likeness = _texts(reference, predicted)
        problems = []
        for i, one in enumerate(reference):
            for j, other in enumerate(predicted):
                if one.images and other.images and likeness[i, j] >= self.least:
                    missing = [
                        name
                        for name in (*one.images, *other.images)
                        if name not in files
                    ]
                    score = (
                        ImageScore(None, f"no file of the image {missing[0]}")
                        if missing
                        else self.images(_paths(one, files), _paths(other, files))
                    )
                    problems += [score.problem] if score.problem else []
                    likeness[i, j] *= (score.value or 0.0) / 10
        found = self._matches(likeness)
        return Matches(None, None, problem=problems[0]) if problems else found

    def images(
        self, reference: Sequence[Path], predicted: Sequence[Path]
    ) -> ImageScore:
        """Pair images so that they are most alike."""
        try:
            likeness = (
                hash_similarity(reference, predicted)
                if self.encoder is None
                else self._cosines(reference, predicted)
            )
        except (DataError, MissingDataError) as error:
            return ImageScore(None, str(error), replied=False)
        return ImageScore(set_score(likeness))

    def _cosines(
        self, reference: Sequence[Path], predicted: Sequence[Path]
    ) -> np.ndarray:
        assert self.encoder is not None  # noqa: S101
        paths = {str(path): path for path in (*reference, *predicted)}
        vectors = self.encoder.encode_images(paths, normalise=True).embeddings
        first, second = (
            vectors.rows([str(path) for path in side])
            for side in (reference, predicted)
        )
        return np.asarray(np.clip(first @ second.T, 0, 1))

    def _matches(self, likeness: np.ndarray) -> Matches:
        pairs = [(i + 1, j + 1) for i, j in align(likeness, self.least)]
        return Matches(
            len(pairs), len(pairs), tuple((j, i) for i, j in pairs), tuple(pairs)
        )


@dataclass
class ModelJudge:
    """A language model as a judge, asked in our own words for replies in the official
    form.

    Attributes
    ----------
    tokens, cost, asked
        What its replies took, those from a cache left out, and how many there were,
        those counted in.
    """

    model: Model
    tokens: int = field(default=0, init=False)
    cost: float = field(default=0.0, init=False)
    asked: int = field(default=0, init=False)
    _lock: threading.Lock = field(
        default_factory=threading.Lock, init=False, repr=False
    )

    @property
    def name(self) -> str:
        """The model's name."""
        return f"language model: {self.model.name}"

    def questions(self, reference: Sequence[str], predicted: Sequence[str]) -> Matches:
        """Ask which questions are covered."""
        return self._ask(
            "judge-questions-1", _numbered(reference), _numbered(predicted), ()
        )

    def evidence(
        self, reference: Sequence[Evidence], predicted: Sequence[Evidence]
    ) -> Matches:
        """Ask which facts are supported, images aside."""
        return self._ask(
            "judge-evidence-1",
            _numbered([each.text for each in reference]),
            _numbered([each.text for each in predicted]),
            (),
        )

    def interleaved(
        self,
        reference: Sequence[Evidence],
        predicted: Sequence[Evidence],
        files: Mapping[str, Path],
    ) -> Matches:
        """Ask which facts are supported, images among the words."""
        images: list[Path] = []
        try:
            texts = [
                _numbered([_with_images(each, files, images) for each in items])
                for items in (predicted, reference)
            ]
        except KeyError as error:
            return Matches(
                problem=f"no file of the image {error.args[0]}", replied=False
            )
        return self._ask("judge-interleaved-1", texts[1], texts[0], images)

    def images(
        self, reference: Sequence[Path], predicted: Sequence[Path]
    ) -> ImageScore:
        """Ask how alike two sets are."""
        first = " ".join(f"<image {number}>" for number in range(1, len(predicted) + 1))
        second = " ".join(
            f"<image {number}>"
            for number in range(len(predicted) + 1, len(predicted) + len(reference) + 1)
        )
        try:
            reply = self._complete(
                fill("judge-images-1", first=first, second=second),
                [*predicted, *reference],
            )
        except (ModelError, DataError, MissingDataError) as error:
            return ImageScore(None, str(error), replied=False)
        found = re.fullmatch(
            r"\D*?(?<!-)\b(10|\d)\b(?:\s*(?:/|out of)\s*10)?\W*", reply.text.strip()
        )
        return (
            ImageScore(float(found[1]))
            if found
            else ImageScore(
                None,
                f"expected one whole number from 0 to 10, found {_short(reply.text)}",
            )
        )

    def _ask(
        self, prompt: str, reference: str, predicted: str, images: Sequence[Path]
    ) -> Matches:
        if not images:  # so that texts cannot name images that are not there
            reference, predicted = (
                text.replace("<image ", "< image ") for text in (reference, predicted)
            )
        try:
            reply = self._complete(
                fill(prompt, reference=reference, predicted=predicted), images
            )
        except ModelError as error:
            return Matches(problem=str(error), replied=False)
        return parse_matches(reply.text)

    def _complete(self, prompt: str, images: Sequence[Path]) -> Reply:
        reply = self.model.complete(prompt, images)
        with self._lock:
            self.asked += 1
            if not reply.cached:
                self.tokens += reply.tokens_in + reply.tokens_out
                self.cost += reply.cost
        return reply


def parse_matches(reply: str) -> Matches:
    r"""Read a judge's reply in the official form.

    Two lines with a count and the pairs behind it.

    Explanations and whatever else the official form holds are passed over. The last
    line of each kind counts, as models repeat the form before they fill it. Pairs are
    read by their numbers, so a slip such as ``RPED_3`` does no harm.

    >>> parse_matches("[PRED in REF]: 1; (PRED_2,REF_1)\n[REF in PRED]: 1; (REF_1,PRED_2)").reference_pairs
    ((1, 2),)
    >>> parse_matches("I cannot compare them.").problem
    "expected a line '[PRED in REF]: N; pairs', found 'I cannot compare them.'"
    """
    counts: list[int | None] = []
    pairs: list[Pairs] = []
    problem = ""
    for kind in ("PRED in REF", "REF in PRED"):
        lines = re.findall(rf"^\W*\[{kind}\]:[ \t]*(.*)$", reply, re.MULTILINE)
        count, _, listed = lines[-1].partition(";") if lines else ("", "", "")
        named = [
            re.findall(r"_\s*(\d+)", each)
            for each in re.findall(r"\(([^()]*)\)", listed)
        ]
        counts.append(int(count) if re.fullmatch(r"\s*\d{1,4}\s*", count) else None)
        pairs.append(
            tuple((int(each[0]), int(each[1])) for each in named if len(each) == 2)
        )
        if counts[-1] is None:
            problem = (
                problem
                or f"expected a line '[{kind}]: N; pairs', found {_short(lines[-1] if lines else reply)}"
            )
        elif any(len(each) != 2 for each in named):
            problem = (
                problem
                or f"expected pairs such as (PRED_1,REF_2), found {_short(listed)}"
            )
    return Matches(counts[0], counts[1], pairs[0], pairs[1], problem)


def _texts(reference: Sequence[Evidence], predicted: Sequence[Evidence]) -> np.ndarray:
    return similarities(
        [each.text for each in reference], [each.text for each in predicted]
    )


def _paths(item: Evidence, files: Mapping[str, Path]) -> list[Path]:
    return [files[name] for name in item.images]


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(
        f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, 1)
    )


def _with_images(item: Evidence, files: Mapping[str, Path], images: list[Path]) -> str:
    """The text with each token replaced by its image's place among all images, which
    are collected on the way.
    """

    def place(found: re.Match[str]) -> str:
        number = int(found[1])
        if not 1 <= number <= len(item.images):
            return found[0]
        images.append(files[item.images[number - 1]])
        return f"<image {len(images)}>"

    return re.sub(r"\[IMG_(\d+)\]", place, item.text.replace("<image ", "< image "))


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return repr(plain if len(plain) <= 80 else f"{plain[:77]}...")
