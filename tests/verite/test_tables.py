from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verite.errors import DataError, MissingDataError, ParameterError
from verite.tables import read_columns, read_table

_TEXT = st.text(st.characters(exclude_characters="\x00\r", codec="utf-8"))


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf8"))
    return path


@pytest.mark.parametrize(
    ("mark", "name"),
    [(",", "commas"), (";", "semicolons"), ("\t", "tabs"), ("|", "bars")],
)
def test_delimiters(tmp_path: Path, mark: str, name: str) -> None:
    rows = [
        ["id", "caption", "label"],
        ["007", "A boat. Or two", "NA"],
        ["08", "", "0"],
    ]
    table = read_table(write(tmp_path, "\n".join(map(mark.join, rows))))
    assert [table.columns.tolist(), *table.to_numpy().tolist()] == rows
    assert table.attrs["format"] == f"cells separated by {name}"


def test_other_delimiters_in_cells(tmp_path: Path) -> None:
    text = "caption;label\nboats, dogs, bridges;true\nno comma here;false\n"
    captions = read_table(write(tmp_path, text))["caption"]
    assert captions.tolist() == ["boats, dogs, bridges", "no comma here"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path: Path, end: str, last: bool) -> None:
    text = "\ufeff" + end.join(["a,b", '007,"one, ""two"""', "NA,"]) + end * last
    table = read_table(write(tmp_path, text))
    assert table.columns.tolist() == ["a", "b"]
    assert table.to_numpy().tolist() == [["007", 'one, "two"'], ["NA", ""]]


def test_unquoted_tabs(tmp_path: Path) -> None:
    text = "caption\tlabel\n" + "plain\ttrue\n" * 60 + '"open\ttrue\nplain\tfalse\n'
    table = read_table(write(tmp_path, text, "posts.txt"))
    assert len(table) == 62
    assert table["caption"].iloc[60] == '"open'
    assert "quotation marks taken as letters" in table.attrs["format"]


def test_long_cells(tmp_path: Path) -> None:
    text = f"caption,label\n{'boat ' * 200_000},true\n"
    assert len(read_table(write(tmp_path, text))["caption"].iloc[0]) == 1_000_000


@given(st.lists(st.tuples(_TEXT, _TEXT), min_size=1))
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "t.csv"
    with path.open("w", encoding="utf8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("a", "b"), *rows])
    assert list(read_table(path).itertuples(index=False, name=None)) == rows
    table, malformed = read_columns(path, ["b", "a"])
    assert list(zip(table["a"], table["b"], strict=True)) == rows
    assert malformed == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n\t\n", "only white space"),
        ("a,b,a\n1,2,3\n", "duplicate column names: 'a'"),
        # pandas alone would fill the gap, or take the first column for an index.
        ("x,y,z\na,b,c\nd,e\nf,g,h", "expected 3 cells .* found line 3: 2"),
        ("x,y,z\na,b,c,d\ne,f,g,h", "found line 2: 4, line 3: 4"),
        ('x,y,z\na,b,c\n\n"x\ny",z\nd,e,f', "found line 4: "),
        ('x,y\na,b\nc,"d\ne,f\n', "line 3: unexpected end of data"),
    ],
)
def test_malformed_tables(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"t\.csv.*{message}"):
        read_table(write(tmp_path, text))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,caption\na,b\n".encode("utf-16"), "found UTF-16"),
        (b"name,caption\r\na,b\r\nc,caf\xe9\r\n", "line 3: expected UTF-8.* 0xe9"),
    ],
)
def test_encodings(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "t.csv")
    with pytest.raises(MissingDataError, match=r"gone\.csv\. Fetch it"):
        read_table(tmp_path / "gone.csv", "Fetch it first.")


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        {"caption": "a\u2028b", "label": 1, "tags": ["x"]},
        {"caption": None, "label": True},
        {"caption": "a\ud800b"},  # JSON can hold half a character
    ]
    text = "\n".join(
        json.dumps(line, ensure_ascii=at > 1) for at, line in enumerate(lines)
    )
    table = read_table(write(tmp_path, text, "pairs.jsonl"))
    assert table.to_numpy().tolist() == [
        ["a\u2028b", "1", '["x"]'],
        ["", "true", ""],
        ["a\ufffdb", "", ""],
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1', "line 2: expected one JSON object per line"),
        ("[1]", "line 2: expected a JSON object, found list"),
        ('{"a": 1, "a": 2}', "duplicate keys: a"),
    ],
)
def test_malformed_json_lines(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path, '{"a": 1}\n' + line, "pairs.jsonl"))


def test_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "PAR1 but no more", "pairs.parquet")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        patch.setitem(sys.modules, "fastparquet", None)
        with pytest.raises((ParameterError, DataError), match="parquet"):
            read_table(path)
    pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        read_table(path)
    frame = pd.DataFrame({"caption": ["a", None], "label": [1, 2], "tags": [["x"], []]})
    frame.to_parquet(path)
    assert read_table(path).to_numpy().tolist() == [
        ["a", "1", '["x"]'],
        ["", "2", "[]"],
    ]


def test_line_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b\n1,"two\nlines"\n3,4\n')
    table, _ = read_columns(path, ["a", ("text", "missing", "b")])
    assert table.index.tolist() == [2, 4]
    assert table["text"].tolist() == ["two\nlines", "4"]


@pytest.mark.parametrize("row", ["1", "1,2,3", '1,"two'])
def test_malformed_rows(tmp_path: Path, row: str) -> None:
    path = write(tmp_path, f"a,b\n1,2\n{row}\n")
    with pytest.raises(DataError, match=r"expected 2 cells .* found line 3: "):
        read_columns(path, ["a", "b"])


def test_malformed_rows_are_skipped(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b\n1,"open\n3,4\n5,"six"\n7,8\n')
    table, malformed = read_columns(path, ["a", "b"], skip=True)
    assert table["a"].tolist() == ["3", "5", "7"]
    assert malformed == (2,)


def test_unquoted_columns(tmp_path: Path) -> None:
    path = write(tmp_path, 'a\tb\n"1\t2"\n')
    table, _ = read_columns(path, ["a", "b"], delimiter="\t", quoted=False)
    assert table.to_numpy().tolist() == [['"1', '2"']]


def test_missing_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="missing column 'c' or 'd'. Found: 'a', 'b'"):
        read_columns(write(tmp_path, "a,b\n1,2\n"), [("x", "c", "d")])
    with pytest.raises(DataError, match="expected rows under the header"):
        read_columns(write(tmp_path, "a,b\n"), ["a"])
