"""Pairs that are changed, and verdicts that change with them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.errors import DataError, ParameterError
from verite.evaluation import (
    PERTURBATIONS,
    exchange,
    near_duplicates,
    perturb,
    with_flips,
)

captions = st.text(st.sampled_from("aAbe tT,.'\"xyz3é\n-:"), max_size=40)


@given(captions, st.sampled_from(list(PERTURBATIONS)))
def test_a_perturbation_gives_text_for_any_text_and_the_same_each_time(
    caption: str, name: str
) -> None:
    once = PERTURBATIONS[name](caption)
    assert isinstance(once, str)
    assert once == PERTURBATIONS[name](caption)


FORM = list(PERTURBATIONS)[:5]  # case, space, full stop, comma, quotes


@given(captions, st.sampled_from(FORM))
def test_changes_of_form_leave_every_word_as_it_is(caption: str, name: str) -> None:
    def words(text: str) -> list[str]:
        kept = "".join(
            letter if letter.isalnum() or letter.isspace() else " "
            for letter in text.casefold()
        )
        return kept.split()

    assert words(PERTURBATIONS[name](caption)) == words(caption)


@pytest.mark.parametrize(
    ("name", "caption", "changed"),
    [
        ("full stop at the end", "Boats ...", "Boats ...."),
        ("a comma more", "Boats, in Rome", "Boats, in Rome"),
        (
            "a comma more",
            "In Rome boats sink on Monday",
            "In Rome boats sink, on Monday",
        ),
        ("another article", "An island.", "The island."),
        ("another article", "Boats sink.", "Boats sink."),
        ("an article less", "Theft of boats", "Theft of boats"),
        ("clauses swapped", "Boats sink,", "Boats sink,"),
        ("clauses swapped", "In May, boats sink!", "Boats sink, In May!"),
        (
            "a number rewritten",
            "Boats at 3:30 and 2.5 miles off pier-7",
            "Boats at 3:30 and 2.5 miles off pier-7",
        ),
        ("a number rewritten", "Ten of 3 boats", "10 of 3 boats"),
        ("two letters swapped", "a deed, aaaa", "a deed, aaaa"),
        ("two letters swapped", "Mooring rope", "Moroing rope"),
        ("typographic quotes", "'Ann's boat'", "\u2018Ann\u2019s boat\u2019"),
    ],
)
def test_a_perturbation_changes_what_it_names_and_nothing_else(
    name: str, caption: str, changed: str
) -> None:
    assert PERTURBATIONS[name](caption) == changed


def table(images: int, posts: int = 2) -> pd.DataFrame:
    rows = [
        {
            "pair_id": f"p{image}-{post}",
            "image_id": f"i{image}",
            "image_path": "",
            "text_id": f"t{image}-{post}",
            "caption": f"Boat {image}.",
        }
        for image in range(images)
        for post in range(posts)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0, ignore_index=True)


def test_only_captions_that_changed_have_a_row() -> None:
    pairs = table(2).assign(caption=["boat", "Boat", "boat", "Boat"])
    found = perturb(pairs, ("lower case", "a word in front"))
    assert found["change"].value_counts().to_dict() == {
        "lower case": 2,
        "a word in front": 4,
    }
    assert set(found.loc[found["change"] == "lower case", "original"]) == set(
        pairs.loc[[1, 3], "pair_id"]
    )
    assert found["pair_id"].is_unique
    assert found["text_id"].is_unique


@given(
    st.integers(3, 6),
    st.integers(1, 4),
    st.integers(0, 5),
    st.sampled_from(["text", "image"]),
)
def test_what_is_exchanged_comes_from_other_images_and_the_rest_stays(
    images: int, posts: int, seed: int, what: str
) -> None:
    pairs = table(images, posts)
    found = exchange(pairs, what, rng=np.random.default_rng(seed), times=2)  # type: ignore[arg-type]
    before = pairs.set_index("pair_id").loc[found["original"]].reset_index(drop=True)
    image = pairs.set_index("text_id")["image_id"]
    assert (found["text_id"].map(image) != found["image_id"]).all()
    kept = "image_id" if what == "text" else "text_id"
    assert found[kept].tolist() == before[kept].tolist()
    assert (
        not found.duplicated(["original", "text_id", "image_id"]).any()
        or what == "image"
    )
    assert len(found) == 2 * len(pairs)
    assert found["pair_id"].is_unique


def test_errors_of_a_user() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ParameterError, match="shouting. Known: lower case, a doubled"):
        perturb(table(2), ("shouting",))
    with pytest.raises(DataError, match="expected 3 .* found 2 for the pairs of 'i"):
        exchange(table(2), "text", rng=rng, times=3)
    changed = pd.DataFrame({"pair_id": ["a:1"], "original": ["a"]})
    with pytest.raises(DataError, match="no verdict for a. Predict"):
        with_flips(changed, pd.Series({"a:1": "true"}))
    with pytest.raises(DataError, match="duplicate verdicts for a"):
        with_flips(changed, pd.Series(["true", "true"], index=["a", "a"]))


def test_near_duplicates_leave_out_repetitions_but_for_case_and_punctuation() -> None:
    told = pd.Series(
        {
            "x": "Red boats near the old bridge",
            "y": "red boats, near the old bridge!",
            "z": "Red boats near an old bridge",
        }
    )
    found = near_duplicates(told, 0.5)
    assert set(zip(found["first"], found["second"], strict=True)) == {
        ("x", "z"),
        ("y", "z"),
    }
    assert found["cosine"].between(0.5, 1).all()
