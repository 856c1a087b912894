"""No circle of imports between files or packages, lazy imports included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = ("verite", "averimatec", "veritebook")


def modules() -> dict[str, Path]:
    """Path of each module, by its dotted name."""
    listed = {}
    for package in PACKAGES:
        for path in (REPOSITORY / package).rglob("*.py"):
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            listed[".".join(parts).removesuffix(".__init__")] = path
    return listed


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Modules of ours that a module imports, at its head or inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [full if full in known else str(node.module) for full in whole]
        else:
            continue
        yield from (target for target in targets if target in known and target != name)


@pytest.fixture(scope="module")
def files() -> networkx.DiGraph:
    known = modules()
    return networkx.DiGraph(
        (name, target)
        for name, path in known.items()
        for target in imports(name, path, known)
    )


def cycles(graph: networkx.DiGraph) -> list[set[str]]:
    parts = networkx.strongly_connected_components(graph)
    return [part for part in parts if len(part) > 1]


def test_no_cycle_between_files(files):
    assert files.number_of_edges() > 300
    assert cycles(files) == []


def test_no_cycle_between_packages(files):
    def package(name: str) -> str:
        return ".".join(name.split(".")[:2])

    graph = networkx.DiGraph(
        (package(one), package(other))
        for one, other in files.edges
        if package(one) != package(other)
    )
    assert cycles(graph) == []
