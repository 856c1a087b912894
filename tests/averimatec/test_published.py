"""Sums and sizes that the printed tables of the AVerImaTeC paper must have."""

from __future__ import annotations

import pandas as pd
import pytest

from averimatec import VERDICTS
from averimatec.published import published
from verite.errors import ParameterError


def column(number: int, name: str) -> pd.Series:
    cells = published(number)
    return cells[cells["column"] == name].set_index("row")["value"]


@pytest.mark.parametrize(
    ("split", "claims"), [("train", 793), ("dev", 152), ("test", 352)]
)
def test_splits(split: str, claims: int) -> None:
    values = column(2, split)
    assert values["claims"] == claims
    assert values[list(VERDICTS)].sum() == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize("number", [3, 12])
def test_systems(number: int) -> None:
    cells = published(number)
    assert len(cells) == 96
    assert cells["value"].between(0, 1).all()
    wide = cells.pivot_table("value", "row", "column")
    for metric in ("verdict accuracy", "justification"):
        levels = wide[[f"{metric}, λ .{digit}" for digit in (2, 3, 4)]]
        assert (levels.diff(axis=1).iloc[:, 1:] <= 0).all(axis=None)


def test_table_9() -> None:
    cells = published(9)
    kind = cells["row"].str.partition(":")[0]
    sums = cells.groupby([kind, cells["column"]])["value"].sum()
    assert len(sums) == 9
    assert sums["answer type"].between(99.8, 100.2).all()
    assert sums.between(93, 100.2).all()  # answering methods leave some questions out


def test_other_tables() -> None:
    blocks = published(4)["row"].str.partition(":")[0].value_counts()
    assert blocks.to_dict() == {"gold evidence": 24, "no search": 6}
    assert (column(4, "Conflicting/Cherrypicking") == 0).all()
    assert column(7, "all")["IN"] == 417
    assert (column(7, "all") >= 10).all()
    assert column(11, "separated")["Irrelevant Image"] == -32.7
    with pytest.raises(ParameterError, match="no table 1 of numbers"):
        published(1)
