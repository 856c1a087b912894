"""``verite audit``: from files to files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verite.audit.core import Audit, audit
from verite.audit.fix import fix, for_spreadsheets
from verite.audit.probes import PROBES
from verite.audit.reading import Benchmark, read_benchmark
from verite.errors import ParameterError
from verite.files import write_csv, write_json, write_text

__all__ = ["audit_files", "save"]


def audit_files(
    source: str,
    out: Path,
    *,
    columns: Mapping[str, str] | None = None,
    vectors: Mapping[str, Path | None] | None = None,
    parameters: Mapping[str, Any] | None = None,
    mend: bool = False,
    force: bool = False,
    about: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> list[str]:
    """Audit a table, or a data set by its name, and write what was found into a folder.

    Writes ``audit.html``, ``audit.json`` and ``suspects.csv``; with ``mend`` also
    ``cleaned.csv`` and ``changes.csv`` (:func:`verite.audit.fix.fix`). Cells that a
    spreadsheet would run are escaped in all but ``cleaned.csv``, which is data.

    Parameters
    ----------
    columns, vectors
        For :func:`verite.audit.read_benchmark`: the latter ``images``, ``image_ids``,
        ``texts``, ``text_ids``, ``folder``.
    parameters
        For :func:`verite.audit.audit`.
    force
        Replace what an earlier audit wrote.
    about
        What else to record.

    Returns
    -------
    list of str
        Lines for a terminal: verdicts, probes that fire, where things are.

    Raises
    ------
    ParameterError
        An audit is there and ``force`` is not set, or parameters are wrong.
    DataError
        See :func:`verite.audit.read_benchmark`.
    """
    if not force:
        there = [
            name
            for name in (
                "audit.json",
                "audit.html",
                "suspects.csv",
                "cleaned.csv",
                "changes.csv",
            )
            if (out / name).exists()
        ]
        if there:
            raise ParameterError(
                f"{out / there[0]} is there. Choose another folder, or replace it with"
                " --force."
            )
    benchmark = _open(
        source,
        columns or {},
        {name: path for name, path in (vectors or {}).items() if path is not None},
    )
    found = audit(benchmark, progress=progress, **(parameters or {}))
    lines = [
        (
            f"{benchmark.name}: {len(benchmark.pairs):,} pairs, {len(benchmark.labels)}"
            " label(s)"
        ),
        *found.about["notes"],
        "",
        *found.verdicts.values(),
    ]
    lines += [
        "",
        f"probes that fire: {', '.join(found.firing) or 'none'}",
        f"rows to look at: {found.suspects['pair_id'].nunique():,}",
    ]
    if mend:
        cleaned, changes = fix(benchmark)
        write_csv(out / "changes.csv", for_spreadsheets(changes))
        write_csv(out / "cleaned.csv", cleaned)
        lines.append(
            f"changes: {len(changes):,} in {out / 'cleaned.csv'}, listed in"
            f" {out / 'changes.csv'}; encode changed captions anew"
        )
    return [*lines, *save(found, out, about or {})]


def save(found: Audit, out: Path, about: Mapping[str, Any]) -> list[str]:
    """Write an audit's page, JSON and suspects; say where they are."""
    write_csv(out / "suspects.csv", for_spreadsheets(found.suspects))
    write_text(out / "audit.html", found.html())
    content = found.to_json()
    write_json(out / "audit.json", content | {"about": content["about"] | dict(about)})
    return [
        f"page: {out / 'audit.html'}",
        f"json: {out / 'audit.json'}",
        f"rows: {out / 'suspects.csv'}",
    ]


def _open(
    source: str, columns: Mapping[str, str], vectors: Mapping[str, Path]
) -> Benchmark:
    from verite import datasets

    if source in datasets.names() and not Path(source).is_file():
        if columns or vectors:
            raise ParameterError(
                f"{source} is a data set, whose columns and vectors are known. Leave"
                " the options for them out."
            )
        return Benchmark.of(datasets.load(source))
    return read_benchmark(source, columns=columns, **vectors)


def probe_names(given: str) -> tuple[str, ...]:
    """Families of probes from a list with commas; all for nothing.

    >>> probe_names("length, TF-IDF")
    ('length', 'TF-IDF')
    """
    return tuple(name.strip() for name in given.split(",") if name.strip()) or PROBES
