"""Notes on a page: where its data come from, and how it was run."""

from __future__ import annotations

import html
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from veritebook.notebooks import Parameter
from veritebook.tables import Table

__all__ = ["Note", "Provenance", "parameter_table"]


class Note:
    """A sentence that stands out on a page."""

    def __init__(self, text: str, kind: str) -> None:
        self.text, self.kind = text, kind

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        shown = (
            f'<p class="verite-note"><strong>{html.escape(self.kind.capitalize())}.</strong>'
            f" {html.escape(self.text)}</p>"
        )
        return {"text/html": shown, "text/plain": f"{self.kind}: {self.text}"}


class Provenance:
    """The foot of a page: what was run, on what, with what, and how to run it again."""

    def __init__(
        self, record: Mapping[str, Any], reference: Mapping[str, Any] | None = None
    ) -> None:
        self.record = dict(record)
        self.reference = reference

    @property
    def command(self) -> str:
        """The command that repeats this run."""
        options = [
            word
            for name, value in self.record["parameters"].items()
            for word in ("-p", name, str(value))
        ]
        return shlex.join(["verite", "run", self.record["notebook"], *options])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        record = self.record
        data = [
            f"{path}: {digest[:12]}…" for path, digest in record["data"].items()
        ] or ["no file was read"]
        rows = {
            "Run again": self.command,
            "Made from": record["dataset"],
            "Commit": record["commit"],
            "Started": record["started"],
            "Took": (
                f"{record['seconds']} s, {record['peak memory MB']:,} MB at most in"
                " this process"
            ),
            "Data (SHA-256)": "; ".join(data),
            "Results (SHA-256)": "; ".join(
                f"{name}: {digest[:12]}…" for name, digest in record["results"].items()
            ),
            "Versions": ", ".join(
                f"{name} {version}" for name, version in record["versions"].items()
            ),
            "Machine": record["machine"],
        }
        if self.reference is not None:
            values = ", ".join(
                f"{name} = {value}"
                for name, value in self.reference["parameters"].items()
            )
            rows["Reference run"] = (
                f"{self.reference['started']}, commit {self.reference['commit']}:"
                f" {values}"
            )
        cells = "".join(
            f"<dt>{name}</dt><dd>{f'<code>{html.escape(value)}</code>' if name == 'Run again' else html.escape(value)}</dd>"
            for name, value in rows.items()
        )
        plain = "\n".join(f"{name}: {value}" for name, value in rows.items())
        return {
            "text/html": f'<dl class="verite-provenance">{cells}</dl>',
            "text/plain": plain,
        }


def parameter_table(
    name: str, parameters: Iterable[Parameter], settings: Mapping[str, Any]
) -> Table:
    """Table of a notebook's parameters: meaning, default, and value in this run."""
    rows = [
        {
            "parameter": parameter.name,
            "meaning": _meaning(parameter),
            "default": str(parameter.default),
            "this run": str(settings[parameter.name]),
        }
        for parameter in parameters
    ]
    frame = pd.DataFrame(rows).set_index("parameter")
    return Table(frame, f"Parameters of {name}", name="parameters")


def _meaning(parameter: Parameter) -> str:
    allowed = f" One of: {', '.join(parameter.choices)}." if parameter.choices else ""
    if not parameter.choices and parameter.limits:
        allowed = f" {parameter.limits[:1].upper()}{parameter.limits[1:]}."
    text = parameter.text[:1].upper() + parameter.text[1:]
    return f"{text}.{allowed}"
