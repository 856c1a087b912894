"""From what a judge found to recall and precision.

As the official scorer counts, and with its flaws mended.

================================ ==========================================
=========================================== case                             official
corrected ================================ ==========================================
=========================================== text reply does not parse        0
claim unscored, and the problem shown an item has several matches      the first one
decides                      it counts if any of them holds an item that does not exist
counts, as it has no images to differ      left out, and the problem shown images cannot
be opened or asked counts as the same images                  claim unscored, and the
problem shown no evidence predicted            claim left out of the mean
recall and precision 0 no reference evidence            claim left out of the mean
claim left out of the mean a match's images score below 9   dropped
dropped a side without images            counts as 10
counts as 10 more covered than there are      capped at 1
cannot be: distinct items are counted a verdict                        right in
AVerImaTeC's spelling, any case   right in any known spelling
================================ ==========================================
===========================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from averimatec.judges import ImageScore, Judge, Matches
from averimatec.submission import Evidence

__all__ = [
    "CONVENTIONS",
    "IMAGE_THRESHOLD",
    "Coverage",
    "Share",
    "by_count",
    "by_images",
]

CONVENTIONS = ("official", "corrected")

IMAGE_THRESHOLD = 9
"""Of 10: matches whose image sets score below it are dropped."""

_NAN = float("nan")


class Share(NamedTuple):
    """Shares of the reference that are covered and of the predictions that are right.

    NaN where they are not scored.
    """

    recall: float
    precision: float


@dataclass(frozen=True)
class Coverage:
    """Both conventions' shares, and what went wrong."""

    official: Share
    corrected: Share
    problems: tuple[str, ...] = ()


def by_count(
    matches: Matches, references: int, predictions: int, *, questions: bool = False
) -> Coverage:
    """Shares from how many items a judge says are covered.

    Q-Eval, text-only and interleaved evaluation.

    Parameters
    ----------
    questions
        Where a side is empty, the official scorer gives questions 0, and leaves
        evidence out.

    >>> by_count(Matches(3, 3, ((1, 1), (2, 1)), ((1, 1), (1, 2))), references=2, predictions=3)
    Coverage(official=Share(recall=1.0, precision=1.0), corrected=Share(recall=0.5, precision=0.6666666666666666), problems=())
    """
    if not references or not predictions:
        return _empty(references, questions)
    problems = [matches.problem] if matches.problem else []
    if not matches.replied:
        return Coverage(Share(_NAN, _NAN), Share(_NAN, _NAN), tuple(problems))
    official = Share(
        _capped(matches.reference, references), _capped(matches.predicted, predictions)
    )
    if matches.reference is None or matches.predicted is None:
        return Coverage(official, Share(_NAN, _NAN), tuple(problems))
    problems += _unknown(matches, references, predictions)
    corrected = Share(
        _distinct(matches.reference_pairs, matches.reference, references, predictions),
        _distinct(matches.predicted_pairs, matches.predicted, predictions, references),
    )
    return Coverage(official, corrected, tuple(problems))


def by_images(
    matches: Matches,
    reference: Sequence[Evidence],
    predicted: Sequence[Evidence],
    judge: Judge,
    files: Mapping[str, Path],
) -> Coverage:
    """Shares from matched texts whose images match as well.

    The separated evaluation.
    """
    if not reference or not predicted:
        return _empty(len(reference), questions=False)
    if not matches.replied:
        return Coverage(Share(_NAN, _NAN), Share(_NAN, _NAN), (matches.problem,))
    problems = [matches.problem] if matches.problem else []
    problems += _unknown(matches, len(reference), len(predicted))
    scores: dict[tuple[int, int], ImageScore] = {}

    def score(one: int, other: int) -> ImageScore | None:
        """Score of the images of a reference item and a predicted item.

        None where one of them does not exist.
        """
        if not (1 <= one <= len(reference) and 1 <= other <= len(predicted)):
            return None
        if (one, other) not in scores:
            scores[one, other] = _images(
                reference[one - 1], predicted[other - 1], judge, files
            )
        return scores[one, other]

    recall = _sides(matches.reference_pairs, score, len(reference))
    precision = _sides(
        tuple((other, one) for one, other in matches.predicted_pairs),
        score,
        len(predicted),
        by=1,
    )
    problems += dict.fromkeys(
        found.problem for found in scores.values() if found.problem
    )
    unscored = (
        matches.reference is None
        or matches.predicted is None
        or any(found.value is None for found in scores.values())
    )
    corrected = Share(_NAN, _NAN) if unscored else Share(recall[1], precision[1])
    return Coverage(Share(recall[0], precision[0]), corrected, tuple(problems))


def _sides(
    pairs: Sequence[tuple[int, int]],
    score: Callable[[int, int], ImageScore | None],
    total: int,
    by: int = 0,
) -> tuple[float, float]:
    """Official and corrected share of items that are matched.

    ``by`` says which of a pair's two numbers is the item's.
    """
    decided: dict[int, bool] = {}
    held: set[int] = set()
    for pair in pairs:
        found = score(*pair)
        # The official scorer takes what it cannot look up, open or ask for the same
        # image, and a score it cannot read for none.
        value = 10.0 if found is None or not found.replied else found.value
        decided.setdefault(pair[by], value is not None and value >= IMAGE_THRESHOLD)
        if (
            found is not None
            and found.value is not None
            and found.value >= IMAGE_THRESHOLD
        ):
            held.add(pair[by])
    return min(sum(decided.values()) / total, 1.0), len(held) / total


def _images(
    one: Evidence, other: Evidence, judge: Judge, files: Mapping[str, Path]
) -> ImageScore:
    if not one.images or not other.images:
        return ImageScore(10.0)
    missing = [name for name in (*one.images, *other.images) if name not in files]
    if missing:
        return ImageScore(None, f"no file of the image {missing[0]}", replied=False)
    return judge.images(
        [files[name] for name in one.images], [files[name] for name in other.images]
    )


def _empty(references: int, questions: bool) -> Coverage:
    nothing = Share(0.0, 0.0)
    out = Share(_NAN, _NAN)
    return Coverage(nothing if questions else out, nothing if references else out)


def _capped(count: int | None, total: int) -> float:
    return min((count or 0) / total, 1.0)


def _distinct(
    pairs: Sequence[tuple[int, int]], count: int, total: int, others: int
) -> float:
    """Share of items in valid pairs.

    Replies without any pairs are taken by their count.
    """
    if not pairs:
        return _capped(count, total)
    return (
        len(
            {
                item
                for item, partner in pairs
                if 1 <= item <= total and 1 <= partner <= others
            }
        )
        / total
    )


def _unknown(matches: Matches, references: int, predictions: int) -> list[str]:
    known = (
        *((one, other) for one, other in matches.reference_pairs),
        *((one, other) for other, one in matches.predicted_pairs),
    )
    wrong = [
        pair
        for pair in dict.fromkeys(known)
        if not (1 <= pair[0] <= references and 1 <= pair[1] <= predictions)
    ]
    return [
        f"the reply matches REF_{one} with PRED_{other}; there are {references} and"
        f" {predictions}"
        for one, other in wrong[:1]
    ]
