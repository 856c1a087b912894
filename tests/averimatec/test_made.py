from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from averimatec import (
    RECIPES,
    VERDICTS,
    MadeClaims,
    Page,
    image_files,
    make_claims,
    read_store,
    write_store,
)
from averimatec.claims import missing_images
from averimatec.pictures import COPY, hash_distance, picture_hash
from verite.errors import DataError, MissingDataError, ParameterError

DAY = datetime.date(2020, 5, 1)


def recipe_and_claim(made: MadeClaims, recipe: str):  # type: ignore[no-untyped-def]
    return [
        claim
        for split, claims in made.splits.items()
        for claim in claims
        if made.recipes[split][claim.id] == recipe
    ]


def test_the_same_seed_makes_the_same_files(made: MadeClaims, tmp_path: Path) -> None:
    again = make_claims(tmp_path / "again", claims=24, seed=1)
    names = sorted(
        path.relative_to(made.folder)
        for path in made.folder.rglob("*")
        if path.is_file()
    )
    assert names == sorted(
        path.relative_to(again.folder)
        for path in again.folder.rglob("*")
        if path.is_file()
    )
    assert all(
        (made.folder / name).read_bytes() == (again.folder / name).read_bytes()
        for name in names
    )


def test_another_seed_makes_other_claims(made: MadeClaims, tmp_path: Path) -> None:
    other = make_claims(tmp_path, claims=12, seed=2)
    assert not {claim.text for claim in other.splits["train"]} & {
        claim.text for claim in made.splits["train"]
    }


def test_all_four_verdicts_and_all_recipes_are_there_and_agree(
    made: MadeClaims,
) -> None:
    assert {claim.label for claims in made.splits.values() for claim in claims} == set(
        VERDICTS
    )
    for recipe, verdict in RECIPES.items():
        assert {claim.label for claim in recipe_and_claim(made, recipe)} == {verdict}


def test_the_files_say_that_they_are_made_up(made: MadeClaims) -> None:
    assert json.loads((made.folder / "made.json").read_text())["synthetic"] is True


def test_every_image_that_a_claim_names_is_there(made: MadeClaims) -> None:
    files = image_files(made.images)
    assert all(not missing_images(claims, files) for claims in made.splits.values())


def test_every_source_but_posts_is_a_page_of_the_store_that_came_before_the_claim(
    made: MadeClaims,
) -> None:
    days = made.store.dates()
    for claims in made.splits.values():
        for claim in claims:
            urls = [
                answer.url
                for question in claim.questions
                for answer in question.answers
                if answer.url and answer.url != claim.url
            ]
            assert all(days[url] <= claim.date for url in urls)


def test_fact_checks_stand_in_the_store_and_come_after_their_claims(
    made: MadeClaims,
) -> None:
    days = made.store.dates()
    assert all(
        days[claim.article] > claim.date
        for claims in made.splits.values()
        for claim in claims
    )


def test_extractive_answers_stand_word_for_word_on_their_pages(
    made: MadeClaims,
) -> None:
    pages = {page.url: page.text for page in made.store.pages}
    answers = [
        answer
        for claims in made.splits.values()
        for claim in claims
        for question in claim.questions
        for answer in question.answers
    ]
    said = [answer for answer in answers if answer.kind == "Extractive"]
    assert said
    assert all(answer.text in pages[answer.url] for answer in said)


def test_a_claims_picture_is_a_copy_of_one_on_an_earlier_page_unless_nobody_reported_it(
    made: MadeClaims,
) -> None:
    for claim in recipe_and_claim(made, "out-of-context"):
        known = made.store.before(claim.date)
        [source] = [
            page
            for page in known.pages
            if page.url == claim.questions[0].answers[0].url
        ]
        copy, original = (
            picture_hash(made.images / claim.images[0]),
            picture_hash(known.images[source.images[0]]),
        )
        assert hash_distance(copy, original) <= COPY
    for claim in recipe_and_claim(made, "unreported"):
        assert {
            answer.kind for question in claim.questions for answer in question.answers
        } == {"Unanswerable"}


def test_disputed_claims_have_answers_that_differ(made: MadeClaims) -> None:
    claims = recipe_and_claim(made, "disputed")
    assert claims
    assert all(
        [answer.text for answer in claim.questions[1].answers] == ["Yes", "No"]
        for claim in claims
    )


def test_miscaptioned_claims_are_denied_and_true_ones_confirmed(
    made: MadeClaims,
) -> None:
    assert {
        claim.questions[1].answers[0].text
        for claim in recipe_and_claim(made, "miscaptioned")
    } == {"No"}
    assert {
        claim.questions[1].answers[0].text for claim in recipe_and_claim(made, "true")
    } == {"Yes"}


def test_too_few_claims_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="12 claims or more"):
        make_claims(tmp_path, claims=3)


def test_a_store_is_cut_at_a_day_and_leaves_pages_without_a_date_out(
    tmp_path: Path,
) -> None:
    pages = [
        Page("https://a.example", "Old.", date=DAY, images=("a.png",)),
        Page(
            "https://b.example",
            "New.",
            date=DAY + datetime.timedelta(1),
            images=("b.png",),
        ),
        Page("https://c.example", "Some day."),
    ]
    store = read_store(write_store(tmp_path, pages, {"a.png": b"a", "b.png": b"b"}))
    assert [page.text for page in store.before(DAY).pages] == ["Old."]
    assert sorted(store.before(DAY).images) == ["a.png"]
    assert [page.text for page in store.before(DAY, undated=True).pages] == [
        "Old.",
        "Some day.",
    ]
    assert len(store.before(None).pages) == 2
    assert [page.url for page in store.pages_with("b.png")] == ["https://b.example"]


def test_what_is_written_to_a_store_is_read_again(tmp_path: Path) -> None:
    pages = (
        Page("https://a.example", "Text ∂.", "Title", DAY, ("a.png",)),
        Page("https://b.example", "Text."),
    )
    assert read_store(write_store(tmp_path, pages)).pages == pages


def test_the_shared_tasks_files_are_read_as_pages_without_dates(tmp_path: Path) -> None:
    path = tmp_path / "12.json"
    path.write_text(
        json.dumps(
            {"claim_id": 12, "url": "https://a.example", "url2text": ["One.", "Two."]}
        )
        + "\n",
        encoding="utf8",
    )
    assert read_store(path).pages == (Page("https://a.example", "One. Two."),)


def test_wrong_pages_are_named_with_their_fields(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text(
        '{"url": "", "text": "x"}\n{"url": "https://a.example", "date": "soon", "text":'
        ' ""}\n',
        encoding="utf8",
    )
    with pytest.raises(DataError) as caught:
        read_store(path)
    assert "page 1, url: expected text" in str(caught.value)
    assert (
        'page 2, date: expected a day such as 2023-07-08 or 8-7-2023, found "soon"'
        in str(caught.value)
    )
    assert "page 2, text: expected text" in str(caught.value)


def test_one_address_twice_is_an_error(tmp_path: Path) -> None:
    page = Page("https://a.example", "Text.")
    with pytest.raises(
        DataError, match=r"page https://a.example: stands in the store more than once"
    ):
        read_store(write_store(tmp_path, [page, page]))


def test_a_folder_without_pages_is_an_error_that_names_what_it_needs(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        MissingDataError, match=r"expected pages.jsonl or pages.parquet"
    ):
        read_store(tmp_path)


def test_an_image_name_that_leads_out_of_the_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a plain file name"):
        write_store(tmp_path, [], {"../a.png": b"a"})


def test_pages_in_parquet_are_read_with_their_days_and_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {
            "url": "https://a.example",
            "date": DAY,
            "title": "T",
            "text": "One.",
            "images": np.array(["a.png"]),
        },
        {
            "url": "https://b.example",
            "date": float("nan"),
            "title": None,
            "text": "Two.",
            "images": np.array([]),
        },
    ]
    (tmp_path / "pages.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(pd, "read_parquet", lambda path: pd.DataFrame(rows))
    assert read_store(tmp_path).pages == (
        Page("https://a.example", "One.", "T", DAY, ("a.png",)),
        Page("https://b.example", "Two."),
    )


def test_parquet_without_pyarrow_is_an_error_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unable(path: object) -> None:
        raise ImportError

    (tmp_path / "pages.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(pd, "read_parquet", unable)
    with pytest.raises(
        MissingDataError, match=r"needs pyarrow \(pip install 'verite\[parquet\]'\)"
    ):
        read_store(tmp_path)
