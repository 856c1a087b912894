"""Files of the repository that must agree with each other."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from verite.cli import app
from verite.options import join_options, parse_options
from veritebook.findings import write_findings
from veritebook.notebooks import list_notebooks, open_notebook
from veritebook.places import Places

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
    assert sorted(pip[1:]) == sorted(
        project()["dependencies"] + extras["book"] + extras["dev"]
    )


def test_every_dependency_has_one_version_in_the_constraints():
    lines = [
        line
        for line in (REPOSITORY / "constraints.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[^\s;@]+", line) for line in lines)
    pinned = [name_of(line) for line in lines]
    assert len(pinned) == len(set(pinned))
    extras = project()["optional-dependencies"]
    wanted = {
        name_of(each)
        for each in project()["dependencies"] + extras["book"] + extras["dev"]
    }
    assert not wanted - set(pinned)


def test_every_page_of_the_contents_has_its_source():
    contents = yaml.safe_load((REPOSITORY / "_toc.yml").read_text())
    pages = [
        contents["root"],
        *(
            chapter["file"]
            for part in contents["parts"]
            for chapter in part["chapters"]
        ),
    ]
    for page in pages:
        source = page.replace("notebooks/executed/", "notebooks/")
        assert (REPOSITORY / f"{source}.md").exists(), page
    chapters = {path.stem for path in (REPOSITORY / "notebooks").glob("*.md")}
    assert chapters == {
        page.split("/")[-1] for page in pages if page.startswith("notebooks/")
    }


def test_nothing_that_is_made_is_committed():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("needs a git checkout")
    made = [
        name
        for name in listed.stdout.splitlines()
        if name.endswith(".ipynb")
        or name.startswith(("_build/", "notebooks/executed/"))
    ]
    assert made == []


def test_no_caption_of_the_real_data_is_in_the_repository(real_data):
    from verite import load

    listed = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("needs a git checkout")
    text = "\n".join(
        (REPOSITORY / name).read_text(encoding="utf8", errors="ignore")
        for name in listed.stdout.splitlines()
    )
    captions = [
        caption
        for caption in load("verite", embeddings=False).pairs["caption"].unique()
        if len(caption) > 60
    ]
    assert len(captions) > 500
    assert not [number for number, caption in enumerate(captions) if caption in text]


def test_a_built_package_carries_notebooks_sources_and_tables_and_nothing_that_was_made(
    tmp_path,
):
    hatchling = pytest.importorskip(
        "hatchling.builders.wheel", reason="needs hatchling to build a wheel"
    )
    [wheel] = hatchling.WheelBuilder(str(REPOSITORY)).build(
        directory=str(tmp_path), versions=["standard"]
    )
    names = zipfile.ZipFile(wheel).namelist()
    sources = {
        f"veritebook/_notebooks/{path.name}"
        for path in (REPOSITORY / "notebooks").glob("*.md")
    }
    assert {
        name for name in names if name.startswith("veritebook/_notebooks/")
    } == sources
    assert "verite/paper/tables/table7.csv" in names
    assert "verite/py.typed" in names
    assert not [
        name
        for name in names
        if name.startswith("tests/")
        or (
            name.endswith((".ipynb", ".json"))
            and not name.endswith("/verite-newsroom.json")
        )
    ]
    assert "verite/newsroom/verite-newsroom.json" in names


def test_every_table_and_figure_of_the_paper_is_found_where_the_book_says():
    text = (REPOSITORY / "book" / "where.md").read_text()
    rows = re.findall(
        r"^\| ([^|]+) \| \[\]\(([^)]+)\) \| \[([^]]+)\]\(([^)#]+)#[^)]+\) \|$",
        text,
        flags=re.MULTILINE,
    )
    assert len(rows) == text.count("\n| ") - 1
    named = [what for what, *_ in rows]
    assert [what for what in named if what.startswith(("Table", "Figure"))] == [
        f"Table {n}" for n in range(1, 8)
    ] + [f"Figure {n}" for n in range(1, 7)]
    assert {"Claims of the text", "Derived figures"} <= set(named)
    contents = (REPOSITORY / "_toc.yml").read_text()
    for what, page, section, linked in rows:
        name = Path(page).stem
        assert page == linked
        assert f"notebooks/executed/{name}\n" in contents, what
        assert (
            f"\n## {section}\n" in (REPOSITORY / "notebooks" / f"{name}.md").read_text()
        ), what


def test_the_version_is_the_same_wherever_it_stands():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    newest = re.search(
        r"^## (\S+) \((unreleased|\d{4}-\d{2}-\d{2})\)$",
        (REPOSITORY / "CHANGELOG.md").read_text(),
        re.MULTILINE,
    )
    assert newest is not None
    assert project()["version"] == str(citation["version"]) == newest[1]
    assert str(citation.get("date-released", "unreleased")) == newest[2]


def test_the_citation_names_this_companion_and_the_paper():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert {
        "cff-version",
        "message",
        "title",
        "authors",
        "type",
        "version",
        "license",
    } <= set(citation)
    assert citation["license"] == project()["license"]
    [paper] = citation["references"]
    entry = re.search(
        r"@article\{papadopoulos2024verite,(.*?)^\}",
        (REPOSITORY / "book/references.bib").read_text(),
        re.M | re.S,
    )[1]
    printed = dict(re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", entry, re.M))
    assert paper["doi"] == printed["doi"]
    assert [
        f"{one['family-names']}, {one['given-names']}" for one in paper["authors"]
    ] == printed["author"].split(" and ")
    assert (str(paper["volume"]), str(paper["issue"]), str(paper["year"])) == (
        printed["volume"],
        printed["number"],
        printed["year"],
    )
    assert paper["title"] == re.sub(r"[{}]", "", printed["title"])


def test_zenodo_is_told_what_its_form_of_metadata_knows():
    """Names and words of https://developers.zenodo.org/#deposit-metadata, as far as
    this file uses them.
    """
    told = json.loads((REPOSITORY / ".zenodo.json").read_text())
    known = {
        "upload_type",
        "title",
        "description",
        "creators",
        "access_right",
        "license",
        "keywords",
        "related_identifiers",
    }
    assert set(told) == known
    assert (told["upload_type"], told["access_right"], told["license"]) == (
        "software",
        "open",
        project()["license"],
    )
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert [one["name"] for one in told["creators"]] == [
        one["name"] for one in citation["authors"]
    ]
    assert told["keywords"] == citation["keywords"] == project()["keywords"]
    related = {
        one["identifier"]: (one["scheme"], one["relation"], one["resource_type"])
        for one in told["related_identifiers"]
    }
    [paper] = citation["references"]
    assert related == {
        paper["doi"]: ("doi", "references", "publication-article"),
        f"arXiv:{paper['url'].rpartition('/')[2]}": (
            "arxiv",
            "references",
            "publication-preprint",
        ),
    }


SHOWN = [
    path
    for pattern in ("*.md", "book/*.md", "book/teaching/*.md")
    for path in sorted(REPOSITORY.glob(pattern))
]


def shown_commands(path):
    """Commands of the package and of make that a page shows, as words.

    In blocks of shell, and in single backticks.
    """
    text = path.read_text(encoding="utf8")
    blocks = "".join(
        re.findall(r"^```bash\n(.*?)^```$", text, re.M | re.S)
    ).splitlines()
    inline = re.findall(
        r"(?<!`)`((?:verite|make) [^`]+)`(?!`)",
        re.sub(r"^(```|~~~).*?^\1$", "", text, flags=re.M | re.S),
    )
    lines = [re.sub(r"^\.venv/bin/", "", line) for line in [*blocks, *inline]]
    return [
        shlex.split(line, comments=True)
        for line in lines
        if line.startswith(("verite ", "make "))
    ]


def unmade(words, chapters):
    """Parse a command without running it.

    It fails where a command, an option, a chapter, a parameter or a target does not
    exist.
    """
    if words[0] == "make":
        targets = re.findall(
            r"^([\w$()./]+):", (REPOSITORY / "Makefile").read_text(), re.M
        )
        missing = {word for word in words[1:] if "=" not in word} - set(targets)
        assert not missing, missing
        return
    command, rest = get_command(app), join_options(words[1:])
    while hasattr(command, "commands") and rest:
        command = command.commands[rest.pop(0)]
    if hasattr(command, "commands") or not rest:
        return  # named, and not given as it would be run
    values = command.make_context(command.name, rest).params
    if values.get("name") in chapters:
        open_notebook(values["name"]).check(parse_options(values.get("parameter", [])))


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_every_command_that_a_page_shows_is_one_that_there_is(path):
    for words in shown_commands(path):
        unmade(words, list_notebooks())


def test_a_command_that_there_is_not_would_be_found():
    for line, wrong in {
        "make everything": "everything",
        "verite runn errata": "runn",
        "verite run errata -p digit 2": "no parameter digit",
        "verite audit pairs.csv --output x": "--output",
    }.items():
        with pytest.raises(Exception, match=wrong):
            unmade(shlex.split(line), ["errata"])


def test_the_first_page_shows_the_picture_before_its_doors_and_the_table_after_them(
    tmp_path,
):
    shutil.copytree(REPOSITORY / "book" / "reference", tmp_path / "book" / "reference")
    write_findings(Places(tmp_path))
    lines = (tmp_path / "book" / "generated" / "findings.md").read_text().splitlines()
    text = (REPOSITORY / "book" / "index.md").read_text()
    place = (
        r"^```\{include\} generated/findings\.md\n(?::start-line:"
        r" (\d+)\n)?(?::end-line: (\d+)\n)?```$"
    )
    [(_, end), (start, _)] = re.findall(place, text, re.M)
    assert [line[:5] for line in lines[: int(end)]] == ["```{r", "<figu", "```"]
    assert [line[:6] for line in lines[int(start) :]] == ["```{ra", "<div c", "```"]
    assert (
        text.index(":end-line:")
        < text.index("## Four doors")
        < text.index(":start-line:")
    )
