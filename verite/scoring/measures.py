"""The figures: accuracies and their relatives under each protocol, consistency over
balanced pairs, and comparison.

A missing prediction (an empty one) is wrong and is an answer of no class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from verite.errors import DataError
from verite.evaluation import (
    PROTOCOLS,
    Protocol,
    grouped_bootstrap,
    paired_test,
    protocol_named,
    score,
)
from verite.pairs import MISCAPTIONED, MISINFORMATION, TRUE, merge_groups

__all__ = ["compare", "consistency", "measure", "scorable"]


def scorable(table: pd.DataFrame) -> dict[str, str]:
    """Say for each protocol why a table of predictions cannot be scored under it.

    Empty where it can.

    >>> table = pd.DataFrame({"label": ["true", "miscaptioned"], "prediction": ["true", "misinformation"]})
    >>> [name for name, reason in scorable(table).items() if not reason]
    ['true-vs-mc', 'all-false']
    """
    reasons = {}
    for name, protocol in PROTOCOLS.items():
        rows = table[table["label"].isin(protocol.keeps)]
        unclear = int((rows["prediction"] == MISINFORMATION).sum())
        reasons[name] = ""
        if MISINFORMATION in set(table["label"]) - set(protocol.keeps):
            reasons[name] = (
                "labels of the benchmark are binary and do not tell its classes apart"
            )
        elif len(set(protocol.to_classes(rows["label"]))) < 2:
            reasons[name] = f"there is one class or none in its {len(rows):,} rows"
        elif MISINFORMATION not in protocol.classes and unclear:
            reasons[name] = (
                f"{unclear:,} predictions are `misinformation` and do not tell its"
                " classes apart"
            )
    return reasons


def measure(
    table: pd.DataFrame,
    protocol: str | Protocol,
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> pd.DataFrame:
    r"""All figures of one protocol.

    ``accuracy`` and the accuracy of each class are :func:`verite.evaluation.score`'s.
    ``balanced accuracy`` is the mean of the class accuracies, ``macro-F1`` the mean
    over classes of :math:`2\,n_{hit} / (n_{true} + n_{predicted})`, over classes that
    stand among labels or predictions; rows of all seeds together.

    Parameters
    ----------
    table
        ``pair_id``, ``label``, ``prediction``, ``group`` and perhaps ``seed``, as for
        :func:`verite.evaluation.score`; an empty prediction is a missing one.
    seed, resamples, level
        Of the intervals: see :func:`verite.evaluation.grouped_bootstrap`.

    Returns
    -------
    pandas.DataFrame
        ``protocol``, ``metric``, ``value``, ``low``, ``high`` (0 to 1), ``n`` (distinct
        pairs), ``constant`` (what the best constant answer reaches; NaN for single
        classes, where that is 0 or 1) and ``sd`` (standard deviation over seeds; NaN
        for one).

    >>> table = pd.DataFrame({
    ...     "pair_id": ["1", "2", "3", "4"], "group": ["a", "a", "b", "b"],
    ...     "label": ["true", "miscaptioned", "true", "out-of-context"],
    ...     "prediction": ["true", "out-of-context", "true", "true"],
    ... })
    >>> measure(table, "all-false").set_index("metric")["value"].round(3).to_dict()
    {'accuracy': 0.75, 'balanced accuracy': 0.75, 'macro-F1': 0.733, 'accuracy: true': 1.0, 'accuracy: misinformation': 0.5}
    """
    chosen = protocol_named(protocol)
    options: dict[str, Any] = {"seed": seed, "resamples": resamples, "level": level}
    filled = table.assign(prediction=_wrong_where_missing(table))
    plain = score(filled, chosen, **options)
    rows, counts = _counts(table, chosen)
    groups, n = rows["group"].to_numpy(), int(plain["n"].iloc[0])
    means = {"balanced accuracy": _balanced, "macro-F1": _f1}
    more = [
        (
            chosen.name,
            name,
            *grouped_bootstrap(counts, groups, statistic=statistic, **options)[:3],
            n,
        )
        for name, statistic in means.items()
    ]
    found = pd.concat(
        [plain[:1], pd.DataFrame(more, columns=plain.columns), plain[1:]],
        ignore_index=True,
    )
    constant = _constant(rows["label"])
    return found.assign(
        constant=found["metric"].map(constant),
        sd=found["metric"].map(_spread(table, chosen)),
    )


def consistency(
    table: pd.DataFrame,
    protocol: str | Protocol,
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> pd.DataFrame:
    r"""How often all pairs of one image, and all pairs of one caption, are called right
    together.

    Modality balancing (paper, section 3.2) lets an image stand once with a true and
    once with a false caption, and a caption once with its own and once with another
    image. Whoever looks at the image alone must give both pairs of an image one answer,
    so gets none of them right together; likewise for captions. Images and captions that
    stand under one label only are left out; a pair that was skipped is as if it were
    not there.

    Returns
    -------
    pandas.DataFrame
        ``protocol``, ``over`` (``image``, ``caption``), ``value``, ``low``, ``high``,
        ``n`` (images or captions), and by chance: ``constant`` (one answer for all: 0,
        as for any function of that modality alone), ``random`` (each class equally
        likely, :math:`k^{-2}` for two pairs), ``shuffled`` (the predictions' own
        answers, dealt out anew). No row where nothing is balanced.

    >>> table = pd.DataFrame({
    ...     "pair_id": ["1", "2", "3", "4"], "group": ["a", "a", "b", "b"], "image_id": ["a", "a", "b", "b"],
    ...     "text_id": ["p", "q", "r", "s"], "label": ["true", "miscaptioned"] * 2,
    ...     "prediction": ["true", "miscaptioned", "true", "true"],
    ... })
    >>> consistency(table, "true-vs-mc")[["over", "value", "n", "constant", "random"]].values.tolist()
    [['image', 0.5, 2, 0.0, 0.25]]
    """
    chosen = protocol_named(protocol)
    rows, counts = _counts(table, chosen)
    k = len(chosen.classes)
    rows = rows.assign(
        rate=counts[:, :k] @ counts[:, k : 2 * k].mean(axis=0),
        seed=rows.get("seed", ""),
    )
    found = []
    for over, key in (("image", "image_id"), ("caption", "text_id")):
        rows["unit_group"] = merge_groups(rows["group"], rows[key])
        units = rows.groupby([key, "seed"], sort=False).agg(
            right=("hit", "all"),
            labels=("label", "nunique"),
            size=("label", "size"),
            rate=("rate", "prod"),
            group=("unit_group", "first"),
        )
        units = units[units["labels"] > 1]
        if units.empty:
            continue
        interval = grouped_bootstrap(
            units["right"].to_numpy(),
            units["group"].to_numpy(),
            seed=seed,
            resamples=resamples,
            level=level,
        )
        random = float((1.0 / k ** units["size"]).mean())
        n = units.index.get_level_values(0).nunique()
        found.append(
            (
                chosen.name,
                over,
                *interval[:3],
                n,
                0.0,
                random,
                float(units["rate"].mean()),
            )
        )
    return pd.DataFrame(
        found,
        columns=[
            "protocol",
            "over",
            "value",
            "low",
            "high",
            "n",
            "constant",
            "random",
            "shuffled",
        ],
    )


def compare(
    one: pd.DataFrame,
    other: pd.DataFrame,
    protocol: str | Protocol,
    *,
    seed: int = 0,
    resamples: int = 2000,
) -> pd.DataFrame:
    """Test whether two systems differ in accuracy on the pairs that both have.

    :func:`verite.evaluation.paired_test`.

    Where a system ran under several seeds, its answers to a pair are averaged first.

    Returns
    -------
    pandas.DataFrame
        One row: ``protocol``, ``difference`` (accuracy of one minus that of the other),
        ``low``, ``high``, ``p_value``, ``n``.

    Raises
    ------
    DataError
        They have no pair in common.

    >>> one = pd.DataFrame({"pair_id": ["1", "2"], "group": ["a", "b"], "label": ["true", "miscaptioned"],
    ...                     "prediction": ["true", "miscaptioned"]})
    >>> float(compare(one, one.assign(prediction="true"), "three-class")["difference"].iloc[0])
    0.5
    """
    chosen = protocol_named(protocol)
    sides = []
    for table in (one, other):
        rows, _ = _counts(table, chosen)
        sides.append(
            rows.groupby("pair_id").agg(
                correct=("hit", "mean"), group=("group", "first")
            )
        )
    both = sides[0].join(sides[1]["correct"].rename("correct_other"), how="inner")
    if both.empty:
        raise DataError(
            f"protocol {chosen.name!r}: the two predictions have no pair in common."
        )
    test = paired_test(
        both["correct"],
        both["correct_other"],
        both["group"],
        seed=seed,
        resamples=resamples,
    )
    return pd.DataFrame([(chosen.name, *test)], columns=["protocol", *test._fields])


def _counts(table: pd.DataFrame, protocol: Protocol) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of a protocol, with `hit`, and for each.

    Is it of class c, is it called c, is it both; shape (n, 3 k), k classes.
    """
    rows = protocol.select(table).reset_index(drop=True)
    predicted = np.full(len(rows), "", dtype=object)
    answered = (rows["prediction"] != "").to_numpy()
    predicted[answered] = protocol.to_classes(rows.loc[answered, "prediction"])
    truth, called = (
        np.equal.outer(values, np.array(protocol.classes, dtype=object))
        for values in (rows["label"].to_numpy(), predicted)
    )
    return rows.assign(hit=rows["label"].to_numpy() == predicted), np.hstack(
        [truth, called, truth & called]
    ).astype(float)


def _balanced(*means: np.ndarray) -> np.ndarray:
    truth, _, hit = np.array_split(np.stack(means), 3)
    return np.asarray(_share(hit, truth).sum(axis=0) / (truth > 0).sum(axis=0))


def _f1(*means: np.ndarray) -> np.ndarray:
    truth, called, hit = np.array_split(np.stack(means), 3)
    return np.asarray(
        _share(2 * hit, truth + called).sum(axis=0) / (truth + called > 0).sum(axis=0)
    )


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    # A class may be in none of the groups of a resample.
    return np.asarray(np.divide(part, whole, out=np.zeros_like(part), where=whole > 0))


def _constant(labels: pd.Series) -> dict[str, float]:
    """What the best constant answer reaches."""
    shares = labels.value_counts(normalize=True)
    largest, k = float(shares.max()), len(shares)
    return {
        "accuracy": largest,
        "balanced accuracy": 1 / k,
        "macro-F1": 2 * largest / (1 + largest) / k,
    }


def _spread(table: pd.DataFrame, protocol: Protocol) -> dict[str, float]:
    """Standard deviation of each figure over seeds; nothing where there is one."""
    if "seed" not in table or table["seed"].nunique() < 2:
        return {}
    runs = []
    for _, run in table.groupby("seed", sort=False):
        _, counts = _counts(run, protocol)
        k, means = len(protocol.classes), counts.mean(axis=0)
        recall = _share(means[2 * k :], means[:k])
        each = {
            f"accuracy: {name}": recall[at] for at, name in enumerate(protocol.classes)
        }
        runs.append(
            {
                "accuracy": means[2 * k :].sum(),
                "balanced accuracy": _balanced(*means),
                "macro-F1": _f1(*means),
            }
            | each
        )
    return {
        str(name): float(value)
        for name, value in pd.DataFrame(runs).astype(float).std().items()
    }


def _wrong_where_missing(table: pd.DataFrame) -> pd.Series:
    wrong = table["label"].map(lambda label: MISCAPTIONED if label == TRUE else TRUE)
    return table["prediction"].where(table["prediction"] != "", wrong)
