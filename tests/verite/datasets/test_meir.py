from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verite.datasets import load
from verite.errors import DataError, MissingDataError


def package(caption: str, *more: str) -> list[Any]:
    return [[caption, *more], "Arland_Lux", "1.5", "-2.5", "2010-01-02 03:04:05"]


def entry(
    old: str = "", new: str = "", source: str = "r1_o.jpg", kind: str = "LOCATION"
) -> dict[str, Any]:
    if not old:
        return {"manipulated": False}
    return {
        "manipulated": True,
        "manipulation_mapping": [[old, new]],
        "manipulation_source_cluster": "there",
        "manipulation_source_file": source,
        "manipulation_type": kind,
    }


BROKEN_SWAP = entry("Arland", "Borvia") | {"manipulation_mapping": [["Arland"]]}


class Release:
    """Three clusters of made-up packages in the publisher's files."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "meir"
        self.reference: Any = {
            "here": {"r0_o.jpg": package("Boat in Arland")},
            "there": {"r1_o.jpg": package("Quay of Borvia")},
        }
        self.manipulated: Any = {
            "here": {
                "m0_o.jpg": package("Pier in Borvia"),
                "m1_o.jpg": package("Pier in", "Arland"),
            },
            "there": {"m2_o.jpg": package("Ada Lux at sea")},
            "nowhere": {"m3_o.jpg": package("Boats")},
        }
        self.log: Any = {
            "here": {"m0_o.jpg": entry("Arland", "Borvia"), "m1_o.jpg": entry()},
            "there": {"m2_o.jpg": entry("Bo Marr", "Ada Lux", kind="PERSON")},
            "nowhere": {"m3_o.jpg": entry()},
        }
        self.lists = {
            "train": ["m0_o.jpg", "m1_o.jpg"],
            "dev": ["m2_o.jpg"],
            "test": ["m3_o.jpg"],
        }

    def write(self) -> Release:
        self.folder.mkdir(exist_ok=True)
        for name, content in (
            ("reference_dataset", self.reference),
            ("manipulated_dataset", self.manipulated),
            ("manipulation_log", self.log),
        ):
            (self.folder / f"{name}.json").write_text(
                json.dumps(content), encoding="utf8"
            )
        for part, lines in self.lists.items():
            (self.folder / f"manipulated_{part}_id.txt").write_text(
                "\n".join(lines) + "\n", encoding="utf8"
            )
        return self


@pytest.fixture
def made(data_home: Path) -> Release:
    return Release(data_home).write()


def test_labels(
    made: Release,
) -> None:
    labels = load("meir").pairs.set_index("pair_id")["label"].to_dict()
    assert labels == dict.fromkeys(
        ["r0_o", "r1_o", "m1_o", "m3_o"], "true"
    ) | dict.fromkeys(["m0_o", "m2_o"], "miscaptioned")


def test_swaps(
    made: Release,
) -> None:
    pairs = load("meir").pairs.set_index("pair_id")
    assert pairs.loc[
        "m0_o", ["method", "donor_id", "manipulation", "image_path"]
    ].tolist() == ["MEIR", "r1_o", "LOCATION", "m0_o.jpg"]
    assert json.loads(pairs.loc["m0_o", "swapped"]) == [["Arland", "Borvia", "GPE"]]
    assert json.loads(pairs.loc["m2_o", "swapped"]) == [
        ["Bo Marr", "Ada Lux", "PERSON"]
    ]
    assert pairs.loc["m1_o", ["method", "donor_id", "swapped"]].tolist() == [
        "",
        "",
        "[]",
    ]


def test_caption_of_two_lines(made: Release) -> None:
    assert (
        load("meir").pairs.set_index("pair_id").loc["m1_o", "caption"]
        == "Pier in Arland"
    )


def test_splits(
    made: Release,
) -> None:
    splits = load("meir").pairs.set_index("pair_id")["split"].to_dict()
    assert splits == {
        "r0_o": "",
        "r1_o": "",
        "m0_o": "train",
        "m1_o": "train",
        "m2_o": "validation",
        "m3_o": "test",
    }


def test_groups_and_leaks(
    made: Release,
) -> None:
    pairs = load("meir").pairs.set_index("pair_id")
    assert pairs["group"].to_dict() == {
        "r0_o": "reference:here",
        "r1_o": "reference:there",
        "m0_o": "train:here",
        "m1_o": "train:here",
        "m2_o": "validation:there",
        "m3_o": "test:nowhere",
    }
    assert pairs.index[pairs["leaks"]].tolist() == [
        "r0_o",
        "r1_o",
        "m0_o",
        "m1_o",
        "m2_o",
    ]


def test_equal_captions(made: Release) -> None:
    made.manipulated["nowhere"]["m3_o.jpg"] = package("PIER in Borvia")
    made.write()
    pairs = load("meir", reference=False).pairs.set_index("pair_id")
    assert pairs.loc["m3_o", "group"] == "test:here"
    assert pairs.index[pairs["leaks"]].tolist() == ["m0_o", "m1_o", "m3_o"]


def test_without_reference(
    made: Release,
) -> None:
    (made.folder / "reference_dataset.json").unlink()
    assert load("meir", reference=False).pairs["pair_id"].tolist() == [
        "m0_o",
        "m1_o",
        "m2_o",
        "m3_o",
    ]
    with pytest.raises(
        MissingDataError, match=r"reference_dataset\.json.*cannot be downloaded"
    ):
        load("meir")


FILE = "manipulated_dataset.json"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manipulated", [], rf"{FILE}: expected clusters, each an object"),
        ("manipulated", {"here": [1]}, rf"{FILE}: expected clusters, each an object"),
        ("manipulated", {"here": {"m0_o.jpg": {}}}, rf"{FILE}, m0_o.jpg: .* list of"),
        ("reference", {"here": {"r0_o.jpg": [[1]]}}, r"r0_o\.jpg: expected a list of"),
        ("reference", {"here": {"m0_o.jpg": package("A")}}, "duplicate photos: m0_o"),
        ("log", {"here": {"m0_o.jpg": True}}, r"log\.json, m0_o\.jpg: .* found True"),
        ("log", {"here": {"m0_o.jpg": BROKEN_SWAP}}, r"m0_o\.jpg: expected manipul"),
        ("log", {"here": {"m0_o.jpg": entry()}}, "m1_o.jpg, m2_o.jpg, .* no entry in"),
        ("lists", {"dev": []}, r"m2_o\.jpg is in none of manipulated_"),
        ("lists", {"dev": ["m2_o.jpg", "m0_o.jpg"]}, "'m0_o.jpg' is already in train"),
        ("lists", {"dev": ["m2_o.jpg", "m9_o.jpg"]}, "m9_o.jpg .* is no package"),
    ],
)
def test_malformed(made: Release, name: str, content: Any, message: str) -> None:
    setattr(made, name, made.lists | content if name == "lists" else content)
    made.write()
    with pytest.raises(DataError, match=message):
        load("meir")
