"""Which code and which libraries computed a result."""

from __future__ import annotations

import ast
import functools
import hashlib
import platform
import subprocess
from importlib import metadata
from pathlib import Path

__all__ = ["code_digest", "commit", "versions"]

_ROOT = Path(__file__).resolve().parent.parent
_CODE = (
    "averimatec",
    "verite",
    "veritebook",
    "notebooks",
    "pyproject.toml",
    "constraints.txt",
)
_LIBRARIES = (
    "verite",
    "numpy",
    "pandas",
    "scikit-learn",
    "torch",
    "open-clip-torch",
    "papermill",
    "jupyter-book",
)


@functools.cache
def commit() -> str:
    """Git commit of the checkout; ``unknown`` outside of one.

    ``+changes`` follows it where code or notebooks differ.
    """
    try:
        base = ["git", "-C", str(_ROOT)]
        head, state = (
            subprocess.run(  # noqa: S603 - fixed words
                [*base, *words], capture_output=True, text=True, check=True
            )
            for words in (
                ["rev-parse", "--short=12", "HEAD"],
                ["status", "--porcelain", "--", *_CODE],
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("+changes" if state.stdout.strip() else "")


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that results depend on."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def code_digest(path: Path) -> str:
    """SHA-256 of what a Python file computes: comments, layout and docstrings left out.

    >>> code_digest(Path(__file__)) == code_digest(Path(__file__))
    True
    """
    tree = ast.parse(path.read_text(encoding="utf8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        # A bare string is a docstring, or documents the attribute above it.
        body[:] = [part for part in body if not _is_text(part)]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
