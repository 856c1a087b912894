"""What the book finds, for its first page.

One picture and one table, from the results of the chapters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from verite.files import read_text, write_text
from veritebook.figures import COLOURS, Figure, style
from veritebook.places import Places
from veritebook.results import read_results
from veritebook.tables import Table, with_interval

__all__ = ["FINDINGS", "Finding", "write_findings"]


class Finding(NamedTuple):
    """A figure of a chapter, by where it stands among the chapter's results."""

    text: str
    chapter: str
    table: str
    row: str
    column: str
    sign: int = 1
    """-1 turns a difference round, so that it says what the text says."""


FINDINGS = (
    Finding("VMU-Twitter's posts: the caption's words alone reach", "vmu-twitter", "TF-IDF", "TF-IDF on captions", "accuracy"),
    Finding("Its images that are named: the name spells the label for", "vmu-twitter", "names", "images", "of these, name right"),
    Finding("COSMOS: the caption's words alone reach", "cosmos", "TF-IDF", "groups kept whole", "accuracy"),
    Finding("COSMOS: which site the article is from reaches", "cosmos", "source", "the article is from www.snopes.com", "accuracy"),
    Finding("VERITE: both together lead the caption alone by", "detector-on-verite", "differences", "Three classes", "image+text − text"),
    Finding("VERITE: both together lead the image alone by", "detector-on-verite", "differences", "Three classes", "image+text − image"),
    Finding("Knowing all its images by heart would give", "building-verite", "ceilings", "Three classes", "image"),
    Finding("Knowing all its captions by heart would give", "building-verite", "ceilings", "Three classes", "text"),
    Finding(
        "Without balancing, the caption alone leads both by", "modality-balancing", "differences", "CHASMA-D",
        "image+text − text, true-vs-mc", -1,
    ),
    Finding(
        "With balancing, trained on the same false captions, by", "modality-balancing", "differences", "CHASMA-D",
        "image+text − text, both halves", -1,
    ),
    Finding("The cosine of image and caption alone reaches", "results", "one number", "cosine of ViT-L-14, threshold", "Three classes"),
    Finding("Holding the detector's attention still changes accuracy by", "detector", "still", "length 1: even − learned", "difference"),
    Finding("A world without bias: both together reach", "bias-lab", "as set", "image+text", "accuracy"),
    Finding(
        "False captions give themselves away: text leads both by", "bias-lab",
        "giveaway_rate, not balanced: ahead of image+text", "1", "text",
    ),
    Finding(
        "Each image in four posts: the image leads both by", "bias-lab", "posts_per_image, not balanced: ahead of image+text", "4", "image",
    ),
    Finding("The paper's own claims that follow from its tables", "errata", "claims", "follows", "claims"),
)  # fmt: skip
"""What stands in the table of the first page."""

_INPUTS = ("text", "image", "image+text")


class _World(NamedTuple):
    """A row of the picture.

    Where its accuracies stand, and what a constant answer reaches.
    """

    name: str
    chapter: str
    table: str
    rows: dict[str, str]
    """Row of each input; its column is the input's name where ``column`` is empty."""
    chance: float | str
    """In per cent, or the row of the same table that holds it."""
    column: str = ""
    real: bool = False


_WORLDS = (
    _World(
        "VMU-Twitter, words only",
        "vmu-twitter",
        "TF-IDF",
        {"text": "TF-IDF on captions"},
        "larger class",
        "accuracy",
        real=True,
    ),
    _World(
        "COSMOS, words only",
        "cosmos",
        "TF-IDF",
        {"text": "groups kept whole"},
        50.0,
        "accuracy",
        real=True,
    ),
    _World(
        "VERITE",
        "detector-on-verite",
        "accuracy",
        dict.fromkeys(_INPUTS, "Three classes"),
        100 / 3,
        real=True,
    ),
    _World(
        "newsroom without bias",
        "bias-lab",
        "presets",
        dict.fromkeys(_INPUTS, "verite"),
        100 / 3,
    ),
    _World(
        "newsroom like COSMOS",
        "bias-lab",
        "presets",
        dict.fromkeys(_INPUTS, "cosmos"),
        50.0,
    ),
    _World(
        "newsroom like VMU-Twitter",
        "bias-lab",
        "presets",
        dict.fromkeys(_INPUTS, "vmu-twitter, posts dealt one by one"),
        50.0,
    ),
)


def write_findings(places: Places) -> None:
    """Write ``book/generated/findings.md`` from the chapters' last runs and reference
    runs.
    """
    # HTML in a paragraph of its own would end at the first empty line of the picture.
    parts = [_one_line(_html(shown)) for shown in (_picture(places), _table(places))]
    text = "\n\n".join(f"```{{raw}} html\n{part}\n```" for part in parts) + "\n"
    path = places.generated / "findings.md"
    if not path.exists() or read_text(path) != text:
        write_text(path, text)


def _table(places: Places) -> Table:
    rows = []
    for one in FINDINGS:
        kept, own = (
            _row(places, one, this_build=False),
            _row(places, one, this_build=True),
        )
        rows.append(
            {
                "what": one.text,
                "reference": "–" if kept is None else _figure(kept, one.sign),
                "made from": "–" if kept is None else str(kept["source"]),
                "this build": "–" if own is None else _figure(own, one.sign),
                "made from ": "–" if own is None else str(own["source"]),
            }
        )
    return Table(
        pd.DataFrame(rows).set_index("what"),
        "Some of what the chapters find, with 95 % intervals where there are any",
    )


def _picture(places: Places) -> Figure:
    marks = dict(zip(_INPUTS, "s^o", strict=True))
    told = []
    with style() as plt:
        fig, ax = plt.subplots(figsize=(6.6, 3.4))
        shown = list(_worlds(places))
        told_of: set[str] = set()
        for at, (name, source, over) in enumerate(shown[::-1]):
            ax.plot(
                sorted(over.values()),
                [at] * len(over),
                color=COLOURS["neutral"],
                linewidth=1,
                zorder=0,
            )
            for what, value in over.items():
                fill = COLOURS[what] if source != "newsroom" else "none"
                ax.plot(
                    value,
                    at,
                    marks[what],
                    color=COLOURS[what],
                    markerfacecolor=fill,
                    label=None if what in told_of else what,
                )
                told_of.add(what)
            told.append(
                f"{name}: "
                + ", ".join(f"{what} {value:.1f}" for what, value in over.items())
            )
        ax.axvline(0, color=COLOURS["neutral"], linestyle=":")
        ax.set(
            yticks=range(len(shown)),
            yticklabels=[name for name, _, _ in shown[::-1]],
            xlabel="accuracy above chance (points)",
        )
        ax.set_ylim(-0.6, len(shown) - 0.4)
        if shown:
            ax.legend(loc="upper center", bbox_to_anchor=(0.35, 1.22), ncol=3)
    alt = (
        "How far accuracy lies above chance, by what a detector sees. "
        + "; ".join(told[::-1])
        + "."
    )
    caption = (
        "What one modality alone tells, beside both. Filled: real data; hollow:"
        " newsroom, synthetic"
    )
    return Figure(fig, alt, caption)


def _worlds(places: Places) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Name, source, and accuracy above chance by input.

    From the reference run where there is one.
    """
    for world in _WORLDS:
        found = {
            what: _best(places, world, row, world.column or what)
            for what, row in world.rows.items()
        }
        chance = world.chance
        if isinstance(chance, str):
            kept = _best(places, world, chance, world.column)
            chance = float("nan") if kept is None else float(kept["value"])
        over = {
            what: float(one["value"]) - chance
            for what, one in found.items()
            if one is not None
        }
        sources = {str(one["source"]) for one in found.values() if one is not None}
        if len(over) == len(world.rows) and (
            not world.real or "newsroom" not in sources
        ):
            yield world.name, sources.pop(), over


def _best(places: Places, world: _World, row: str, column: str) -> pd.Series | None:
    finding = Finding("", world.chapter, world.table, row, column)
    kept = _row(places, finding, this_build=False)
    return _row(places, finding, this_build=True) if kept is None else kept


def _row(places: Places, finding: Finding, *, this_build: bool) -> pd.Series | None:
    path = (
        places.executed / finding.chapter / "results.csv"
        if this_build
        else places.reference / f"{finding.chapter}.csv"
    )
    if not path.is_file():
        return None
    found = read_results(path)
    found = found[
        (found["table"] == finding.table)
        & (found["row"] == finding.row)
        & (found["column"] == finding.column)
    ]
    return None if found.empty else found.iloc[0]


def _figure(row: pd.Series, sign: int) -> str:
    ends = sorted((sign * float(row["low"]), sign * float(row["high"])))
    digits = 0 if row["unit"] == "claims" else 1
    unit = {"points": " points", "%": " %"}.get(str(row["unit"]), "")
    return with_interval(sign * float(row["value"]), ends[0], ends[1], digits) + unit


def _html(shown: Figure | Table) -> str:
    """HTML that is the same each time.

    A figure's ids are numbered as they come, and this page has one figure.
    """
    return re.sub(
        r'(id="|#)f\d+-', r"\1finding-", str(shown._repr_mimebundle_()["text/html"])
    )


def _one_line(text: str) -> str:
    return "".join(
        line if line.endswith((">", " ")) else f"{line} " for line in text.splitlines()
    )
