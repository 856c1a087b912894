"""No group trains and tests, blocks resume, and every pair is predicted once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from verite import training
from verite.blocks import process_pool
from verite.datasets import load
from verite.detector import DetectorClassifier
from verite.errors import DataError, ParameterError
from verite.pairs import LABELS, MISCAPTIONED, OUT_OF_CONTEXT, TRUE, to_binary
from verite.synthesis import MAKERS
from verite.training import PAPER_GRID, cross_validate, grid_search, train_and_test
from verite.transfer import transfer

SMALL = DetectorClassifier(
    feedforward=16, learning_rate=1e-3, batch_size=32, epochs=2, device="cpu"
)
GRID = ({"layers": 1}, {"layers": 2}, {"layers": 1, "heads": 4})


@pytest.fixture
def toy():
    """Three pairs per group, one of each class, in five splits, and random vectors."""
    n = 90
    pairs = pd.DataFrame(
        {
            "pair_id": [f"p{at}" for at in range(n)],
            "label": [LABELS[at % 3] for at in range(n)],
            "group": [f"g{at // 3}" for at in range(n)],
            "split": [
                {0: "test", 1: "validation"}.get(at // 3 % 5, "train")
                for at in range(n)
            ],
        }
    )
    vectors = np.random.default_rng(0).standard_normal((n, 2, 8)).astype(np.float32)
    return pairs, vectors


@pytest.fixture
def trained(monkeypatch):
    """Rows of every fold that is trained."""
    rows, real = [], training._train_fold
    monkeypatch.setattr(
        training,
        "_train_fold",
        lambda *arguments: rows.append(arguments[3]) or real(*arguments),
    )
    return rows


def validate(toy, **options):
    settings = {"inputs": ("image+text", "text"), "folds": 3, "seeds": (0, 1)}
    return cross_validate(SMALL, *toy, **settings | options)


def test_the_grid_is_the_papers():
    values = {
        name: {point[name] for point in PAPER_GRID}
        for name in ("layers", "feedforward", "heads")
    }
    assert len(PAPER_GRID) == 8
    assert values == {"layers": {1, 4}, "feedforward": {128, 1024}, "heads": {2, 8}}


def test_every_pair_is_predicted_once_for_each_input_and_seed(toy):
    pairs, _ = toy
    table = validate(toy)
    assert len(table) == len(pairs) * 2 * 2
    for _, part in table.groupby(["inputs", "seed"]):
        assert part["pair_id"].tolist() == pairs["pair_id"].tolist()
        assert part["label"].tolist() == pairs["label"].tolist()


def test_splits_never_share_a_group(toy, trained):
    pairs, _ = toy
    validate(toy, inputs=("text",), folds=5, seeds=(0,))
    assert len(trained) == 5
    for rows in trained:
        groups = [set(pairs["group"].iloc[part]) for part in rows.values()]
        assert sum(map(len, groups)) == len(set.union(*groups)) == 30


def test_binary_training_balances_all_rows_but_the_test(toy, trained):
    pairs, _ = toy
    options = {"inputs": ("text",), "folds": 3, "seeds": (0,), "binary": True}
    table = validate(toy, **options)
    for rows in trained:
        for split in ("train", "validation"):
            labels = to_binary(pairs["label"].iloc[rows[split]]).tolist()
            assert labels.count("true") == labels.count("misinformation") == 10
        assert len(rows["test"]) == 30
    assert set(table["prediction"]) <= {"true", "misinformation"}
    assert set(table["label"]) == set(LABELS)


def test_processes_give_what_one_process_gives(toy):
    with process_pool(2) as pool:
        apart = validate(toy, executor=pool)
    pd.testing.assert_frame_equal(validate(toy), apart)


def test_a_stopped_cross_validation_continues(toy, tmp_path, monkeypatch, trained):
    whole = validate(toy)
    counted, finished = training._train_fold, []

    def stop_after_four(*arguments):
        if len(finished) == 4:
            raise KeyboardInterrupt
        finished.append(1)
        return counted(*arguments)

    monkeypatch.setattr(training, "_train_fold", stop_after_four)
    with pytest.raises(KeyboardInterrupt):
        validate(toy, directory=tmp_path)
    monkeypatch.setattr(training, "_train_fold", counted)
    trained.clear()
    resumed = validate(toy, directory=tmp_path)
    assert len(trained) == 12 - 4
    pd.testing.assert_frame_equal(whole, resumed)


def test_blocks_serve_only_their_own_data_parameters_and_folds(
    toy, tmp_path, trained, monkeypatch
):
    pairs, vectors = toy
    options = {"inputs": ("text",), "folds": 3, "seeds": (0,), "directory": tmp_path}
    validate(toy, **options)
    validate(toy, **options)
    assert len(trained) == 3
    validate((pairs, vectors + 1), **options)
    validate(toy, **options, binary=True)
    assert len(trained) == 9
    real = training.grouped_folds
    monkeypatch.setattr(
        training, "grouped_folds", lambda pairs, n, seed: real(pairs, n, seed + 1)
    )
    validate(toy, **options)
    assert len(trained) == 12


def test_a_fold_chooses_its_grid_point(toy):
    table = validate(toy, grid=GRID, seeds=(0,))
    assert set(table["point"]) <= {str(point) for point in GRID}
    assert table.groupby(["inputs", "fold"])["point"].nunique().eq(1).all()


def test_errors_of_a_user(toy, tmp_path):
    pairs, vectors = toy
    with pytest.raises(ParameterError, match="expected at least 3 folds"):
        validate(toy, folds=2)
    with pytest.raises(DataError, match="90 pairs beside 89 vectors"):
        validate((pairs, vectors[:-1]))
    with pytest.raises(ParameterError, match="at least one grid point"):
        grid_search(SMALL, *split(), grid=(), directory=tmp_path)
    tables = {"mine": pairs[pairs["split"] != "validation"]}
    with pytest.raises(DataError, match="mine: .* found none of validation"):
        train_and_test(SMALL, tables, tokens_of(toy), inputs=("text",), seeds=(0,))


def split():
    rng = np.random.default_rng(0)
    labels = rng.choice(["true", "misinformation"], 120).astype(object)
    X = rng.standard_normal((120, 2, 8)).astype(np.float32)
    return (X[:80], labels[:80]), (X[80:], labels[80:])


def test_the_grid_returns_the_best_point_whatever_its_place(tmp_path):
    train, validation = split()
    best, scores = grid_search(
        SMALL, train, validation, grid=GRID, directory=tmp_path / "a"
    )
    assert best.score(*validation) == pytest.approx(scores["accuracy"].max())
    _, back = grid_search(
        SMALL, train, validation, grid=GRID[::-1], directory=tmp_path / "b"
    )
    results = ["accuracy", "loss"]
    assert (
        scores[results].to_numpy().tolist() == back[results][::-1].to_numpy().tolist()
    )


def test_a_grid_resumes_in_whatever_folder_it_is(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    _, first = grid_search(SMALL, *split(), grid=GRID[:2], directory=here)
    here.rename(there)
    real, later = training._train_point, []
    monkeypatch.setattr(
        training, "_train_point", lambda *arguments: later.append(1) or real(*arguments)
    )
    _, resumed = grid_search(SMALL, *split(), grid=GRID, directory=there)
    assert len(later) == 1
    assert resumed["loss"].tolist()[:2] == first["loss"].tolist()


def tokens_of(toy):
    pairs, vectors = toy
    place = pd.Series(range(len(pairs)), index=pairs["pair_id"])
    return lambda rows: vectors[place[rows["pair_id"]]]


@pytest.mark.parametrize("binary", [False, True])
def test_tables_are_predicted_on_their_test_rows_alone(toy, trained, binary):
    pairs, _ = toy
    tables = {"a": pairs, "b": pairs.iloc[::-1]}
    options = {"inputs": ("text",), "seeds": (0, 1), "binary": binary}
    result = train_and_test(SMALL, tables, tokens_of(toy), **options)
    for name, table in tables.items():
        tested = table.loc[table["split"] == "test", "pair_id"].tolist()
        for _, part in result[result["table"] == name].groupby("seed"):
            assert part["pair_id"].tolist() == tested
    assert len(trained) == 4
    for rows, table in zip(
        trained, [pairs, pairs, *[pairs.iloc[::-1]] * 2], strict=True
    ):
        for name, part in rows.items():
            assert set(table["split"].iloc[part]) == {name}
            labels = to_binary(table["label"].iloc[part]).tolist()
            if binary and name != "test":
                assert labels.count("true") == labels.count("misinformation") > 0


@pytest.fixture(scope="module")
def data():
    return load("newsroom", preset="verite", events=40, seed=3)


def recipes(data):
    def chasma(dealt, rng):
        true, false = (dealt[dealt["label"] == name] for name in (TRUE, MISCAPTIONED))
        return MAKERS["CHASMA"](
            true, data.images, data.texts, rng=rng, pool=false, pool_texts=data.texts
        )

    return {
        "CHASMA": chasma,
        "real": lambda dealt, rng: dealt[dealt["label"] != OUT_OF_CONTEXT],
    }


def test_transfer_trains_on_nothing_of_a_test_article(data, monkeypatch):
    tables = []

    def look(base, given, *rest, **options):
        tables.extend(given.values())
        return train_and_test(base, given, *rest, **options)

    monkeypatch.setattr(training, "train_and_test", look)
    options = {"folds": 3, "seeds": [0, 1], "inputs": ["text"]}
    result = transfer(SMALL, data, recipes(data), **options)
    assert len(tables) == 2 * 6
    for table in tables:
        train, test = table[table["split"] != "test"], table[table["split"] == "test"]
        assert not set(train["group"]) & set(test["group"])
        assert not set(train["text_id"]) & set(test["text_id"])
        assert table["pair_id"].is_unique

    assert set(result["tested"]) == {"own", "all", MISCAPTIONED, OUT_OF_CONTEXT}
    for _, part in result.groupby(["trained", "inputs", "seed"]):
        for label in (MISCAPTIONED, OUT_OF_CONTEXT):
            tested = part.loc[part["tested"] == label, "pair_id"]
            expected = data.pairs["label"].isin([TRUE, label])
            assert sorted(tested) == sorted(data.pairs.loc[expected, "pair_id"])
    real = result[result["trained"] == "real"].drop(columns="trained")
    own, same = (
        real[real["tested"] == name].drop(columns="tested").reset_index(drop=True)
        for name in ("own", MISCAPTIONED)
    )
    pd.testing.assert_frame_equal(own, same)
    own = result[(result["trained"] == "CHASMA") & (result["tested"] == "own")]
    assert own["pair_id"].str.endswith(":CHASMA").mean() == pytest.approx(0.5)


@pytest.mark.parametrize("answer", [TRUE, OUT_OF_CONTEXT])
def test_transfer_scores_two_classes_or_three(data, monkeypatch, answer):
    binary = answer == TRUE

    def constant(base, tables, tokens, *, inputs, seeds, **_):
        return pd.concat(
            table[table["split"] == "test"].assign(
                table=name, inputs="text", seed=0, prediction=answer
            )
            for name, table in tables.items()
        )

    monkeypatch.setattr(training, "train_and_test", constant)
    options = {"folds": 3, "seeds": [0], "inputs": ["text"], "binary": binary}
    made = recipes(data) if binary else {"real": lambda dealt, rng: dealt}
    result = transfer(SMALL, data, made, **options)
    assert np.array_equal(result["right"] == 1, result["label"] == answer)
    if not binary:
        assert set(result["tested"]) == {"own", "all"}
        tested = result.loc[result["tested"] == "all", "pair_id"]
        assert sorted(tested) == sorted(data.pairs["pair_id"])
