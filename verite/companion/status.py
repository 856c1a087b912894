"""The status page: what was run, when, on what, with what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verite.companion.notebooks import open_notebook
from verite.companion.places import Places
from verite.files import read_text, write_text

__all__ = ["write_status"]


def write_status(places: Places, records: Mapping[str, Mapping[str, Any]]) -> None:
    """Write ``book/generated/status.md`` from the records of the last runs; leave it alone if nothing changed."""
    runs = ["| Page | Last run | Duration | Peak memory | Made from | Commit |", "|---|---|---:|---:|---|---|"]
    parameters: list[str] = []
    versions: dict[str, str] = {}
    for name, record in records.items():
        if not record:
            continue
        versions.update(record["versions"])
        link = f"[{open_notebook(name).title}](../notebooks/executed/{name}.ipynb)"
        when = record["started"].replace("T", " ").replace("+00:00", " UTC")
        took = f"{record['seconds']:.0f} s | {record['peak memory MB']:,} MB"
        runs.append(f"| {link} | {when} | {took} | {record['dataset']} | `{record['commit']}` |")
        parameters += [link, ": " + ", ".join(f"{key} = {value}" for key, value in record["parameters"].items()), ""]
    libraries = [f"| {name} | {version} |" for name, version in versions.items()]
    sections = [runs, ["## Parameters", "", *parameters], ["## Versions", "", "| Library | Version |", "|---|---|", *libraries]]
    text = "\n\n".join("\n".join(lines) for lines in sections) + "\n"
    path = places.generated / "status.md"
    if not path.exists() or read_text(path) != text:
        write_text(path, text)
