"""What only the book can show, in words that Jupyter shows as well.

Citations, references, terms, links, folded parts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from veritebook.notebooks import Notebook, open_notebook

__all__ = ["in_plain_words"]

_CITATION = re.compile(r"\{cite\}`(?P<author>[a-z]+)(?P<year>\d{4})[a-z]*`")
_NAMELESS = re.compile(r"\[\]\((?P<name>[\w-]+)\.ipynb\)")
_TERM = re.compile(r"\{term\}`(?P<shown>[^`<]+?)(?: +<[^`>]+>)?`")
_SHOWN = re.compile(r"\{shown\}`(?P<target>[^`]+)`")
_EQUATION = re.compile(r"\{eq\}`(?P<label>[^`]+)`")
_LABELLED = re.compile(r"\$\$(?P<formula>[^$]+?)\s*\$\$ \((?P<label>[\w-]+)\)")
_FOLDED = re.compile(
    r"^(?P<fence>`{4,})\{dropdown\} +(?P<title>[^\n]+)\n(?P<text>.*?)\n(?P=fence)["
    r" \t]*$",
    re.M | re.S,
)


def in_plain_words(text: str, notebook: Notebook) -> str:
    r"""Say in plain Markdown what a cell says in the book's.

    Parameters
    ----------
    text
        Of a Markdown cell.
    notebook
        The cell's: it has the names of figures, and the numbers of equations follow
        from their order.

    >>> from types import SimpleNamespace as Cell
    >>> source = (
    ...     "$$ a = b $$ (same)\n\nBy {eq}`same` and {shown}`sizes` a"
    ...     " {term}`pairs <pair>` {cite}`cohen1988statistical`."
    ... )
    >>> cell = Cell(cell_type="markdown", source=source)
    >>> print(in_plain_words(source, Cell(node=Cell(cells=[cell]))))
    $$ a = b \tag{1} $$
    <BLANKLINE>
    By (1) and Table *sizes* a pairs [Cohen 1988].
    """
    labels = [
        found["label"]
        for cell in notebook.node.cells
        if cell.cell_type == "markdown"
        for found in _LABELLED.finditer(cell.source)
    ]
    numbers = {label: number for number, label in enumerate(labels, 1)}
    text = _CITATION.sub(
        lambda found: f"[{found['author'].capitalize()} {found['year']}]", text
    )
    text = _NAMELESS.sub(lambda found: _link(found["name"]), text)
    text = _TERM.sub(lambda found: found["shown"], text)
    text = _SHOWN.sub(lambda found: _shown(found["target"], notebook), text)
    text = _EQUATION.sub(
        lambda found: f"({numbers.get(found['label'], found['label'])})", text
    )
    text = _LABELLED.sub(
        lambda found: rf"$${found['formula']} \tag{{{numbers[found['label']]}}} $$",
        text,
    )
    return _FOLDED.sub(
        lambda found: (
            f"<details><summary>{found['title']}</summary>\n\n{found['text']}\n\n</details>"
        ),
        text,
    )


def _shown(target: str, notebook: Notebook) -> str:
    """Name a figure or a table as the cell does that shows it.

    Numbers are given by the book.
    """
    page, apart, name = target.partition("/")
    if not apart:
        kind = "Figure" if target in _figures(notebook) else "Table"
        return f"*{target}*" if target.startswith(kind) else f"{kind} *{target}*"
    return f"{_shown(name, open_notebook(page))} of {_link(page)}"


def _figures(notebook: Notebook) -> Iterator[str]:
    """Names that the notebook gives to figures."""
    for cell in notebook.node.cells:
        if cell.cell_type == "code" and "page.figure(" in cell.source:
            for call in ast.walk(ast.parse(cell.source)):
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and call.func.attr == "figure"
                ):
                    yield from (
                        str(one.value.value)
                        for one in call.keywords
                        if one.arg == "name" and isinstance(one.value, ast.Constant)
                    )


def _link(name: str) -> str:
    """Give a link its page's title."""
    return f"[{open_notebook(name).title}]({name}.ipynb)"
