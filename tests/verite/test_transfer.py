"""Training sets are made within the folds, and tested on their own pairs and on the
benchmark's.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from verite import training
from verite.datasets import load
from verite.detector import DetectorClassifier
from verite.pairs import MISCAPTIONED, OUT_OF_CONTEXT, TRUE
from verite.synthesis import MAKERS
from verite.transfer import transfer

SMALL = DetectorClassifier(
    feedforward=16, learning_rate=1e-3, batch_size=32, epochs=1, device="cpu"
)


@pytest.fixture(scope="module")
def data():
    return load("newsroom", preset="verite", events=40, seed=3)


def recipes(data):
    def chasma(dealt, rng):
        true, false = (
            dealt[dealt["label"] == TRUE],
            dealt[dealt["label"] == MISCAPTIONED],
        )
        return MAKERS["CHASMA"](
            true, data.images, data.texts, rng=rng, pool=false, pool_texts=data.texts
        )

    return {
        "CHASMA": chasma,
        "real": lambda dealt, rng: dealt[dealt["label"] != OUT_OF_CONTEXT],
    }


def test_no_group_and_no_caption_of_a_test_article_trains(data, monkeypatch):
    seen = []

    def look(base, tables, tokens, **options):
        seen.extend(tables.values())
        return original(base, tables, tokens, **options)

    original = training.train_and_test
    monkeypatch.setattr("verite.training.train_and_test", look)
    transfer(SMALL, data, recipes(data), folds=3, seeds=[0], inputs=["text"])
    assert len(seen) == 6
    for table in seen:
        train, test = table[table["split"] != "test"], table[table["split"] == "test"]
        assert not set(train["group"]) & set(test["group"])
        assert not set(train["text_id"]) & set(test["text_id"])
        assert not table["pair_id"].duplicated().any()


def test_every_pair_of_the_benchmark_is_tested_once_a_seed_under_each_of_its_labels(
    data,
):
    found = transfer(
        SMALL, data, recipes(data), folds=3, seeds=[0, 1], inputs=["text", "image"]
    )
    for _, part in found.groupby(["trained", "inputs", "seed"]):
        for label in (MISCAPTIONED, OUT_OF_CONTEXT):
            tested = part[part["tested"] == label]["pair_id"]
            assert sorted(tested) == sorted(
                data.pairs.loc[data.pairs["label"].isin([TRUE, label]), "pair_id"]
            )
    assert set(found["tested"]) == {"own", "all", MISCAPTIONED, OUT_OF_CONTEXT}


def test_three_classes_are_trained_and_scored_as_three(data, monkeypatch):
    def all_out_of_context(base, tables, tokens, *, inputs, seeds, binary, **_):
        assert not binary
        for table in tables.values():
            assert set(table.loc[table["split"] == "train", "label"]) == {
                TRUE,
                OUT_OF_CONTEXT,
                MISCAPTIONED,
            }
        rows = [
            table[table["split"] == "test"].assign(
                table=name, inputs="text", seed=0, prediction=OUT_OF_CONTEXT
            )
            for name, table in tables.items()
        ]
        return pd.concat(rows)

    monkeypatch.setattr("verite.training.train_and_test", all_out_of_context)
    found = transfer(
        SMALL,
        data,
        {"real": lambda dealt, rng: dealt},
        folds=3,
        seeds=[0],
        inputs=["text"],
        binary=False,
    )
    assert set(found["tested"]) == {"own", "all"}
    tested = found[found["tested"] == "all"]
    assert sorted(tested["pair_id"]) == sorted(data.pairs["pair_id"])
    assert np.array_equal(tested["right"] == 1, tested["label"] == OUT_OF_CONTEXT)


def test_the_own_test_of_the_benchmarks_pairs_is_the_benchmarks(data):
    found = transfer(SMALL, data, recipes(data), folds=3, seeds=[0], inputs=["text"])
    real = found[found["trained"] == "real"]
    own, same = (
        real[real["tested"] == name].drop(columns="tested").reset_index(drop=True)
        for name in ("own", MISCAPTIONED)
    )
    pd.testing.assert_frame_equal(own, same)
    made = found[(found["trained"] == "CHASMA") & (found["tested"] == "own")]
    assert made["pair_id"].str.endswith(":CHASMA").mean() == pytest.approx(0.5)


def test_an_answer_is_right_where_true_is_taken_for_true_and_false_for_false(
    data, monkeypatch
):
    def all_true(base, tables, tokens, *, inputs, seeds, **_):
        rows = [
            table[table["split"] == "test"].assign(
                table=name, inputs="text", seed=0, prediction=TRUE
            )
            for name, table in tables.items()
        ]
        return pd.concat(rows)

    monkeypatch.setattr("verite.training.train_and_test", all_true)
    found = transfer(SMALL, data, recipes(data), folds=3, seeds=[0], inputs=["text"])
    assert np.array_equal(found["right"] == 1, found["label"] == TRUE)
