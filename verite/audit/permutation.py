"""Permuting labels in every way that the structure of a benchmark allows.

What is permuted decides what a p-value means. Rows of a benchmark are not exchangeable:
a caption may occur in two rows, and in VERITE each article has one pair of each label.
So the unit is the *item*, a distinct caption or image of a group (for probes of the
source and of both modalities, a row), and what is permuted is an item's **counts**: how
many of its rows carry each label. There are two levels, after the multi-level
exchangeability of Winkler et al. (NeuroImage 123, 2015):

- groups of one label exchange that label with other such groups of like size (the same
  power of two of rows);
- groups of several labels exchange all their counts with other such groups of as many
  items; then items of one group exchange their counts with each other.

The null hypothesis is that, within a group and between groups of one kind, what an item
looks like says nothing about which labels it carries. All permutations together form a
group (in algebra's sense), so a test whose statistic is computed anew under each, with
folds that do not depend on labels, has a size of at most its level.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["Items"]


class Items:
    """The distinct items of one kind, and how to permute their counts.

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
    first
        A row of each item.
    counts
        Rows of each item by label: ``(items, classes)``.
    group
        Group of each item.

    >>> groups, labels = np.array([0, 0, 0]), np.array([0, 1, 2])
    >>> items = Items(["boat", "boat", "dog"], groups, labels, 3)
    >>> items.counts.tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> sorted(items.permute(np.random.default_rng(0)).tolist())
    [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """

    def __init__(
        self, keys: object, groups: np.ndarray, labels: np.ndarray, classes: int
    ) -> None:
        codes = pd.factorize(np.asarray(keys, dtype=object))[0].astype(np.int64)
        both = groups.astype(np.int64) * (codes.max() + 1) + codes
        of_row, _ = pd.factorize(both)
        self.first = np.unique(of_row, return_index=True)[1]
        self.counts = np.zeros((len(self.first), classes), dtype=np.float32)
        np.add.at(self.counts, (of_row, labels), 1)
        self.group = groups[self.first]
        rows = pd.DataFrame({"group": groups, "label": labels})
        of_group = rows.groupby("group")["label"].agg(["min", "max", "size", "first"])
        self._plan(of_group)

    def __len__(self) -> int:
        return len(self.first)

    def _plan(self, of_group: pd.DataFrame) -> None:
        one_label = of_group["min"] == of_group["max"]
        order = np.argsort(self.group, kind="stable")
        in_single = one_label.reindex(self.group[order]).to_numpy()
        # Items in groups of one label, the label of each such group, and bins of these.
        single = of_group[one_label]
        self._single = order[in_single]
        self._label = single["first"].to_numpy()
        in_group = pd.Index(self.group[self._single])
        self._single_group = single.index.get_indexer(in_group)
        powers = np.floor(np.log2(single["size"].to_numpy())).astype(int)
        self._bins = [np.flatnonzero(powers == power) for power in np.unique(powers)]
        # Blocks of items (groups, items per group) for groups of several labels.
        mixed = order[~in_single]
        items = pd.Series(self.group).value_counts()
        sizes = items.reindex(self.group[mixed]).to_numpy()
        self._blocks = [
            mixed[sizes == size].reshape(-1, size) for size in np.unique(sizes)
        ]

    @property
    def can_permute(self) -> bool:
        """Whether any permutation changes anything."""
        return any(len(set(self._label[part])) > 1 for part in self._bins) or any(
            len(np.unique(self.counts[block.ravel()], axis=0)) > 1
            for block in self._blocks
        )

    def permute(self, rng: np.random.Generator) -> np.ndarray:
        """Counts after one random permutation, ``(items, classes)``."""
        permuted = np.zeros_like(self.counts)
        if len(self._single):
            label = self._label.copy()
            for part in self._bins:
                label[part] = label[rng.permutation(part)]
            rows = self.counts[self._single].sum(axis=1)
            permuted[self._single, label[self._single_group]] = rows
        for block in self._blocks:
            source = rng.permuted(block[rng.permutation(len(block))], axis=1)
            permuted[block.ravel()] = self.counts[source.ravel()]
        return permuted
