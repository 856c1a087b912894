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
    lines = [
        "| Page | Last run | Duration | Peak memory | Data | Parameters | Commit |",
        "|---|---|---:|---:|---|---|---|",
    ]
    versions: dict[str, str] = {}
    for name, record in records.items():
        if not record:
            continue
        versions.update(record["versions"])
        values = ", ".join(f"`{key} = {value}`" for key, value in record["parameters"].items())
        when = record["started"].replace("T", " ").replace("+00:00", " UTC")
        data = ", ".join(sorted({path.split("/")[0] for path in record["data"]})) or "none read"
        lines.append(
            f"| [{open_notebook(name).title}](../notebooks/executed/{name}.ipynb) | {when} "
            f"| {record['seconds']:.0f} s | {record['peak memory MB']:,} MB | {data} | {values} | `{record['commit']}` |"
        )
    table = "\n".join(lines)
    libraries = "\n".join(f"| {name} | {version} |" for name, version in versions.items())
    text = f"{table}\n\n## Versions\n\n| Library | Version |\n|---|---|\n{libraries}\n"
    path = places.generated / "status.md"
    if not path.exists() or read_text(path) != text:
        write_text(path, text)
