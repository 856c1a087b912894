from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from verite import datasets
from verite.audit.command import audit_files
from verite.errors import ParameterError

QUICK = {"permutations": 200, "resamples": 100}


def saved(folder: Path, captions: list[str], name: str = "pairs.csv") -> Path:
    path = folder / name
    label = ["true", "false"] * len(captions)
    pd.DataFrame(
        {
            "caption": captions,
            "label": label[: len(captions)],
            "image": [f"i{at}" for at in range(len(captions))],
        }
    ).to_csv(path, index=False)
    return path


class Page(HTMLParser):
    """Tags of a page, and whether each was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_outputs(tmp_path: Path):
    lines = audit_files(
        str(
            saved(
                tmp_path, [f"boat {at % 5} by the bridge {at % 7}" for at in range(40)]
            )
        ),
        tmp_path / "out",
        parameters=QUICK,
    )
    content = json.loads((tmp_path / "out" / "audit.json").read_text(encoding="utf8"))
    assert content["schema"] == "verite-audit-1"
    assert content["about"]["parameters"]["permutations"] == 200
    assert list(content["about"]["files"]) == ["pairs.csv"]
    assert {
        "probe",
        "accuracy",
        "low",
        "high",
        "chance",
        "p_value",
        "holm",
        "fires",
    } <= set(content["probes"][0])
    assert lines[-3:] == [
        f"{what}: {tmp_path / 'out' / name}"
        for what, name in (
            ("page", "audit.html"),
            ("json", "audit.json"),
            ("rows", "suspects.csv"),
        )
    ]


def test_force(tmp_path: Path):
    path = str(saved(tmp_path, ["a boat", "a dog"]))
    audit_files(path, tmp_path / "out", parameters=QUICK)
    before = (tmp_path / "out" / "audit.json").read_bytes()
    with pytest.raises(
        ParameterError,
        match=r"audit\.json already exists; use --force",
    ):
        audit_files(path, tmp_path / "out", parameters=QUICK)
    audit_files(path, tmp_path / "out", parameters=QUICK, force=True)
    assert (tmp_path / "out" / "audit.json").read_bytes() == before


def test_markup_is_escaped(tmp_path: Path):
    nasty = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    path = tmp_path / "<b>pairs.csv"
    rows = [
        {
            "caption": f"{nasty} {at} \u202e",
            "label": f"<i>{at % 2}",
            "image": f'"><script>{at}',
            "<u>site": f"<s>{at % 2}",
        }
        for at in range(30)
    ]
    rows.append(rows[-1] | {"label": "<i>0"})
    pd.DataFrame(rows).to_csv(path, index=False)
    audit_files(str(path), tmp_path / "out", parameters=QUICK)
    text = (tmp_path / "out" / "audit.html").read_text(encoding="utf8")
    page = Page(text)
    assert page.open == []
    assert not {"script", "img", "i", "b", "u", "s"} & set(page.tags)
    assert "&lt;i&gt;0" in text


def test_page(tmp_path: Path):
    audit_files(
        str(
            saved(
                tmp_path, [f"boat {at % 5} by the bridge {at % 7}" for at in range(40)]
            )
        ),
        tmp_path / "out",
        parameters=QUICK,
    )
    text = (tmp_path / "out" / "audit.html").read_text(encoding="utf8")
    page = Page(text)
    assert page.links == []
    assert "url(" not in text
    assert page.tags.count("table") == page.tags.count("caption")
    assert all("scope=" in head for head in re.findall("<th[ >][^<]*", text))
    assert 'name="viewport"' in text
    assert "prefers-color-scheme:dark" in text


def test_formulas(
    tmp_path: Path,
):
    path = saved(tmp_path, ["=1+1  ", "@sum", "a dog", "a cat"])
    audit_files(str(path), tmp_path / "out", parameters=QUICK, apply_fixes=True)
    with (tmp_path / "out" / "changes.csv").open(encoding="utf8", newline="") as stream:
        [change] = csv.DictReader(stream)
    assert (change["before"], change["after"]) == ("'=1+1  ", "'=1+1")
    assert pd.read_csv(tmp_path / "out" / "cleaned.csv")["caption"].tolist() == [
        "=1+1",
        "@sum",
        "a dog",
        "a cat",
    ]
    with (tmp_path / "out" / "suspects.csv").open(
        encoding="utf8", newline=""
    ) as stream:
        assert not any(
            cell.startswith(("=", "+", "-", "@"))
            for row in csv.reader(stream)
            for cell in row
        )


def test_cleaned_copy(
    tmp_path: Path,
):
    path = tmp_path / "pairs.csv"
    table = pd.DataFrame(
        {
            "n": ["1", "2", "3", "4"],
            "text": [
                "\u0391 boat near a bridge",
                "A dog",
                "A boat near a bridge",
                "A dog",
            ],
            "label": ["true", "true", "true", "false"],
            "img": ["a", "b", "a", "b"],
        }
    )
    table.to_csv(path, index=False)
    before = path.read_bytes()
    audit_files(str(path), tmp_path / "out", parameters=QUICK, apply_fixes=True)
    cleaned = pd.read_csv(tmp_path / "out" / "cleaned.csv", dtype=str)
    assert cleaned.columns.tolist() == ["n", "text", "label", "img"]
    assert cleaned["n"].tolist() == ["1", "2", "4"]
    assert cleaned["text"].iloc[0] == "A boat near a bridge"
    changes = pd.read_csv(
        tmp_path / "out" / "changes.csv", dtype=str, keep_default_na=False
    )
    assert changes[["pair_id", "change"]].to_numpy().tolist() == [
        ["row 1", "look-alike letter"],
        ["row 3", "left out: repeats row 1"],
    ]
    assert path.read_bytes() == before


def test_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    small = datasets.load("newsroom", events=20, encoder=None)
    monkeypatch.setattr(datasets, "load", lambda name: small)
    lines = audit_files(
        "newsroom", tmp_path / "out", parameters=QUICK | {"probes": ("length",)}
    )
    assert lines[0] == "newsroom: 60 pairs, 3 labels"
    with pytest.raises(
        ParameterError,
        match="newsroom is a data set, whose columns and vectors are known",
    ):
        audit_files("newsroom", tmp_path / "other", reading={"columns": {"label": "x"}})


def test_command(tmp_path: Path):
    path = saved(
        tmp_path,
        [f"{'allegedly' if at % 2 else 'today'} boat {at}" for at in range(60)],
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "verite",
            "audit",
            str(path),
            "--out",
            str(tmp_path / "out"),
            "--permutations",
            "200",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (
        "Text alone reaches 100.0% [100.0%, 100.0%] (first words), chance 50.0%"
        in done.stdout
    )
