"""The command line on files.

What it writes, what it says, and what an endpoint that fails does to it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from averimatec import (
    LexicalJudge,
    MadeClaims,
    Prediction,
    reference_evidence,
    write_submission,
)
from averimatec.reports import score_files
from verite.cli import app
from verite.errors import DataError, ParameterError, VeriteError


def run(*words: object) -> str:
    done = CliRunner().invoke(app, ["averimatec", *map(str, words)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def submission(made: MadeClaims, tmp_path: Path) -> Path:
    """Half of the evidence, the right verdicts, and a justification that a spreadsheet
    would run.
    """
    predictions = [
        Prediction(
            claim.id,
            tuple(question.text for question in claim.questions),
            reference_evidence(claim)[:1],
            claim.label,
            "=cmd()",
        )
        for claim in made.splits["val"]
    ]
    write_submission(tmp_path / "submission.json", predictions)
    return tmp_path / "submission.json"


def score(made: MadeClaims, submission: Path, out: Path, *more: object) -> str:
    return run(
        "score",
        "--gold",
        made.folder / "val.json",
        "--submission",
        submission,
        "--out",
        out,
        "--images",
        made.images,
        *more,
    )


def test_scores_are_written_and_every_file_names_the_judge(
    made: MadeClaims, submission: Path, tmp_path: Path
) -> None:
    said = score(made, submission, tmp_path / "out")
    name = LexicalJudge().name
    assert said.startswith(f"judge:  {name}")
    assert set(pd.read_csv(tmp_path / "out" / "scores.csv")["judge"]) == {name}
    assert set(pd.read_csv(tmp_path / "out" / "claims.csv")["judge"]) == {name}
    about = json.loads((tmp_path / "out" / "score.json").read_text())
    assert about["judge"] == name
    assert about["problems"] == 0
    assert set(about["inputs"]) == {"val.json", "submission.json"}


def test_what_is_said_is_what_is_written(
    made: MadeClaims, submission: Path, tmp_path: Path
) -> None:
    said = score(made, submission, tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "scores.csv")
    [row] = table.query(
        "metric == 'verdict accuracy' and convention == 'official' and group == 'all'"
        " and `lambda` == 0.3"
    ).to_dict("records")
    [line] = [
        line
        for line in said.splitlines()
        if line.startswith("verdict accuracy, evidence recall > 0.3")
    ]
    assert f"{100 * row['value']:.1f}" in line


def test_scores_that_are_there_are_not_replaced_unasked(
    made: MadeClaims, submission: Path, tmp_path: Path
) -> None:
    score(made, submission, tmp_path)
    with pytest.raises(
        ParameterError,
        match="is there. Choose another folder, or replace it with --force",
    ):
        score(made, submission, tmp_path)
    score(made, submission, tmp_path, "--force")


def test_a_cell_that_a_spreadsheet_would_run_is_escaped(
    made: MadeClaims, tmp_path: Path
) -> None:
    predictions = [
        Prediction(claim.id, (), (), "=1+1", "") for claim in made.splits["val"]
    ]
    write_submission(tmp_path / "s.json", predictions)
    score_files(
        made.folder / "val.json", tmp_path / "s.json", tmp_path / "out", LexicalJudge()
    )
    assert set(pd.read_csv(tmp_path / "out" / "claims.csv")["verdict"]) == {"'=1+1"}


def test_a_submission_to_another_split_is_one_message(
    made: MadeClaims, submission: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="the submission lacks 6 claim"):
        run(
            "score",
            "--gold",
            made.folder / "train.json",
            "--submission",
            submission,
            "--out",
            tmp_path / "out",
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--judge", "oracle"), "unknown kind of model: 'oracle'"),
        (("--judge", "endpoint", "--judge-model", "small"), "address of the endpoint"),
        (("--judge-model", "small"), "the deterministic judge asks no model"),
        (
            ("--judge", "cached", "--clip", "newsroom"),
            "--clip is the deterministic judge's",
        ),
        (("--judge", "cached"), "no such file of cached replies"),
        (("--mode", "joint"), "modes: expected some of text-only"),
    ],
)
def test_options_that_do_not_fit_are_one_message(
    options: tuple[str, ...],
    message: str,
    made: MadeClaims,
    submission: Path,
    tmp_path: Path,
) -> None:
    with pytest.raises(VeriteError, match=message):
        score(made, submission, tmp_path / "out", *options)
    assert not (tmp_path / "out" / "scores.csv").exists()


def endpoint_options(url: str) -> tuple[object, ...]:
    return (
        "--judge",
        "endpoint",
        "--judge-url",
        url,
        "--judge-model",
        "small",
        "--tries",
        1,
        "--seconds",
        0.3,
        "--mode",
        "text-only",
    )


@pytest.mark.parametrize("trouble", ["hang", 429, 500, "html", "half"])
def test_an_endpoint_that_fails_ends_the_run_with_what_is_missing_shown_and_a_second_run_asks_for_that_alone(
    trouble: object, endpoint, made: MadeClaims, submission: Path, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    endpoint.script = [endpoint.always, endpoint.always, trouble]
    said = score(made, submission, tmp_path, *endpoint_options(endpoint.url))
    assert "problems: 1" in said
    asked = len(endpoint.asked)
    assert asked == 2 * len(made.splits["val"])
    again = score(
        made, submission, tmp_path, *endpoint_options(endpoint.url), "--force"
    )
    assert "problems: 0" in again
    assert len(endpoint.asked) == asked + 1


def test_replies_that_were_kept_score_again_without_the_endpoint(
    endpoint, made: MadeClaims, submission: Path, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    endpoint.always = (
        "[PRED in REF]: 1; (PRED_1,REF_1)\n[REF in PRED]: 1; (REF_1,PRED_1)"
    )
    score(made, submission, tmp_path, *endpoint_options(endpoint.url))
    first = pd.read_csv(tmp_path / "scores.csv").drop(columns="judge")
    asked = len(endpoint.asked)
    score(
        made,
        submission,
        tmp_path / "again",
        "--judge",
        "cached",
        "--replies",
        tmp_path / "replies.jsonl",
        "--mode",
        "text-only",
    )
    pd.testing.assert_frame_equal(
        first, pd.read_csv(tmp_path / "again" / "scores.csv").drop(columns="judge")
    )
    assert len(endpoint.asked) == asked


def test_replies_that_do_not_parse_are_counted_and_shown(
    endpoint, made: MadeClaims, submission: Path, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    endpoint.always = "I would rather not."
    said = score(made, submission, tmp_path, *endpoint_options(endpoint.url))
    assert "I would rather not." in said
    problems = pd.read_csv(tmp_path / "problems.csv")
    assert len(problems) == 2 * len(made.splits["val"])
    table = (
        pd.read_csv(tmp_path / "scores.csv")
        .query("metric == 'evidence recall' and group == 'all'")
        .set_index("convention")
    )
    assert table["value"]["official"] == 0
    assert table["unscored"]["corrected"] == len(made.splits["val"])


def test_claims_are_made_once_and_not_replaced_unasked(tmp_path: Path) -> None:
    assert run("make", tmp_path, "--claims", 12).startswith(
        "synthetic: they teach, and are no evidence"
    )
    with pytest.raises(ParameterError, match="is there"):
        run("make", tmp_path)


def test_statistics_are_said_and_written(made: MadeClaims, tmp_path: Path) -> None:
    splits = [made.folder / f"{split}.json" for split in made.splits]
    said = run(
        "stats",
        *splits,
        "--images",
        made.images,
        "--store",
        made.folder / "store",
        "--out",
        tmp_path,
    )
    assert "Table 9, source medium (%)" in said
    assert "evidence dated after its claim: 0 of" in said
    assert "images of test that are not there: 0" in said
    assert set(pd.read_csv(tmp_path / "statistics.csv")["table"]) == {2, 5, 6, 7, 8, 9}


def test_images_that_are_not_there_are_named(made: MadeClaims, tmp_path: Path) -> None:
    said = run("stats", made.folder / "val.json", "--images", tmp_path)
    assert "images of val that are not there" in said
    assert "claim-" in said


def test_a_judge_is_checked_and_what_does_not_hold_is_said(
    made: MadeClaims, tmp_path: Path
) -> None:
    said = run(
        "check",
        made.folder / "val.json",
        "--images",
        made.images,
        "--out",
        tmp_path,
        "--claims",
        4,
    )
    [line] = [
        line
        for line in said.splitlines()
        if line.startswith("Irrelevant Image") and "text-only" in line
    ]
    assert line.endswith("DOES NOT HOLD")
    assert len(pd.read_csv(tmp_path / "checks.csv")) == 33
