"""What the page on contributing shows works.

Its blocks, put into a copy of the repository, do what it says of them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from veritebook.results import read_results

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "book" / "contributing.md"
BLOCK = re.compile(
    r"^~~~\{code-block\} (?P<kind>\w+)\n:caption: (?P<file>\S+)\n\n(?P<text>.*?)^~~~$",
    re.MULTILINE | re.DOTALL,
)
COPIED = (
    "verite",
    "averimatec",
    "veritebook",
    "notebooks",
    "book",
    "tests",
    "_toc.yml",
    "pyproject.toml",
    "environment.yml",
    "constraints.txt",
    "README.md",
)


def changed(text: str, change: str) -> str:
    """Text after a change: blocks of lines that go, come (-, +) or show the place,
    between lines that begin with @@.
    """
    for part in re.split(r"^@@\n", change, flags=re.MULTILINE):
        lines = part.splitlines()
        old, new = (
            "".join(f"{line[1:]}\n" for line in lines if line[:1] != skipped)
            for skipped in "+-"
        )
        places = list(re.finditer(f"^{re.escape(old)}", text, re.MULTILINE))
        assert len(places) == 1, f"expected once, found {len(places)} times:\n{old}"
        text = text[: places[0].start()] + new + text[places[0].end() :]
    return text


@pytest.fixture(scope="module")
def blocks():
    """Every block of the page: its kind, its file, its text."""
    return [
        found.group("kind", "file", "text")
        for found in BLOCK.finditer(PAGE.read_text(encoding="utf8"))
    ]


@pytest.fixture(scope="module")
def copy(blocks, tmp_path_factory):
    """A copy of the repository into which all blocks were put."""
    folder = tmp_path_factory.mktemp("copy")
    made = shutil.ignore_patterns("executed", "generated", "__pycache__", "_build")
    for name in COPIED:
        if (REPOSITORY / name).is_dir():
            shutil.copytree(REPOSITORY / name, folder / name, ignore=made)
        else:
            shutil.copy(REPOSITORY / name, folder / name)
    for kind, name, text in blocks:
        path = folder / name
        if kind == "diff":
            path.write_text(
                changed(path.read_text(encoding="utf8"), text), encoding="utf8"
            )
        else:
            assert not path.exists(), f"{name} is there already"
            path.write_text(text, encoding="utf8")
    return folder


@pytest.fixture
def run(copy):
    """Run Python in the copy, with the copy's package.

    Fail with what it said if it fails.
    """

    def of(*arguments, **environment):
        clean = {
            name: value for name, value in os.environ.items() if name != "VERITE_DATA"
        }
        told = {**clean, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1", **environment}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=copy,
            env=told,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
        return done.stdout

    return of


def test_the_page_shows_a_chapter_a_data_set_a_maker_and_a_measure(blocks):
    new = [name for kind, name, _ in blocks if kind != "diff"]
    assert {str(Path(name).parent) for name in new} >= {
        "notebooks",
        "verite/datasets",
        "verite/synthesis",
        "verite/evaluation",
    }
    assert PAGE.read_text(encoding="utf8").count("~~~{") == len(blocks)


def test_a_chapter_is_a_notebook_and_a_line_of_the_contents(blocks):
    page = PAGE.read_text(encoding="utf8")
    start, end = page.index("\n## A chapter"), page.index("\n## A data set")
    files = {name for _, name, text in blocks if text in page[start:end]}
    kept = {name for name in files if not name.startswith("tests/")}
    checks = "veritebook/course/checks/caption_length.py"
    assert kept - {checks} == {"notebooks/caption-length.md", "_toc.yml"}


def test_the_chapter_runs_has_results_and_passes_the_test_that_is_shown_for_it(
    run, copy, blocks, tmp_path
):
    out = run(
        "-m",
        "verite",
        "run",
        "caption-length",
        "-p",
        "source",
        "newsroom",
        "-p",
        "resamples",
        "200",
        "--out",
        str(tmp_path / "out"),
    )
    assert "made from: newsroom" in out
    results = read_results(
        tmp_path / "out" / "caption-length" / "results.csv"
    ).set_index(["table", "row", "column"])
    assert set(results.loc["words"].index.get_level_values("row")) == {
        "true",
        "out-of-context",
        "miscaptioned",
    }
    [shown] = [
        text for _, name, text in blocks if name == "tests/veritebook/test_book.py"
    ]
    scope: dict = {}
    exec(  # noqa: S102 - code of the page
        "".join(line[1:] + "\n" for line in shown.splitlines() if line.startswith("+")),
        scope,
    )
    [test] = [one for name, one in scope.items() if name.startswith("test_")]
    test({"caption-length": results}.__getitem__)


def test_the_repositorys_own_tests_pass_with_what_the_page_adds(run):
    out = run(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"),
        "tests/test_repository.py::test_every_page_of_the_contents_has_its_source",
        *(f"tests/veritebook/test_course.py::{name}" for name in (
            "test_every_notebook_has_a_week",
            "test_the_plan_of_the_course_has_the_titles_of_the_weeks",
            "test_the_guide_has_a_section_for_each_chapter_and_answers_no_exercise_that_is_not_there",
        )),
        "tests/veritebook/test_exercises.py",
        "tests/verite/datasets/test_registry.py",
        "tests/verite/datasets/test_fact_desk.py",
        "tests/verite/synthesis/test_makers.py",
        "tests/verite/synthesis/test_ends.py",
        "tests/verite/evaluation/test_above_chance.py",
        *("verite/datasets/__init__.py", "verite/synthesis/__init__.py"),
        *("verite/synthesis/ends.py", "verite/evaluation/above_chance.py"),
        "-k",
        "(not test_exercises or caption-length) and (not test_makers or Ends)"
        " and (not test_registry or fact-desk or unknown_name)",
    )  # fmt: skip
    assert int(re.search(r"(\d+) passed", out).group(1)) > 30
    assert "failed" not in out


def test_the_maker_is_offered_on_the_command_line_with_its_parameter(run, tmp_path):
    told = run(
        "-m",
        "verite",
        "synth",
        "Ends",
        "--data",
        "newsroom",
        "--events",
        "30",
        "-p",
        "words",
        "2",
        "--out",
        str(tmp_path / "made"),
    )
    assert "Ends" in told
    made = (tmp_path / "made" / "pairs.csv").read_text(encoding="utf8")
    assert ":Ends," in made


def test_what_the_page_shows_is_in_the_repositorys_style(run, copy, blocks):
    files = sorted({name for kind, name, _ in blocks if kind == "python"})
    run("-m", "ruff", "check", *files)
    run("-m", "ruff", "format", "--check", *files)


@pytest.mark.parametrize(
    ("text", "change"),
    [("a\nb\n", " c\n+d\n"), ("a\na\n", " a\n+d\n"), ("xa\n", " a\n+d\n")],
)
def test_a_change_whose_place_is_not_there_or_there_twice_is_refused(text, change):
    with pytest.raises(AssertionError, match="expected once"):
        changed(text, change)


def test_a_change_replaces_lines_and_puts_others_beside_them():
    assert changed("a\nb\nc\n", "-b\n+B\n c\n+d\n@@\n+0\n a\n") == "0\na\nB\nc\nd\n"
