"""Reading predictions: what is understood, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from verite.errors import DataError, ParameterError
from verite.scoring.predictions import SPELLINGS, read_predictions


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf8")
    return path


@pytest.mark.parametrize(
    "header",
    [
        "pair_id,prediction",
        "id,pred",
        ",y_pred",
        "row,predicted",
        "\ufeffindex,predicted_label",
        "Unnamed: 0,pred",
    ],
)
def test_column_names(tmp_path: Path, header: str) -> None:
    found = read_predictions(written(tmp_path, f"{header}\n7,OOC\n8,true\n"))
    assert found[["id", "prediction"]].to_numpy().tolist() == [
        ["7", "out-of-context"],
        ["8", "true"],
    ]


@pytest.mark.parametrize(
    ("spelling", "label"),
    [*SPELLINGS.items(), ("Out of Context", "out-of-context"), ("MC", "miscaptioned")],
)
def test_spellings(spelling: str, label: str) -> None:
    for one in (spelling, spelling.upper(), f" {spelling.replace('-', '_')} "):
        assert read_predictions(pd.DataFrame({"id": ["a"], "pred": [one]}))[
            "prediction"
        ].tolist() == [label]


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "prediction\ntrue\nmc\n",
            "Predictions are never paired by position: add the pair_id",
        ),
        ("pair_id,prediction\n", "expected predictions under the header, found none"),
        ("  \n", "expected a header line, found only white space"),
        (
            "pair_id,label\n1,true\n",
            (
                "column of predictions: expected one of 'prediction', .* Name yours"
                " with --prediction-column"
            ),
        ),
        (
            "name,prediction\n1,true\n",
            "column of ids: expected one of 'pair_id', .*Columns: 'name', 'prediction'",
        ),
        (
            "row,id,prediction\n1,2,true\n",
            "'id', 'row' are all possible. Choose one with --id-column",
        ),
        (
            "pair_id,pred,prediction\n1,true,mc\n",
            "'prediction', 'pred' are all possible. Choose one with --prediction-column",
        ),
        (
            "pair_id,prediction,prediction\n1,true,mc\n",
            "duplicate column names: 'prediction'",
        ),
        (
            "pair_id,prediction,seed,seed\n1,true,1,2\n",
            "duplicate column names: 'seed'",
        ),
        (
            "pair_id,prediction\n,true\n2,mc\n",
            "1 row.s. without an id .row 1",
        ),
        (
            "pair_id,prediction\n1,\n2,nan\n3,true\n",
            "no prediction for 2 row.* '1', '2'.*--missing wrong or --missing skip",
        ),
        (
            "pair_id,prediction\n1,0\n2,1\n",
            ("'0', '1' is ambiguous .2 row.*meaning: --label 0=LABEL"),
        ),
        (
            "pair_id,prediction\n1,True\n2,False\n",
            "'True', 'False' is ambiguous",
        ),
        (
            "pair_id,prediction\n1,cheapfake\n",
            (
                "'cheapfake' is no known label .1 row.s., id '1'.. Known: true,"
                " real, out-of-context"
            ),
        ),
        ("pair_id,prediction\n1,true,x\n", "expected 2 cells in each row"),
    ],
)
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


def test_missing_columns() -> None:
    with pytest.raises(
        ParameterError, match="there is no 'key'. Columns: 'id', 'prediction'"
    ):
        read_predictions(
            pd.DataFrame({"id": [1], "prediction": ["true"]}), id_column="key"
        )
    with pytest.raises(ParameterError, match="cannot both be in column 'id'"):
        read_predictions(
            pd.DataFrame({"id": [1], "prediction": ["true"]}), prediction_column="id"
        )


def test_unknown_label() -> None:
    with pytest.raises(
        ParameterError, match="--label 1=fake: expected one of true, out-of-context"
    ):
        read_predictions(
            pd.DataFrame({"id": [1], "prediction": ["1"]}), labels={"1": "fake"}
        )


def test_control_characters() -> None:
    with pytest.raises(DataError) as caught:
        read_predictions(pd.DataFrame({"id": ["\x1b[2J"], "prediction": ["\x1b]0;x"]}))
    assert "\x1b" not in str(caught.value)


def test_long_cells() -> None:
    with pytest.raises(DataError) as caught:
        read_predictions(pd.DataFrame({"id": ["a"], "prediction": ["word " * 1000]}))
    assert len(str(caught.value)) < 400
