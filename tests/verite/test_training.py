from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from verite import training
from verite.blocks import process_pool
from verite.detector import DetectorClassifier
from verite.errors import DataError, ParameterError
from verite.pairs import to_binary
from verite.training import PAPER_GRID, cross_validate, grid_search, train_and_test

SMALL = DetectorClassifier(
    feedforward=16, learning_rate=1e-3, batch_size=32, epochs=2, device="cpu"
)
GRID = ({"layers": 1}, {"layers": 2}, {"layers": 1, "heads": 4})


def toy(groups=30, width=8, seed=0):
    """Three pairs a group, one of each class, with vectors of no meaning."""
    labels = ["true", "out-of-context", "miscaptioned"] * groups
    pairs = pd.DataFrame(
        {
            "pair_id": [f"p{n}" for n in range(3 * groups)],
            "label": labels,
            "group": [f"g{n // 3}" for n in range(3 * groups)],
        }
    )
    return pairs, np.random.default_rng(seed).standard_normal(
        (len(pairs), 2, width)
    ).astype(np.float32)


def validate_all(**options):
    pairs, vectors = toy()
    settings = {"inputs": ("image+text", "text"), "folds": 3, "seeds": (0, 1)} | options
    return pairs, cross_validate(SMALL, pairs, vectors, **settings)


def test_the_grid_is_the_papers():
    assert len(PAPER_GRID) == 8
    assert {point["layers"] for point in PAPER_GRID} == {1, 4}
    assert {point["feedforward"] for point in PAPER_GRID} == {128, 1024}
    assert {point["heads"] for point in PAPER_GRID} == {2, 8}


def test_every_pair_is_predicted_once_for_each_input_and_seed():
    pairs, found = validate_all()
    assert len(found) == len(pairs) * 2 * 2
    for _, part in found.groupby(["inputs", "seed"]):
        assert part["pair_id"].tolist() == pairs["pair_id"].tolist()
        assert part["label"].tolist() == pairs["label"].tolist()


def test_training_validation_and_test_never_share_a_group(monkeypatch):
    pairs, vectors = toy()
    seen = []
    real = training._train_fold
    monkeypatch.setattr(
        training,
        "_train_fold",
        lambda *arguments: seen.append(arguments[3]) or real(*arguments),
    )
    cross_validate(SMALL, pairs, vectors, inputs=("text",), folds=5, seeds=(0,))
    assert len(seen) == 5
    for rows in seen:
        groups = [
            set(pairs["group"].iloc[rows[role]])
            for role in ("train", "validation", "test")
        ]
        assert not groups[0] & groups[1]
        assert not groups[0] & groups[2]
        assert not groups[1] & groups[2]
        assert set().union(*groups) == set(pairs["group"])


def test_binary_training_balances_the_rows_that_train_and_validate_and_never_the_test(
    monkeypatch,
):
    pairs, vectors = toy()
    seen = []
    real = training._train_fold
    monkeypatch.setattr(
        training,
        "_train_fold",
        lambda *arguments: seen.append(arguments[3]) or real(*arguments),
    )
    found = cross_validate(
        SMALL, pairs, vectors, inputs=("text",), folds=3, seeds=(0,), binary=True
    )
    for rows in seen:
        for role in ("train", "validation"):
            labels = pd.Series(
                to_binary(pairs["label"].iloc[rows[role]])
            ).value_counts()
            assert labels["true"] == labels["misinformation"] == 10
        assert len(rows["test"]) == 30
    assert set(found["prediction"]) <= {"true", "misinformation"}
    assert set(found["label"]) == set(pairs["label"])


def test_processes_give_what_one_process_gives():
    _, here = validate_all()
    with process_pool(2) as pool:
        _, apart = validate_all(executor=pool)
    pd.testing.assert_frame_equal(here, apart)


def test_a_stopped_cross_validation_goes_on_with_the_same_result(tmp_path, monkeypatch):
    _, whole = validate_all()
    real, done = training._train_fold, []

    def stop_after_four(*arguments):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(1)
        return real(*arguments)

    monkeypatch.setattr(training, "_train_fold", stop_after_four)
    with pytest.raises(KeyboardInterrupt):
        validate_all(directory=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 4
    later = []
    monkeypatch.setattr(
        training, "_train_fold", lambda *arguments: later.append(1) or real(*arguments)
    )
    _, resumed = validate_all(directory=tmp_path)
    assert len(later) == 12 - 4
    pd.testing.assert_frame_equal(whole, resumed)


def test_kept_blocks_are_not_used_for_other_data_or_parameters(tmp_path):
    pairs, vectors = toy()
    options = {"inputs": ("text",), "folds": 3, "seeds": (0,), "directory": tmp_path}
    cross_validate(SMALL, pairs, vectors, **options)
    cross_validate(SMALL, pairs, vectors + 1, **options)
    cross_validate(SMALL, pairs, vectors, **options, binary=True)
    assert len(list(tmp_path.glob("*.json"))) == 9


def test_kept_blocks_are_not_used_for_other_folds(tmp_path, monkeypatch):
    """Blocks are named after the rows that train, validate and test, whatever deals
    them.
    """
    pairs, vectors = toy()
    options = {"inputs": ("text",), "folds": 3, "seeds": (0,), "directory": tmp_path}
    cross_validate(SMALL, pairs, vectors, **options)
    real = training.grouped_folds
    monkeypatch.setattr(
        training,
        "grouped_folds",
        lambda pairs, folds, seed: list(real(pairs, folds, seed + 1)),
    )
    cross_validate(SMALL, pairs, vectors, **options)
    assert len(list(tmp_path.glob("*.json"))) == 6


def test_a_grid_can_be_moved_to_another_folder(tmp_path):
    train, validation = split()
    grid_search(SMALL, train, validation, grid=GRID[:1], directory=tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    best, _ = grid_search(
        SMALL, train, validation, grid=GRID[:1], directory=tmp_path / "there"
    )
    assert best.classes_.tolist() == ["misinformation", "true"]


def test_a_fold_chooses_its_grid_point_on_validation():
    _, found = validate_all(grid=GRID, seeds=(0,))
    assert set(found["point"]) <= {str(point) for point in GRID}
    assert found.groupby(["inputs", "fold"])["point"].nunique().eq(1).all()


@pytest.mark.parametrize("folds", [1, 2])
def test_fewer_than_three_folds_are_an_error(folds):
    with pytest.raises(ParameterError, match="expected at least 3 folds"):
        validate_all(folds=folds)


def test_a_table_of_another_length_than_the_vectors_is_an_error():
    pairs, vectors = toy()
    with pytest.raises(DataError, match="90 pairs beside 89 vectors"):
        cross_validate(
            SMALL, pairs, vectors[:-1], inputs=("text",), folds=3, seeds=(0,)
        )


def split(seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(["true", "misinformation"], 120).astype(object)
    X = rng.standard_normal((120, 2, 8)).astype(np.float32)
    return (X[:80], labels[:80]), (X[80:], labels[80:])


def test_the_grid_returns_the_point_that_is_best_on_validation(tmp_path):
    train, validation = split()
    best, scores = grid_search(SMALL, train, validation, grid=GRID, directory=tmp_path)
    assert best.score(*validation) == pytest.approx(scores["accuracy"].max())
    assert len(scores) == 3


def test_a_grid_point_does_not_depend_on_its_place_in_the_grid(tmp_path):
    train, validation = split()
    _, forth = grid_search(
        SMALL, train, validation, grid=GRID, directory=tmp_path / "forth"
    )
    _, back = grid_search(
        SMALL, train, validation, grid=GRID[::-1], directory=tmp_path / "back"
    )
    assert (
        forth[["accuracy", "loss"]].to_numpy().tolist()
        == back[["accuracy", "loss"]].to_numpy()[::-1].tolist()
    )


def test_an_interrupted_grid_resumes(tmp_path, monkeypatch):
    train, validation = split()
    _, whole = grid_search(
        SMALL, train, validation, grid=GRID, directory=tmp_path / "whole"
    )
    grid_search(SMALL, train, validation, grid=GRID[:2], directory=tmp_path / "stopped")
    real, later = training._train_point, []
    monkeypatch.setattr(
        training, "_train_point", lambda *arguments: later.append(1) or real(*arguments)
    )
    _, resumed = grid_search(
        SMALL, train, validation, grid=GRID, directory=tmp_path / "stopped"
    )
    assert len(later) == 1
    pd.testing.assert_frame_equal(
        whole.drop(columns="file"), resumed.drop(columns="file")
    )


def test_an_empty_grid_is_an_error(tmp_path):
    train, validation = split()
    with pytest.raises(ParameterError, match="at least one grid point"):
        grid_search(SMALL, train, validation, grid=(), directory=tmp_path)


def split_toy():
    pairs, vectors = toy()
    fold = pairs["group"].str[1:].astype(int) % 5
    pairs["split"] = fold.map({0: "test", 1: "validation"}).fillna("train")
    place = pd.Series(range(len(pairs)), index=pairs["pair_id"])
    return pairs, lambda rows: vectors[place[rows["pair_id"]]]


def test_tables_with_splits_are_predicted_on_their_test_rows_alone(monkeypatch):
    pairs, tokens = split_toy()
    seen = []
    original = training._train_fold
    monkeypatch.setattr(
        training, "_train_fold", lambda *a: seen.append(a[3]) or original(*a)
    )
    found = train_and_test(
        SMALL,
        {"a": pairs, "b": pairs.iloc[::-1]},
        tokens,
        inputs=("text",),
        seeds=(0, 1),
    )
    tested = pairs[pairs["split"] == "test"]
    assert (
        found[(found["table"] == "a") & (found["seed"] == 0)]["pair_id"].tolist()
        == tested["pair_id"].tolist()
    )
    assert (
        found[(found["table"] == "b") & (found["seed"] == 1)]["pair_id"].tolist()
        == tested["pair_id"].tolist()[::-1]
    )
    assert len(found) == 4 * len(tested)
    for rows, table in zip(
        seen, (pairs, pairs, pairs.iloc[::-1], pairs.iloc[::-1]), strict=True
    ):
        assert {role: set(table["split"].iloc[at]) for role, at in rows.items()} == {
            role: {role} for role in rows
        }


def test_binary_tables_train_on_balanced_rows_and_keep_the_tests(monkeypatch):
    pairs, tokens = split_toy()
    seen = []
    original = training._train_fold
    monkeypatch.setattr(
        training, "_train_fold", lambda *a: seen.append(a[3]) or original(*a)
    )
    found = train_and_test(
        SMALL, {"a": pairs}, tokens, inputs=("text",), seeds=(0,), binary=True
    )
    labels = to_binary(pairs["label"])
    for role in ("train", "validation"):
        counts = pd.Series(labels[seen[0][role]]).value_counts()
        assert counts["true"] == counts["misinformation"] > 0
    assert set(found["prediction"]) <= {"true", "misinformation"}
    assert set(found["label"]) == set(pairs["label"])


def test_a_table_without_a_split_is_an_error():
    pairs, tokens = split_toy()
    with pytest.raises(
        DataError,
        match="mine: expected pairs of all three splits, found none of validation",
    ):
        train_and_test(
            SMALL,
            {"mine": pairs[pairs["split"] != "validation"]},
            tokens,
            inputs=("text",),
            seeds=(0,),
        )
