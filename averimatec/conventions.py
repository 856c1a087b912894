"""Recall and precision from a judge's matches, by the official and corrected rules.

======================== ======================== ==============================
case                     official                 corrected
======================== ======================== ==============================
reply does not parse     0                        claim unscored, problem shown
item with several        the first one decides    counts if any match holds
matches
item that does not exist counts: it has no images left out, problem shown
images that cannot be    the same images          claim unscored, problem shown
opened or judged
no evidence predicted    claim left out           recall and precision 0
no reference evidence    claim left out           claim left out
images scored below 9    match dropped            match dropped
side without images      counts as 10             counts as 10
more covered than exist  capped at 1              distinct items are counted
verdict                  AVerImaTeC's spelling    any known spelling
======================== ======================== ==============================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from averimatec.judges import Files, ImageScore, Judge, Matches, Pairs, Statements
from averimatec.submission import Evidence

CONVENTIONS = ("official", "corrected")

MODES = ("text-only", "interleaved", "separated")
"""How evidence is compared; the last one is the paper's own."""

IMAGE_THRESHOLD = 9
"""Of 10: matches whose image sets score below it are dropped."""


class Share(NamedTuple):
    """Shares of references covered and of predictions right; NaN if unscored."""

    recall: float
    precision: float


_UNSCORED = Share(float("nan"), float("nan"))


@dataclass(frozen=True)
class Coverage:
    """Shares by both conventions, and the problems met."""

    official: Share
    corrected: Share
    problems: tuple[str, ...] = ()


def evidence_coverage(
    judge: Judge,
    reference: Statements,
    predicted: Statements,
    files: Files,
    modes: Sequence[str],
) -> dict[str, Coverage]:
    """Compare evidence in each mode; text-only and separated share one judgement."""
    some = bool(reference and predicted)
    texts = Matches(0, 0)
    if some and {"text-only", "separated"} & set(modes):
        texts = judge.evidence(reference, predicted)
    coverage = {}
    for mode in modes:
        if mode == "separated":
            coverage[mode] = by_images(texts, reference, predicted, judge, files)
            continue
        matches = texts
        if mode == "interleaved" and some:
            matches = judge.interleaved(reference, predicted, files)
        coverage[mode] = by_count(matches, len(reference), len(predicted))
    return coverage


def by_count(
    matches: Matches, references: int, predictions: int, *, questions: bool = False
) -> Coverage:
    """Shares from counts of covered items: Q-Eval, text-only and interleaved.

    Parameters
    ----------
    questions
        Where one side is empty, the official scorer gives questions 0 and leaves
        evidence out.

    >>> pairs = ((1, 1), (2, 1)), ((1, 1), (1, 2))
    >>> by_count(Matches(3, 3, *pairs), references=2, predictions=3).corrected
    Share(recall=0.5, precision=0.6666666666666666)
    """
    if not references or not predictions:
        return _empty(references, questions)
    problems = [matches.problem] if matches.problem else []
    if not matches.replied:
        return Coverage(_UNSCORED, _UNSCORED, tuple(problems))
    official = Share(
        _capped(matches.reference, references), _capped(matches.predicted, predictions)
    )
    if matches.reference is None or matches.predicted is None:
        return Coverage(official, _UNSCORED, tuple(problems))
    problems += _nonexistent(matches, references, predictions)
    corrected = Share(
        _distinct(matches.reference_pairs, matches.reference, references, predictions),
        _distinct(matches.predicted_pairs, matches.predicted, predictions, references),
    )
    return Coverage(official, corrected, tuple(problems))


def by_images(
    matches: Matches,
    reference: Statements,
    predicted: Statements,
    judge: Judge,
    files: Files,
) -> Coverage:
    """Shares from matched texts whose images match as well: separated evaluation."""
    if not reference or not predicted:
        return _empty(len(reference), questions=False)
    problems = [matches.problem] if matches.problem else []
    if not matches.replied:
        return Coverage(_UNSCORED, _UNSCORED, tuple(problems))
    problems += _nonexistent(matches, len(reference), len(predicted))
    scores: dict[tuple[int, int], ImageScore] = {}

    def score(i: int, j: int) -> ImageScore | None:
        """Score of the images of two items; None where one does not exist."""
        if not (1 <= i <= len(reference) and 1 <= j <= len(predicted)):
            return None
        if (i, j) not in scores:
            pair = reference[i - 1], predicted[j - 1]
            scores[i, j] = _image_score(*pair, judge, files)
        return scores[i, j]

    flipped = tuple((i, j) for j, i in matches.predicted_pairs)
    recall = _matched_shares(matches.reference_pairs, score, len(reference), side=0)
    precision = _matched_shares(flipped, score, len(predicted), side=1)
    problems += dict.fromkeys(item.problem for item in scores.values() if item.problem)
    unscored = (
        matches.reference is None
        or matches.predicted is None
        or any(item.value is None for item in scores.values())
    )
    corrected = _UNSCORED if unscored else Share(recall[1], precision[1])
    return Coverage(Share(recall[0], precision[0]), corrected, tuple(problems))


def _matched_shares(
    pairs: Pairs, score: Callable[[int, int], ImageScore | None], total: int, side: int
) -> tuple[float, float]:
    """Official and corrected share of items that are matched, counted on one side."""
    first: dict[int, bool] = {}
    matched: set[int] = set()
    for pair in pairs:
        images = score(*pair)
        holds = images is not None and (images.value or 0.0) >= IMAGE_THRESHOLD
        # The official scorer takes images that it cannot look up, open or ask about for
        # the same images, and a score it cannot read for 0.
        first.setdefault(pair[side], holds or images is None or not images.replied)
        if holds:
            matched.add(pair[side])
    return min(sum(first.values()) / total, 1.0), len(matched) / total


def _image_score(
    first: Evidence, second: Evidence, judge: Judge, files: Files
) -> ImageScore:
    if not first.images or not second.images:
        return ImageScore(10.0)
    for name in (*first.images, *second.images):
        if name not in files:
            return ImageScore(None, f"no file of the image {name}", replied=False)
    sides = ([files[name] for name in item.images] for item in (first, second))
    return judge.images(*sides)


def _empty(references: int, questions: bool) -> Coverage:
    zero = Share(0.0, 0.0)
    return Coverage(zero if questions else _UNSCORED, zero if references else _UNSCORED)


def _capped(count: int | None, total: int) -> float:
    return min((count or 0) / total, 1.0)


def _distinct(pairs: Pairs, count: int, total: int, others: int) -> float:
    """Share of items in valid pairs; replies without any pairs are taken by count."""
    if not pairs:
        return _capped(count, total)
    valid = {i for i, j in pairs if 1 <= i <= total and 1 <= j <= others}
    return len(valid) / total


def _nonexistent(matches: Matches, references: int, predictions: int) -> list[str]:
    """The first pair whose items do not exist, as a problem."""
    pairs = [*matches.reference_pairs, *((i, j) for j, i in matches.predicted_pairs)]
    for i, j in pairs:
        if not (1 <= i <= references and 1 <= j <= predictions):
            there = f"there are {references} and {predictions}"
            return [f"the reply matches REF_{i} with PRED_{j}; {there}"]
    return []
