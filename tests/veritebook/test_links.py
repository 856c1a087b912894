"""The weekly link check.

It looks at every link, leaves out what it says and why, and never stands in the way.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
SETTINGS = REPOSITORY / ".github" / "lychee.toml"
WORKFLOW = yaml.safe_load(
    (REPOSITORY / ".github" / "workflows" / "links.yml").read_text()
)
STEPS = {
    step.get("name", step.get("uses", "").partition("@")[0]): step
    for step in WORKFLOW["jobs"]["check"]["steps"]
}
LYCHEE = STEPS["lycheeverse/lychee-action"]
DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"})>,\]]+")


def covered() -> list[Path]:
    """Files that the workflow looks at.

    The list of DOIs, which it makes itself, left out.
    """
    words = shlex.split(LYCHEE["with"]["args"])
    patterns = words[words.index("dois.txt") + 1 :]
    found = [sorted(REPOSITORY.glob(pattern)) for pattern in patterns]
    assert all(found), [
        pattern for pattern, files in zip(patterns, found, strict=True) if not files
    ]
    return [path for files in found for path in files]


def test_it_runs_by_the_week_and_by_hand_alone():
    assert set(WORKFLOW[True]) == {
        "schedule",
        "workflow_dispatch",
    }  # YAML 1.1 reads the key `on` as true
    [plan] = WORKFLOW[True]["schedule"]
    assert re.fullmatch(r"\d+ \d+ \* \* [0-6]", plan["cron"])


def test_a_dead_link_fails_nothing_and_is_told_in_summary_and_file():
    assert LYCHEE["continue-on-error"] is True
    assert LYCHEE["with"]["fail"] is False
    assert LYCHEE["with"]["jobSummary"] is True
    kept = STEPS["actions/upload-artifact"]
    assert kept["if"] == "always()"
    assert kept["with"]["path"] == LYCHEE["with"]["output"]


def test_every_page_and_paper_of_the_repository_is_looked_at():
    files = {str(path.relative_to(REPOSITORY)) for path in covered()}
    pages = [
        REPOSITORY.glob(each)
        for each in (
            "*.md",
            "*.cff",
            "book/*.md",
            "book/*.bib",
            "book/teaching/*.md",
            "notebooks/*.md",
        )
    ]
    assert {
        str(path.relative_to(REPOSITORY)) for each in pages for path in each
    } <= files


def test_every_doi_of_the_repository_is_asked_for_at_the_registry(tmp_path):
    for name in ("book/references.bib", "CITATION.cff", ".zenodo.json", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", STEPS["collect DOIs"]["run"]],
        cwd=tmp_path,
        check=True,
    )
    asked = (tmp_path / "dois.txt").read_text().split()
    text = "".join(
        path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file() and path.name != "dois.txt"
    )
    entries = re.findall(
        r"^\s*doi\s*=\s*\{(.+)\}",
        (REPOSITORY / "book" / "references.bib").read_text(),
        re.MULTILINE,
    )
    assert {
        f"https://doi.org/api/handles/{doi}" for doi in {*entries, *DOI.findall(text)}
    } == set(asked)
    assert len(entries) >= 5


@pytest.mark.parametrize("pattern", tomllib.loads(SETTINGS.read_text())["exclude"])
def test_what_is_left_out_has_its_reason_beside_it_and_is_still_there(pattern):
    lines = [line.strip() for line in SETTINGS.read_text().splitlines()]
    at = lines.index(f"'{pattern}',")
    assert re.match(r"# \w.{20,}\.$", lines[at - 1])
    links = {
        link
        for path in covered()
        for link in re.findall(
            r"https?://[^\s\"'`<>)\]]+", path.read_text(encoding="utf8")
        )
    }
    assert [link for link in links if re.search(pattern, link)], (
        "no link matches any more: take the pattern out"
    )


def test_links_from_the_repositorys_own_pages_lead_to_files_that_are_there():
    """Pages of the book are checked by its build; these are not part of it."""
    looked = 0
    for page in REPOSITORY.glob("*.md"):
        text = re.sub(
            r"^```.*?^```",
            "",
            page.read_text(encoding="utf8"),
            flags=re.MULTILINE | re.DOTALL,
        )
        for link in [
            *re.findall(r"\]\(([^)]+)\)", text),
            *re.findall(r'(?:src|srcset)="([^"]+)"', text),
        ]:
            if "://" not in link:
                assert (REPOSITORY / link.partition("#")[0]).exists(), (
                    f"{page.name}: {link}"
                )
                looked += 1
    assert looked >= 12
