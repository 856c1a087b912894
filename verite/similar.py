"""Captions and images that are nearly the same, among a hundred thousand.

Nothing here compares all with all: MinHash, nearest neighbours and parts of a
perceptual hash give candidates, and only these are compared.

The library datasketch was rejected for its speed: for 100,000 captions it was
unfinished after three minutes of CPU time, where the code below took 14 s.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from verite.characters import normalise
from verite.embeddings import Embeddings

__all__ = [
    "HASH_BITS",
    "SAME_CAPTION",
    "SAME_FILE",
    "SAME_IMAGE",
    "cluster",
    "hash_picture",
    "near_captions",
    "near_hashes",
    "near_images",
]

SAME_CAPTION = 0.8
"""Jaccard similarity of shingles from which on two captions are near-duplicates."""

SAME_IMAGE = 0.97
"""Cosine of two images' vectors from which on they are near-duplicates."""

SAME_FILE = 4
"""Bits of :func:`hash_picture` in which near-duplicate pictures differ at most."""

HASH_BITS = 64

_BANDS, _ROWS = 21, 6  # finds Jaccard .8 with chance 1 - (1 - .8^6)^21 = .998
_PRIME = np.uint64(2**31 - 1)
_CROWD = 50  # in a larger bucket, texts are compared with the first only
_NEIGHBOURS = 5


def near_captions(captions: Sequence[str], least: float = SAME_CAPTION) -> pd.DataFrame:
    """Find captions that share most of their shingles.

    A shingle is three words in a row, or five characters where there are few words.
    MinHash in 21 bands of 6 gives candidates, whose Jaccard similarity is computed
    exactly: a pair at .8 is missed once in 500 times. Captions equal up to
    :func:`verite.characters.normalise` have similarity 1. Every near-duplicate is
    paired with at least one other caption, not with all.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second``, positions in ``captions``, and ``similarity``.

    >>> near_captions(["a boat near a bridge", "A boat near a bridge!", "a dog"])
       first  second  similarity
    0      0       1         1.0
    """
    texts = [normalise(caption) for caption in captions]
    codes, distinct = pd.factorize(np.array(texts, dtype=object))
    first = np.unique(codes, return_index=True)[1]
    repeats = np.flatnonzero(first[codes] != np.arange(len(codes)))
    similarities = {(int(first[codes[at]]), int(at)): 1.0 for at in repeats}
    shingles = [_shingles(text) for text in distinct]
    for left, right in _candidates(shingles):
        a, b = shingles[left], shingles[right]
        common = len(np.intersect1d(a, b, assume_unique=True))
        similarity = common / (len(a) + len(b) - common)
        if similarity >= least:
            low, high = sorted((int(first[left]), int(first[right])))
            similarities[low, high] = similarity
    return _links(similarities)


def near_images(
    images: Embeddings, ids: Sequence[str], least: float = SAME_IMAGE
) -> pd.DataFrame:
    """Find images whose vectors nearly agree, among the five nearest of each.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second``, ids, and ``similarity``, their cosine.

    >>> vectors = np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32)
    >>> images = Embeddings(["a", "b", "c"], vectors, encoder="toy")
    >>> near_images(images, ["a", "b", "c"], 0.9)[["first", "second"]].values.tolist()
    [['a', 'b']]
    """
    from verite.search import nearest

    ordered = sorted(set(ids))
    neighbours = nearest(
        images,
        images,
        min(_NEIGHBOURS, max(1, len(ordered) - 1)),
        query_ids=ordered,
        candidate_ids=ordered,
        query_groups=ordered,
        candidate_groups=ordered,
        progress="",
    )
    table = pd.DataFrame(
        {
            "first": np.repeat(np.array(ordered, object), neighbours.ids.shape[1]),
            "second": neighbours.ids.ravel(),
            "similarity": neighbours.similarities.ravel(),
        }
    )
    table = table[table["similarity"] >= least]
    columns = ["first", "second"]
    table[columns] = np.sort(table[columns].to_numpy(dtype=object), axis=1)
    return table.drop_duplicates(columns).sort_values(columns, ignore_index=True)


def hash_picture(picture: Image.Image) -> np.ndarray:
    """Perceptual hash that resizing and recompression hardly change.

    Which of the lowest 8 × 8 cosine frequencies of a 32 × 32 grey copy lie above their
    median (:func:`imagehash.phash`).

    Returns
    -------
    numpy.ndarray
        64 truth values. Those of unrelated pictures differ in 32 on average.

    >>> from verite.newsroom import draw, sample_events
    >>> picture = draw(sample_events(1, np.random.default_rng(0))[0])
    >>> smaller = picture.resize((100, 80))
    >>> int((hash_picture(picture) != hash_picture(smaller)).sum()) <= SAME_FILE
    True
    """
    import imagehash

    return np.asarray(imagehash.phash(picture).hash.ravel())


def near_hashes(
    hashes: Mapping[str, np.ndarray], most: int = SAME_FILE
) -> pd.DataFrame:
    """Find pictures whose perceptual hashes differ in few bits.

    Hashes that differ in ``most`` bits agree in at least one of ``most + 1`` parts.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second``, ids, and ``similarity``, the share of equal bits.

    >>> bits = np.arange(64) % 3 > 0
    >>> near_hashes({"a": bits, "b": bits, "c": ~bits})
      first second  similarity
    0     a      b         1.0
    """
    ids = sorted(hashes)
    similarities: dict[tuple[str, str], float] = {}
    if not ids:
        return _links(similarities)
    bits = np.stack([hashes[name] for name in ids])
    for part in np.array_split(bits, most + 1, axis=1):
        keys = pd.Series([row.tobytes() for row in part])
        for rows in keys.groupby(keys).indices.values():
            for position, row in enumerate(rows):
                others = np.asarray(rows)[position + 1 :]
                distances = (bits[others] != bits[row]).sum(axis=1)
                for other in np.flatnonzero(distances <= most):
                    pair = ids[row], ids[others[other]]
                    similarities[pair] = 1 - float(distances[other]) / HASH_BITS
    return _links(similarities)


def cluster(size: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Number of the cluster of each of ``size`` items, given links between positions.

    >>> cluster(4, np.array([0, 1]), np.array([1, 3])).tolist()
    [0, 0, 1, 0]
    """
    links = np.ones(len(first), dtype=bool)
    graph = coo_array((links, (first, second)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1])


def _links(similarities: Mapping[Any, float]) -> pd.DataFrame:
    rows = [(*pair, value) for pair, value in sorted(similarities.items())]
    return pd.DataFrame(rows, columns=["first", "second", "similarity"])


def _shingles(text: str) -> np.ndarray:
    """Distinct shingles by their CRC-32: Python's own hash differs between runs."""
    words = text.split()
    if len(words) >= 8:
        parts = [" ".join(words[at : at + 3]) for at in range(len(words) - 2)]
    else:
        parts = re.findall("(?=(.{5}))", text) or [text]
    codes = [zlib.crc32(part.encode("utf8", "surrogatepass")) for part in parts]
    return np.unique(np.array(codes, dtype=np.uint64))


def _candidates(shingles: list[np.ndarray]) -> Iterator[tuple[int, int]]:
    """Pairs of texts with the same six MinHash values in at least one band."""
    if len(shingles) < 2:
        return
    lengths = [len(codes) for codes in shingles]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    flat = np.concatenate(shingles) % _PRIME
    rng = np.random.default_rng(0)  # not the user's seed: the hash functions are fixed
    seen: set[tuple[int, int]] = set()
    for _ in range(_BANDS):
        a, b = rng.integers(1, int(_PRIME), size=(2, _ROWS), dtype=np.uint64)
        band = [
            np.minimum.reduceat((flat * a[row] + b[row]) % _PRIME, starts)
            for row in range(_ROWS)
        ]
        key = np.unique(np.stack(band, axis=1), axis=0, return_inverse=True)[1].ravel()
        order = np.argsort(key, kind="stable")
        for bucket in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
            members = bucket.tolist()
            heads = members[:1] if len(members) > _CROWD else members
            for position, left in enumerate(heads):
                for right in members[position + 1 :]:
                    if (left, right) not in seen:
                        seen.add((left, right))
                        yield left, right
