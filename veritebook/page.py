"""What a notebook uses to be a page: parameters, data, results, figures, provenance."""

from __future__ import annotations

import datetime
import html
import json
import os
import shlex
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from verite import datasets
from verite.errors import DataError, MissingDataError, name_some
from verite.files import read_csv, read_text, sha256, write_csv, write_json
from veritebook.figures import COLOURS, Figure, Pictures, style
from veritebook.notebooks import Parameter, open_notebook
from veritebook.places import find_places, result_folder, run_folder
from veritebook.record import make_record
from veritebook.sliders import Sliders
from veritebook.tables import Table, compared

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

    from verite.datasets import Dataset
    from verite.lab import World
    from veritebook.course import Answer

__all__ = ["RESULT_COLUMNS", "SYNTHETIC", "Page", "read_results"]

RESULT_COLUMNS = (
    "table",
    "row",
    "column",
    "value",
    "low",
    "high",
    "n",
    "unit",
    "protocol",
    "source",
)
"""Columns of a results file.

One figure a row, with its 95 % interval, its N and the protocol.
"""

SYNTHETIC = frozenset({"newsroom"})
"""Sources of figures that are made-up worlds."""

_NUMBERS = ("value", "low", "high", "n")


class Page:
    """The running notebook.

    Parameters
    ----------
    name
        Its name: that of its file.
    variables
        ``globals()``, from which the values of the parameters are read.
    """

    style = staticmethod(style)
    pictures = Pictures
    table = Table

    def __init__(self, name: str, variables: Mapping[str, Any]) -> None:
        self.name = name
        self.folder = run_folder(name)
        # open_clip's libraries ask for a progress bar of widgets, and complain on the
        # page that there is none.
        warnings.filterwarnings("ignore", message="IProgress not found")
        self._notebook = open_notebook(name)
        self.settings = {
            one.name: variables[one.name] for one in self._notebook.parameters
        }
        self._started, self._clock = (
            datetime.datetime.now(datetime.UTC),
            time.monotonic(),
        )
        self._data: dict[str, str] = {}
        self._results: list[pd.DataFrame] = []
        self._sources: dict[str, str] = {}
        self.dataset: Dataset | None = None

    @property
    def blocks(self) -> Path:
        """Where long work keeps finished blocks, so that a stopped run goes on."""
        return self.folder / "blocks"

    def parameters(self) -> Table:
        """Table of the parameters.

        What each means, its default, its value in this run.
        """
        rows = [
            {
                "parameter": one.name,
                "meaning": _meaning(one),
                "default": str(one.default),
                "this run": str(self.settings[one.name]),
            }
            for one in self._notebook.parameters
        ]
        return Table(
            pd.DataFrame(rows).set_index("parameter"),
            f"Parameters of {self.name}",
            name="parameters",
        )

    def load(
        self,
        source: str,
        real: str,
        *,
        newsroom: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Dataset:
        """Load what the page works on.

        Parameters
        ----------
        source
            ``"auto"``: the real data where they are, else the newsroom. Or a name of a
            data set.
        real
            The real data set of this page.
        newsroom
            Further options for the newsroom alone: its preset, its knobs.
        options
            For the real data set; of these the newsroom gets ``events`` and ``seed``
            alone.
        """
        name = (
            source
            if source != "auto"
            else (
                real
                if datasets.available(real, **_without_sizes(options))
                else "newsroom"
            )
        )
        chosen = {
            key: value
            for key, value in options.items()
            if (key in {"events", "seed"}) == (name == "newsroom")
        }
        if name == "newsroom":
            chosen |= newsroom or {}
        self.dataset = datasets.load(name, **chosen)
        self.uses(self.dataset)
        return self.dataset

    def uses(self, dataset: Dataset) -> Dataset:
        """Note in the record which files a data set was read from and what encoded it,
        besides those of :meth:`load`.
        """
        self._data.update(dataset.files)
        if dataset.images is not None and (
            digest := dataset.images.about.get("digest")
        ):
            self._data[f"weights of {dataset.images.encoder.partition('@')[0]}"] = (
                digest
            )
        return dataset

    def reads(self, name: str) -> None:
        """Note in the record the files of a data set that no :class:`verite.Dataset`
        holds, such as VERITE's web evidence.
        """
        self._data.update(datasets.checksums([name]))

    def source_note(self, dataset: Dataset | None = None) -> Note:
        """Say on the page which data it was made from, or which other data set what
        follows was made from.
        """
        shown, what = (
            (self.dataset, "This page")
            if dataset is None
            else (dataset, "What follows")
        )
        if shown is None:
            raise DataError("no data loaded yet: call load() first.")
        card = shown.card
        if card.synthetic:
            text = f"{what} was made from {card.title}. {card.notes}"
        else:
            text = f"{what} was made from {card.title}. Licence: {card.licence}."
        return Note(text, "synthetic" if card.synthetic else "real data")

    @staticmethod
    def colour(what: str) -> str:
        """Colour of a modality or a label, the same in every figure."""
        return COLOURS[what]

    @property
    def synthetic(self) -> bool:
        """True if the page was made from a made-up world."""
        return self.dataset is not None and self.dataset.card.synthetic

    def add_results(
        self,
        frame: pd.DataFrame,
        *,
        table: str,
        unit: str,
        protocol: str,
        scale: float = 1,
        dataset: Dataset | None = None,
        source: str = "",
        **columns: Any,
    ) -> pd.DataFrame:
        """Keep figures for the results file; return them in its columns.

        Parameters
        ----------
        frame
            ``row``, ``column`` and ``value``, and where known ``low``, ``high`` and
            ``n``; others are left out.
        table
            What the figures belong to; the key under which :meth:`compare` finds them.
        unit
            Of ``value``, ``low`` and ``high``, such as ``"pairs"`` or ``"%"``.
        protocol
            How they came about: what a reader must know to repeat or compare them.
        scale
            Factor for ``value``, ``low`` and ``high``: 100 turns shares into per cent.
        dataset
            What the figures were made from, where it is not the page's own data set;
            all of one table are from one.
        source
            Its name, where there is no data set to give: claims are none.
        columns
            Further columns with one value, such as ``column="count"``.

        Raises
        ------
        DataError
            ``row``, ``column`` or ``value`` is missing; or the table has figures of
            another data set already.
        """
        made_from = dataset or self.dataset
        source = source or (made_from.name if made_from is not None else "paper")
        if (other := self._sources.setdefault(table, source)) != source:
            raise DataError(
                f"results of {table!r} were made from {other} so far, and these from"
                f" {source}. Give them a table of their own."
            )
        full = frame.assign(
            **columns, table=table, unit=unit, protocol=protocol, source=source
        )
        missing = [
            name for name in ("row", "column", "value") if name not in full.columns
        ]
        if missing:
            raise DataError(
                f"results of {table!r} have no {name_some(missing)}. Found:"
                f" {name_some(frame.columns, 20)}."
            )
        full = full.reindex(columns=list(RESULT_COLUMNS)).reset_index(drop=True)
        full[["value", "low", "high"]] = (
            full[["value", "low", "high"]].astype(float) * scale
        )
        self._results.append(full)
        return full

    def results(self, table: str) -> pd.DataFrame:
        """Figures of one table kept so far."""
        kept = (
            pd.concat(self._results, ignore_index=True)
            if self._results
            else pd.DataFrame(columns=list(RESULT_COLUMNS))
        )
        return kept[kept["table"] == table].reset_index(drop=True)

    def reference(self, table: str) -> pd.DataFrame | None:
        """Figures of one table from the committed reference run, if there is one."""
        try:
            path = find_places().reference / f"{self.name}.csv"
        except MissingDataError:
            return None
        if not path.exists():
            return None
        found = read_results(path)
        found = found[found["table"] == table].reset_index(drop=True)
        return found if len(found) else None

    def compare(
        self, table: str, published: pd.DataFrame | None, caption: str, digits: int = 1
    ) -> Table:
        """Show published | reference | this build for the figures kept under ``table``."""
        from verite.paper import compare

        kept, own = self.reference(table), self.results(table)
        mark = " (newsroom, synthetic)"
        made_up = (
            self.synthetic if own.empty else not SYNTHETIC.isdisjoint(own["source"])
        )
        heading = f"this build{mark if made_up else ''}"
        # Where the whole page is about a newsroom, so is its reference run.
        apart = (
            kept is not None
            and not self._notebook.synthetic
            and not SYNTHETIC.isdisjoint(kept["source"])
        )
        return compared(
            compare(published, kept, own),
            caption,
            heading,
            digits,
            f"reference{mark if apart else ''}",
            name=table,
        )

    def figure(
        self, figure: MatplotlibFigure, alt: str, caption: str = "", name: str = ""
    ) -> Figure:
        """Show a figure; ``alt`` says what there is to see, ``name`` is what the text
        calls it by.
        """
        return Figure(figure, alt, caption, name)

    def check(self, function: Callable[..., Any]) -> Answer:
        """Call the function that the page asks its readers to write, and say whether it
        is right; see :func:`veritebook.course.check`.
        """
        from veritebook.course import check

        return check(self.name, function)

    def sliders(self, worlds: Sequence[World]) -> Sliders | Note:
        """Show the figures of a grid of newsrooms behind sliders.

        Those of the reference run, or else of this one.
        """
        states = []
        made = set()
        for world in worlds:
            kept, own = self.reference(world.setting), self.results(world.setting)
            table = own if kept is None else kept
            if table.empty:
                return Note(
                    "The figures behind the sliders are not there yet: verite reference"
                    " bias-lab measures them.",
                    "no figures",
                )
            made.add("this build" if kept is None else "the reference run")
            rows = table[table["row"] == f"{world.value:g}"]
            ends = {
                row["column"]: [
                    round(row[name], 2) for name in ("value", "low", "high")
                ]
                for _, row in rows.iterrows()
            }
            states.append(
                {
                    "knob": world.knob,
                    "value": world.value,
                    "balanced": world.balanced,
                    "asymmetric": bool(world.asymmetric),
                    "accuracy": ends,
                }
            )
        return Sliders(
            states,
            50.0,
            f"Newsroom, synthetic; figures of {' and of '.join(sorted(made))}.",
        )

    def finish(self) -> Provenance:
        """Write ``results.csv`` and ``record.json`` beside the notebook's output, and
        show the record.
        """
        if not self._results:
            raise DataError(
                f"notebook {self.name} has kept no results: call add_results() before"
                " finish()."
            )
        results = pd.concat(
            [part.astype(object) for part in self._results], ignore_index=True
        )
        results = results.astype(dict.fromkeys(_NUMBERS, float))
        folder = result_folder(self.name)
        path = folder / "results.csv"
        write_csv(path, results)
        sources = [
            self.dataset.name if self.dataset is not None else "paper",
            *results["source"],
        ]
        record = make_record(
            self.name,
            dataset=", ".join(dict.fromkeys(sources)),
            parameters=self.settings,
            data=self._data,
            results={path.name: sha256(path)},
            started=self._started,
            seconds=time.monotonic() - self._clock,
            key=os.environ.get("VERITE_RUN_KEY", ""),
        )
        write_json(folder / "record.json", record)
        return Provenance(record, self._reference_record())

    def _reference_record(self) -> dict[str, Any] | None:
        try:
            path = find_places().reference / f"{self.name}.json"
        except MissingDataError:
            return None
        found: dict[str, Any] | None = (
            json.loads(read_text(path)) if path.is_file() else None
        )
        return found


class Note:
    """A sentence that stands out on a page."""

    def __init__(self, text: str, kind: str) -> None:
        self.text, self.kind = text, kind

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        shown = (
            f'<p class="verite-note"><strong>{html.escape(self.kind.capitalize())}.</strong>'
            f" {html.escape(self.text)}</p>"
        )
        return {"text/html": shown, "text/plain": f"{self.kind}: {self.text}"}


class Provenance:
    """The foot of a page: what was run, on what, with what, and how to run it again."""

    def __init__(
        self, record: Mapping[str, Any], reference: Mapping[str, Any] | None = None
    ) -> None:
        self.record = dict(record)
        self.reference = reference

    @property
    def command(self) -> str:
        """The command that repeats this run."""
        options = [
            word
            for name, value in self.record["parameters"].items()
            for word in ("-p", name, str(value))
        ]
        return shlex.join(["verite", "run", self.record["notebook"], *options])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        record = self.record
        data = [
            f"{path}: {digest[:12]}…" for path, digest in record["data"].items()
        ] or ["no file was read"]
        rows = {
            "Run again": self.command,
            "Made from": record["dataset"],
            "Commit": record["commit"],
            "Started": record["started"],
            "Took": (
                f"{record['seconds']} s, {record['peak memory MB']:,} MB at most in"
                " this process"
            ),
            "Data (SHA-256)": "; ".join(data),
            "Results (SHA-256)": "; ".join(
                f"{name}: {digest[:12]}…" for name, digest in record["results"].items()
            ),
            "Versions": ", ".join(
                f"{name} {version}" for name, version in record["versions"].items()
            ),
            "Machine": record["machine"],
        }
        if self.reference is not None:
            values = ", ".join(
                f"{name} = {value}"
                for name, value in self.reference["parameters"].items()
            )
            rows["Reference run"] = (
                f"{self.reference['started']}, commit {self.reference['commit']}:"
                f" {values}"
            )
        cells = "".join(
            f"<dt>{name}</dt><dd>{f'<code>{html.escape(value)}</code>' if name == 'Run again' else html.escape(value)}</dd>"
            for name, value in rows.items()
        )
        plain = "\n".join(f"{name}: {value}" for name, value in rows.items())
        return {
            "text/html": f'<dl class="verite-provenance">{cells}</dl>',
            "text/plain": plain,
        }


def read_results(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a results file; numbers as numbers, empty cells as gaps.

    Raises
    ------
    DataError
        A column is missing.
    """
    frame = read_csv(path)
    missing = [name for name in RESULT_COLUMNS if name not in frame.columns]
    if missing:
        raise DataError(f"{path}: not a results file, missing {name_some(missing)}.")
    for name in _NUMBERS:
        frame[name] = pd.to_numeric(
            frame[name].where(frame[name] != ""), errors="raise"
        )
    return frame


def _meaning(parameter: Parameter) -> str:
    allowed = f" One of: {', '.join(parameter.choices)}." if parameter.choices else ""
    if not parameter.choices and parameter.limits:
        allowed = f" {parameter.limits[:1].upper()}{parameter.limits[1:]}."
    text = parameter.text[:1].upper() + parameter.text[1:]
    return f"{text}.{allowed}"


def _without_sizes(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in options.items() if key not in {"events", "seed"}
    }
