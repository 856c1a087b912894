"""Estimates with intervals from a page's own seed and number of bootstrap draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veritebook.results import tidy

if TYPE_CHECKING:
    import pandas as pd

    from verite.dataset import Dataset
    from verite.evaluation import Interval

__all__ = ["Estimates"]


class Estimates:
    """Means and differences with intervals, as methods of :class:`veritebook.Page`."""

    settings: Mapping[str, Any]

    def interval(self, values: Any, groups: Any, **options: Any) -> Interval:
        """Mean with its 95 % interval, from this page's ``seed`` and ``resamples``.

        Missing values are left out; see :func:`verite.evaluation.grouped_bootstrap`.
        """
        from verite.evaluation import grouped_bootstrap

        missing = np.isnan(np.asarray(values, dtype=float))
        if missing.ndim == 1 and missing.any():
            values, groups = np.asarray(values)[~missing], np.asarray(groups)[~missing]
        return grouped_bootstrap(values, groups, **self._draws(), **options)

    def intervals(
        self,
        frame: pd.DataFrame,
        value: str = "right",
        *,
        row: str,
        column: str | None = None,
        group: str = "group",
    ) -> pd.DataFrame:
        """Means with their intervals by one or two columns of a table, as results.

        Parameters
        ----------
        frame
            One row per observation.
        value, group
            Names of the columns to average and to resample.
        row, column
            Names of the columns that become ``row`` and ``column`` of the results.
        """
        keys = [row] if column is None else [row, column]
        parts = frame.groupby(keys, sort=False)
        return tidy(
            {key: self.interval(part[value], part[group]) for key, part in parts}
        )

    def difference(
        self,
        a: pd.DataFrame,
        b: pd.DataFrame,
        order: Sequence[str] = ("seed", "pair_id"),
    ) -> dict[str, float]:
        """Paired difference in accuracy between two tables of answers; N counts groups.

        See :func:`verite.evaluation.paired_test`.

        Parameters
        ----------
        a, b
            Answers to the same pairs: ``pair_id``, ``group`` and ``right``.
        order
            Columns by which rows are aligned; none where they are already.
        """
        from verite.evaluation import paired_test

        if order:
            a, b = (side.sort_values(list(order)) for side in (a, b))
        first, second = (side["right"].to_numpy() for side in (a, b))
        test = paired_test(first, second, a["group"].to_numpy(), **self._draws())
        return {
            "value": test.difference,
            "low": test.low,
            "high": test.high,
            "p": test.p_value,
            "n": a["group"].nunique(),
        }

    def similarity_line(
        self, dataset: Dataset, pairs: pd.DataFrame | None = None, **options: Any
    ) -> Interval:
        """Accuracy of a threshold on the cosine of image and caption, by folds.

        Parameters
        ----------
        dataset, pairs
            Whose vectors; its pairs, or others of the same images and captions.
        options
            ``protocol`` and ``folds``: see :func:`verite.evaluation.similarity_line`.
        """
        from verite.evaluation import similarity_line

        pairs = dataset.pairs if pairs is None else pairs
        cosines = dataset.similarities(pairs)
        return similarity_line(pairs, cosines, **options, **self._draws())

    def _draws(self) -> dict[str, Any]:
        return {name: self.settings[name] for name in ("seed", "resamples")}
