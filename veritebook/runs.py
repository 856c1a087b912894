"""Run one notebook through papermill, with checked parameters and a record."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbclient.exceptions import DeadKernelError
from tqdm import TqdmWarning

from verite import errors
from verite.errors import RunError, StoppedError
from verite.files import (
    atomic_path,
    lock,
    read_text,
    sha256,
    write_json,
    write_text,
)
from veritebook.notebooks import open_notebook
from veritebook.places import find_places
from veritebook.record import input_key

__all__ = ["Run", "run_notebook"]

_OURS = {name for name in errors.__all__ if name.endswith("Error")}
_STOPPED = "stopped. What had finished is kept; run the same command to go on."
_BARS = re.compile(r"[^\n]*\r[^\n]*\n?")


@dataclass(frozen=True)
class Run:
    """A finished run."""

    name: str
    notebook: Path
    """The executed notebook."""
    folder: Path
    """Holds ``results.csv``, ``record.json`` and finished blocks."""


def run_notebook(
    name: str,
    given: Mapping[str, str] | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Run:
    """Run a notebook by name.

    Parameters
    ----------
    given
        Values of parameters as text, as they come from a command line.
    out
        Folder for the executed notebook and what it writes; ``notebooks/executed`` of
        the checkout if None.

    Raises
    ------
    ParameterError
        No such notebook or parameter, or a value that does not parse. Nothing was run.
    RunError
        A cell failed. The message is the cell's own error where the input is at fault,
        a traceback where the code is. What the cells had done is in
        ``NAME/failed.ipynb``; an earlier result is left as it was.
    """
    notebook = open_notebook(name)
    values = notebook.check(given or {})
    home = Path(out) if out is not None else find_places().executed
    folder = home / name
    target, failed = home / f"{name}.ipynb", folder / "failed.ipynb"
    # Sockets lie in the scratch folder, and a socket's path is short on every system.
    short = "/tmp" if len(tempfile.gettempdir()) > 60 else None  # noqa: S108 - a folder with a random name inside it
    with (
        lock(folder),
        tempfile.TemporaryDirectory(dir=short) as scratch,
        _environment(folder, Path(scratch), input_key(notebook, values)),
    ):
        failed.unlink(missing_ok=True)
        source, finished = (
            Path(scratch) / "source.ipynb",
            Path(scratch) / "finished.ipynb",
        )
        notebook.write_plain(source)
        problem = _execute(source, finished, values)
        if finished.exists():
            node = _tidy(finished)
            _write(node, failed if problem else target)
        if not problem:
            _put_in_place(Path(scratch), folder, target)
    if problem:
        kept = (
            " Finished blocks are kept: run again to go on."
            if (folder / "blocks").is_dir()
            else ""
        )
        cells = f"\nIts cells so far: {failed}." if failed.exists() else ""
        raise RunError(f"notebook {name}: {problem}{cells}{kept}")
    return Run(name, target, folder)


def _execute(source: Path, finished: Path, values: Mapping[str, Any]) -> str:
    """Run the cells; return what went wrong, or an empty text."""
    with warnings.catch_warnings():
        # papermill asks for a progress bar of widgets and warns where there are none;
        # the plain one does.
        warnings.simplefilter("ignore", TqdmWarning)
        from papermill import PapermillExecutionError, execute_notebook
    from traitlets.config import Config

    logging.getLogger("papermill").setLevel(
        logging.CRITICAL
    )  # whatever goes wrong is reported below, once
    try:
        execute_notebook(
            str(source),
            str(finished),
            parameters=dict(values),
            kernel_name="python3",
            progress_bar=sys.stderr.isatty(),
            stderr_file=sys.stderr,
            cwd=str(Path.cwd()),
            # Sockets in this run's own folder: ports could be read by others on the
            # machine.
            config=Config(
                {
                    "KernelManager": {
                        "transport": "ipc",
                        "ip": str(source.with_name("kernel")),
                    }
                }
            ),
            extra_arguments=[
                "--log-level=CRITICAL"
            ],  # a kernel that is told to stop complains about its own sockets
        )
    except KeyboardInterrupt:
        raise StoppedError(_STOPPED) from None
    except PapermillExecutionError as error:
        where = f"cell {error.exec_count}"
        if error.ename == "KeyboardInterrupt":
            raise StoppedError(_STOPPED) from error
        if error.ename in _OURS:
            return f"{where}: {error.evalue}"
        return f"{where} failed.\n" + "\n".join(error.traceback)
    except (DeadKernelError, RuntimeError, OSError) as error:
        return (
            "the notebook's process could not start, or died, perhaps for want of"
            f" memory ({error})."
        )
    return ""


def _put_in_place(scratch: Path, folder: Path, target: Path) -> None:
    """Give results and record their places, the record last.

    It names the digests of what it belongs to.
    """
    results, record = scratch / "results.csv", scratch / "record.json"
    if not record.exists():
        return
    write_text(folder / results.name, read_text(results))
    write_json(
        folder / record.name, {**json.loads(read_text(record)), "page": sha256(target)}
    )


def _tidy(path: Path) -> Any:
    """Drop what differs from run to run, and progress bars.

    Hide the cell that papermill put in.
    """
    import nbformat

    node = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    node.metadata.pop("papermill", None)
    for at, cell in enumerate(node.cells):
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        tags = cell.metadata.get("tags", [])
        if "injected-parameters" in tags:
            cell["id"] = f"injected-{at}"
            cell.metadata["tags"] = [*tags, "remove-cell"]
        outputs = []
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                output["text"] = _BARS.sub("", output.text)
                if not output.text.strip():
                    continue
            outputs.append(output)
        if cell.cell_type == "code":
            cell["outputs"] = outputs
    return node


def _write(node: Any, path: Path) -> None:
    import nbformat

    with atomic_path(path) as temporary:
        nbformat.write(node, temporary)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _environment(folder: Path, scratch: Path, key: str) -> Iterator[None]:
    """Tell the kernel where to write.

    Give it one thread, so that sums do not depend on the number of cores.
    """
    wanted = {
        "VERITE_RUN_DIR": str(folder.resolve()),
        "VERITE_RESULT_DIR": str(scratch),
        "VERITE_RUN_KEY": key,
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
