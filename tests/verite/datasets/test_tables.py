from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.datasets.home import read_table
from verite.errors import DataError

CELL = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00\ufeff"),
    max_size=12,
)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf8"))
    return path


@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8))
def test_what_the_csv_module_writes_comes_back(
    rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("table") / "t.csv"
    with path.open("w", encoding="utf8", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
            [("a", "b"), *rows]
        )
    table, malformed = read_table(path, ["b", "a"])
    assert list(zip(table["a"], table["b"], strict=True)) == rows
    assert malformed == ()


def test_rows_are_numbered_by_the_line_they_begin_on(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'a,b\n1,"two\nlines"\n3,4\n')
    table, _ = read_table(path, ["a", "b"])
    assert table.index.tolist() == [2, 4]
    assert table["b"].tolist() == ["two\nlines", "4"]


def test_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    plain, _ = read_table(write(tmp_path / "plain.csv", "a,b\n1,2\n"), ["a", "b"])
    other, _ = read_table(
        write(tmp_path / "other.csv", "\ufeffa,b\r\n1,2\r\n"), ["a", "b"]
    )
    assert plain.equals(other)


@pytest.mark.parametrize(
    ("row", "found"),
    [("1", "1 fields"), ("1,2,3", "3 fields"), ('1,"two', "unexpected end of data")],
)
def test_a_row_of_another_width_is_an_error_that_names_its_line(
    tmp_path: Path, row: str, found: str
) -> None:
    path = write(tmp_path / "t.csv", f"a,b\n1,2\n{row}\n")
    with pytest.raises(
        DataError,
        match=rf"t\.csv, line 3: expected 2 fields as in the header, found {found}",
    ):
        read_table(path, ["a", "b"])


def test_an_open_quotation_mark_takes_no_good_line_along(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'a,b\n1,"open\n3,4\n5,"six"\n7,8\n')
    table, malformed = read_table(path, ["a", "b"], skip=True)
    assert table["a"].tolist() == ["3", "5", "7"]
    assert malformed == (2,)


def test_quotation_marks_are_characters_where_the_file_does_not_quote(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "t.tsv", 'a\tb\n"1\t2"\n')
    table, _ = read_table(path, ["a", "b"], delimiter="\t", quoted=False)
    assert table.to_numpy().tolist() == [['"1', '2"']]


def test_a_missing_column_is_named_beside_those_that_were_found(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match=r"missing column 'c' or 'd'. Found: 'a', 'b'"):
        read_table(path, [("x", "c", "d")])


def test_a_header_alone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected rows under the header"):
        read_table(write(tmp_path / "t.csv", "a,b\n"), ["a"])
