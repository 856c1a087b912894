"""Scores for a terminal, as JSON, and as part of a model card."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from verite.errors import ParameterError, name_some
from verite.evaluation import PROTOCOLS
from verite.files import atomic_path, check_overwrite
from verite.scoring.benchmark import Matched
from verite.scoring.scores import Scores

__all__ = ["check_output", "model_card", "readable", "to_json", "write_scores"]

_FILES = ("score.json", "model-card.md")
_MOST_IDS = 20  # of missing and surplus rows in score.json
_METRICS = {  # names that Hugging Face knows
    "accuracy": "accuracy",
    "balanced accuracy": "balanced_accuracy",
    "macro-F1": "f1",
}


def readable(scores: Scores) -> str:
    """Text for a terminal: tables 80 columns wide, reasons and ids."""
    seeds = scores.matched.table.get("seed", pd.Series()).nunique()
    return _render(
        "report.txt",
        about=scores.about,
        rows=_describe_rows(scores),
        table=scores.table.to_dict("records"),
        unscored=scores.unscored,
        seeds=seeds,
        consistency=scores.consistency.to_dict("records"),
        comparison=scores.comparison.to_dict("records"),
        other=name_some(scores.about["against"]) or "the other",
    ).rstrip()


def to_json(scores: Scores, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What ``score.json`` holds: shares from 0 to 1, None where there is no number."""
    matched = {"predictions": scores.matched, "against": scores.other}
    return {
        "about": {**scores.about, **(about or {})},
        "rows": {
            name: {
                "missing": len(side.missing),
                "missing_ids": list(side.missing[:_MOST_IDS]),
                "surplus": len(side.surplus),
                "surplus_ids": list(side.surplus[:_MOST_IDS]),
            }
            for name, side in matched.items()
            if side is not None
        },
        "scores": _to_records(scores.table),
        "not_scored": dict(scores.unscored),
        "consistency": _to_records(scores.consistency),
        "comparison": _to_records(scores.comparison),
    }


def model_card(scores: Scores, name: str) -> str:
    """Results for a model card: a ``model-index`` for Hugging Face, and a table.

    Numbers are shares from 0 to 1 in the first, percent in the second.
    """
    protocols = []
    for protocol, rows in scores.table.groupby("protocol", sort=False):
        figures = {row["metric"]: row for row in rows.to_dict("records")}
        title = PROTOCOLS[str(protocol)].title
        protocols.append({"name": protocol, "title": title, "figures": figures})
    version = scores.about["version"]
    return _render(
        "model-card.md",
        name=name,
        about=scores.about,
        version=f" ({version})" if version else "",
        metrics=_METRICS,
        protocols=protocols,
        missing=_describe_missing(scores.matched, most=0),
        unscored={PROTOCOLS[key].title: why for key, why in scores.unscored.items()},
    )


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
        One of them exists and ``force`` is not set, or ``out`` is a file.
    """
    check_output(out, force)
    content = to_json(scores, about)
    texts = [
        json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        model_card(scores, name),
    ]
    paths = [out / file for file in _FILES]
    with atomic_path(paths[0]) as first, atomic_path(paths[1]) as second:
        for path, text in zip((first, second), texts, strict=True):
            path.write_text(text, encoding="utf8", newline="\n")
    return paths


def check_output(out: Path, force: bool) -> None:
    """Refuse a folder that holds results, before anything is computed."""
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out: expected a folder, found a file: {out}.")
    for file in _FILES:
        check_overwrite(out / file, force)


def _render(template: str, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("verite.scoring"),
        autoescape=False,  # noqa: S701 (text and Markdown, not HTML)
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {
        "count": "{:,}".format,
        "interval": lambda row: f"{_percent(row['value'])} {_range(row)}",
        "json": lambda value: json.dumps(value, ensure_ascii=False),
        "percent": _percent,
        "range": _range,
    }
    environment.filters |= filters
    return environment.get_template(template).render(**values)


def _describe_rows(scores: Scores) -> list[str]:
    lines = []
    for name, side in (("predictions", scores.matched), ("--against", scores.other)):
        if side is not None:
            surplus = "none"
            if side.surplus:
                ids = name_some(map(repr, side.surplus))
                surplus = f"{len(side.surplus):,} ({ids}), not scored"
            lines.append(
                f"{name}: missing {_describe_missing(side)}; surplus {surplus}"
            )
    return lines


def _describe_missing(matched: Matched, most: int = 5) -> str:
    if not matched.missing:
        return "none"
    ids = f" ({name_some(matched.missing, most)})" if most else ""
    policy = "left out" if matched.policy == "skip" else "counted as wrong"
    return f"{len(matched.missing):,}{ids}, {policy}"


def _to_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(name): None if value != value else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.1f}"


def _range(row: Mapping[str, Any]) -> str:
    low, high = row["low"], row["high"]
    return "" if math.isnan(low) else f"[{_percent(low)}, {_percent(high)}]"
