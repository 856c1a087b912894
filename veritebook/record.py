"""Record of a run: enough to repeat it, and to see whether it is stale."""

from __future__ import annotations

import datetime
import json
import platform
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verite.blocks import content_key, core_count
from verite.files import sha256
from verite.provenance import commit, versions
from veritebook.notebooks import Notebook
from veritebook.places import Places
from veritebook.reach import package_graph

__all__ = ["input_key", "make_record", "peak_memory_mb", "read_json", "read_record"]

_RUN = "from veritebook.runs import run_notebook; run_notebook"
"""What runs every notebook counts among its code."""


def make_record(
    notebook: str,
    *,
    dataset: str,
    parameters: Mapping[str, Any],
    data: Mapping[str, str],
    results: Mapping[str, str],
    started: datetime.datetime,
    seconds: float,
    key: str,
) -> dict[str, Any]:
    """Gather a run's record.

    A dictionary that JSON can hold, without anything private to the machine.

    Parameters
    ----------
    dataset
        Names of what the page was made from; ``paper`` for the published tables.
    data, results
        SHA-256 of each file read and written.
    key
        What :func:`input_key` gave when the run began.
    """
    return {
        "notebook": notebook,
        "commit": commit(),
        "started": started.astimezone(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 2),
        "peak memory MB": peak_memory_mb(),
        "dataset": dataset,
        "parameters": dict(parameters),
        "seeds": {
            name: value for name, value in parameters.items() if name.startswith("seed")
        },
        "data": dict(sorted(data.items())),
        "results": dict(sorted(results.items())),
        "versions": versions(),
        "machine": f"{platform.system()} {platform.machine()}, {core_count()} cores",
        "inputs": key,
    }


def input_key(notebook: Notebook, parameters: Mapping[str, Any]) -> str:
    """Digest of all that decides a notebook's output.

    Its text, parameters, the code and tables that it can reach, library versions, data
    files and the reference run that it shows. A run whose record holds another key is
    stale.
    """
    from verite.datasets import checksums

    values = {
        one.name: parameters.get(one.name, one.default) for one in notebook.parameters
    }
    reference = (
        notebook.path.parent.parent / "book" / "reference" / f"{notebook.name}.csv"
    )
    shown = sha256(reference) if reference.is_file() else ""
    data = [*notebook.data, "newsroom", *map(str, values.values())]
    return content_key(
        sha256(notebook.path),
        values,
        package_graph().reach(f"{notebook.code}\n{_RUN}", notebook.name, data),
        versions(),
        checksums(list(notebook.data)),
        shown,
    )


def peak_memory_mb() -> int:
    """Largest resident size of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak / (1_000_000 if sys.platform == "darwin" else 1_000))


def read_record(places: Places, name: str) -> dict[str, Any]:
    """Last record of a notebook; empty where it is missing or damaged."""
    record = read_json(places.executed / name / "record.json")
    needed = {*("inputs", "page", "results", "versions", "parameters", "data")}
    needed |= {"dataset", "started", "seconds", "commit"}
    return record if isinstance(record, dict) and needed <= set(record) else {}


def read_json(path: Path) -> Any:
    """Content of a JSON file; empty where it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError):
        return {}
