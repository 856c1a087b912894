"""Scores as a whole: in Python, on the command line, and as files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from verite import cli
from verite.datasets import load
from verite.errors import DataError, ParameterError
from verite.evaluation import score, tfidf_probe
from verite.scoring import model_card, readable, score_predictions, write_scores
from verite.scoring.report import to_json


def verite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    """Run the command line in this process.

    Exit code, what it said, what it complained of.
    """
    monkeypatch.setattr(sys, "argv", ["verite", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.fixture
def files(tmp_path: Path, release: pd.DataFrame) -> tuple[str, str]:
    """A good system, wrong on one pair, and one that always says true."""
    good = release[["row", "prediction"]].copy()
    good.loc[0, "prediction"] = "miscaptioned"
    paths = str(tmp_path / "good.csv"), str(tmp_path / "naysayer.csv")
    good.to_csv(paths[0], index=False)
    good.assign(prediction="True").to_csv(paths[1], index=False)
    return paths


def test_protocols(files: tuple[str, str]) -> None:
    found = score_predictions(files[0], "verite")
    accuracies = found.table[found.table["metric"] == "accuracy"].set_index("protocol")
    assert accuracies["n"].to_dict() == {
        "three-class": 18,
        "true-vs-ooc": 12,
        "true-vs-mc": 12,
        "all-false": 18,
    }
    assert accuracies["value"].round(4).to_dict() == {
        "three-class": 0.9444,
        "true-vs-ooc": 0.9167,
        "true-vs-mc": 0.9167,
        "all-false": 0.9444,
    }
    assert found.unscored == {}
    assert found.consistency["value"].round(4).tolist() == [0.8333] * 4
    assert found.comparison.empty


def test_version(files: tuple[str, str], paper: pd.DataFrame) -> None:
    for source, version in ((files[0], "release"), (paper, "paper")):
        found = score_predictions(source, "verite")
        assert readable(found).startswith(f"verite, version {version}: ")
        assert to_json(found)["about"]["version"] == version
        assert f"verite ({version})" in model_card(found, "mine")


def test_binary_predictions(release: pd.DataFrame) -> None:
    binary = release.assign(
        prediction=release["label"].map(
            lambda label: "real" if label == "true" else "fake"
        )
    )
    found = score_predictions(binary, "verite")
    assert set(found.table["protocol"]) == {"true-vs-ooc", "true-vs-mc", "all-false"}
    assert set(found.consistency["protocol"]) == {"all-false"}
    told = next(
        line for line in readable(found).splitlines() if line.startswith("not scored")
    )
    assert "three-class" in told
    assert "misinformation" in told
    assert set(to_json(found)["not_scored"]) == {"three-class"}


def test_two_versions(files: tuple[str, str], paper: pd.DataFrame) -> None:
    with pytest.raises(
        DataError,
        match="--against: they are of verite .version paper., the first of",
    ):
        score_predictions(files[0], "verite", against=paper)


def test_error_in_second_file(files: tuple[str, str]) -> None:
    with pytest.raises(
        DataError,
        match="--against: predictions: column of predictions: expected one of",
    ):
        score_predictions(
            files[0], "verite", against=pd.DataFrame({"id": ["1"], "answer": ["true"]})
        )


def test_missing_rows(
    release: pd.DataFrame,
) -> None:
    part = release[["row", "prediction"]][:-3]
    with pytest.raises(DataError, match="3 of 18 predictions are missing"):
        score_predictions(part, "verite", options={"version": "release"})
    for choice, value, n, told in (
        ("wrong", 15 / 18, 18, "counted as wrong"),
        ("skip", 1.0, 15, "left out"),
    ):
        found = score_predictions(
            part, "verite", options={"version": "release"}, missing=choice
        )
        assert found.table.loc[0, ["value", "n"]].tolist() == [pytest.approx(value), n]
        assert (
            readable(found).splitlines()[1]
            == f"predictions: missing 3 (verite_15, verite_16, verite_17), {told};"
            " surplus none"
        )
        assert to_json(found)["about"]["missing"] == choice
        assert f"missing predictions: 3, {told}." in model_card(found, "mine")
    with pytest.raises(
        ParameterError, match="--missing: expected error or wrong or skip, found 'drop'"
    ):
        score_predictions(part, "verite", missing="drop")


def test_surplus_rows(release: pd.DataFrame) -> None:
    more = pd.concat(
        [
            release[["row", "prediction"]],
            pd.DataFrame({"row": ["18", "\x1b[2J"], "prediction": "true"}),
        ]
    )
    found = score_predictions(more, "verite", options={"version": "release"})
    assert (
        readable(found).splitlines()[1]
        == "predictions: missing none; surplus 2 ('18', '\\x1b[2J'), not scored"
    )
    assert to_json(found)["rows"]["predictions"]["surplus_ids"] == ["18", "\x1b[2J"]
    assert found.table.loc[0, "n"] == 18


def test_several_seeds(
    release: pd.DataFrame,
) -> None:
    runs = pd.concat(
        [release.assign(seed=0), release.assign(seed=1, prediction="true")]
    )[["row", "prediction", "seed"]]
    found = score_predictions(runs, "verite").table.iloc[0]
    assert (found["value"], found["n"]) == (pytest.approx(2 / 3), 18)
    assert found["sd"] == pytest.approx((2 / 3) / 2**0.5)
    assert "\n2 seeds together" in readable(score_predictions(runs, "verite"))


def test_nothing_balanced(release: pd.DataFrame) -> None:
    pairs = load("verite", embeddings=False).pairs
    pairs = pairs.assign(image_id=pairs["pair_id"], text_id=pairs["pair_id"])
    found = score_predictions(pairs.assign(prediction="true"), pairs)
    assert "nothing is balanced here" in readable(found)
    assert to_json(found)["consistency"] == []


def test_one_class(verite_home: Path) -> None:
    pairs = load("verite", embeddings=False).pairs.query("label == 'true'")
    with pytest.raises(
        DataError, match="no protocol can be scored .*one class or none in its 6 rows"
    ):
        score_predictions(pairs.assign(prediction="true"), pairs)


def test_line_length(files: tuple[str, str]) -> None:
    text = readable(score_predictions(files[0], "verite", against=files[1]))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80


def test_write_scores(files: tuple[str, str], tmp_path: Path) -> None:
    found, out = (
        score_predictions(files[0], "verite", against=files[1]),
        tmp_path / "out",
    )
    write_scores(found, out, "mine", about={"versions": {"verite": "0"}})
    assert sorted(path.name for path in out.iterdir()) == [
        "model-card.md",
        "score.json",
    ]
    kept = json.loads((out / "score.json").read_text())
    assert kept["about"]["predictions"].keys() == {"good.csv"}
    assert all(
        len(digest) == 64 for digest in kept["about"]["benchmark_files"].values()
    )
    assert kept["about"]["versions"] == {"verite": "0"}
    assert len(kept["scores"]) == 6 + 5 * 3
    assert kept["scores"][3]["constant"] is None
    with pytest.raises(
        ParameterError,
        match=r"score\.json already exists; use --force",
    ):
        write_scores(found, out, "mine")
    write_scores(found, out, "other", force=True)
    assert '- name: "other"' in (out / "model-card.md").read_text()


def test_both_files_or_none(files: tuple[str, str], tmp_path: Path) -> None:
    found, out = score_predictions(files[0], "verite"), tmp_path / "out"
    (out / "model-card.md").mkdir(parents=True)
    with pytest.raises(Exception, match="is a folder"):
        write_scores(found, out, "mine", force=True)
    assert [path.name for path in out.iterdir()] == ["model-card.md"]


@pytest.mark.parametrize(
    "name",
    ["plain", 'a "quoted": name', "# - [x]: {y}", "Ελληνικά \N{ROCKET}", "two\nlines"],
)
def test_model_card(files: tuple[str, str], name: str) -> None:
    card = model_card(score_predictions(files[0], "verite"), name)
    _, block, body = card.split("---\n", 2)
    [model] = yaml.safe_load(block)["model-index"]
    assert model["name"] == name
    assert [result["dataset"]["config"] for result in model["results"]] == [
        "three-class",
        "true-vs-ooc",
        "true-vs-mc",
        "all-false",
    ]
    assert all(
        result["task"]["type"] and result["dataset"]["name"] == "verite (release)"
        for result in model["results"]
    )
    assert [metric["type"] for metric in model["results"][0]["metrics"]] == [
        "accuracy",
        "balanced_accuracy",
        "f1",
    ]
    assert model["results"][0]["metrics"][0]["value"] == pytest.approx(
        17 / 18, abs=1e-4
    )
    assert "| Three classes | 94.4 [" in body


def test_command(files: tuple[str, str], tmp_path: Path) -> None:
    words = [
        "score",
        files[0],
        "--benchmark",
        "verite",
        "--against",
        files[1],
        "--out",
        str(tmp_path / "out"),
        "--name",
        "mine",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "verite", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "three-class   accuracy" in done.stdout
    assert "accuracy minus that of naysayer.csv" in done.stdout
    kept = json.loads((tmp_path / "out" / "score.json").read_text())
    assert kept["about"]["versions"]["python"]
    assert kept["about"]["commit"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.csv", "--benchmark", "verite"), "no such file: nothing.csv"),
        (
            ("GOOD", "--benchmark", "nothing"),
            (
                "no benchmark is called 'nothing', and there is no such file. Known:"
                " verite, vmu-twitter"
            ),
        ),
        (
            ("GOOD", "--benchmark", "verite", "-p", "version", "old"),
            "version: expected release or paper, found 'old'",
        ),
        (
            ("GOOD", "--benchmark", "verite", "-p", "size", "3"),
            "verite is scored with the option version or none, found size",
        ),
        (
            ("GOOD", "--benchmark", "vmu-twitter", "-p", "seed", "3"),
            "vmu-twitter is scored with the option with_images or none, found seed",
        ),
        (
            ("GOOD", "--benchmark", "verite", "--missing", "drop"),
            "--missing: expected error or wrong or skip, found 'drop'",
        ),
        (
            ("GOOD", "--benchmark", "verite", "--label", "x"),
            "expected NAME=VALUE, found 'x'.",
        ),
        (
            ("GOOD", "--benchmark", "verite", "--label", "x=y"),
            "--label x=y: expected one of true",
        ),
        (
            ("GOOD", "--benchmark", "verite", "--id-column", "key"),
            "there is no 'key'. Columns: 'row', 'prediction'",
        ),
        (
            ("GOOD", "--benchmark", "verite", "--prediction-column", "key"),
            "there is no 'key'. Columns: 'row', 'prediction'",
        ),
        (
            ("GOOD", "--benchmark", "verite", "--against", "nothing.csv"),
            "no such file: nothing.csv",
        ),
        (("GOOD", "--benchmark", "GOOD"), "good.csv: missing column pair_id"),
        (
            ("GOOD", "--benchmark", "verite", "--out", "GOOD"),
            "--out: expected a folder, found a file",
        ),
        (("GOOD", "--benchmark", "cosmos"), "no such file"),
    ],
)
def test_command_errors(
    files: tuple[str, str],
    words: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, complaint = verite(
        monkeypatch,
        capsys,
        "score",
        *[files[0] if word == "GOOD" else word for word in words],
    )
    assert (code, out) == (1, "")
    assert complaint.startswith("verite: ")
    assert message in complaint
    assert complaint.count("\n") == 1


def test_force(
    files: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "score.json").write_text("mine")
    words = ("score", files[0], "--benchmark", "verite", "--out", str(tmp_path / "out"))
    code, _, complaint = verite(monkeypatch, capsys, *words)
    assert (code, "score.json already exists" in complaint) == (1, True)
    assert (tmp_path / "out" / "score.json").read_text() == "mine"
    assert verite(monkeypatch, capsys, *words, "--force")[0] == 0


def test_real_words_are_never_consistent(
    real_data: Path,
) -> None:
    found = tfidf_probe(load("verite", embeddings=False).pairs)
    scores = score_predictions(found, "verite")
    by = scores.consistency.set_index(["protocol", "over"])
    assert by["n"].to_dict() == {
        ("three-class", "image"): 338,
        ("three-class", "caption"): 325,
        ("all-false", "image"): 338,
        ("all-false", "caption"): 325,
    }
    assert by.xs("caption", level="over")["value"].tolist() == [0.0, 0.0]
    plain = score(found, "three-class").set_index("metric")
    ours = scores.table[scores.table["protocol"] == "three-class"].set_index("metric")
    pd.testing.assert_frame_equal(ours.loc[plain.index, plain.columns], plain)
