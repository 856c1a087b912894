"""One look for all figures: readable in light and in dark, by eye and by ear.

A figure goes into a page as inline SVG whose ink is the page's own text colour, so it
follows the reader's theme; beside it travels a PNG for places that show no HTML. Each
has an alternative text.
"""

from __future__ import annotations

import base64
import contextlib
import io
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import escape

from verite.errors import ParameterError
from verite.pairs import MISCAPTIONED, MISINFORMATION, OUT_OF_CONTEXT, TRUE
from veritebook.tables import TEMPLATES, Table, with_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

    from verite.lab import World

__all__ = ["COLOURS", "Figure", "Pictures", "Sliders", "slider_state", "style"]

COLOURS: Mapping[str, str] = {
    "image+text": "#009E73",
    "image;text": "#C878A0",
    "text": "#0072B2",
    "image": "#D55E00",
    TRUE: "#3F88C5",
    OUT_OF_CONTEXT: "#B37400",
    MISCAPTIONED: "#C02858",
    MISINFORMATION: "#C02858",
    "neutral": "#747474",
}
"""One colour a modality and one a label, in every figure.

Each has a contrast of at least 3 : 1 on the light and
on the dark page, and those that meet in a figure stay at least 10 (CIEDE2000) apart for
readers who lack one kind of cone."""

_INK = "#010203"  # stands for the page's text colour until the figure is SVG
_INK_SETTINGS = (
    "text.color axes.labelcolor axes.edgecolor axes.titlecolor xtick.color ytick.color"
    " hatch.color"
)
_number = itertools.count(1)

_FIGURE = TEMPLATES.from_string(
    """<figure class="verite-figure"{{ named(name) }}>{{ content|safe }}
{%- if caption %}<figcaption>{{ caption }}</figcaption>{% endif %}</figure>"""
)
_PICTURES = TEMPLATES.from_string(
    """<div class="verite-pictures"{{ named(name) }}>
{%- for source, width, height, alt, caption in pictures -%}
<figure class="verite-picture"><img src="{{ source }}" width="{{ width }}"
 height="{{ height }}" alt="{{ alt }}"><figcaption>{{ caption }}</figcaption></figure>
{%- endfor %}</div>"""
)

_SLIDERS = TEMPLATES.from_string(
    """<div class="verite-sliders" data-figures="{{ data }}"></div>
<p class="verite-sliders-source">{{ source }}</p>
<details><summary>All figures of the sliders as a table</summary>
{{ table|safe }}</details>
"""
)


@contextlib.contextmanager
def style() -> Iterator[Any]:
    """The book's style, as a context; yields :mod:`matplotlib.pyplot`."""
    import matplotlib as mpl

    mpl.use("agg", force=False)
    from matplotlib import pyplot as plt

    settings: dict[Any, Any] = {
        "figure.figsize": (6.4, 3.6),
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "savefig.bbox": "tight",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "font.size": 10,
        "legend.frameon": False,
        "lines.linewidth": 2,
        "svg.fonttype": "none",
        "svg.hashsalt": "verite",
        **dict.fromkeys(_INK_SETTINGS.split(), _INK),
        "grid.color": "#808080",
        "grid.alpha": 0.3,
    }
    with mpl.rc_context(settings):
        yield plt


class Figure:
    """A finished figure, to be the last line of a cell.

    Parameters
    ----------
    figure
        It is closed.
    alt
        What there is to see, for those who do not see it: a sentence or two.
    caption
        Stands below the figure.
    name
        By which text and slides refer to it: ``{shown}`name```; unique on its page.
    """

    def __init__(
        self, figure: MatplotlibFigure, alt: str, caption: str = "", name: str = ""
    ) -> None:
        if not alt.strip():
            raise ParameterError(
                "a figure needs an alternative text: say in a sentence what there is to"
                " see."
            )
        from matplotlib import pyplot as plt

        svg, png = io.StringIO(), io.BytesIO()
        with style():  # its settings for SVG and cropping apply when a figure is saved
            figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
            options: dict[str, Any] = {"dpi": 144, "facecolor": "white"}
            figure.savefig(png, format="png", metadata={"Software": None}, **options)
        plt.close(figure)
        self.alt, self.caption, self.name = alt, caption, name
        self._svg, self._png = svg.getvalue(), png.getvalue()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        content = inline_svg(self._svg, self.alt)
        return {
            "text/html": _FIGURE.render(
                content=content, caption=self.caption, name=self.name
            ),
            "image/png": base64.b64encode(self._png).decode("ascii"),
            "text/plain": f"[figure: {self.alt}]",
        }


class Pictures:
    """A row of small pictures, each with a line below it; for newsroom images.

    Parameters
    ----------
    images
        PIL images.
    alts, captions
        One each, in the same order.
    zoom
        Factor of enlargement on the page.
    name
        By which slides refer to the row; unique on its page.
    """

    def __init__(
        self,
        images: list[Any],
        alts: list[str],
        captions: list[str],
        zoom: int = 2,
        name: str = "",
    ) -> None:
        pictures = []
        for image, alt, caption in zip(images, alts, captions, strict=True):
            data = io.BytesIO()
            image.save(data, format="PNG", optimize=True)
            packed = base64.b64encode(data.getvalue()).decode("ascii")
            size = (side * zoom for side in image.size)
            pictures.append((f"data:image/png;base64,{packed}", *size, alt, caption))
        self._html = _PICTURES.render(pictures=pictures, name=name)
        self._text = "\n".join(
            f"[picture: {alt}] {caption}" for *_, alt, caption in pictures
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self._html, "text/plain": self._text}


def inline_svg(svg: str, alt: str) -> str:
    """Make matplotlib's SVG fit to stand in a page.

    The page's ink, its own ids, a name for screen readers.

    >>> svg = '<svg width="9pt" viewBox="0 0 9 9"><g id="a"/></svg>'
    >>> inline_svg(svg, "Nine")[:50]
    '<svg role="img" aria-label="Nine" viewBox="0 0 9 9'
    """
    text = svg[svg.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text.replace(_INK, "currentColor")
    # Many figures share a page: their ids must differ.
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\1f{next(_number)}-", text)
    # A tenth of a point is finer than any screen; more digits would double the size.
    text = re.sub(
        r'\bd="[^"]*"', lambda path: re.sub(r"(\d\.\d)\d+", r"\1", path.group()), text
    )
    head, rest = text.split(">", 1)
    box, width = (
        re.search(name + r'="([\d. -]+)', head) for name in ("viewBox", r"\bwidth")
    )
    if box is None or width is None:
        raise ValueError("this SVG has no viewBox or no width")
    size = f"width:100%;max-width:{float(width[1]) * 4 / 3:.0f}px;height:auto"
    return (
        f'<svg role="img" aria-label="{escape(alt)}" viewBox="{box[1]}" style="{size}"'
        ' xmlns="http://www.w3.org/2000/svg"'
        f' xmlns:xlink="http://www.w3.org/1999/xlink">{rest}'
    )


class Sliders:
    """Controls over figures that were computed beforehand, which work offline.

    All figures travel with the page, and a script shows those that a reader chooses;
    without a script, a table shows all of them.

    Parameters
    ----------
    states
        One per set of figures: ``knob`` (its name), ``value``, ``balanced`` and
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
        colours = {what: COLOURS[what] for what in self.states[0]["accuracy"]}
        data = {"states": self.states, "chance": self.chance, "colours": colours}
        shown = _SLIDERS.render(
            data=json.dumps(data, separators=(",", ":")),
            source=self.source,
            table=table.html(),
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
