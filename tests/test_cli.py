from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import pandas as pd
import pytest

from verite import cli
from verite.errors import ParameterError
from verite.options import parse_options
from verite.pairs import MAKER_COLUMNS, validate

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
    assert "  folds: int = 4   at least 3;" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("run", "detect"),
            (
                "verite: no notebook 'detect'. There are: audit-your-benchmark,"
                " bias-lab, building-verite, chasma, cosmos, detector"
            ),
        ),
        (
            ("run",),
            (
                "verite: which notebook? There are: audit-your-benchmark, bias-lab,"
                " building-verite"
            ),
        ),
        (
            ("run", "measuring-bias", "-p", "folds", "3"),
            (
                "verite: notebook measuring-bias has no parameter folds. It has:\n "
                " convention"
            ),
        ),
        (
            ("run", "measuring-bias", "-p", "seed", "x"),
            "verite: parameter seed: expected an integer, found 'x'.",
        ),
        (
            ("run", "measuring-bias", "-p", "seed"),
            "verite: parameter seed has no value. Write: -p seed VALUE.",
        ),
        (
            ("run", "measuring-bias", "-p", "seed", "1", "-p", "seed", "2"),
            "verite: parameter seed is given twice.",
        ),
        (
            ("run", "measuring-bias", "-p", "seed", "--out", "x"),
            "verite: parameter seed has no value. Write: -p seed VALUE.",
        ),
        (("run", "../README"), "verite: no notebook '../README'."),
        (("data", "fetch", "imagenet"), "verite: "),
        (
            ("newsroom", "out", "-p", "loud", "1"),
            "verite: newsroom has no knob 'loud'. It has: giveaway_rate, length_gap",
        ),
        (
            ("newsroom", "out", "-p", "giveaway_rate", "much"),
            "verite: newsroom: expected giveaway_rate to be a number, found 'much'.",
        ),
        (
            ("newsroom", "out", "-p", "giveaway_rate", "2"),
            (
                "verite: newsroom: expected giveaway_rate to be a number from 0 to 1,"
                " found 2.0."
            ),
        ),
        (
            ("newsroom", "out", "--preset", "reuters"),
            "verite: newsroom: no preset is called 'reuters'. There are: verite, plain",
        ),
        (
            ("encode",),
            (
                "verite: which table? Write: verite encode TABLE --encoder ViT-L-14"
                " --pretrained openai --out FOLDER."
            ),
        ),
        (
            ("encode", "pairs.csv"),
            "verite: no folder for the vectors. Add --out FOLDER.",
        ),
        (("encode", "gone.csv", "--out", "out"), "verite: no such file: gone.csv"),
        (
            ("data", "pairs", "newsroom", "out.csv"),
            "verite: a newsroom has images to be drawn.",
        ),
        (
            ("data", "pairs", "reuters", "out.csv"),
            "verite: no data set is called 'reuters'",
        ),
        (
            ("data", "pairs", "cosmos", "out.csv", "-p", "subset", "captions"),
            "verite: cosmos has no option 'subset'.",
        ),
        (
            ("synth", "rst", "--data", "newsroom", "--out", "out"),
            "verite: no maker 'rst'. Makers: RSt, CSt, NC-t2t",
        ),
        (
            ("synth", "RSt", "--data", "newsroom", "--out", "out", "-p", "by", "image"),
            "verite: RSt has no parameter 'by'.\nRSt has:",
        ),
        (
            ("synth", "RSt", "--data", "reuters", "--out", "out"),
            "verite: no data set 'reuters', and no such file.",
        ),
        (
            ("data", "images", "gone.csv", "--out", "out"),
            "verite: no such file: gone.csv",
        ),
        (
            ("data", "images", "links.csv"),
            "verite: no folder for the images. Add --out FOLDER.",
        ),
        (("data", "images", "CITATION.cff", "--out", "out"), "verite: CITATION.cff: "),
        (
            ("build", "gone.csv", "--out", "out"),
            "verite: no such file: gone.csv. Expected a table of articles such as",
        ),
        (("build", "Makefile", "--out", "out"), "verite: Makefile: "),
        (
            (
                "build",
                "articles.csv",
                "--out",
                "out",
                "--candidates",
                "3",
                "--images",
                "x",
            ),
            "verite: candidates need both --images and",
        ),
        (
            ("notebook", "measuring-bias", "/proc/none/out.ipynb"),
            "verite: cannot write /proc/none/out.ipynb",
        ),
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
    assert "already exists; use --force" in again.stderr
    assert any("parameters" in cell["metadata"].get("tags", []) for cell in cells)


def test_the_data_commands_say_where_what_and_how(tmp_path):
    home = str(tmp_path)
    assert verite("data", "path", VERITE_DATA=home).stdout.strip() == home
    listed = verite("data", "list", VERITE_DATA=home).stdout
    assert all(
        name in listed
        for name in ("verite", "vmu-twitter", "cosmos", "fakeddit", "newsroom")
    )
    status = verite("data", "status", VERITE_DATA=home).stdout
    assert "verite/VERITE.csv" in status
    assert "missing" in status
    assert "Fetch it with: verite data fetch verite" in status
    assert "https://docs.google.com/forms" in status


def test_the_newsrooms_encoder_can_be_trained_again_without_a_table(
    monkeypatch, capsys, tmp_path
):
    asked = []
    stub = types.ModuleType("verite.newsroom.clip")
    stub.load_newsroom_clip = lambda retrain=False: (
        asked.append(retrain)
        or (
            "newsroom-clip",
            tmp_path / "w.safetensors",
        )
    )
    monkeypatch.setitem(sys.modules, "verite.newsroom.clip", stub)
    cli.encode_command(train_newsroom=True)
    assert asked == [True]
    assert (
        capsys.readouterr().out == f"newsroom's encoder: {tmp_path / 'w.safetensors'}\n"
    )


def test_the_two_ways_to_give_a_parameter_are_one():
    assert parse_options(["a=1", "b=x=y"]) == {"a": "1", "b": "x=y"}
    with pytest.raises(ParameterError, match="given twice"):
        parse_options(["a=1", "a=2"])


def test_a_newsroom_is_written_as_files_and_not_over_another(tmp_path: Path):
    words = (
        "newsroom",
        str(tmp_path / "room"),
        "--preset",
        "cosmos",
        "--events",
        "4",
        "-p",
        "balanced",
        "no",
    )
    done = verite(*words)
    assert done.returncode == 0, done.stderr
    pairs = pd.read_csv(tmp_path / "room" / "pairs.csv", keep_default_na=False)
    assert pairs["label"].tolist().count("misinformation") == 4
    assert all((tmp_path / "room" / path).is_file() for path in pairs["image_path"])
    again = verite(*words)
    assert again.returncode == 1
    assert again.stderr.startswith(
        f"verite: {tmp_path / 'room' / 'pairs.csv'} already exists"
    )
    assert verite(*words, "--force").returncode == 0


def test_a_data_sets_pairs_are_written_once_and_read_back(tmp_path, real_data):
    out, home = str(tmp_path / "captions.csv"), str(real_data)
    done = verite(
        "data",
        "pairs",
        "newsclippings",
        out,
        "-p",
        "subset",
        "captions",
        VERITE_DATA=home,
    )
    assert done.stdout.startswith("9,779 pairs:")
    written = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert (
        len(validate(written, extra=("topic", "source", "entities", *MAKER_COLUMNS)))
        == 9779
    )
    again = verite("data", "pairs", "newsclippings", out, VERITE_DATA=home)
    assert again.returncode == 1
    assert "already exists; use --force" in again.stderr
