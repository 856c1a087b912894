"""Judges: which items of a reference an output covers, how similar images are.

A judge is a language model behind :class:`ModelJudge`, or :class:`LexicalJudge`, which
uses no model. A model's reply that does not parse is a problem that is counted and
shown; the official scorer silently counts it as 0.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from averimatec.models import Model, ModelError, Reply, excerpt
from averimatec.pictures import hash_similarity
from averimatec.prompts import fill
from averimatec.similarity import align, set_score, similarities
from averimatec.submission import Evidence
from verite.errors import DataError, MissingDataError

if TYPE_CHECKING:
    from verite.encoders import Encoder

Pairs = tuple[tuple[int, int], ...]
Statements = Sequence[Evidence]
Paths = Sequence[Path]
Files = Mapping[str, Path]
"""Files by name."""


@dataclass(frozen=True)
class Matches:
    """A judge's matches. Items are counted from 1, as replies count them.

    Attributes
    ----------
    predicted, reference
        How many predicted items are in the reference, and the reverse; None where the
        reply does not say.
    predicted_pairs, reference_pairs
        ``(predicted, reference)`` and ``(reference, predicted)``, in the reply's order.
    problem
        Why the reply cannot be used; empty if it can.
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
    """Similarity of two sets of images, 0 to 10, or None and the problem.

    ``replied`` is False where an image could not be opened or the judge not reached.
    """

    value: float | None
    problem: str = ""
    replied: bool = True


class Judge(Protocol):
    """Anything that compares references with predictions."""

    @property
    def name(self) -> str:
        """Name of the judge, written into every output."""

    def questions(self, reference: Sequence[str], predicted: Sequence[str]) -> Matches:
        """Compare questions by their text (Q-Eval)."""

    def evidence(self, reference: Statements, predicted: Statements) -> Matches:
        """Compare evidence by its text; all images count as the same."""

    def interleaved(
        self, reference: Statements, predicted: Statements, files: Files
    ) -> Matches:
        """Compare evidence with its images in one step."""

    def images(self, reference: Paths, predicted: Paths) -> ImageScore:
        """Score how similar two sets of images are."""


@dataclass(frozen=True)
class LexicalJudge:
    """A judge without a model: aligned words, images compared by hash or by CLIP.

    It is deterministic. It knows no synonyms, no paraphrase and no reasoning, so its
    recall is a kind of lower bound; it does not replace the paper's scores.

    Attributes
    ----------
    least
        Similarity from which two statements match
        (:func:`averimatec.similarity.similarities`). At 0.5, on AVeriTeC's questions
        and answers, a statement whose words are shuffled matches itself in 22 % of
        cases, two statements of one claim match in 5 %, and one with typing errors in a
        tenth of its words in over 99 %.
    encoder
        A CLIP to compare images by the cosine of their vectors; without one, perceptual
        hashes find copies.
    """

    least: float = 0.5
    encoder: Encoder | None = None

    @property
    def name(self) -> str:
        """Says that no model is used, and how images are compared."""
        encoder = self.encoder
        how = f"vectors of {encoder.identity}" if encoder else "perceptual hash"
        return (
            f"deterministic, no language model (lexical alignment from {self.least:g},"
            f" images by {how})"
        )

    def questions(self, reference: Sequence[str], predicted: Sequence[str]) -> Matches:
        """Align questions."""
        return self._matches(similarities(reference, predicted))

    def evidence(self, reference: Statements, predicted: Statements) -> Matches:
        """Align statements."""
        return self._matches(similarities(_texts(reference), _texts(predicted)))

    def interleaved(
        self, reference: Statements, predicted: Statements, files: Files
    ) -> Matches:
        """Align statements by similarity of text, times that of images."""
        similarity = similarities(_texts(reference), _texts(predicted))
        for i, j in np.argwhere(similarity >= self.least):
            names = reference[i].images, predicted[j].images
            if not all(names):
                continue
            try:
                first, second = ([files[name] for name in side] for side in names)
            except KeyError as error:
                return Matches(problem=f"no file of the image {error.args[0]}")
            score = self.images(first, second)
            if score.problem:
                return Matches(problem=score.problem)
            similarity[i, j] *= (score.value or 0.0) / 10
        return self._matches(similarity)

    def images(self, reference: Paths, predicted: Paths) -> ImageScore:
        """Pair images so that they are most similar."""
        try:
            if self.encoder is None:
                return ImageScore(set_score(hash_similarity(reference, predicted)))
            paths = {str(path): path for path in (*reference, *predicted)}
            vectors = self.encoder.encode_images(paths, normalise=True).embeddings
        except (DataError, MissingDataError) as error:
            return ImageScore(None, str(error), replied=False)
        first = vectors.rows([str(path) for path in reference])
        second = vectors.rows([str(path) for path in predicted])
        return ImageScore(set_score(np.clip(first @ second.T, 0, 1)))

    def _matches(self, similarity: np.ndarray) -> Matches:
        pairs = tuple((i + 1, j + 1) for i, j in align(similarity, self.least))
        flipped = tuple((j, i) for i, j in pairs)
        return Matches(len(pairs), len(pairs), flipped, pairs)


@dataclass
class ModelJudge:
    """A language model as a judge, asked for replies in the official form.

    Attributes
    ----------
    asked
        Number of replies.
    tokens, cost
        What the replies took, cached ones left out.
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
        return self._compare("judge-questions-1", reference, predicted)

    def evidence(self, reference: Statements, predicted: Statements) -> Matches:
        """Ask which facts are supported, images aside."""
        return self._compare("judge-evidence-1", _texts(reference), _texts(predicted))

    def interleaved(
        self, reference: Statements, predicted: Statements, files: Files
    ) -> Matches:
        """Ask which facts are supported, images among the words."""
        images: list[Path] = []
        try:
            second = [_with_images(item, files, images) for item in predicted]
            first = [_with_images(item, files, images) for item in reference]
        except KeyError as error:
            problem = f"no file of the image {error.args[0]}"
            return Matches(problem=problem, replied=False)
        return self._compare("judge-interleaved-1", first, second, images)

    def images(self, reference: Paths, predicted: Paths) -> ImageScore:
        """Ask how similar two sets are."""
        images = [*predicted, *reference]
        places = [f"<image {number}>" for number in range(1, len(images) + 1)]
        first, second = places[: len(predicted)], places[len(predicted) :]
        prompt = fill("judge-images-1", first=" ".join(first), second=" ".join(second))
        try:
            reply = self._complete(prompt, images)
        except (ModelError, DataError, MissingDataError) as error:
            return ImageScore(None, str(error), replied=False)
        number = re.fullmatch(
            r"\D*?(?<!-)\b(10|\d)\b(?:\s*(?:/|out of)\s*10)?\W*", reply.text.strip()
        )
        if number:
            return ImageScore(float(number[1]))
        wanted = "expected one whole number from 0 to 10"
        return ImageScore(None, f"{wanted}, found {excerpt(reply.text)}")

    def _compare(
        self,
        prompt: str,
        reference: Sequence[str],
        predicted: Sequence[str],
        images: Paths = (),
    ) -> Matches:
        lists = {"reference": _numbered(reference), "predicted": _numbered(predicted)}
        if not images:  # so that texts cannot name images that are not there
            lists = {k: v.replace("<image ", "< image ") for k, v in lists.items()}
        try:
            reply = self._complete(fill(prompt, **lists), images)
        except ModelError as error:
            return Matches(problem=str(error), replied=False)
        return parse_matches(reply.text)

    def _complete(self, prompt: str, images: Paths) -> Reply:
        reply = self.model.complete(prompt, images)
        with self._lock:
            self.asked += 1
            if not reply.cached:
                self.tokens += reply.tokens_in + reply.tokens_out
                self.cost += reply.cost
        return reply


def parse_matches(reply: str) -> Matches:
    r"""Read a judge's reply in the official form: two lines with a count and its pairs.

    Explanations are passed over. The last line of each kind counts, as models repeat
    the form before they fill it. Pairs are read by their numbers, so a slip such as
    ``RPED_3`` does no harm.

    >>> reply = "[PRED in REF]: 1; (PRED_2,REF_1)\n[REF in PRED]: 1; (REF_1,PRED_2)"
    >>> parse_matches(reply).reference_pairs
    ((1, 2),)
    >>> parse_matches("I cannot compare them.").problem
    "expected a line '[PRED in REF]: N; pairs', found 'I cannot compare them.'"
    """
    counts: list[int | None] = []
    pairs: list[Pairs] = []
    problems = []
    for kind in ("PRED in REF", "REF in PRED"):
        lines = re.findall(rf"^\W*\[{kind}\]:[ \t]*(.*)$", reply, re.MULTILINE)
        line = lines[-1] if lines else ""
        count, _, listed = line.partition(";")
        numbers = [
            tuple(map(int, re.findall(r"_\s*(\d+)", pair)))
            for pair in re.findall(r"\(([^()]*)\)", listed)
        ]
        counts.append(int(count) if re.fullmatch(r"\s*\d{1,4}\s*", count) else None)
        pairs.append(tuple((pair[0], pair[1]) for pair in numbers if len(pair) == 2))
        if counts[-1] is None:
            wanted = f"a line '[{kind}]: N; pairs'"
            problems.append(f"expected {wanted}, found {excerpt(line or reply)}")
        elif len(pairs[-1]) < len(numbers):
            wanted = "pairs such as (PRED_1,REF_2)"
            problems.append(f"expected {wanted}, found {excerpt(listed)}")
    problem = problems[0] if problems else ""
    return Matches(counts[0], counts[1], pairs[0], pairs[1], problem)


def _texts(items: Statements) -> list[str]:
    return [item.text for item in items]


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(
        f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, 1)
    )


def _with_images(item: Evidence, files: Files, images: list[Path]) -> str:
    """The text with tokens renumbered for ``images``, to which its images are added."""

    def place(token: re.Match[str]) -> str:
        number = int(token[1])
        if not 1 <= number <= len(item.images):
            return token[0]
        images.append(files[item.images[number - 1]])
        return f"<image {len(images)}>"

    return re.sub(r"\[IMG_(\d+)\]", place, item.text.replace("<image ", "< image "))
