"""Reference runs: chapters on the real data, at full size, whose aggregate results are
committed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from verite.errors import DataError, ParameterError, name_some
from verite.files import read_text, write_json, write_text
from veritebook.notebooks import list_notebooks, open_notebook
from veritebook.places import find_places
from veritebook.results import SYNTHETIC, read_results
from veritebook.runs import run_notebook

__all__ = ["run_references"]


def run_references(
    names: Sequence[str] = (), say: Callable[[str], None] = print
) -> list[Path]:
    """Run notebooks with the parameters that their header gives under ``verite.

    Reference:``.

    Results and record go to ``book/reference/NAME.csv`` and ``NAME.json``; later builds
    show them beside their own. Finished blocks of a stopped run are used again.

    Raises
    ------
    ParameterError
        A notebook that was named has no reference parameters.
    DataError
        A run read made-up data, though its header neither says ``synthetic: true`` nor
        names the table under ``newsroom:``: what passes for evidence must be.
    """
    places = find_places()
    written = []
    for name in names or list_notebooks():
        notebook = open_notebook(name)
        wanted = notebook.node.metadata.get("verite", {}).get("reference")
        if wanted is None:
            if names:
                raise ParameterError(
                    f"notebook {name} has no reference run: its header has no verite:"
                    " reference: parameters."
                )
            continue
        values = {key: str(value) for key, value in wanted.items()}
        say(
            f"{name}: reference run with"
            f" {', '.join(f'{key} = {value}' for key, value in values.items()) or 'its own values'}"
        )
        run = run_notebook(name, values, out=places.executed / "reference")
        results = read_results(run.folder / "results.csv")
        made_up = results[
            results["source"].isin(SYNTHETIC)
            & ~results["table"].isin(notebook.newsroom_tables)
        ]
        if len(made_up) and not notebook.synthetic:
            source, tables = (
                made_up["source"].iloc[0],
                name_some(made_up["table"].unique()),
            )
            raise DataError(
                f"notebook {name} ran on {source}, which is synthetic ({tables}); a"
                " reference run needs the real data. See: verite data status."
            )
        write_text(
            places.reference / f"{name}.csv", read_text(run.folder / "results.csv")
        )
        write_json(
            places.reference / f"{name}.json",
            json.loads(read_text(run.folder / "record.json")),
        )
        written.append(places.reference / f"{name}.csv")
    return written
