"""No number stands in the prose of a page that a cell could compute."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *REPOSITORY.glob("notebooks/*.md"),
        *REPOSITORY.glob("book/*.md"),
        *REPOSITORY.glob("book/teaching/*.md"),
    ]
)

# What may hold digits, and why.
ALLOWED = (
    (  # where the paper says it; exercises
        r"(Tables?|[Ss]ections?|Figures?|Fig\.|Solution to) \d+(\.\d+)*((,| and| to)"
        r" \d+(\.\d+)*)*"
    ),
    r"\*\*Exercise \d+\.\*\*",  # which exercise of a chapter the instructor's guide answers
    r"95 %",  # the level of every interval: a convention, not a result
    r"NC-t2t|macro-F1",  # names
    r"Python \d\.\d+",  # a requirement
    r"(Set|set) to \d+",  # exercises: values that the reader is to give a parameter
    r"reaches \d+ % with text alone and \d+ % with text and image",  # an exercise on made-up figures, and its solution
    r"a third of \d+ is missing, which is half of \d+",
)


def prose(path: Path) -> list[tuple[int, str]]:
    """Lines of a page with their numbers, without code, formulas, links, and the digits
    that number a list.
    """
    text = path.read_text(encoding="utf8")
    text = re.sub(
        r"\A---\n.*?\n---\n",
        lambda found: "\n" * found[0].count("\n"),
        text,
        flags=re.DOTALL,
    )
    blank = (  # four backticks fence a folded solution, which is prose
        r"^(`{3}|~{3})(?!`).*?^\1\s*$|\$\$.*?\$\$"
    )
    text = re.sub(
        blank,
        lambda found: "\n" * found[0].count("\n"),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    text = re.sub(r"\$[^$\n]*\$|\]\([^)]*\)|https?://\S+|\{\w+\}", "", text)
    text = re.sub(r"`[^`\n]*`", "", re.sub(r"(set|Set) `\w+` ", r"\1 ", text))
    lines = [re.sub(r"^\s*\d+\. ", "", line) for line in text.split("\n")]
    return [
        (number, re.sub("|".join(ALLOWED), "", line))
        for number, line in enumerate(lines, 1)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_prose_of_a_page_holds_no_number_that_a_cell_could_compute(
    path: Path,
) -> None:
    found = [
        f"line {number}: {line.strip()}"
        for number, line in prose(path)
        if re.search(r"\d", line)
    ]
    assert not found, (
        f"{path.name}: let a cell compute it, or allow it in this file, with the reason"
    )


def test_a_number_in_prose_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    words = [
        "---",
        "a: 1",
        "---",
        "# A page",
        "",
        "```python",
        "x = 2",
        "```",
        "",
        "Table 3 says `4` and $5$.",
        "",
    ]
    page.write_text(
        "\n".join([*words, "````{dropdown} Solution to 1", "It is 66.2 %.", "````"])
    )
    assert [number for number, line in prose(page) if re.search(r"\d", line)] == [13]
