"""Accuracy and its relatives, consistency over balanced pairs, and comparison.

A missing prediction (an empty one) is wrong, and is an answer of no class.
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

__all__ = ["COMPARISON", "compare", "consistency", "find_unscorable", "measure"]

COMPARISON = ["protocol", "difference", "low", "high", "p_value", "n"]
"""Columns of :func:`compare`."""


def find_unscorable(table: pd.DataFrame) -> dict[str, str]:
    """Protocols under which a table of predictions cannot be scored, and why.

    >>> labels, predictions = ["true", "miscaptioned"], ["true", "misinformation"]
    >>> table = pd.DataFrame({"label": labels, "prediction": predictions})
    >>> list(find_unscorable(table))
    ['three-class', 'true-vs-ooc']
    """
    reasons = {}
    for name, protocol in PROTOCOLS.items():
        rows = table[table["label"].isin(protocol.keeps)]
        unclear = int((rows["prediction"] == MISINFORMATION).sum())
        if MISINFORMATION in set(table["label"]) - set(protocol.keeps):
            reasons[name] = "the benchmark's labels are binary"
        elif len(set(protocol.to_classes(rows["label"]))) < 2:
            reasons[name] = f"there is one class or none in its {len(rows):,} rows"
        elif MISINFORMATION not in protocol.classes and unclear:
            reasons[name] = (
                f"{unclear:,} predictions are `misinformation`, which is not one of its"
                " classes"
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
    ``balanced accuracy`` is the mean of the class accuracies, ``macro-F1`` the mean of
    :math:`2\,n_{hit} / (n_{true} + n_{predicted})` over classes that occur among labels
    or predictions; rows of all seeds together.

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
    >>> measure(table, "all-false")[["metric", "value"]].round(3).head(3)
                  metric  value
    0           accuracy  0.750
    1  balanced accuracy  0.750
    2           macro-F1  0.733
    """
    protocol = protocol_named(protocol)
    options: dict[str, Any] = {"seed": seed, "resamples": resamples, "level": level}
    wrong = np.where(table["label"] == TRUE, MISCAPTIONED, TRUE)
    answers = table["prediction"].where(table["prediction"] != "", wrong)
    plain = score(table.assign(prediction=answers), protocol, **options)
    rows, counts = _count(table, protocol)
    means = []
    for name, statistic in (
        ("balanced accuracy", _balanced_accuracy),
        ("macro-F1", _macro_f1),
    ):
        interval = grouped_bootstrap(
            counts, rows["group"].to_numpy(), statistic=statistic, **options
        )
        means.append((protocol.name, name, *interval[:3], int(plain["n"].iloc[0])))
    figures = pd.concat(
        [plain[:1], pd.DataFrame(means, columns=plain.columns), plain[1:]],
        ignore_index=True,
    )
    return figures.assign(
        constant=figures["metric"].map(_best_constant(rows["label"])),
        sd=figures["metric"].map(_spread_over_seeds(table, protocol)),
    )


def consistency(
    table: pd.DataFrame,
    protocol: str | Protocol,
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> pd.DataFrame:
    r"""How often all pairs of one image, and all pairs of one caption, are right.

    Modality balancing (paper, section 3.2) uses an image once with a true and once with
    a false caption, and a caption once with its own and once with another image. A
    model that sees the image alone gives both pairs of an image one answer, so it never
    gets both right; likewise for captions. Images and captions that occur under one
    label only are left out, as are skipped pairs.

    Returns
    -------
    pandas.DataFrame
        ``protocol``, ``over`` (``image``, ``caption``), ``value``, ``low``, ``high``,
        ``n`` (images or captions), and by chance: ``constant`` (one answer for all: 0,
        as for any function of that modality alone), ``random`` (each class equally
        likely, :math:`k^{-2}` for two pairs), ``shuffled`` (the predictions' own
        answers, permuted). No row where nothing is balanced.

    >>> table = pd.DataFrame({
    ...     "pair_id": ["1", "2", "3", "4"], "group": ["a", "a", "b", "b"],
    ...     "image_id": ["a", "a", "b", "b"], "text_id": ["p", "q", "r", "s"],
    ...     "label": ["true", "miscaptioned"] * 2,
    ...     "prediction": ["true", "miscaptioned", "true", "true"],
    ... })
    >>> columns = ["over", "value", "n", "constant", "random"]
    >>> consistency(table, "true-vs-mc")[columns].values.tolist()
    [['image', 0.5, 2, 0.0, 0.25]]
    """
    protocol = protocol_named(protocol)
    rows, counts = _count(table, protocol)
    k = len(protocol.classes)
    rows["rate"] = counts[:, :k] @ counts[:, k : 2 * k].mean(axis=0)
    if "seed" not in rows:
        rows["seed"] = ""
    results = []
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
        n = units.index.get_level_values(0).nunique()
        random = float((1.0 / k ** units["size"]).mean())
        chance = 0.0, random, float(units["rate"].mean())
        results.append((protocol.name, over, *interval[:3], n, *chance))
    columns = ["protocol", "over", "value", "low", "high", "n"]
    columns += ["constant", "random", "shuffled"]
    return pd.DataFrame(results, columns=columns)


def compare(
    one: pd.DataFrame,
    other: pd.DataFrame,
    protocol: str | Protocol,
    *,
    seed: int = 0,
    resamples: int = 2000,
) -> pd.DataFrame:
    """Test whether two systems differ in accuracy on the pairs that both have.

    See :func:`verite.evaluation.paired_test`. The answers of several seeds to a pair
    are averaged first.

    Returns
    -------
    pandas.DataFrame
        One row with the columns :data:`COMPARISON`; ``difference`` is the accuracy of
        one minus that of the other.

    Raises
    ------
    DataError
        They have no pair in common.

    >>> one = pd.DataFrame({
    ...     "pair_id": ["1", "2"], "group": ["a", "b"],
    ...     "label": ["true", "miscaptioned"], "prediction": ["true", "miscaptioned"],
    ... })
    >>> other = one.assign(prediction="true")
    >>> float(compare(one, other, "three-class")["difference"].iloc[0])
    0.5
    """
    protocol = protocol_named(protocol)
    left, right = (
        _count(table, protocol)[0]
        .groupby("pair_id")
        .agg(hit=("hit", "mean"), group=("group", "first"))
        for table in (one, other)
    )
    both = left.join(right["hit"].rename("other"), how="inner")
    if both.empty:
        raise DataError(
            f"protocol {protocol.name!r}: the two predictions have no pair in common."
        )
    test = paired_test(
        both["hit"], both["other"], both["group"], seed=seed, resamples=resamples
    )
    return pd.DataFrame([(protocol.name, *test)], columns=["protocol", *test._fields])


def _count(table: pd.DataFrame, protocol: Protocol) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of a protocol with ``hit``, and indicators per row and class, (n, 3 k).

    Whether its label is class c, its prediction is class c, and both.
    """
    rows = protocol.select(table).reset_index(drop=True)
    predicted = np.full(len(rows), "", dtype=object)
    answered = (rows["prediction"] != "").to_numpy()
    predicted[answered] = protocol.to_classes(rows.loc[answered, "prediction"])
    labels = rows["label"].to_numpy()
    classes = np.array(protocol.classes, dtype=object)
    truth = np.equal.outer(labels, classes)
    called = np.equal.outer(predicted, classes)
    counts = np.hstack([truth, called, truth & called]).astype(float)
    return rows.assign(hit=labels == predicted), counts


def _balanced_accuracy(*means: np.ndarray) -> np.ndarray:
    truth, _, hit = np.array_split(np.stack(means), 3)
    return np.asarray(_divide(hit, truth).sum(axis=0) / (truth > 0).sum(axis=0))


def _macro_f1(*means: np.ndarray) -> np.ndarray:
    truth, called, hit = np.array_split(np.stack(means), 3)
    occurring = (truth + called > 0).sum(axis=0)
    return np.asarray(_divide(2 * hit, truth + called).sum(axis=0) / occurring)


def _divide(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    # A class may be in none of the groups of a resample.
    return np.asarray(np.divide(part, whole, out=np.zeros_like(part), where=whole > 0))


def _best_constant(labels: pd.Series) -> dict[str, float]:
    shares = labels.value_counts(normalize=True)
    largest, k = float(shares.max()), len(shares)
    macro_f1 = 2 * largest / (1 + largest) / k
    return {"accuracy": largest, "balanced accuracy": 1 / k, "macro-F1": macro_f1}


def _spread_over_seeds(table: pd.DataFrame, protocol: Protocol) -> dict[str, float]:
    """Standard deviation of each figure over seeds; empty where there is one."""
    if "seed" not in table or table["seed"].nunique() < 2:
        return {}
    runs = []
    for _, run in table.groupby("seed", sort=False):
        _, counts = _count(run, protocol)
        means = counts.mean(axis=0)
        truth, _, hit = np.array_split(means, 3)
        recalls = _divide(hit, truth)
        figures = {
            "accuracy": hit.sum(),
            "balanced accuracy": _balanced_accuracy(*means),
            "macro-F1": _macro_f1(*means),
        }
        for name, recall in zip(protocol.classes, recalls, strict=True):
            figures[f"accuracy: {name}"] = recall
        runs.append(figures)
    spread = pd.DataFrame(runs).astype(float).std()
    return {str(name): float(value) for name, value in spread.items()}
