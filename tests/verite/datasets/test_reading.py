from __future__ import annotations

from pathlib import Path

import pytest

from verite.datasets.reading import check_rows, home, read_json
from verite.errors import DataError


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf8"))
    return path


def test_json_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", '{"a": "b\u2028c"}\n\n{"a": 2}\n')
    assert read_json(path, lines=True) == [{"a": "b\u2028c"}, {"a": 2}]
    with pytest.raises(DataError, match=r"t\.json, line 2: expected JSON"):
        read_json(write(path, '[1,\n{"a": '))


@pytest.mark.parametrize("rows", [{}, [], [[1]], [{"id": True}], [{"id": 1}, {}]])
def test_malformed_rows(rows: object) -> None:
    with pytest.raises(DataError, match=r"t\.json.*: expected"):
        check_rows(Path("t.json"), rows, {"id": (int,)})


def test_home(data_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home() == data_home
    monkeypatch.setenv("VERITE_DATA", "")
    assert home().name == "verite"
    monkeypatch.setenv("VERITE_DATA", str(write(data_home / "file", "")))
    with pytest.raises(DataError, match="VERITE_DATA: expected a folder"):
        home()
