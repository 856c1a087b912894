"""Functions that readers might well write and that are wrong, by chapter.

A check that passes one of them checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax


def arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Call the function with arrays instead of lists."""
    return lambda *arguments: function(*map(np.array, arguments))


def mean(values: Any) -> float:
    """Mean, or NaN of no values."""
    return float(np.mean(values)) if len(values) else np.nan


def pairs_of(article: dict[str, Any], third: list[tuple[str, str, str]]) -> list[Any]:
    """True and miscaptioned pair of an article, and what else is given."""
    return [
        (article["true_url"], article["true_caption"], "true"),
        (article["true_url"], article["false_caption"], "miscaptioned"),
        *third,
    ]


def plain(captions: list[str]) -> pd.Series:
    """Captions without case and repeated spaces."""
    return pd.Series(captions).str.lower().str.split().str.join(" ")


def attention(tokens: Any, W_Q: Any, W_K: Any, divisor: float, axis: int = 1) -> Any:
    """Weights of scores that are divided by a number."""
    return softmax((tokens @ W_Q.T) @ (tokens @ W_K.T).T / divisor, axis=axis)


def halves(labels: np.ndarray, hits: np.ndarray) -> list[Any]:
    """Accuracy under True vs OOC and under True vs MC, which is right."""
    return [
        hits[labels != other].mean() for other in ("miscaptioned", "out-of-context")
    ]


def units_of(units: list[str], right: list[bool]) -> pd.DataFrame:
    """Per pair: its unit, the unit's size and whether the unit is right throughout."""
    groups = pd.Series(right).groupby(np.array(units))
    columns = {"whole": groups.transform("all"), "size": groups.transform("size")}
    return pd.DataFrame({"unit": units, **columns})


def effect(unimodal: list[float], multimodal: list[float], spread: float) -> Any:
    """Difference of the means in units of a spread."""
    return (np.mean(unimodal) - np.mean(multimodal)) / spread


def variances(*sides: list[float], ddof: int = 1) -> np.ndarray:
    """Variance of each side."""
    return np.array([np.var(side, ddof=ddof) for side in sides])


def miss(share: float, size: int, whole: Callable[[float], float] = round) -> float:
    """Distance between a printed share and the nearest count's."""
    return abs(100 * whole(share * size / 100) / size - share)


HALF = 0.005 + 1e-9  # half a unit of the second decimal


def kappa(counts: np.ndarray, verdicts: int, weights: np.ndarray | None = None) -> Any:
    """Randolph's kappa with another number of verdicts, or another mean over claims."""
    people = counts.sum(axis=1)
    same = (counts * (counts - 1)).sum(axis=1) / (people * (people - 1))
    return (np.average(same, weights=weights) - 1 / verdicts) / (1 - 1 / verdicts)


WRONG: dict[str, list[Any]] = {
    "annotation": [
        # in per cent
        arrays(lambda first, second: 100 * np.mean(first == second)),
        lambda first, second: float(first == second),
        lambda first, second: len(set(first) & set(second)) / len(set(first)),
    ],
    "multimodal-misinformation": [
        # true pairs above the cut, and never below
        arrays(
            lambda cosines, true: max(
                np.mean((cosines >= cut) == true) for cut in [*cosines, np.inf]
            )
        ),
        # a cut that parts pairs of one cosine
        arrays(
            lambda cosines, true: max(
                max(share, 1 - share)
                for cut in range(len(true) + 1)
                for share in [
                    np.mean((np.arange(len(true)) >= cut) == true[np.argsort(cosines)])
                ]
            )
        ),
        # no cut below all of them
        arrays(
            lambda cosines, true: max(
                max(share, 1 - share)
                for cut in sorted(cosines)[1:]
                for share in [np.mean((cosines >= cut) == true)]
            )
        ),
    ],
    "vmu-twitter": [
        # a mean over pairs, not over tries
        lambda verdicts, others: np.mean(
            [
                np.mean(np.array(tries) != own)
                for own, tries in zip(verdicts, others, strict=True)
                if tries
            ]
        ),
        # pairs that ever flip
        lambda verdicts, others: np.mean(
            [own not in tries for own, tries in zip(verdicts, others, strict=True)]
        ),
        # verdicts that stay
        lambda verdicts, others: np.mean(
            [
                verdict == own
                for own, tries in zip(verdicts, others, strict=True)
                for verdict in tries
            ]
        ),
    ],
    "cosmos": [
        # letter by letter
        lambda captions, folds: (
            pd.Series(folds).groupby(np.array(captions)).transform("nunique") > 1
        ).mean(),
        # twice anywhere
        lambda captions, folds: plain(captions).duplicated(keep=False).mean(),
        # captions, each once
        lambda captions, folds: (
            pd.Series(folds).groupby(plain(captions)).nunique().gt(1)
        ).mean(),
    ],
    "building-verite": [
        # a missing value counts as true
        lambda article: pairs_of(
            article,
            [(article["false_url"], article["true_caption"], "out-of-context")]
            if article["false_url"]
            else [],
        ),
        # an image from elsewhere beside the false caption
        lambda article: pairs_of(
            article,
            [(article["false_url"], article["false_caption"], "out-of-context")]
            if str(article["false_url"]).startswith("http")
            else [],
        ),
        # always three
        lambda article: pairs_of(
            article, [(article["false_url"], article["true_caption"], "out-of-context")]
        ),
    ],
    "synthetic-data": [
        # oneself left out, but not one's event
        lambda cosines, events: np.where(
            np.eye(len(events), dtype=bool), -np.inf, cosines
        ).argmax(axis=1),
        # zero instead of nothing
        lambda cosines, events: np.where(
            np.equal.outer(events, events), 0, cosines
        ).argmax(axis=1),
        # the first where there is none
        lambda cosines, events: np.where(
            np.equal.outer(events, events), -np.inf, cosines
        ).argmax(axis=1),
        # the farthest
        lambda cosines, events: np.where(
            np.equal.outer(events, events), np.inf, cosines
        ).argmin(axis=1),
    ],
    "chasma": [
        # the wrong side of one half
        lambda image, caption, draws: np.where(
            np.array(draws) < 0.5, caption.argmax(axis=1), image.argmax(axis=1)
        ),
        # one half included
        lambda image, caption, draws: np.where(
            np.array(draws) <= 0.5, image.argmax(axis=1), caption.argmax(axis=1)
        ),
        # nearest to either side
        lambda image, caption, draws: np.maximum(image, caption).argmax(axis=1),
        # nearest to both
        lambda image, caption, draws: (image + caption).argmax(axis=1),
    ],
    "detector": [
        # not divided by anything
        lambda tokens, W_Q, W_K: attention(tokens, W_Q, W_K, 1),
        # by the root of the token's width, not the head's
        lambda tokens, W_Q, W_K: attention(tokens, W_Q, W_K, np.sqrt(tokens.shape[1])),
        # columns that add up to one
        lambda tokens, W_Q, W_K: attention(tokens, W_Q, W_K, np.sqrt(len(W_Q)), axis=0),
        # queries and keys exchanged
        lambda tokens, W_Q, W_K: attention(tokens, W_K, W_Q, np.sqrt(len(W_Q))),
    ],
    "detector-on-verite": [
        # a mean of the groups' means
        arrays(
            lambda right, groups, draws: np.quantile(
                [
                    np.mean([right[groups == name].mean() for name in drawn])
                    for drawn in draws
                ],
                [0.025, 0.975],
            )
        ),
        # a group once, however often it is drawn
        arrays(
            lambda right, groups, draws: np.quantile(
                [right[np.isin(groups, drawn)].mean() for drawn in draws],
                [0.025, 0.975],
            )
        ),
        # the ends of all draws
        arrays(
            lambda right, groups, draws: np.quantile(
                [
                    np.concatenate([right[groups == name] for name in drawn]).mean()
                    for drawn in draws
                ],
                [0, 1],
            )
        ),
    ],
    "modality-balancing": [
        # all pairs at once
        arrays(
            lambda labels, answers: (
                *halves(labels, hits := (labels == "true") == (answers == "true")),
                hits.mean(),
            )
        ),
        # the mean of the classes
        arrays(
            lambda labels, answers: (
                *halves(labels, hits := (labels == "true") == (answers == "true")),
                np.mean([hits[labels == name].mean() for name in set(labels)]),
            )
        ),
        # true pairs left out of the halves
        arrays(
            lambda labels, answers: (
                *(
                    shares := [
                        np.mean(answers[labels == name] == "misinformation")
                        for name in ("out-of-context", "miscaptioned")
                    ]
                ),
                np.mean(shares),
            )
        ),
        # the halves exchanged
        arrays(
            lambda labels, answers: (
                *(
                    shares := halves(labels, (labels == "true") == (answers == "true"))[
                        ::-1
                    ]
                ),
                np.mean(shares),
            )
        ),
    ],
    "results": [
        # over pairs
        lambda units, right: np.mean(right) if len(set(units)) < len(units) else np.nan,
        # units with one pair, too
        lambda units, right: (
            units_of(units, right).drop_duplicates("unit")["whole"].mean()
        ),
        # units with two pairs exactly
        lambda units, right: mean(
            units_of(units, right).query("size == 2").drop_duplicates("unit")["whole"]
        ),
        # pairs of such units
        lambda units, right: mean(units_of(units, right).query("size > 1")["whole"]),
    ],
    "measuring-bias": [
        # population variances
        lambda uni, multi: effect(
            uni, multi, np.sqrt(variances(uni, multi, ddof=0).mean())
        ),
        # the sides exchanged
        lambda uni, multi: effect(multi, uni, np.sqrt(variances(uni, multi).mean())),
        # the mean of the deviations
        lambda uni, multi: effect(uni, multi, np.sqrt(variances(uni, multi)).mean()),
        # the deviation of all
        lambda uni, multi: effect(uni, multi, np.std([*uni, *multi], ddof=1)),
    ],
    "bias-lab": [
        # the larger class
        lambda keys, labels: max(map(labels.count, labels)) / len(labels),
        # keys with one label
        lambda keys, labels: (
            pd.Series(labels).groupby(np.array(keys)).transform("nunique") == 1
        ).mean(),
        # a mean over keys
        lambda keys, labels: (
            pd.Series(labels)
            .groupby(np.array(keys))
            .agg(lambda own: own.value_counts(normalize=True).max())
            .mean()
        ),
        # the label that came last
        lambda keys, labels: (
            pd.Series(labels).groupby(np.array(keys)).transform("last") == labels
        ).mean(),
    ],
    "audit-your-benchmark": [
        # the observed one left out
        arrays(lambda observed, dealt: np.sum(dealt >= observed) / max(1, len(dealt))),
        # counted above only
        arrays(
            lambda observed, dealt: (1 + np.sum(dealt >= observed)) / max(1, len(dealt))
        ),
        # ties do not count
        arrays(
            lambda observed, dealt: (1 + np.sum(dealt > observed)) / (1 + len(dealt))
        ),
        # the wrong end
        arrays(
            lambda observed, dealt: (1 + np.sum(dealt <= observed)) / (1 + len(dealt))
        ),
    ],
    "errata": [
        # the first share alone
        lambda shares, longest: [
            n for n in range(1, longest + 1) if miss(shares[0], n) <= HALF
        ],
        # unrounded
        lambda shares, longest: [
            n
            for n in range(1, longest + 1)
            if all((share * n / 100).is_integer() for share in shares)
        ],
        # cut, not rounded
        lambda shares, longest: [
            n
            for n in range(1, longest + 1)
            if all(miss(share, n, int) <= HALF for share in shares)
        ],
        # the last number left out
        lambda shares, longest: [
            n
            for n in range(1, longest)
            if all(miss(share, n) <= HALF for share in shares)
        ],
        # the best one alone
        lambda shares, longest: [
            min(
                range(1, longest + 1),
                key=lambda n: max(miss(share, n) for share in shares),
            )
        ],
    ],
    "from-pairs-to-claims": [
        # verdicts that somebody chose
        arrays(lambda counts: kappa(counts, np.count_nonzero(counts.sum(axis=0)))),
        # a mean over pairs of people, not over claims
        arrays(
            lambda counts: kappa(
                counts, counts.shape[1], counts.sum(axis=1) * (counts.sum(axis=1) - 1)
            )
        ),
        # everybody agrees with themselves
        arrays(
            lambda counts: (
                (
                    ((counts / counts.sum(axis=1, keepdims=True)) ** 2)
                    .sum(axis=1)
                    .mean()
                    - 1 / counts.shape[1]
                )
                / (1 - 1 / counts.shape[1])
            )
        ),
        # chance not taken off
        lambda counts: np.mean(
            [
                sum(n * (n - 1) for n in row) / sum(row) / (sum(row) - 1)
                for row in counts
            ]
        ),
    ],
    "verification-with-evidence": [
        # the threshold itself counts
        arrays(
            lambda recall, right, threshold: mean(
                ((recall >= threshold) & right)[~np.isnan(recall)]
            )
        ),
        # unknown is wrong
        arrays(lambda recall, right, threshold: mean((recall > threshold) & right)),
        # of the claims with enough evidence
        arrays(lambda recall, right, threshold: mean(right[recall > threshold])),
        # weighted by the evidence
        arrays(
            lambda recall, right, threshold: mean((recall * right)[~np.isnan(recall)])
        ),
    ],
}
