"""Synthetic claims of the newsroom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from averimatec import (
    RECIPES,
    VERDICTS,
    Answer,
    Claim,
    MadeClaims,
    image_files,
    make_claims,
)
from averimatec.claims import missing_images
from averimatec.pictures import COPY, hash_distance, picture_hash
from verite.errors import ParameterError


def every_claim(made: MadeClaims) -> list[Claim]:
    return [claim for claims in made.splits.values() for claim in claims]


def of_recipe(made: MadeClaims, recipe: str) -> list[Claim]:
    splits = made.splits.items()
    claims = [(made.recipes[split][c.id], c) for split, part in splits for c in part]
    return [claim for name, claim in claims if name == recipe]


def content(folder: Path) -> dict[Path, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in files}


def answers(claim: Claim) -> list[Answer]:
    return [answer for question in claim.questions for answer in question.answers]


def test_seeds(made: MadeClaims, tmp_path: Path) -> None:
    again = make_claims(tmp_path / "again", claims=24, seed=1)
    assert content(made.folder) == content(again.folder)
    other = make_claims(tmp_path / "other", claims=12, seed=2)
    texts = [{claim.text for claim in every_claim(x)} for x in (made, other)]
    assert not texts[0] & texts[1]


def test_recipes_and_verdicts(made: MadeClaims) -> None:
    assert {claim.label for claim in every_claim(made)} == set(VERDICTS)
    assert not missing_images(every_claim(made), image_files(made.images))
    for recipe, verdict in RECIPES.items():
        assert {claim.label for claim in of_recipe(made, recipe)} == {verdict}
    assert json.loads((made.folder / "made.json").read_text())["synthetic"] is True


def test_dates_of_sources(made: MadeClaims) -> None:
    days = made.store.dates()
    for claim in every_claim(made):
        urls = {answer.url for answer in answers(claim)} - {"", claim.url}
        assert all(days[url] <= claim.date for url in urls)
        assert days[claim.article] > claim.date  # a fact-check comes after its claim


def test_extractive_answers(made: MadeClaims) -> None:
    pages = {page.url: page.text for page in made.store.pages}
    every = [answer for claim in every_claim(made) for answer in answers(claim)]
    extractive = [answer for answer in every if answer.kind == "Extractive"]
    assert extractive
    assert all(answer.text in pages[answer.url] for answer in extractive)


def test_pictures_of_earlier_events(made: MadeClaims) -> None:
    pages = {page.url: page for page in made.store.pages}
    for claim in of_recipe(made, "out-of-context"):
        source = pages[answers(claim)[0].url]
        copy = picture_hash(made.images / claim.images[0])
        original = picture_hash(made.store.images[source.images[0]])
        assert hash_distance(copy, original) <= COPY


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [("disputed", ["Yes", "No"]), ("miscaptioned", ["No"]), ("true", ["Yes"])],
)
def test_reports(made: MadeClaims, recipe: str, expected: list[str]) -> None:
    claims = of_recipe(made, recipe)
    assert claims
    for claim in claims:
        assert [answer.text for answer in claim.questions[1].answers] == expected
    for claim in of_recipe(made, "unreported"):
        assert {answer.kind for answer in answers(claim)} == {"Unanswerable"}


def test_too_few_claims(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="12 claims or more"):
        make_claims(tmp_path, claims=3)
