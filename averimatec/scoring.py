"""Score a submission: questions, evidence, and verdicts and justifications as far as
the evidence bears them (paper, section 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from averimatec.claims import VERDICTS, Claim, plain_verdict
from averimatec.conventions import CONVENTIONS, Coverage, by_count, by_images
from averimatec.judges import Judge, Matches, ModelJudge
from averimatec.rouge import rouge_1
from averimatec.submission import Evidence, Prediction, reference_evidence
from verite.errors import DataError, ParameterError, name_some
from verite.evaluation import grouped_bootstrap

__all__ = ["LAMBDAS", "MODES", "Scores", "score_submission"]

LAMBDAS = (0.2, 0.3, 0.4)
"""Evidence recall that a claim must exceed for its verdict and its justification to
count (Table 3).
"""

MODES = ("text-only", "interleaved", "separated")
"""How evidence is compared; the last one is the paper's own."""


@dataclass(frozen=True)
class Scores:
    """What a submission reaches.

    Attributes
    ----------
    table
        ``convention`` (see :mod:`averimatec.conventions`), ``mode``, ``metric``,
        ``group`` (``all`` or a verdict of the reference), ``lambda`` (NaN: no
        condition), ``value`` (0 to 1) with its 95 % interval ``low``, ``high`` over
        claims, ``n`` claims in the mean, ``unscored`` claims that are not in it.
    claims
        A row a claim: what was found of it.
    problems
        ``claim``, ``step``, ``problem``: every reply that could not be read and every
        image that could not be opened.
    about
        The judge, settings, and what its replies took.
    """

    table: pd.DataFrame
    claims: pd.DataFrame
    problems: pd.DataFrame
    about: Mapping[str, Any]


def score_submission(
    claims: Sequence[Claim],
    predictions: Sequence[Prediction],
    judge: Judge,
    *,
    files: Mapping[str, Path] | None = None,
    statements: Mapping[str, Sequence[Evidence]] | None = None,
    modes: Sequence[str] = MODES,
    rouge: str = "recall",
    missing: str = "error",
    workers: int = 1,
    seed: int = 0,
    resamples: int = 2000,
) -> Scores:
    """Compare what a system says of claims with what people found.

    A verdict counts if the evidence recall of its claim is above λ, and so does the
    ROUGE-1 of its justification, which is 0 otherwise. The condition is on the last of
    ``modes``. Submissions are matched by id; the official scorer goes by place.

    Parameters
    ----------
    files
        Image files by name, see :func:`averimatec.claims.image_files`.
    statements
        Reference evidence by claim id, where a model has put it into words;
        :func:`reference_evidence` otherwise.
    rouge
        ``recall``, as officially, or ``f1``.
    missing
        What a claim without a prediction is: an ``error``, or ``wrong``: scored as a
        prediction that says nothing.
    workers
        Claims judged at a time, for judges that wait for an endpoint.
    seed, resamples
        Of the intervals.

    Raises
    ------
    DataError
        A claim has no label; predictions are of other claims, or claims lack one.
    ParameterError
        An option is unknown.

    >>> from averimatec.judges import LexicalJudge
    >>> from averimatec.claims import Answer, Question
    >>> question = Question("When was the boat built?", (Answer("Extractive", "It was built in Rome in 2019."),))
    >>> claim = Claim("0", "A boat.", label="Refuted", justification="The boat is old.", questions=(question,))
    >>> said = Evidence("When was the boat built? It was built in Rome in 2019.")
    >>> scores = score_submission([claim], [Prediction("0", (), (said,), "refuted", "An old boat")], LexicalJudge())
    >>> scores.table.query("convention == 'official' and group == 'all' and metric == 'verdict accuracy'")["value"].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    _check(claims, modes, rouge, missing, workers)
    by_id = _matched(claims, predictions, missing)
    known = files or {}

    def one(claim: Claim) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
        reference = tuple((statements or {}).get(claim.id, ())) or reference_evidence(
            claim
        )
        return _score(claim, by_id[claim.id], reference, judge, known, modes)

    if workers > 1:
        with ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(one, claims))
    else:
        found = [one(claim) for claim in claims]
    rows = pd.DataFrame([row for row, _ in found])
    problems = pd.DataFrame(
        [problem for _, listed in found for problem in listed],
        columns=["claim", "step", "problem"],
    )
    about = {
        "judge": judge.name,
        "claims": len(claims),
        "modes": list(modes),
        "condition": modes[-1],
        "rouge": rouge,
        "missing": missing,
        "problems": len(problems),
        "intervals": {
            "level": 0.95,
            "resamples": resamples,
            "resampled": "claims",
            "seed": seed,
        },
        "replies": (
            {"asked": judge.asked, "tokens": judge.tokens, "cost": judge.cost}
            if isinstance(judge, ModelJudge)
            else {}
        ),
    }
    return Scores(_summary(rows, modes, rouge, seed, resamples), rows, problems, about)


def _score(
    claim: Claim,
    prediction: Prediction,
    reference: Sequence[Evidence],
    judge: Judge,
    files: Mapping[str, Path],
    modes: Sequence[str],
) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    asked, evidence = (
        [question.text for question in claim.questions],
        prediction.evidence,
    )
    steps: dict[str, Coverage] = {}
    some = bool(reference and evidence)
    questions = (
        judge.questions(asked, prediction.questions)
        if asked and prediction.questions
        else _NOTHING
    )
    steps["questions"] = by_count(
        questions, len(asked), len(prediction.questions), questions=True
    )
    texts = (
        judge.evidence(reference, evidence)
        if some and {"text-only", "separated"} & set(modes)
        else _NOTHING
    )
    for mode in modes:
        if mode == "separated":
            steps[mode] = by_images(texts, reference, evidence, judge, files)
        else:
            found = (
                texts
                if mode == "text-only" or not some
                else judge.interleaved(reference, evidence, files)
            )
            steps[mode] = by_count(found, len(reference), len(evidence))
    row: dict[str, Any] = {
        "claim": claim.id,
        "label": claim.label,
        "verdict": prediction.verdict,
        "verdict_official": float(
            prediction.verdict.strip().lower() == claim.label.lower()
        ),
        "verdict_corrected": float(plain_verdict(prediction.verdict) == claim.label),
        "references": len(reference),
        "predictions": len(evidence),
    }
    for name, coverage in steps.items():
        for convention in CONVENTIONS:
            share = getattr(coverage, convention)
            row |= {
                f"{name}_recall_{convention}": share.recall,
                f"{name}_precision_{convention}": share.precision,
            }
    justified = rouge_1(claim.justification, prediction.justification)
    row |= {"rouge_recall": justified.recall, "rouge_f1": justified.f1}
    problems = [
        (claim.id, name, problem)
        for name, coverage in steps.items()
        for problem in coverage.problems
    ]
    # Text-only and separated evaluation read one reply, and what is wrong with it is
    # one problem.
    told = {problem for _, name, problem in problems if name == "text-only"}
    problems = [
        each for each in problems if each[1] != "separated" or each[2] not in told
    ]
    return row | {"problems": len(problems)}, problems


def _summary(
    rows: pd.DataFrame, modes: Sequence[str], rouge: str, seed: int, resamples: int
) -> pd.DataFrame:
    made = []
    groups = {"all": np.ones(len(rows), dtype=bool)} | {
        verdict: (rows["label"] == verdict).to_numpy() for verdict in VERDICTS
    }
    for convention in CONVENTIONS:
        measures: list[tuple[str, str, float, pd.Series]] = []
        for name, called, mode in (
            ("questions", "Q-Eval", ""),
            *((mode, "evidence", mode) for mode in modes),
        ):
            measures += [
                (mode, f"{called} {kind}", np.nan, rows[f"{name}_{kind}_{convention}"])
                for kind in ("recall", "precision")
            ]
        recall, right, justified = (
            rows[f"{modes[-1]}_recall_{convention}"],
            rows[f"verdict_{convention}"],
            rows[f"rouge_{rouge}"],
        )
        measures += [
            ("", "verdict accuracy", np.nan, right),
            ("", "justification", np.nan, justified),
        ]
        for least in LAMBDAS:
            borne = (recall > least).astype(float).where(recall.notna())
            measures += [
                (modes[-1], "verdict accuracy", least, borne * right),
                (modes[-1], "justification", least, borne * justified),
            ]
        for mode, metric, least, values in measures:
            for group, members in groups.items():
                scored = values[members].dropna()
                if not members.any():
                    continue
                value = low = high = np.nan
                if len(scored):
                    value, low, high, *_ = grouped_bootstrap(
                        scored, range(len(scored)), seed=seed, resamples=resamples
                    )
                made.append(
                    (
                        convention,
                        mode,
                        metric,
                        group,
                        least,
                        value,
                        low,
                        high,
                        len(scored),
                        int(members.sum()) - len(scored),
                    )
                )
    columns = [
        "convention",
        "mode",
        "metric",
        "group",
        "lambda",
        "value",
        "low",
        "high",
        "n",
        "unscored",
    ]
    return pd.DataFrame(made, columns=columns)


def _matched(
    claims: Sequence[Claim], predictions: Sequence[Prediction], missing: str
) -> dict[str, Prediction]:
    by_id = {prediction.id: prediction for prediction in predictions}
    names = {claim.id for claim in claims}
    if strangers := [name for name in by_id if name not in names]:
        raise DataError(
            f"the submission has {len(strangers):,} claim(s) that the reference lacks:"
            f" {name_some(strangers)}. Claims without an id go by their place in the"
            " file, counted from 0: score against the split that was predicted."
        )
    lacking = [claim.id for claim in claims if claim.id not in by_id]
    if lacking and missing == "error":
        raise DataError(
            f"the submission lacks {len(lacking):,} claim(s): {name_some(lacking)}. Add"
            " them, or count them as wrong (--missing wrong)."
        )
    return {claim.id: by_id.get(claim.id, Prediction(claim.id)) for claim in claims}


def _check(
    claims: Sequence[Claim],
    modes: Sequence[str],
    rouge: str,
    missing: str,
    workers: int,
) -> None:
    for name, value, options in (
        ("rouge", rouge, ("recall", "f1")),
        ("missing", missing, ("error", "wrong")),
    ):
        if value not in options:
            raise ParameterError(
                f"{name}: expected {' or '.join(options)}, found {value!r}."
            )
    if not modes or any(mode not in MODES for mode in modes):
        raise ParameterError(
            f"modes: expected some of {', '.join(MODES)}, found"
            f" {', '.join(modes) or 'none'}."
        )
    if workers < 1:
        raise ParameterError(f"workers: expected 1 or more, found {workers}.")
    if not claims:
        raise DataError("expected claims to score against, found none.")
    if unlabelled := [claim.id for claim in claims if not claim.label]:
        raise DataError(
            f"{len(unlabelled):,} claim(s) have no label: {name_some(unlabelled)}."
            " Their verdicts cannot be scored: take a labelled split."
        )


_NOTHING = Matches(0, 0)
