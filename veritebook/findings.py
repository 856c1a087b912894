"""The first page's findings: a figure and a table from the results of the chapters."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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


with Path(__file__).with_name("findings.csv").open(encoding="utf8") as _lines:
    FINDINGS = tuple(
        Finding(text, chapter, table, row, column, int(sign))
        for text, chapter, table, row, column, sign in list(csv.reader(_lines))[1:]
    )
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

_PRESETS = {
    "newsroom without bias": ("verite", 100 / 3),
    "newsroom like COSMOS": ("cosmos", 50.0),
    "newsroom like VMU-Twitter": ("vmu-twitter, posts dealt one by one", 50.0),
}
_WORDS: dict[str, Any] = {"column": "accuracy", "table": "TF-IDF", "real": True}

_WORLDS = (
    _World(
        "VMU-Twitter, words only",
        "vmu-twitter",
        rows={"text": "TF-IDF on captions"},
        chance="larger class",
        **_WORDS,
    ),
    _World(
        "COSMOS, words only",
        "cosmos",
        rows={"text": "groups kept whole"},
        chance=50.0,
        **_WORDS,
    ),
    _World("VERITE", "detector-on-verite", "accuracy", _THREE, 100 / 3, real=True),
    *(
        _World(name, "bias-lab", "presets", dict.fromkeys(_INPUTS, row), chance)
        for name, (row, chance) in _PRESETS.items()
    ),
)


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
