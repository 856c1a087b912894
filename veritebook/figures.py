"""One look for all figures: readable in light and in dark, by eye and by ear.

A figure goes into a page as inline SVG whose ink is the page's own text colour, so it
follows the reader's theme; beside it travels a PNG for places that show no HTML. Each
has an alternative text.
"""

from __future__ import annotations

import base64
import contextlib
import html
import io
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from verite.errors import ParameterError
from verite.pairs import MISCAPTIONED, MISINFORMATION, OUT_OF_CONTEXT, TRUE

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

__all__ = ["COLOURS", "Figure", "Pictures", "style"]

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
_number = itertools.count(1)


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
        **dict.fromkeys(
            (
                "text.color",
                "axes.labelcolor",
                "axes.edgecolor",
                "axes.titlecolor",
                "xtick.color",
                "ytick.color",
            ),
            _INK,
        ),
        "grid.color": "#808080",
        "grid.alpha": 0.3,
        "hatch.color": _INK,
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
        with style():  # how text becomes SVG, and how much is cropped, is decided when a figure is saved
            figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
            figure.savefig(
                png,
                format="png",
                dpi=144,
                facecolor="white",
                metadata={"Software": None},
            )
        plt.close(figure)
        self.alt, self.caption, self.name = alt, caption, name
        self._svg, self._png = svg.getvalue(), png.getvalue()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {
            "text/html": _figure_html(
                inline_svg(self._svg, self.alt), self.caption, self.name
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
        cells = []
        for image, alt, caption in zip(images, alts, captions, strict=True):
            data = io.BytesIO()
            image.save(data, format="PNG", optimize=True)
            source = f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode('ascii')}"
            width, height = (side * zoom for side in image.size)
            cells.append(
                f'<figure class="verite-picture"><img src="{source}" width="{width}"'
                f' height="{height}" alt="{html.escape(alt)}">'
                f"<figcaption>{html.escape(caption)}</figcaption></figure>"
            )
        called = f' data-name="{html.escape(name)}"' if name else ""
        self._html = f'<div class="verite-pictures"{called}>{"".join(cells)}</div>'
        self._text = "\n".join(
            f"[picture: {alt}] {caption}"
            for alt, caption in zip(alts, captions, strict=True)
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self._html, "text/plain": self._text}


def inline_svg(svg: str, alt: str) -> str:
    """Make matplotlib's SVG fit to stand in a page.

    The page's ink, its own ids, a name for screen readers.

    >>> inline_svg('<?xml version="1.0"?><svg width="9pt" height="9pt" viewBox="0 0 9 9"><g id="a"/></svg>', "Nine")[:50]
    '<svg role="img" aria-label="Nine" viewBox="0 0 9 9'
    """
    text = svg[svg.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text.replace(_INK, "currentColor")
    # Many figures share a page: ids must not meet.
    prefix = f"f{next(_number)}-"
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}\1"', text)
    # A tenth of a point is finer than any screen, and the rest of the digits would be
    # half of the bytes.
    text = re.sub(
        r'\bd="[^"]*"', lambda path: re.sub(r"(\d\.\d)\d+", r"\1", path.group()), text
    )
    head, rest = text.split(">", 1)
    box = re.search(r'viewBox="([^"]+)"', head)
    width = re.search(r'width="([\d.]+)pt"', head)
    size = (
        f' style="width:100%;max-width:{float(width.group(1)) * 4 / 3:.0f}px;height:auto"'
        if width
        else ""
    )
    view = box.group(1) if box else ""
    return (
        f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="{view}"{size}'
        ' xmlns="http://www.w3.org/2000/svg"'
        f' xmlns:xlink="http://www.w3.org/1999/xlink">{rest}'
    )


def _figure_html(content: str, caption: str, name: str) -> str:
    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    called = f' data-name="{html.escape(name)}"' if name else ""
    return f'<figure class="verite-figure"{called}>{content}{below}</figure>'
