"""From files to files: what ``verite averimatec`` writes, and what it says on a
terminal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from averimatec.claims import Claim, image_files, missing_images, read_claims
from averimatec.conventions import CONVENTIONS
from averimatec.judges import Judge
from averimatec.robustness import check_judge
from averimatec.scoring import LAMBDAS, Scores, score_submission
from averimatec.statistics import (
    duplicate_claims,
    late_evidence,
    split_order,
    statistics,
)
from averimatec.store import read_store
from averimatec.submission import read_statements, read_submission
from verite.audit.suspects import for_spreadsheets
from verite.errors import ParameterError, name_some
from verite.files import sha256, write_csv, write_json

__all__ = ["check_files", "describe", "readable", "score_files"]


def score_files(
    gold: Path,
    submission: Path,
    out: Path,
    judge: Judge,
    *,
    images: Sequence[Path] = (),
    statements: Path | None = None,
    force: bool = False,
    **options: Any,
) -> list[str]:
    """Score a submission and write ``scores.csv``, ``claims.csv``, ``problems.csv`` and
    ``score.json``.

    Every one of them names the judge. Cells that a spreadsheet would run are escaped.

    Parameters
    ----------
    images
        Folders of images: the claims', and those that the evidence of a run names. Of
        two files of one name the later folder's counts.
    options
        Of :func:`averimatec.score_submission`.

    Returns
    -------
    list of str
        Lines for a terminal.

    Raises
    ------
    ParameterError
        Scores are there and ``force`` is not set, or an option is unknown.
    DataError, MissingDataError
        Files cannot be read, or do not belong together.
    """
    _free(out, ("scores.csv", "claims.csv", "problems.csv", "score.json"), force)
    claims = read_claims(gold)
    scores = score_submission(
        claims,
        read_submission(submission),
        judge,
        files={
            name: path
            for folder in images
            for name, path in image_files(folder).items()
        },
        statements=read_statements(statements, claims) if statements else None,
        **options,
    )
    for name, table in (
        ("scores", scores.table),
        ("claims", scores.claims),
        ("problems", scores.problems),
    ):
        write_csv(out / f"{name}.csv", for_spreadsheets(table.assign(judge=judge.name)))
    inputs = {
        path.name: sha256(path) for path in (gold, submission, statements) if path
    }
    write_json(
        out / "score.json",
        {**scores.about, "inputs": inputs, "scores": _records(scores.table)},
    )
    return [
        *readable(scores),
        "",
        *(
            f"{name}: {out / name}"
            for name in ("scores.csv", "claims.csv", "problems.csv", "score.json")
        ),
    ]


def readable(scores: Scores) -> list[str]:
    """Scores as lines for a terminal.

    The official convention beside the corrected one.
    """
    about = scores.about
    lines = [f"judge:  {about['judge']}", f"claims: {about['claims']:,}", ""]
    lines.append(
        f"{'in per cent':42}{'official':>10}  {'95 % interval':>16}{'corrected':>12} "
        f" {'95 % interval':>16}"
    )
    everyone = scores.table[scores.table["group"] == "all"]
    for (mode, metric), rows in everyone[everyone["lambda"].isna()].groupby(
        ["mode", "metric"], sort=False
    ):
        lines.append(
            f"{', '.join(filter(None, (str(metric), str(mode)))):42}{_both(rows)}"
        )
    for least in LAMBDAS:
        for metric, rows in everyone[everyone["lambda"] == least].groupby(
            "metric", sort=False
        ):
            lines.append(
                f"{f'{metric!s}, evidence recall > {least:g}':42}{_both(rows)}"
            )
    lines += [
        "",
        (
            f"justifications by ROUGE-1 {about['rouge']}; the condition is on the"
            f" {about['condition']} evidence recall"
        ),
    ]
    for convention in CONVENTIONS:
        left = everyone[
            (everyone["convention"] == convention) & (everyone["unscored"] > 0)
        ]
        if len(left):
            lines.append(
                f"{convention}: up to {left['unscored'].max():,} claims are not in a"
                " mean (column unscored)"
            )
    if about["replies"]:
        lines.append(
            "replies: {asked:,} asked or cached, {tokens:,} tokens, cost {cost:.4g}".format(
                **about["replies"]
            )
        )
    lines.append(
        f"problems: {about['problems']:,}"
        + (
            " (official counts them as it does; corrected leaves claims out)"
            if about["problems"]
            else ""
        )
    )
    for problem, rows in list(scores.problems.groupby("problem", sort=False))[:3]:
        lines.append(
            f"  {len(rows):,} × {problem!s} (claims"
            f" {name_some(rows['claim'].unique())})"
        )
    return lines


def check_files(
    gold: Path,
    out: Path,
    judge: Judge,
    *,
    images: Path | None,
    claims: int,
    modes: Sequence[str],
    seed: int,
    force: bool,
) -> list[str]:
    """Check a judge and write ``checks.csv``; lines for a terminal.

    Raises
    ------
    ParameterError
        Checks are there and ``force`` is not set, or a mode is unknown.
    """
    _free(out, ("checks.csv",), force)
    chosen = [claim for claim in read_claims(gold) if claim.questions][:claims]
    found = check_judge(
        judge,
        chosen,
        out / "changed",
        files=image_files(images) if images else None,
        modes=modes,
        seed=seed,
    )
    write_csv(out / "checks.csv", found.assign(judge=judge.name))
    lines = [
        f"judge:  {judge.name}",
        f"claims: {len(chosen):,}",
        "",
        f"{'check':20}{'mode':13}{'recall should':>14}{'by':>8}  {'95 % interval':>18}",
    ]
    for row in found.to_dict("records"):
        said = {True: "holds", False: "DOES NOT HOLD", None: "nothing to change"}[
            row["holds"]
        ]
        interval = f"{_percent(row['low'])} to {_percent(row['high'])}"
        lines.append(
            f"{row['check']:20}{row['mode']:13}{row['expected']:>14}{_percent(row['difference']):>8}"
            f"  {interval:>18}  {said}"
        )
    return [
        *lines,
        "",
        (
            "in per cent of recall before the change; it stays if it moves by less"
            f" than 5\nchecks: {out / 'checks.csv'}"
        ),
    ]


def describe(
    paths: Sequence[Path],
    *,
    out: Path | None = None,
    images: Path | None = None,
    store: Path | None = None,
    force: bool = False,
) -> list[str]:
    """Describe splits, check them, and write the tables if ``out`` is given.

    Lines for a terminal.

    Raises
    ------
    ParameterError
        Tables are there and ``force`` is not set, or two files have one name.
    """
    splits = {path.stem: read_claims(path) for path in paths}
    if len(splits) < len(paths):
        raise ParameterError(
            "two files have the same name, by which splits are called. Rename one."
        )
    found = {
        "statistics": statistics(splits),
        "order": split_order(splits),
        "late": _by_split(
            splits,
            lambda claims: late_evidence(
                claims, read_store(store).dates() if store else None
            ),
        ),
        "duplicates": _by_split(splits, duplicate_claims),
    }
    lines = []
    for (table, block), rows in found["statistics"].groupby(
        ["table", "block"], sort=False
    ):
        shown = rows[
            (rows["table"] != 7) | (rows["value"] >= 10)
        ]  # as the paper, which leaves rarer places out
        if shown.empty:
            continue
        units = ", ".join(shown["unit"].unique())
        wide = (
            shown.pivot_table("value", "row", "column", sort=False)
            .round(1)
            .rename_axis(index=None, columns=None)
        )
        lines += [
            f"Table {table}{f', {block!s}' if block else ''} ({units})",
            *wide.to_string().splitlines(),
            "",
        ]
    lines += ["order in time", *found["order"].to_string(index=False).splitlines(), ""]
    lines.append(
        f"evidence dated after its claim: {len(found['late']):,} of"
        f" {found['late'].attrs['judged']:,} answers with a known date"
    )
    lines.append(
        "pairs of claims that may be duplicates (cosine or Jaccard index > .3):"
        f" {len(found['duplicates']):,}"
    )
    lines += _image_lines(splits, images)
    if out is not None:
        _free(out, tuple(f"{name}.csv" for name in found), force)
        for name, frame in found.items():
            write_csv(out / f"{name}.csv", for_spreadsheets(frame))
        lines.append(f"tables: {out}")
    return lines


def _by_split(
    splits: Mapping[str, Sequence[Claim]],
    find: Callable[[Sequence[Claim]], pd.DataFrame],
) -> pd.DataFrame:
    each = {split: find(claims) for split, claims in splits.items()}
    made = pd.concat(
        [frame.assign(split=split) for split, frame in each.items()], ignore_index=True
    )
    made.attrs = {
        key: sum(frame.attrs.get(key, 0) for frame in each.values())
        for key in ("answers", "judged")
    }
    return made


def _image_lines(
    splits: Mapping[str, Sequence[Claim]], images: Path | None
) -> list[str]:
    if images is None:
        return []
    files, lines = image_files(images), []
    for split, claims in splits.items():
        missing = missing_images(claims, files)
        named = [
            f"{name} (claim {claim})"
            for claim, names in missing.items()
            for name in names
        ]
        lines.append(
            f"images of {split} that are not there: {len(named):,}"
            + (f": {name_some(named)}" if named else "")
        )
    return lines


def _free(out: Path, names: Sequence[str], force: bool) -> None:
    there = [out / name for name in names if (out / name).exists()]
    if there and not force:
        raise ParameterError(
            f"{there[0]} is there. Choose another folder, or replace it with --force."
        )


def _both(rows: pd.DataFrame) -> str:
    by = rows.set_index("convention")
    cells = [
        f"{_percent(by['value'][name], 100):>{width}}  {_interval(by, name):>16}"
        for name, width in zip(CONVENTIONS, (10, 12), strict=True)
    ]
    return "".join(cells)


def _interval(by: pd.DataFrame, name: str) -> str:
    return f"{_percent(by['low'][name], 100)} to {_percent(by['high'][name], 100)}"


def _percent(value: float, scale: float = 1) -> str:
    return "" if math.isnan(value) else f"{value * scale:.1f}"


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        table.to_json(orient="records", double_precision=10)
    )
    return found
