from __future__ import annotations

import json

import pytest

from verite.errors import DataError, ParameterError
from veritebook.notebooks import list_notebooks, open_notebook


def test_parameters_come_from_the_parameters_cell(checkout):
    checkout()
    size, source, share, loud = open_notebook("small").parameters
    assert (size.name, size.kind, size.default, size.least, size.text) == (
        "size",
        "int",
        3,
        1.0,
        "how many rows",
    )
    assert (source.kind, source.choices, source.text) == (
        "str",
        ("auto", "newsroom"),
        "data to read",
    )
    assert (share.kind, share.default, share.least, share.most, share.text) == (
        "float",
        0.5,
        0.0,
        1.0,
        "a share",
    )
    assert (loud.kind, loud.default) == ("bool", False)


def test_values_are_parsed_as_their_annotation_says(checkout):
    checkout()
    values = open_notebook("small").check(
        {"size": "7", "source": "newsroom", "share": "1e-3", "loud": "yes"}
    )
    assert values == {"size": 7, "source": "newsroom", "share": 0.001, "loud": True}


def test_an_unknown_parameter_stops_and_lists_what_exists(checkout):
    checkout()
    with pytest.raises(
        ParameterError,
        match=r"(?s)no parameter sise\. It has:.*size: int = 3.*share: float = 0\.5",
    ):
        open_notebook("small").check({"sise": "7"})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("size", "many", "parameter size: expected an integer, found 'many'"),
        ("size", "2.5", "parameter size: expected an integer"),
        ("size", "0", "parameter size: expected at least 1, found 0"),
        (
            "source",
            "cosmos",
            "parameter source: expected one of auto, newsroom, found 'cosmos'",
        ),
        ("share", "half", "parameter share: expected a number"),
        ("share", "1.5", "parameter share: expected a value from 0 to 1, found 1.5"),
        ("share", "-0.5", "parameter share: expected a value from 0 to 1, found -0.5"),
        ("share", "nan", "parameter share: expected a number below"),
        (
            "size",
            "99999999999999999999999",
            "parameter size: expected an integer below",
        ),
        ("loud", "perhaps", "parameter loud: expected true or false"),
    ],
)
def test_a_value_that_does_not_fit_is_named(checkout, name, value, message):
    checkout()
    with pytest.raises(ParameterError, match=message):
        open_notebook("small").check({name: value})


def test_an_unknown_notebook_lists_those_there_are(checkout):
    checkout()
    with pytest.raises(ParameterError, match="no notebook 'smal'. There are: small"):
        open_notebook("smal")


def test_a_default_that_is_no_plain_value_is_named(checkout):
    folder = checkout()
    path = folder / "notebooks" / "small.md"
    path.write_text(path.read_text().replace("size: int = 3", "size: int = len('abc')"))
    with pytest.raises(
        DataError, match=r"small.md: parameter size has the default len\('abc'\)"
    ):
        open_notebook("small")


def test_a_plain_notebook_has_fixed_cell_ids_and_no_outputs(checkout, tmp_path):
    checkout()
    open_notebook("small").write_plain(tmp_path / "one.ipynb")
    open_notebook("small").write_plain(tmp_path / "two.ipynb")
    assert (tmp_path / "one.ipynb").read_bytes() == (
        tmp_path / "two.ipynb"
    ).read_bytes()
    cells = json.loads((tmp_path / "one.ipynb").read_text())["cells"]
    assert [cell["id"] for cell in cells] == ["small-0", "small-1", "small-2"]
    assert all(not cell.get("outputs") for cell in cells)


@pytest.mark.parametrize("name", list_notebooks())
def test_every_parameter_of_the_book_is_read_and_explained(name, caplog):
    notebook = open_notebook(name)
    assert not [
        record for record in caplog.records if "Unable to parse" in record.getMessage()
    ]
    cell = next(
        cell
        for cell in notebook.node.cells
        if "parameters" in cell.metadata.get("tags", ())
    )
    assert len(notebook.parameters) == len(cell.source.splitlines())
    for parameter in notebook.parameters:
        assert parameter.text, parameter.name
        assert parameter.parse(str(parameter.default)) == parameter.default
