"""What the audit finds in newsrooms.

Nothing where no knob is turned, and else what the knob stands for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from verite.audit import Benchmark, audit, read_benchmark, render
from verite.dataset import Dataset
from verite.datasets import load
from verite.embeddings import Embeddings


def explained(probes: pd.DataFrame) -> dict[str, list[str]]:
    """Which probes told labels only by what narrower ones say."""
    return {
        one["probe"]: one["explained_by"]
        for one in probes.to_dict("records")
        if one["explained_by"]
    }


def test_no_bias(
    newsroom: Dataset,
):
    found = audit(Benchmark.of(newsroom), permutations=200, resamples=500)
    assert found.firing == []
    assert set(found.suspects["problem"]) <= {
        "image nearly the same"
    }  # its pictures are simple, and its encoder is small
    assert found.alignment is not None
    assert found.alignment["seem"]
    assert "no probe fires" in found.verdicts["text"]
    assert "no probe fires" in found.verdicts["image"]


@pytest.mark.parametrize(
    ("knob", "expected"),
    [
        ({"giveaway_rate": 0.5}, ["first words"]),
        ({"length_gap": 4}, ["length"]),
        ({"length_gap": -4}, ["length"]),
        (
            {"template_leak": 0.8},
            ["first words", "punctuation and case"],
        ),  # a template opens and closes a caption
        ({"manipulation_rate": 0.6}, ["image embedding"]),
        ({"asymmetric_rate": 0.5}, []),
        ({"balanced": False}, []),
    ],
    ids=str,
)
def test_knobs(knob: dict[str, Any], expected: list[str]):
    found = audit(
        Benchmark.of(load("newsroom", events=200, **knob)),
        permutations=200,
        resamples=500,
    )
    assert sorted(found.firing) == expected


def test_explained_probes():
    found = audit(
        Benchmark.of(load("newsroom", events=200, giveaway_rate=0.5)),
        permutations=200,
        resamples=500,
    )
    assert explained(found.probes) == {
        "TF-IDF": ["first words"],
        "text embedding": ["first words"],
    }
    assert (found.probes.loc[found.probes["probe"] == "TF-IDF", "p_value"] < 0.01).all()
    assert "<bdi>explained by first words</bdi>" in render(found)
    assert "(first words), chance" in found.verdicts["text"]


def test_unexplained_probes(tmp_path: Path, table: pd.DataFrame):
    """Two marks in the false captions.

    One where they begin, and in others a word in their middle.
    """
    false = (table["label"] == "miscaptioned").to_numpy()
    half = np.arange(len(table)) // 3 % 2 == 0
    begun = "Reportedly " + table["caption"]
    within = table["caption"].str.replace(" in ", " purportedly in ", n=1, regex=False)
    caption = np.select([false & half, false], [begun, within], table["caption"])
    found = audited(saved(tmp_path, table.assign(caption=caption)))
    assert {"first words", "TF-IDF"} <= set(found.firing)


def test_carriers():
    found = audit(
        Benchmark.of(load("newsroom", events=200, giveaway_rate=0.5, encoder=None)),
        permutations=200,
        resamples=500,
    )
    [carriers] = found.probes.loc[found.probes["probe"] == "first words", "carriers"]
    giveaways = {
        "allegedly",
        "supposedly",
        "shocking",
        "unbelievable",
        "outrageous",
        "exposed",
    }
    for one in carriers:
        assert one["label"] == "miscaptioned"
        assert (one["weight"] > 0) == (one["feature"].split()[0] in giveaways)


def test_captions_in_several_groups():
    world = load("newsroom", events=150, duplicate_rate=0.2, encoder=None)
    found = audit(
        Benchmark.of(world), probes=["length"], permutations=200, resamples=200
    )
    repeated = world.pairs.groupby("caption")["group"].nunique()
    rows = world.pairs["caption"].isin(repeated.index[repeated > 1])
    named = found.suspects.loc[
        found.suspects["problem"] == "caption in several groups", "pair_id"
    ]
    assert rows.sum() > 20
    assert set(named) == set(world.pairs.loc[rows, "pair_id"])


def saved(folder: Path, table: pd.DataFrame) -> Path:
    table.to_csv(folder / "pairs.csv", index=False)
    return folder / "pairs.csv"


def audited(path: Path, **options: Any) -> Any:
    return audit(read_benchmark(path, **options), permutations=200, resamples=500)


def test_clean_table(tmp_path: Path, table: pd.DataFrame):
    found = audited(saved(tmp_path, table))
    assert found.firing == []
    assert found.suspects.empty


def test_labels_in_file_names(tmp_path: Path, table: pd.DataFrame):
    # Images stand under two labels here, so give every row its own, as if each were a
    # file.
    word = table["label"].map(
        {"true": "real", "out-of-context": "ooc", "miscaptioned": "fake"}
    )
    found = audited(
        saved(
            tmp_path,
            table.assign(image=[f"{name}_{at}.png" for at, name in enumerate(word)]),
        )
    )
    assert found.firing == ["ids"]
    assert found.probes.loc[found.probes["probe"] == "ids", "accuracy"].item() == 1
    assert (found.suspects["problem"] == "label in an id").sum() == len(table)


def test_caption_style(tmp_path: Path, table: pd.DataFrame):
    false = table["label"] == "miscaptioned"
    found = audited(
        saved(
            tmp_path,
            table.assign(
                caption=table["caption"].where(
                    ~false, "PHOTO: " + table["caption"].str.rstrip(".") + "!"
                )
            ),
        )
    )
    assert set(found.firing) >= {"punctuation and case", "first words"}
    assert "punctuation and case" in found.verdicts["text"]


def test_leaks_of_splits(tmp_path: Path, table: pd.DataFrame):
    events = table["event"].unique()
    split = table["event"].map(
        dict(
            zip(
                events,
                np.where(np.arange(len(events)) % 5, "train", "test"),
                strict=True,
            )
        )
    )
    table = table.assign(split=split)
    copied = table[table["split"] == "train"].sample(
        round(0.05 * len(table)), random_state=0
    )
    copied = copied.assign(
        split="test",
        id=copied["id"] + "-copy",
        event=copied["event"] + "-copy",
        caption=copied["caption"].str.upper(),
    )
    found = audited(saved(tmp_path, pd.concat([table, copied])))
    leak = found.leaks.set_index("shared")["rows"]
    assert leak["caption"] == leak["image"] == len(copied)
    assert leak["group"] == 0
    across = found.suspects[found.suspects["problem"] == "caption in several splits"]
    assert set(copied["id"]) <= set(across["pair_id"])
    assert not audited(saved(tmp_path, table)).leaks["count"].any()


def test_look_alikes(tmp_path: Path, table: pd.DataFrame):
    false = table["label"] == "miscaptioned"
    swapped = table["caption"].str.replace("o", "\u043e", n=1)
    found = audited(
        saved(tmp_path, table.assign(caption=table["caption"].where(~false, swapped)))
    )
    assert found.firing == ["characters"]
    [carriers] = found.probes.loc[found.probes["probe"] == "characters", "carriers"]
    assert ("look-alike letter", "miscaptioned") in {
        (one["feature"], one["label"]) for one in carriers
    }
    assert set(
        found.suspects.loc[found.suspects["problem"] == "look-alike letter", "pair_id"]
    ) == set(table.loc[false, "id"])


def test_shuffled_vectors(tmp_path: Path, newsroom: Dataset):
    assert newsroom.images is not None
    assert newsroom.texts is not None
    order = np.random.default_rng(0).permutation(len(newsroom.images))
    Embeddings(
        newsroom.images.ids,
        newsroom.images.matrix[order],
        encoder=newsroom.images.encoder,
    ).save(tmp_path / "i.safetensors")
    newsroom.texts.save(tmp_path / "t.safetensors")
    found = audited(
        saved(tmp_path, newsroom.pairs),
        images=tmp_path / "i.safetensors",
        texts=tmp_path / "t.safetensors",
    )
    assert found.alignment["seem"] is False
    assert "Look first: " in render(found)
    assert "may be of different orders" in render(found)
