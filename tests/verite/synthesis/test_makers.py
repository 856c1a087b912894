"""What every maker promises, and what makers of out-of-context pairs promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verite.errors import DataError, ParameterError
from verite.pairs import MAKER_COLUMNS, MISCAPTIONED, OUT_OF_CONTEXT, TRUE, validate
from verite.search import nearest
from verite.synthesis import EXTRA, MAKERS, made_share, maker_named

NAMES = tuple(MAKERS)
OUT = tuple(name for name in NAMES if MAKERS[name].label == OUT_OF_CONTEXT)
WORLDS = st.fixed_dictionaries(
    {
        "count": st.integers(25, 60),
        "seed": st.integers(0, 50),
        "groups": st.integers(10, 60),
    }
)
few = settings(max_examples=15, deadline=None)


@pytest.mark.parametrize("name", NAMES)
@given(size=WORLDS, seed=st.integers(0, 3))
@few
def test_groups_stay_together_and_classes_equal(
    toy: Callable[..., Any], name: str, size: dict[str, int], seed: int
) -> None:
    world = toy(**size)
    try:
        made = world.make(name, seed)
    except DataError as error:
        assert "no misleading pair could be made" in str(error)  # noqa: PT017 - refusing is right in tiny worlds
        return
    validate(
        made, extra=EXTRA
    )  # refuses a group on two sides and a pair_id that stands twice
    assert set(MAKER_COLUMNS) <= set(made.columns)
    label = OUT_OF_CONTEXT if name in OUT else MISCAPTIONED
    counts = pd.crosstab(made["split"], made["label"])
    assert set(counts.columns) == {TRUE, label}
    assert counts[TRUE].tolist() == counts[label].tolist()
    assert set(made.loc[made["label"] == label, "method"]) == {name}


@pytest.mark.parametrize("name", NAMES)
@given(size=WORLDS, seed=st.integers(0, 3))
@few
def test_donors_are_of_the_same_split_and_another_group(
    toy: Callable[..., Any], name: str, size: dict[str, int], seed: int
) -> None:
    world = toy(**size)
    try:
        made = world.make(name, seed)
    except DataError:
        return
    false = made[made["label"] != TRUE]
    donors = (
        pd.concat([world.pairs, world.pool]).set_index("pair_id").loc[false["donor_id"]]
    )
    assert donors["split"].tolist() == false["split"].tolist()
    assert not (donors["group"].to_numpy() == false["group"].to_numpy()).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_decides_the_table_not_the_order_of_rows(
    toy: Callable[..., Any], name: str
) -> None:
    world = toy()
    shuffled = world.pairs.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(
        world.make(name, 5), world.make(name, 5, pairs=shuffled)
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name != "NC-t2t"])
def test_another_seed_gives_another_table(toy: Callable[..., Any], name: str) -> None:
    world = toy()
    assert (
        len({str(world.make(name, seed)["donor_id"].tolist()) for seed in range(3)})
        == 3
    )


@pytest.mark.parametrize("name", NAMES)
def test_true_pairs_and_the_given_table_stay_as_they_are(
    toy: Callable[..., Any], name: str
) -> None:
    world = toy()
    before = world.pairs.copy()
    made = world.make(name)
    pd.testing.assert_frame_equal(world.pairs, before)
    true = made[made["label"] == TRUE].set_index("pair_id")
    expected = before.set_index("pair_id").loc[true.index]
    for column in expected.columns:
        assert true[column].tolist() == expected[column].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_table_without_truthful_pairs_is_refused(
    toy: Callable[..., Any], name: str
) -> None:
    world = toy()
    with pytest.raises(DataError, match="none labelled 'true'"):
        world.make(name, pairs=world.pairs.assign(label="misinformation"))


@pytest.mark.parametrize("name", ["RSt", "CSt", "R-NESt", "CLIP-NESt"])
def test_missing_topics_are_named(toy: Callable[..., Any], name: str) -> None:
    world = toy()
    with pytest.raises(DataError, match="no topic"):
        world.make(name, pairs=world.pairs.drop(columns="topic"))
    with pytest.raises(DataError, match="column 'topic' is empty for pair_id p003"):
        world.make(
            name,
            pairs=world.pairs.assign(
                topic=world.pairs["topic"].where(world.pairs["pair_id"] != "p003", "")
            ),
        )


@pytest.mark.parametrize(
    "name", ["CSt", "NC-t2t", "CLIP-NESt", "MEIR", "CHASMA", "CHASMA-D"]
)
def test_missing_vectors_are_named(toy: Callable[..., Any], name: str) -> None:
    world = toy()
    options = (
        {"pool": world.pool, "pool_texts": world.pool_texts}
        if name.startswith("CHASMA")
        else {}
    )
    with pytest.raises(
        DataError,
        match=(
            f"{name.removesuffix('-D')}: expected vectors of (images|texts), found None"
        ),
    ):
        maker_named(name)(
            world.pairs, None, None, rng=np.random.default_rng(0), **options
        )


def test_an_unknown_maker_is_answered_with_the_list() -> None:
    with pytest.raises(ParameterError, match="'nc-t2t'. Makers: RSt, CSt, NC-t2t"):
        maker_named("nc-t2t")


@pytest.mark.parametrize("name", OUT)
@given(size=WORLDS, seed=st.integers(0, 3), hubs=st.integers(1, 8))
@few
def test_no_out_of_context_pair_is_truthful(
    toy: Callable[..., Any], name: str, size: dict[str, int], seed: int, hubs: int
) -> None:
    world = toy(**size)
    # Some images stand in several groups, some captions read alike: their pairs must be
    # no donors of each other.
    number = np.arange(len(world.pairs))
    pairs = world.pairs.assign(
        image_id=np.where(number % 7 == 0, "i0", world.pairs["image_id"]),
        caption=np.where(
            number % hubs == 0,
            world.pairs["caption"],
            "Archive " + world.pairs["topic"],
        ),
        split="train",
    )
    try:
        made = world.make(name, seed, pairs=pairs)
    except DataError:
        return
    truthful = set(zip(pairs["image_id"], pairs["caption"], strict=True))
    false = made[made["label"] == OUT_OF_CONTEXT]
    assert not truthful & set(zip(false["image_id"], false["caption"], strict=True))


@pytest.mark.parametrize("name", ["RSt", "CSt"])
@pytest.mark.parametrize(
    ("replace", "kept"),
    [
        ("image", ["text_id", "caption", "entities"]),
        ("caption", ["image_id", "image_path"]),
    ],
)
def test_one_side_is_the_donors_and_the_other_stays(
    toy: Callable[..., Any], name: str, replace: str, kept: list[str]
) -> None:
    world = toy()
    made = world.make(name, replace=replace)
    true, false = (
        made[made["label"] == label].reset_index(drop=True)
        for label in (TRUE, OUT_OF_CONTEXT)
    )
    donor = world.pairs.set_index("pair_id").loc[false["donor_id"]].reset_index()
    sides = ["text_id", "caption", "entities", "image_id", "image_path"]
    for column in sides:
        assert (
            false[column].tolist()
            == (true if column in kept else donor)[column].tolist()
        )
    assert donor["topic"].tolist() == true["topic"].tolist()


def test_random_donors_are_drawn_evenly(
    toy: Callable[..., Any],
) -> None:
    world = toy(count=8)
    pairs = world.pairs.assign(
        topic=["a"] * 6 + ["b"] * 2, group=["x", "x", *"123456"], split=""
    )
    drawn = [world.make("RSt", seed, pairs=pairs) for seed in range(200)]
    first = pd.concat(made[made["pair_id"] == "p000:RSt"] for made in drawn)[
        "donor_id"
    ].value_counts()
    assert set(first.index) == {"p002", "p003", "p004", "p005"}
    assert first.between(29, 71).all()  # 50 expected; 3.5 standard deviations are 21
    second = pd.concat(made[made["pair_id"] == "p006:RSt"] for made in drawn)
    assert set(second["donor_id"]) == {"p007"}


@pytest.mark.parametrize(("by", "side"), [("image", "image_id"), ("text", "text_id")])
def test_a_nearest_donor_is_the_nearest_allowed(
    toy: Callable[..., Any], by: str, side: str
) -> None:
    world = toy()
    made = world.make("CSt", by=by)
    false = made[made["label"] == OUT_OF_CONTEXT]
    vectors = (world.images if by == "image" else world.texts).normalised()
    rows = world.pairs.set_index("pair_id")
    for pair_id, donor_id, similarity in zip(
        false["pair_id"].str.removesuffix(":CSt"),
        false["donor_id"],
        false["similarity"],
        strict=True,
    ):
        own = rows.loc[pair_id]
        allowed = rows[
            (rows["topic"] == own["topic"])
            & (rows["split"] == own["split"])
            & (rows["group"] != own["group"])
        ]
        cosine = vectors.rows(allowed[side]) @ vectors.rows([own[side]])[0]
        assert donor_id == allowed.index[cosine.argmax()]
        assert similarity == pytest.approx(cosine.max(), abs=1e-6)
    assert set(false["by"]) == {by}


def test_nc_t2t_gives_each_caption_another_image(
    toy: Callable[..., Any],
) -> None:
    world = toy()
    made = world.make("NC-t2t")
    assert made["text_id"].value_counts().eq(2).all()
    assert made.groupby("text_id")["image_id"].nunique().eq(2).all()
    assert made_share(world.pairs, made) == 1


def test_a_topic_with_one_pair_is_left_out(
    toy: Callable[..., Any],
) -> None:
    world = toy(count=40, topics=1)
    pairs = world.pairs.assign(
        split="", topic=np.where(world.pairs["pair_id"] == "p007", "lonely", "crowded")
    )
    for name in ("RSt", "CSt"):
        made = world.make(name, pairs=pairs)
        assert not made["pair_id"].str.startswith("p007").any()
        assert made_share(pairs, made) == 39 / 40


@pytest.mark.parametrize("name", OUT)
def test_pairs_of_one_group_have_no_donors(toy: Callable[..., Any], name: str) -> None:
    world = toy()
    with pytest.raises(
        DataError, match=f"{name}: no misleading pair could be made of 60 truthful ones"
    ):
        world.make(name, pairs=world.pairs.assign(group="one", split=""))


@pytest.mark.parametrize(
    ("name", "option"),
    [("RSt", "replace"), ("CSt", "by"), ("CLIP-NESt", "by"), ("MEIR", "by")],
)
def test_an_unknown_side_is_refused(
    toy: Callable[..., Any], name: str, option: str
) -> None:
    with pytest.raises(ParameterError, match=f"expected {option} to be image"):
        toy().make(name, **{option: "sound"})


def test_makers_search_with_what_they_are_given(toy: Callable[..., Any]) -> None:
    asked = []

    def search(*arguments: Any, **options: Any) -> Any:
        asked.append(len(options["query_ids"]))
        return nearest(*arguments, **options)

    world = toy()
    pd.testing.assert_frame_equal(world.make("CSt", search=search), world.make("CSt"))
    assert sum(asked) == len(world.pairs)
