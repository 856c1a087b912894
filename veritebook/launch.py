"""Rerun a chapter: the command, and notebooks that Binder and Colab open.

Executed notebooks are never committed. Binder opens a chapter's source, which jupytext
turns into a notebook. Colab opens notebooks only, so the workflow of the repository's
host pushes them to a branch of their own, :data:`BRANCH`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from verite.errors import ParameterError
from veritebook.notebooks import list_notebooks, open_notebook

__all__ = [
    "BRANCH",
    "binder_url",
    "colab_url",
    "launch_notebook",
    "rerun_command",
    "write_launch_notebooks",
]

BRANCH = "launch"
"""Branch to which the workflow pushes what :func:`write_launch_notebooks` writes."""

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")


def rerun_command(name: str, values: Mapping[str, Any]) -> str:
    r"""Shell command that runs a chapter with given values, one parameter per line.

    >>> print(rerun_command("errata", {"verdict": "follows in part", "longest": 400}))
    verite run errata \
      -p verdict 'follows in part' \
      -p longest 400 \
      --out mine
    """
    given = [shlex.join(["-p", key, str(value)]) for key, value in values.items()]
    return " \\\n  ".join([shlex.join(["verite", "run", name]), *given, "--out mine"])


def binder_url(repository: str, name: str) -> str:
    """Address under which Binder opens a chapter's source, in a built environment.

    Parameters
    ----------
    repository
        ``OWNER/NAME`` on GitHub.
    name
        The chapter's.

    Raises
    ------
    ParameterError
        ``repository`` is no such name.

    >>> binder_url("owner/book", "errata")
    'https://mybinder.org/v2/gh/owner/book/HEAD?labpath=notebooks%2Ferrata.md'
    """
    path = quote(f"notebooks/{name}.md", safe="")
    return f"https://mybinder.org/v2/gh/{_checked(repository)}/HEAD?labpath={path}"


def colab_url(repository: str, name: str) -> str:
    """Address under which Colab opens a chapter from the branch :data:`BRANCH`.

    See :func:`binder_url`.

    >>> colab_url("owner/book", "errata")
    'https://colab.research.google.com/github/owner/book/blob/launch/errata.ipynb'
    """
    github = f"https://colab.research.google.com/github/{_checked(repository)}"
    return f"{github}/blob/{BRANCH}/{name}.ipynb"


def launch_notebook(name: str, repository: str) -> Any:
    """Make a chapter that runs where nothing is installed.

    Its first cell installs the package from the repository, ``OWNER/NAME`` on GitHub;
    the rest is the student's edition, without outputs.

    Returns
    -------
    nbformat.NotebookNode

    Raises
    ------
    ParameterError
        ``repository`` is no such name, or there is no such chapter.
    """
    from nbformat import v4

    from veritebook.course import for_students

    node = for_students(open_notebook(name))
    address = f"git+https://github.com/{_checked(repository)}"
    source = (
        "# Once, and it takes a few minutes. Restart the session if you are asked"
        f" to.\n%pip install --quiet {address}"
    )
    node.cells.insert(0, v4.new_code_cell(source, id="install"))  # type: ignore[no-untyped-call]
    return node


def write_launch_notebooks(
    folder: str | os.PathLike[str], repository: str
) -> list[Path]:
    """Write :func:`launch_notebook` of every chapter as ``NAME.ipynb``; return all."""
    import nbformat

    from verite.files import atomic_path

    written = []
    for name in list_notebooks():
        written.append(Path(folder) / f"{name}.ipynb")
        with atomic_path(written[-1]) as temporary:
            nbformat.write(launch_notebook(name, repository), temporary)  # type: ignore[no-untyped-call]
    return written


def _checked(repository: str) -> str:
    if not _REPOSITORY.fullmatch(repository):
        raise ParameterError(
            f"repository: expected OWNER/NAME, found {repository!r}. Set"
            " GITHUB_REPOSITORY, or verite_repository in _config.yml."
        )
    return repository
