"""Which pair a prediction is for, and in which version."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from verite.datasets import load
from verite.errors import DataError, MissingDataError, ParameterError
from verite.scoring import match, open_benchmark, read_predictions
from verite.scoring.benchmark import Benchmark


def opened(
    table: pd.DataFrame, name: str = "verite", **options: str
) -> tuple[pd.DataFrame, Benchmark]:
    predictions = read_predictions(table)
    return predictions, open_benchmark(name, predictions, options)


def bare(table: pd.DataFrame) -> pd.DataFrame:
    return table[["row", "prediction"]]


def test_publishers_table(release: pd.DataFrame, paper: pd.DataFrame) -> None:
    for table, version, pairs in ((release, "release", 18), (paper, "paper", 17)):
        predictions, benchmark = opened(table)
        assert (benchmark.version, len(benchmark.pairs)) == (version, pairs)
        matched = match(predictions, benchmark)
        assert (matched.table["label"] == matched.table["prediction"]).all()


def test_row_numbers(release: pd.DataFrame, paper: pd.DataFrame) -> None:
    assert opened(bare(release))[1].version == "release"
    columns = ["row", "image_path", "prediction"]
    assert opened(paper[columns])[1].version == "paper"
    for table in (bare(paper), bare(release)[:-1], bare(release)[:3], paper[:8]):
        with pytest.raises(ParameterError, match="Choose one: -p version release"):
            opened(table.drop(columns=["caption", "label"], errors="ignore"))


def test_named_version(paper: pd.DataFrame) -> None:
    assert match(*opened(bare(paper), version="paper")).missing == ()
    with pytest.raises(
        DataError, match="1 of 18 predictions are missing .*: verite_17"
    ):
        match(*opened(bare(paper), version="release"))


@pytest.mark.parametrize(
    ("prefix", "version"), [("verite_", "release"), ("figments_", "paper")]
)
def test_ids(verite_home: Path, prefix: str, version: str) -> None:
    table = pd.DataFrame(
        {"pair_id": [f"{prefix}{row}" for row in range(17)], "prediction": "true"}
    )
    assert opened(table)[1].version == version


@pytest.mark.parametrize(
    ("ids", "version", "message"),
    [
        (["verite_0", "figments_1"], None, "mix ids of both versions"),
        (["verite_0"], "paper", "such as 'figments_0', 'figments_1', found 'verite_0'"),
        (["a.jpg"], "release", "found 'a.jpg'. `verite data pairs` writes"),
    ],
)
def test_bad_ids(
    verite_home: Path, ids: list[str], version: str | None, message: str
) -> None:
    table = pd.DataFrame({"pair_id": ids, "prediction": "true"})
    with pytest.raises(DataError, match=message):
        match(*opened(table, **({"version": version} if version else {})))


def test_sorted_table(release: pd.DataFrame) -> None:
    table = release.sort_values("caption").assign(row=release["row"].to_numpy())
    with pytest.raises(DataError, match="fit neither version .*'image_path' of the"):
        opened(table)


@pytest.mark.parametrize("column", ["caption", "image_path", "label"])
def test_columns_that_disagree(release: pd.DataFrame, column: str) -> None:
    table = release[["row", "prediction", column]].copy()
    table.loc[[4, 5], column] = ["true", "true"]
    message = f"column '{column}' of .* differs .* in 2 of 18 rows .id '4', '5'"
    with pytest.raises(DataError, match=message):
        match(*opened(table, version="release"))


@pytest.mark.parametrize("true", ["True", "?"])
def test_other_labels(release: pd.DataFrame, true: str) -> None:
    label = release["label"].map({"true": true}).fillna("fake")
    assert match(*opened(release.assign(label=label))).missing == ()


def test_missing_and_surplus(release: pd.DataFrame) -> None:
    table = pd.concat(
        [bare(release)[2:], pd.DataFrame({"row": ["99", "x"], "prediction": "true"})]
    )
    predictions, benchmark = opened(table, version="release")
    found = match(predictions, benchmark, "wrong")
    assert (found.missing, found.surplus) == (("verite_0", "verite_1"), ("99", "x"))
    assert (len(found.table), (found.table["prediction"] == "").sum()) == (18, 2)
    assert len(match(predictions, benchmark, "skip").table) == 16


def test_duplicates(release: pd.DataFrame) -> None:
    again = pd.DataFrame({"row": ["verite_3"], "prediction": "true"})
    message = "duplicate predictions for 'verite_3'.*a column `seed`"
    with pytest.raises(DataError, match=message):
        match(*opened(pd.concat([bare(release), again])))


def test_seeds(release: pd.DataFrame) -> None:
    table = pd.concat([bare(release).assign(seed=seed) for seed in ("1", "2")])[:-1]
    with pytest.raises(
        DataError, match="1 of 36 .* missing for .*: verite_17 of seed 2"
    ):
        match(*opened(table))


def test_row_numbers_need_both_versions(
    release: pd.DataFrame, verite_home: Path
) -> None:
    (verite_home / "figments" / "FIGMENTS.csv").unlink()
    with pytest.raises(MissingDataError, match="FIGMENTS.csv"):
        opened(release)
    assert opened(release, version="release")[1].version == "release"


def test_table_with_splits(tmp_path: Path, verite_home: Path) -> None:
    pairs = load("verite", embeddings=False).pairs
    pairs["split"] = pairs["group"].map({"article_0": "test"}).fillna("train")
    pairs.assign(note="=1+1").to_csv(tmp_path / "mine.csv", index=False)
    benchmark = open_benchmark(tmp_path / "mine.csv")
    assert (benchmark.name, len(benchmark.pairs)) == ("mine", 3)
    assert benchmark.note == "pairs of the table with split `test`"
    with pytest.raises(DataError, match="has splits but none is `test`"):
        open_benchmark(pairs.assign(split="train"))
    with pytest.raises(ParameterError, match="has no options: version"):
        open_benchmark(pairs, options={"version": "paper"})


def test_table_without_pairs(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="mine.csv: missing column pair_id"):
        open_benchmark(tmp_path / "mine.csv")


@pytest.mark.parametrize(("version", "pairs"), [("release", 1001), ("paper", 1000)])
def test_real_versions(real_data: Path, version: str, pairs: int) -> None:
    file = {"release": "verite/VERITE.csv", "paper": "figments/FIGMENTS.csv"}[version]
    table = pd.read_csv(real_data / file, dtype=str, keep_default_na=False).rename(
        columns={"Unnamed: 0": ""}
    )
    predictions, benchmark = opened(
        table.assign(prediction=table["label"])[["", "image_path", "prediction"]]
    )
    assert (benchmark.version, len(benchmark.pairs)) == (version, pairs)
    matched = match(predictions, benchmark)
    assert (matched.table["label"] == matched.table["prediction"]).all()


def test_real_vmu_twitter(real_data: Path) -> None:
    posts = load("vmu-twitter").part("test")["post_id"]
    table = pd.DataFrame({"post_id": posts, "prediction": "fake"})
    predictions, benchmark = opened(table[:-3], "vmu-twitter")
    assert "one row per post and image: 2,228 of " in benchmark.note
    assert len(match(predictions, benchmark, "wrong").missing) == 3
    predictions, benchmark = opened(table, "vmu-twitter", with_images="available")
    assert len(benchmark.pairs) == 1117
    assert len(match(predictions, benchmark).surplus) == 2228 - 1117


def test_real_cosmos(real_data: Path) -> None:
    table = pd.DataFrame({"id": range(1000), "prediction": "ooc"})
    labels = match(*opened(table, "cosmos")).table["label"]
    assert labels.value_counts().to_dict() == {"true": 500, "misinformation": 500}
