"""The first page's findings: a figure and a table from the results of the chapters."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from verite.files import read_text, write_text
from veritebook.figures import COLOURS, Figure, style
from veritebook.places import Places
from veritebook.results import read_results
from veritebook.tables import Table, with_interval

__all__ = ["FINDINGS", "Finding", "write_findings"]


class Finding(NamedTuple):
    """A number of a chapter, by its place in the chapter's results."""

    text: str
    chapter: str
    table: str
    row: str
    column: str
    sign: int = 1
    """-1 reverses a difference whose text names the other side first."""


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
"""Rows of the table on the first page."""

_INPUTS = ("text", "image", "image+text")


class _World(NamedTuple):
    """A row of the figure: its accuracies, and what a constant answer reaches."""

    name: str
    chapter: str
    table: str
    rows: dict[str, str]
    """Row of each input; its column is the input's name where ``column`` is empty."""
    chance: float | str
    """In per cent, or the row of the same table that holds it."""
    column: str = ""
    real: bool = False


_THREE = dict.fromkeys(_INPUTS, "Three classes")
_SINGLY = dict.fromkeys(_INPUTS, "vmu-twitter, posts dealt one by one")

_WORLDS = (
    _World("VMU-Twitter, words only", "vmu-twitter", "TF-IDF", {"text": "TF-IDF on captions"}, "larger class", "accuracy", real=True),
    _World("COSMOS, words only", "cosmos", "TF-IDF", {"text": "groups kept whole"}, 50.0, "accuracy", real=True),
    _World("VERITE", "detector-on-verite", "accuracy", _THREE, 100 / 3, real=True),
    _World("newsroom without bias", "bias-lab", "presets", dict.fromkeys(_INPUTS, "verite"), 100 / 3),
    _World("newsroom like COSMOS", "bias-lab", "presets", dict.fromkeys(_INPUTS, "cosmos"), 50.0),
    _World("newsroom like VMU-Twitter", "bias-lab", "presets", _SINGLY, 50.0),
)  # fmt: skip


def write_findings(places: Places) -> None:
    """Write ``book/generated/findings.md`` from last runs and reference runs."""
    numbers = _Numbers(places)
    # HTML in a paragraph of its own would end at the first empty line of the figure.
    parts = [_one_line(_html(shown)) for shown in (_figure(numbers), _table(numbers))]
    text = "\n\n".join(f"```{{raw}} html\n{part}\n```" for part in parts) + "\n"
    path = places.generated / "findings.md"
    if not path.exists() or read_text(path) != text:
        write_text(path, text)


class _Numbers:
    """Numbers of reference runs and of this build; each file is read once."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.read = functools.cache(read_results)

    def reference(self, place: Finding) -> pd.Series | None:
        return self._find(self.places.reference / f"{place.chapter}.csv", place)

    def this_build(self, place: Finding) -> pd.Series | None:
        return self._find(self.places.executed / place.chapter / "results.csv", place)

    def best(self, world: _World, row: str, column: str) -> pd.Series | None:
        """From the reference run where there is one."""
        place = Finding("", world.chapter, world.table, row, column)
        kept = self.reference(place)
        return self.this_build(place) if kept is None else kept

    def _find(self, path: Path, place: Finding) -> pd.Series | None:
        if not path.is_file():
            return None
        results = self.read(path).set_index(["table", "row", "column"], drop=False)
        key = (place.table, place.row, place.column)
        return results.loc[[key]].iloc[0] if key in results.index else None


def _table(numbers: _Numbers) -> Table:
    rows = []
    for finding in FINDINGS:
        row = {"what": finding.text}
        kept, own = numbers.reference(finding), numbers.this_build(finding)
        # A frame's columns differ in name: the second "made from" ends with a space.
        for heading, source, number in (
            ("reference", "made from", kept),
            ("this build", "made from ", own),
        ):
            row[heading] = "–" if number is None else _in_words(number, finding.sign)
            row[source] = "–" if number is None else str(number["source"])
        rows.append(row)
    return Table(
        pd.DataFrame(rows).set_index("what"),
        "Some of what the chapters find, with 95 % intervals where there are any",
    )


def _figure(numbers: _Numbers) -> Figure:
    marks = dict(zip(_INPUTS, "s^o", strict=True))
    rows = list(_rows(numbers))[::-1]
    lines, labelled = [], set[str]()
    with style() as plt:
        fig, ax = plt.subplots(figsize=(6.6, 3.4))
        grey = COLOURS["neutral"]
        for at, (name, source, over) in enumerate(rows):
            ax.plot(sorted(over.values()), [at] * len(over), color=grey, lw=1, zorder=0)
            for what, value in over.items():
                ax.plot(
                    value,
                    at,
                    marks[what],
                    color=COLOURS[what],
                    markerfacecolor=COLOURS[what] if source != "newsroom" else "none",
                    label=None if what in labelled else what,
                )
                labelled.add(what)
            values = ", ".join(f"{what} {value:.1f}" for what, value in over.items())
            lines.append(f"{name}: {values}")
        ax.axvline(0, color=grey, linestyle=":")
        ax.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        ax.set(xlabel="accuracy above chance (points)", ylim=(-0.6, len(rows) - 0.4))
        if rows:
            ax.legend(loc="upper center", bbox_to_anchor=(0.35, 1.22), ncol=3)
    alt = "How far accuracy lies above chance, by what a detector sees. "
    caption = (
        "What one modality alone tells, beside both. Filled: real data; hollow:"
        " newsroom, synthetic"
    )
    return Figure(fig, f"{alt}{'; '.join(lines[::-1])}.", caption)


def _rows(numbers: _Numbers) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Name, source, and accuracy above chance by input, of the measured worlds."""
    for world in _WORLDS:
        chance = world.chance
        if isinstance(chance, str):
            constant = numbers.best(world, chance, world.column)
            chance = float("nan") if constant is None else float(constant["value"])
        over, sources = {}, set()
        for what, row in world.rows.items():
            number = numbers.best(world, row, world.column or what)
            if number is not None:
                over[what] = float(number["value"]) - chance
                sources.add(str(number["source"]))
        stand_in = world.real and "newsroom" in sources
        if len(over) == len(world.rows) and not stand_in:
            yield world.name, sources.pop(), over


def _in_words(number: pd.Series, sign: int) -> str:
    low, high = sorted((sign * float(number["low"]), sign * float(number["high"])))
    digits = 0 if number["unit"] == "claims" else 1
    unit = {"points": " points", "%": " %"}.get(str(number["unit"]), "")
    return with_interval(sign * float(number["value"]), low, high, digits) + unit


def _html(shown: Figure | Table) -> str:
    """HTML with the same ids each time: a figure's ids are numbered as they come."""
    content = str(shown._repr_mimebundle_()["text/html"])
    return re.sub(r'(id="|#)f\d+-', r"\1finding-", content)


def _one_line(text: str) -> str:
    return "".join(
        line if line.endswith((">", " ")) else f"{line} " for line in text.splitlines()
    )
