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


def test_ids(release: Release) -> None:
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


def test_groups(
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


def test_vectors(release: Release) -> None:
    np.testing.assert_array_equal(
        load("verite").tokens(), np.stack([release.images, release.texts], axis=1)
    )


def test_without_vectors(release: Release) -> None:
    release.image_path.unlink()
    assert load("verite", embeddings=False).images is None
    assert available("verite", embeddings=False)
    assert not available("verite")


def test_digests(release: Release) -> None:
    files = load("verite").files
    assert {Path(name).name for name in files} == {
        path.name for path in release.folder.iterdir()
    }
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in files.values())


def test_paper_has_one_encoder() -> None:
    with pytest.raises(
        ParameterError,
        match=r"version='paper' was released with ViT-L-14 only.*version='release'",
    ):
        load("verite", version="paper", encoder="ViT-B-32")


def test_missing_array(release: Release) -> None:
    release.text_path.unlink()
    with pytest.raises(
        MissingDataError,
        match=(
            r"VERITE_clip_text_embeddings_ViTL14\.npy. Get it with `verite data fetch"
            r" verite`"
        ),
    ):
        load("verite")


def test_truncated_array(release: Release) -> None:
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
def test_pickle_is_not_read(release: Release, content: str, tmp_path: Path) -> None:
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


def test_shorter_table(
    release: Release,
) -> None:
    release.table = release.table.drop(index=range(3, 6)).reset_index(drop=True)
    release.table.to_csv(release.table_path)
    with pytest.raises(DataError, match=r"18 vectors beside a table of 15 rows"):
        load("verite")


def test_sorted_table(release: Release) -> None:
    release.table.sort_values("caption").reset_index(drop=True).to_csv(
        release.table_path
    )
    with pytest.raises(DataError, match="rows and vectors do not belong together"):
        load("verite")


@pytest.mark.parametrize("column", ["caption", "image_path", "label"])
def test_missing_column(release: Release, column: str) -> None:
    release.table.drop(columns=column).to_csv(release.table_path)
    with pytest.raises(
        DataError, match=rf"VERITE\.csv: missing column '{column}'. Found: ''"
    ):
        load("verite")


def test_missing_row_numbers(release: Release) -> None:
    release.table.to_csv(release.table_path, index=False)
    with pytest.raises(DataError, match=r"missing column ''. Found: 'caption'"):
        load("verite")


def test_unknown_labels(release: Release) -> None:
    release.table["label"] = release.table["label"].str.title()
    release.table.to_csv(release.table_path)
    with pytest.raises(
        DataError,
        match=r"unknown label in 18 row\(s\) \(pair_id verite_0: 'True'",
    ):
        load("verite")


def test_image_names(
    release: Release,
) -> None:
    release.table.loc[3:4, "image_path"] = "images/photo.jpg"
    release.table.to_csv(release.table_path)
    with pytest.raises(
        DataError,
        match=r"expected images named true_N or false_N.*found photo.* \(line 5, 6\)",
    ):
        load("verite")


def test_missing_article(release: Release) -> None:
    release.articles.drop(index=4).to_csv(release.articles_path)
    with pytest.raises(DataError, match=r"VERITE_articles\.csv has no article 4"):
        load("verite")


@pytest.fixture(scope="module")
def real(real_data: Path) -> Dataset:
    return load("verite")


@pytest.fixture(scope="module")
def first(real_data: Path) -> Dataset:
    return load("verite", version="paper")


def test_real_labels(real: Dataset, first: Dataset) -> None:
    assert real.pairs["label"].value_counts().to_dict() == {
        "true": 338,
        "miscaptioned": 338,
        "out-of-context": 325,
    }
    assert first.pairs["label"].value_counts().to_dict() == first.card.expected


def test_real_releases(real: Dataset, first: Dataset) -> None:
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


def test_real_counts(real: Dataset, first: Dataset) -> None:
    assert (real.pairs["image_id"].nunique(), real.pairs["text_id"].nunique()) == (
        663,
        675,
    )
    assert (first.pairs["image_id"].nunique(), first.pairs["text_id"].nunique()) == (
        662,
        675,
    )
    assert real.pairs["group"].nunique() == first.pairs["group"].nunique() == 336


def test_real_groups(
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


def test_real_missing_images(real: Dataset) -> None:
    pairs = real.pairs
    without = set(range(338)) - set(article(pairs[pairs["label"] == "out-of-context"]))
    expected = "163 178 193 212 218 227 228 248 268 289 314 331 337"
    assert " ".join(map(str, sorted(without))) == expected


def test_real_greek_letters(
    real: Dataset,
) -> None:
    greek = real.pairs.loc[real.pairs["caption"].str.startswith("\u0391"), "caption"]
    assert (len(greek), greek.nunique()) == (7, 4)


def test_real_cosines(
    real: Dataset,
) -> None:
    assert cosines(real) == {
        "miscaptioned": 0.292,
        "out-of-context": 0.24,
        "true": 0.304,
    }


def test_real_small_encoder(real_data: Path) -> None:
    small = load("verite", encoder="ViT-B-32")
    assert small.tokens().shape == (1001, 2, 512)
    assert cosines(small) == {
        "miscaptioned": 0.324,
        "out-of-context": 0.291,
        "true": 0.333,
    }


def test_real_paper_vectors(first: Dataset) -> None:
    assert first.images is not None
    assert first.images.matrix.dtype == np.float16
    lengths = np.linalg.norm(first.tokens(), axis=2)
    assert lengths.min() > 5
    assert cosines(first) == {
        "miscaptioned": 0.293,
        "out-of-context": 0.239,
        "true": 0.306,
    }


def test_real_duplicates(real: Dataset) -> None:
    assert real.images is not None
    one, other = real.images.rows(["false_37", "false_63"])
    assert float(one @ other) == pytest.approx(0.974, abs=5e-4)


def test_real_ceilings(real: Dataset) -> None:
    assert ceiling(real, "image_id") == pytest.approx(66.2, abs=0.05)
    assert ceiling(real, "text_id") == pytest.approx(67.5, abs=0.05)


def test_873_rows_beside_1001_vectors(real_data: Path, data_home: Path) -> None:
    (data_home / "verite").mkdir()
    for path in (real_data / "verite").iterdir():
        if path.suffix == ".npy" or "articles" in path.name:
            (data_home / "verite" / path.name).symlink_to(path.resolve())
    pd.read_csv(real_data / "verite" / "VERITE.csv", index_col=0).head(873).to_csv(
        data_home / "verite" / "VERITE.csv"
    )
    with pytest.raises(DataError, match=r"1,001 vectors beside a table of 873 rows"):
        load("verite")
