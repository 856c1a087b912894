"""Entity swaps on real captions, with the entities that their data set brings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from verite import load
from verite.embeddings import Embeddings
from verite.pairs import MISCAPTIONED, TRUE
from verite.synthesis import MAKERS, made_share
from verite.synthesis.entities import Entity, read, same_entity


@pytest.fixture(scope="module")
def pairs(real_data: Path) -> pd.DataFrame:
    loaded = load("newsclippings", subset="captions").pairs
    return loaded[loaded["label"] == TRUE].reset_index(drop=True)


@pytest.fixture(scope="module")
def found(pairs: pd.DataFrame) -> dict[str, list[Entity]]:
    return dict(zip(pairs["pair_id"], read(pairs), strict=True))


@pytest.fixture(scope="module")
def swap(pairs: pd.DataFrame) -> Callable[[str], pd.DataFrame]:
    """Make a set of misleading captions once, similar by their words where similarity
    is asked for.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    distinct = pairs.drop_duplicates("text_id")
    words = (
        HashingVectorizer(n_features=256)
        .transform(distinct["caption"])
        .toarray()
        .astype(np.float32)
    )
    texts = Embeddings(distinct["text_id"].tolist(), words, encoder="words")
    made: dict[str, pd.DataFrame] = {}

    def table(name: str) -> pd.DataFrame:
        if name not in made:
            made[name] = MAKERS[name](pairs, None, texts, rng=np.random.default_rng(0))
        return made[name]

    return table


def false(table: pd.DataFrame) -> pd.DataFrame:
    rows = table[table["label"] == MISCAPTIONED]
    return rows.assign(of=rows["pair_id"].str.rpartition(":")[0])


def test_nearly_every_caption_mentions_an_entity(
    found: dict[str, list[Entity]],
) -> None:
    counts = Counter(
        kind for one in found.values() for kind in {entity.type for entity in one}
    )
    share = {kind: round(count / len(found), 3) for kind, count in counts.items()}
    assert share == {
        "PERSON": 0.723,
        "GPE": 0.531,
        "PRODUCT": 0.260,
        "DATE": 0.227,
        "EVENT": 0.127,
    }
    assert sum(map(bool, found.values())) / len(found) == pytest.approx(0.976, abs=5e-4)


@pytest.mark.parametrize(("name", "share"), [("R-NESt", 0.976), ("MEIR", 0.53)])
def test_the_share_of_captions_that_can_be_swapped(
    pairs: pd.DataFrame, swap: Callable[[str], pd.DataFrame], name: str, share: float
) -> None:
    assert made_share(pairs, swap(name)) == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize("name", ["R-NESt", "MEIR"])
def test_a_swap_changes_the_caption_and_leaves_the_rest_of_it(
    pairs: pd.DataFrame,
    found: dict[str, list[Entity]],
    swap: Callable[[str], pd.DataFrame],
    name: str,
) -> None:
    captions = dict(zip(pairs["pair_id"], pairs["caption"], strict=True))
    for row in false(swap(name)).itertuples():
        old, kept = captions[row.of], row.caption
        assert kept != old
        swapped = {(before, kind) for before, _, kind in json.loads(row.swapped)}
        spans = sorted(
            span
            for entity in found[row.of]
            if (entity.name, entity.type) in swapped
            for span in entity.spans
        )
        outside = [
            old[left:right]
            for left, right in zip(
                [0, *(b for _, b in spans)],
                [*(a for a, _ in spans), len(old)],
                strict=True,
            )
        ]
        for piece in outside:
            assert piece in kept
            kept = kept[kept.index(piece) + len(piece) :]


@pytest.mark.parametrize(("name", "least"), [("R-NESt", 1), ("MEIR", 2)])
def test_a_swap_brings_in_no_entity_that_the_caption_has_under_another_spelling(
    found: dict[str, list[Entity]],
    swap: Callable[[str], pd.DataFrame],
    name: str,
    least: int,
) -> None:
    rows = false(swap(name))
    swaps: list[tuple[str, list[Any]]] = [
        (of, json.loads(cell))
        for of, cell in zip(rows["of"], rows["swapped"], strict=True)
    ]
    assert all(len(listed) >= least for _, listed in swaps)
    bad = [
        (of, new)
        for of, listed in swaps
        for _, new, _ in listed
        if any(same_entity(new, own) for entity in found[of] for own in entity.names)
    ]
    assert bad == []


def test_a_donor_is_of_another_group(
    pairs: pd.DataFrame, swap: Callable[[str], pd.DataFrame]
) -> None:
    group = pairs.set_index("pair_id")["group"]
    for name in ("R-NESt", "MEIR"):
        rows = false(swap(name))
        assert (
            group[rows["of"]].to_numpy() != group[rows["donor_id"]].to_numpy()
        ).all()
