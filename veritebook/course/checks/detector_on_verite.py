"""An interval of an accuracy, by drawing whole groups."""

from __future__ import annotations

import numpy as np

from veritebook.course.checking import Case

__all__ = ["cases"]


def cases() -> list[Case]:
    """Right answers, the group of each, and the draws.

    The same each time, of groups unlike in size, and by chance.
    """
    rng = np.random.default_rng(0)
    given = [
        (
            "every group drawn once",
            [1, 0, 1, 1],
            ["a", "a", "b", "b"],
            [["a", "b"], ["b", "a"]],
        ),
        (
            "a group drawn twice",
            [1, 1, 0],
            ["a", "b", "b"],
            [["a", "a"], ["b", "b"], ["a", "b"]],
        ),
        (
            "groups unlike in size",
            [1, 0, 0, 0, 0],
            ["a", "b", "b", "b", "b"],
            [["a", "b"], ["b", "a"]],
        ),
    ]
    for rows, groups, times in ((9, 3, 5), (30, 8, 50)):
        names = [f"article {at}" for at in range(groups)]
        group = [*names, *rng.choice(names, rows - groups).tolist()]
        right = rng.integers(0, 2, rows).tolist()
        given.append(
            (
                f"{rows} pairs of {groups} articles by chance",
                right,
                group,
                rng.choice(names, (times, groups)).tolist(),
            )
        )
    return [
        Case(what, (right, group, draws), _interval(right, group, draws))
        for what, right, group, draws in given
    ]


def _interval(
    right: list[int], group: list[str], draws: list[list[str]]
) -> list[float]:
    """The interval, from sums and numbers of rows by group.

    :func:`verite.evaluation.grouped_bootstrap` computes it in the same way with draws
    of its own.
    """
    names, member = np.unique(group, return_inverse=True)
    sums, counts = np.bincount(member, right), np.bincount(member)
    drawn = np.searchsorted(names, draws)
    return [
        float(end)
        for end in np.quantile(
            sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [0.025, 0.975]
        )
    ]
