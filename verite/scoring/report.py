"""Scores as people read them: on a terminal, as JSON, and as a part of a model card."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from verite.errors import ParameterError, name_some
from verite.evaluation import PROTOCOLS
from verite.files import atomic_path
from verite.scoring.benchmark import Matched
from verite.scoring.scores import Scores

__all__ = ["check_free", "model_card", "readable", "tidy", "write_scores"]

FILES = ("score.json", "model-card.md")
_NAMED = 20  # ids of missing and surplus rows that score.json names


def readable(scores: Scores) -> list[str]:
    """Lines for a terminal.

    Tables are 80 columns wide, reasons and lists of ids run on.
    """
    about, table = scores.about, scores.table
    version = f", version {about['version']}" if about["version"] else ""
    lines = [f"{about['benchmark']}{version}: {about['note']}", *_rows_said(scores), ""]
    lines += [
        f"{'protocol':14}{'figure':26}{'value':>7} "
        f" {'95 % interval':>14}{'pairs':>7}{'constant':>10}"
    ]
    for row in _each(table):
        constant = "" if math.isnan(row.constant) else _percent(row.constant)
        spread = "" if math.isnan(row.sd) else f"  sd {100 * row.sd:.1f}"
        name = row.protocol if row.metric == "accuracy" else ""
        lines.append(
            f"{name:14}{row.metric:26}{_percent(row.value):>7} "
            f" {_range(row):>14}{row.n:>7,}{constant:>10}{spread}"
        )
    lines += [
        "",
        "in percent; intervals draw whole groups",
        "constant: the best answer that is always the same",
    ]
    if "seed" in scores.matched.table:
        lines.append(
            f"{scores.matched.table['seed'].nunique()} seeds together; sd: between"
            " seeds"
        )
    lines += [
        f"not scored, {name}: {reason}" for name, reason in scores.unscored.items()
    ]
    if scores.consistency.empty:
        lines += [
            "",
            (
                "no image and no caption stands under several labels: nothing is"
                " balanced here"
            ),
        ]
    else:
        lines += ["", "right on all pairs of one image, or of one caption, together"]
        lines += [
            f"{'classes of':14}{'over':8}{'value':>7} "
            f" {'95 % interval':>14}{'units':>7}{'constant':>10}{'random':>8}{'shuffled':>10}"
        ]
        for row in _each(scores.consistency):
            by_chance = f"{_percent(row.constant):>10}{_percent(row.random):>8}{_percent(row.shuffled):>10}"
            lines.append(
                f"{row.protocol:14}{row.over:8}{_percent(row.value):>7} "
                f" {_range(row):>14}{row.n:>7,}{by_chance}"
            )
        lines += [
            (
                "constant: also what the image alone, or the caption alone, can give in"
                " its row"
            ),
            "random: each class equally likely",
        ]
        lines += ["shuffled: the system's own answers, dealt anew"]
    if not scores.comparison.empty:
        lines += [
            "",
            (
                "accuracy minus that of"
                f" {name_some(scores.about['against']) or 'the other'}, in points; p by"
                " sign flips of groups"
            ),
        ]
        lines += [
            f"{'protocol':14}{'difference':>11} "
            f" {'95 % interval':>14}{'pairs':>7}{'p':>9}"
        ]
        for row in _each(scores.comparison):
            p = f"{row.p_value:.4f}" if row.p_value >= 0.0001 else "<.0001"
            lines.append(
                f"{row.protocol:14}{100 * row.difference:>+11.1f} "
                f" {_range(row):>14}{row.n:>7,}{p:>9}"
            )
    return lines


def tidy(scores: Scores, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What ``score.json`` holds.

    One row a figure, shares from 0 to 1, null where there is no number.
    """
    matched = {"": scores.matched} | ({"against": scores.other} if scores.other else {})
    return {
        "about": {**scores.about, **(about or {})},
        "rows": {
            name or "predictions": {
                "missing": len(one.missing),
                "missing_ids": list(one.missing[:_NAMED]),
                "surplus": len(one.surplus),
                "surplus_ids": list(one.surplus[:_NAMED]),
            }
            for name, one in matched.items()
        },
        "scores": _records(scores.table),
        "not_scored": dict(scores.unscored),
        "consistency": _records(scores.consistency),
        "comparison": _records(scores.comparison),
    }


def model_card(scores: Scores, name: str) -> str:
    """Results for a model card.

    A ``model-index`` block, as Hugging Face reads it, and a small table.

    Numbers are shares from 0 to 1 in the block, percent in the table. The block names
    the benchmark by its name here, not by an id of some hub.
    """
    about = scores.about
    version = f" ({about['version']})" if about["version"] else ""
    heading = f"{about['benchmark']}{version}".replace("|", r"\|")
    quoted = {
        key: json.dumps(value, ensure_ascii=False)
        for key, value in {"name": name, "data": about["benchmark"] + version}.items()
    }
    lines = ["---", "model-index:", f"- name: {quoted['name']}", "  results:"]
    body = ["", f"| {heading} | accuracy | macro-F1 | pairs |", "|---|---|---|---|"]
    for protocol, rows in scores.table.groupby("protocol", sort=False):
        figures = {row.metric: row for row in _each(rows)}
        title, name_of = PROTOCOLS[str(protocol)].title, str(protocol)
        lines += [
            "  - task:",
            "      type: image-text-classification",
            f"      name: {json.dumps('Misinformation detection: ' + title)}",
        ]
        lines += [
            "    dataset:",
            f"      type: {json.dumps(about['benchmark'])}",
            f"      name: {quoted['data']}",
        ]
        lines += [f"      config: {name_of}", "      split: test", "    metrics:"]
        for metric, kind in (
            ("accuracy", "accuracy"),
            ("balanced accuracy", "balanced_accuracy"),
            ("macro-F1", "f1"),
        ):
            lines += [
                f"    - type: {kind}",
                f"      name: {metric}",
                f"      value: {figures[metric].value:.4f}",
            ]
        cells = [
            f"{_percent(row.value)} {_range(row)}"
            for row in (figures["accuracy"], figures["macro-F1"])
        ]
        body.append(f"| {title} | {' | '.join(cells)} | {figures['accuracy'].n:,} |")
    lines += [
        "---",
        *body,
        "",
        "Percent, with 95 % intervals from a bootstrap over groups.",
    ]
    lines += [
        f"{about['note'][0].upper()}{about['note'][1:]}; missing predictions:"
        f" {_missing_said(scores.matched, named=0)}."
    ]
    lines += [
        f"Not scored, {PROTOCOLS[key].title}: {reason}"
        for key, reason in scores.unscored.items()
    ]
    return "\n".join(lines) + "\n"


def write_scores(
    scores: Scores,
    out: Path,
    name: str,
    *,
    about: Mapping[str, Any] | None = None,
    force: bool = False,
) -> list[Path]:
    """Write ``score.json`` and ``model-card.md`` into a folder: both or none.

    Raises
    ------
    ParameterError
        One of them is there and ``force`` is not set, or ``out`` is a file.
    """
    check_free(out, force)
    paths = [out / file for file in FILES]
    texts = [
        json.dumps(tidy(scores, about), indent=2, ensure_ascii=False, allow_nan=False)
        + "\n",
        model_card(scores, name),
    ]
    with atomic_path(paths[0]) as first, atomic_path(paths[1]) as second:
        for path, text in zip((first, second), texts, strict=True):
            path.write_text(text, encoding="utf8", newline="\n")
    return paths


def check_free(out: Path, force: bool) -> None:
    """Refuse a folder that holds results, before anything is computed."""
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out: expected a folder, found a file: {out}.")
    if not force and (
        there := next((out / file for file in FILES if (out / file).exists()), None)
    ):
        raise ParameterError(
            f"{there} is there. Choose another folder, or replace it with --force."
        )


def _rows_said(scores: Scores) -> list[str]:
    lines = []
    for whose, one in (("predictions", scores.matched), ("--against", scores.other)):
        if one is None:
            continue
        surplus = (
            f"{len(one.surplus):,} ({name_some(map(repr, one.surplus))}), not scored"
            if one.surplus
            else "none"
        )
        lines += [f"{whose}: missing {_missing_said(one)}; surplus {surplus}"]
    return lines


def _missing_said(matched: Matched, named: int = 5) -> str:
    if not matched.missing:
        return "none"
    ids = f" ({name_some(matched.missing, named)})" if named else ""
    return (
        f"{len(matched.missing):,}{ids},"
        f" {'left out' if matched.policy == 'skip' else 'counted as wrong'}"
    )


def _each(table: pd.DataFrame) -> Iterator[Any]:
    return iter(table.itertuples())


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = table.to_dict("records")
    return [
        {
            str(key): None if isinstance(value, float) and math.isnan(value) else value
            for key, value in row.items()
        }
        for row in rows
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _range(row: Any) -> str:
    return "" if math.isnan(row.low) else f"[{100 * row.low:.1f}, {100 * row.high:.1f}]"
