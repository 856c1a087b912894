"""One search gives the same bytes in threads, processes, a cluster, and resumed."""

from __future__ import annotations

import concurrent.futures
import inspect
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from verite.blocks import process_pool
from verite.embeddings import Embeddings
from verite.errors import RunError
from verite.search import Neighbours, nearest
from verite.search.screening import int8_is_exact

SCREENS = ["float32", "int8"] if int8_is_exact() else ["float32"]
each_screen = pytest.mark.parametrize("screen", SCREENS)


def world() -> tuple[Embeddings, Embeddings, dict[str, list[str]]]:
    """Queries and candidates with equal vectors among them, and groups."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(900, 48)).astype(np.float32)
    matrix[600:] = matrix[:300]
    C = Embeddings([f"c{i}" for i in range(900)], matrix, encoder="toy")
    asked = rng.normal(size=(250, 48)).astype(np.float32)
    Q = Embeddings([f"q{i}" for i in range(250)], asked, encoder="toy")
    query_groups = [str(i % 50) for i in range(250)]
    candidate_groups = [str(i % 70) for i in range(900)]
    groups = {"query_groups": query_groups, "candidate_groups": candidate_groups}
    return Q, C, groups


def digest(found: Neighbours) -> tuple[str, bytes]:
    return str(found.ids.tolist()), found.similarities.tobytes()


@pytest.fixture(scope="module")
def expected() -> tuple[str, bytes]:
    Q, C, groups = world()
    return digest(nearest(Q, C, 3, screen="float32", **groups))


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@each_screen
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.usefixtures("threads")
def test_threads_of_torch(count: int, screen: str, expected: tuple[str, bytes]) -> None:
    torch.set_num_threads(count)
    Q, C, groups = world()
    found = nearest(Q, C, 3, screen=screen, query_block=200, **groups)
    assert digest(found) == expected
    assert torch.get_num_threads() == count


@each_screen
def test_threads_that_share_the_matrices(
    screen: str, expected: tuple[str, bytes]
) -> None:
    Q, C, groups = world()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        options = {"query_block": 60, "executor": pool, **groups}
        assert digest(nearest(Q, C, 3, screen=screen, **options)) == expected


@each_screen
def test_processes(screen: str, expected: tuple[str, bytes], tmp_path: Path) -> None:
    Q, C, groups = world()
    C.save(tmp_path / "c.safetensors")  # one side mapped, one in memory
    C = Embeddings.load(tmp_path / "c.safetensors")
    with process_pool(2) as pool:
        options = {"query_block": 60, "executor": pool, **groups}
        assert digest(nearest(Q, C, 3, screen=screen, **options)) == expected


def test_a_dask_cluster(expected: tuple[str, bytes], tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    Q, C, groups = world()
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(dashboard_address=None, **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        options = {"executor": client.get_executor(), "directory": tmp_path, **groups}
        found = nearest(Q, C, 3, query_block=60, **options)
    assert digest(found) == expected
    assert not list(tmp_path.glob("arrays-*"))


SEARCH = """
import sys
import numpy as np
from verite.embeddings import Embeddings
from verite.search import nearest
{world}
Q, C, groups = world()
nearest(Q, C, 3, query_block=2, directory=sys.argv[1], **groups)
"""


def test_a_killed_search_resumes(expected: tuple[str, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "blocks"
    script = SEARCH.replace("{world}", inspect.getsource(world))
    with subprocess.Popen([sys.executable, "-c", script, str(folder)]) as process:
        deadline = time.monotonic() + 60
        while (
            len(list(folder.glob("*/0*.json"))) < 3
            and process.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    finished = {path: path.stat().st_mtime_ns for path in folder.glob("*/0*.json")}
    assert 3 <= len(finished) < 125
    Q, C, groups = world()
    again = nearest(Q, C, 3, query_block=2, directory=folder, **groups)
    assert digest(again) == expected
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert len(list(folder.glob("*/0*.json"))) == 125


def test_blocks_of_another_question_are_not_reused(tmp_path: Path) -> None:
    Q, C, groups = world()
    nearest(Q, C, 3, directory=tmp_path, **groups)
    for options in ({"k": 3}, {"k": 2, **groups}, {"k": 3, "highest": 0.3, **groups}):
        again = nearest(Q, C, directory=tmp_path, **options)
        assert digest(again) == digest(nearest(Q, C, **options))


def test_a_worker_that_dies_leaves_finished_blocks(tmp_path: Path) -> None:
    Q, C, groups = world()

    class Dying(concurrent.futures.ThreadPoolExecutor):
        def submit(self, fn, /, *arguments, **options):  # type: ignore[no-untyped-def]
            if arguments[-1] == f"{120:09d}":
                fn = _die
            return super().submit(fn, *arguments, **options)

    with Dying(1) as pool, pytest.raises(RunError, match="Finished blocks are kept"):
        nearest(Q, C, 3, query_block=60, executor=pool, directory=tmp_path, **groups)
    assert len(list(tmp_path.glob("*/0*.json"))) >= 2


def _die(*_: object) -> None:
    raise concurrent.futures.BrokenExecutor
