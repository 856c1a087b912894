"""The audit as one HTML page that asks for nothing else.

No script, no font, no other host.

All text of the data is escaped, and set apart by direction (``bdi``), so that neither
markup nor right-to-left text in a caption can change the page around it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from verite.audit.verdicts import telling

if TYPE_CHECKING:
    from verite.audit.core import Audit

__all__ = ["page"]

_ROWS = 100
_LONG = 30
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--soft:#595959;--line:#c9c9c9;--bar:#0072b2;--fire:#b34700}
@media(prefers-color-scheme:dark){:root{--ink:#ececec;--paper:#161616;--soft:#b4b4b4;--line:#4a4a4a;--bar:#5ab4e5;--fire:#ff9d4d}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;max-width:90rem;
padding:1rem;overflow-wrap:anywhere}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0 1.5rem}caption{text-align:left;color:var(--soft);padding:.3rem 0}
th,td{border-bottom:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top;overflow-wrap:normal}
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.fires{color:var(--fire);font-weight:bold}
svg{display:block;width:9rem;height:1.2rem}.verdict{font-size:1.1rem}.soft{color:var(--soft)}td.t{min-width:20rem;max-width:36rem;overflow-wrap:anywhere}
"""


def page(audit: Audit) -> str:
    """Write the page of an audit.

    Captions stand at the first of :data:`_ROWS` suspects only, as evidence; all are in
    ``suspects.csv``.
    """
    name = _text(audit.about["benchmark"])
    parts = [
        f"<h1>Audit of {name}</h1>",
        f"<p>{audit.about['rows']:,} pairs in {audit.about['groups']:,} groups.</p>",
        "<h2>Verdicts</h2>",
        *(
            f'<p class="verdict">{_text(sentence)}</p>'
            for sentence in audit.verdicts.values()
        ),
        *_warnings(audit),
        "<h2>Shortcut probes</h2>",
        _PROBES_SAY,
        _probes(audit.probes),
        *(
            [
                _list(
                    "Not fitted",
                    [f"{probe}: {why}" for probe, why in audit.skipped.items()],
                )
            ]
            if audit.skipped
            else []
        ),
        "<h2>What one modality can reach at best</h2>",
        _table(
            audit.ceilings,
            "Unimodal ceilings: the best accuracy of any function of one modality on"
            " this very table",
            percent=("ceiling", "chance"),
        ),
        _table(
            audit.thresholds,
            "One number, one threshold, chosen on these very rows",
            percent=("accuracy", "chance"),
        ),
        "<h2>Counts</h2>",
        _table(audit.labels, "Labels"),
        _table(
            audit.multiplicity,
            "How often images and captions stand, and under how many labels",
        ),
    ]
    if len(audit.leaks):
        parts += [
            "<h2>Splits</h2>",
            _table(audit.leaks, "What two splits share", percent=("share",)),
        ]
    counts = (
        audit.suspects["problem"]
        .value_counts()
        .rename_axis("problem")
        .reset_index(name="rows")
    )
    parts += [
        "<h2>What to look at</h2>",
        _table(counts, "Problems by kind"),
        _table(
            audit.suspects.head(_ROWS),
            f"The first {min(_ROWS, len(audit.suspects)):,} of {len(audit.suspects):,}"
            " rows; all are in suspects.csv",
        ),
        "<h2>How it was made</h2>",
        _list("Noted while reading", audit.about["notes"]),
        _list(
            "Parameters",
            [f"{key}: {value}" for key, value in audit.about["parameters"].items()],
        ),
        _list(
            "SHA-256 of what was read",
            [f"{key}: {value}" for key, value in audit.about["files"].items()],
        ),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta'
        f' name="viewport" content="width=device-width, initial-scale=1">'
        "<title>Audit of"
        f" {_CONTROL.sub('', html.escape(str(audit.about['benchmark'])))}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


_PROBES_SAY = (
    "<p>Each probe predicts labels from one thing alone, under cross-validation that"
    " keeps groups whole. It fires where p is below .01 and its 95 % interval lies"
    " above chance, be it for accuracy or for balanced accuracy. p is that of a"
    " permutation test which fits the probe anew to labels dealt out within the"
    " structure of the table. Holm’s adjustment is over all probes here. The bar shows"
    " the interval and the accuracy; the upright line is chance. TF-IDF and embeddings"
    " see all of a modality: where a narrower probe of it fires, they are fitted again"
    " to what that one does not say, and fire only if they tell labels beyond it and"
    " both together are ahead of it alone; else they are explained by it. Similarity"
    " looks at both modalities: a line to compare with, which never fires.</p>"
)


def _warnings(audit: Audit) -> list[str]:
    found = [
        note
        for note in audit.about["notes"]
        if note.startswith(("reindexed", "left out"))
    ]
    if audit.alignment is not None and not audit.alignment["seem"]:
        found.append(
            "captions fit their own images no better than those of other rows (mean"
            f" cosine {audit.alignment['own']:.3f} against"
            f" {audit.alignment['other']:.3f}): table and vectors may be of different"
            " orders"
        )
    return [f'<p class="fires">Look first: {_text(one)}.</p>' for one in found]


def _probes(probes: pd.DataFrame) -> str:
    if probes.empty:
        return "<p>No probe could be fitted.</p>"
    head = [
        "probe",
        "modality",
        "accuracy",
        "beside chance",
        "chance",
        "balanced",
        "p",
        "Holm",
        "verdict",
        "carried by",
    ]
    rows = []
    for one in probes.to_dict("records"):
        label = (
            f"accuracy {one['accuracy']:.1%}, interval {one['low']:.1%} to"
            f" {one['high']:.1%}, chance {one['chance']:.1%}"
        )
        carriers = ", ".join(_text(telling(each)) for each in one["carriers"])
        cells = [
            f'<th scope="row">{_text(one["probe"])}</th>',
            f"<td>{one['modality']}</td>",
            (
                f'<td class="n">{one["accuracy"]:.1%}<br><span'
                f' class="soft">{one["low"]:.1%} to {one["high"]:.1%}</span></td>'
            ),
            (
                f"<td>{_bar(one['low'], one['high'], one['accuracy'], one['chance'], label)}</td>"
            ),
            f'<td class="n">{one["chance"]:.1%}</td>',
            f'<td class="n">{one["balanced_accuracy"]:.1%}</td>',
            *(
                (
                    f'<td class="n">{value:.3f}</td>'
                    if value == value
                    else '<td class="n">–</td>'
                )
                for value in (one["p_value"], one["holm"])
            ),
            (
                '<td class="fires">fires</td>'
                if one["fires"]
                else f"<td>{_explained(one['explained_by'])}</td>"
            ),
            f'<td class="t">{carriers}</td>',
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return _wrap("Accuracy of each probe beside chance", head, rows)


def _explained(names: Sequence[str]) -> str:
    return _text(f"explained by {', '.join(names)}") if names else ""


def _bar(low: float, high: float, value: float, chance: float, label: str) -> str:
    if low != low:  # one group has no interval
        low = high = value
    return (
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img"'
        f' aria-label="{html.escape(label)}"><rect x="0" y="4" width="100" height="2"'
        f' fill="var(--line)"/><rect x="{100 * low:.1f}" y="2"'
        f' width="{max(0.5, 100 * (high - low)):.1f}" height="6" fill="var(--bar)"'
        f' opacity=".5"/><rect x="{100 * value - 0.5:.1f}" y="1" width="1" height="8"'
        f' fill="var(--bar)"/><rect x="{100 * chance - 0.3:.1f}" y="0" width=".6"'
        ' height="10" fill="var(--ink)"/></svg>'
    )


def _table(table: pd.DataFrame, caption: str, percent: Sequence[str] = ()) -> str:
    if table.empty:
        return ""
    shown: dict[str, Callable[[object], str]] = {
        name: lambda value: f'<td class="n">{value:.1%}</td>' for name in percent
    }
    rows = [
        f"<tr>{''.join(shown.get(str(name), _cell)(value) for name, value in row.items())}</tr>"
        for row in table.to_dict("records")
    ]
    return _wrap(caption, [str(name) for name in table.columns], rows)


def _cell(value: object) -> str:
    if isinstance(value, bool | str):
        return f"<td{' class=t' if len(str(value)) > _LONG else ''}>{_text(value)}</td>"
    return (
        f'<td class="n">{value:,.4g}</td>'
        if isinstance(value, float)
        else f'<td class="n">{value:,}</td>'
    )


def _wrap(caption: str, head: Sequence[str], rows: Sequence[str]) -> str:
    cells = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
    return (
        '<div class="wide" tabindex="0" role="region"'
        f' aria-label="{html.escape(caption)}"><table><caption>{html.escape(caption)}</caption>'
        f"<thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _list(title: str, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<h3>{title}</h3><ul>{items}</ul>" if lines else ""


def _text(value: object) -> str:
    return f"<bdi>{html.escape(_CONTROL.sub(chr(0xFFFD), str(value)))}</bdi>"
