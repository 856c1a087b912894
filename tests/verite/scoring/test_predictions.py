"""Reading predictions: what is accepted, and which errors are raised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from verite.errors import DataError, ParameterError
from verite.scoring.predictions import SPELLINGS, read_predictions


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf8")
    return path


HEADERS = ("pair_id,prediction", ",y_pred", "\ufeffindex,predicted_label")


@pytest.mark.parametrize("header", HEADERS)
def test_column_names(tmp_path: Path, header: str) -> None:
    table = read_predictions(written(tmp_path, f"{header}\n7,OOC\n8,true\n"))
    assert table["id"].tolist() == ["7", "8"]
    assert table["prediction"].tolist() == ["out-of-context", "true"]


@pytest.mark.parametrize(
    ("spelling", "label"),
    [*SPELLINGS.items(), ("Out of Context", "out-of-context"), ("MC", "miscaptioned")],
)
def test_spellings(spelling: str, label: str) -> None:
    cells = [spelling, spelling.upper(), f" {spelling.replace('-', '_')} "]
    table = pd.DataFrame({"id": ["a", "b", "c"], "pred": cells})
    assert read_predictions(table)["prediction"].tolist() == [label] * 3


def test_named_columns() -> None:
    table = pd.DataFrame({"key": ["a"], "label": ["fake"], "prediction": ["true"]})
    found = read_predictions(table, id_column="key", prediction_column="label")
    assert found[["id", "prediction"]].to_numpy().tolist() == [["a", "misinformation"]]


def test_labels() -> None:
    table = pd.DataFrame({"id": ["a", "b", "c"], "prediction": [0, 1, 1]})
    found = read_predictions(table, labels={"0": "true", "1": "misinformation"})
    assert found["prediction"].tolist() == ["true", "misinformation", "misinformation"]


def test_equal_id_columns() -> None:
    table = pd.DataFrame(
        {"": [0, 1], "Unnamed: 0": [0, 1], "prediction": ["true", "mc"]}
    )
    assert read_predictions(table)["id"].tolist() == ["0", "1"]
    with pytest.raises(DataError, match="'Unnamed: 0', '' are all possible"):
        read_predictions(table.assign(**{"": [1, 0]}))


BAD_FILES = [
    ("prediction\ntrue\n", "never paired by position: add the pair_id"),
    ("pair_id,prediction\n", "expected predictions under the header"),
    ("  \n", "expected a header line"),
    (
        "pair_id,label\n1,true\n",
        "of predictions: expected one of .*--prediction-column",
    ),
    ("name,prediction\n1,true\n", "of ids: expected one of .*Columns: 'name'"),
    ("row,id,prediction\n1,2,true\n", "'id', 'row' are all possible.*--id-column"),
    (
        "id,pred,prediction\n1,true,mc\n",
        "possible. Choose one with --prediction-column",
    ),
    ("id,pred,seed,seed\n1,true,1,2\n", "duplicate column names: 'seed'"),
    ("pair_id,prediction\n,true\n2,mc\n", "1 row.s. without an id .row 1"),
    (
        "id,pred\n1,\n2,nan\n3,true\n",
        "no prediction for 2 row.* '1', '2'.*--missing skip",
    ),
    ("id,pred\n1,0\n2,1\n", "'0', '1' is ambiguous .2 row.*: --label 0=LABEL"),
    ("id,pred\n1,True\n2,False\n", "'True', 'False' is ambiguous"),
    (
        "id,pred\n1,cheap\n",
        "'cheap' is no known label .1 row.s., id '1'.. Known: true,",
    ),
    ("pair_id,prediction\n1,true,x\n", "expected 2 cells in each row"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_predictions(written(tmp_path, text))
    assert "mine.csv" in str(caught.value)


def test_true_and_false() -> None:
    table = pd.DataFrame({"id": ["a", "b"], "prediction": [True, False]})
    with pytest.raises(DataError, match="'True' is ambiguous"):
        read_predictions(table, labels={"False": "true"})
    both = read_predictions(table, labels={"False": "true", "True": "misinformation"})
    assert both["prediction"].tolist() == ["misinformation", "true"]


def test_missing_values() -> None:
    table = pd.DataFrame({"id": [1, 2, 3], "prediction": ["true", None, float("nan")]})
    with pytest.raises(DataError, match="no prediction for 2 row.* '2', '3'"):
        read_predictions(table)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id_column": "key"}, "there is no 'key'. Columns: 'id', 'prediction'"),
        ({"prediction_column": "id"}, "cannot both be in column 'id'"),
        ({"labels": {"1": "fake"}}, "--label 1=fake: expected one of true, out-of-"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    table = pd.DataFrame({"id": [1], "prediction": ["1"]})
    with pytest.raises(ParameterError, match=message):
        read_predictions(table, **options)


@pytest.mark.parametrize("cell", ["\x1b]0;x", "word " * 1000])
def test_messages_are_printable(cell: str) -> None:
    with pytest.raises(DataError) as caught:
        read_predictions(pd.DataFrame({"id": ["\x1b[2J"], "prediction": [cell]}))
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400
