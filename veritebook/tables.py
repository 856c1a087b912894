"""Tables for pages: row and column headers, numbers aligned, gaps shown as gaps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

__all__ = ["TEMPLATES", "Table", "compared", "wide_table", "with_interval"]

Format = str | Callable[[Any], str]

TEMPLATES = jinja2.Environment(autoescape=True)
"""For the HTML of all that cells show; every value is escaped."""


def named(name: str) -> Markup:
    """Attribute by which text and slides find what a cell shows; empty without name."""
    return Markup(' data-name="{}"').format(name) if name else Markup()


TEMPLATES.globals["named"] = named

# A header without a word heads nothing: screen readers would announce it before each
# cell.
_TABLE = TEMPLATES.from_string(
    """<div class="verite-scroll" tabindex="0" role="region"
 aria-label="{{ caption or "table" }}"><table class="verite-table"{{ named(name) }}>
{%- if caption %}<caption>{{ caption }}</caption>{% endif %}<thead><tr>
{%- for label in columns -%}
{% if label %}<th scope="col"{{ kinds[loop.index0] }}>{{ label }}</th>
{%- else %}<td></td>{% endif %}
{%- endfor %}</tr></thead><tbody>
{%- for span, row in rows %}<tr>
{%- for cell in row -%}
{% if loop.index0 >= headers %}<td{{ kinds[loop.index0] }}>{{ cell }}</td>
{%- elif span > 1 %}<th scope="rowgroup" rowspan="{{ span }}">{{ cell }}</th>
{%- elif span %}<th scope="row">{{ cell }}</th>{% endif %}
{%- endfor %}</tr>
{%- else %}<tr><td colspan="{{ columns|length }}">none</td></tr>
{%- endfor %}</tbody></table></div>"""
)


class Table:
    """A table, to be the last line of a cell.

    Parameters
    ----------
    frame
        Its columns are shown in order; the index, if it has a name, as row headers.
    caption
        Stands above the table and says what its numbers are.
    formats
        Format of a column's values, such as ``"{:.1f}"``; other floats get one decimal,
        other integers thousands separators.
    name
        By which text and slides refer to it: ``{shown}`name```; unique on its page.

    >>> print(Table(pd.DataFrame({"n": [1001]}), "Pairs").text())
        n
    1,001
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        caption: str = "",
        formats: Mapping[str, Format] | None = None,
        name: str = "",
    ) -> None:
        self.frame = frame if frame.index.name is None else frame.reset_index()
        self.headers = 0 if frame.index.name is None else 1
        self.caption, self.name = caption, name
        self.formats = dict(formats or {})

    def cells(self) -> pd.DataFrame:
        """All values as the text that is shown."""
        shown = {
            name: [self._cell(name, value) for value in self.frame[name]]
            for name in self.frame.columns
        }
        return pd.DataFrame(shown, columns=self.frame.columns, dtype=object)

    def text(self) -> str:
        """The table as plain text."""
        return str(self.cells().to_string(index=False))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}

    def html(self) -> str:
        """The table as HTML; every value is escaped."""
        cells = self.cells()
        number = Markup(' class="number"')
        kinds = ["" if _is_text(self.frame[key]) else number for key in self.frame]
        spans = _spans(cells.iloc[:, 0].tolist()) if self.headers else [1] * len(cells)
        return _TABLE.render(
            caption=self.caption,
            name=self.name,
            columns=[str(key) for key in self.frame],
            kinds=kinds,
            headers=self.headers,
            rows=list(zip(spans, cells.itertuples(index=False), strict=True)),
        )

    def _cell(self, name: Any, value: Any) -> str:
        if pd.isna(value):
            return "–"
        form = self.formats.get(name)
        if callable(form):
            return form(value)
        if form is not None:
            return form.format(value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return f"{value:.1f}"
        return f"{value:,}" if isinstance(value, int) else str(value)


def with_interval(value: float, low: float, high: float, digits: int = 1) -> str:
    """Write a figure with its interval; NaN is a gap.

    >>> with_interval(54.512, 51.2, 57.9)
    '54.5 [51.2, 57.9]'
    >>> with_interval(1.5, -0.04, 3.1)
    '1.5 [0.0, 3.1]'
    """
    if value != value:
        return "–"
    shown = f"{value:z.{digits}f}"
    if low != low or high != high:
        return shown
    return f"{shown} [{low:z.{digits}f}, {high:z.{digits}f}]"


def compared(
    frame: pd.DataFrame,
    caption: str,
    this_build: str = "this build",
    digits: int = 1,
    reference: str = "reference",
    name: str = "",
) -> Table:
    """Show what :func:`verite.paper.compare` lines up.

    Published | reference | this build, intervals in brackets, N of this build.

    Parameters
    ----------
    this_build, reference
        Headings of the last two columns, for example ``"this build (newsroom,
        synthetic)"``.
    name
        Of the table, see :class:`Table`.
    """
    shown = frame[["row", "column", "published"]].copy()
    for whose, heading in (("reference", reference), ("this build", this_build)):
        found = frame.reindex(columns=[whose, f"{whose} low", f"{whose} high"]).astype(
            float
        )
        shown[heading] = [
            with_interval(value, low, high, digits)
            for value, low, high in found.itertuples(index=False)
        ]
    if frame.get("this build n", pd.Series(dtype=float)).notna().any():
        shown["N"] = frame["this build n"]
    return Table(
        shown.set_index("row"),
        caption,
        {"published": f"{{:.{digits}f}}", "N": "{:,.0f}"},
        name,
    )


def wide_table(
    frame: pd.DataFrame,
    caption: str,
    *,
    corner: str,
    rows: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    values: str = "value",
    formats: Mapping[str, Format] | str | None = None,
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

    >>> frame = pd.DataFrame({"row": ["a", "b"], "column": ["x", "y"], "value": [1, 2]})
    >>> print(wide_table(frame, "Counts", corner="set").text())
    set x y
      a 1 0
      b 0 2
    """
    # pivot, not pivot_table: duplicate cells are an error.
    wide = frame.pivot(index="row", columns="column", values=values)  # noqa: PD010
    if rows is not None:
        wide = wide.reindex(index=list(rows))
    if columns is not None:
        wide = wide.reindex(columns=list(columns))
    if pd.api.types.is_integer_dtype(frame[values]):
        wide = wide.fillna(0).astype(int)
    if isinstance(formats, str):
        formats = dict.fromkeys(wide.columns.tolist(), formats)
    wide = wide.rename_axis(corner).rename_axis(None, axis=1)
    return Table(wide, caption, formats, name)


def _spans(headers: list[str]) -> list[int]:
    """How many rows each row header stands for.

    A run of equal ones is written once, its others get 0.

    >>> _spans(["a", "a", "b"])
    [2, 0, 1]
    """
    spans: list[int] = []
    for _, run in itertools.groupby(headers):
        length = len(list(run))
        spans += [length, *[0] * (length - 1)]
    return spans


def _is_text(column: Any) -> bool:
    return not (
        pd.api.types.is_numeric_dtype(column)
        or column.astype(str).str.match(r"^[–\d\-−+.]").all()
    )
