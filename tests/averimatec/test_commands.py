"""The command line on files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from averimatec import (
    LexicalJudge,
    MadeClaims,
    Prediction,
    read_submission,
    reference_evidence,
    write_submission,
)
from verite.cli import app
from verite.errors import DataError, ParameterError, VeriteError


def run(*words: object) -> str:
    result = CliRunner().invoke(app, ["averimatec", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def submission(made: MadeClaims, tmp_path: Path) -> Path:
    """One evidence item and the right verdict for each claim."""
    predictions = []
    for claim in made.splits["val"]:
        questions = tuple(question.text for question in claim.questions)
        evidence = reference_evidence(claim)[:1]
        predictions.append(Prediction(claim.id, questions, evidence, claim.label))
    write_submission(tmp_path / "submission.json", predictions)
    return tmp_path / "submission.json"


Score = Callable[..., str]


@pytest.fixture
def score(made: MadeClaims, submission: Path, tmp_path: Path) -> Score:
    """Score the submission into ``tmp_path``, or a later ``--out``."""
    files = "--submission", submission, "--images", made.images, "--out", tmp_path
    return partial(run, "score", "--gold", made.folder / "val.json", *files)


def test_score(score: Score, tmp_path: Path) -> None:
    output = score()
    name = LexicalJudge().name
    assert output.startswith(f"judge:  {name}")
    table, claims = (pd.read_csv(tmp_path / f"{x}.csv") for x in ("scores", "claims"))
    assert set(table["judge"]) == set(claims["judge"]) == {name}
    about = json.loads((tmp_path / "score.json").read_text())
    assert (about["judge"], about["problems"]) == (name, 0)
    assert set(about["inputs"]) == {"val.json", "submission.json"}
    [row] = table.query(
        "metric == 'verdict accuracy' and convention == 'official' and group == 'all'"
        " and `lambda` == 0.3"
    ).to_dict("records")
    start = "verdict accuracy, evidence recall > 0.3"
    [line] = [line for line in output.splitlines() if line.startswith(start)]
    assert f"{100 * row['value']:.1f}" in line
    with pytest.raises(ParameterError, match="already exists; use --force"):
        score()
    score("--force")


def test_spreadsheet_cells(score: Score, submission: Path, tmp_path: Path) -> None:
    predictions = read_submission(submission)
    write_submission(submission, [replace(p, verdict="=1+1") for p in predictions])
    score()
    assert set(pd.read_csv(tmp_path / "claims.csv")["verdict"]) == {"'=1+1"}


def test_wrong_split(score: Score, made: MadeClaims) -> None:
    with pytest.raises(DataError, match="the submission lacks 6 claim"):
        score("--gold", made.folder / "train.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--judge", "oracle"), "unknown model 'oracle'"),
        (("--judge", "endpoint", "--judge-model", "small"), "name and its address"),
        (("--judge", "endpoint"), "name and its address"),
        (("--judge-model", "m", "--judge-url", "http://a"), "judges ask no model"),
        (("--judge", "cached", "--clip", "newsroom"), "--clip is an option of"),
        (("--judge", "cached"), "no folder of cached replies"),
        (("--mode", "joint"), "modes: expected some of text-only"),
    ],
)
def test_bad_options(
    score: Score, options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(VeriteError, match=message):
        score(*options)
    assert not (tmp_path / "scores.csv").exists()


def endpoint_options(url: str) -> tuple[object, ...]:
    judge = "--judge", "endpoint", "--judge-url", url, "--judge-model", "small"
    return (*judge, "--tries", 1, "--seconds", 0.3, "--mode", "text-only")


@pytest.mark.parametrize("failure", [429, "html"])
def test_endpoint_fails_once(
    failure: object, endpoint: Any, score: Score, made: MadeClaims
) -> None:
    endpoint.script = [endpoint.always, endpoint.always, failure]
    options = endpoint_options(endpoint.url)
    assert "problems: 1" in score(*options)
    asked = len(endpoint.asked)
    assert asked == 2 * len(made.splits["val"])
    assert "problems: 0" in score(*options, "--force")
    assert len(endpoint.asked) == asked + 1


def test_cached_replies(endpoint: Any, score: Score, tmp_path: Path) -> None:
    endpoint.always = (
        "[PRED in REF]: 1; (PRED_1,REF_1)\n[REF in PRED]: 1; (REF_1,PRED_1)"
    )
    score(*endpoint_options(endpoint.url))
    asked = len(endpoint.asked)
    cached = "--judge", "cached", "--replies", tmp_path / "replies"
    score(*cached, "--mode", "text-only", "--out", tmp_path / "again")
    assert len(endpoint.asked) == asked
    again = (tmp_path / "again" / "scores.csv").read_bytes()
    assert (tmp_path / "scores.csv").read_bytes() == again


def test_unreadable_replies(
    endpoint: Any, score: Score, made: MadeClaims, tmp_path: Path
) -> None:
    endpoint.always = "I would rather not."
    output = score(*endpoint_options(endpoint.url))
    assert "I would rather not." in output
    claims = len(made.splits["val"])
    assert len(pd.read_csv(tmp_path / "problems.csv")) == 2 * claims
    table = pd.read_csv(tmp_path / "scores.csv")
    recall = table.query("metric == 'evidence recall' and group == 'all'")
    recall = recall.set_index("convention")
    assert recall["value"]["official"] == 0
    assert recall["unscored"]["corrected"] == claims


def test_make(tmp_path: Path) -> None:
    output = run("make", tmp_path, "--claims", 12)
    assert output.startswith("synthetic")
    with pytest.raises(ParameterError, match="already exists"):
        run("make", tmp_path)


def test_stats(made: MadeClaims, tmp_path: Path) -> None:
    splits = [made.folder / f"{split}.json" for split in made.splits]
    folders = "--images", made.images, "--store", made.folder / "store"
    output = run("stats", *splits, *folders, "--out", tmp_path)
    assert "Table 9, source medium (%)" in output
    assert "evidence dated after its claim: 0 of" in output
    assert "missing images of test: 0" in output
    assert set(pd.read_csv(tmp_path / "statistics.csv")["table"]) == {2, 5, 6, 7, 8, 9}
    output = run("stats", splits[0], "--images", tmp_path)
    assert "claim-" in output.partition("missing images of train: ")[2]


def test_check(made: MadeClaims, tmp_path: Path) -> None:
    gold, folders = made.folder / "val.json", ("--images", made.images)
    output = run("check", gold, *folders, "--out", tmp_path, "--claims", 4)
    [line] = [
        line
        for line in output.splitlines()
        if line.startswith("Irrelevant Image") and "text-only" in line
    ]
    assert line.endswith("DOES NOT HOLD")
    assert len(pd.read_csv(tmp_path / "checks.csv")) == 33


def verify(made: MadeClaims, out: Path, *more: object) -> str:
    folders = "--store", made.folder / "store", "--images", made.images
    return run(
        "run", "--claims", made.folder / "val.json", *folders, "--out", out, *more
    )


def test_run(made: MadeClaims, tmp_path: Path) -> None:
    output = verify(made, tmp_path, "--strategy", "dynamic")
    assert "no language model" in output
    assert len(read_submission(tmp_path / "submission.json")) == len(made.splits["val"])
    about = json.loads((tmp_path / "run.json").read_text())["about"]
    assert set(about) == {"commit", "versions"}


def test_run_without_claims(tmp_path: Path) -> None:
    output = run("run", "--out", tmp_path, "--limit", 2)
    assert "synthetic claims" in output
    assert "2 done, 0 failed" in output


def test_run_by_cached_replies(endpoint: Any, made: MadeClaims, tmp_path: Path) -> None:
    endpoint.always = "Supported"
    cache = "--replies", tmp_path / "replies", "--limit", 2
    model = "--model-name", "m", "--model-url", endpoint.url, "--price-in", 1
    verify(made, tmp_path / "one", *cache, "--model", "endpoint", *model)
    asked = len(endpoint.asked)
    verify(made, tmp_path / "two", *cache, "--model", "cached")
    assert len(endpoint.asked) == asked > 0
    files = [tmp_path / name / "submission.json" for name in ("one", "two")]
    assert read_submission(files[0]) == read_submission(files[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--store", "s"), "need --claims"),
        (("--model-name", "m", "--model-url", "http://a"), "rules ask no model"),
        (("--claims", "val.json"), "nothing to search in"),
        (("--store", "s", "--search-url", "http://localhost"), "not both"),
    ],
)
def test_run_bad_options(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=message):
        run("run", "--out", tmp_path, *options)
