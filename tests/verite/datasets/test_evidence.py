"""Evidence belongs to the pair it is for, or is refused."""

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
        images_paths=["['/far/true_image_0_0.jpg']", "['/far/false_image_0_0.jpg']"],
        num_images=["1", "1"],
    )
    (home / "verite-evidence").mkdir()
    table.assign(**cells).to_csv(home / "verite-evidence" / "VERITE_with_evidence.csv")


def test_looked_up_by_content(data_home: Path) -> None:
    write(data_home)
    evidence = load_evidence(PAIRS[::-1])
    assert evidence["pair_id"].tolist() == ["p1", "p0"]
    assert evidence["texts"].tolist() == [(), ("a boat", "the captain's boat")]
    images = [("false_image_0_0.jpg",), ("true_image_0_0.jpg",)]
    assert evidence["images"].tolist() == images
    with pytest.raises(DataError, match="no evidence for 1 of 2 pairs .p1."):
        load_evidence(PAIRS.assign(caption=["A boat.", "A boat sunk."]))


@pytest.mark.parametrize("cell", ["['a'", "['a', 1]", "__import__('os')", "[" * 5000])
def test_not_a_list(data_home: Path, cell: str) -> None:
    write(data_home, captions=[cell, "[]"])
    message = "line 2: expected a list of 2 texts in 'captions'"
    with pytest.raises(DataError, match=message):
        load_evidence(PAIRS)


def test_other_faults(data_home: Path) -> None:
    with pytest.raises(MissingDataError, match="verite data fetch verite-evidence"):
        load_evidence(PAIRS)
    write(data_home, num_images=["2", "1"])
    with pytest.raises(DataError, match="expected a list of 2 texts in 'images_paths'"):
        load_evidence(PAIRS)


def test_duplicates(data_home: Path) -> None:
    write(data_home, caption=["A boat."] * 2, label=["true"] * 2)
    with pytest.raises(DataError, match="duplicate pairs .line 3."):
        load_evidence(PAIRS)


def test_real(real_data: Path) -> None:
    pairs = load("verite", embeddings=False).pairs
    evidence = load_evidence(pairs)
    assert evidence["pair_id"].tolist() == pairs["pair_id"].tolist()
    assert evidence["texts"].groupby(pairs["image_id"]).nunique().max() == 1
    texts, images = evidence["texts"].map(len), evidence["images"].map(len)
    assert (texts.sum(), images.sum(), (texts == 0).sum()) == (1879, 11633, 377)
    first = load("verite", version="paper", embeddings=False).pairs
    with pytest.raises(DataError, match="no evidence for 1 of 1,000 .*figments_43"):
        load_evidence(first)
