"""What ``verite averimatec`` prints: results as lines for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import pandas as pd

from averimatec.claims import Claim, image_files, missing_images
from averimatec.conventions import CONVENTIONS
from averimatec.pipeline import Outcome
from averimatec.scoring import Scores
from verite.errors import name_some


def score_lines(scores: Scores) -> list[str]:
    """Scores, the official convention beside the corrected one."""
    about, table = scores.about, scores.table
    everyone = table[table["group"] == "all"]
    lines = [
        f"judge:  {about['judge']}",
        f"claims: {about['claims']:,}",
        "",
        f"{'in per cent':42}"
        + "".join(f"{name:>12}{'95 % interval':>18}" for name in CONVENTIONS),
    ]
    keys = ["metric", "mode", "lambda"]
    for key, rows in everyone.groupby(keys, sort=False, dropna=False):
        metric, mode, least = cast("tuple[str, str, float]", key)
        label = ", ".join(filter(None, (metric, mode)))
        if not math.isnan(least):
            label = f"{metric}, evidence recall > {least:g}"
        by = rows.set_index("convention").loc[list(CONVENTIONS)]
        cells = [
            f"{_number(100 * row['value']):>12}"
            f"{_interval(100 * row['low'], 100 * row['high']):>18}"
            for row in by.to_dict("records")
        ]
        lines.append(f"{label:42}{''.join(cells)}")
    lines += [
        "",
        f"justifications by ROUGE-1 {about['settings']['rouge']}",
        f"condition: {about['condition']} evidence recall",
    ]
    for convention, rows in everyone.groupby("convention", sort=False):
        if unscored := rows["unscored"].max():
            lines.append(f"{convention}: up to {unscored:,} claims are not in a mean")
    if replies := about["replies"]:
        lines.append(
            f"replies: {replies['asked']:,} asked or cached, {replies['tokens']:,}"
            f" tokens, cost {replies['cost']:.4g}"
        )
    lines.append(f"problems: {about['problems']:,}")
    for problem, rows in [*scores.problems.groupby("problem", sort=False)][:3]:
        claims = name_some(rows["claim"].unique())
        lines.append(f"  {len(rows):,} × {problem} (claims {claims})")
    return lines


def check_lines(checks: pd.DataFrame) -> list[str]:
    """Checks of a judge, and which of them hold."""
    words = {True: "holds", False: "DOES NOT HOLD", None: "nothing to change"}
    lines = [
        f"{'check':20}{'mode':13}{'recall should':>14}{'by':>8}{'95 % interval':>18}"
    ]
    for row in checks.to_dict("records"):
        interval = _interval(row["low"], row["high"])
        lines.append(
            f"{row['check']:20}{row['mode']:13}{row['expected']:>14}"
            f"{_number(row['difference']):>8}{interval:>18}  {words[row['holds']]}"
        )
    note = "in per cent of recall before; it stays if it moves by less than 5"
    return [*lines, "", note]


def table_lines(table: pd.DataFrame) -> list[str]:
    """Tables of :func:`averimatec.corpus`, one column per split."""
    lines = []
    for (number, block), rows in table.groupby(["table", "block"], sort=False):
        # Like the paper, leave rare places out.
        shown = rows[(rows["table"] != 7) | (rows["value"] >= 10)]
        if shown.empty:
            continue
        units = ", ".join(shown["unit"].unique())
        name = ", ".join(filter(None, (f"Table {number}", str(block))))
        wide = shown.pivot_table("value", "row", "column", sort=False).round(1)
        wide = wide.rename_axis(index=None, columns=None)
        lines += [f"{name} ({units})", *wide.to_string().splitlines(), ""]
    return lines


def missing_lines(splits: Mapping[str, Sequence[Claim]], images: Path) -> list[str]:
    """Images that claims name and the folder lacks."""
    files, lines = image_files(images), []
    for split, claims in splits.items():
        names = [
            f"{name} (claim {claim})"
            for claim, missing in missing_images(claims, files).items()
            for name in missing
        ]
        shown = f": {name_some(names)}" if names else ""
        lines.append(f"missing images of {split}: {len(names):,}{shown}")
    return lines


def run_lines(outcome: Outcome) -> list[str]:
    """Results of a run."""
    record, usage = outcome.record, outcome.record["usage"]
    tokens = usage["tokens_in"] + usage["tokens_out"]
    questions, problems = record["questions"], record["problems"]
    settings = record["settings"]
    lines = [
        f"model:    {record['model']}",
        f"search:   {record['search']}",
        f"strategy: {settings['strategy']}, evidence: {settings['evidence']}",
        f"claims:   {record['done']:,} done, {len(outcome.failed):,} failed",
        f"verdicts: {_counts(record['verdicts'])}",
        f"tools:    {_counts(record['tools'])}",
        f"answered: {questions - record['unanswered']:,} of {questions:,} questions",
        f"replies:  {usage['replies']:,}, {tokens:,} tokens, cost {usage['cost']:.4g}",
    ]
    if problems:
        count, first = sum(map(len, problems.values())), next(iter(problems.values()))
        lines.append(
            f"problems: {count:,} (claims {name_some(problems)}), such as: {first[0]}"
        )
    if outcome.failed:
        name, reason = next(iter(outcome.failed.items()))
        lines.append(f"failed:   claims {name_some(outcome.failed)}; {name}: {reason}")
        lines.append("          run the same command to retry them")
    return lines


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "none"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1f}"


def _interval(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"{low:.1f} to {high:.1f}"
