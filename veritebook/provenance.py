"""Notes on a page: where its data come from, and how it was run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from veritebook.notebooks import Parameter
from veritebook.tables import TEMPLATES, Table

__all__ = ["Note", "Provenance", "parameter_table"]

_NOTE = TEMPLATES.from_string(
    '<p class="verite-note"><strong>{{ kind|capitalize }}.</strong> {{ text }}</p>'
)
_PROVENANCE = TEMPLATES.from_string(
    """<dl class="verite-provenance">{% for name, value in rows.items() -%}
<dt>{{ name }}</dt><dd>
{%- if name == "Run again" %}<code>{{ value }}</code>
{%- else %}{{ value }}{% endif %}</dd>
{%- endfor %}</dl>"""
)


class Note:
    """A sentence that stands out on a page."""

    def __init__(self, text: str, kind: str) -> None:
        self.text, self.kind = text, kind

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        shown = _NOTE.render(kind=self.kind, text=self.text)
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
        memory = f"{record['peak memory MB']:,} MB at most in this process"
        rows = {
            "Run again": self.command,
            "Made from": record["dataset"],
            "Commit": record["commit"],
            "Started": record["started"],
            "Took": f"{record['seconds']} s, {memory}",
            "Data (SHA-256)": _digests(record["data"]) or "no file was read",
            "Results (SHA-256)": _digests(record["results"]),
            "Versions": ", ".join(map(" ".join, record["versions"].items())),
            "Machine": record["machine"],
        }
        if kept := self.reference:
            values = [f"{name} = {value}" for name, value in kept["parameters"].items()]
            run = f"{kept['started']}, commit {kept['commit']}"
            rows["Reference run"] = f"{run}: {', '.join(values)}"
        plain = "\n".join(f"{name}: {value}" for name, value in rows.items())
        return {"text/html": _PROVENANCE.render(rows=rows), "text/plain": plain}


def _digests(files: Mapping[str, str]) -> str:
    return "; ".join(f"{path}: {digest[:12]}…" for path, digest in files.items())


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
    limits = parameter.limits
    if parameter.choices:
        limits = f"one of: {', '.join(parameter.choices)}"
    sentences = [part[:1].upper() + part[1:] for part in (parameter.text, limits)]
    return " ".join(f"{sentence}." for sentence in sentences if sentence)
