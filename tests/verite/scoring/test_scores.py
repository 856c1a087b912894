"""Scores as a whole: in Python, on the command line, and as files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from verite import cli
from verite.datasets import load
from verite.errors import DataError, ParameterError
from verite.evaluation import PROTOCOLS, score, tfidf_probe
from verite.scoring import model_card, readable, score_predictions, write_scores
from verite.scoring.report import to_json


def verite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    """Run the command line in this process: exit code, stdout and stderr."""
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
    scores = score_predictions(files[0], "verite")
    table = scores.table[scores.table["metric"] == "accuracy"]
    assert dict(zip(table["protocol"], table["n"], strict=True)) == {
        "three-class": 18,
        "true-vs-ooc": 12,
        "true-vs-mc": 12,
        "all-false": 18,
    }
    assert table["value"].round(4).tolist() == [0.9444, 0.9167, 0.9167, 0.9444]
    assert scores.unscored == {}
    assert scores.consistency["value"].round(4).tolist() == [0.8333] * 4
    assert scores.comparison.empty


def test_version(files: tuple[str, str], paper: pd.DataFrame) -> None:
    for source, version in ((files[0], "release"), (paper, "paper")):
        found = score_predictions(source, "verite")
        assert readable(found).startswith(f"verite, version {version}: ")
        assert to_json(found)["about"]["version"] == version
        assert f"verite ({version})" in model_card(found, "mine")


def test_binary_predictions(release: pd.DataFrame) -> None:
    binary = release["label"].where(release["label"] == "true", "fake")
    scores = score_predictions(release.assign(prediction=binary), "verite")
    assert set(scores.table["protocol"]) == {"true-vs-ooc", "true-vs-mc", "all-false"}
    assert set(scores.consistency["protocol"]) == {"all-false"}
    assert "\nnot scored, three-class: " in readable(scores)
    assert set(to_json(scores)["not_scored"]) == {"three-class"}


def test_bad_second_system(files: tuple[str, str], paper: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="--against: they are of verite .version paper"):
        score_predictions(files[0], "verite", against=paper)
    answers = pd.DataFrame({"id": ["1"], "answer": ["true"]})
    with pytest.raises(DataError, match="--against: .*of predictions: expected one of"):
        score_predictions(files[0], "verite", against=answers)


@pytest.mark.parametrize(
    ("missing", "value", "n", "policy"),
    [("wrong", 15 / 18, 18, "counted as wrong"), ("skip", 1.0, 15, "left out")],
)
def test_missing_rows(
    release: pd.DataFrame, missing: str, value: float, n: int, policy: str
) -> None:
    part, options = release[["row", "prediction"]][:-3], {"version": "release"}
    with pytest.raises(DataError, match="3 of 18 predictions are missing"):
        score_predictions(part, "verite", options=options)
    scores = score_predictions(part, "verite", options=options, missing=missing)
    assert scores.table.loc[0, ["value", "n"]].tolist() == [pytest.approx(value), n]
    assert (
        readable(scores).splitlines()[1] == "predictions: missing 3"
        f" (verite_15, verite_16, verite_17), {policy}; surplus none"
    )
    assert to_json(scores)["about"]["missing"] == missing
    assert f"missing predictions: 3, {policy}." in model_card(scores, "mine")


def test_surplus_rows(release: pd.DataFrame) -> None:
    more = pd.DataFrame({"row": ["18", "\x1b[2J"], "prediction": "true"})
    answers = pd.concat([release[["row", "prediction"]], more])
    scores = score_predictions(answers, "verite", options={"version": "release"})
    assert "surplus 2 ('18', '\\x1b[2J'), not scored" in readable(scores)
    assert to_json(scores)["rows"]["predictions"]["surplus_ids"] == ["18", "\x1b[2J"]
    assert scores.table.loc[0, "n"] == 18


def test_several_seeds(release: pd.DataFrame) -> None:
    runs = [release.assign(seed=0), release.assign(seed=1, prediction="true")]
    scores = score_predictions(pd.concat(runs), "verite")
    row = scores.table.iloc[0]
    assert (row["value"], row["n"]) == (pytest.approx(2 / 3), 18)
    assert row["sd"] == pytest.approx((2 / 3) / 2**0.5)
    assert "\n2 seeds together" in readable(scores)


def test_nothing_balanced(release: pd.DataFrame) -> None:
    pairs = load("verite", embeddings=False).pairs
    pairs = pairs.assign(image_id=pairs["pair_id"], text_id=pairs["pair_id"])
    found = score_predictions(pairs.assign(prediction="true"), pairs)
    assert "nothing is balanced here" in readable(found)
    assert to_json(found)["consistency"] == []


def test_one_class(verite_home: Path) -> None:
    pairs = load("verite", embeddings=False).pairs.query("label == 'true'")
    with pytest.raises(
        DataError, match="no protocol .*one class or none in its 6 rows"
    ):
        score_predictions(pairs.assign(prediction="true"), pairs)


def test_line_length(files: tuple[str, str]) -> None:
    text = readable(score_predictions(files[0], "verite", against=files[1]))
    assert max(map(len, text.splitlines())) <= 80


def test_write_scores(files: tuple[str, str], tmp_path: Path) -> None:
    scores = score_predictions(files[0], "verite", against=files[1])
    card, content = tmp_path / "out" / "model-card.md", tmp_path / "out" / "score.json"
    write_scores(scores, card.parent, "mine", about={"versions": {"verite": "0"}})
    assert set(card.parent.iterdir()) == {card, content}
    saved = json.loads(content.read_text())
    about = saved["about"]
    assert about["predictions"].keys() == {"good.csv"}
    assert {len(digest) for digest in about["benchmark_files"].values()} == {64}
    assert about["versions"] == {"verite": "0"}
    assert len(saved["scores"]) == 6 + 5 * 3
    assert saved["scores"][3]["constant"] is None
    with pytest.raises(
        ParameterError, match=r"score\.json already exists; use --force"
    ):
        write_scores(scores, card.parent, "mine")
    write_scores(scores, card.parent, "other", force=True)
    assert '- name: "other"' in card.read_text()


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
    results = model["results"]
    datasets = [result["dataset"] for result in results]
    assert [dataset["config"] for dataset in datasets] == list(PROTOCOLS)
    assert {dataset["name"] for dataset in datasets} == {"verite (release)"}
    metrics = results[0]["metrics"]
    names = [metric["type"] for metric in metrics]
    assert names == ["accuracy", "balanced_accuracy", "f1"]
    assert metrics[0]["value"] == pytest.approx(17 / 18, abs=1e-4)
    assert "| Three classes | 94.4 [" in body


def test_command(files: tuple[str, str], tmp_path: Path) -> None:
    good, naysayer = files
    words = ["score", good, "--benchmark", "verite", "--against", naysayer]
    words += ["--out", str(tmp_path / "out"), "--name", "mine"]
    process = subprocess.run(
        [sys.executable, "-m", "verite", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert "three-class   accuracy" in process.stdout
    assert "accuracy minus that of naysayer.csv" in process.stdout
    about = json.loads((tmp_path / "out" / "score.json").read_text())["about"]
    assert about["versions"]["python"]
    assert about["commit"]


NAMED = "GOOD --benchmark verite "
ERRORS = [
    ("nothing.csv --benchmark verite", "no such file: nothing.csv"),
    ("GOOD --benchmark nothing", "no benchmark is called 'nothing', and there is no"),
    (NAMED + "-p version old", "version: expected release or paper, found 'old'"),
    (NAMED + "-p size 3", "scored with the option version or none, found size"),
    (NAMED + "--missing drop", "--missing: expected error or wrong or skip, found"),
    (NAMED + "--label x", "expected NAME=VALUE, found 'x'."),
    (NAMED + "--label x=y", "--label x=y: expected one of true"),
    (NAMED + "--id-column key", "no 'key'. Columns: 'row', 'prediction'"),
    (NAMED + "--against nothing.csv", "no such file: nothing.csv"),
    ("GOOD --benchmark GOOD", "good.csv: missing column pair_id"),
    (NAMED + "--out GOOD", "--out: expected a folder, found a file"),
    ("GOOD --benchmark cosmos", "no such file"),
]


@pytest.mark.parametrize(("words", "message"), ERRORS)
def test_command_errors(
    files: tuple[str, str],
    words: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = [files[0] if word == "GOOD" else word for word in words.split()]
    code, out, error = verite(monkeypatch, capsys, "score", *arguments)
    assert (code, out) == (1, "")
    assert error.startswith("verite: ")
    assert message in error
    assert error.count("\n") == 1


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


def test_real_words_are_never_consistent(real_data: Path) -> None:
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
