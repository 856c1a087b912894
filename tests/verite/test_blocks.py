from __future__ import annotations

import concurrent.futures
import json
import os
import shutil

import numpy as np
import pytest

from verite.blocks import (
    content_key,
    core_count,
    process_pool,
    run_blocks,
    worker_count,
)
from verite.errors import ParameterError, RunError


def double(number):
    return {"number": 2 * number, "process": os.getpid()}


def give_up(number):
    os._exit(1)


def test_results_come_in_the_order_of_the_blocks():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = run_blocks(double, {str(n): (n,) for n in range(20)}, executor=pool)
    assert [result["number"] for result in found.values()] == list(range(0, 40, 2))


def test_finished_blocks_are_read_and_not_done_again(tmp_path):
    (tmp_path / "1.json").write_text(
        json.dumps({"block": "1", "result": {"number": "from the file"}})
    )
    found = run_blocks(double, {"1": (1,), "2": (2,)}, directory=tmp_path)
    assert found["1"] == {"number": "from the file"}
    assert json.loads((tmp_path / "2.json").read_text())["result"]["number"] == 4


@pytest.mark.parametrize(
    "content",
    [
        '{"number": ',
        "",
        "[]",
        "{}",
        '{"block": "2", "result": {"number": 9}}',
        '{"block": "1"}',
    ],
)
def test_a_damaged_block_is_done_again(tmp_path, content):
    (tmp_path / "1.json").write_text(content)
    assert run_blocks(double, {"1": (1,)}, directory=tmp_path)["1"]["number"] == 2


def test_blocks_finished_before_a_failure_are_kept(tmp_path):
    def work(number):
        if number == 2:
            raise KeyboardInterrupt
        return {"number": number}

    with pytest.raises(KeyboardInterrupt):
        run_blocks(work, {str(n): (n,) for n in range(4)}, directory=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.json", "1.json"]


def test_a_worker_that_dies_is_an_error_that_says_what_to_do():
    with (
        concurrent.futures.ProcessPoolExecutor(1) as pool,
        pytest.raises(
            RunError,
            match=(
                "a worker process died after 0 of 1 blocks.*run again, with fewer"
                " workers"
            ),
        ),
    ):
        run_blocks(give_up, {"1": (1,)}, executor=pool)


def test_processes_give_what_one_process_gives():
    blocks = {str(n): (n,) for n in range(4)}
    with process_pool(2) as pool:
        assert pool is not None
        apart = run_blocks(double, blocks, executor=pool)
    here = run_blocks(double, blocks)
    assert [result["number"] for result in apart.values()] == [
        result["number"] for result in here.values()
    ]
    assert os.getpid() not in {result["process"] for result in apart.values()}


def test_one_worker_needs_no_pool():
    with process_pool(1) as pool:
        assert pool is None


def test_the_number_of_workers_is_asked_for_then_set_then_counted(monkeypatch):
    monkeypatch.setenv("VERITE_WORKERS", "3")
    assert worker_count(2) == 2
    assert worker_count() == 3
    monkeypatch.delenv("VERITE_WORKERS")
    assert worker_count() == core_count()
    monkeypatch.setenv("VERITE_WORKERS", "two")
    with pytest.raises(
        ParameterError,
        match="VERITE_WORKERS: expected a number of processes, found 'two'",
    ):
        worker_count()


@pytest.mark.parametrize(
    "other",
    [
        (np.ones(3),),
        (np.zeros(3, dtype=np.float32),),
        (np.zeros((3, 1)),),
        (np.zeros(3), "x"),
        (np.zeros(3), {"a": 2}),
    ],
)
def test_other_content_has_another_key(other):
    assert content_key(np.zeros(3), {"a": 1}) != content_key(*other)


def test_the_order_of_a_dictionary_does_not_change_the_key():
    assert content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1})


@pytest.mark.parametrize("damage", [None, b"", b"PK\x03\x04", "other"])
def test_arrays_are_kept_exactly_and_damaged_ones_computed_again(tmp_path, damage):
    calls = []

    def work(number):
        calls.append(number)
        vectors = np.full((2, 3), number, dtype=np.float16)
        return {"ids": ["a", "b"], "vectors": vectors, "empty": np.empty((0, 4))}

    blocks = {"1": (1,), "2": (2,)}
    first = run_blocks(work, blocks, directory=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.npz", "2.npz"]
    if damage == "other":
        shutil.copy(tmp_path / "2.npz", tmp_path / "1.npz")
    elif damage is not None:
        (tmp_path / "1.npz").write_bytes(damage)
    again = run_blocks(work, blocks, directory=tmp_path)
    assert calls == [1, 2] + [1] * (damage is not None)
    for key in blocks:
        assert again[key]["ids"] == ["a", "b"]
        for name in ("vectors", "empty"):
            assert again[key][name].dtype == first[key][name].dtype
            np.testing.assert_array_equal(again[key][name], first[key][name])
