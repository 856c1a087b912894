"""What the audit finds by itself in published benchmarks.

The figures were also computed without it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from verite.audit import Audit, Benchmark, audit
from verite.datasets import load

QUICK = {"permutations": 200, "resamples": 500}


@pytest.fixture(scope="module")
def verite(real_data: Path) -> Audit:
    return audit(Benchmark.of(load("verite")), **QUICK)


@pytest.fixture(scope="module")
def cosmos(real_data: Path) -> Audit:
    return audit(Benchmark.of(load("cosmos")), **QUICK)


@pytest.fixture(scope="module")
def vmu(real_data: Path) -> Audit:
    probes = ["length", "TF-IDF", "ids", "columns"]
    return audit(
        Benchmark.of(load("vmu-twitter", protocol="comparable")), probes=probes, **QUICK
    )


def probe(found: Audit, name: str) -> dict[str, object]:
    [row] = found.probes[found.probes["probe"] == name].to_dict("records")
    return row


def ceiling(found: Audit, modality: str, labels: str = "all") -> float:
    table = found.ceilings[found.ceilings["duplicates"] == "exact"].set_index(
        ["modality", "labels"]
    )
    return round(100 * float(table.loc[(modality, labels), "ceiling"]), 1)


def test_verite_repeated_caption(verite: Audit):
    rows = verite.suspects[
        verite.suspects["problem"] == "caption repeated under one label"
    ]
    assert len(rows) == 1
    assert "both miscaptioned" in rows["evidence"].item()
    pairs = load("verite", embeddings=False).pairs.set_index("pair_id")
    named = [
        rows["pair_id"].item(),
        rows["evidence"].item().split(",")[0].removeprefix("as "),
    ]
    assert sorted(pairs.loc[named, "image_id"]) == ["true_328", "true_329"]


def test_verite_look_alikes(verite: Audit):
    rows = verite.suspects[verite.suspects["problem"] == "look-alike letter"]
    captions = (
        load("verite", embeddings=False)
        .pairs.set_index("pair_id")
        .loc[rows["pair_id"], "caption"]
    )
    assert captions.str[0].value_counts().to_dict() == {"\u0391": 7, "\u0399": 2}
    assert captions.nunique() == 6


def test_verite_near_images(verite: Audit):
    [found] = verite.near["image"].to_dict("records")
    assert (found["first"], found["second"]) == ("false_37", "false_63")
    assert found["similarity"] == pytest.approx(0.974, abs=5e-4)


def test_verite_ceilings(verite: Audit):
    assert (ceiling(verite, "image"), ceiling(verite, "text")) == (66.2, 67.5)
    assert (
        ceiling(verite, "image", "out-of-context / true"),
        ceiling(verite, "text", "out-of-context / true"),
    ) == (100.0, 51.0)
    assert (
        ceiling(verite, "image", "miscaptioned / true"),
        ceiling(verite, "text", "miscaptioned / true"),
    ) == (50.0, 100.0)
    assert verite.ceilings.set_index(["modality", "labels", "duplicates"])[
        "distinct"
    ].loc["image", "all"].to_dict() == {
        "exact": 663,
        "near": 662,
    }


def test_verite_thresholds(verite: Audit):
    best = verite.thresholds.set_index(["number", "labels"])["accuracy"]
    assert round(100 * best["words", "miscaptioned / true"], 1) == 62.0
    assert round(100 * best["cosine", "out-of-context / true"], 1) == 78.3
    assert round(100 * best["cosine", "miscaptioned / true"], 1) == 58.1


def test_verite_probes(verite: Audit):
    assert {"length", "TF-IDF", "text embedding", "image embedding", "ids"} <= set(
        verite.firing
    )
    words = probe(verite, "TF-IDF")
    assert (
        words["low"] < 0.446 < words["high"]
    )  # the figure of a logistic regression on the same words
    assert "Text alone reaches" in verite.verdicts["text"]
    assert "nothing that sees it alone can pass 67.5%" in verite.verdicts["text"]


def test_verite_file_names(verite: Audit):
    rows = verite.suspects[verite.suspects["problem"] == "label in an id"]
    assert len(rows) == 325
    assert (
        rows["evidence"]
        .str.contains(
            "'false', in 325 of 325 pairs labelled out-of-context, and 0 others"
        )
        .all()
    )


def test_vmu_images(vmu: Audit):
    assert ceiling(vmu, "image") == 100.0
    assert (
        vmu.multiplicity.loc[vmu.multiplicity["modality"] == "image", "labels"] == 1
    ).all()
    assert (
        vmu.multiplicity.loc[vmu.multiplicity["modality"] == "image", "rows"].max()
        == 1786
    )
    assert "ids" in vmu.firing
    assert {"image_id: fake", "image_id: real"} <= {
        one["feature"] for one in probe(vmu, "ids")["carriers"]
    }  # type: ignore[attr-defined]
    rows = vmu.suspects[vmu.suspects["problem"] == "label in an id"]
    assert len(rows) > 0.5 * vmu.about["rows"]
    assert rows["evidence"].str.contains("'fake'").any()


def test_vmu_words(vmu: Audit):
    assert "TF-IDF" in vmu.firing
    assert probe(vmu, "TF-IDF")["low"] > 0.6  # type: ignore[operator]


def test_cosmos_source(cosmos: Audit):
    source = probe(cosmos, "column article_url")
    assert source["fires"]
    assert source["low"] < 0.979 < source["high"]  # type: ignore[operator]
    assert source["carriers"][0]["feature"] == "snopes.com"  # type: ignore[index]
    assert "snopes.com" in cosmos.verdicts["source"]


def test_cosmos_captions(cosmos: Audit):
    text = cosmos.multiplicity[cosmos.multiplicity["modality"] == "text"]
    assert int(((text["rows"] - 1) * text["count"]).sum()) == 146
    assert (ceiling(cosmos, "text"), ceiling(cosmos, "image")) == (99.8, 100.0)


def test_cosmos_words(cosmos: Audit):
    assert "TF-IDF" in cosmos.firing
    # Without groups, so that repeated captions stand on both sides, a logistic
    # regression reaches 89.4.
    assert 0.80 < float(probe(cosmos, "TF-IDF")["accuracy"]) < 0.894  # type: ignore[arg-type]
