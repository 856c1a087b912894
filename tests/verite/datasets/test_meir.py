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


def test_manipulated_packages_are_miscaptioned_and_all_others_true(
    made: Release,
) -> None:
    labels = load("meir").pairs.set_index("pair_id")["label"].to_dict()
    assert labels == dict.fromkeys(
        ["r0_o", "r1_o", "m1_o", "m3_o"], "true"
    ) | dict.fromkeys(["m0_o", "m2_o"], "miscaptioned")


def test_a_manipulated_package_tells_what_was_swapped_and_from_where(
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


def test_lines_of_a_caption_are_put_together(made: Release) -> None:
    assert (
        load("meir").pairs.set_index("pair_id").loc["m1_o", "caption"]
        == "Pier in Arland"
    )


def test_the_publishers_splits_are_kept_and_reference_packages_have_none(
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


def test_clusters_are_groups_within_a_part_and_those_in_several_parts_are_marked(
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


def test_an_equal_caption_binds_clusters(made: Release) -> None:
    made.manipulated["nowhere"]["m3_o.jpg"] = package("PIER in Borvia")
    made.write()
    pairs = load("meir", reference=False).pairs.set_index("pair_id")
    assert pairs.loc["m3_o", "group"] == "test:here"
    assert pairs.index[pairs["leaks"]].tolist() == ["m0_o", "m1_o", "m3_o"]


def test_reference_packages_can_be_left_out_and_are_not_needed_then(
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
        MissingDataError, match=r"reference_dataset\.json.*has to be put there by hand"
    ):
        load("meir")


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("manipulated", [], r"manipulated_dataset\.json: expected a JSON object of clusters"),
        ("manipulated", {"here": [1]}, r"manipulated_dataset\.json: expected a JSON object of clusters"),
        ("manipulated", {"here": {}}, r"manipulated_dataset\.json: expected a list for each package, found no package"),
        ("manipulated", {"here": {"m0_o.jpg": {}}}, "expected a list for each package, found {} for m0_o.jpg"),
        ("reference", {"here": {"r0_o.jpg": ["Boat"]}}, r"reference_dataset\.json, r0_o\.jpg: expected a list of texts first"),
        ("reference", {"here": {"r0_o.jpg": [[1]]}}, r"reference_dataset\.json, r0_o\.jpg: expected a list of texts first"),
        ("reference", {"here": {"r0_o.jpg": []}}, r"reference_dataset\.json, r0_o\.jpg: expected a list of texts first"),
        ("reference", {"here": {"m0_o.jpg": package("Boat")}}, "each photo must stand once, found m0_o.jpg several times"),
        ("log", {"here": {"m0_o.jpg": True}}, r"manipulation_log\.json: expected a dict for each package, found True for m0_o.jpg"),
        ("log", {"here": {"m0_o.jpg": {"manipulated": "yes"}}}, r"m0_o\.jpg: expected 'manipulated' as true or false, found 'yes'"),
        ("log", {"here": {"m0_o.jpg": entry("Arland", "Borvia", kind=3)}}, r"m0_o\.jpg: expected .* as text .* found 'r1_o\.jpg', 3"),
        ("log", {"here": {"m0_o.jpg": BROKEN_SWAP}}, r"m0_o\.jpg: expected .*\[old, new\]"),
        ("log", {"here": {"m0_o.jpg": entry()}}, r"dataset\.json: m1_o\.jpg, m2_o\.jpg, m3_o\.jpg has no entry in"),
        ("lists", {"dev": []}, r"manipulated_dataset\.json: m2_o\.jpg has no line in meir/manipulated_"),
        ("lists", {"dev": ["m2_o.jpg", "m0_o.jpg"]}, r"dev_id\.txt, line 2: 'm0_o\.jpg' stands in train already"),
        ("lists", {"dev": ["m2_o.jpg", "m9_o.jpg"]}, r"dev_id\.txt, line 2: 'm9_o\.jpg' is no package"),
    ],
)  # fmt: skip
def test_a_malformed_file_is_an_error_that_names_file_and_photo(
    made: Release, name: str, content: Any, fault: str
) -> None:
    setattr(made, name, made.lists | content if name == "lists" else content)
    made.write()
    with pytest.raises(DataError, match=fault):
        load("meir")


def test_a_file_that_was_cut_is_an_error_that_names_the_line(made: Release) -> None:
    path = made.folder / "manipulation_log.json"
    path.write_text(path.read_text(encoding="utf8")[:-3], encoding="utf8")
    with pytest.raises(
        DataError, match=r"manipulation_log\.json, line 1: expected JSON"
    ):
        load("meir")
