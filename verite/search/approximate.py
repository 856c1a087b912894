"""Approximate search for pools larger than memory: a FAISS index on disk.

The index offers a few dozen candidates per query; these are scored exactly. So all
similarities are exact, and only neighbours that the index did not offer are missing.
:meth:`FaissSearch.recall` measures how many.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from verite.blocks import content_key
from verite.embeddings import Embeddings
from verite.errors import MissingDataError
from verite.mapped import release
from verite.search.plain import exact_cosines, row_lengths
from verite.search.question import Neighbours, Question, keep_best
from verite.search.retrieval import nearest
from verite.search.screening import Vectors, unit

__all__ = ["FaissSearch"]

_READ = 65_536  # vectors added to the index at once: 200 MB at 768 dimensions
_BLOCK = 1024  # queries searched at once
_TRAINED = 64  # vectors per list that the index learns from
_SEED = 0  # of the samples that the index learns from and that recall is measured on


class FaissSearch:
    """A search that is called like :func:`verite.search.nearest`.

    Parameters
    ----------
    directory
        Where indexes are kept, one per set of candidates, made when first needed.
    probes
        Lists of the index that a query looks through: more find more, more slowly.
    shard
        Vectors indexed in memory at once; a larger pool is merged on disk.
    """

    def __init__(
        self, directory: Path, *, probes: int = 32, shard: int = 1_000_000
    ) -> None:
        self.directory, self.probes, self.shard = directory.absolute(), probes, shard
        self._opened: dict[int, tuple[Embeddings, Any]] = {}
        try:
            import faiss
        except ImportError as error:
            raise MissingDataError(
                "FAISS is not installed. Install it with: pip install verite[faiss]."
            ) from error
        self._faiss: Any = faiss

    def __call__(
        self,
        queries: Embeddings,
        candidates: Embeddings,
        k: int = 1,
        *,
        highest: float | None = None,
        **which: Iterable[str] | None,
    ) -> Neighbours:
        """Search; ``which`` are ids and groups as for :func:`verite.search.nearest`."""
        question = Question.ask(queries, candidates, **which)
        found, count = question.answer(k), len(question.candidate_ids)
        place = np.full(len(candidates), -1)
        place[question.candidate_rows] = np.arange(count)
        index, highest = self._index(candidates), np.inf if highest is None else highest
        bits = np.packbits(place >= 0, bitorder="little")
        chosen = None if (place >= 0).all() else self._faiss.IDSelectorBitmap(bits)
        options = self._faiss.SearchParametersIVF(nprobe=self.probes, sel=chosen)
        Q = Vectors(queries.matrix, question.query_rows)
        C = Vectors(candidates.matrix, question.candidate_rows)
        for start in range(0, len(Q), _BLOCK):
            left = np.arange(start, min(start + _BLOCK, len(Q)))
            depth = max(32, 8 * k)
            while len(left):
                depth = min(depth, count)
                near = index.search(_unit(Q.read(left)), depth, params=options)[1]
                at, column = (near >= 0).nonzero()
                rows, columns = left[at], place[near[at, column]]
                score = exact_cosines(Q.read(rows), C.read(columns))
                few = score <= highest
                if question.groups is not None:
                    few &= question.groups[0][rows] != question.groups[1][columns]
                rows, score, columns, rank = keep_best(
                    rows[few], score[few], columns[few], question.ranks, k
                )
                found.ids[rows, rank] = question.candidate_ids[columns]
                found.similarities[rows, rank] = score
                # Go deeper where groups or the highest cosine removed too many.
                more = (near >= 0).all(axis=1) & (depth < count)
                left = left[more & np.isnan(found.similarities[left, -1])]
                depth *= 8
            release(queries.matrix)
            release(candidates.matrix)
        return found

    def recall(
        self, queries: Embeddings, candidates: Embeddings, k: int = 1, **options: Any
    ) -> float:
        """Share of the ``k`` nearest that this search finds, on up to 1,000 queries.

        ``options`` are those of a search; the sample is drawn from its ``query_ids``.
        """
        ids = list(options.get("query_ids", queries.ids))
        rng = np.random.default_rng(_SEED)
        drawn = np.sort(rng.choice(len(ids), min(1000, len(ids)), replace=False))
        options["query_ids"] = [ids[at] for at in drawn]
        if (groups := options.get("query_groups")) is not None:
            options["query_groups"] = np.array(list(groups), dtype=object)[drawn]
        exact = nearest(queries, candidates, k, **options).ids
        found = self(queries, candidates, k, **options).ids
        hits = [len({*a[a != ""]} & {*b}) for a, b in zip(exact, found, strict=True)]
        return float(sum(hits) / max(1, (exact != "").sum()))

    def _index(self, candidates: Embeddings) -> Any:
        """Open the index of these candidates, or make it."""
        # Its name is a digest of all vectors, and makers search many times.
        if id(candidates) not in self._opened:
            rows = Vectors(candidates.matrix, np.arange(len(candidates)))
            folder = self.directory / f"faiss-{content_key(rows.digest(), _SEED)}"
            if not folder.is_dir():
                self.directory.mkdir(parents=True, exist_ok=True)
                part = Path(tempfile.mkdtemp(prefix=".part-", dir=self.directory))
                self._make(rows, part)
                with contextlib.suppress(OSError):  # another process may be faster
                    part.rename(folder)
            # The lists are beside the index, wherever the folder was moved.
            flags = self._faiss.IO_FLAG_READ_ONLY | self._faiss.IO_FLAG_ONDISK_SAME_DIR
            index = self._faiss.read_index(str(folder / "index.faiss"), flags)
            self._opened[id(candidates)] = candidates, index
        return self._opened[id(candidates)][1]

    def _make(self, candidates: Vectors, folder: Path) -> None:
        """Train an index on a sample, fill it shard by shard, merge the shards."""
        from faiss.contrib.ondisk import merge_ondisk

        count, dimensions = candidates.matrix.shape
        lists = max(1, min(int(4 * math.sqrt(count)), count // _TRAINED))
        rng = np.random.default_rng(_SEED)
        sample = rng.choice(count, min(count, _TRAINED * lists), replace=False)
        index = self._faiss.index_factory(
            dimensions, f"IVF{lists},SQ8", self._faiss.METRIC_INNER_PRODUCT
        )
        index.train(_unit(candidates.read(np.sort(sample))))
        shards = []
        for begin in range(0, count, self.shard):
            shard, end = self._faiss.clone_index(index), min(begin + self.shard, count)
            for at in range(begin, end, _READ):
                rows = np.arange(at, min(at + _READ, end))
                shard.add_with_ids(_unit(candidates.read(rows)), rows)
                release(candidates.matrix)
            shards.append(str(folder / f"shard-{begin}.faiss"))
            self._faiss.write_index(shard, shards[-1])
        merge_ondisk(index, shards, str(folder / "lists.ivfdata"))
        self._faiss.write_index(index, str(folder / "index.faiss"))
        for path in shards:
            os.remove(path)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return unit(vectors, row_lengths(vectors)).numpy()
