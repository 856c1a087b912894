"""Files of the repository that must agree with each other."""

from __future__ import annotations

import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[1]


def project():
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def name_of(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement).group().lower().replace("_", "-")


def test_the_pip_part_of_the_conda_environment_is_pyprojects():
    parts = yaml.safe_load((REPOSITORY / "environment.yml").read_text())["dependencies"]
    pip = next(part["pip"] for part in parts if isinstance(part, dict))
    extras = project()["optional-dependencies"]
    assert pip[0] == "--constraint constraints.txt"
    assert sorted(pip[1:]) == sorted(project()["dependencies"] + extras["book"] + extras["dev"])


def test_every_dependency_has_one_version_in_the_constraints():
    lines = [line for line in (REPOSITORY / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[^\s;@]+", line) for line in lines)
    pinned = [name_of(line) for line in lines]
    assert len(pinned) == len(set(pinned))
    extras = project()["optional-dependencies"]
    wanted = {name_of(each) for each in project()["dependencies"] + extras["book"] + extras["dev"]}
    assert not wanted - set(pinned)


def test_every_page_of_the_contents_has_its_source():
    contents = yaml.safe_load((REPOSITORY / "_toc.yml").read_text())
    pages = [contents["root"], *(chapter["file"] for part in contents["parts"] for chapter in part["chapters"])]
    for page in pages:
        source = page.replace("notebooks/executed/", "notebooks/")
        assert (REPOSITORY / f"{source}.md").exists(), page
    chapters = {path.stem for path in (REPOSITORY / "notebooks").glob("*.md")}
    assert chapters == {page.split("/")[-1] for page in pages if page.startswith("notebooks/")}


def test_nothing_that_is_made_is_committed():
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("needs a git checkout")
    made = [name for name in listed.stdout.splitlines() if name.endswith(".ipynb") or name.startswith(("_build/", "notebooks/executed/"))]
    assert made == []


def test_no_caption_of_the_real_data_is_in_the_repository(real_data):
    from verite import load

    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("needs a git checkout")
    text = "\n".join((REPOSITORY / name).read_text(encoding="utf8", errors="ignore") for name in listed.stdout.splitlines())
    captions = [caption for caption in load("verite", embeddings=False).pairs["caption"].unique() if len(caption) > 60]
    assert len(captions) > 500
    assert not [number for number, caption in enumerate(captions) if caption in text]


def test_a_built_package_carries_notebooks_sources_and_tables_and_nothing_that_was_made(tmp_path):
    hatchling = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling to build a wheel")
    [wheel] = hatchling.WheelBuilder(str(REPOSITORY)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(wheel).namelist()
    sources = {f"verite/_notebooks/{path.name}" for path in (REPOSITORY / "notebooks").glob("*.md")}
    assert {name for name in names if name.startswith("verite/_notebooks/")} == sources
    assert "verite/paper/tables/table7.csv" in names
    assert "verite/py.typed" in names
    assert not [
        name
        for name in names
        if name.startswith("tests/") or (name.endswith((".ipynb", ".json")) and not name.endswith("/verite-newsroom.json"))
    ]
    assert "verite/newsroom/verite-newsroom.json" in names


def test_every_table_and_figure_of_the_paper_is_found_where_the_book_says():
    text = (REPOSITORY / "book" / "where.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| \[\]\(([^)]+)\) \| \[([^]]+)\]\(([^)#]+)#[^)]+\) \|$", text, flags=re.MULTILINE)
    assert len(rows) == text.count("\n| ") - 1
    named = [what for what, *_ in rows]
    assert [what for what in named if what.startswith(("Table", "Figure"))] == [f"Table {n}" for n in range(1, 8)] + [
        f"Figure {n}" for n in range(1, 7)
    ]
    assert {"Claims of the text", "Derived figures"} <= set(named)
    contents = (REPOSITORY / "_toc.yml").read_text()
    for what, page, section, linked in rows:
        name = Path(page).stem
        assert page == linked
        assert f"notebooks/executed/{name}\n" in contents, what
        assert f"\n## {section}\n" in (REPOSITORY / "notebooks" / f"{name}.md").read_text(), what
