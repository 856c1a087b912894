"""Sliders on a page that works offline.

All figures travel with the page, a script shows those that were asked for.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from veritebook.figures import COLOURS
from veritebook.tables import Table, with_interval

if TYPE_CHECKING:
    from verite.lab import World

__all__ = ["Sliders", "slider_state"]


class Sliders:
    """Controls over figures that were computed beforehand.

    Without a script, a table of all of them.

    Parameters
    ----------
    states
        One a figure set: ``knob`` (its name), ``value``, ``balanced`` and
        ``asymmetric`` (true or false), and ``accuracy``: for each modality value, low
        and high in per cent.
    chance
        Where a line is drawn, in per cent.
    source
        Where the figures come from, in words.
    """

    def __init__(
        self, states: Sequence[Mapping[str, Any]], chance: float, source: str
    ) -> None:
        self.states, self.chance, self.source = list(states), chance, source

    def table(self) -> Table:
        """All figures."""
        rows = [
            {
                "knob": state["knob"],
                "value": f"{state['value']:g}",
                "balanced": bool(state["balanced"]),
                "asymmetric": "half" if state["asymmetric"] else "none",
                **{
                    what: with_interval(*ends)
                    for what, ends in state["accuracy"].items()
                },
            }
            for state in self.states
        ]
        return Table(
            pd.DataFrame(rows).set_index("knob"),
            f"Accuracy in % with 95 % intervals. {self.source}",
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        table = self.table()
        data = {
            "states": self.states,
            "chance": self.chance,
            "colours": {what: COLOURS[what] for what in self.states[0]["accuracy"]},
        }
        # In an attribute, where no character of the data can end the element it stands
        # in.
        packed = html.escape(json.dumps(data, separators=(",", ":")), quote=True)
        shown = (
            f'<div class="verite-sliders" data-figures="{packed}"></div><p'
            f' class="verite-sliders-source">{html.escape(self.source)}</p><details><summary>All'
            f" figures of the sliders as a table</summary>{table.html()}</details>"
        )
        return {"text/html": shown, "text/plain": table.text()}


def slider_state(world: World, results: pd.DataFrame) -> dict[str, Any]:
    """What the sliders show for one newsroom: value, low and high by modality."""
    rows = results[results["row"] == f"{world.value:g}"]
    return {
        "knob": world.knob,
        "value": world.value,
        "balanced": world.balanced,
        "asymmetric": bool(world.asymmetric),
        "accuracy": {
            row["column"]: [round(row[name], 2) for name in ("value", "low", "high")]
            for _, row in rows.iterrows()
        },
    }
