from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averimatec import Evidence
from averimatec.conventions import by_count, by_images
from averimatec.judges import ImageScore, Matches

FILES = {name: Path(name) for name in ("a", "b", "c")}


class Scripted:
    """A judge whose image scores are given."""

    name = "scripted"

    def __init__(self, scores: Mapping[tuple[str, str], object] | None = None) -> None:
        self.scores, self.asked = scores or {}, 0

    def images(
        self, reference: Sequence[Path], predicted: Sequence[Path]
    ) -> ImageScore:
        self.asked += 1
        score = self.scores[reference[0].name, predicted[0].name]
        return (
            ImageScore(float(score))
            if isinstance(score, int | float)
            else ImageScore(None, str(score))
        )


def items(*names: str) -> list[Evidence]:
    return [Evidence("text", (name,) if name else ()) for name in names]


def matched(*pairs: tuple[int, int]) -> Matches:
    """Pairs of (reference, prediction), told from both sides."""
    return Matches(len(pairs), len(pairs), tuple((j, i) for i, j in pairs), pairs)


def test_matches_whose_images_score_below_nine_are_dropped() -> None:
    judge = Scripted({("a", "a"): 9, ("b", "b"): 8})
    found = by_images(
        matched((1, 1), (2, 2)), items("a", "b"), items("a", "b"), judge, FILES
    )  # type: ignore[arg-type]
    assert found.official == found.corrected == (0.5, 0.5)


def test_a_side_without_images_counts_as_ten_and_no_judge_is_asked() -> None:
    judge = Scripted()
    found = by_images(
        matched((1, 1), (2, 2)), items("a", ""), items("", "b"), judge, FILES
    )  # type: ignore[arg-type]
    assert found.official == found.corrected == (1, 1)
    assert judge.asked == 0


def test_each_index_counts_once() -> None:
    matches = Matches(3, 3, ((1, 1), (1, 2), (1, 1)), ((1, 1), (1, 2), (1, 1)))
    found = by_images(matches, items("", ""), items("", "", ""), Scripted(), {})  # type: ignore[arg-type]
    assert found.official == found.corrected == (1 / 2, 1 / 3)


def test_officially_the_first_of_several_matches_decides_and_corrected_any_does() -> (
    None
):
    judge = Scripted({("a", "b"): 2, ("a", "a"): 10})
    matches = Matches(1, 1, ((1, 1), (2, 1)), ((1, 1), (1, 2)))
    found = by_images(matches, items("a"), items("b", "a"), judge, FILES)  # type: ignore[arg-type]
    assert found.official.recall == 0
    assert found.corrected.recall == 1


def test_recall_is_capped() -> None:
    found = by_count(Matches(9, 9), 2, 3)
    assert found.official == found.corrected == (1, 1)


def test_a_match_with_an_item_that_does_not_exist_counts_officially_and_is_a_problem() -> (
    None
):
    found = by_images(matched((1, 1), (7, 9)), items(""), items("", ""), Scripted(), {})  # type: ignore[arg-type]
    assert found.official.recall == 1  # two over one, capped
    assert found.corrected == (1, 0.5)
    assert found.problems == ("the reply matches REF_7 with PRED_9; there are 1 and 2",)


def test_an_image_that_is_missing_counts_officially_as_the_same_and_leaves_the_claim_unscored_otherwise() -> (
    None
):
    found = by_images(matched((1, 1)), items("a"), items("gone"), Scripted(), FILES)  # type: ignore[arg-type]
    assert found.official == (1, 1)
    assert all(math.isnan(share) for share in found.corrected)
    assert found.problems == ("no file of the image gone",)


def test_an_image_score_that_does_not_parse_drops_the_match_officially_and_is_a_problem() -> (
    None
):
    judge = Scripted(
        {("a", "a"): "expected one whole number from 0 to 10, found 'similar'"}
    )
    found = by_images(matched((1, 1)), items("a"), items("a"), judge, FILES)  # type: ignore[arg-type]
    assert found.official == (0, 0)
    assert all(math.isnan(share) for share in found.corrected)
    assert len(found.problems) == 1


def test_a_pair_named_from_both_sides_is_judged_once() -> None:
    judge = Scripted({("a", "a"): 10})
    by_images(matched((1, 1)), items("a"), items("a"), judge, FILES)  # type: ignore[arg-type]
    assert judge.asked == 1


def test_a_reply_that_does_not_parse_is_a_zero_officially_and_no_score_otherwise() -> (
    None
):
    for found in (
        by_count(Matches(problem="?"), 2, 2),
        by_images(Matches(problem="?"), items("", ""), items(""), Scripted(), {}),
    ):  # type: ignore[arg-type]
        assert found.official == (0, 0)
        assert all(math.isnan(share) for share in found.corrected)
        assert found.problems == ("?",)


def test_no_reply_at_all_is_no_score_in_either_convention() -> None:
    for found in (
        by_count(Matches(problem="!", replied=False), 2, 2),
        by_images(
            Matches(problem="!", replied=False), items(""), items(""), Scripted(), {}
        ),
    ):  # type: ignore[arg-type]
        assert all(math.isnan(share) for share in (*found.official, *found.corrected))


def test_claims_without_predicted_evidence_are_left_out_officially_and_zero_otherwise() -> (
    None
):
    for found in (
        by_count(Matches(0, 0), 2, 0),
        by_images(Matches(0, 0), items("a", "b"), [], Scripted(), {}),
    ):  # type: ignore[arg-type]
        assert math.isnan(found.official.recall)
        assert found.corrected == (0, 0)


def test_claims_without_reference_evidence_are_left_out() -> None:
    assert all(
        math.isnan(share)
        for share in (
            *by_count(Matches(0, 0), 0, 2).official,
            *by_count(Matches(0, 0), 0, 2).corrected,
        )
    )


def test_questions_of_which_one_side_has_none_score_zero_officially() -> None:
    assert by_count(Matches(0, 0), 2, 0, questions=True).official == (0, 0)


def test_what_is_covered_is_counted_by_distinct_items_not_by_what_the_reply_says() -> (
    None
):
    found = by_count(
        Matches(3, 3, ((1, 1), (2, 1), (3, 1)), ((1, 1), (1, 2), (1, 3))), 3, 3
    )
    assert found.official.recall == 1
    assert found.corrected.recall == pytest.approx(1 / 3)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_shares_stay_between_0_and_1_whatever_a_reply_names(
    pairs: list[tuple[int, int]], references: int, predictions: int
) -> None:
    matches = Matches(
        len(pairs), len(pairs), tuple((j, i) for i, j in pairs), tuple(pairs)
    )
    for found in (
        by_count(matches, references, predictions),
        by_images(
            matches,
            items(*[""] * references),
            items(*[""] * predictions),
            Scripted(),
            {},
        ),  # type: ignore[arg-type]
    ):
        assert all(0 <= share <= 1 for share in (*found.official, *found.corrected))
        assert found.corrected.recall <= found.official.recall + 1e-12
