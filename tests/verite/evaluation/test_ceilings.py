"""What a table lets one modality reach."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from verite.datasets import load
from verite.errors import ParameterError
from verite.evaluation import unimodal_ceiling
from verite.pairs import LABELS


@pytest.mark.parametrize(
    ("protocol", "image", "text"),
    [
        ("three-class", 66.2, 67.5),
        ("true-vs-ooc", 100.0, 51.0),
        ("true-vs-mc", 50.0, 100.0),
    ],
)
def test_fact_13_the_unimodal_ceilings_of_verite(
    real_data: Path, protocol: str, image: float, text: float
) -> None:
    pairs = load("verite", embeddings=False).pairs
    assert round(100 * unimodal_ceiling(pairs, "image", protocol).value, 1) == image
    assert round(100 * unimodal_ceiling(pairs, "text", protocol).value, 1) == text


def test_facts_12_and_13_images_texts_and_majority_of_verite(real_data: Path) -> None:
    pairs = load("verite", embeddings=False).pairs
    image, text = unimodal_ceiling(pairs, "image"), unimodal_ceiling(pairs, "text")
    assert (image.n, image.distinct, text.distinct) == (1001, 663, 675)
    assert round(image.majority, 3) == round(text.majority, 3) == 0.338


def test_a_balanced_table_gives_one_modality_nothing() -> None:
    pairs = pd.DataFrame(
        {
            "image_id": ["i", "i", "j", "j"],
            "text_id": ["s", "t", "s", "t"],
            "label": ["true", "miscaptioned"] * 2,
        }
    )
    assert unimodal_ceiling(pairs, "image").value == 0.5
    assert unimodal_ceiling(pairs, "text").value == 1


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.sampled_from(LABELS)), min_size=1, max_size=40
    )
)
def test_the_ceiling_is_what_a_free_model_of_the_id_reaches(
    rows: list[tuple[int, str]],
) -> None:
    pairs = pd.DataFrame(rows, columns=["image_id", "label"])
    one_hot = np.eye(9)[pairs["image_id"]]
    reached = (
        DecisionTreeClassifier(random_state=0)
        .fit(one_hot, pairs["label"])
        .score(one_hot, pairs["label"])
    )
    ceiling = unimodal_ceiling(pairs, "image")
    assert ceiling.value == pytest.approx(reached)
    assert ceiling.majority <= ceiling.value <= 1


def test_another_modality_is_refused() -> None:
    with pytest.raises(ParameterError, match="image, text"):
        unimodal_ceiling(pd.DataFrame(), "audio")  # type: ignore[arg-type]
