"""The paper's training sets by name."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from verite.datasets import load
from verite.embeddings import Embeddings
from verite.errors import MissingDataError, ParameterError
from verite.pairs import LABELS, MISCAPTIONED, TRUE
from verite.synthesis.training_sets import training_sets


@pytest.fixture(scope="module")
def rooms():
    return [
        load("newsroom", preset=preset, events=60, seed=seed)
        for seed, preset in enumerate(("visualnews", "fakeddit", "verite"))
    ]


def zeros(captions):
    return Embeddings(
        list(captions),
        np.zeros((len(captions), 128), "float32"),
        {"encoder": "newsroom"},
    )


@pytest.fixture(scope="module")
def made(rooms):
    asked = []

    def encode(captions):
        from verite.newsroom.dataset import encoder_named

        asked.append(captions)
        return (
            encoder_named("newsroom").encode_texts(captions, normalise=True).embeddings
        )

    news, posts, tested = rooms
    names = ["R-NESt", "Fakeddit", "R-NESt + RSt", "R-NESt + CHASMA-D + NC-t2t"]
    sets = training_sets(names, news, posts, seed=0, encode=encode, beside=[tested])
    assert len(asked) == 1
    return sets


def test_a_set_of_one_maker_has_two_classes_and_a_joined_one_three(made):
    assert set(made.tables["R-NESt"]["label"]) == {TRUE, MISCAPTIONED}
    assert set(made.tables["R-NESt + RSt"]["label"]) == set(LABELS)


def test_classes_of_a_joined_sets_training_split_are_equal(made):
    table = made.tables["R-NESt + CHASMA-D + NC-t2t"]
    counts = table.loc[table["split"] == "train", "label"].value_counts()
    assert len(counts) == 3
    assert counts.min() == counts.max()


def test_the_posts_are_taken_as_they_are(made, rooms):
    pd.testing.assert_frame_equal(made.tables["Fakeddit"], rooms[1].pairs)


def test_a_set_is_the_same_alone_and_in_an_aggregate(made):
    alone, joined = made.tables["R-NESt"], made.tables["R-NESt + RSt"]
    both = joined[joined["label"] == MISCAPTIONED].merge(
        alone, on="pair_id", suffixes=("", "_alone")
    )
    assert len(both) == (joined["label"] == MISCAPTIONED).sum()
    assert (both["caption"] == both["caption_alone"]).all()


def test_all_pairs_have_vectors_the_tested_ones_too(made, rooms):
    for table in (*made.tables.values(), rooms[2].pairs):
        assert made.tokens(table).shape == (len(table), 2, 128)


def test_the_false_pairs_of_a_joined_set_come_from_all_its_makers(made):
    table = made.tables["R-NESt + CHASMA-D + NC-t2t"]
    assert set(table.loc[table["label"] != TRUE, "method"]) == {
        "R-NESt",
        "CHASMA-D",
        "NC-t2t",
    }


@pytest.mark.parametrize("name", ["R-NESt + CHASMA", "RSt + NC-t2t"])
def test_a_joined_set_has_exactly_one_maker_of_out_of_context_pairs(name, rooms):
    with pytest.raises(ParameterError, match="an aggregate joins exactly one maker"):
        training_sets([name], *rooms[:2], seed=0, encode=zeros)


def test_an_unknown_set_is_named(rooms):
    with pytest.raises(ParameterError, match="no maker 'Misalign'"):
        training_sets(["Misalign + RSt"], *rooms[:2], seed=0, encode=zeros)


def test_posts_without_vectors_are_named(rooms):
    news, posts, _ = rooms
    with pytest.raises(MissingDataError, match="comes without vectors"):
        training_sets(
            ["RSt"],
            news,
            dataclasses.replace(posts, images=None, texts=None),
            seed=0,
            encode=zeros,
        )
