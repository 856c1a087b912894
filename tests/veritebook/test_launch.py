"""Notebooks that Binder and Colab open, and what the repository must hold for them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
import yaml

from verite.errors import ParameterError
from veritebook.launch import (
    BRANCH,
    binder_url,
    colab_url,
    launch_notebook,
    rerun_command,
    write_launch_notebooks,
)
from veritebook.notebooks import list_notebooks, open_notebook

REPOSITORY = Path(__file__).resolve().parents[2]


def test_binder_opens_a_source_that_is_there_and_jupytext_knows():
    for name in list_notebooks():
        path = re.fullmatch(
            r"https://mybinder\.org/v2/gh/owner/book/HEAD\?labpath=notebooks%2F(.+)",
            binder_url("owner/book", name),
        )[1]
        text = (REPOSITORY / "notebooks" / path).read_text(encoding="utf8")
        assert "format_name: myst" in text.partition("---\n\n")[0]


def test_binder_finds_what_it_needs_and_installs_the_package():
    listed = yaml.safe_load((REPOSITORY / "environment.yml").read_text())[
        "dependencies"
    ]
    assert any(isinstance(one, str) and one.startswith("jupyterlab") for one in listed)
    assert any(
        one.startswith("jupytext")
        for part in listed
        if isinstance(part, dict)
        for one in part["pip"]
    )
    text = (REPOSITORY / "postBuild").read_text()
    assert text.startswith("#!/bin/bash\n")
    assert "pip install --no-deps --editable ." in text
    assert "jupytext-config set-default-viewer" in text


def test_the_workflow_pushes_what_the_build_writes_to_the_branch_that_colab_reads():
    jobs = yaml.safe_load(
        (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text()
    )["jobs"]
    [kept] = [
        step["with"]
        for step in jobs["test"]["steps"]
        if "upload-artifact" in step.get("uses", "")
    ]
    assert kept["path"] == "_build/launch"
    assert jobs["launch"]["needs"] == "test"
    assert jobs["launch"]["permissions"] == {"contents": "write"}
    fetched, pushed = jobs["launch"]["steps"]
    assert fetched["with"]["name"] == kept["name"]
    assert re.search(
        rf"git push --force \S+\$GITHUB_REPOSITORY\.git\" {BRANCH}$",
        pushed["run"],
        re.M,
    )
    assert f"/blob/{BRANCH}/errata.ipynb" in colab_url("owner/book", "errata")


@pytest.fixture(scope="module")
def launched(tmp_path_factory):
    return write_launch_notebooks(tmp_path_factory.mktemp("launch"), "owner/book")


def test_every_chapter_has_a_notebook_to_launch_without_outputs_and_solutions(launched):
    assert [path.stem for path in launched] == list_notebooks()
    for path in launched:
        node = nbformat.read(path, as_version=4)
        nbformat.validate(node)
        assert node.metadata.kernelspec.name == "python3"
        assert not any(cell.get("outputs") for cell in node.cells)
        assert "{dropdown}" not in path.read_text(encoding="utf8")


def test_a_notebook_to_launch_installs_the_package_first_and_then_is_the_chapter(
    launched,
):
    for path in launched:
        code = [
            cell.source
            for cell in nbformat.read(path, as_version=4).cells
            if cell.cell_type == "code"
        ]
        assert (
            code[0].splitlines()[-1]
            == "%pip install --quiet git+https://github.com/owner/book"
        )
        assert code[1:] == [
            cell.source
            for cell in open_notebook(path.stem).node.cells
            if cell.cell_type == "code"
        ]


@pytest.mark.parametrize(
    "repository",
    ["", "owner", "owner/book/more", "https://host/owner/book", "owner/a b", 'owner/"'],
)
def test_a_repository_that_is_none_is_refused(repository):
    for make in (
        lambda: binder_url(repository, "errata"),
        lambda: colab_url(repository, "errata"),
        lambda: launch_notebook("errata", repository),
    ):
        with pytest.raises(ParameterError, match="expected OWNER/NAME, found"):
            make()


def test_the_command_reaches_the_program_as_it_was_meant():
    """A shell takes it apart again: values with spaces, quotes and nothing at all."""
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("needs bash: the command is for a shell")
    values = {"a": "two words", "b": "it's", "c": "", "d": "$HOME", "e": -0.5}
    script = 'verite() { printf "%s\\n" "$@"; }\n' + rerun_command("errata", values)
    said = subprocess.run(
        [shell, "-c", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    given = [word for key, value in values.items() for word in ("-p", key, str(value))]
    assert said == ["run", "errata", *given, "--out", "mine"]
