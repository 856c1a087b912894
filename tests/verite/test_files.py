"""Reading and writing files: nothing is lost, and bad input is named."""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verite.errors import DataError, MissingDataError, VeriteError
from verite.files import (
    atomic_path,
    read_csv,
    read_text,
    require_file,
    sha256,
    write_csv,
    write_json,
    write_text,
)


@pytest.fixture
def locked() -> Iterator[Path]:
    """A folder in which no file may be made, with a file that may not be read.

    For root, too.
    """
    with (
        tempfile.TemporaryDirectory() as name
    ):  # not tmp_path: nobody but its owner can look into that
        folder = Path(name)
        (folder / "old.txt").write_text("old", encoding="utf8")
        (folder / "old.txt").chmod(0)
        folder.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(
                65534
            )  # root passes every lock: be nobody for the time of the test
        yield folder
        os.seteuid(user)
        folder.chmod(0o700)


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# --- writing
# ------------------------------------------------------------------------------------------


def test_new_content_takes_the_place_of_the_old_and_leaves_nothing_beside_it(
    tmp_path: Path,
) -> None:
    target = tmp_path / "note.txt"
    write_text(target, "old")
    write_text(target, "new")
    assert target.read_text(encoding="utf8") == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_the_old_file_stands_until_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "note.txt"
    write_text(target, "old")
    with atomic_path(target) as temporary:
        temporary.write_text("new", encoding="utf8")
        assert target.read_text(encoding="utf8") == "old"
    assert target.read_text(encoding="utf8") == "new"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_whatever_interrupts_writing_leaves_the_old_file_and_no_litter(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    target = tmp_path / "note.txt"
    write_text(target, "old")

    def write_half() -> None:
        with atomic_path(target) as temporary:
            temporary.write_text("ne", encoding="utf8")
            raise interruption

    with pytest.raises(interruption):
        write_half()
    assert target.read_text(encoding="utf8") == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_is_named_and_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    target = tmp_path / "note.txt"
    write_text(target, "old")
    monkeypatch.setattr(f"verite.files.os.{step}", full_disk)
    with pytest.raises(
        VeriteError,
        match=(
            rf"could not save .*note\.txt: {os.strerror(errno.ENOSPC)}\. Nothing was"
            r" changed"
        ),
    ):
        write_text(target, "new")
    assert target.read_text(encoding="utf8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_of_the_package_inside_the_block_keeps_its_own_words(
    tmp_path: Path,
) -> None:
    def write() -> None:
        with atomic_path(tmp_path / "note.txt"):
            require_file(tmp_path / "source.txt")

    with pytest.raises(MissingDataError, match=r"no such file: .*source\.txt"):
        write()


def test_missing_folders_are_made_on_the_way(tmp_path: Path) -> None:
    write_text(tmp_path / "a" / "b" / "note.txt", "new")
    assert (tmp_path / "a" / "b" / "note.txt").read_text(encoding="utf8") == "new"


def test_a_folder_in_the_place_of_the_file_is_an_error_that_names_it(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        VeriteError, match=f"expected a file to write, found a folder: {tmp_path}"
    ):
        write_text(tmp_path, "new")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_an_error_that_names_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "plain").write_text("old", encoding="utf8")
    with pytest.raises(VeriteError, match=r"cannot write .*note\.txt: .*plain"):
        write_text(tmp_path / "plain" / "note.txt", "new")
    assert (tmp_path / "plain").read_text(encoding="utf8") == "old"


def test_a_folder_that_may_not_be_written_is_an_error_that_names_the_output(
    locked: Path,
) -> None:
    with pytest.raises(
        VeriteError,
        match=(
            rf"cannot write .*new\.txt: {os.strerror(errno.EACCES)}.*Choose another"
            r" output"
        ),
    ):
        write_text(locked / "new.txt", "new")


@pytest.mark.parametrize(
    ("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)]
)
def test_permissions_follow_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "note.txt", "new")
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "note.txt").stat().st_mode) == mode


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "note.txt", tmp_path / "link.txt"
    write_text(target, "old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf8") == "new"


def test_the_temporary_file_stands_beside_the_target_and_has_its_suffix(
    tmp_path: Path,
) -> None:
    with atomic_path(tmp_path / "table.csv.gz") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.name.endswith(".csv.gz")


def test_text_is_written_as_utf8_with_unix_line_ends(tmp_path: Path) -> None:
    write_text(tmp_path / "note.txt", "é\n雪\n")
    assert (tmp_path / "note.txt").read_bytes() == b"\xc3\xa9\n\xe9\x9b\xaa\n"


# --- JSON, CSV, checksums
# -----------------------------------------------------------------------------


def test_json_keeps_the_order_of_keys_and_readable_letters(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"b": 1.5, "a": ["é", None]})
    text = (tmp_path / "run.json").read_text(encoding="utf8")
    assert list(json.loads(text)) == ["b", "a"]
    assert "é" in text
    assert text.endswith("}\n")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_json_of_no_finite_number_is_an_error_that_names_the_key(
    tmp_path: Path, value: float
) -> None:
    target = tmp_path / "run.json"
    write_text(target, "old")
    with pytest.raises(
        DataError, match=r"run\.json: .* found under scores\. Write None"
    ):
        write_json(target, {"name": "NaN", "scores": {"accuracy": [0.5, value]}})
    assert target.read_text(encoding="utf8") == "old"


def test_csv_holds_ten_significant_digits_and_empty_cells_for_gaps(
    tmp_path: Path,
) -> None:
    frame = pd.DataFrame(
        {"x": [0.1 + 0.2, 1 / 3, float("nan")], "n": [1, 2, 3], "t": ["a", "b,c", "é"]}
    )
    write_csv(tmp_path / "t.csv", frame)
    assert (tmp_path / "t.csv").read_text(
        encoding="utf8"
    ) == 'x,n,t\n0.3,1,a\n0.3333333333,2,"b,c"\n,3,é\n'


# A carriage return is left out: csv readers take it for a line end wherever it stands
# outside quotes.
@given(
    st.lists(
        st.tuples(
            *[st.text(st.characters(exclude_characters="\r\x00", codec="utf-8"))] * 2
        ),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=40, deadline=None)
def test_text_comes_back_from_csv_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    target = tmp_path_factory.getbasetemp() / "roundtrip.csv"
    frame = pd.DataFrame(
        [("id", *row) for row in rows], columns=["key", "first", "second"]
    )
    write_csv(target, frame)
    assert read_csv(target).to_numpy().tolist() == frame.to_numpy().tolist()


def test_a_checksum_is_the_published_one_for_a_known_text(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")  # example of FIPS 180-4
    assert (
        sha256(tmp_path / "abc")
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_a_checksum_of_a_large_file_is_that_of_all_its_bytes(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000
    (tmp_path / "large").write_bytes(content)
    assert sha256(tmp_path / "large") == hashlib.sha256(content).hexdigest()


# --- reading
# ------------------------------------------------------------------------------------------


def test_a_missing_file_is_named_with_the_hint(tmp_path: Path) -> None:
    with pytest.raises(
        MissingDataError, match=r"no such file: .*gone\.csv\. Fetch it first\."
    ):
        require_file(tmp_path / "gone.csv", "Fetch it first.")


def test_a_folder_where_a_file_should_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"expected a file, found a folder: {tmp_path}"):
        read_text(tmp_path)


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").touch()
    with pytest.raises(
        DataError, match=r"expected data, found an empty file: .*t\.csv"
    ):
        read_csv(tmp_path / "t.csv")


def test_a_file_that_may_not_be_read_is_named(locked: Path) -> None:
    with pytest.raises(
        DataError, match=rf"cannot read .*old\.txt: {os.strerror(errno.EACCES)}"
    ):
        read_text(locked / "old.txt")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("\ufeffname,caption\na,é\n".encode())
    assert read_text(tmp_path / "t.csv").startswith("name")
    assert read_csv(tmp_path / "t.csv").columns.tolist() == ["name", "caption"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_is_named_as_such(tmp_path: Path, encoding: str) -> None:
    mark = b"" if encoding == "utf-16" else b"\xfe\xff"
    (tmp_path / "t.csv").write_bytes(mark + "name,caption\na,b\n".encode(encoding))
    with pytest.raises(DataError, match=r"t\.csv: expected UTF-8 text, found UTF-16"):
        read_csv(tmp_path / "t.csv")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_latin1_is_named_with_its_line_and_byte(tmp_path: Path, end: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(
        end.join([b"name,caption", b"a,b", "c,café".encode("latin-1"), b""])
    )
    with pytest.raises(
        DataError,
        match=r"t\.csv, line 3: expected UTF-8 text, found the byte 0xe9.*Latin-1",
    ):
        read_csv(tmp_path / "t.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "end"])
def test_any_line_ends_give_the_same_table(tmp_path: Path, end: str, last: str) -> None:
    text = end.join(["name,caption", "a,b", "c,d"]) + (end if last else "")
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert read_csv(tmp_path / "t.csv").to_numpy().tolist() == [["a", "b"], ["c", "d"]]


def test_no_value_becomes_a_number_or_a_gap(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c,d,e\n007,,NA,null,1.50\n", encoding="utf8")
    assert read_csv(tmp_path / "t.csv").to_numpy().tolist() == [
        ["007", "", "NA", "null", "1.50"]
    ]


def test_a_quoted_cell_may_hold_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        'name,caption\na,"one, ""two""\nthree"\nb,c\n', encoding="utf8"
    )
    assert read_csv(tmp_path / "t.csv").to_numpy().tolist() == [
        ["a", 'one, "two"\nthree'],
        ["b", "c"],
    ]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (["a,b,c", "d,e", "f,g,h"], "line 3: 2"),  # pandas alone would fill the gap
        (["a,b,c", "d,e,f,g"], "line 3: 4"),
        (
            ["a,b,c,d", "e,f,g,h"],
            "line 2: 4, line 3: 4",
        ),  # pandas alone would take a and e for an index
        (["a,b,c", "", '"x', 'y",z', "d,e,f"], "line 5: 2"),
    ],
)
def test_rows_of_another_width_are_named_by_their_lines(
    tmp_path: Path, rows: list[str], found: str
) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["x,y,z", *rows]), encoding="utf8")
    with pytest.raises(
        DataError,
        match=(
            rf"t\.csv: expected 3 cells in each row, as in the first, found {found}\."
        ),
    ):
        read_csv(tmp_path / "t.csv")


def test_a_quote_that_never_closes_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('x,y\na,b\nc,"d\ne,f\n', encoding="utf8")
    with pytest.raises(
        DataError, match=r"t\.csv: not a table that can be read: .*EOF inside string"
    ):
        read_csv(tmp_path / "t.csv")


def test_a_caller_may_take_rows_of_another_width_upon_itself(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text('x\ty\na\t"b\nc\td\te\n', encoding="utf8")
    found = read_csv(
        tmp_path / "t.tsv", sep="\t", quoting=csv.QUOTE_NONE, on_bad_lines="skip"
    )
    assert found.to_numpy().tolist() == [["a", '"b']]


def test_quotes_are_plain_letters_where_the_caller_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text('x\ty\na\t"b\n"c\td\n', encoding="utf8")
    assert read_csv(
        tmp_path / "t.tsv", sep="\t", quoting=csv.QUOTE_NONE
    ).to_numpy().tolist() == [["a", '"b'], ['"c', "d"]]


@pytest.mark.parametrize("text", ["\n", " \n\t\n", "\ufeff\r\n"])
def test_white_space_alone_is_no_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode())
    with pytest.raises(
        DataError, match=r"t\.csv: expected a header line, found only white space"
    ):
        read_csv(tmp_path / "t.csv")


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n", encoding="utf8")
    found = read_csv(tmp_path / "t.csv")
    assert found.columns.tolist() == ["x", "y"]
    assert len(found) == 0
