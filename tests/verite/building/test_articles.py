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
            (
                r"an id needs 1 to 100 letters, digits, _ or -, for files are named"
                r" after it; found '' \(row 1\)"
            ),
        ),
        ({"1": {"id": "../1"}}, r"found '../1' \(row 2\)"),
        ({"1": {"id": "0"}}, "each id must stand once; 0 stands several times"),
        (
            {"2": {"true_url": " "}},
            (
                "expected a value in 'true_url', found none: article 2. Fill it in, or"
                " leave the row out"
            ),
        ),
        (
            {"2": {"true_caption": ""}, "3": {"true_caption": ""}},
            "expected a value in 'true_caption', found none: article 2, 3",
        ),
        (
            {"4": {"false_caption": " "}},
            "expected a value in 'false_caption', found none: article 4",
        ),
        (
            {"3": {"false_caption": "image shows a crowd at a CONCERT. "}},
            "the true and the false caption are the same: article 3",
        ),
        (
            {"3": {"false_url": "https://pictures.example/true-3.jpg"}},
            r"the article's own \(false_url equals true_url\): article 3",
        ),
    ],
)
def test_a_cell_that_cannot_be_used_is_one_message_with_the_article(
    changes: dict[str, dict[str, str]], message: str, write: Callable[..., Path]
) -> None:
    with pytest.raises(DataError, match=message):
        read(write(changes))


def test_a_table_that_is_none_is_one_message(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path = write()
    pd.read_csv(path).drop(columns=["true_url", "query"]).to_csv(path, index=False)
    with pytest.raises(
        DataError,
        match=(
            r"missing column 'true_url', 'query'\. Found: .*'false_url'.* as"
            r" VERITE_articles\.csv does"
        ),
    ):
        read(path)
    with pytest.raises(MissingDataError, match="no such file"):
        read(tmp_path / "gone.csv")


def test_a_header_alone_is_one_message(write: Callable[..., Path]) -> None:
    path = write()
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(
        DataError, match="expected at least one article, found only a header"
    ):
        read(path)
