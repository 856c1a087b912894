"""The notebooks: MyST Markdown with one cell of parameters.

A parameter is one line of the cell tagged ``parameters``::

    folds: int = 5  # (from 3) groups are dealt into so many folds
    source: str = "auto"  # {auto, verite, newsroom} which data to read

The annotation says how a value is parsed. Choices in braces, or a smallest value in
brackets and perhaps a largest one, ``(from 0 to 1)``, may stand before the help text.
papermill reads the same lines, so a notebook runs under plain papermill too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verite.errors import DataError, ParameterError, name_some
from verite.files import atomic_path
from veritebook.places import source_folder

__all__ = ["Notebook", "Parameter", "list_notebooks", "open_notebook", "read_notebook"]

_RULE = re.compile(
    r"^(?:\{(?P<choices>[^}]*)\}|\(from\s+(?P<least>[-\d.]+)(?:\s+to\s+(?P<most>[-\d.]+))?\))\s*(?P<text>.*)$"
)


_KINDS = {"int": "an integer", "float": "a number", "bool": "true or false"}
_BOOLEANS = {
    "true": True,
    "yes": True,
    "1": True,
    "false": False,
    "no": False,
    "0": False,
}
_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "bool": lambda value: _BOOLEANS[value.strip().lower()],
}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a notebook.

    >>> Parameter("folds", "int", 5, "folds", least=3).parse("4")
    4
    >>> Parameter("folds", "int", 5, "folds", least=3).parse("many")
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: parameter folds: expected an integer, found 'many'.
    """

    name: str
    kind: str
    default: Any
    text: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    @property
    def limits(self) -> str:
        """What values are allowed, in words; empty if all are."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.least is None:
            return ""
        return (
            f"at least {self.least:g}"
            if self.most is None
            else f"a value from {self.least:g} to {self.most:g}"
        )

    def parse(self, value: str) -> Any:
        """Turn a value from the command line into this parameter's type.

        Raises
        ------
        ParameterError
            It does not parse, or is outside what the parameter allows.
        """
        wanted = _KINDS.get(self.kind, "text")
        try:
            parsed = _PARSERS.get(self.kind, str)(value)
        except (ValueError, KeyError) as error:
            raise self._error(wanted, repr(value)) from error
        # NaN is not between them, either.
        if isinstance(parsed, int | float) and not -(2**32) < parsed < 2**32:
            raise self._error(f"{wanted} below 2**32", repr(value))
        if self.choices and str(parsed) not in self.choices:
            raise self._error(self.limits, repr(value))
        most = float("inf") if self.most is None else self.most
        if self.least is not None and not self.least <= parsed <= most:
            raise self._error(self.limits, value)
        return parsed

    def _error(self, wanted: str, value: str) -> ParameterError:
        return ParameterError(
            f"parameter {self.name}: expected {wanted}, found {value}."
        )


@dataclass(frozen=True)
class Notebook:
    """A notebook's source."""

    name: str
    path: Path
    node: Any
    """The notebook as nbformat holds it."""
    parameters: tuple[Parameter, ...]

    @property
    def title(self) -> str:
        """Its first heading."""
        found = re.search(r"^# (.+)$", self._sources("markdown"), re.MULTILINE)
        return found.group(1).strip() if found else self.name

    @property
    def code(self) -> str:
        """Source of its code cells."""
        return self._sources("code")

    def _sources(self, kind: str) -> str:
        return "\n".join(c.source for c in self.node.cells if c.cell_type == kind)

    @property
    def header(self) -> dict[str, Any]:
        """What its header says under ``verite:``."""
        return dict(self.node.metadata.get("verite", {}))

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets that it may read, from its header."""
        return tuple(self.header.get("data", ()))

    @property
    def week(self) -> int:
        """Week of the course, from its header; 0 if it has none."""
        return int(self.header.get("week", 0))

    @property
    def synthetic(self) -> bool:
        """Whether it is about a made-up world, by its header.

        Its reference run is then no evidence, and says so.
        """
        return bool(self.header.get("synthetic", False))

    @property
    def newsroom_tables(self) -> tuple[str, ...]:
        """Tables made from a newsroom on a page about real data, from its header."""
        return tuple(self.header.get("newsroom", ()))

    def check(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Parse values from the command line.

        Raises
        ------
        ParameterError
            An unknown name (the message lists what exists) or a value that does not
            parse.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        if unknown := [name for name in given if name not in known]:
            listing = "\n".join(map(describe, self.parameters)) or "  (none)"
            raise ParameterError(
                f"notebook {self.name} has no parameter {name_some(unknown)}. It"
                f" has:\n{listing}"
            )
        return {name: known[name].parse(value) for name, value in given.items()}

    def write_plain(self, path: str | Path) -> None:
        """Write it as ``.ipynb``, without outputs, for papermill, Jupyter or Colab."""
        import nbformat

        with atomic_path(path) as temporary:
            nbformat.write(self.node, temporary)  # type: ignore[no-untyped-call]


def describe(parameter: Parameter) -> str:
    """One line for a listing."""
    rule = f"{parameter.limits}; " if parameter.limits else ""
    return (
        f"  {parameter.name}: {parameter.kind} = {parameter.default!r}  "
        f" {rule}{parameter.text}"
    )


def list_notebooks() -> list[str]:
    """Names of all notebooks, in alphabetical order."""
    return sorted(path.stem for path in source_folder().glob("*.md"))


def open_notebook(name: str) -> Notebook:
    """Read a notebook's source by name.

    Raises
    ------
    ParameterError
        There is no such notebook; the message lists all.
    """
    if name not in list_notebooks():
        raise ParameterError(
            f"no notebook {name!r}. There are: {', '.join(list_notebooks()) or 'none'}."
        )
    return read_notebook(source_folder() / f"{name}.md")


def read_notebook(path: Path) -> Notebook:
    """Read a notebook's source; the same source gives the same ids of cells."""
    import jupytext

    node = jupytext.read(path, fmt="md:myst")
    for at, cell in enumerate(node.cells):
        cell["id"] = f"{path.stem}-{at}"[-64:]
    return Notebook(path.stem, path, node, _parameters(node, path))


def _parameters(node: Any, path: Path) -> tuple[Parameter, ...]:
    from papermill.translators import PythonTranslator

    cells = [
        cell for cell in node.cells if "parameters" in cell.metadata.get("tags", ())
    ]
    parameters = []
    for one in PythonTranslator.inspect(cells[0]) if cells else []:
        try:
            default = ast.literal_eval(one.default)
        except (ValueError, SyntaxError) as error:
            raise DataError(
                f"{path}: parameter {one.name} has the default {one.default}; expected"
                " a plain value."
            ) from error
        kind = one.inferred_type_name
        rule = _RULE.match(one.help)
        choices, least, most, text = rule.groups() if rule else ("", "", "", one.help)
        parameters.append(
            Parameter(
                one.name,
                type(default).__name__ if kind == "None" else kind,
                default,
                text,
                tuple(map(str.strip, choices.split(","))) if choices else (),
                float(least) if least else None,
                float(most) if most else None,
            )
        )
    return tuple(parameters)
