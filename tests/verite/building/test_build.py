from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from verite.building import build
from verite.datasets.images import read_links
from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError
from verite.pairs import validate


def vectors(folder: Path, ids: list[str], name: str) -> Path:
    path = folder / f"{name}.safetensors"
    Embeddings(
        ids,
        np.random.default_rng(len(ids)).normal(size=(len(ids), 4)).astype(np.float32),
        encoder="toy",
    ).save(path)
    return path


def report(out: Path) -> dict:
    return json.loads((out / "report.json").read_text(encoding="utf8"))


def test_a_build_writes_pairs_links_findings_and_report(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    lines = build(write(topic=["sea", "land", "land", "", "sea"]), out)
    names = {path.stem for path in out.iterdir()}
    assert names == {"captions", "criteria", "giveaways", "images", "pairs", "report"}
    pairs = pd.read_csv(out / "pairs.csv", dtype=str, keep_default_na=False)
    assert len(validate(pairs, extra=("topic",))) == 14
    assert {link.id for link in read_links(out / "images.csv")} == set(
        pairs["image_id"]
    )
    found = report(out)
    assert found["pairs"] == {"true": 5, "out-of-context": 4, "miscaptioned": 5}
    assert found["topics"] == {"sea": 2, "land": 2, "(none)": 1}
    assert found["giveaways"]["negation"] == {"true": 0, "false": 1}
    assert found["giveaways"]["doubt"] == {"true": 0, "false": 1}
    assert found["balance"]["no_image"] == ["true_4"]
    assert found["captions"]["forms"]["true"] == {"shows": 4, "of": 1, "none": 0}
    assert lines[0] == "articles.csv: 5 articles, 0 ruled out"
    text = (out / "report.txt").read_text(encoding="utf8")
    assert "14 pairs: true 5, out-of-context 4, miscaptioned 5" in text
    assert "true captions in two classes: 4 of 5" in text


def test_the_same_table_gives_the_same_bytes(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    table = write()
    for name in ("one", "two"):
        build(table, tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_articles_that_a_criterion_rules_out_give_no_pairs(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    build(
        write(
            rating=["miscaptioned", "satire", "miscaptioned", "scam", "miscaptioned"]
        ),
        tmp_path / "out",
    )
    assert report(tmp_path / "out")["ruled_out"] == ["1", "3"]
    pairs = pd.read_csv(
        tmp_path / "out" / "pairs.csv", dtype=str, keep_default_na=False
    )
    assert set(pairs["pair_id"].str[0]) == {"0", "2", "4"}


def test_a_table_of_which_nothing_is_left_is_one_message(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(
        DataError,
        match=(
            r"all 5 articles are ruled out, article 0 by rated_miscaptioned"
            r" \(rated satire\)"
        ),
    ):
        build(write(rating=["satire"] * 5), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_candidates_are_ranked_from_vectors_of_several_files(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    own = [f"true_{i}" for i in range(4)]
    images = [
        vectors(tmp_path, own, "own"),
        vectors(
            tmp_path,
            ["false_0", "false_1", "pool_a", "pool_b", "pool_c", "pool_d"],
            "pool",
        ),
    ]
    texts = vectors(tmp_path, [f"true_{i}" for i in range(5)], "texts")
    lines = build(write(), tmp_path / "out", images=images, texts=texts, k=3)
    candidates = pd.read_csv(tmp_path / "out" / "candidates.csv")
    assert candidates.groupby("pair_id").size().to_dict() == {
        f"{i}-true": 3 for i in range(4)
    }
    found = report(tmp_path / "out")["candidates"]
    assert (
        found["pool"],
        found["articles"],
        found["without_vectors"],
        found["chosen_in_pool"],
    ) == (6, 4, 1, 2)
    assert list(found["chosen_found"]) == ["first 1", "first 3"]
    assert found["chosen_found"]["first 3"] == int(candidates["chosen"].sum())
    assert any("candidates for 4 articles from 6 images" in line for line in lines)


def test_vectors_that_do_not_belong_to_the_table_are_one_message(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    images, texts = (
        vectors(tmp_path, ["a", "b"], "images"),
        vectors(tmp_path, ["c"], "texts"),
    )
    with pytest.raises(
        DataError,
        match=(
            r"no true pair has both vectors: .*'a'.*'c'; expected such as 'true_0' and"
            r" 'true_0'"
        ),
    ):
        build(write(), tmp_path / "out", images=[images], texts=texts)
    with pytest.raises(ParameterError, match="both --images and --texts, or neither"):
        build(write(), tmp_path / "out", images=[images])


def test_an_earlier_report_is_replaced_only_if_told_so(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    table = write()
    build(table, tmp_path / "out")
    with pytest.raises(
        ParameterError,
        match=(r"report\.json already exists; use --force"),
    ):
        build(table, tmp_path / "out")
    build(table, tmp_path / "out", force=True)


def test_the_real_table_is_built_as_released(real_data: Path, tmp_path: Path) -> None:
    build(real_data / "verite" / "VERITE_articles.csv", tmp_path / "out")
    found = report(tmp_path / "out")
    assert found["articles"] == 338
    assert found["ruled_out"] == []
    assert found["pairs"] == {"true": 338, "out-of-context": 325, "miscaptioned": 338}
    assert {name: round(100 * value, 1) for name, value in found["alone"].items()} == {
        "length, true against miscaptioned": 62.0,
        "image, at best": 66.2,
        "text, at best": 67.5,
        "largest class": 33.8,
    }
    assert "topics" not in found  # the release has none
