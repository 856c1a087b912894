"""Where things are: every path of the book is named here and nowhere else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from verite.errors import MissingDataError

__all__ = ["Places", "find_places", "result_folder", "run_folder", "source_folder"]

_PACKAGE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Places:
    """Folders of a checkout.

    >>> Places(Path("repo")).index.as_posix()
    'repo/_build/html/index.html'
    """

    root: Path

    @property
    def executed(self) -> Path:
        """Executed notebooks and what their runs wrote: made, never committed."""
        return self.root / "notebooks" / "executed"

    @property
    def reference(self) -> Path:
        """Results of reference runs on the real data: aggregates, committed."""
        return self.root / "book" / "reference"

    @property
    def generated(self) -> Path:
        """Pages that are written anew at each build."""
        return self.root / "book" / "generated"

    @property
    def index(self) -> Path:
        """First page of the built book."""
        return self.root / "_build" / "html" / "index.html"

    @property
    def built(self) -> Path:
        """Key of the inputs from which pages and slides were built."""
        return self.root / "_build" / "built.json"

    @property
    def pdf(self) -> Path:
        """The whole book, printed."""
        return self.root / "_build" / "verite-executed.pdf"

    @property
    def slides(self) -> Path:
        """Sources of the slides."""
        return self.root / "book" / "teaching" / "slides"

    @property
    def built_slides(self) -> Path:
        """Slides as pages, beside those of the book."""
        return self.root / "_build" / "html" / "slides"


def find_places() -> Places:
    """Find the checkout: here or above, or the package's own.

    It is the folder with ``_toc.yml`` and ``notebooks/``.

    Raises
    ------
    MissingDataError
        There is none: the package was installed without the book.
    """
    here = Path.cwd().resolve()
    for folder in (here, *here.parents, _PACKAGE.parent):
        if (folder / "_toc.yml").is_file() and (folder / "notebooks").is_dir():
            return Places(folder)
    raise MissingDataError(
        f"no checkout of the book at or above {here} (looked for _toc.yml and"
        " notebooks/). Clone the repository and run this inside it."
    )


def source_folder() -> Path:
    """Folder of the notebooks' sources.

    The checkout's, or the copy that an installed package carries.
    """
    packed = _PACKAGE / "_notebooks"
    try:
        return find_places().root / "notebooks"
    except MissingDataError:
        if packed.is_dir():
            return packed
        raise


def result_folder(name: str) -> Path:
    """Folder for a notebook's results and record.

    One that its run puts in place at the end, else :func:`run_folder`.
    """
    given = os.environ.get("VERITE_RESULT_DIR")
    return Path(given) if given else run_folder(name)


def run_folder(name: str) -> Path:
    """Folder into which a notebook writes.

    The one its run was given, else ``verite-runs/NAME`` here.
    """
    given = os.environ.get("VERITE_RUN_DIR")
    return Path(given) if given else Path.cwd() / "verite-runs" / name
