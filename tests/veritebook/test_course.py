"""The course: two editions of every notebook from one source, and the exercise in
annotation.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import jupytext
import nbformat
import pandas as pd
import pytest

from averimatec import fleiss_kappa, rating_counts
from verite.errors import DataError, ParameterError
from verite.pairs import LABELS
from veritebook.course import (
    WEEKS,
    Annotation,
    agreement,
    build_course,
    exercises,
    for_instructors,
    for_students,
    read_annotations,
    solutions,
)
from veritebook.course.build import course_notebooks
from veritebook.course.plain import in_plain_words
from veritebook.notebooks import Notebook, list_notebooks

REPOSITORY = Path(__file__).resolve().parents[2]
TEACHING = REPOSITORY / "book" / "teaching"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    out = tmp_path_factory.mktemp("course") / "out"
    build_course(out)
    return out


@pytest.fixture(scope="module")
def sources():
    return {one.name: one for one in course_notebooks()}


def notebook(text, name="made"):
    return Notebook(name, Path(f"{name}.md"), jupytext.reads(text, fmt="md:myst"), ())


def code(node):
    return [cell for cell in node.cells if cell.cell_type == "code"]


def words(cells):
    return "\n".join(cell.source for cell in cells)


MADE = """# Made

## Exercises

1. One.
2. Two.

````{dropdown} Solution to 2
Because it is *so*.

```python
answer = 42
```
````

```{code-cell} ipython3
check(1)
```
"""


def test_both_editions_hold_every_chapter_and_the_annotation_and_are_valid(
    course, sources
):
    assert set(sources) == {"annotation", *list_notebooks()}
    for edition in ("student", "instructor"):
        paths = sorted((course / edition).glob("*.ipynb"))
        assert {path.stem for path in paths} == set(sources)
        for path in paths:
            nbformat.validate(nbformat.read(path, as_version=4))


def test_no_students_notebook_holds_a_solution_and_every_instructors_holds_all(
    course, sources
):
    found = 0
    for name, source in sources.items():
        for text in solutions(source).values():
            longest = max(text.splitlines(), key=len)
            student = (course / "student" / f"{name}.ipynb").read_text(encoding="utf8")
            assert json.dumps(longest, ensure_ascii=False)[1:-1] not in student, name
            instructor = words(
                nbformat.read(
                    course / "instructor" / f"{name}.ipynb", as_version=4
                ).cells
            )
            for part in re.split(r"```python\n|\n```$", text, flags=re.M):
                assert in_plain_words(part, source).strip() in instructor, name
            found += 1
        assert "solution to" not in student.lower()
    marked = sum(
        path.read_text(encoding="utf8").count("} Solution to ")
        for path in REPOSITORY.glob("notebooks/*.md")
    )
    assert found == marked + len(solutions(sources["annotation"])) > 30


def test_every_code_cell_self_checks_among_them_stands_in_both_editions(
    course, sources
):
    for name, source in sources.items():
        expected = [cell.source for cell in code(source.node)]
        for edition in ("student", "instructor"):
            node = nbformat.read(course / edition / f"{name}.ipynb", as_version=4)
            assert [
                cell.source
                for cell in code(node)
                if "solution" not in cell.metadata.get("tags", ())
            ] == expected
    student = nbformat.read(course / "student" / "annotation.ipynb", as_version=4)
    assert 'check("annotation", share)' in words(student.cells)


def test_a_student_finds_a_cell_for_the_answer_to_each_exercise(course, sources):
    for name, source in sources.items():
        node = nbformat.read(course / "student" / f"{name}.ipynb", as_version=4)
        asked = re.findall(r"answer to exercise (\d+)", words(node.cells))
        assert list(map(int, asked)) == exercises(source) != []


def test_a_solutions_python_is_a_cell_of_the_instructors_that_runs_and_no_student_sees():  # noqa: E501 - a test name
    made = MADE.replace(
        "```\n````", "```\n\nSo much.\n\n```bash\nverite run made\n```\n````"
    )
    node = for_instructors(notebook(made))
    nbformat.validate(node)
    assert [(cell.cell_type, cell.source) for cell in node.cells[1:]] == [
        ("code", "answer = 42"),
        ("markdown", "So much.\n\n```bash\nverite run made\n```"),
        ("code", "check(1)"),
    ]
    assert [cell.metadata.get("tags") for cell in code(node)] == [["solution"], None]
    assert "42" not in words(for_students(notebook(made)).cells)


def test_what_only_the_book_can_fill_in_is_filled_in(course):
    text = "".join(
        path.read_text(encoding="utf8") for path in (course / "student").glob("*.ipynb")
    )
    assert "{cite}" not in text
    assert "[](" not in text
    assert "of [Papadopoulos 2024]" in text
    assert "[Measuring unimodal bias](measuring-bias.ipynb)" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("````{dropdown} Solution", "```{dropdown} Solution"),
        ("````{dropdown} Solution to 2", "**Solution to 2**"),
        ("check(1)", "# solution to 1"),
    ],
)
def test_a_solution_in_another_form_stops_the_course_instead_of_reaching_students(
    old, new
):
    with pytest.raises(DataError, match=r"made\.md: a solution would be left"):
        for_students(notebook(MADE.replace(old, new)))


def test_a_solution_to_no_exercise_is_named():
    with pytest.raises(
        DataError, match="one solution for one exercise, found otherwise for 5"
    ):
        for_students(notebook(MADE.replace("Solution to 2", "Solution to 5")))


def test_the_same_sources_give_the_same_bytes(course, tmp_path):
    build_course(tmp_path / "again")
    files = {path.relative_to(course) for path in course.rglob("*") if path.is_file()}
    assert len(files) == 2 * len(list_notebooks()) + 5
    for name in files:
        assert (course / name).read_bytes() == (
            tmp_path / "again" / name
        ).read_bytes(), name


def test_the_list_of_a_course_names_every_file_with_its_checksum(course):
    from verite.files import sha256

    listed = json.loads((course / "course.json").read_text())["files"]
    assert {name: sha256(course / name) for name in listed} == listed
    assert {str(path.relative_to(course)) for path in course.rglob("*.*")} == {
        "course.json",
        *listed,
    }


def test_a_course_is_not_replaced_unless_asked_and_students_files_stay_then(tmp_path):
    out = tmp_path / "out"
    build_course(out)
    changed = out / "student" / "errata.ipynb"
    changed.write_text("mine")
    (out / "student" / "annotations-AB-looking.csv").write_text("pair,label\n")
    with pytest.raises(ParameterError, match="already exists; use --force"):
        build_course(out)
    assert changed.read_text() == "mine"
    build_course(out, force=True)
    assert json.loads(changed.read_text())["nbformat"] == 4
    assert (
        out / "student" / "annotations-AB-looking.csv"
    ).read_text() == "pair,label\n"
    assert sorted(tmp_path.iterdir()) == [out]


def test_a_folder_that_is_no_course_is_never_replaced(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ParameterError, match="something else than a course"):
        build_course(tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("edition", ["student", "instructor"])
@pytest.mark.parametrize(
    "name", ["annotation", "errata", "measuring-bias", "from-pairs-to-claims"]
)
def test_a_notebook_of_each_edition_runs_from_a_folder_of_its_own(
    course, tmp_path, monkeypatch, edition, name
):
    """The quickest; the other chapters' cells are the book's own, which
    tests/veritebook/test_book.py runs, and solutions, which run apart.
    """
    from nbclient import NotebookClient

    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")])),
    )
    node = nbformat.read(course / edition / f"{name}.ipynb", as_version=4)
    NotebookClient(
        node,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    shown = [
        output
        for cell in node.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    assert not [output for output in shown if output.output_type == "error"]
    answers = [
        output.data["text/plain"]
        for output in shown
        if "text/plain" in output.get("data", {})
    ]
    assert any(text.startswith("Not written yet") for text in answers)
    assert any(text.startswith("Right: all") for text in answers) == (
        edition == "instructor"
    )
    if name != "annotation":
        assert (tmp_path / "verite-runs" / name / "results.csv").is_file()
    else:
        said = "".join(
            output.text for output in shown if output.output_type == "stream"
        )
        assert said.count("Not labelled yet: P01") == 2
        pictures = next(
            output for output in shown if "text/html" in output.get("data", {})
        )
        assert pictures.data["text/html"].count("<img ") == 18


def test_every_notebook_has_a_week(sources):
    assert {source.week for source in sources.values()} == set(range(1, 7))


def test_an_annotation_deals_as_many_pairs_of_each_class_one_an_event():
    exercise = Annotation(pairs=12, seed=3)
    assert sorted(exercise.key().values()) == sorted(4 * LABELS)
    assert exercise.evidence()["archive"].nunique() == 12
    assert (
        Annotation(pairs=12, seed=3).key()
        == exercise.key()
        != Annotation(pairs=12, seed=4).key()
    )


def test_the_evidence_decides_every_label():
    """The class follows from three sentences.

    Does the picture belong to the archive's event, and what does the caption say of it?
    """

    def facts(text):
        known = re.sub(r"^\w+: |a picture of |[.,]", "", text.lower()).split()
        return {
            word for word in known if word not in {"a", "and", "with", "at", "in", "on"}
        }

    for seed in range(5):
        exercise = Annotation(pairs=30, seed=seed)
        for number, row in exercise.evidence().iterrows():
            if row["picture"] != row["archive"]:
                told = "out-of-context"
            else:
                told = (
                    "true"
                    if facts(row["archive"]) <= facts(row["caption"])
                    else "miscaptioned"
                )
            assert told == exercise.key()[number]


def test_the_alternative_text_of_a_picture_tells_what_it_shows_and_not_its_label():
    shown = Annotation(pairs=9).show()._repr_mimebundle_()["text/html"]
    assert shown.count('alt="Drawn: ') == 9
    assert not [label for label in LABELS if label in shown]


def test_a_check_says_which_are_wrong_and_not_what_is_right():
    exercise = Annotation(pairs=6)
    key = exercise.key()
    assert exercise.check(key) == "All 6 are right."
    first = next(number for number in key if key[number] == "true")
    said = exercise.check(key | {first: "miscaptioned"})
    assert said == f"5 of 6 are right. Look again at {first}."


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            {"P01": "False"},
            (
                "expected the labels true, out-of-context, miscaptioned, found P01:"
                " 'False'"
            ),
        ),
        ({"P99": "true"}, "from P01 to P03, found P99"),
    ],
)
def test_a_label_or_a_pair_that_does_not_exist_is_named(answers, message):
    with pytest.raises(DataError, match=message):
        Annotation(pairs=3).check(answers)


@pytest.mark.parametrize("pairs", [0, -3, 4])
def test_pairs_come_in_threes(pairs):
    with pytest.raises(ParameterError, match="multiple of 3"):
        Annotation(pairs=pairs)


def test_saved_labels_come_back_by_pair_and_are_not_saved_twice(tmp_path):
    exercise = Annotation(pairs=6)
    key = exercise.key()
    careless = dict.fromkeys(key, "true")
    paths = [
        exercise.save(key, "AB", "looking", tmp_path),
        exercise.save(careless, "CD", "looking", tmp_path),
    ]
    lines = paths[1].read_text().splitlines()
    paths[1].write_text(
        "\n".join([lines[0], *reversed(lines[1:])]) + "\n"
    )  # aligned by pair, not by position
    found = read_annotations(paths)
    assert found["AB"].to_dict() == key
    assert found["CD"].to_dict() == careless
    with pytest.raises(ParameterError, match="labels are not changed afterwards"):
        exercise.save(careless, "AB", "looking", tmp_path)


def test_labels_are_saved_whole_and_under_a_name_that_no_spreadsheet_takes_for_a_formula(  # noqa: E501 - a test name
    tmp_path,
):
    exercise = Annotation(pairs=3)
    with pytest.raises(DataError, match="found none for P01, P02, P03"):
        exercise.save({}, "AB", "looking", tmp_path)
    for name in ("", "=1+1", "../AB", "-x", "a b"):
        with pytest.raises(ParameterError, match="letters, digits and hyphens"):
            exercise.save(exercise.key(), name, "looking", tmp_path)
    with pytest.raises(ParameterError, match="one of looking, evidence"):
        exercise.save(exercise.key(), "AB", "guessing", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_labels_of_another_world_another_round_or_one_person_twice_are_not_compared(
    tmp_path,
):
    one, other = Annotation(pairs=3), Annotation(pairs=3, seed=1)
    first = one.save(one.key(), "AB", "looking", tmp_path)
    with pytest.raises(DataError, match="two people or more, found 1 file"):
        read_annotations([first])
    with pytest.raises(DataError, match="one world, given in one way"):
        read_annotations([first, other.save(other.key(), "CD", "looking", tmp_path)])
    with pytest.raises(DataError, match="one world, given in one way"):
        read_annotations([first, one.save(one.key(), "EF", "evidence", tmp_path)])
    with pytest.raises(DataError, match="labels of one more person, found AB"):
        read_annotations([first, one.save(one.key(), "AB", "evidence", tmp_path)])


def test_agreement_is_that_of_the_counts_and_joins_the_false_classes():
    ratings = pd.DataFrame(
        {
            "A": ["true", "out-of-context", "miscaptioned", "true"],
            "B": ["true", "miscaptioned", "miscaptioned", "miscaptioned"],
        },
        index=["P01", "P02", "P03", "P04"],
    )
    found = agreement(ratings)
    assert found.loc[("three classes", "share"), "value"] == 0.5
    assert found.loc[("two classes", "share"), "value"] == 0.75
    assert found.loc[("three classes", "Randolph's kappa"), "value"] == pytest.approx(
        (1 / 2 - 1 / 3) / (1 - 1 / 3)
    )
    assert found.loc[("two classes", "Randolph's kappa"), "value"] == pytest.approx(0.5)
    assert found.loc[("three classes", "Fleiss' kappa"), "value"] == pytest.approx(
        fleiss_kappa(rating_counts(ratings, LABELS)).value
    )
    assert (found["low"] <= found["value"]).all()
    assert (found["value"] <= found["high"]).all()


def test_agreement_of_those_who_are_right_is_full():
    key = Annotation(pairs=6).key()
    assert (agreement(pd.DataFrame({"A": key, "B": key, "C": key}))["value"] == 1).all()


def test_the_annotation_asks_for_each_pair_that_it_shows(sources):
    text = words(sources["annotation"].node.cells)
    pairs = int(re.search(r"Annotation\(pairs=(\d+)", text).group(1))
    assert re.findall(r'"(P\d\d)": ""', text) == 2 * Annotation(pairs=pairs).numbers


def test_the_plan_of_the_course_has_the_titles_of_the_weeks():
    text = (TEACHING / "course.md").read_text(encoding="utf8")
    assert tuple(re.findall(r"^## Week \w+: (.+)$", text, re.M)) == WEEKS


def test_the_guide_has_a_section_for_each_chapter_and_answers_no_exercise_that_is_not_there(  # noqa: E501 - a test name
    sources,
):
    text = (TEACHING / "guide.md").read_text(encoding="utf8")
    found = re.findall(
        r"^## ([^\n]+)\n\n\[\]\(\.\./\.\./notebooks/executed/([\w-]+)\.ipynb\)\n"
        r"(.*?)(?=^## |\Z)",
        text,
        re.M | re.S,
    )
    sections = {name: section for _, name, section in found}
    assert set(sections) <= set(list_notebooks())
    assert {name: title for title, name, _ in found} == {
        name: sources[name].title for name in sections
    }
    for name, section in sections.items():
        answered = [
            int(number)
            for number in re.findall(r"^\*\*Exercise (\d+)\.\*\*", section, re.M)
        ]
        assert answered == sorted(set(answered))
        assert set(answered) <= set(exercises(sources[name])), name
        open_ones = set(exercises(sources[name])) - set(solutions(sources[name]))
        assert open_ones <= set(answered), (
            f"{name}: no expected answer for {open_ones - set(answered)}"
        )


def test_a_term_of_the_glossary_stands_once_and_in_order():
    text = (REPOSITORY / "book" / "glossary.md").read_text(encoding="utf8")
    body = re.search(r"^(`{3,})\{glossary\}\n(.*?)^\1$", text, re.M | re.S).group(2)
    terms = [
        line for line in body.splitlines() if line and not line.startswith((" ", ":"))
    ]
    assert terms == sorted(
        terms, key=lambda term: term.lower().replace("δ%", "delta %")
    )
    assert len({term.lower() for term in terms}) == len(terms) > 40
