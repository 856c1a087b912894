"""Long work as a list of independent blocks that can stop anywhere and go on.

A block is one call of a function: train one fold, encode one shard. Its result is a
small JSON file, written to a temporary name and renamed, by whoever did the work. A
second run reads what is there and does the rest. Blocks run in this process, or in any
:class:`concurrent.futures.Executor`: processes on this machine, or a cluster's own
executor, without a line changed.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from verite.errors import DataError, ParameterError, RunError
from verite.files import read_text, write_json

__all__ = ["content_key", "core_count", "process_pool", "run_blocks", "worker_count"]


def run_blocks(
    work: Callable[..., dict[str, Any]],
    blocks: Mapping[str, tuple[Any, ...]],
    *,
    directory: str | os.PathLike[str] | None = None,
    executor: concurrent.futures.Executor | None = None,
    progress: str = "",
) -> dict[str, dict[str, Any]]:
    """Call ``work(*arguments)`` for each block that has no result yet.

    Return all results by key.

    Parameters
    ----------
    work
        Returns a dictionary that JSON can hold. A module-level function, if the
        executor uses processes.
    blocks
        Arguments by key. The key names the block's file, so it must change whenever the
        result would: see :func:`content_key`.
    directory
        Where finished blocks are kept; None keeps nothing.
    executor
        Where blocks run; None runs them here, one after the other.
    progress
        What the progress bar is called; empty shows none.

    Raises
    ------
    RunError
        A worker process died (often: out of memory). Finished blocks are kept.

    >>> run_blocks(lambda a, b: {"sum": a + b}, {"first": (1, 2), "second": (3, 4)})
    {'first': {'sum': 3}, 'second': {'sum': 7}}
    """
    home = None if directory is None else Path(directory)
    done = {key: result for key in blocks if (result := _read(home, key)) is not None}
    waiting = {key: arguments for key, arguments in blocks.items() if key not in done}
    with _bar(progress, len(blocks), len(done)) as advance:
        if executor is None:
            for key, arguments in waiting.items():
                done[key] = _keep(work, arguments, home, key)
                advance()
        else:
            futures = {
                executor.submit(_keep, work, arguments, home, key): key
                for key, arguments in waiting.items()
            }
            try:
                for future in concurrent.futures.as_completed(futures):
                    done[futures[future]] = future.result()
                    advance()
            except concurrent.futures.BrokenExecutor as error:
                raise RunError(
                    f"a worker process died after {len(done)} of {len(blocks)} blocks,"
                    " perhaps for want of memory. Finished blocks are kept: run again,"
                    " with fewer workers."
                ) from error
            finally:
                for future in futures:
                    future.cancel()
    return {key: done[key] for key in blocks}


def content_key(*parts: Any) -> str:
    """Digest of anything made of arrays, text, numbers, lists and dictionaries.

    Equal content, equal key.

    >>> content_key({"a": 1}, np.zeros(3)) == content_key({"a": 1}, np.zeros(3))
    True
    >>> content_key({"a": 1}, np.zeros(3)) == content_key({"a": 1}, np.zeros(4))
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype != object:
            digest.update(f"{part.dtype}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            plain = part.tolist() if isinstance(part, np.ndarray) else part
            digest.update(
                json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()
            )
        digest.update(b"\0")
    return digest.hexdigest()[:24]


def worker_count(asked: int = 0) -> int:
    """How many processes to use.

    What was asked for, or ``VERITE_WORKERS``, or one for each core this process may
    use.

    >>> worker_count(3)
    3
    """
    named = os.environ.get("VERITE_WORKERS", "0")
    if not named.isdecimal():
        raise ParameterError(
            f"VERITE_WORKERS: expected a whole number of processes, found {named!r}."
        )
    return asked or int(named) or core_count()


def core_count() -> int:
    """Cores that this process may use; on systems that do not tell, all there are.

    >>> core_count() >= 1
    True
    """
    return (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )


@contextlib.contextmanager
def process_pool(workers: int = 0) -> Iterator[concurrent.futures.Executor | None]:
    """Processes with one thread each, or None where one worker is all there is.

    One thread each, because many small models on few cores run fastest so, and because
    sums then do not depend on how many cores a machine has.
    """
    count = worker_count(workers)
    if count == 1:
        yield None
        return
    # Fresh processes: a forked one would inherit torch's and OpenMP's locks in whatever
    # state they are.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        count, mp_context=context, initializer=_one_thread
    ) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _one_thread() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["OMP_NUM_THREADS"] = (
        "1"  # for what is imported from here on; torch is, with the first block
    )


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _keep(
    work: Callable[..., dict[str, Any]],
    arguments: tuple[Any, ...],
    home: Path | None,
    key: str,
) -> dict[str, Any]:
    result = work(*arguments)
    if home is not None:
        write_json(home / f"{key}.json", {"block": key, "result": result})
    return result


def _read(home: Path | None, key: str) -> dict[str, Any] | None:
    if home is None or not (path := home / f"{key}.json").exists():
        return None
    try:
        kept = json.loads(read_text(path))
    except (DataError, ValueError):
        return None  # damaged from outside: do it again
    if (
        not isinstance(kept, dict)
        or kept.get("block") != key
        or not isinstance(kept.get("result"), dict)
    ):
        return None
    result: dict[str, Any] = kept["result"]
    return result


@contextlib.contextmanager
def _bar(name: str, total: int, done: int) -> Iterator[Callable[[], object]]:
    if not name:
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(total=total, initial=done, desc=name, unit="block") as bar:
        yield bar.update
