from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.verite.audit.conftest import toy
from verite.audit import Audit, audit, render
from verite.embeddings import Embeddings
from verite.errors import ParameterError


def quick(benchmark: object) -> Audit:
    return audit(benchmark, permutations=200, resamples=100)  # type: ignore[arg-type]


def test_contradictions():
    found = quick(
        toy(
            image_id=["a", "a", "b", "b"],
            caption=["x y", "x y", "u v", "w z"],
            label=["true", "false", "true", "false"],
            group=["g"] * 4,
        )
    )
    assert found.suspects[["pair_id", "problem"]].to_numpy().tolist() == [
        ["p0", "one pair, several labels"],
        ["p1", "one pair, several labels"],
    ]


def test_ceilings():
    words = (
        "a red boat near an old bridge in the rain at night with many people watching"
        " it from the bank"
    )
    found = quick(
        toy(
            caption=[words, f"{words} again", "a dog", "two cats"],
            label=["true", "false", "true", "false"],
        )
    )
    text = found.ceilings[found.ceilings["modality"] == "text"].set_index("duplicates")
    assert text.loc["exact", "ceiling"] == 1
    assert text.loc["near", "ceiling"] == 0.75
    assert found.suspects["problem"].tolist() == ["caption nearly the same"]


def test_multiplicity():
    found = quick(
        toy(image_id=["a", "a", "a", "b"], label=["true", "false", "true", "true"])
    ).multiplicity
    assert found[found["modality"] == "image"][
        ["rows", "labels", "count", "example"]
    ].to_numpy().tolist() == [
        [1, 1, 1, "b"],
        [3, 2, 1, "a"],
    ]


def test_ceilings_of_two_labels():
    found = quick(toy(caption=list("abcdef"), label=["x", "y", "z"] * 2)).ceilings
    assert set(found["labels"]) == {"all", "x / y", "x / z", "y / z"}


def test_leaks():
    found = quick(
        toy(
            image_id=["a", "b", "a", "c", "d"],
            caption=["one boat", "a dog", "two boats", "A DOG!", "a cat"],
            split=["train", "train", "test", "test", "test"],
            group=["g", "h", "g", "i", "j"],
            label=["x", "y", "x", "y", "x"],
        )
    ).leaks
    shared = found.set_index("shared")
    assert shared.loc["image", ["first", "second", "count", "rows"]].tolist() == [
        "train",
        "test",
        1,
        1,
    ]
    assert shared.loc["caption", "rows"] == 1
    assert shared.loc["group", "share"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"caption": ["a boat"]}, "all pairs have one label"),
        ({"label": ["true"] * 30}, "all pairs have one label"),
        ({"group": ["g"] * 30}, "all pairs are of one group"),
        ({"caption": ["a boat"] * 30}, "nothing varies"),
    ],
    ids=["one row", "one label", "one group", "one caption"],
)
def test_skipped_probes(columns: dict[str, list[str]], why: str):
    found = quick(toy(**columns))
    assert found.probes.empty
    assert set(found.skipped.values()) == {why}
    assert found.firing == []
    assert "not probed" in found.verdicts["text"]
    assert "<p>No probe could be fitted.</p>" in render(found)


@pytest.mark.parametrize(
    "words", ["猫 犬 鳥 船", "лодка мост река дом", "قارب جسر نهر بيت"]
)
def test_scripts(words: str):
    import random

    chance = random.Random(0)  # noqa: S311
    one, *rest = words.split()
    captions = [
        " ".join([*chance.choices(rest, k=4), one if at % 2 else chance.choice(rest)])
        for at in range(120)
    ]
    assert "TF-IDF" in quick(toy(caption=captions)).firing


def test_balanced_accuracy():
    import random

    chance = random.Random(0)  # noqa: S311
    rare = [at % 12 == 0 for at in range(600)]
    captions = [
        f"{'allegedly' if (one and chance.random() < 0.9) else 'today'} a boat {at}"
        for at, one in enumerate(rare)
    ]
    found = quick(
        toy(caption=captions, label=["false" if one else "true" for one in rare])
    )
    assert "first words" in found.firing


def test_seeds():
    world = toy(
        caption=[f"{'a' if at % 3 else 'b'} boat {at * 7 % 11}" for at in range(90)]
    )
    one, again = quick(world), quick(world)
    assert one.to_json() == again.to_json()
    other = audit(world, permutations=200, resamples=100, seed=1)
    assert not one.probes["accuracy"].equals(other.probes["accuracy"])


def test_columns():
    world = toy(caption=[f"caption {at}" for at in range(60)])
    source = pd.DataFrame(
        {
            "url": [
                f"https://{'a.org' if at % 2 else 'b.org'}/{at}" for at in range(60)
            ],
            "likes": [str(at % 7) for at in range(60)],
        }
    )
    found = quick(replace(world, source=source))
    assert found.firing == ["column url"]
    assert "The source alone reaches 100.0%" in found.verdicts["source"]
    assert "b.org" in found.verdicts["source"] or "a.org" in found.verdicts["source"]


def test_image_files(tmp_path: Path):
    rng = np.random.default_rng(0)
    for at in range(60):
        picture = Image.fromarray(
            rng.integers(0, 255, (24 + 8 * (at % 2), 30, 3), dtype=np.uint8)
        )
        picture.save(tmp_path / f"{at}.{'jpg' if at % 2 else 'png'}")
    names = [f"{at}.{'jpg' if at % 2 else 'png'}" for at in range(60)]
    world = replace(
        toy(
            caption=[f"caption {at}" for at in range(60)],
            image_path=[*names[:-1], "gone.png"],
        ),
        folder=tmp_path,
    )
    found = quick(world)
    assert found.firing == ["image files"]
    assert found.about["notes"] == [
        f"images: 1 of 60 files in {tmp_path.name} could not be read, such as i59"
    ]


def test_rows_without_image():
    vectors = Embeddings(
        [f"i{at}" for at in range(59)],
        np.random.default_rng(0).standard_normal((59, 8)).astype(np.float32),
        encoder="toy",
    )
    world = toy(
        caption=[f"caption {at}" for at in range(60)],
        image_id=[f"i{at}" for at in range(59)] + [""],
    )
    found = quick(replace(world, images=vectors))
    assert (
        found.probes.loc[found.probes["probe"] == "image embedding", "n"].item() == 59
    )
    assert set(found.ceilings["modality"]) == {"text"}


def test_two_vector_spaces():
    rng = np.random.default_rng(0)
    world = toy(caption=[f"caption {at}" for at in range(40)])
    images = Embeddings(
        world.pairs["image_id"],
        rng.standard_normal((40, 8)).astype(np.float32),
        encoder="one",
    )
    texts = Embeddings(
        world.pairs["text_id"],
        rng.standard_normal((40, 6)).astype(np.float32),
        encoder="other",
    )
    found = quick(replace(world, images=images, texts=texts))
    assert {"image embedding", "text embedding"} <= set(found.probes["probe"])
    assert "similarity" not in set(found.probes["probe"])
    assert found.alignment is None


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            {"permutations": 100},
            "expected permutations to be a whole number from 200 to 1,999, found 100",
        ),
        ({"folds": 1}, "expected folds"),
        ({"seed": -1}, "expected seed"),
        ({"probes": ["lenght"]}, "no probe is called 'lenght'. Known: length,"),
    ],
)
def test_parameters(option: dict[str, object], message: str):
    with pytest.raises(ParameterError, match=message):
        audit(toy(caption=["a", "b"]), **option)  # type: ignore[arg-type]
