"""What every data set looks like once it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings
from verite.errors import DataError, ParameterError

__all__ = ["Card", "Dataset"]


_LENGTHS = {"yes": "normalised", "no": "not normalised"}


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
    """Number of pairs as the paper's Table 1 prints it, by label, or by ``split/label``
    where the table gives both.
    """
    not_public: str = ""
    """What cannot be downloaded, and how to ask for it."""
    synthetic: bool = False
    """True for worlds that were made up.

    Results on them teach, they are not evidence.
    """
    notes: str = ""


@dataclass(frozen=True)
class Dataset:
    """Pairs, the vectors of their images and texts where there are any, and a card.

    Attributes
    ----------
    pairs
        A pair table that :func:`verite.pairs.validate` has passed.
    images, texts
        Vectors by ``image_id`` and ``text_id``, or None.
    validation
        The split on which models are selected. It is ``"validation"`` but for
        ``protocol="comparable"`` of VMU-Twitter, where earlier work selected on the
        test set.
    files
        SHA-256 of each file that was read, by its path below the data folder.
    skipped
        Numbers of the malformed lines that were left out (the header is line 1), by
        file as in ``files``. Only Fakeddit skips lines; elsewhere a malformed line is
        an error.
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
        image, text = ((e.encoder, e.dimensions) for e in (self.images, self.texts))
        if image != text:
            raise DataError(
                f"{self.name}: images were encoded by {image[0]!r} in {image[1]:,}"
                f" dimensions, texts by {text[0]!r} in {text[1]:,}. Their vectors lie"
                " in different spaces: encode both with one model."
            )
        image_length, text_length = (
            e.about.get("normalised", "") for e in (self.images, self.texts)
        )
        if image_length != text_length:
            raise DataError(
                f"{self.name}: vectors of images are"
                f" {_LENGTHS.get(image_length, 'of unknown length')}, those of texts"
                f" {_LENGTHS.get(text_length, 'of unknown length')}. Use normalised()"
                " on both."
            )

    def part(self, split: str) -> pd.DataFrame:
        """Rows of one split; ``"validation"`` gives what the protocol selects models
        on.

        Raises
        ------
        ParameterError
            The data set has no such split.
        """
        wanted = self.validation if split == "validation" else split
        rows = self.pairs[self.pairs["split"] == wanted]
        if rows.empty:
            known = sorted(set(self.pairs["split"]) - {""})
            raise ParameterError(
                f"{self.name} has no split {split!r}. It has:"
                f" {', '.join(known) or 'none'}. Use grouped_split() to make one."
            )
        return rows.reset_index(drop=True)

    def tokens(self, pairs: pd.DataFrame | None = None) -> np.ndarray:
        """Vectors of image and caption of each pair, looked up by id.

        ``(len(pairs), 2, dimensions)``, float32.

        Raises
        ------
        DataError
            The data set has no vectors, or a pair none.
        """
        rows = self.pairs if pairs is None else pairs
        if self.images is None or self.texts is None:
            raise DataError(
                f"{self.name} comes without vectors of images and texts. Encode its"
                " files first."
            )
        return np.stack(
            [self.images.rows(rows["image_id"]), self.texts.rows(rows["text_id"])],
            axis=1,
        )

    def similarities(self, pairs: pd.DataFrame | None = None) -> np.ndarray:
        """Cosine of image and caption of each pair, whether the vectors are normalised
        or not: ``(len(pairs),)``, -1 to 1.

        Raises
        ------
        DataError
            The data set has no vectors, or a pair none.
        """
        tokens = self.tokens(pairs)
        unit = tokens / np.linalg.norm(tokens, axis=2, keepdims=True)
        return np.asarray(np.einsum("ij,ij->i", unit[:, 0], unit[:, 1]))
