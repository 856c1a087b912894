"""A data folder per test, and a small synthetic release of VERITE to put into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from verite.datasets.reading import first_of


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VERITE_DATA", str(tmp_path))
    return tmp_path


class Release:
    """Six made-up articles with three pairs each.

    Articles 1 and 2 have one false caption, 3 and 4 one source page.
    """

    def __init__(self, home: Path) -> None:
        self.folder = home / "verite"
        self.table_path = self.folder / "VERITE.csv"
        self.articles_path = self.folder / "VERITE_articles.csv"
        self.image_path = self.folder / "VERITE_clip_image_embeddings_ViTL14.npy"
        self.text_path = self.folder / "VERITE_clip_text_embeddings_ViTL14.npy"
        rows = []
        for article in range(6):
            true, false = (
                f"A boat, seen at pier {article}.",
                f"A boat that sank at pier {max(article, 2) if article else 0}.",
            )
            rows += [
                (true, f"images/true_{article}.jpg", "true"),
                (false, f"images/true_{article}.jpg", "miscaptioned"),
            ]
            rows += [(true, f"images/false_{article}.jpg", "out-of-context")]
        self.table = pd.DataFrame(rows, columns=["caption", "image_path", "label"])
        self.articles = pd.DataFrame(
            {
                "id": range(6),
                "snopes_url": [
                    f"https://facts.example/{3 if article == 4 else article}"
                    for article in range(6)
                ],
            }
        )
        self.images, self.texts = (
            self._vectors(self.table[column]) for column in ("image_path", "caption")
        )

    @staticmethod
    def _vectors(values: pd.Series) -> np.ndarray:
        first = first_of(pd.Series(range(len(values))), values).to_numpy()
        vectors = np.random.default_rng(0).normal(size=(len(values), 8))[first]
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
            np.float32
        )

    def write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.table.to_csv(self.table_path)
        self.articles.to_csv(self.articles_path)
        np.save(self.image_path, self.images)
        np.save(self.text_path, self.texts)


@pytest.fixture
def release(data_home: Path) -> Release:
    made = Release(data_home)
    made.write()
    return made
