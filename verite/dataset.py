"""What every data set looks like once it is loaded, and the card that describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError

__all__ = ["Card", "DataFile", "Dataset"]

_LENGTHS = {"yes": "normalised", "no": "not normalised"}


@dataclass(frozen=True)
class DataFile:
    """A file: its path below the data folder, and where it can be downloaded.

    A URL carries a commit, so what it gives cannot change.
    """

    path: str
    url: str = ""
    """Empty if the publisher gives the file on request, or a user makes it."""
    sha256: str = ""
    """Empty if not known."""
    size: int = 0
    """Bytes; 0 if not known."""


@dataclass(frozen=True)
class Card:
    """What a data set is, where it comes from and what may be done with it."""

    name: str
    title: str
    source: str
    """Where the publisher offers it."""
    licence: str
    citation: str
    """Key in the book's bibliography."""
    expected: Mapping[str, int] = field(default_factory=dict)
    """Number of pairs in the paper's Table 1, by label or by ``split/label``."""
    not_public: str = ""
    """What cannot be downloaded, and how to ask for it."""
    synthetic: bool = False
    """True for made-up worlds: results on them teach, and are no evidence."""
    notes: str = ""
    files: tuple[DataFile, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """Pairs, the vectors of their images and texts if there are any, and a card.

    Attributes
    ----------
    pairs
        A pair table that :func:`verite.pairs.validate` has checked.
    images, texts
        Vectors by ``image_id`` and ``text_id``, or None.
    validation
        The split on which models are selected: ``"validation"``, except for
        ``protocol="comparable"`` of VMU-Twitter, which selects on the test set.
    files
        SHA-256 of each file that was read, by its path below the data folder.
    skipped
        Line numbers of malformed lines, by file (the header is line 1). Only Fakeddit
        skips lines; elsewhere a malformed line is an error.
    """

    name: str
    pairs: pd.DataFrame
    card: Card
    images: Embeddings | None = None
    texts: Embeddings | None = None
    validation: str = "validation"
    files: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.images is None or self.texts is None:
            return
        images, texts = (
            f"{vectors.encoder!r} in {vectors.dimensions:,} dimensions,"
            f" {_LENGTHS.get(vectors.about.get('normalised', ''), 'of unknown length')}"
            for vectors in (self.images, self.texts)
        )
        if images != texts:
            raise DataError(
                f"{self.name}: images were encoded by {images}; texts by {texts}."
                " Encode both with one model, and normalise both or none."
            )

    def part(self, split: str) -> pd.DataFrame:
        """Rows of one split; ``"validation"`` is the one that models are selected on.

        Raises
        ------
        ParameterError
            The data set has no such split.
        """
        name = self.validation if split == "validation" else split
        rows = self.pairs[self.pairs["split"] == name]
        if rows.empty:
            known = ", ".join(sorted(set(self.pairs["split"]) - {""})) or "none"
            raise ParameterError(
                f"{self.name} has no split {split!r}. It has: {known}. Use"
                " grouped_split() to make one."
            )
        return rows.reset_index(drop=True)

    def tokens(self, pairs: pd.DataFrame | None = None) -> np.ndarray:
        """Vectors of image and caption of each pair, looked up by id.

        Returns
        -------
        numpy.ndarray
            ``(len(pairs), 2, dimensions)``, float32.

        Raises
        ------
        DataError
            The data set has no vectors, or none for a pair.
        """
        rows = self.pairs if pairs is None else pairs
        if self.images is None or self.texts is None:
            raise DataError(f"{self.name} has no vectors. Encode its files first.")
        return np.stack(
            [self.images.rows(rows["image_id"]), self.texts.rows(rows["text_id"])],
            axis=1,
        )

    def similarities(self, pairs: pd.DataFrame | None = None) -> np.ndarray:
        """Cosine of image and caption of each pair, normalised vectors or not.

        Returns
        -------
        numpy.ndarray
            ``(len(pairs),)``, -1 to 1.
        """
        tokens = self.tokens(pairs)
        unit = tokens / np.linalg.norm(tokens, axis=2, keepdims=True)
        return np.asarray(np.einsum("ij,ij->i", unit[:, 0], unit[:, 1]))
