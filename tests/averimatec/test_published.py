"""The printed tables of the AVerImaTeC paper, read twice.

From their file, and by sums and sizes that they must have.
"""

from __future__ import annotations

import pytest

from averimatec.published import published
from verite.errors import ParameterError


def column(number, name):
    cells = published(number)
    return cells[cells["column"] == name].set_index("row")["value"]


def test_the_splits_have_the_papers_sizes_and_their_labels_sum_to_a_hundred():
    assert [column(2, split)["claims"] for split in ("train", "dev", "test")] == [
        793,
        152,
        352,
    ]
    for split in ("train", "dev", "test"):
        labels = column(2, split)[
            ["Supported", "Refuted", "Conflicting/Cherrypicking", "Not Enough Evidence"]
        ]
        assert labels.sum() == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize("number", [3, 12])
def test_twelve_systems_have_eight_figures_that_fall_with_lambda(number):
    cells = published(number)
    assert len(cells) == 96
    assert cells["value"].between(0, 1).all()
    wide = cells.pivot(index="row", columns="column", values="value")
    for what in ("verdict accuracy", "justification"):
        levels = wide[[f"{what}, λ .2", f"{what}, λ .3", f"{what}, λ .4"]]
        assert (levels.diff(axis=1).iloc[:, 1:] <= 0).all(axis=None)


def test_the_blocks_of_table_9_sum_to_a_hundred():
    cells = published(9)
    kind = cells["row"].str.partition(":")[0]
    sums = cells.groupby([kind, cells["column"]])["value"].sum()
    assert len(sums) == 9
    # Answering methods leave a few questions out.
    assert sums["answer type"].between(99.8, 100.2).all()
    assert sums.between(93, 100.2).all()


def test_gold_evidence_and_no_search_have_all_verdicts():
    cells = published(4)
    assert cells["row"].str.partition(":")[0].value_counts().to_dict() == {
        "gold evidence": 24,
        "no search": 6,
    }
    assert (column(4, "Conflicting/Cherrypicking") == 0).all()


def test_separated_evaluation_falls_most_where_the_image_is_irrelevant():
    found = (
        published(11)
        .pivot(index="row", columns="column", values="value")
        .loc["Irrelevant Image"]
    )
    assert found.to_dict() == {"interleaved": 9.4, "separated": -32.7, "text-only": 0}


def test_locations_are_counted_over_all_splits():
    assert column(7, "all")["IN"] == 417
    assert (column(7, "all") >= 10).all()


def test_a_table_without_numbers_is_refused():
    with pytest.raises(ParameterError, match="no table 1 of numbers"):
        published(1)
