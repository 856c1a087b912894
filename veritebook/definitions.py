"""The top-level definitions of a module, read from its source without running it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

__all__ = ["BY_METHOD", "CALL", "Module", "bindings", "chain", "read_module", "scan"]

BY_METHOD = {("veritebook.page", "Page")}
"""Classes of which chapters use parts: each method is a definition of its own."""

CALL = "call "
"""How the names of calls at import begin."""

_CONTEXT = {"ctx", "kind", "type_comment"}
_SKIPPED: dict[type, set[str]] = {
    ast.arg: {"annotation", "type_comment"},
    ast.FunctionDef: {"returns", "type_comment"},
}


@dataclass
class Module:
    """A module's top-level definitions and names."""

    name: str
    path: Path
    definitions: dict[str, list[ast.AST]] = field(default_factory=dict)
    aliases: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Imported names: the module, and the name in it, which may be empty."""
    effects: list[ast.AST] = field(default_factory=list)
    """Imports and other statements that do something when the module is imported."""
    registered: list[tuple[str, ast.expr]] = field(default_factory=list)
    """Definitions with a decorator, and calls: they may add to a registry."""

    def add(self, statement: ast.stmt) -> None:
        """Sort a statement into definitions, imports and the rest."""
        match statement:
            case ast.Import() | ast.ImportFrom():
                self._bind(statement)
                self.effects.append(statement)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                for node in statement.body:
                    self._bind(node)
            case ast.ClassDef() if (self.name, statement.name) in BY_METHOD:
                methods = [node for node in statement.body if _is_method(node)]
                for node in methods:
                    self._define(f"{statement.name}.{node.name}", node)
                statement.body = [
                    node for node in statement.body if node not in methods
                ]
                self._define(statement.name, statement)
            case ast.FunctionDef() | ast.ClassDef():
                self._define(statement.name, statement)
                for decorator in statement.decorator_list:
                    self.registered.append((statement.name, decorator))
            case ast.Expr(value=ast.Call(func=function)):
                name = f"{CALL}{len(self.registered)}"
                self._define(name, statement)
                self.registered.append((name, function))
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                pass
            case _:
                names = set(_names_set(statement))
                for name in names:
                    self._define(name, statement)
                if not names or not isinstance(statement, ast.Assign | ast.AnnAssign):
                    self.effects.append(statement)
                    for part in ast.walk(statement):
                        self._bind(part)
                        if isinstance(part, ast.FunctionDef | ast.ClassDef):
                            self._define(part.name, statement)

    def _define(self, name: str, node: ast.AST) -> None:
        self.definitions.setdefault(name, []).append(node)

    def _bind(self, node: ast.AST) -> None:
        for name, targets in bindings(node, self).items():
            self.aliases.setdefault(name, []).extend(targets)


def read_module(name: str, path: Path) -> Module:
    """Read a module's source."""
    module = Module(name, path)
    for statement in ast.parse(path.read_text(encoding="utf8")).body:
        if not _is_text(statement):
            module.add(statement)
    return module


def bindings(node: ast.AST, module: Module) -> dict[str, list[tuple[str, str]]]:
    """Names that an import binds: the module of each, and the name in it."""
    if isinstance(node, ast.Import):
        found: dict[str, list[tuple[str, str]]] = {}
        for part in node.names:
            if part.asname:
                found[part.asname] = [(part.name, "")]
            else:  # binds the first name, imports the last, too
                top = part.name.split(".")[0]
                found.setdefault(top, [(top, "")]).append((part.name, "__name__"))
        return found
    if not isinstance(node, ast.ImportFrom):
        return {}
    where = node.module or ""
    if node.level:
        parts = module.name.split(".")
        above = parts[: len(parts) - node.level + (module.path.stem == "__init__")]
        where = ".".join([*above, *([where] if where else [])])
    return {part.asname or part.name: [(where, part.name)] for part in node.names}


def chain(node: ast.AST) -> list[str]:
    """Names of ``a.b.c``; empty where it does not begin with a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []


def scan(part: ast.AST) -> tuple[list[ast.AST], str]:
    """Nodes of a statement, and a digest of what it does.

    Docstrings, help texts and annotations of functions do nothing; neither do imports
    by themselves.
    """
    nodes, text, stack = [], [], [part]
    while stack:
        node: Any = stack.pop()
        if isinstance(node, list):
            stack += [one for one in node if not _is_text(one)]
            text.append(str(len(stack)))
        elif isinstance(node, ast.AST):
            nodes.append(node)
            text.append(type(node).__name__)
            skipped = _SKIPPED.get(type(node), _CONTEXT)
            stack += [getattr(node, key) for key in node._fields if key not in skipped]
        else:
            text.append(repr(node))
    if isinstance(part, ast.Import | ast.ImportFrom):
        return nodes, ""
    return nodes, hashlib.sha256("\0".join(text).encode()).hexdigest()


def _is_text(node: Any) -> bool:
    """Whether it is a bare text, such as a docstring, or a help text."""
    if isinstance(node, ast.keyword):
        return node.arg == "help"
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_method(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("__")


def _names_set(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement assigns to, or changes something in."""
    for node in ast.walk(statement):
        if isinstance(getattr(node, "ctx", None), ast.Store):
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, ast.Subscript | ast.Attribute):
                yield from chain(node.value)[:1]
