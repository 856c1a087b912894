"""Unimodal ceilings: what a table lets a detector reach that sees one modality alone."""

from __future__ import annotations

from typing import Literal, NamedTuple

import pandas as pd

from verite.errors import ParameterError
from verite.evaluation.protocols import Protocol, protocol_named

__all__ = ["Ceiling", "unimodal_ceiling"]

_KEYS = {"image": "image_id", "text": "text_id"}


class Ceiling(NamedTuple):
    """The best accuracy of any function of one modality, beside what a constant answer
    reaches.
    """

    value: float
    """0 to 1."""
    majority: float
    """Share of the largest class: the ceiling of a modality that tells nothing."""
    n: int
    """Pairs."""
    distinct: int
    """Distinct images, or distinct texts."""


def unimodal_ceiling(
    pairs: pd.DataFrame,
    modality: Literal["image", "text"],
    protocol: str | Protocol | None = None,
) -> Ceiling:
    r"""Best accuracy that any function of the image alone, or of the text alone, can
    reach on a table.

    Such a function gives all pairs with one image the same answer, at best the label
    most of them carry:

    .. math:: \frac{1}{n} \sum_{x} \max_{y} \, n_{xy}

    with :math:`n_{xy}` the pairs of image (or text) x and label y. "Modality balancing"
    (paper, section 3.2) exists to lower it: where every image and every text stood
    equally often in each class, it would be the majority share. A detector that never
    saw the table cannot be expected to reach it; one above it has used both modalities.
    It looks at ids only: near duplicates count as different.

    Parameters
    ----------
    pairs
        A pair table; ``image_id`` or ``text_id`` and ``label`` are read.
    protocol
        Rows and classes to use; None takes the table's rows and labels as they are.

    Raises
    ------
    ParameterError
        Another modality, or an unknown protocol.

    One image stands once as true and once as false, another only as false:

    >>> pairs = pd.DataFrame({"image_id": ["boat", "boat", "dog"], "label": ["true", "misinformation", "misinformation"]})
    >>> unimodal_ceiling(pairs, "image")
    Ceiling(value=0.6666666666666666, majority=0.6666666666666666, n=3, distinct=2)
    """
    if modality not in _KEYS:
        raise ParameterError(
            f"unknown modality: {modality!r}. Known: {', '.join(_KEYS)}."
        )
    rows = pairs if protocol is None else protocol_named(protocol).select(pairs)
    counts = rows.groupby([_KEYS[modality], "label"]).size()
    best = counts.groupby(level=0).max()
    majority = rows["label"].value_counts().max()
    return Ceiling(
        float(best.sum() / len(rows)), float(majority / len(rows)), len(rows), len(best)
    )
