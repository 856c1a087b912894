"""Build the book: run what is stale, then turn pages and notebooks into HTML.

Notebooks, pages and slides are each made again only if their inputs changed.
"""

from __future__ import annotations

import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from verite.blocks import content_key, core_count, worker_count
from verite.datasets import home
from verite.errors import RunError, StoppedError, name_some
from verite.files import sha256, write_json
from verite.provenance import versions
from veritebook.notebooks import list_notebooks, open_notebook
from veritebook.places import Places, find_places
from veritebook.record import input_key, read_json, read_record

__all__ = [
    "build_book",
    "refresh",
    "run_stale",
    "stale_notebooks",
]


def build_book(*, force: bool = False, say: Callable[[str], None] = print) -> Path:
    """Run stale notebooks, build pages and slides, and return ``index.html``.

    Warnings of the build are errors.

    Parameters
    ----------
    force
        Run every notebook and build every page, stale or not.
    say
        Prints a line of progress.

    Raises
    ------
    RunError
        A notebook failed (the others still ran), or the build gave a warning.
    """
    places = find_places()
    refresh(places, force=force, say=say)
    key = _page_key(places)
    if not force and places.index.is_file() and read_json(places.built) == {"key": key}:
        say("pages and slides are up to date")
        return places.index
    from veritebook.findings import write_findings
    from veritebook.slides import build_slides
    from veritebook.status import write_status

    places.built.unlink(missing_ok=True)
    write_status(places, {name: read_record(places, name) for name in list_notebooks()})
    write_findings(places)
    say("building the pages")
    index = _build_html(places)
    if places.slides.is_dir():
        build_slides(places, say)
    write_json(places.built, {"key": key})
    return index


def _page_key(places: Places) -> str:
    """Digest of all that pages and slides are made from."""
    folders = [places.root / "book", places.executed, Path(__file__).parent]
    files = [places.root / "_config.yml", places.root / "_toc.yml"]
    for folder in folders:
        files += [path for path in sorted(folder.rglob("*")) if path.is_file()]
    unused = {".lock", ".pyc"}
    digests = {
        str(path): sha256(path)
        for path in files
        if places.generated not in path.parents
        and "blocks" not in path.parts
        and not unused & {path.name, path.suffix}
    }
    return content_key(digests, versions(), os.environ.get("GITHUB_REPOSITORY", ""))


def refresh(
    places: Places, *, force: bool = False, say: Callable[[str], None] = print
) -> None:
    """Run the notebooks that are stale, or all of them.

    Raises
    ------
    RunError
        A notebook failed; the others still ran.
    """
    failed = run_stale(
        places, list_notebooks() if force else stale_notebooks(places), say
    )
    if failed:
        raise RunError(
            f"{len(failed)} notebook(s) failed: {name_some(failed)}. The book was not"
            " built; the errors appear above."
        )


def stale_notebooks(places: Places) -> list[str]:
    """Notebooks whose source, parameters, code or data changed since their last run."""
    stale = []
    for name in list_notebooks():
        record = read_record(places, name)
        # A page or results that were lost or damaged since are made again.
        written = {places.executed / f"{name}.ipynb": record.get("page")}
        written |= {
            places.executed / name / file: digest
            for file, digest in record.get("results", {}).items()
        }
        whole = all(
            path.is_file() and sha256(path) == digest
            for path, digest in written.items()
        )
        if not whole or record.get("inputs") != input_key(open_notebook(name), {}):
            stale.append(name)
    return stale


def run_stale(
    places: Places, names: list[str], say: Callable[[str], None]
) -> list[str]:
    """Run notebooks side by side, each in a process of its own.

    Return the names of those that failed.
    """
    if not names:
        say("all notebooks are up to date")
        return []
    beside = min(worker_count(), len(names))
    say(f"running {len(names)} notebook(s), {beside} at a time: {', '.join(names)}")
    failed = []
    running: list[subprocess.Popen[str]] = []
    with concurrent.futures.ThreadPoolExecutor(beside) as pool:
        threads = max(1, core_count() // beside)
        futures = {
            pool.submit(_run_apart, name, places.root, running, threads): name
            for name in names
        }
        try:
            for future in concurrent.futures.as_completed(futures):
                name, (code, output, seconds) = futures[future], future.result()
                if code:
                    failed.append(name)
                    say(f"{name}: failed after {seconds:.0f} s\n{output}")
                else:
                    say(f"{name}: done in {seconds:.0f} s")
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.send_signal(signal.SIGINT)
            raise StoppedError(
                "stopped. Notebooks that had finished are kept; run the same command to"
                " go on."
            ) from None
    return sorted(failed)


def _run_apart(
    name: str, root: Path, running: list[subprocess.Popen[str]], threads: int
) -> tuple[int, str, float]:
    begin = time.monotonic()
    # With all cores each, they would wait for each other.
    environment = {"OMP_NUM_THREADS": str(threads), **os.environ}
    if "VERITE_DATA" in environment:  # relative to this folder, not to the notebook's
        environment["VERITE_DATA"] = str(home().absolute())
    command = [sys.executable, "-m", "verite", "run", name]
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        running.append(process)
        output, _ = process.communicate()
    return process.returncode, re.sub(r"[^\n]*\r", "", output), time.monotonic() - begin


def _build_html(places: Places) -> Path:
    tool = Path(sys.executable).with_name("jupyter-book")
    if not tool.exists():
        raise RunError(
            "jupyter-book is not installed beside this Python. Install the extra: pip"
            ' install "verite[book]".'
        )
    options = ["--warningiserror", "--nitpick", "--keep-going", "--quiet"]
    done = subprocess.run(  # noqa: S603 - our own command
        [str(tool), "build", str(places.root), *options],
        capture_output=True,
        text=True,
        check=False,
        # Warnings of the tool's own imports; those of the build are errors.
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    if done.returncode or not places.index.exists():
        # A failed build may leave half of the pages; the next one starts from none.
        shutil.rmtree(places.root / "_build" / ".doctrees", ignore_errors=True)
        raise RunError(
            f"the pages were not built:\n{done.stdout[-4000:]}{done.stderr[-8000:]}"
        )
    return places.index
