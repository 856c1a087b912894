r"""Dealing labels out anew, in every way that the structure of a benchmark allows.

What is permuted decides what a p-value says. Rows of a benchmark are not exchangeable:
a caption may stand in two rows, and in VERITE each article brings one pair of each
label. So the unit is the *item*, a distinct caption or image of a group (for probes of
the source and of both modalities, a row), and what is dealt anew is an item's
**counts**: how many of its rows carry each label. A caption that is true in one row and
out-of-context in another stays one that stands in both. Two levels, after the
multi-level exchangeability of Winkler et al. (NeuroImage 123, 2015):

- groups of one label exchange that label with other such groups of like size (the same
  power of two of rows);
- groups of several labels exchange all their counts with other such groups of as many
  items; then items of one group
  exchange their counts with each other.

The null hypothesis is that items are alike but for these: within a group, and between
groups of one kind, what an item looks like says nothing about which labels it carries.
All permutations together form a group (in the algebra's sense), so a test whose
statistic is computed anew under each, with folds that do not look at labels, has size
at most its level.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["Items"]


class Items:
    """The distinct things of one kind that rows hold, and how to permute their counts.

    Parameters
    ----------
    keys
        What each row holds (a caption, an image), shape ``(rows,)``; rows of one group
        and key are one item.
    groups, labels
        Whole numbers, shape ``(rows,)``.
    classes
        Number of labels.

    Attributes
    ----------
    of_row
        Item of each row.
    first
        A row of each item.
    counts
        Rows of each item by label: ``(items, classes)``.
    group
        Group of each item.

    >>> rows = Items(["boat", "boat", "dog"], np.array([0, 0, 0]), np.array([0, 1, 2]), 3)
    >>> rows.counts.tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> sorted(rows.permuted(np.random.default_rng(0)).tolist())
    [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """

    def __init__(
        self, keys: object, groups: np.ndarray, labels: np.ndarray, classes: int
    ) -> None:
        codes = pd.factorize(np.asarray(keys, dtype=object))[0].astype(np.int64)
        both = groups.astype(np.int64) * (codes.max() + 1) + codes
        self.of_row, _ = pd.factorize(both)
        self.first = np.unique(self.of_row, return_index=True)[1]
        self.counts = np.zeros((len(self.first), classes), dtype=np.float32)
        np.add.at(self.counts, (self.of_row, labels), 1)
        self.group = groups[self.first]
        self._plan(groups, labels)

    def __len__(self) -> int:
        return len(self.first)

    def _plan(self, groups: np.ndarray, labels: np.ndarray) -> None:
        table = pd.DataFrame({"group": groups, "label": labels}).groupby("group")[
            "label"
        ]
        one_label, rows, label = table.min() == table.max(), table.size(), table.first()
        order = np.argsort(self.group, kind="stable")
        sizes = pd.Series(self.group).value_counts()
        alone = one_label.reindex(self.group[order]).to_numpy()
        self._single = order[alone]
        names = one_label.index[one_label]
        self._label = label[names].to_numpy()
        self._group_of_single = pd.Index(names).get_indexer(self.group[self._single])
        powers = np.floor(np.log2(rows[names].to_numpy())).astype(int)
        self._bins = [np.flatnonzero(powers == power) for power in np.unique(powers)]
        mixed = order[~alone]
        size_of = sizes.reindex(self.group[mixed]).to_numpy()
        self._blocks = [
            mixed[size_of == size].reshape(-1, size) for size in np.unique(size_of)
        ]

    @property
    def free(self) -> bool:
        """Whether any permutation changes anything."""
        single = any(len(set(self._label[part])) > 1 for part in self._bins)
        return single or any(
            len(np.unique(self.counts[block.ravel()], axis=0)) > 1
            for block in self._blocks
            if block.size > 1
        )

    def permuted(self, rng: np.random.Generator) -> np.ndarray:
        """Counts after one random permutation, ``(items, classes)``."""
        dealt = np.zeros_like(self.counts)
        if len(self._single):
            label = self._label.copy()
            for part in self._bins:
                label[part] = label[rng.permutation(part)]
            dealt[self._single, label[self._group_of_single]] = self.counts[
                self._single
            ].sum(axis=1)
        for block in self._blocks:
            source = rng.permuted(block[rng.permutation(len(block))], axis=1)
            dealt[block.ravel()] = self.counts[source.ravel()]
        return dealt
