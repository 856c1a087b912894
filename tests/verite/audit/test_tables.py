from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from verite.audit.tables import read_table
from verite.errors import DataError, MissingDataError, ParameterError


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf8"))
    return path


@pytest.mark.parametrize(
    ("mark", "word"),
    [(",", "commas"), (";", "semicolons"), ("\t", "tabs"), ("|", "bars")],
)
def test_the_separator_is_found_and_said(tmp_path: Path, mark: str, word: str):
    text = (
        f"id{mark}caption{mark}label\n1{mark}A boat. Or two{mark}true\n2{mark}A"
        f" dog{mark}false\n"
    )
    table, notes = read_table(written(tmp_path, text))
    assert table.columns.tolist() == ["id", "caption", "label"]
    assert table["caption"].tolist() == ["A boat. Or two", "A dog"]
    assert notes == [f"format: cells separated by {word}"]


def test_commas_in_a_table_of_semicolons_are_no_separators(tmp_path: Path):
    table, _ = read_table(
        written(
            tmp_path, "caption;label\nboats, dogs, bridges;true\nno comma here;false\n"
        )
    )
    assert table["caption"].tolist() == ["boats, dogs, bridges", "no comma here"]


def test_quoted_line_breaks_and_separators_stay_in_their_cell(tmp_path: Path):
    table, _ = read_table(
        written(tmp_path, 'caption,label\r\n"two\nlines, ""quoted""",true\r\n')
    )
    assert table["caption"].tolist() == ['two\nlines, "quoted"']


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path):
    assert (
        read_table(written(tmp_path, "\ufeffcaption,label\na,b\n"))[0].columns[0]
        == "caption"
    )


def test_a_lone_quotation_mark_in_a_table_of_tabs_is_a_letter(tmp_path: Path):
    text = "caption\tlabel\n" + "plain\ttrue\n" * 60 + '"open\ttrue\nplain\tfalse\n'
    table, notes = read_table(written(tmp_path, text, "posts.txt"))
    assert len(table) == 62
    assert table["caption"].iloc[60] == '"open'
    assert "quotation marks taken as they are" in notes[0]


def test_a_caption_of_a_megabyte_is_read_whole(tmp_path: Path):
    table, _ = read_table(
        written(tmp_path, f"caption,label\n{'boat ' * 200_000},true\n")
    )
    assert len(table["caption"].iloc[0]) == 1_000_000


def test_a_column_named_twice_is_named(tmp_path: Path):
    with pytest.raises(
        DataError, match=r"a column must be named once; 'caption' stands several times"
    ):
        read_table(written(tmp_path, "caption,label,caption\na,b,c\n"))


def test_rows_of_another_width_are_named_by_their_line(tmp_path: Path):
    with pytest.raises(
        DataError,
        match=r"expected 2 cells in each row, as in the first, found line 3: 1",
    ):
        read_table(written(tmp_path, "caption,label\na,b\nc\n"))


def test_nothing_becomes_a_number_or_a_gap(tmp_path: Path):
    table, _ = read_table(written(tmp_path, "id,caption,label\n007,NA,1\n08,,0\n"))
    assert table.to_numpy().tolist() == [["007", "NA", "1"], ["08", "", "0"]]


def test_json_lines_are_read_with_gaps_as_empty_cells(tmp_path: Path):
    lines = [
        {"caption": "a\u2028b", "label": 1, "tags": ["x"]},
        {"caption": None, "label": True},
    ]
    table, notes = read_table(
        written(
            tmp_path,
            "\n".join(json.dumps(line, ensure_ascii=False) for line in lines),
            "pairs.jsonl",
        )
    )
    assert table.to_numpy().tolist() == [["a\u2028b", "1", '["x"]'], ["", "true", ""]]
    assert notes == ["format: JSON lines"]


def test_half_a_character_in_json_becomes_a_replacement_character(tmp_path: Path):
    assert read_table(
        written(tmp_path, '{"caption": "a\\ud800b", "label": "x"}', "p.jsonl")
    )[0]["caption"].tolist() == ["a\ufffdb"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1', "line 2: expected one JSON object a line"),
        ("[1]", "line 2: expected a JSON object, found list"),
        ('{"a": 1, "a": 2}', "a key named twice: a"),
    ],
)
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str, message: str):
    with pytest.raises(DataError, match=message):
        read_table(written(tmp_path, '{"a": 1}\n' + line, "pairs.jsonl"))


def test_parquet_is_read_or_what_is_missing_is_said(tmp_path: Path):
    path = written(tmp_path, "PAR1 but no more", "pairs.parquet")
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        with pytest.raises(ParameterError, match="needs pyarrow"):
            read_table(path)
        return
    with pytest.raises(DataError, match="expected a parquet file"):
        read_table(path)
    pd.DataFrame({"caption": ["a", None], "label": [1, 2]}).to_parquet(path)
    assert read_table(path)[0].to_numpy().tolist() == [["a", "1"], ["", "2"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n", "only white space"),
        ("caption,label\n", "expected rows"),
        ("one\ntwo\n", "expected columns"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(DataError, match=message):
        read_table(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(MissingDataError, match="gone.csv"):
        read_table(tmp_path / "gone.csv")
