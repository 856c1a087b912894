"""Resumable work, and pools of processes to run it in.

Long work is a list of independent blocks, such as one fold to train or one shard of
images to encode. :func:`run_blocks` calls a function for each block and keeps each
result as a file:

- A block's file is named by a key: the digest of all that the result depends on, see
  :func:`content_key`. Equal key, equal result.
- A result is a dictionary that JSON can hold, plus numpy arrays as direct values. With
  arrays it becomes ``KEY.npz``, without ``KEY.json``.
- The file is written to a temporary name and renamed, in the process that did the work.
  A run killed at any point therefore loses only the blocks in progress.
- The next run reads finished blocks and computes the others. A damaged file counts as
  unfinished.
- Blocks run in this process or in any :class:`concurrent.futures.Executor`: processes
  on this machine (:func:`process_pool`), or a cluster's.

>>> run_blocks(lambda a, b: {"sum": a + b}, {"first": (1, 2), "second": (3, 4)})
{'first': {'sum': 3}, 'second': {'sum': 7}}
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import json
import multiprocessing
import os
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from verite.errors import DataError, ParameterError, RunError
from verite.files import atomic_path, read_text, write_json

__all__ = ["content_key", "core_count", "process_pool", "run_blocks", "worker_count"]

_DAMAGED = (
    *(DataError, OSError, EOFError, ValueError, KeyError, TypeError),
    zipfile.BadZipFile,
)


def run_blocks(
    work: Callable[..., dict[str, Any]],
    blocks: Mapping[str, tuple[Any, ...]],
    *,
    directory: str | os.PathLike[str] | None = None,
    executor: concurrent.futures.Executor | None = None,
    progress: str = "",
) -> dict[str, dict[str, Any]]:
    """Call ``work(*arguments)`` for each block without a result; return all results.

    Parameters
    ----------
    work
        A module-level function, if the executor uses processes.
    blocks
        Arguments by key.
    directory
        Folder of finished blocks; None keeps none.
    executor
        Where blocks run; None runs them here, one after the other.
    progress
        Name of the progress bar; empty shows none.

    Returns
    -------
    dict
        Results by key, in the order of ``blocks``.

    Raises
    ------
    RunError
        A worker process died (often: out of memory). Finished blocks are kept.
    """
    from tqdm import tqdm

    folder = None if directory is None else Path(directory)
    results = {
        key: block for key in blocks if (block := _read(folder, key)) is not None
    }
    waiting = {key: blocks[key] for key in blocks if key not in results}
    with tqdm(
        total=len(blocks),
        initial=len(results),
        desc=progress,
        unit="block",
        disable=not progress,
    ) as bar:
        if executor is None:
            for key, arguments in waiting.items():
                results[key] = _run(work, arguments, folder, key)
                bar.update()
        else:
            futures = {
                executor.submit(_run, work, arguments, folder, key): key
                for key, arguments in waiting.items()
            }
            try:
                for future in concurrent.futures.as_completed(futures):
                    results[futures[future]] = future.result()
                    bar.update()
            except concurrent.futures.BrokenExecutor as error:
                raise RunError(
                    f"a worker process died after {len(results)} of {len(blocks)}"
                    " blocks, perhaps out of memory. Finished blocks are kept: run"
                    " again, with fewer workers."
                ) from error
            finally:
                for future in futures:
                    future.cancel()
    return {key: results[key] for key in blocks}


def content_key(*parts: Any) -> str:
    """Digest of arrays, text, numbers, lists and dictionaries, for a block's key.

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
            text = json.dumps(plain, sort_keys=True, ensure_ascii=False)
            digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:24]


def worker_count(workers: int = 0) -> int:
    """Number of processes: ``workers``, or ``VERITE_WORKERS``, or one per core.

    >>> worker_count(3)
    3
    """
    variable = os.environ.get("VERITE_WORKERS", "0")
    if not variable.isdecimal():
        raise ParameterError(
            f"VERITE_WORKERS: expected a number of processes, found {variable!r}."
        )
    return workers or int(variable) or core_count()


def core_count() -> int:
    """Cores that this process may use; all, where the system does not limit them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def process_pool(workers: int = 0) -> Iterator[concurrent.futures.Executor | None]:
    """Processes with one thread each, or None for a single worker.

    Many small models on few cores run fastest with one thread each, and sums then do
    not depend on the number of cores.
    """
    count = worker_count(workers)
    if count == 1:
        yield None
        return
    # Spawned, not forked: a fork would inherit the locks of torch and OpenMP in
    # whatever state they are.
    with concurrent.futures.ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
    ) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start_worker() -> None:
    # A worker whose parent was killed would wait for work for ever.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Before torch is imported, with the first block.
    os.environ["OMP_NUM_THREADS"] = "1"


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(
    work: Callable[..., dict[str, Any]],
    arguments: tuple[Any, ...],
    folder: Path | None,
    key: str,
) -> dict[str, Any]:
    result = work(*arguments)
    if folder is None:
        return result
    arrays = {k: v for k, v in result.items() if isinstance(v, np.ndarray)}
    plain = {k: v for k, v in result.items() if k not in arrays}
    if not arrays:
        write_json(folder / f"{key}.json", {"block": key, "result": plain})
        return result
    header = json.dumps({"block": key, "result": plain}).encode()
    with atomic_path(folder / f"{key}.npz") as temporary:
        np.savez(temporary, **arrays, header=np.frombuffer(header, np.uint8))  # type: ignore[arg-type]
    return result


def _read(folder: Path | None, key: str) -> dict[str, Any] | None:
    """Result of a finished block; None if there is none or its file is damaged."""
    if folder is None:
        return None
    try:
        if (path := folder / f"{key}.npz").exists():
            with path.open("rb") as stream, np.load(stream) as archive:
                arrays = {name: archive[name] for name in archive.files}
            block = json.loads(arrays.pop("header").tobytes())
        elif (path := folder / f"{key}.json").exists():
            arrays, block = {}, json.loads(read_text(path))
        else:
            return None
        if block["block"] != key:
            return None
        return {**block["result"], **arrays}
    except _DAMAGED:
        return None
