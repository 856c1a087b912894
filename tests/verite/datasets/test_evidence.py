"""Evidence stands beside the pair it is for, or is refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from verite.datasets import load
from verite.datasets.evidence import load_evidence
from verite.errors import DataError, MissingDataError

PAIRS = pd.DataFrame(
    {
        "pair_id": ["p0", "p1"],
        "caption": ["A boat.", "A boat sank."],
        "image_path": ["images/true_0.jpg"] * 2,
        "label": ["true", "miscaptioned"],
    }
)


def write(home: Path, **cells: list[str]) -> None:
    table = PAIRS.drop(columns="pair_id").assign(
        captions=["['a boat', \"the captain's boat\"]", "[]"],
        len_text_info=["2", "0"],
        images_paths=[
            "['/far/away/true_image_0_0.jpg']",
            "['/far/away/false_image_0_0.jpg']",
        ],
        num_images=["1", "1"],
    )
    (home / "verite-evidence").mkdir()
    table.assign(**cells).to_csv(home / "verite-evidence" / "VERITE_with_evidence.csv")


def test_evidence_is_found_by_content_whatever_the_order(data_home: Path) -> None:
    write(data_home)
    found = load_evidence(PAIRS[::-1])
    assert found["pair_id"].tolist() == ["p1", "p0"]
    assert found["texts"].tolist() == [(), ("a boat", "the captain's boat")]
    assert found["images"].tolist() == [
        ("false_image_0_0.jpg",),
        ("true_image_0_0.jpg",),
    ]


def test_a_pair_without_its_own_row_is_refused(data_home: Path) -> None:
    write(data_home)
    with pytest.raises(
        DataError,
        match="no evidence for 1 of 2 pairs .p1., whose image, caption and label",
    ):
        load_evidence(PAIRS.assign(caption=["A boat.", "A boat sunk."]))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            {"captions": ["['a'", "[]"]},
            "line 2: expected a list of texts in 'captions'",
        ),
        (
            {"captions": ["['a', 1]", "[]"]},
            "line 2: expected a list of texts in 'captions'",
        ),
        (
            {"captions": ["__import__('os').getcwd()", "[]"]},
            "line 2: expected a list of texts in 'captions'",
        ),
        (
            {"captions": ["[" * 5000, "[]"]},
            "line 2: expected a list of texts in 'captions'",
        ),
        (
            {"len_text_info": ["3", "0"]},
            "line 2: len_text_info says '3', but 'captions' holds 2",
        ),
        (
            {"images_paths": ["[]", "[]"]},
            "line 2: num_images says '1', but 'images_paths' holds 0",
        ),
        (
            {"caption": ["A boat.", "A boat."], "label": ["true", "true"]},
            "a pair stands twice .line 3.",
        ),
    ],
)
def test_a_cell_that_is_not_what_it_must_be_is_named(
    data_home: Path, cells: dict[str, list[str]], message: str
) -> None:
    write(data_home, **cells)
    with pytest.raises(DataError, match=message):
        load_evidence(PAIRS)


def test_the_message_says_how_to_get_the_file(data_home: Path) -> None:
    with pytest.raises(MissingDataError, match="verite data fetch verite-evidence"):
        load_evidence(PAIRS)


def test_every_real_pair_has_its_row_and_all_pairs_of_an_image_the_same_texts(
    real_data: Path,
) -> None:
    pairs = load("verite", embeddings=False).pairs
    found = load_evidence(pairs)
    assert found["pair_id"].tolist() == pairs["pair_id"].tolist()
    assert found["texts"].groupby(pairs["image_id"]).nunique().max() == 1
    assert (
        found["texts"].map(len).sum(),
        found["images"].map(len).sum(),
        int((found["texts"].map(len) == 0).sum()),
    ) == (1879, 11633, 377)
    with pytest.raises(
        DataError, match="no evidence for 1 of 1,000 pairs .figments_43."
    ):
        load_evidence(load("verite", version="paper", embeddings=False).pairs)
