from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from verite.building import read
from verite.errors import DataError, MissingDataError


def test_a_table_is_read_with_its_captions_as_they_are(
    write: Callable[..., Path],
) -> None:
    articles = read(
        write(
            {
                "0": {
                    "true_caption": " A  boat. ",
                    "true_url": " https://x.example/a.jpg ",
                }
            },
            topic=list("abcde"),
        )
    )
    assert articles.columns.tolist() == [
        "id",
        "true_url",
        "true_caption",
        "false_url",
        "false_caption",
        "query",
        "snopes_url",
        "topic",
    ]
    assert articles.loc[0, ["true_caption", "true_url", "topic"]].tolist() == [
        " A  boat. ",
        "https://x.example/a.jpg",
        "a",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"0": {"id": ""}},
            r"an id of 1 to 100 letters, digits, _ or -: article , row 1",
        ),
        ({"1": {"id": "../1"}}, r"article \.\./1, row 2"),
        ({"1": {"id": "0"}}, "duplicate ids: article 0, row 2"),
        ({"2": {"true_url": " "}}, "no value in 'true_url': article 2, row 3. Correct"),
        (
            {"2": {"true_caption": ""}, "3": {"true_caption": ""}},
            "no value in 'true_caption': article 2, 3, row 3, 4",
        ),
        ({"4": {"false_caption": " "}}, "no value in 'false_caption': article 4"),
        (
            {"3": {"false_caption": "image shows a crowd at a CONCERT. "}},
            "the true and the false caption are the same: article 3",
        ),
        (
            {"3": {"false_url": "https://pictures.example/true-3.jpg"}},
            "false_url equals true_url.*: article 3",
        ),
    ],
)
def test_an_unusable_cell_is_named(
    changes: dict[str, dict[str, str]], message: str, write: Callable[..., Path]
) -> None:
    with pytest.raises(DataError, match=message):
        read(write(changes))


def test_an_unusable_table_is_refused(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path = write()
    pd.read_csv(path).drop(columns=["true_url", "query"]).to_csv(path, index=False)
    with pytest.raises(
        DataError, match=r"missing column 'true_url', 'query'\. Found: "
    ):
        read(path)
    with pytest.raises(MissingDataError, match="no such file"):
        read(tmp_path / "gone.csv")
    path.write_text(write().read_text().splitlines()[0] + "\n")
    with pytest.raises(DataError, match="found only a header"):
        read(path)
