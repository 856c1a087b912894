"""Vectors of newsroom images and captions in one space: a poor man's CLIP.

How a vector comes about, and what from:

1. An image is measured by its pixels: mean and spread of each colour on an 8 × 8 grid, and how often each of 64 coarse
   colours stands in each of four bands from top to bottom. A caption is measured by its words: which of those that the
   fit has seen it contains. Neither is told the event's attributes.
2. Each side is standardised and reduced by principal components; canonical correlation analysis then finds the 64
   directions along which image and caption of truthful pairs agree best. It is fitted once a process, on 1,000
   truthful events of their own random stream, which :func:`verite.newsroom.make` never draws from: no pair of a data
   set, and no misleading pair at all, is seen by it.
3. Directions count by the fourth power of their correlation, so that agreement by chance (correlations around .3 with
   this many pairs) does not drown the rest. Vectors have length 1.

The space is linear and knows a few dozen words, so it is no stand-in for CLIP on photographs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import svd_flip

from verite.errors import DataError
from verite.newsroom.captions import WORDINGS, caption
from verite.newsroom.draw import SIZE, draw
from verite.newsroom.world import sample_events

__all__ = ["DIMENSIONS", "ENCODER", "encode_captions", "encode_images"]

DIMENSIONS = 64
ENCODER = f"newsroom-cca-{DIMENSIONS}"
"""Name that these vectors carry, so that they do not mix with another encoder's."""

_FIT_EVENTS = 1_000
_IMAGE_COMPONENTS = 150
_POWER = 4
_GRID, _BANDS, _COLOURS = 8, 4, 64
_BLOCK = 512  # images measured together, to bound the memory


def encode_images(pictures: Sequence[Image.Image]) -> np.ndarray:
    """Encode pictures that :func:`~verite.newsroom.draw` made.

    Returns
    -------
    numpy.ndarray
        Shape ``(len(pictures), 64)``, float32, each row of length 1.

    Raises
    ------
    DataError
        There is no picture, or one is not RGB of 64 × 64 pixels.
    """
    if not pictures:
        raise DataError("expected one or more pictures to encode, found none.")
    alignment = _alignment()
    return _unit(alignment.image_steps.transform(_measure_images(pictures)) @ alignment.image_map)


def encode_captions(captions: Sequence[str]) -> np.ndarray:
    """Encode captions that :func:`~verite.newsroom.caption` wrote; words it never uses are ignored.

    Returns
    -------
    numpy.ndarray
        Shape ``(len(captions), 64)``, float32, each row of length 1.

    Raises
    ------
    DataError
        There is no caption, or one bare string where a list was expected.

    >>> import datetime
    >>> from verite.newsroom import Event, draw
    >>> event = Event("flood", 3, "nurses", "few", "harbour", "Italy", "rainy", "night", datetime.date(2019, 4, 12))
    >>> texts = encode_captions([caption(event), caption(event).replace("Italy", "Japan")])
    >>> true, false = texts @ encode_images([draw(event)])[0]
    >>> bool(true > false)
    True
    """
    if not captions or isinstance(captions, str):
        raise DataError(f"expected a list of one or more captions to encode, found {captions!r}.")
    alignment = _alignment()
    return _unit(alignment.text_steps.transform(_words(alignment.words, captions)) @ alignment.text_map)


@dataclass(frozen=True)
class _Alignment:
    image_steps: Pipeline
    image_map: np.ndarray
    words: CountVectorizer
    text_steps: Pipeline
    text_map: np.ndarray


@lru_cache(maxsize=1)
def _alignment() -> _Alignment:
    # Stream 1 of seed 0; make() draws from stream 0 of its seed, so the two share no event but by chance.
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(1,)))
    events = sample_events(_FIT_EVENTS, rng)
    captions = [caption(event, int(rng.integers(len(WORDINGS)))) for event in events]
    words = CountVectorizer(binary=True).fit(captions)
    image_steps = make_pipeline(StandardScaler(), PCA(_IMAGE_COMPONENTS, whiten=True, svd_solver="full"))
    text_steps = make_pipeline(StandardScaler(with_std=False), PCA(DIMENSIONS, whiten=True, svd_solver="full"))
    V = image_steps.fit_transform(_measure_images([draw(event) for event in events]))
    T = text_steps.fit_transform(_words(words, captions))
    # Both sides are white, so the singular values of their covariance are the canonical correlations.
    left, correlations, right = np.linalg.svd(V.T @ T / (len(events) - 1), full_matrices=False)
    left, right = svd_flip(left, right)
    weights = correlations**_POWER
    return _Alignment(image_steps, left * weights, words, text_steps, right.T * weights)


def _words(words: CountVectorizer, captions: Sequence[str]) -> np.ndarray:
    return np.asarray(words.transform(captions).toarray(), dtype=np.float64)


def _measure_images(pictures: Sequence[Image.Image]) -> np.ndarray:
    """Measure pixels: ``(len(pictures), 8 * 8 * 3 * 2 + 4 * 64)``."""
    for picture in pictures:
        if picture.mode != "RGB" or picture.size != (SIZE, SIZE):
            raise DataError(f"expected RGB pictures of {SIZE} × {SIZE} pixels, found {picture.mode} of {picture.size}. Use draw().")
    blocks = (pictures[start : start + _BLOCK] for start in range(0, len(pictures), _BLOCK))
    return np.concatenate([_measure_block(np.stack([np.asarray(picture) for picture in block])) for block in blocks])


def _measure_block(pixels: np.ndarray) -> np.ndarray:
    n = len(pixels)
    cells = (pixels.astype(np.float32) / 255).reshape(n, _GRID, SIZE // _GRID, _GRID, SIZE // _GRID, 3)
    mean, spread = cells.mean(axis=(2, 4)), cells.std(axis=(2, 4))
    quarter = (pixels >> 6).astype(np.int64)  # each channel in four steps
    colour = (quarter[..., 0] * 4 + quarter[..., 1]) * 4 + quarter[..., 2]
    band = np.arange(n)[:, None] * _BANDS + np.repeat(np.arange(_BANDS), SIZE // _BANDS)
    counts = np.bincount((band[:, :, None] * _COLOURS + colour).ravel(), minlength=n * _BANDS * _COLOURS).reshape(n, -1)
    shares = counts / (SIZE * SIZE // _BANDS)
    # Roots bring a flag of a few pixels nearer to a sky of many.
    return np.concatenate([mean.reshape(n, -1), spread.reshape(n, -1), np.sqrt(shares)], axis=1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
