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
from veritebook.figures import COLOURS, Figure, Pictures, style
from veritebook.notebooks import Parameter, open_notebook
from veritebook.places import find_places, result_folder, run_folder
from veritebook.provenance import Note, Provenance
from veritebook.record import make_record
from veritebook.results import (
    NUMBERS,
    RESULT_COLUMNS,
    SYNTHETIC,
    Results,
    read_results,
    tidy,
)
from veritebook.sliders import Sliders, slider_state
from veritebook.tables import Table, compared

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

    from verite.dataset import Dataset
    from verite.evaluation import Interval
    from verite.lab import World
    from veritebook.course import Answer

__all__ = ["Page"]


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

    def report(
        self,
        table: str,
        results: Results | None,
        caption: str,
        *,
        published: pd.DataFrame | None = None,
        digits: int = 1,
        **options: Any,
    ) -> Table:
        """Keep results and show them beside the published ones.

        Parameters
        ----------
        table, results
            See :meth:`add_results`; None where this run has none.
        caption, published, digits
            See :meth:`compare`.
        options
            ``unit``, ``protocol`` and the other options of :meth:`add_results`.
        """
        if results is not None:
            self.add_results(results, table=table, **options)
        return self.compare(table, published, caption, digits)

    def interval(self, values: Any, groups: Any, **options: Any) -> Interval:
        """Mean with its 95 % interval, from this page's ``seed`` and ``resamples``.

        See :func:`verite.evaluation.grouped_bootstrap`.
        """
        from verite.evaluation import grouped_bootstrap

        return grouped_bootstrap(values, groups, **self._draws(), **options)

    def intervals(
        self,
        frame: pd.DataFrame,
        value: str = "right",
        *,
        row: str,
        column: str | None = None,
        group: str = "group",
    ) -> pd.DataFrame:
        """Means with their intervals by one or two columns of a table, as results.

        Parameters
        ----------
        frame
            One row per observation.
        value, group
            Names of the columns to average and to resample.
        row, column
            Names of the columns that become ``row`` and ``column`` of the results.
        """
        keys = [row] if column is None else [row, column]
        parts = frame.groupby(keys, sort=False)
        return tidy(
            {key: self.interval(part[value], part[group]) for key, part in parts}
        )

    def difference(
        self,
        a: pd.DataFrame,
        b: pd.DataFrame,
        order: Sequence[str] = ("seed", "pair_id"),
    ) -> dict[str, float]:
        """Paired difference in accuracy between two tables of answers; N counts groups.

        See :func:`verite.evaluation.paired_test`.

        Parameters
        ----------
        a, b
            Answers to the same pairs: ``pair_id``, ``group`` and ``right``.
        order
            Columns by which rows are aligned; none where they are already.
        """
        from verite.evaluation import paired_test

        if order:
            a, b = (side.sort_values(list(order)) for side in (a, b))
        right = [side["right"].to_numpy() for side in (a, b)]
        test = paired_test(*right, a["group"].to_numpy(), **self._draws())
        return {
            "value": test.difference,
            "low": test.low,
            "high": test.high,
            "p": test.p_value,
            "n": a["group"].nunique(),
        }

    def _draws(self) -> dict[str, int]:
        return {name: self.settings[name] for name in ("seed", "resamples")}

    def wide(
        self,
        frame: pd.DataFrame,
        caption: str,
        *,
        corner: str,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        values: str = "value",
        formats: Mapping[str, Any] | str | None = None,
        name: str = "",
    ) -> Table:
        """Show a tidy table with its ``column`` as columns; missing counts are zero.

        Parameters
        ----------
        frame
            ``row``, ``column`` and the column named by ``values``.
        corner
            Heading of the row headers.
        rows, columns
            Which to show, in order; by default all, sorted.
        formats
            See :class:`Table`; a text formats all columns.
        """
        wide = frame.pivot(index="row", columns="column", values=values)
        rows, columns = (None if x is None else list(x) for x in (rows, columns))
        wide = wide.reindex(index=rows, columns=columns)
        if pd.api.types.is_integer_dtype(frame[values]):
            wide = wide.fillna(0).astype(int)
        if isinstance(formats, str):
            formats = dict.fromkeys(wide, formats)
        wide = wide.rename_axis(corner).rename_axis(None, axis=1)
        return Table(wide, caption, formats, name)

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
        """Show the results of a grid of newsrooms behind sliders: those of the
        reference run, or else of this one.
        """
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
