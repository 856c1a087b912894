"""Approximate nearest neighbours for pools past memory.

A FAISS index on the disk, and how much it misses.

The index finds a few dozen candidates for each query; these are scored in double
precision, ordered and tied as :func:`verite.synthesis.nearest` does it. So the
similarities are exact and only neighbours that the index did not offer are missing. How
many that are is measured, with :meth:`FaissSearch.recall`.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verite.blocks import content_key
from verite.embeddings import Embeddings, release
from verite.errors import MissingDataError, ParameterError
from verite.search.blockwise import exact_cosines
from verite.search.retrieval import Neighbours, check_kin, digest, group_codes, nearest
from verite.search.screening import Vectors, row_lengths, unit

__all__ = ["FaissSearch"]

_ADDED = 65_536  # vectors read together: 200 MB at 768 dimensions
_ASKED = 1024  # queries searched together
_LISTS = "lists.ivfdata"
_TRAINED = 64  # vectors a list that the index learns from


class FaissSearch:
    """Search in the shape of :func:`verite.synthesis.nearest`, through an index that is
    made at the first use.

    Parameters
    ----------
    directory
        Where indexes are kept, one for each set of candidates.
    probes
        How many of the index's lists are looked through for a query: more find more and
        take longer.
    offers
        How many candidates the index offers for each neighbour that is asked for, and
        at least 32 in all.
    shard
        Vectors that are indexed in memory at once; a larger pool is merged on the disk.
    seed
        For the sample that the index learns from.

    Raises
    ------
    MissingDataError
        FAISS is not installed.
    ParameterError
        A number is below 1.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        probes: int = 32,
        offers: int = 8,
        shard: int = 1_000_000,
        seed: int = 0,
    ) -> None:
        for name, value in (("probes", probes), ("offers", offers), ("shard", shard)):
            if value < 1:
                raise ParameterError(
                    f"FaissSearch: expected {name} of 1 or more, found {value}."
                )
        self.directory, self.probes, self.offers, self.shard, self.seed = (
            Path(directory),
            probes,
            offers,
            shard,
            seed,
        )
        self._opened: weakref.WeakKeyDictionary[Embeddings, Any] = (
            weakref.WeakKeyDictionary()
        )
        _faiss()

    def __call__(
        self,
        queries: Embeddings,
        candidates: Embeddings,
        k: int = 1,
        *,
        query_ids: Iterable[str] | None = None,
        candidate_ids: Iterable[str] | None = None,
        query_groups: Iterable[str] | None = None,
        candidate_groups: Iterable[str] | None = None,
        highest: float | None = None,
    ) -> Neighbours:
        """Find near candidates.

        The parameters are those of :func:`verite.synthesis.nearest`, and so is what
        comes back.
        """
        check_kin(queries, candidates)
        asked = np.array(
            list(queries.ids if query_ids is None else query_ids), dtype=object
        )
        offered = np.array(
            list(candidates.ids if candidate_ids is None else candidate_ids),
            dtype=object,
        )
        groups = group_codes(asked, query_groups, offered, candidate_groups)
        ids, similarities = (
            np.full((len(asked), k), "", dtype=object),
            np.full((len(asked), k), np.nan),
        )
        if not len(asked) or not len(offered):
            return Neighbours(ids, similarities)
        place = np.full(
            len(candidates), -1
        )  # among the offered, of each row of the matrix
        place[candidates.positions(offered)] = np.arange(len(offered))
        index, at = self._index(candidates), queries.positions(asked)
        for start in range(0, len(asked), _ASKED):
            rows = np.arange(start, min(start + _ASKED, len(asked)))
            depth = min(max(32, k * self.offers), len(offered))
            while len(rows):
                vectors = np.asarray(queries.matrix[at[rows]], dtype=np.float32)
                near = _offers(index, vectors, depth, self.probes, place >= 0)
                row, column = (near >= 0).nonzero()
                found, allowed = place[near[row, column]], np.ones(len(row), dtype=bool)
                if groups is not None:
                    allowed = groups[0][rows[row]] != groups[1][found]
                score = exact_cosines(
                    vectors[row],
                    np.asarray(candidates.matrix[near[row, column]], dtype=np.float32),
                )
                if highest is not None:
                    allowed &= score <= highest
                table = pd.DataFrame(
                    {"row": rows[row], "score": -score, "id": offered[found]}
                )[allowed]
                table = table.sort_values(["row", "score", "id"])
                rank = table.groupby("row").cumcount()
                table, rank = table[rank < k], rank[rank < k]
                ids[table["row"], rank], similarities[table["row"], rank] = (
                    table["id"],
                    -table["score"],
                )
                # What the groups or the highest cosine took away is made up for by
                # going deeper, as far as the lists go.
                rows = rows[
                    np.isnan(similarities[rows, -1])
                    & (near >= 0).all(axis=1)
                    & (depth < len(offered))
                ]
                depth = min(depth * 8, len(offered))
            release(queries.matrix)
            release(candidates.matrix)
        return Neighbours(ids, similarities)

    def recall(
        self,
        queries: Embeddings,
        candidates: Embeddings,
        k: int = 1,
        *,
        sample: int = 1000,
        **options: Any,
    ) -> float:
        """Share of the ``k`` nearest that this search finds, from 0 to 1, over a random
        sample of queries.

        ``options`` are as for a search; ``query_ids`` is what the sample is drawn from.
        """
        ids, groups = options.pop("query_ids", None), options.pop("query_groups", None)
        asked = list(queries.ids if ids is None else ids)
        drawn = np.sort(
            np.random.default_rng(self.seed).choice(
                len(asked), min(sample, len(asked)), replace=False
            )
        )
        options["query_ids"] = [asked[at] for at in drawn]
        if groups is not None:
            named = list(groups)
            options["query_groups"] = [named[at] for at in drawn]
        exact = nearest(queries, candidates, k, **options).ids
        found = self(queries, candidates, k, **options).ids
        there = exact != ""
        hits = sum(
            len(set(one[known]) & set(other))
            for one, known, other in zip(exact, there, found, strict=True)
        )
        return float(hits / max(1, there.sum()))

    def _index(self, candidates: Embeddings) -> Any:
        """Open the index of these candidates, or make it."""
        if (
            candidates in self._opened
        ):  # makers ask many times, and to name an index all of its vectors are read
            return self._opened[candidates]
        faiss = _faiss()
        name = content_key(
            digest(Vectors(candidates.matrix, np.arange(len(candidates)))), self.seed
        )
        folder = Path(os.path.abspath(self.directory)) / f"faiss-{name}"
        if not folder.is_dir():
            self.directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(
                prefix=".part-", dir=self.directory
            ) as made:
                self._make(candidates, Path(made), folder)
                with contextlib.suppress(OSError):  # someone else was faster
                    os.rename(made, folder)
                    os.mkdir(made)  # for the with statement to remove
        index = str(folder / "index.faiss")
        try:
            self._opened[candidates] = faiss.read_index(index, faiss.IO_FLAG_READ_ONLY)
        except (
            RuntimeError
        ):  # the lists do not lie where they did: the folder was moved
            self._opened[candidates] = faiss.read_index(
                index, faiss.IO_FLAG_READ_ONLY | faiss.IO_FLAG_ONDISK_SAME_DIR
            )
        return self._opened[candidates]

    def _make(self, candidates: Embeddings, folder: Path, home: Path) -> None:
        """Train an index on a sample, fill it shard by shard, and merge the shards on
        the disk.
        """
        faiss = _faiss()
        from faiss.contrib.ondisk import merge_ondisk

        count = len(candidates)
        lists = max(1, min(int(4 * math.sqrt(count)), count // _TRAINED))
        sample = np.random.default_rng(self.seed).choice(
            count, min(count, _TRAINED * lists), replace=False
        )
        trained = faiss.index_factory(
            candidates.dimensions, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT
        )
        trained.train(_unit(candidates.matrix[np.sort(sample)]))
        shards = []
        for begin in range(0, count, self.shard):
            index = faiss.clone_index(trained)
            for at in range(begin, min(begin + self.shard, count), _ADDED):
                rows = np.arange(at, min(at + _ADDED, begin + self.shard, count))
                index.add_with_ids(_unit(candidates.matrix[rows]), rows)
                release(candidates.matrix)
            shards.append(str(folder / f"shard-{begin}.faiss"))
            faiss.write_index(index, shards[-1])
        merge_ondisk(trained, shards, str(folder / _LISTS))
        # Where the lists will lie; made in place, a half-made index could be taken for
        # a whole one.
        faiss.downcast_InvertedLists(trained.invlists).filename = str(home / _LISTS)
        faiss.write_index(trained, str(folder / "index.faiss"))
        for shard in shards:
            os.remove(shard)


def _offers(
    index: Any, vectors: np.ndarray, depth: int, probes: int, allowed: np.ndarray
) -> np.ndarray:
    """Rows of the matrix that the index holds for near, ``(queries, depth)``.

    -1 where it has no more.
    """
    faiss = _faiss()
    selector = (
        None
        if allowed.all()
        else faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
    )
    found: np.ndarray = index.search(
        _unit(vectors),
        depth,
        params=faiss.SearchParametersIVF(nprobe=probes, sel=selector),
    )[1]
    return found


def _unit(vectors: np.ndarray) -> np.ndarray:
    own = np.array(vectors, dtype=np.float32)
    return unit(own, row_lengths(own)).numpy()


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingDataError(
            "FAISS is not installed. Install it with: pip install verite[faiss]."
        ) from error
    return faiss
