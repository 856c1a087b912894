from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from verite.dataset import Dataset
from verite.datasets import available, load
from verite.errors import DataError, MissingDataError, ParameterError

if TYPE_CHECKING:
    from conftest import Release


def ceiling(dataset: Dataset, column: str) -> float:
    """Best accuracy, in per cent, that a function of one column alone can reach."""
    pairs = dataset.pairs
    return (
        100 * pd.crosstab(pairs[column], pairs["label"]).max(axis=1).sum() / len(pairs)
    )


def cosines(dataset: Dataset) -> dict[str, float]:
    tokens = dataset.tokens()
    tokens /= np.linalg.norm(tokens, axis=2, keepdims=True)
    cosine = pd.Series((tokens[:, 0] * tokens[:, 1]).sum(axis=1).astype(float))
    return {
        str(label): round(value, 3)
        for label, value in cosine.groupby(dataset.pairs["label"]).mean().items()
    }


def article(pairs: pd.DataFrame) -> pd.Series:
    return pairs["image_id"].str.partition("_")[2].astype(int)


# A made-up release
# -------------------------------------------------------------------------------------------


def test_ids_are_those_of_files_and_first_rows(release: Release) -> None:
    pairs = load("verite").pairs
    assert pairs["pair_id"].tolist() == [f"verite_{row}" for row in range(18)]
    assert pairs["image_id"].tolist()[:3] == ["true_0", "true_0", "false_0"]
    assert pairs["text_id"].tolist()[:6] == [
        "text_0",
        "text_1",
        "text_0",
        "text_3",
        "text_4",
        "text_3",
    ]
    assert pairs.loc[
        pairs["caption"] == "A boat that sank at pier 2.", "text_id"
    ].tolist() == ["text_4", "text_4"]


def test_articles_with_one_caption_or_one_source_page_are_one_group(
    release: Release,
) -> None:
    pairs = load("verite").pairs
    groups = pairs.groupby(article(pairs))["group"].agg("first")
    assert pairs.groupby(article(pairs))["group"].nunique().eq(1).all()
    assert groups.tolist() == [
        "article_0",
        "article_1",
        "article_1",
        "article_3",
        "article_3",
        "article_5",
    ]


def test_each_row_has_the_vectors_that_stand_beside_it(release: Release) -> None:
    np.testing.assert_array_equal(
        load("verite").tokens(), np.stack([release.images, release.texts], axis=1)
    )


def test_the_table_alone_needs_no_arrays(release: Release) -> None:
    release.image_path.unlink()
    assert load("verite", embeddings=False).images is None
    assert available("verite", embeddings=False)
    assert not available("verite")


def test_files_that_were_read_are_recorded_with_their_digest(release: Release) -> None:
    files = load("verite").files
    assert {Path(name).name for name in files} == {
        path.name for path in release.folder.iterdir()
    }
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in files.values())


def test_the_first_release_has_no_vectors_of_the_small_encoder() -> None:
    with pytest.raises(
        ParameterError,
        match=r"version='paper' was released with ViT-L-14 only.*version='release'",
    ):
        load("verite", version="paper", encoder="ViT-B-32")


def test_a_missing_array_is_an_error_that_says_how_to_get_it(release: Release) -> None:
    release.text_path.unlink()
    with pytest.raises(
        MissingDataError,
        match=(
            r"VERITE_clip_text_embeddings_ViTL14\.npy. Get it with `verite data fetch"
            r" verite`"
        ),
    ):
        load("verite")


def test_a_truncated_array_is_an_error_that_names_it(release: Release) -> None:
    whole = release.image_path.read_bytes()
    release.image_path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        DataError,
        match=(
            r"image_embeddings_ViTL14\.npy: expected a whole \.npy file.*fetch it again"
        ),
    ):
        load("verite")


@pytest.mark.parametrize("content", ["object array", "plain pickle"])
def test_a_pickled_array_is_never_read(
    release: Release, content: str, tmp_path: Path
) -> None:
    fired = tmp_path / "fired"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            return (Path.touch, (fired,))

    if content == "object array":
        np.save(
            release.text_path, np.array([Trap()] * 18, dtype=object), allow_pickle=True
        )
    else:
        release.text_path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(
        DataError, match=r"pickled Python objects|expected a whole \.npy file"
    ):
        load("verite")
    assert not fired.exists()


def test_a_shorter_table_beside_the_arrays_is_an_error_that_names_both_lengths(
    release: Release,
) -> None:
    release.table = release.table.drop(index=range(3, 6)).reset_index(drop=True)
    release.table.to_csv(release.table_path)
    with pytest.raises(DataError, match=r"18 vectors beside a table of 15 rows"):
        load("verite")


def test_a_table_that_was_sorted_under_its_arrays_is_an_error(release: Release) -> None:
    release.table.sort_values("caption").reset_index(drop=True).to_csv(
        release.table_path
    )
    with pytest.raises(DataError, match="rows and vectors do not belong together"):
        load("verite")


def test_two_swapped_rows_are_enough_for_that(release: Release) -> None:
    order = [*range(16), 17, 16]
    release.table.iloc[order].reset_index(drop=True).to_csv(release.table_path)
    with pytest.raises(DataError, match="rows and vectors do not belong together"):
        load("verite")


def test_a_table_in_latin_1_is_an_error_that_names_the_line(release: Release) -> None:
    text = release.table_path.read_text(encoding="utf8").replace(
        "A boat, seen at pier 1.", "A café, seen at pier 1."
    )
    release.table_path.write_bytes(text.encode("latin-1"))
    with pytest.raises(
        DataError,
        match=r"VERITE\.csv, line 5: expected UTF-8, found the byte 0xe9",
    ):
        load("verite")


@pytest.mark.parametrize(
    ("start", "end"),
    [("\ufeff", "\n"), ("", "\r\n"), ("\ufeff", "\r\n")],
    ids=["BOM", "CRLF", "both"],
)
def test_byte_order_mark_and_windows_line_ends_read_fine(
    release: Release, start: str, end: str
) -> None:
    expected = load("verite").pairs
    text = start + release.table_path.read_text(encoding="utf8").replace("\n", end)
    release.table_path.write_bytes(text.encode("utf8"))
    pd.testing.assert_frame_equal(load("verite").pairs, expected)


@pytest.mark.parametrize("column", ["caption", "image_path", "label"])
def test_a_table_without_a_column_is_an_error_that_names_it(
    release: Release, column: str
) -> None:
    release.table.drop(columns=column).to_csv(release.table_path)
    with pytest.raises(
        DataError, match=rf"VERITE\.csv: missing column '{column}'. Found: ''"
    ):
        load("verite")


def test_a_table_without_row_numbers_is_an_error(release: Release) -> None:
    release.table.to_csv(release.table_path, index=False)
    with pytest.raises(DataError, match=r"missing column ''. Found: 'caption'"):
        load("verite")


def test_labels_in_other_case_are_an_error_that_names_pairs(release: Release) -> None:
    release.table["label"] = release.table["label"].str.title()
    release.table.to_csv(release.table_path)
    with pytest.raises(
        DataError,
        match=r"18 rows have an unknown label \(pair_id verite_0: 'True'.*lower case",
    ):
        load("verite")


@pytest.mark.parametrize(
    "name", ["table_path", "articles_path", "image_path", "text_path"]
)
def test_an_empty_file_is_an_error_that_names_it(release: Release, name: str) -> None:
    path: Path = getattr(release, name)
    path.write_bytes(b"")
    with pytest.raises(
        DataError, match=rf"empty file: .*{path.name}.*verite data fetch verite"
    ):
        load("verite")


@pytest.mark.parametrize(
    "name", ["table_path", "articles_path", "image_path", "text_path"]
)
def test_a_folder_in_a_files_place_is_an_error_that_names_it(
    release: Release, name: str
) -> None:
    path: Path = getattr(release, name)
    path.unlink()
    path.mkdir()
    with pytest.raises(
        DataError, match=rf"expected a file, found a folder: .*{path.name}"
    ):
        load("verite")


def test_an_image_that_is_not_named_after_an_article_is_an_error(
    release: Release,
) -> None:
    release.table.loc[3:4, "image_path"] = "images/photo.jpg"
    release.table.to_csv(release.table_path)
    with pytest.raises(
        DataError,
        match=r"expected images named true_N or false_N.*found photo.* \(line 5, 6\)",
    ):
        load("verite")


def test_an_article_that_its_table_lacks_is_an_error(release: Release) -> None:
    release.articles.drop(index=4).to_csv(release.articles_path)
    with pytest.raises(DataError, match=r"VERITE_articles\.csv has no article 4"):
        load("verite")


# The real files
# ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(real_data: Path) -> Dataset:
    return load("verite")


@pytest.fixture(scope="module")
def first(real_data: Path) -> Dataset:
    return load("verite", version="paper")


def test_the_release_has_1001_pairs_and_the_first_release_the_papers_1000(
    real: Dataset, first: Dataset
) -> None:
    assert real.pairs["label"].value_counts().to_dict() == {
        "true": 338,
        "miscaptioned": 338,
        "out-of-context": 325,
    }
    assert first.pairs["label"].value_counts().to_dict() == first.card.expected


def test_the_releases_differ_by_one_pair_and_one_edited_caption(
    real: Dataset, first: Dataset
) -> None:
    added = real.pairs.iloc[815]
    assert (added["pair_id"], added["image_id"], added["label"]) == (
        "verite_815",
        "false_274",
        "out-of-context",
    )
    rest = real.pairs.drop(index=815).reset_index(drop=True)
    assert (rest[["image_id", "label"]] == first.pairs[["image_id", "label"]]).all(
        axis=None
    )
    assert np.flatnonzero(rest["caption"] != first.pairs["caption"]).tolist() == [43]


def test_there_are_663_images_675_captions_and_336_groups(
    real: Dataset, first: Dataset
) -> None:
    assert (real.pairs["image_id"].nunique(), real.pairs["text_id"].nunique()) == (
        663,
        675,
    )
    assert (first.pairs["image_id"].nunique(), first.pairs["text_id"].nunique()) == (
        662,
        675,
    )
    assert real.pairs["group"].nunique() == first.pairs["group"].nunique() == 336


def test_two_groups_hold_two_articles_by_their_pages_and_one_of_these_also_by_a_caption(
    real: Dataset,
) -> None:
    pairs = real.pairs.assign(article=article(real.pairs))
    several = (
        pairs.groupby("group")["article"]
        .unique()
        .map(sorted)
        .loc[lambda lists: lists.map(len) > 1]
    )
    assert several.tolist() == [[328, 329], [331, 332]]
    shared = (
        pairs.groupby("text_id")["article"]
        .unique()
        .map(sorted)
        .loc[lambda lists: lists.map(len) > 1]
    )
    assert shared.tolist() == [[328, 329]]


def test_thirteen_articles_have_no_out_of_context_image(real: Dataset) -> None:
    pairs = real.pairs
    without = set(range(338)) - set(article(pairs[pairs["label"] == "out-of-context"]))
    assert sorted(without) == [
        163,
        178,
        193,
        212,
        218,
        227,
        228,
        248,
        268,
        289,
        314,
        331,
        337,
    ]


def test_seven_captions_begin_with_a_greek_alpha_four_of_them_distinct(
    real: Dataset,
) -> None:
    greek = real.pairs.loc[real.pairs["caption"].str.startswith("\u0391"), "caption"]
    assert (len(greek), greek.nunique()) == (7, 4)


def test_true_pairs_are_closer_than_miscaptioned_and_these_than_out_of_context(
    real: Dataset,
) -> None:
    assert cosines(real) == {
        "miscaptioned": 0.292,
        "out-of-context": 0.24,
        "true": 0.304,
    }


def test_the_order_is_the_same_for_the_small_encoder(real_data: Path) -> None:
    small = load("verite", encoder="ViT-B-32")
    assert small.tokens().shape == (1001, 2, 512)
    assert cosines(small) == {
        "miscaptioned": 0.324,
        "out-of-context": 0.291,
        "true": 0.333,
    }


def test_vectors_of_the_first_release_are_not_normalised(first: Dataset) -> None:
    assert first.images is not None
    assert first.images.matrix.dtype == np.float16
    lengths = np.linalg.norm(first.tokens(), axis=2)
    assert lengths.min() > 5
    assert cosines(first) == {
        "miscaptioned": 0.293,
        "out-of-context": 0.239,
        "true": 0.306,
    }


def test_two_out_of_context_images_are_nearly_one_picture(real: Dataset) -> None:
    assert real.images is not None
    one, other = real.images.rows(["false_37", "false_63"])
    assert float(one @ other) == pytest.approx(0.974, abs=5e-4)


def test_each_modality_alone_reaches_two_thirds_of_three_classes(real: Dataset) -> None:
    assert ceiling(real, "image_id") == pytest.approx(66.2, abs=0.05)
    assert ceiling(real, "text_id") == pytest.approx(67.5, abs=0.05)


@pytest.mark.parametrize("order", ["reversed", "sorted", "shuffled"])
def test_the_real_table_in_another_order_does_not_pass(
    order: str, real_data: Path, data_home: Path
) -> None:
    (data_home / "verite").mkdir()
    for path in (real_data / "verite").iterdir():
        if path.suffix == ".npy" or "articles" in path.name:
            (data_home / "verite" / path.name).symlink_to(path.resolve())
    table = pd.read_csv(real_data / "verite" / "VERITE.csv", index_col=0)
    changed = {
        "reversed": table.iloc[::-1],
        "sorted": table.sort_values("label"),
        "shuffled": table.sample(frac=1, random_state=0),
    }
    changed[order].reset_index(drop=True).to_csv(data_home / "verite" / "VERITE.csv")
    with pytest.raises(DataError, match="rows and vectors do not belong together"):
        load("verite")


def test_873_rows_beside_1001_vectors_do_not_pass(
    real_data: Path, data_home: Path
) -> None:
    (data_home / "verite").mkdir()
    for path in (real_data / "verite").iterdir():
        if path.suffix == ".npy" or "articles" in path.name:
            (data_home / "verite" / path.name).symlink_to(path.resolve())
    pd.read_csv(real_data / "verite" / "VERITE.csv", index_col=0).head(873).to_csv(
        data_home / "verite" / "VERITE.csv"
    )
    with pytest.raises(DataError, match=r"1,001 vectors beside a table of 873 rows"):
        load("verite")
