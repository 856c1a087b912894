"""Both conventions of counting a judge's matches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averimatec import Evidence
from averimatec.conventions import Coverage, by_count, by_images
from averimatec.judges import ImageScore, Matches, Paths

FILES = {name: Path(name) for name in ("a", "b", "c")}


class Images:
    """A judge whose scores of images are given; a text is a problem."""

    name = "images"

    def __init__(self, scores: Mapping[tuple[str, str], object] | None = None) -> None:
        self.scores, self.asked = scores or {}, 0

    def images(self, reference: Paths, predicted: Paths) -> ImageScore:
        self.asked += 1
        score = self.scores[reference[0].name, predicted[0].name]
        if isinstance(score, int):
            return ImageScore(float(score))
        return ImageScore(None, str(score))


def items(*names: str) -> list[Evidence]:
    return [Evidence("text", (name,) if name else ()) for name in names]


def matched(*pairs: tuple[int, int]) -> Matches:
    """Pairs of (reference, prediction), from both sides."""
    return Matches(len(pairs), len(pairs), tuple((j, i) for i, j in pairs), pairs)


def separated(
    matches: Matches,
    reference: list[Evidence],
    predicted: list[Evidence],
    judge: Images | None = None,
) -> Coverage:
    return by_images(matches, reference, predicted, judge or Images(), FILES)


def test_image_threshold() -> None:
    judge = Images({("a", "a"): 9, ("b", "b"): 8})
    pairs = matched((1, 1), (2, 2))
    coverage = separated(pairs, items("a", "b"), items("a", "b"), judge)
    assert coverage.official == coverage.corrected == (0.5, 0.5)
    assert judge.asked == 2  # pairs named from both sides are judged once


def test_side_without_images() -> None:
    judge = Images()
    pairs = matched((1, 1), (2, 2))
    coverage = separated(pairs, items("a", ""), items("", "b"), judge)
    assert coverage.official == coverage.corrected == (1, 1)
    assert judge.asked == 0


def test_each_item_counts_once() -> None:
    pairs = ((1, 1), (1, 2), (1, 1))
    coverage = separated(Matches(3, 3, pairs, pairs), items("", ""), items("", "", ""))
    assert coverage.official == coverage.corrected == (1 / 2, 1 / 3)


def test_first_or_any_match() -> None:
    judge = Images({("a", "b"): 2, ("a", "a"): 10})
    matches = Matches(1, 1, ((1, 1), (2, 1)), ((1, 1), (1, 2)))
    coverage = separated(matches, items("a"), items("b", "a"), judge)
    assert (coverage.official.recall, coverage.corrected.recall) == (0, 1)


def test_nonexistent_item() -> None:
    coverage = separated(matched((1, 1), (7, 9)), items(""), items("", ""))
    assert coverage.official.recall == 1  # two over one, capped
    assert coverage.corrected == (1, 0.5)
    [problem] = coverage.problems
    assert problem == "the reply matches REF_7 with PRED_9; there are 1 and 2"


@pytest.mark.parametrize(
    ("scores", "name", "official", "problem"),
    [
        ({}, "gone", 1, "no file of the image gone"),
        ({("a", "a"): "not a number"}, "a", 0, "not a number"),
    ],
)
def test_no_image_score(
    scores: Mapping[tuple[str, str], object], name: str, official: int, problem: str
) -> None:
    coverage = separated(matched((1, 1)), items("a"), items(name), Images(scores))
    assert coverage.official == (official, official)
    assert all(math.isnan(share) for share in coverage.corrected)
    assert coverage.problems == (problem,)


@pytest.mark.parametrize("replied", [True, False])
def test_no_matches(replied: bool) -> None:
    matches = Matches(problem="?", replied=replied)
    sides = items("", ""), items("")
    for coverage in (by_count(matches, 2, 2), separated(matches, *sides)):
        assert all(math.isnan(share) for share in coverage.corrected)
        assert (coverage.official == (0, 0)) == replied
        assert coverage.problems == ("?",)


def test_capped_and_empty() -> None:
    too_many = by_count(Matches(9, 9), 2, 3)
    assert too_many.official == too_many.corrected == (1, 1)
    nothing = Matches(0, 0)
    for coverage in (by_count(nothing, 2, 0), separated(nothing, items("a"), [])):
        assert math.isnan(coverage.official.recall)
        assert coverage.corrected == (0, 0)
    without = by_count(nothing, 0, 2)
    assert all(math.isnan(share) for share in (*without.official, *without.corrected))
    assert by_count(nothing, 2, 0, questions=True).official == (0, 0)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_shares_are_from_0_to_1(
    pairs: list[tuple[int, int]], references: int, predictions: int
) -> None:
    matches = matched(*pairs)
    sides = items(*[""] * references), items(*[""] * predictions)
    counted = by_count(matches, references, predictions)
    for coverage in (counted, separated(matches, *sides)):
        shares = (*coverage.official, *coverage.corrected)
        assert all(0 <= share <= 1 for share in shares)
        assert coverage.corrected.recall <= coverage.official.recall + 1e-12
