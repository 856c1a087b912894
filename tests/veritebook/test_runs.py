from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from verite.errors import ParameterError, RunError, VeriteError
from verite.files import lock, sha256
from veritebook.runs import run_notebook

REPOSITORY = Path(__file__).resolve().parents[2]


def verite(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "verite", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_writes_notebook_results_and_record(checkout):
    folder = checkout()
    run = run_notebook("small", {"size": "2"})
    assert run.notebook == folder / "notebooks" / "executed" / "small.ipynb"
    assert (run.folder / "results.csv").read_text().splitlines() == [
        "table,row,column,value,low,high,n,unit,protocol,source",
        "t,0,x,0.1666666667,,,,,none,paper",
        "t,1,x,0.1666666667,,,,,none,paper",
    ]
    record = json.loads((run.folder / "record.json").read_text())
    assert record["parameters"] == {
        "size": 2,
        "source": "auto",
        "share": 0.5,
        "loud": False,
    }
    assert record["results"] == {"results.csv": sha256(run.folder / "results.csv")}
    assert record["versions"]["python"].startswith("3.")
    assert record["seconds"] > 0
    assert len(record["inputs"]) == 24


def test_two_runs_with_the_same_parameters_give_the_same_bytes(checkout, tmp_path):
    checkout()
    one, two = (
        run_notebook("small", {"share": "0.3"}, out=tmp_path / each)
        for each in ("one", "two")
    )
    assert (one.folder / "results.csv").read_bytes() == (
        two.folder / "results.csv"
    ).read_bytes()


def test_the_cell_that_papermill_puts_in_is_hidden_and_times_are_dropped(checkout):
    checkout()
    node = json.loads(run_notebook("small", {"size": "2"}).notebook.read_text())
    injected = [
        cell
        for cell in node["cells"]
        if "injected-parameters" in cell["metadata"].get("tags", [])
    ]
    assert [cell["metadata"]["tags"] for cell in injected] == [
        ["injected-parameters", "remove-cell"]
    ]
    assert "papermill" not in node["metadata"]
    assert all("papermill" not in cell["metadata"] for cell in node["cells"])


def test_progress_bars_do_not_reach_the_page_and_warnings_do(checkout):
    checkout(
        small=(
            "import sys\nprint('warned', file=sys.stderr)\nprint('\\r 10 %\\r 100 %',"
            " file=sys.stderr)\n"
        )
    )
    node = json.loads(run_notebook("small").notebook.read_text())
    assert node["cells"][-1]["outputs"][0]["text"] in (["warned\n"], "warned\n")


def test_an_unknown_parameter_runs_nothing(checkout):
    folder = checkout()
    with pytest.raises(ParameterError, match="no parameter sise"):
        run_notebook("small", {"sise": "2"})
    assert not (folder / "notebooks" / "executed").exists()


def test_a_failing_cell_shows_its_traceback_and_keeps_the_last_result(checkout):
    folder = checkout()
    run = run_notebook("small")
    before = run.notebook.read_bytes()
    source = folder / "notebooks" / "small.md"
    source.write_text(source.read_text().replace("page.finish()", "1 / 0"))
    with pytest.raises(
        RunError, match=r"(?s)notebook small: cell \d+ failed.*ZeroDivisionError"
    ):
        run_notebook("small")
    assert run.notebook.read_bytes() == before
    assert (run.folder / "failed.ipynb").exists()


def test_an_input_error_in_a_cell_is_a_message_without_traceback(checkout):
    folder = checkout(small="from verite import load\nload('verite', encoder='RN50')\n")
    done = verite("run", "small", folder=folder)
    assert done.returncode == 1
    assert "notebook small: cell 2: " in done.stderr
    assert "RN50" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_failed_run_leaves_results_and_record_of_the_last_one(checkout):
    folder = checkout()
    run = run_notebook("small")
    before = [
        (run.folder / name).read_bytes() for name in ("results.csv", "record.json")
    ]
    source = folder / "notebooks" / "small.md"
    source.write_text(source.read_text() + "\n```{code-cell} ipython3\n1 / 0\n```\n")
    with pytest.raises(RunError, match="ZeroDivisionError"):
        run_notebook("small", {"size": "1"})
    assert [
        (run.folder / name).read_bytes() for name in ("results.csv", "record.json")
    ] == before


def test_the_record_names_the_page_it_belongs_to(checkout):
    checkout()
    run = run_notebook("small")
    record = json.loads((run.folder / "record.json").read_text())
    assert record["page"] == sha256(run.notebook)
    assert record["dataset"] == "paper"


def test_a_second_run_into_the_same_folder_waits_for_the_user_to_decide(checkout):
    folder = checkout()
    home = folder / "notebooks" / "executed" / "small"
    home.mkdir(parents=True)
    with (
        lock(home),
        pytest.raises(VeriteError, match="another run is using .*choose another"),
    ):
        run_notebook("small")


def test_a_kernel_that_dies_is_a_message_without_traceback(checkout):
    folder = checkout(small="import os\nos._exit(1)\n")
    done = verite("run", "small", folder=folder)
    assert done.returncode == 1
    assert (
        "notebook small: the notebook's process could not start, or died" in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_an_output_that_cannot_be_written_is_named(checkout, tmp_path):
    checkout()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        VeriteError, match="cannot write to .*file.*Choose another folder"
    ):
        run_notebook("small", out=tmp_path / "file")


def test_what_finished_before_ctrl_c_is_kept_and_not_done_again(checkout):
    """The notebook counts how often a block is worked on.

    The second run does only what the first did not.
    """
    body = """
    import os, pathlib, time
    from verite.blocks import run_blocks
    from veritebook.places import run_folder

    home = run_folder("small")

    def work(number):
        with open(home / "worked.txt", "a") as log:
            log.write(f"{number}\\n")
        time.sleep(0 if number == 0 else float((home / "nap.txt").read_text()))
        return {"number": number}

    print(run_blocks(work, {"first": (0,), "second": (1,)}, directory=home / "blocks"))
    """
    folder = checkout(small=body)
    home = folder / "notebooks" / "executed" / "small"
    home.mkdir(parents=True)
    (home / "nap.txt").write_text("60")
    running = subprocess.Popen(
        [sys.executable, "-m", "verite", "run", "small"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not (
        (home / "worked.txt").exists() and "1" in (home / "worked.txt").read_text()
    ):
        assert time.monotonic() < deadline, "the notebook did not begin"
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "run the same command to go on" in said
    assert "Traceback" not in said
    (home / "nap.txt").write_text("0")
    assert verite("run", "small", folder=folder).returncode == 0
    assert (home / "worked.txt").read_text().split() == ["0", "1", "1"]
