"""Run notebooks through papermill, with checked parameters and a record.

Reference runs are on the real data, at full size; their results are committed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbclient.exceptions import DeadKernelError
from tqdm import TqdmWarning

from verite import errors
from verite.errors import (
    DataError,
    ParameterError,
    RunError,
    StoppedError,
    name_some,
)
from verite.files import (
    atomic_path,
    lock,
    read_text,
    sha256,
    write_json,
    write_text,
)
from veritebook.notebooks import list_notebooks, open_notebook
from veritebook.places import find_places
from veritebook.record import input_key
from veritebook.results import SYNTHETIC, read_results

__all__ = ["Run", "run_notebook", "run_references"]

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
        source, finished = (Path(scratch, f"{x}.ipynb") for x in ("source", "finished"))
        notebook.write_plain(source)
        problem = _execute(source, finished, values)
        if finished.exists():
            _tidy(finished, failed if problem else target)
        if not problem:
            _put_in_place(Path(scratch), folder, target)
    if problem:
        cells = f"\nIts cells so far: {failed}." if failed.exists() else ""
        if (folder / "blocks").is_dir():
            cells += " Finished blocks are kept: run again to go on."
        raise RunError(f"notebook {name}: {problem}{cells}")
    return Run(name, target, folder)


def run_references(
    names: Sequence[str] = (), say: Callable[[str], None] = print
) -> list[Path]:
    """Run notebooks with the parameters in their header under ``verite: reference:``.

    Results and record go to ``book/reference/NAME.csv`` and ``NAME.json``; later builds
    show them beside their own. Finished blocks of a stopped run are used again.

    Raises
    ------
    ParameterError
        A notebook that was named has no reference parameters.
    DataError
        A run read synthetic data, though its header neither says ``synthetic: true``
        nor names the table under ``newsroom:``.
    """
    places = find_places()
    written = []
    for name in names or list_notebooks():
        notebook = open_notebook(name)
        wanted = notebook.header.get("reference")
        if wanted is None:
            if names:
                raise ParameterError(
                    f"notebook {name} has no reference run: its header has no verite:"
                    " reference: parameters."
                )
            continue
        values = {key: str(value) for key, value in wanted.items()}
        listed = ", ".join(f"{key} = {value}" for key, value in values.items())
        say(f"{name}: reference run with {listed or 'its own values'}")
        run = run_notebook(name, values, out=places.executed / "reference")
        results = read_results(run.folder / "results.csv")
        synthetic = results[
            results["source"].isin(SYNTHETIC)
            & ~results["table"].isin(notebook.newsroom_tables)
        ]
        if len(synthetic) and not notebook.synthetic:
            raise DataError(
                f"notebook {name} ran on {synthetic['source'].iloc[0]}, which is"
                f" synthetic ({name_some(synthetic['table'].unique())}); a reference"
                " run needs the real data. See: verite data status."
            )
        written.append(places.reference / f"{name}.csv")
        write_text(written[-1], read_text(run.folder / "results.csv"))
        record = json.loads(read_text(run.folder / "record.json"))
        write_json(places.reference / f"{name}.json", record)
    return written


def _execute(source: Path, finished: Path, values: Mapping[str, Any]) -> str:
    """Run the cells; return what went wrong, or an empty text."""
    with warnings.catch_warnings():
        # papermill asks for a progress bar of widgets and warns where there are none;
        # the plain one does.
        warnings.simplefilter("ignore", TqdmWarning)
        from papermill import PapermillExecutionError, execute_notebook
    from traitlets.config import Config

    # Whatever goes wrong is reported below, once.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    # Sockets in this run's own folder: others on the machine could read ports.
    kernel = {"transport": "ipc", "ip": str(source.with_name("kernel"))}
    try:
        execute_notebook(
            str(source),
            str(finished),
            parameters=dict(values),
            kernel_name="python3",
            progress_bar=sys.stderr.isatty(),
            stderr_file=sys.stderr,
            cwd=str(Path.cwd()),
            config=Config({"KernelManager": kernel}),
            # A kernel that is told to stop complains about its own sockets.
            extra_arguments=["--log-level=CRITICAL"],
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
    """Move results and record to their folder, the record last: it has digests."""
    if (scratch / "record.json").exists():
        write_text(folder / "results.csv", read_text(scratch / "results.csv"))
        record = json.loads(read_text(scratch / "record.json"))
        write_json(folder / "record.json", {**record, "page": sha256(target)})


def _tidy(path: Path, target: Path) -> None:
    """Copy a finished notebook without progress bars and what differs between runs.

    The cell that papermill put in is hidden.
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
        if cell.cell_type != "code":
            continue
        for output in cell.outputs:
            if output.get("name") == "stderr":
                output["text"] = _BARS.sub("", output.text)
        cell["outputs"] = [
            output
            for output in cell.outputs
            if output.get("name") != "stderr" or output.text.strip()
        ]
    with atomic_path(target) as temporary:
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
