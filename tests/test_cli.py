from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from verite import cli
from verite.errors import ParameterError

REPOSITORY = Path(__file__).resolve().parents[1]


def verite(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-m", "verite", *words],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_list_of_notebooks_names_each_parameter():
    done = verite("run", "--list")
    assert done.returncode == 0
    assert "detector-on-verite: A detector on VERITE" in done.stdout
    assert "  folds: int = 5   at least 3;" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "detector"), "verite: no notebook 'detector'. There are: building-verite, detector-on-verite, measuring-bias"),
        (("run",), "verite: which notebook? There are: building-verite"),
        (("run", "measuring-bias", "-p", "folds", "3"), "verite: notebook measuring-bias has no parameter folds. It has:\n  convention"),
        (("run", "measuring-bias", "-p", "seed", "x"), "verite: parameter seed: expected an integer, found 'x'."),
        (("run", "measuring-bias", "-p", "seed"), "verite: parameter seed has no value. Write: -p seed VALUE."),
        (("run", "measuring-bias", "-p", "seed", "1", "-p", "seed", "2"), "verite: parameter seed is given twice."),
        (("run", "measuring-bias", "-p", "seed", "--out", "x"), "verite: parameter seed has no value. Write: -p seed VALUE."),
        (("run", "../README"), "verite: no notebook '../README'."),
        (("data", "fetch", "imagenet"), "verite: "),
        (("notebook", "measuring-bias", "/proc/none/out.ipynb"), "verite: cannot write /proc/none/out.ipynb"),
    ],
)
def test_a_users_mistake_is_one_message_and_no_traceback(words, message):
    done = verite(*words)
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr


def test_an_unknown_command_is_a_usage_error():
    done = verite("bok")
    assert done.returncode == 2
    assert "No such command 'bok'" in done.stderr


def test_a_plain_notebook_can_be_written_for_papermill_and_colab(tmp_path):
    done = verite("notebook", "measuring-bias", str(tmp_path / "out.ipynb"))
    assert done.returncode == 0
    cells = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    again = verite("notebook", "measuring-bias", str(tmp_path / "out.ipynb"))
    assert again.returncode == 1
    assert "is there, perhaps with changes of yours" in again.stderr
    assert any("parameters" in cell["metadata"].get("tags", []) for cell in cells)


def test_the_data_commands_say_where_what_and_how(tmp_path):
    home = str(tmp_path)
    assert verite("data", "path", VERITE_DATA=home).stdout.strip() == home
    listed = verite("data", "list", VERITE_DATA=home).stdout
    assert all(name in listed for name in ("verite", "vmu-twitter", "cosmos", "fakeddit", "newsroom"))
    status = verite("data", "status", VERITE_DATA=home).stdout
    assert "verite/VERITE.csv" in status
    assert "not there" in status


def test_the_two_ways_to_give_a_parameter_are_one():
    assert cli._pairs(["a=1", "b=x=y"]) == {"a": "1", "b": "x=y"}
    with pytest.raises(ParameterError, match="given twice"):
        cli._pairs(["a=1", "a=2"])
