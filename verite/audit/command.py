"""``verite audit``: from files to files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verite.audit.auditing import audit
from verite.audit.reading import Benchmark, read_benchmark
from verite.audit.report import render
from verite.audit.suspects import fix, for_spreadsheets
from verite.errors import ParameterError
from verite.files import check_overwrite, write_csv, write_json, write_text

__all__ = ["audit_files"]

_OUTPUTS = ("audit.json", "audit.html", "suspects.csv", "cleaned.csv", "changes.csv")


def audit_files(
    source: str,
    out: Path,
    *,
    reading: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    apply_fixes: bool = False,
    force: bool = False,
    about: Mapping[str, Any] | None = None,
) -> list[str]:
    """Audit a table, or a data set by its name, and write the results into a folder.

    Writes ``audit.html``, ``audit.json`` and ``suspects.csv``; with ``apply_fixes``
    also ``cleaned.csv`` and ``changes.csv`` (:func:`verite.audit.fix`). Cells that a
    spreadsheet would run are escaped in all but ``cleaned.csv``, which is data.

    Parameters
    ----------
    reading
        Options of :func:`verite.audit.read_benchmark`; empty for a data set.
    parameters
        Options of :func:`verite.audit.audit`.
    force
        Replace the files of an earlier audit.
    about
        What else to record.

    Returns
    -------
    list of str
        Lines for a terminal: verdicts, probes that fire, the files.

    Raises
    ------
    ParameterError
        Files exist and ``force`` is not set, or parameters are wrong.
    DataError
        See :func:`verite.audit.read_benchmark`.
    """
    for name in _OUTPUTS:
        check_overwrite(out / name, force)
    benchmark = _open(source, reading or {})
    result = audit(benchmark, **{"progress": None, **(parameters or {})})
    rows = len(benchmark.pairs)
    lines = [
        f"{benchmark.name}: {rows:,} pairs, {len(benchmark.labels)} labels",
        *result.about["notes"],
        "",
        *result.verdicts.values(),
        "",
        f"probes that fire: {', '.join(result.firing) or 'none'}",
        f"rows to look at: {result.suspects['pair_id'].nunique():,}",
    ]
    if apply_fixes:
        cleaned, changes = fix(benchmark)
        write_csv(out / "changes.csv", for_spreadsheets(changes))
        write_csv(out / "cleaned.csv", cleaned)
        lines.append(
            f"changes: {len(changes):,} in {out / 'cleaned.csv'}, listed in"
            f" {out / 'changes.csv'}; encode changed captions again"
        )
    write_csv(out / "suspects.csv", for_spreadsheets(result.suspects))
    write_text(out / "audit.html", render(result))
    content = result.to_json()
    content["about"] |= dict(about or {})
    write_json(out / "audit.json", content)
    return [
        *lines,
        f"page: {out / 'audit.html'}",
        f"json: {out / 'audit.json'}",
        f"rows: {out / 'suspects.csv'}",
    ]


def _open(source: str, reading: Mapping[str, Any]) -> Benchmark:
    from verite import datasets

    if source not in datasets.names() or Path(source).is_file():
        return read_benchmark(source, **reading)
    if any(reading.values()):
        raise ParameterError(
            f"{source} is a data set, whose columns and vectors are known. Leave the"
            " options for them out."
        )
    return Benchmark.of(datasets.load(source))
