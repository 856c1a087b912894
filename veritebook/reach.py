"""Which definitions and data files a notebook can reach.

A run is stale if something changed that could change its result. A definition reaches
whatever its names, its imports (those inside functions too) and the attributes of
imported modules lead to. Docstrings, comments, help texts and ``__all__`` are left out.
What cannot be resolved counts as all of the module, so that nothing real is missed.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from verite.files import sha256
from veritebook.definitions import (
    BY_METHOD,
    CALL,
    Module,
    bindings,
    chain,
    read_module,
    scan,
)

__all__ = ["Graph", "package_graph"]

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("averimatec", "verite", "veritebook")
_DATA = {".csv", ".json", ".md", ".txt"}
_CHECKS, _DATASETS = "veritebook.course.checks.", "verite.datasets."
"""Folders whose modules are imported by name: that of the chapter, or of a data set."""


class _Item(NamedTuple):
    """A definition of a module.

    An empty name is its import, ``*`` all of it, ``+`` all of it if it is asked for.
    """

    module: str
    name: str


@dataclass
class _Links:
    """What some statements consist of and lead to."""

    digest: str = ""
    items: set[_Item] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    """Attributes and texts: names of methods and packages among them."""
    files: set[Path] = field(default_factory=set)
    reads_packages: bool = False
    """Whether data files of any package that a text names may be read."""

    def add(self, other: _Links) -> None:
        self.items |= other.items
        self.words |= other.words
        self.files |= other.files
        self.reads_packages |= other.reads_packages


class Graph:
    """Definitions of packages and what each leads to.

    Parameters
    ----------
    root
        Folder of the packages.
    packages
        Their names.
    """

    def __init__(self, root: Path, packages: Iterable[str]) -> None:
        self._paths = {
            _dotted(path.relative_to(root)): path
            for package in packages
            for path in sorted((root / package).rglob("*.py"))
        }
        self._modules: dict[str, Module] = {}
        self._links: dict[_Item, _Links] = {}
        self._registries: dict[tuple[str, int], set[_Item]] = {}

    def reach(
        self, code: str, chapter: str = "", data: Iterable[str] = ()
    ) -> dict[str, str]:
        """Digest of each definition and data file that Python code can reach.

        Parameters
        ----------
        code
            Source, such as that of a notebook's cells.
        chapter
            The notebook's name: checks of other chapters are not followed.
        data
            Data sets that it may read, besides those that its code names.
        """
        main = Module("", Path())
        try:
            total = self._follow(main, _parse(code))
        except SyntaxError:
            total = _Links(items={_Item(name, "*") for name in self._paths})
        names = {name.replace("-", "_") for name in total.words.union(data)}

        def is_used(item: _Item) -> bool:
            stem = item.module.rpartition(".")[2]
            if item.name != "+":
                return True
            if item.module.startswith(_CHECKS):
                return stem == chapter.replace("-", "_")
            # The data set verite-evidence is read by the module evidence.
            return not item.module.startswith(_DATASETS) or any(
                name.endswith(stem) for name in names
            )

        digests: dict[_Item, str] = {}
        waiting = set(total.items)
        while waiting:
            for item in waiting:
                links = self._expand(item)
                digests[item] = links.digest
                total.add(links)
            waiting = set(filter(is_used, total.items - digests.keys()))
            if not waiting:
                waiting = set(self._called(digests, total.words)) - digests.keys()
        files = total.files
        if total.reads_packages:
            for name in total.words & self._paths.keys():
                files |= set(_data(self._paths[name].parent))
        return dict(
            sorted(
                [(":".join(item), digest) for item, digest in digests.items()]
                + [("/".join(path.parts[-3:]), sha256(path)) for path in files]
            )
        )

    def _called(self, items: Iterable[_Item], words: set[str]) -> Iterator[_Item]:
        """Methods that something calls, and what is in registries that it reads."""
        reached = set(items)
        for item in reached:
            if item in BY_METHOD:
                for name in self._module(item.module).definitions:
                    owner, _, method = name.partition(".")
                    if owner == item.name and method in words:
                        yield _Item(item.module, name)
            if not item.name:
                for at, (name, _) in enumerate(self._module(item.module).registered):
                    registries = self._registries_of(item.module, at)
                    # A call that is not known to fill a registry may do anything.
                    unknown = name.startswith(CALL) and not registries
                    if unknown or registries & reached:
                        yield _Item(item.module, name)

    def _registries_of(self, name: str, at: int) -> set[_Item]:
        """Variables that a decorator or a call at import may add to."""
        if (name, at) not in self._registries:
            module = self._module(name)
            items = self._follow(module, [module.registered[at][1]]).items
            for item in list(items):
                if self._is(item, ast.FunctionDef):
                    items |= self._expand(item).items
            self._registries[name, at] = {
                item for item in items if self._is(item, ast.Assign, ast.AnnAssign)
            }
        return self._registries[name, at]

    def _is(self, item: _Item, *kinds: type[ast.AST]) -> bool:
        nodes = self._module(item.module).definitions.get(item.name, [])
        return bool(nodes) and isinstance(nodes[0], kinds)

    def _module(self, name: str) -> Module:
        if name not in self._modules:
            self._modules[name] = read_module(name, self._paths[name])
        return self._modules[name]

    def _expand(self, item: _Item) -> _Links:
        if item not in self._links:
            module = self._module(item.module)
            if item.name in {"*", "+"}:
                links = _Links(
                    items={_Item(module.name, k) for k in module.definitions}
                )
            else:
                links = self._follow(
                    module,
                    module.definitions[item.name] if item.name else module.effects,
                )
            links.items.add(_Item(module.name, ""))
            self._links[item] = links
        return self._links[item]

    def _follow(self, module: Module, parts: Iterable[ast.AST]) -> _Links:
        """Resolve every name in some statements of a module."""
        links = _Links()
        aliases = dict(module.aliases)
        nodes: list[ast.AST] = []
        for part in parts:
            part_nodes, digest = scan(part)
            nodes += part_nodes
            links.digest += digest
        for node in nodes:
            for name, targets in bindings(node, module).items():
                aliases[name] = [*aliases.get(name, []), *targets]
                for where, what in targets:
                    links.items |= set(self._imported(where, what))
        inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            if isinstance(node, ast.Attribute):
                links.words.add(node.attr)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                links.words.add(node.value)
            elif isinstance(node, ast.Call):
                links.items |= set(self._dynamic(node, nodes))
            elif isinstance(node, ast.Attribute | ast.Name) and id(node) not in inner:
                names = chain(node)
                links.items |= set(self._resolve(module, aliases, names))
                if "__file__" in names or any(
                    where == "importlib.resources"
                    for where, _ in aliases.get("".join(names[:1]), ())
                ):
                    links.reads_packages = True
                    # Two steps up from a file is the checkout, which holds no data.
                    if [getattr(one, "attr", "") for one in nodes].count("parent") < 2:
                        links.files |= set(_data(module.path.parent))
        return links

    def _resolve(
        self,
        module: Module,
        aliases: dict[str, list[tuple[str, str]]],
        names: list[str],
    ) -> Iterator[_Item]:
        """Definitions that ``a.b.c`` in a module leads to."""
        for first in names[:1]:
            if first in module.definitions:
                yield _Item(module.name, first)
            for where, what in aliases.get(first, ()):
                yield from self._find(where, [*([what] if what else []), *names[1:]])

    def _find(self, name: str, names: list[str]) -> Iterator[_Item]:
        """Definitions that attributes of a module lead to, through further imports."""
        if name not in self._paths or names[:1] == ["__name__"]:
            return
        module = self._module(name)
        if names and (names[0] in module.definitions or names[0] in module.aliases):
            yield from self._resolve(module, module.aliases, names)
        elif names and f"{name}.{names[0]}" in self._paths:
            yield from self._find(f"{name}.{names[0]}", names[1:])
        else:  # the module as an object, or a name that it makes in another way
            yield _Item(name, "*")

    def _imported(self, where: str, what: str) -> Iterator[_Item]:
        """Modules that an import executes, packages above them first."""
        parts = f"{where}.{what}".split(".")
        for size in range(1, len(parts) + 1):
            if (name := ".".join(parts[:size])) in self._paths:
                yield _Item(name, "")
        if what == "*" and where in self._paths:
            yield _Item(where, "*")

    def _dynamic(self, call: ast.Call, nodes: list[ast.AST]) -> Iterator[_Item]:
        """Modules that ``import_module`` may import.

        A text names one of them, an f-string those whose names begin like it, and
        anything else may be any.
        """
        if chain(call.func)[-1:] not in (["import_module"], ["__import__"]):
            return
        asked: list[ast.AST] = list(call.args[:1])
        if asked and isinstance(asked[0], ast.Name):
            asked = [
                node.value
                for node in nodes
                if isinstance(node, ast.Assign)
                and chain(node.targets[0]) == [asked[0].id]
            ]
        match asked:
            case [ast.Constant(value=str(known))]:
                names = self._paths.keys() & {known}
            case [ast.JoinedStr(values=[ast.Constant(value=str(start)), *_])]:
                for name in self._paths:
                    if name.startswith(start):
                        yield _Item(name, "+")
                return
            case _:
                names = set(self._paths)
        for name in names:
            yield _Item(name, "*")


@functools.cache
def package_graph() -> Graph:
    """Graph of the packages that this module belongs to."""
    return Graph(_ROOT, _PACKAGES)


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _data(folder: Path) -> Iterator[Path]:
    """Data files of a package, not those of packages in it."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not (path / "__init__.py").exists():
            yield from _data(path)
        elif path.suffix in _DATA:
            yield path


def _parse(code: str) -> list[ast.stmt]:
    """Statements of cells; lines for IPython alone are left out."""
    return ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", code, flags=re.M)).body
