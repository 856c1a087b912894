"""Functions that readers might well write and that are wrong, by chapter.

A check that passes one of them checks nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

WRONG: dict[str, list[Any]] = {
    "annotation": [
        lambda first, second: (
            100 * np.mean([a == b for a, b in zip(first, second, strict=True)])
        ),  # in per cent
        lambda first, second: float(first == second),
        lambda first, second: len(set(first) & set(second)) / len(set(first)),
    ],
    "multimodal-misinformation": [
        # true pairs above the cut, and never below
        lambda cosines, true: max(
            np.mean((np.array(cosines) >= cut) == true) for cut in [*cosines, np.inf]
        ),
        # a cut that parts pairs of one cosine
        lambda cosines, true: max(
            max(share, 1 - share)
            for at in range(len(true) + 1)
            for share in [
                np.mean(
                    (np.arange(len(true)) >= at) == np.array(true)[np.argsort(cosines)]
                )
            ]
        ),
        # no cut below all of them
        lambda cosines, true: max(
            max(share, 1 - share)
            for cut in sorted(cosines)[1:]
            for share in [np.mean((np.array(cosines) >= cut) == true)]
        ),
    ],
    "vmu-twitter": [
        # a mean over pairs, not over tries
        lambda verdicts, others: np.mean(
            [
                np.mean([one != own for one in tried])
                for own, tried in zip(verdicts, others, strict=True)
                if tried
            ]
        ),
        # pairs that ever flip
        lambda verdicts, others: np.mean(
            [own not in tried for own, tried in zip(verdicts, others, strict=True)]
        ),
        # verdicts that stay
        lambda verdicts, others: np.mean(
            [
                one == own
                for own, tried in zip(verdicts, others, strict=True)
                for one in tried
            ]
        ),
    ],
    "cosmos": [
        # letter by letter
        lambda captions, folds: np.mean(
            [
                any(
                    other == one and at != fold
                    for other, at in zip(captions, folds, strict=True)
                )
                for one, fold in zip(captions, folds, strict=True)
            ]
        ),
        # twice anywhere
        lambda captions, folds: np.mean(
            [
                [" ".join(other.lower().split()) for other in captions].count(
                    " ".join(one.lower().split())
                )
                > 1
                for one in captions
            ]
        ),
        # captions, each once
        lambda captions, folds: np.mean(
            [
                len(
                    {
                        fold
                        for other, fold in zip(captions, folds, strict=True)
                        if other.lower().split() == one.split()
                    }
                )
                > 1
                for one in {" ".join(each.lower().split()) for each in captions}
            ]
        ),
    ],
    "building-verite": [
        # a missing value counts as true
        lambda article: [
            (article["true_url"], article["true_caption"], "true"),
            (article["true_url"], article["false_caption"], "miscaptioned"),
            *(
                [(article["false_url"], article["true_caption"], "out-of-context")]
                if article["false_url"]
                else []
            ),
        ],
        # an image from elsewhere beside the false caption
        lambda article: [
            (article["true_url"], article["true_caption"], "true"),
            (article["true_url"], article["false_caption"], "miscaptioned"),
            *(
                [(article["false_url"], article["false_caption"], "out-of-context")]
                if str(article["false_url"]).startswith("http")
                else []
            ),
        ],
        # always three
        lambda article: [
            (article["true_url"], article["true_caption"], "true"),
            (article["true_url"], article["false_caption"], "miscaptioned"),
            (article["false_url"], article["true_caption"], "out-of-context"),
        ],
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
        lambda with_image, with_caption, draws: np.where(
            np.array(draws) < 0.5,
            with_caption.argmax(axis=1),
            with_image.argmax(axis=1),
        ),
        # one half included
        lambda with_image, with_caption, draws: np.where(
            np.array(draws) <= 0.5,
            with_image.argmax(axis=1),
            with_caption.argmax(axis=1),
        ),
        # nearest to either side
        lambda with_image, with_caption, draws: np.maximum(
            with_image, with_caption
        ).argmax(axis=1),
        # nearest to both
        lambda with_image, with_caption, draws: (with_image + with_caption).argmax(
            axis=1
        ),
    ],
    "detector": [
        # not divided by anything
        lambda tokens, W_Q, W_K: softmax((tokens @ W_Q.T) @ (tokens @ W_K.T).T, axis=1),
        # by the root of the token's width, not the head's
        lambda tokens, W_Q, W_K: softmax(
            (tokens @ W_Q.T) @ (tokens @ W_K.T).T / np.sqrt(tokens.shape[1]), axis=1
        ),
        # columns that add up to one
        lambda tokens, W_Q, W_K: softmax(
            (tokens @ W_Q.T) @ (tokens @ W_K.T).T / np.sqrt(len(W_Q)), axis=0
        ),
        # keys that ask
        lambda tokens, W_Q, W_K: softmax(
            (tokens @ W_K.T) @ (tokens @ W_Q.T).T / np.sqrt(len(W_Q)), axis=1
        ),
    ],
    "detector-on-verite": [
        # a mean of the groups' means
        lambda right, groups, draws: np.quantile(
            [
                np.mean(
                    [
                        np.mean(
                            [
                                one
                                for one, group in zip(right, groups, strict=True)
                                if group == name
                            ]
                        )
                        for name in drawn
                    ]
                )
                for drawn in draws
            ],
            [0.025, 0.975],
        ),
        # a group once, however often it is drawn
        lambda right, groups, draws: np.quantile(
            [
                np.mean(
                    [
                        one
                        for one, group in zip(right, groups, strict=True)
                        if group in drawn
                    ]
                )
                for drawn in draws
            ],
            [0.025, 0.975],
        ),
        # the ends of all draws
        lambda right, groups, draws: np.quantile(
            [
                np.mean(
                    [
                        one
                        for name in drawn
                        for one, group in zip(right, groups, strict=True)
                        if group == name
                    ]
                )
                for drawn in draws
            ],
            [0, 1],
        ),
    ],
    "modality-balancing": [
        # all pairs at once
        lambda labels, answers: (
            *_of_halves(labels, answers),
            np.mean(
                [
                    (label == "true") == (answer == "true")
                    for label, answer in zip(labels, answers, strict=True)
                ]
            ),
        ),
        # the mean of the classes
        lambda labels, answers: (
            *_of_halves(labels, answers),
            np.mean(
                [
                    np.mean(
                        [
                            (name == "true") == (answer == "true")
                            for label, answer in zip(labels, answers, strict=True)
                            if label == name
                        ]
                    )
                    for name in set(labels)
                ]
            ),
        ),
        # true pairs left out of the halves
        lambda labels, answers: [
            *(
                shares := [
                    np.mean(
                        [
                            answer == "misinformation"
                            for label, answer in zip(labels, answers, strict=True)
                            if label == name
                        ]
                    )
                    for name in ("out-of-context", "miscaptioned")
                ]
            ),
            np.mean(shares),
        ],
        # the halves the other way round
        lambda labels, answers: (
            *_of_halves(labels, answers)[::-1],
            np.mean(_of_halves(labels, answers)),
        ),
    ],
    "results": [
        # over pairs
        lambda units, right: np.mean(right) if len(set(units)) < len(units) else np.nan,
        # units with one pair, too
        lambda units, right: np.mean(
            [
                all(hit for one, hit in zip(units, right, strict=True) if one == unit)
                for unit in set(units)
            ]
        ),
        # units with two pairs exactly
        lambda units, right: np.mean(
            [
                all(hit for one, hit in zip(units, right, strict=True) if one == unit)
                for unit in set(units)
                if units.count(unit) == 2
            ]
            or [np.nan]
        ),
        # pairs of such units
        lambda units, right: np.mean(
            [
                all(hit for one, hit in zip(units, right, strict=True) if one == unit)
                for unit in units
                if units.count(unit) > 1
            ]
            or [np.nan]
        ),
    ],
    "measuring-bias": [
        # population variances
        lambda unimodal, multimodal: (
            (np.mean(unimodal) - np.mean(multimodal))
            / np.sqrt((np.var(unimodal) + np.var(multimodal)) / 2)
        ),
        # the other way round
        lambda unimodal, multimodal: (
            (np.mean(multimodal) - np.mean(unimodal))
            / np.sqrt((np.var(unimodal, ddof=1) + np.var(multimodal, ddof=1)) / 2)
        ),
        # the mean of the deviations
        lambda unimodal, multimodal: (
            (np.mean(unimodal) - np.mean(multimodal))
            / np.mean([np.std(unimodal, ddof=1), np.std(multimodal, ddof=1)])
        ),
        # the deviation of all
        lambda unimodal, multimodal: (
            (np.mean(unimodal) - np.mean(multimodal))
            / np.std([*unimodal, *multimodal], ddof=1)
        ),
    ],
    "bias-lab": [
        # the larger class
        lambda keys, labels: max(map(labels.count, labels)) / len(labels),
        # keys with one label
        lambda keys, labels: np.mean(
            [
                len(
                    {
                        label
                        for one, label in zip(keys, labels, strict=True)
                        if one == key
                    }
                )
                == 1
                for key in keys
            ]
        ),
        # a mean over keys
        lambda keys, labels: np.mean(
            [
                max(map(found.count, found)) / len(found)
                for found in (
                    [
                        label
                        for one, label in zip(keys, labels, strict=True)
                        if one == key
                    ]
                    for key in set(keys)
                )
            ]
        ),
        # the label that came last
        lambda keys, labels: np.mean(
            [
                dict(zip(keys, labels, strict=True))[key] == label
                for key, label in zip(keys, labels, strict=True)
            ]
        ),
    ],
    "audit-your-benchmark": [
        # the observed one left out
        lambda observed, dealt: (
            sum(each >= observed for each in dealt) / max(1, len(dealt))
        ),
        # counted above only
        lambda observed, dealt: (
            (1 + sum(each >= observed for each in dealt)) / max(1, len(dealt))
        ),
        # ties do not count
        lambda observed, dealt: (
            (1 + sum(each > observed for each in dealt)) / (1 + len(dealt))
        ),
        # the wrong end
        lambda observed, dealt: (
            (1 + sum(each <= observed for each in dealt)) / (1 + len(dealt))
        ),
    ],
    "errata": [
        # the first share alone
        lambda shares, longest: [
            n
            for n in range(1, longest + 1)
            if abs(100 * round(shares[0] * n / 100) / n - shares[0]) <= 0.005 + 1e-9
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
            if all(
                abs(100 * int(share * n / 100) / n - share) <= 0.005 + 1e-9
                for share in shares
            )
        ],
        # the last number left out
        lambda shares, longest: [
            n
            for n in range(1, longest)
            if all(
                abs(100 * round(share * n / 100) / n - share) <= 0.005 + 1e-9
                for share in shares
            )
        ],
        # the best one alone
        lambda shares, longest: [
            min(
                range(1, longest + 1),
                key=lambda n: max(
                    abs(100 * round(share * n / 100) / n - share) for share in shares
                ),
            )
        ],
    ],
    "from-pairs-to-claims": [
        # verdicts that somebody chose
        lambda counts: _free(
            np.array(counts), np.count_nonzero(np.sum(counts, axis=0))
        ),
        # a mean over pairs of people, not over claims
        lambda counts: _free(
            np.array(counts),
            len(counts[0]),
            np.array([sum(one) * (sum(one) - 1) for one in counts]),
        ),
        # everybody agrees with themselves
        lambda counts: (
            (
                np.mean([sum(one**2 for one in row) / sum(row) ** 2 for row in counts])
                - 1 / len(counts[0])
            )
            / (1 - 1 / len(counts[0]))
        ),
        # chance not taken off
        lambda counts: np.mean(
            [
                sum(one * (one - 1) for one in row) / sum(row) / (sum(row) - 1)
                for row in counts
            ]
        ),
    ],
    "verification-with-evidence": [
        # the threshold itself counts
        lambda recall, right, threshold: np.mean(
            [
                found >= threshold and verdict
                for found, verdict in zip(recall, right, strict=True)
                if found == found
            ]
            or [np.nan]
        ),
        # unknown is wrong
        lambda recall, right, threshold: np.mean(
            [
                found > threshold and verdict
                for found, verdict in zip(recall, right, strict=True)
            ]
        ),
        # of the claims with enough evidence
        lambda recall, right, threshold: np.mean(
            [
                verdict
                for found, verdict in zip(recall, right, strict=True)
                if found > threshold
            ]
            or [np.nan]
        ),
        # weighted by the evidence
        lambda recall, right, threshold: (
            np.nanmean(np.array(recall) * right)
            if any(found == found for found in recall)
            else np.nan
        ),
    ],
}


def _of_halves(labels: list[str], answers: list[str]) -> list[Any]:
    """Accuracy under True vs OOC and under True vs MC, which is right."""
    return [
        np.mean(
            [
                (label == "true") == (answer == "true")
                for label, answer in zip(labels, answers, strict=True)
                if label != other
            ]
        )
        for other in ("miscaptioned", "out-of-context")
    ]


def _free(counts: np.ndarray, verdicts: int, weights: np.ndarray | None = None) -> Any:
    """Randolph's kappa with another number of verdicts, or another mean over claims."""
    people = counts.sum(axis=1)
    same = np.average(
        (counts * (counts - 1)).sum(axis=1) / (people * (people - 1)), weights=weights
    )
    return (same - 1 / verdicts) / (1 - 1 / verdicts)
