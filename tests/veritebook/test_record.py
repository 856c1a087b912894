from __future__ import annotations

import datetime
import json
import subprocess

from verite import provenance
from verite.provenance import commit
from veritebook.record import make_record


def made(**changes):
    given = {
        "dataset": "newsroom",
        "parameters": {"seed": 1, "folds": 5},
        "data": {"b": "2", "a": "1"},
        "results": {"results.csv": "3"},
        "started": datetime.datetime(
            2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=2))
        ),
        "seconds": 1.234,
        "key": "k",
    }
    return make_record("small", **given | changes)


def test_a_record_is_plain_json_in_universal_time():
    found = json.loads(json.dumps(made()))
    assert found["started"] == "2026-01-02T01:04:05+00:00"
    assert found["seconds"] == 1.23
    assert found["seeds"] == {"seed": 1}
    assert list(found["data"]) == ["a", "b"]
    assert 10 < found["peak memory MB"] < 100_000


def test_a_record_names_no_folder_of_the_machine():
    assert "/" not in json.dumps(
        {key: value for key, value in made().items() if key != "data"}
    )


def test_the_commit_is_marked_where_code_differs_and_only_there(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(
            [
                "git",
                "-C",
                str(tmp_path),
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@x",
                *words,
            ],
            check=True,
            capture_output=True,
        )

    (tmp_path / "verite").mkdir()
    (tmp_path / "verite" / "a.py").write_text("1")
    git("init")
    git("add", "-A")
    git("commit", "-m", "one")
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    (tmp_path / "results.csv").write_text("made")
    clean = commit.__wrapped__()
    assert len(clean) == 12
    (tmp_path / "verite" / "a.py").write_text("2")
    assert commit.__wrapped__() == f"{clean}+changes"


def test_outside_of_a_checkout_the_commit_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    assert commit.__wrapped__() == "unknown"
