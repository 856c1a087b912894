"""CHASMA takes the nearest false caption, CHASMA-D each once; aggregates join both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verite.errors import DataError, ParameterError
from verite.pairs import LABELS, MISCAPTIONED, TRUE
from verite.search import cosines
from verite.synthesis import aggregate, made_share, pool_use


def false_rows(made: pd.DataFrame) -> pd.DataFrame:
    return made[made["label"] == MISCAPTIONED].reset_index(drop=True)


@pytest.mark.parametrize(
    ("p_image", "by", "side"), [(1.0, "image", "image_id"), (0.0, "text", "text_id")]
)
def test_the_false_caption_is_the_nearest_of_its_split(
    toy: Callable[..., Any], p_image: float, by: str, side: str
) -> None:
    world = toy()
    made = world.make("CHASMA", p_image=p_image)
    vectors = (world.images if by == "image" else world.texts).normalised()
    own = world.pairs.set_index("pair_id")
    for row in false_rows(made).to_dict("records"):
        pool = world.pool[world.pool["split"] == row["split"]]
        cosine = (
            world.pool_texts.normalised().rows(pool["text_id"])
            @ vectors.rows([own.loc[row["pair_id"].removesuffix(":CHASMA"), side]])[0]
        )
        best = pool.iloc[cosine.argmax()]
        assert (row["donor_id"], row["text_id"], row["caption"]) == (
            best["pair_id"],
            best["text_id"],
            best["caption"],
        )
        assert row["similarity"] == pytest.approx(cosine.max(), abs=1e-6)
        assert row["by"] == by
    assert made_share(world.pairs, made) == 1


def test_no_caption_of_the_own_group_is_used(
    toy: Callable[..., Any],
) -> None:
    world = toy(count=60, pool=60)
    home = world.pairs["dataset"].iloc[0]
    pairs = world.pairs.assign(split="train", group=[f"g{at % 6}" for at in range(60)])
    for dataset, found in ((home, False), ("elsewhere", True)):
        pool = world.pool.assign(
            dataset=dataset, split="train", group=[f"g{at % 6}" for at in range(60)]
        )
        false = false_rows(replace(world, pairs=pairs, pool=pool).make("CHASMA"))
        donors = pool.set_index("pair_id")["group"][false["donor_id"]]
        assert (false["group"].to_numpy() == donors.to_numpy()).any() == found


def test_p_image_is_the_share_of_image_to_text(toy: Callable[..., Any]) -> None:
    world = toy(count=400)
    for p_image in (0.2, 0.5, 0.9):
        share = (
            false_rows(world.make("CHASMA", p_image=p_image))["by"] == "image"
        ).mean()
        assert abs(share - p_image) < 0.08  # over three standard deviations


@given(
    count=st.integers(20, 60),
    seed=st.integers(0, 30),
    pool=st.integers(5, 40),
    draw=st.integers(0, 3),
)
@settings(max_examples=30, deadline=None)
def test_chasma_d_repeats_no_donor_and_balances_splits(
    toy: Callable[..., Any], count: int, seed: int, pool: int, draw: int
) -> None:
    made = toy(count=count, seed=seed, pool=pool).make("CHASMA-D", draw)
    false = false_rows(made)
    assert false["donor_id"].is_unique
    assert false["caption"].is_unique
    counts = pd.crosstab(made["split"], made["label"])
    assert counts[TRUE].tolist() == counts[MISCAPTIONED].tolist()


def test_no_donor_is_in_two_splits(toy: Callable[..., Any]) -> None:
    made = false_rows(toy(pool=10).make("CHASMA"))
    assert made.groupby("donor_id")["split"].nunique().eq(1).all()
    assert made["donor_id"].value_counts().max() > 1  # else the test could not fail


def test_a_repeated_caption_is_used_in_the_first_split(
    toy: Callable[..., Any],
) -> None:
    world = toy()
    pool = world.pool.copy()
    pool.loc[[0, 4], "caption"] = [
        "You won't believe it!",
        "you wont BELIEVE it",
    ]  # of train and of test
    # No other caption of the test split: what is used there would have to be the
    # repeated one.
    pool = pool[(pool["split"] != "test") | (pool.index == 4)]
    with pytest.raises(
        DataError, match="expected misleading captions for the split 'test'"
    ):
        world.make("CHASMA", pool=pool)


def test_pool_use_counts_what_the_table_holds(toy: Callable[..., Any]) -> None:
    world = toy()
    made = world.make("CHASMA")
    use = pool_use(made, world.pool)
    assert use.counts.sum() == len(world.pairs)
    assert use.retained == false_rows(made)["text_id"].nunique() / 40
    assert pool_use(world.make("CHASMA-D"), world.pool).counts.max() == 1


def test_captions_that_read_like_true_ones_are_never_used(
    toy: Callable[..., Any],
) -> None:
    world = toy()
    # Vectors of the first captions of the pool are those of true captions: they would
    # be taken were they allowed.
    matrix = world.pool_texts.matrix
    matrix[:20] = world.texts.matrix[:20]
    pool = world.pool.copy()
    pool.loc[:9, "caption"] = world.pairs["caption"][:10].str.upper()
    pool.loc[10:19, "label"] = "true"
    used = set(false_rows(world.make("CHASMA", pool=pool, p_image=0))["donor_id"])
    assert used
    assert not used & set(pool["pair_id"][:20])
    assert used != set(false_rows(world.make("CHASMA", p_image=0))["donor_id"])


def test_a_pool_of_true_captions_alone_is_refused(toy: Callable[..., Any]) -> None:
    world = toy()
    with pytest.raises(DataError, match="found only pairs labelled 'true'"):
        world.make("CHASMA", pool=world.pool.assign(label="true"))
    with pytest.raises(
        DataError, match="every caption of the pool is a truthful caption"
    ):
        world.make(
            "CHASMA",
            pool=world.pool.assign(caption=world.pairs["caption"][:40].to_numpy()),
        )


def test_a_pool_of_one_caption(
    toy: Callable[..., Any],
) -> None:
    world = toy(pool=1)
    options = {
        "pool": world.pool.assign(split=""),
        "pairs": world.pairs.assign(split=""),
    }
    assert set(false_rows(world.make("CHASMA", top_k=3, **options))["donor_id"]) == {
        "f0"
    }
    assert world.make("CHASMA-D", **options)["label"].value_counts().to_dict() == {
        TRUE: 1,
        MISCAPTIONED: 1,
    }


@given(
    limit=st.sampled_from([-0.3, 0.0, 0.3]),
    top_k=st.integers(1, 3),
    seed=st.integers(0, 5),
)
@settings(max_examples=20, deadline=None)
def test_behind_near_duplicates_the_best_of_the_rest_is_found(
    toy: Callable[..., Any], limit: float, top_k: int, seed: int
) -> None:
    world = toy(count=30, seed=seed, pool=150)
    made = false_rows(world.make("CHASMA", p_image=1, exclude_near=limit, top_k=top_k))
    own = world.pairs.set_index("pair_id")
    for row in made.to_dict("records"):
        true, pool = (
            own.loc[row["pair_id"].removesuffix(":CHASMA")],
            world.pool[world.pool["split"] == row["split"]]["text_id"],
        )
        near = cosines(
            world.texts, [true["text_id"]] * len(pool), world.pool_texts, pool
        )
        rank = cosines(
            world.images, [true["image_id"]] * len(pool), world.pool_texts, pool
        )
        allowed = np.sort(rank[near < limit])[::-1]
        assert row["similarity"] in allowed[:top_k]


def test_clickbait_is_what_the_predicate_says(toy: Callable[..., Any]) -> None:
    world = toy()
    made = false_rows(
        world.make("CHASMA", clickbait=lambda caption: caption.endswith(("1", "3")))
    )
    assert not made["caption"].str.endswith(("1", "3")).any()
    with pytest.raises(DataError, match="`clickbait` is true for every caption"):
        world.make("CHASMA", clickbait=lambda caption: True)


def test_top_k_draws_among_the_nearest_and_no_further(toy: Callable[..., Any]) -> None:
    world = toy(count=200)
    made = false_rows(world.make("CHASMA", p_image=0, top_k=3))
    own = world.pairs.set_index("pair_id")
    places = []
    for row in made.to_dict("records"):
        pool = world.pool[world.pool["split"] == row["split"]]["text_id"]
        text = own.loc[row["pair_id"].removesuffix(":CHASMA"), "text_id"]
        scores = np.sort(
            cosines(world.texts, [text] * len(pool), world.pool_texts, pool)
        )[::-1]
        places.append(int(np.flatnonzero(scores == row["similarity"])[0]))
    counts = np.bincount(places)
    assert len(counts) == 3
    assert (np.abs(counts - 200 / 3) < 25).all()  # 3.7 standard deviations


def test_a_band_keeps_the_best_within_it(
    toy: Callable[..., Any],
) -> None:
    world = toy(count=100)
    made = false_rows(world.make("CHASMA", p_image=0, band=(0.0, 0.3)))
    assert made["similarity"].between(0, 0.3).all()
    own = world.pairs.set_index("pair_id")
    for row in made.to_dict("records"):
        pool = world.pool[world.pool["split"] == row["split"]]["text_id"]
        text = own.loc[row["pair_id"].removesuffix(":CHASMA"), "text_id"]
        scores = cosines(world.texts, [text] * len(pool), world.pool_texts, pool)
        assert row["similarity"] == scores[scores <= 0.3].max()


def test_pairs_without_a_caption_in_the_band_are_left_out(
    toy: Callable[..., Any],
) -> None:
    world = toy(count=100)
    made = world.make("CHASMA", p_image=0, band=(0.6, 1.0))
    assert 0 < made_share(world.pairs, made) < 1
    with pytest.raises(DataError, match="no misleading pair"):
        world.make("CHASMA", band=(1.0, 1.0))


@pytest.mark.parametrize(
    ("option", "value"),
    [("p_image", 1.5), ("p_image", float("nan")), ("top_k", 0), ("band", (0.5, 0.1))],
)
def test_options_out_of_range_are_refused(
    toy: Callable[..., Any], option: str, value: object
) -> None:
    with pytest.raises(ParameterError, match=f"CHASMA: expected (a )?{option}"):
        toy().make("CHASMA", **{option: value})


def test_an_aggregate_has_three_classes_balanced_in_training(
    toy: Callable[..., Any], rng: np.random.Generator
) -> None:
    world = toy(count=200)
    swaps, distinct, out = (
        world.make(name) for name in ("R-NESt", "CHASMA-D", "NC-t2t")
    )
    joined = aggregate(out, swaps, distinct, rng=rng)
    counts = pd.crosstab(joined["split"], joined["label"])
    assert set(counts.columns) == set(LABELS)
    assert len(set(counts.loc["train"])) == 1
    whole = pd.concat([swaps, distinct, out]).drop_duplicates("pair_id")
    rest = whole[whole["split"] != "train"]
    assert set(joined.loc[joined["split"] != "train", "pair_id"]) == set(
        rest["pair_id"]
    )
    assert (
        counts.loc["train"].iloc[0]
        == whole.loc[whole["split"] == "train", "label"].value_counts().min()
    )


def test_an_aggregate_follows_its_seed_not_the_order_of_rows(
    toy: Callable[..., Any],
) -> None:
    world = toy(count=100)
    out, swaps, posts = (world.make(name) for name in ("RSt", "R-NESt", "CHASMA"))

    def ids(seed: int, *tables: pd.DataFrame) -> list[str]:
        return aggregate(*tables, rng=np.random.default_rng(seed))["pair_id"].tolist()

    assert ids(0, out, swaps, posts) == ids(
        0, out.sample(frac=1, random_state=1), posts, swaps
    )
    assert len({tuple(ids(seed, out, swaps, posts)) for seed in range(3)}) == 3


def test_unfit_tables_are_not_joined(
    toy: Callable[..., Any], rng: np.random.Generator
) -> None:
    world = toy()
    out, swaps = world.make("RSt"), world.make("R-NESt")
    with pytest.raises(
        DataError, match="expected 'true' and 'out-of-context' pairs in table 1"
    ):
        aggregate(swaps, out, rng=rng)
    with pytest.raises(DataError, match="tables disagree about pair_id"):
        aggregate(out, toy(seed=1).make("R-NESt"), rng=rng)
