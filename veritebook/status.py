"""The status page: what was run, when, on what, with what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verite.files import read_text, write_text
from veritebook.notebooks import open_notebook
from veritebook.places import Places

__all__ = ["in_gigabytes", "in_words", "write_status"]


def in_words(seconds: float) -> str:
    """Say a duration as people do.

    >>> [in_words(seconds) for seconds in (0.4, 35.2, 240, 4000)]
    ['1 s', '35 s', '4 min', '1 h 7 min']
    """
    if seconds < 99.5:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def in_gigabytes(megabytes: float) -> str:
    """Say a size of memory.

    >>> in_gigabytes(1284), in_gigabytes(12)
    ('1.3 GB', '0.1 GB')
    """
    return f"{max(megabytes / 1000, 0.1):.1f} GB"


def write_status(places: Places, records: Mapping[str, Mapping[str, Any]]) -> None:
    """Write ``book/generated/status.md`` from the records of the last runs.

    Leave it alone if nothing changed.
    """
    runs = [
        "| Page | Last run | Duration | Peak memory | Made from | Commit |",
        "|---|---|---:|---:|---|---|",
    ]
    parameters: list[str] = []
    data: list[str] = []
    versions: dict[str, dict[str, list[str]]] = {}
    for name, record in records.items():
        if not record:
            continue
        title = open_notebook(name).title
        link = f"[{title}](../notebooks/executed/{name}.ipynb)"
        when = record["started"].replace("T", " ").replace("+00:00", " UTC")
        took = f"{in_words(record['seconds'])} | {record['peak memory MB']:,} MB"
        runs.append(
            f"| {link} | {when} | {took} | {record['dataset']} | `{record['commit']}` |"
        )
        parameters += [
            link,
            ": "
            + ", ".join(
                f"{key} = {value}" for key, value in record["parameters"].items()
            ),
            "",
        ]
        files = [f"{path} (`{digest[:12]}`)" for path, digest in record["data"].items()]
        data += [link, f": {', '.join(files) or 'no file was read'}", ""]
        for library, version in record["versions"].items():
            versions.setdefault(library, {}).setdefault(version, []).append(title)
    sections = [
        runs,
        ["## Parameters", "", *parameters],
        [
            "## Data",
            "",
            "Files that were read, with the first digits of their SHA-256.",
            "",
            *data,
        ],
        [
            "## Versions",
            "",
            "| Library | Version |",
            "|---|---|",
            *(f"| {name} | {_versions(found)} |" for name, found in versions.items()),
        ],
    ]
    text = "\n\n".join("\n".join(lines) for lines in sections) + "\n"
    path = places.generated / "status.md"
    if not path.exists() or read_text(path) != text:
        write_text(path, text)


def _versions(found: Mapping[str, list[str]]) -> str:
    """One version, or each with the pages that ran with it."""
    return (
        next(iter(found))
        if len(found) == 1
        else "; ".join(
            f"{version} ({', '.join(titles)})" for version, titles in found.items()
        )
    )
