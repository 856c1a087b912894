"""Captions and images that are nearly one.

Found among a hundred thousand without comparing all with all.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from verite.audit.characters import plain
from verite.embeddings import Embeddings

__all__ = ["SAME_CAPTION", "SAME_PICTURE", "clusters", "near_captions", "near_images"]

SAME_CAPTION = 0.8
"""Share of shingles that two captions have in common from which on they count as nearly
one.
"""

SAME_PICTURE = 0.97
"""Cosine of two images' vectors from which on they count as nearly one picture."""

_BANDS, _ROWS = 21, 6  # finds Jaccard .8 with chance 1 - (1 - .8^6)^21 = .998
_PRIME = np.uint64(2**31 - 1)
_CROWD = 50  # of texts with one band: each is compared with the first only
_NEIGHBOURS = 5


def near_captions(captions: Sequence[str], least: float = SAME_CAPTION) -> pd.DataFrame:
    """Find captions that share most of their shingles (runs of three words.

    Of five letters where words are few).

    MinHash in 21 bands of 6 finds candidates, whose Jaccard similarity is then computed
    exactly, so what is reported is right, and a pair at .8 is missed once in 500 times.
    Captions that are one but for what :func:`verite.audit.characters.plain` drops count
    as similar by 1. Every caption is paired with one like it at least, not with all.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second``, positions in ``captions``, and ``similarity``.

    >>> near_captions(["a boat near a bridge", "A boat near a bridge!", "a dog"])
       first  second  similarity
    0      0       1         1.0
    """
    texts = [plain(caption) for caption in captions]
    codes, names = pd.factorize(np.array(texts, dtype=object))
    first = np.unique(codes, return_index=True)[1]
    same = np.flatnonzero(first[codes] != np.arange(len(codes)))
    found = {(int(first[codes[at]]), int(at)): 1.0 for at in same}
    shingles = [_shingles(text) for text in names]
    for one, other in _candidates(shingles):
        a, b = shingles[one], shingles[other]
        common = len(np.intersect1d(a, b, assume_unique=True))
        similarity = common / (len(a) + len(b) - common)
        if similarity >= least:
            low, high = sorted((int(first[one]), int(first[other])))
            found[low, high] = similarity
    rows = [(*pair, similarity) for pair, similarity in sorted(found.items())]
    return pd.DataFrame(rows, columns=["first", "second", "similarity"])


def near_images(
    images: Embeddings,
    ids: Sequence[str],
    least: float = SAME_PICTURE,
    progress: str = "",
) -> pd.DataFrame:
    """Find images whose vectors nearly agree, among the five nearest of each.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second``, ids, and ``similarity``, their cosine.

    >>> V = Embeddings(["a", "b", "c"], np.array([[1, 0], [1, .1], [0, 1]], dtype=np.float32), encoder="toy")
    >>> near_images(V, ["a", "b", "c"], 0.9)[["first", "second"]].values.tolist()
    [['a', 'b']]
    """
    from verite.search import nearest

    asked = sorted(set(ids))
    found = nearest(images, images, min(_NEIGHBOURS, max(1, len(asked) - 1)), query_ids=asked, candidate_ids=asked, query_groups=asked,
                    candidate_groups=asked, progress=progress)  # fmt: skip
    first = np.repeat(np.array(asked, dtype=object), found.ids.shape[1])
    table = pd.DataFrame(
        {
            "first": first,
            "second": found.ids.ravel(),
            "similarity": found.similarities.ravel(),
        }
    )
    table = table[table["similarity"] >= least]
    swapped = table["first"] > table["second"]
    table.loc[swapped, ["first", "second"]] = table.loc[
        swapped, ["second", "first"]
    ].to_numpy()
    return pd.DataFrame(
        table.drop_duplicates(["first", "second"]).sort_values(
            ["first", "second"], ignore_index=True
        )
    )


def clusters(size: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A number for each of ``size`` things, equal where links join them.

    >>> clusters(4, np.array([0, 1]), np.array([1, 3])).tolist()
    [0, 0, 1, 0]
    """
    graph = coo_array(
        (np.ones(len(first), dtype=bool), (first, second)), shape=(size, size)
    )
    return np.asarray(connected_components(graph, directed=False)[1])


def _shingles(text: str) -> np.ndarray:
    """Hashes of what a text is made of.

    CRC-32, since Python's own hash differs from run to run.
    """
    words = text.split()
    parts = (
        [" ".join(words[at : at + 3]) for at in range(len(words) - 2)]
        if len(words) >= 8
        else re.findall("(?=(.{5}))", text)
    )
    return np.unique(
        np.array(
            [
                zlib.crc32(part.encode("utf8", "surrogatepass"))
                for part in parts or [text]
            ],
            dtype=np.uint64,
        )
    )


def _candidates(shingles: list[np.ndarray]) -> Iterator[tuple[int, int]]:
    if len(shingles) < 2:
        return
    lengths = np.array([len(one) for one in shingles])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    flat = np.concatenate(shingles) % _PRIME
    rng = np.random.default_rng(
        0
    )  # the hash functions are fixed: they are no part of what a seed decides
    seen: set[tuple[int, int]] = set()
    for _ in range(_BANDS):
        a, b = rng.integers(1, int(_PRIME), size=(2, _ROWS), dtype=np.uint64)
        band = np.stack(
            [
                np.minimum.reduceat((flat * a[row] + b[row]) % _PRIME, starts)
                for row in range(_ROWS)
            ],
            axis=1,
        )
        key = np.unique(band, axis=0, return_inverse=True)[1].ravel()
        order = np.argsort(key, kind="stable")
        for run in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
            if len(run) < 2:
                continue
            pairs = (
                [(run[0], other) for other in run[1:]]
                if len(run) > _CROWD
                else [(one, o) for at, one in enumerate(run) for o in run[at + 1 :]]
            )
            for one, other in pairs:
                if (pair := (int(one), int(other))) not in seen:
                    seen.add(pair)
                    yield pair
