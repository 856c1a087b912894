"""The kinds of plots that chapters share, in the book's style.

Each function returns a matplotlib figure (or draws into given axes), which
:meth:`veritebook.Page.figure` shows with its alternative text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veritebook.figures import COLOURS, style
from veritebook.results import Results, tidy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["band", "diagram", "dot_plot", "heatmap", "histograms", "usage_curves"]

_MARKS = "osD^"
_DASHES = ("-", "--", ":", "-.")


def colour(name: str) -> str:
    """Colour of a modality or label; neutral grey for anything else."""
    return COLOURS.get(name, COLOURS["neutral"])


def dot_plot(
    panels: Mapping[str, Results],
    rows: Sequence[str],
    columns: Sequence[str] | Mapping[str, str],
    *,
    size: tuple[float, float] = (7.4, 4.0),
    chance: float | None = None,
    label: str = "accuracy (%)",
    colour_rows: bool = False,
) -> Any:
    """Plot results as dots with their intervals: one panel per table.

    Parameters
    ----------
    panels
        Results by title: ``row``, ``column``, ``value`` and, where known, ``low`` and
        ``high``.
    rows
        Rows to show, from the top down.
    columns
        Columns to show, each with a mark of its own: names, or marks by name.
    chance
        Where to draw a dotted line.
    label
        Of the axis of values.
    colour_rows
        Colour dots by row and not by column; there is no legend then.
    """
    marks = (
        columns
        if isinstance(columns, Mapping)
        else dict(zip(columns, _MARKS, strict=False))
    )
    places = {row: len(rows) - 1 - at for at, row in enumerate(rows)}
    with style() as plt:
        figure, axes = plt.subplots(
            1, len(panels), figsize=size, sharex=True, sharey=True, squeeze=False
        )
        for ax, (title, table) in zip(axes[0], panels.items(), strict=True):
            table = tidy(table)
            table = table[table["row"].isin(places)]
            for at, (column, mark) in enumerate(marks.items()):
                part = table[table["column"] == column]
                shift = 0.16 * ((len(marks) - 1) / 2 - at)
                for row in rows if colour_rows else [None]:
                    dots = part if row is None else part[part["row"] == row]
                    ax.errorbar(
                        dots["value"],
                        dots["row"].map(places).astype(float) + shift,
                        xerr=_errors(dots),
                        fmt=mark,
                        color=colour(row or column),
                        label=column,
                        markersize=5,
                    )
            if chance is not None:
                ax.axvline(chance, color=colour("neutral"), linestyle=":")
            ax.set(title=title, xlabel=label)
            ax.set_yticks(list(places.values()), list(places))
        if not colour_rows and len(marks) > 1:
            figure.legend(
                *axes[0][0].get_legend_handles_labels(),
                loc="lower center",
                ncol=4,
                bbox_to_anchor=(0.5, 0.97),
            )
    return figure


def _errors(table: pd.DataFrame) -> list[Any] | None:
    if "low" not in table or table["low"].isna().all():
        return None
    return [table["value"] - table["low"], table["high"] - table["value"]]


def histograms(
    values: Mapping[str, Any],
    edges: Any,
    label: str,
    *,
    colours: Mapping[str, str] | None = None,
    shares: bool = False,
) -> Any:
    """Plot outlined histograms over each other.

    Parameters
    ----------
    values
        Numbers by name; the name picks the colour unless ``colours`` does.
    edges
        Of the bins.
    label
        Of the axis of values.
    shares
        Count in per cent of each, not in pairs.
    """
    with style() as plt:
        figure, ax = plt.subplots(figsize=(6.4, 3.0))
        for (name, numbers), dash in zip(values.items(), _DASHES, strict=False):
            weights = np.full(len(numbers), 100 / len(numbers)) if shares else None
            ax.hist(
                numbers,
                edges,
                weights=weights,
                histtype="step",
                linewidth=2,
                linestyle=dash,
                color=colour((colours or {}).get(name, name)),
                label=name,
            )
        ax.set(xlabel=label, ylabel="pairs (%)" if shares else "pairs")
        ax.legend()
    return figure


def usage_curves(
    counts: Mapping[str, Any],
    colours: Mapping[str, str],
    labels: tuple[str, str],
    *,
    log: bool = False,
) -> Any:
    """Plot how often things are used, the most used first, in per cent of them.

    Parameters
    ----------
    counts
        Uses in falling order by name.
    colours
        Names of colours by name.
    labels
        Of the horizontal and the vertical axis.
    log
        Scale of the vertical axis.
    """
    with style() as plt:
        figure, ax = plt.subplots(figsize=(6.4, 3.0))
        for (name, uses), dash in zip(counts.items(), _DASHES, strict=False):
            share = 100 * (np.arange(len(uses)) + 1) / len(uses)
            ax.plot(share, uses, dash, color=colour(colours[name]), label=name)
        ax.set(xlabel=labels[0], ylabel=labels[1], xlim=(0, 100))
        ax.set(yscale="log", ylim=0.9) if log else ax.set(ylim=0)
        ax.legend()
    return figure


def band(
    ax: Axes, x: Any, table: pd.DataFrame, name: str, label: str = "", **options: Any
) -> None:
    """Draw results as a line with the band of their intervals."""
    step: Any = {"step": "post"} if options.get("drawstyle") == "steps-post" else {}
    ax.plot(x, table["value"], color=colour(name), label=label or name, **options)
    ax.fill_between(
        x, table["low"], table["high"], color=colour(name), alpha=0.2, lw=0, **step
    )


def heatmap(
    ax: Axes,
    values: np.ndarray,
    texts: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    **options: Any,
) -> None:
    """Draw a matrix with a text in each cell.

    Parameters
    ----------
    values, texts
        Both of shape (rows, columns); NaN leaves a cell without colour.
    rows, columns
        Names along the axes.
    options
        For ``imshow``: the colour map and its range, in which dark is low.
    """
    image = ax.imshow(values, **options)
    for i, line in enumerate(texts):
        for j, text in enumerate(line):
            colours = image.cmap(image.norm(values[i, j]))[:3]
            empty = not np.isfinite(values[i, j])
            ink: Any = {} if empty else {"color": "wk"[int(np.mean(colours) > 0.5)]}
            ax.text(j, i, text, ha="center", va="center", fontsize=8.5, **ink)
    ax.set_xticks(range(len(columns)), columns, fontsize=8.5)
    ax.set_yticks(range(len(rows)), rows, fontsize=8.5)
    ax.tick_params(length=0)


def diagram(
    boxes: Sequence[tuple[float, float, float, float, str, str]],
    arrows: Sequence[tuple[float, float, float, float]],
    notes: Sequence[tuple[float, float, str]] = (),
    size: tuple[float, float] = (7.4, 3.0),
) -> Any:
    """Draw boxes and arrows on a canvas that is 100 units wide.

    Parameters
    ----------
    boxes
        Left, bottom, width, height, text, and name of the colour.
    arrows
        From x, y to x, y.
    notes
        Left, middle and text.
    size
        In inches.
    """
    with style() as plt:
        figure, ax = plt.subplots(figsize=size)
        ax.set(xlim=(0, 100), ylim=(0, 100 * size[1] / size[0]))
        ax.axis("off")
        for x, y, width, height, text, name in boxes:
            ax.add_patch(
                plt.Rectangle(
                    (x, y), width, height, fill=False, ec=colour(name), lw=1.6
                )
            )
            middle = (x + width / 2, y + height / 2)
            ax.text(*middle, text, ha="center", va="center", fontsize=8.5)
        line = {"arrowstyle": "->", "color": colour("neutral"), "linewidth": 1.2}
        for x, y, to_x, to_y in arrows:
            ax.annotate("", xy=(to_x, to_y), xytext=(x, y), arrowprops=line)
        for x, y, text in notes:
            ax.text(x, y, text, va="center", fontsize=8.5)
    return figure
