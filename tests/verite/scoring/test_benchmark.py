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


def test_row_numbers(
    release: pd.DataFrame,
) -> None:
    assert opened(bare(release))[1].version == "release"


def test_ambiguous_row_numbers(release: pd.DataFrame, paper: pd.DataFrame) -> None:
    for table in (bare(paper), bare(release)[:-1], bare(release)[:3]):
        with pytest.raises(
            ParameterError,
            match=("different pairs. Choose one: -p version release"),
        ):
            opened(table)


def test_named_version(paper: pd.DataFrame) -> None:
    predictions, benchmark = opened(bare(paper), version="paper")
    assert match(predictions, benchmark).missing == ()
    predictions, benchmark = opened(bare(paper), version="release")
    with pytest.raises(
        DataError,
        match="1 of 18 predictions are missing for verite .version release.: verite_17",
    ):
        match(predictions, benchmark)


def test_first_rows_are_ambiguous(
    paper: pd.DataFrame,
) -> None:
    with pytest.raises(ParameterError, match="both versions of VERITE have"):
        opened(paper[["row", "image_path", "prediction"]][:8])
    assert opened(paper[["row", "image_path", "prediction"]])[1].version == "paper"


@pytest.mark.parametrize(
    ("prefix", "version"), [("verite_", "release"), ("figments_", "paper")]
)
def test_ids(verite_home: Path, prefix: str, version: str) -> None:
    table = pd.DataFrame(
        {"pair_id": [f"{prefix}{row}" for row in range(17)], "prediction": "true"}
    )
    assert opened(table)[1].version == version


def test_mixed_ids(verite_home: Path) -> None:
    with pytest.raises(DataError, match="mix ids of both versions"):
        opened(
            pd.DataFrame({"pair_id": ["verite_0", "figments_1"], "prediction": "true"})
        )


def test_ids_of_other_version(verite_home: Path) -> None:
    predictions, benchmark = opened(
        pd.DataFrame({"pair_id": ["verite_0"], "prediction": ["true"]}), version="paper"
    )
    with pytest.raises(
        DataError,
        match="expected ids such as 'figments_0', 'figments_1', found 'verite_0'",
    ):
        match(predictions, benchmark)


def test_sorted_table(
    release: pd.DataFrame,
) -> None:
    shuffled = release.sort_values("caption", ignore_index=True).assign(
        row=[str(row) for row in range(18)]
    )
    with pytest.raises(
        DataError,
        match=(
            "fit neither version .*'image_path' of the predictions differs"
            " from the benchmark's in"
        ),
    ):
        opened(shuffled)


@pytest.mark.parametrize("column", ["caption", "image_path", "label"])
def test_columns_that_disagree(release: pd.DataFrame, column: str) -> None:
    table = release[["row", "prediction", column]].copy()
    table.loc[[4, 5], column] = ["true", "true"]
    predictions, benchmark = opened(table, version="release")
    with pytest.raises(
        DataError,
        match=(
            f"column '{column}' of the predictions differs from the benchmark's in 2 of 18"
            " rows .id '4', '5'"
        ),
    ):
        match(predictions, benchmark)


@pytest.mark.parametrize(
    "spelled",
    [
        {"true": "True", "out-of-context": "fake", "miscaptioned": "fake"},
        dict.fromkeys("x", ""),
    ],
)
def test_other_labels(release: pd.DataFrame, spelled: dict[str, str]) -> None:
    predictions, benchmark = opened(
        release.assign(label=release["label"].map(spelled).fillna("?"))
    )
    assert match(predictions, benchmark).missing == ()


def test_missing_and_surplus(release: pd.DataFrame) -> None:
    table = pd.concat(
        [bare(release)[2:], pd.DataFrame({"row": ["99", "x"], "prediction": "true"})]
    )
    predictions, benchmark = opened(table, version="release")
    found = match(predictions, benchmark, "wrong")
    assert (found.missing, found.surplus) == (("verite_0", "verite_1"), ("99", "x"))
    assert (len(found.table), (found.table["prediction"] == "").sum()) == (18, 2)
    assert len(match(predictions, benchmark, "skip").table) == 16


def test_duplicates(
    release: pd.DataFrame,
) -> None:
    table = pd.concat(
        [bare(release), pd.DataFrame({"row": ["verite_3"], "prediction": "true"})]
    )
    predictions, benchmark = opened(table)
    with pytest.raises(
        DataError,
        match=("duplicate predictions for 'verite_3'.*a column `seed`"),
    ):
        match(predictions, benchmark)


def test_seeds(release: pd.DataFrame) -> None:
    table = pd.concat([bare(release).assign(seed=seed) for seed in ("1", "2")])[:-1]
    predictions, benchmark = opened(table)
    with pytest.raises(
        DataError, match="1 of 36 predictions are missing for .*: verite_17 of seed 2"
    ):
        match(predictions, benchmark)


def test_unknown_ids(verite_home: Path) -> None:
    predictions, benchmark = opened(
        pd.DataFrame({"id": ["a.jpg"], "prediction": ["true"]}), version="release"
    )
    with pytest.raises(
        DataError,
        match=(
            "expected ids such as 'verite_0', 'verite_1', found 'a.jpg'. `verite data"
            " pairs` writes"
        ),
    ):
        match(predictions, benchmark)


def test_row_numbers_need_both_versions(
    release: pd.DataFrame, verite_home: Path
) -> None:
    (verite_home / "figments" / "FIGMENTS.csv").unlink()
    with pytest.raises(MissingDataError, match="FIGMENTS.csv"):
        opened(release)
    assert opened(release, version="release")[1].version == "release"


def test_table_with_splits(tmp_path: Path, verite_home: Path) -> None:
    pairs = load("verite", embeddings=False).pairs
    pairs["split"] = [
        "test" if group == "article_0" else "train" for group in pairs["group"]
    ]
    pairs.assign(note="=1+1").to_csv(tmp_path / "mine.csv", index=False)
    benchmark = open_benchmark(tmp_path / "mine.csv")
    assert (benchmark.name, len(benchmark.pairs), benchmark.note) == (
        "mine",
        3,
        "pairs of the table with split `test`",
    )
    with pytest.raises(DataError, match="has splits but none is `test`"):
        open_benchmark(pairs.assign(split="train"))
    with pytest.raises(
        ParameterError, match="a table of pairs has no options: version"
    ):
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
    predictions, benchmark = opened(
        pd.DataFrame({"post_id": posts, "prediction": "fake"})[:-3], "vmu-twitter"
    )
    assert benchmark.note.startswith(
        "the test set of 2016, one row per post and image: 2,228 of "
    )
    assert len(match(predictions, benchmark, "wrong").missing) == 3
    available = opened(
        pd.DataFrame({"post_id": posts, "prediction": "fake"}),
        "vmu-twitter",
        with_images="available",
    )
    assert len(available[1].pairs) == 1117
    assert len(match(*available).surplus) == 2228 - 1117


def test_cosmos_is_scored_by_its_row_numbers(real_data: Path) -> None:
    predictions, benchmark = opened(
        pd.DataFrame({"id": range(1000), "prediction": "ooc"}), "cosmos"
    )
    assert match(predictions, benchmark).table["label"].value_counts().to_dict() == {
        "true": 500,
        "misinformation": 500,
    }
