"""What a notebook uses to be a page: parameters, data, results, figures, provenance."""

from __future__ import annotations

import datetime
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from verite import datasets
from verite.errors import DataError, MissingDataError, name_some
from verite.files import read_text, sha256, write_csv, write_json
from veritebook.estimates import Estimates
from veritebook.figures import (
    COLOURS,
    Figure,
    Pictures,
    Sliders,
    slider_state,
    style,
)
from veritebook.notebooks import open_notebook
from veritebook.places import find_places, result_folder, run_folder
from veritebook.provenance import Note, Provenance, parameter_table
from veritebook.record import make_record
from veritebook.results import (
    NUMBERS,
    RESULT_COLUMNS,
    SYNTHETIC,
    Results,
    read_results,
    tidy,
)
from veritebook.tables import Table, compared, wide_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

    from verite.dataset import Dataset
    from verite.lab import World
    from veritebook.course import Answer

__all__ = ["Page"]


class Page(Estimates):
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
    wide = staticmethod(wide_table)

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
        """Table of the parameters: meaning, default, and value in this run."""
        return parameter_table(self.name, self._notebook.parameters, self.settings)

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
        """Note in the record the files of one more data set, and what encoded it."""
        self._data.update(dataset.files)
        if dataset.images is not None and (
            digest := dataset.images.about.get("digest")
        ):
            self._data[f"weights of {dataset.images.encoder.partition('@')[0]}"] = (
                digest
            )
        return dataset

    def reads(self, name: str) -> None:
        """Note in the record the files of other data, such as VERITE's evidence."""
        self._data.update(datasets.checksums([name]))

    def source_note(self, dataset: Dataset | None = None) -> Note:
        """Say on the page which data it, or what follows, was made from."""
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
        results: Results,
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
        results
            ``row``, ``column`` and ``value``, and where known ``low``, ``high`` and
            ``n``, in a form that :func:`veritebook.results.tidy` takes; other columns
            are left out.
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
        frame = tidy(results)
        full = frame.assign(
            **columns, table=table, unit=unit, protocol=protocol, source=source
        )
        if missing := [x for x in ("row", "column", "value") if x not in full.columns]:
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
        """Show published | reference | this build for the results of ``table``."""
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

    def report(
        self,
        table: str,
        results: Results | None,
        caption: str,
        unit: str,
        protocol: str,
        *,
        published: pd.DataFrame | None = None,
        digits: int = 1,
        scale: float | None = None,
        **options: Any,
    ) -> Table:
        """Keep results and show them beside the published ones.

        Parameters
        ----------
        table, results, unit, protocol
            See :meth:`add_results`; results are None where this run has none.
        caption, published, digits
            See :meth:`compare`.
        scale
            By default shares become per cent or points where that is the ``unit``.
        options
            The other options of :meth:`add_results`.
        """
        if scale is None:
            scale = 100 if unit in {"%", "points"} else 1
        if results is not None:
            options |= {"unit": unit, "protocol": protocol, "scale": scale}
            self.add_results(results, table=table, **options)
        return self.compare(table, published, caption, digits)

    def figure(
        self, figure: MatplotlibFigure, alt: str, caption: str = "", name: str = ""
    ) -> Figure:
        """Show a figure; ``alt`` describes it, and the text refers to ``name``."""
        return Figure(figure, alt, caption, name)

    def check(self, function: Callable[..., Any]) -> Answer:
        """Check a reader's solution of an exercise; see :mod:`veritebook.course`."""
        from veritebook.course import check

        return check(self.name, function)

    def sliders(self, worlds: Sequence[World]) -> Sliders | Note:
        """Sliders over a grid of newsrooms, of the reference run or else this one."""
        states, runs = [], set()
        for world in worlds:
            reference = self.reference(world.setting)
            table = self.results(world.setting) if reference is None else reference
            if table.empty:
                return Note(
                    "The figures behind the sliders are not there yet: verite reference"
                    " bias-lab measures them.",
                    "no figures",
                )
            runs.add("this build" if reference is None else "the reference run")
            states.append(slider_state(world, table))
        text = f"Newsroom, synthetic; figures of {' and of '.join(sorted(runs))}."
        return Sliders(states, 50.0, text)

    def finish(self) -> Provenance:
        """Write ``results.csv`` and ``record.json``, and show the record."""
        if not self._results:
            raise DataError(
                f"notebook {self.name} has kept no results: call add_results() before"
                " finish()."
            )
        results = pd.concat(
            [part.astype(object) for part in self._results], ignore_index=True
        )
        results = results.astype(dict.fromkeys(NUMBERS, float))
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


def _without_sizes(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in options.items() if key not in {"events", "seed"}
    }
