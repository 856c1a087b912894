"""Score a submission: questions, evidence, verdicts, justifications (section 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from averimatec.claims import VERDICTS, Claim, plain_verdict
from averimatec.conventions import CONVENTIONS, MODES, by_count, evidence_coverage
from averimatec.judges import Judge, Matches, ModelJudge
from averimatec.similarity import rouge_1
from averimatec.submission import Evidence, Prediction, reference_evidence
from verite.errors import DataError, ParameterError, name_some
from verite.evaluation import grouped_bootstrap

LAMBDAS = (0.2, 0.3, 0.4)
"""Evidence recall that a claim must exceed for its verdict and its justification to
count (Table 3).
"""


@dataclass(frozen=True)
class Scoring:
    """How to score.

    Attributes
    ----------
    modes
        Some of :data:`MODES`; the condition on the evidence uses the last one.
    rouge
        ROUGE-1 of justifications: ``recall``, as officially, or ``f1``.
    missing
        A claim without a prediction is an ``error``, or ``wrong``: scored as a
        prediction that says nothing.
    workers
        Claims judged at a time, for judges that wait for an endpoint.
    seed, resamples
        Of the intervals.
    """

    modes: Sequence[str] = MODES
    rouge: str = "recall"
    missing: str = "error"
    workers: int = 1
    seed: int = 0
    resamples: int = 2000

    def __post_init__(self) -> None:
        for name, options in (
            ("rouge", ("recall", "f1")),
            ("missing", ("error", "wrong")),
        ):
            if (value := getattr(self, name)) not in options:
                raise ParameterError(
                    f"{name}: expected {' or '.join(options)}, found {value!r}."
                )
        if not self.modes or not set(self.modes) <= set(MODES):
            raise ParameterError(
                f"modes: expected some of {', '.join(MODES)}, found"
                f" {', '.join(self.modes) or 'none'}."
            )
        if self.workers < 1:
            raise ParameterError(f"workers: expected 1 or more, found {self.workers}.")


@dataclass(frozen=True)
class Scores:
    """Scores of a submission.

    Attributes
    ----------
    table
        ``convention`` (see :mod:`averimatec.conventions`), ``mode``, ``metric``,
        ``group`` (``all`` or a verdict of the reference), ``lambda`` (NaN: no
        condition), ``value`` (0 to 1) with its 95 % interval ``low``, ``high`` over
        claims, ``n`` claims in the mean, ``unscored`` claims that are not in it.
    claims
        One row per claim.
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
    **options: Any,
) -> Scores:
    """Compare a system's output with the annotation.

    A verdict counts if the evidence recall of its claim is above λ, and so does the
    ROUGE-1 of its justification, which is 0 otherwise. Submissions are matched by id;
    the official scorer matches by position.

    Parameters
    ----------
    files
        Image files by name, see :func:`averimatec.claims.image_files`.
    statements
        Reference evidence by claim id, put into words by a model;
        :func:`reference_evidence` otherwise.
    options
        Of :class:`Scoring`.

    Raises
    ------
    DataError
        A claim has no label; predictions are of other claims, or claims lack one.

    >>> from averimatec.judges import LexicalJudge
    >>> from averimatec.claims import Answer, Question
    >>> question = Question("When was it built?", (Answer("Extractive", "In 2019."),))
    >>> claim = Claim("0", "A boat.", label="Refuted", questions=(question,))
    >>> evidence = Evidence("When was it built? In 2019.")
    >>> prediction = Prediction("0", (), (evidence,), "refuted")
    >>> scores = score_submission([claim], [prediction], LexicalJudge())
    >>> rows = scores.table.query("metric == 'verdict accuracy' and group == 'all'")
    >>> set(rows["value"])
    {1.0}
    """
    scoring = Scoring(**options)
    by_id = _matched(claims, predictions, scoring.missing)

    def judge_claim(claim: Claim) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
        reference = tuple((statements or {}).get(claim.id, ()))
        reference = reference or reference_evidence(claim)
        return _judge_claim(
            claim, by_id[claim.id], reference, judge, files or {}, scoring.modes
        )

    with ThreadPoolExecutor(scoring.workers) as pool:
        results = list(pool.map(judge_claim, claims))
    rows = pd.DataFrame([row for row, _ in results])
    problems = pd.DataFrame(
        [problem for _, problems in results for problem in problems],
        columns=["claim", "step", "problem"],
    )
    about = {
        "judge": judge.name,
        "claims": len(claims),
        "condition": scoring.modes[-1],
        "settings": asdict(scoring),
        "problems": len(problems),
        "replies": (
            {"asked": judge.asked, "tokens": judge.tokens, "cost": judge.cost}
            if isinstance(judge, ModelJudge)
            else {}
        ),
    }
    return Scores(_summary(rows, scoring), rows, problems, about)


def _matched(
    claims: Sequence[Claim], predictions: Sequence[Prediction], missing: str
) -> dict[str, Prediction]:
    """Predictions by claim, in the order of the claims."""
    if not claims:
        raise DataError("expected claims to score against, found none.")
    if unlabelled := [claim.id for claim in claims if not claim.label]:
        raise DataError(
            f"{len(unlabelled):,} claim(s) have no label: {name_some(unlabelled)}."
            " Verdicts can be scored on a labelled split only."
        )
    by_id = {prediction.id: prediction for prediction in predictions}
    ids = {claim.id for claim in claims}
    if unknown := [name for name in by_id if name not in ids]:
        raise DataError(
            f"the submission has {len(unknown):,} claim(s) that the reference lacks:"
            f" {name_some(unknown)}. Score against the split that was predicted."
        )
    lacking = [claim.id for claim in claims if claim.id not in by_id]
    if lacking and missing == "error":
        raise DataError(
            f"the submission lacks {len(lacking):,} claim(s): {name_some(lacking)}. Add"
            " them, or count them as wrong (--missing wrong)."
        )
    return {claim.id: by_id.get(claim.id, Prediction(claim.id)) for claim in claims}


def _judge_claim(
    claim: Claim,
    prediction: Prediction,
    reference: Sequence[Evidence],
    judge: Judge,
    files: Mapping[str, Path],
    modes: Sequence[str],
) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    references, predictions = [q.text for q in claim.questions], prediction.questions
    matches = Matches(0, 0)
    if references and predictions:
        matches = judge.questions(references, predictions)
    steps = {
        "questions": by_count(
            matches, len(references), len(predictions), questions=True
        ),
        **evidence_coverage(judge, reference, prediction.evidence, files, modes),
    }
    verdict = prediction.verdict
    rouge = rouge_1(claim.justification, prediction.justification)
    row: dict[str, Any] = {
        "claim": claim.id,
        "label": claim.label,
        "verdict": verdict,
        "verdict_official": float(verdict.strip().lower() == claim.label.lower()),
        "verdict_corrected": float(plain_verdict(verdict) == claim.label),
        "references": len(reference),
        "predictions": len(prediction.evidence),
        "rouge_recall": rouge.recall,
        "rouge_f1": rouge.f1,
    }
    problems: dict[tuple[str, str], str] = {}
    for name, coverage in steps.items():
        for convention in CONVENTIONS:
            share = getattr(coverage, convention)
            row[f"{name}_recall_{convention}"] = share.recall
            row[f"{name}_precision_{convention}"] = share.precision
        for problem in coverage.problems:
            # Text-only and separated evaluation read one reply: its problem is one.
            reply = "text-only" if name == "separated" else name
            if (reply, problem) not in problems:
                problems[name, problem] = problem
    row["problems"] = len(problems)
    return row, [(claim.id, name, problem) for name, problem in problems]


def _summary(rows: pd.DataFrame, scoring: Scoring) -> pd.DataFrame:
    """Means over all claims and over those of each verdict, with their intervals."""
    groups = {"all": np.ones(len(rows), dtype=bool)} | {
        verdict: (rows["label"] == verdict).to_numpy() for verdict in VERDICTS
    }
    table = []
    for convention in CONVENTIONS:
        for mode, metric, least, values in _measures(rows, scoring, convention):
            for group, members in groups.items():
                if not members.any():
                    continue
                scored = values[members].dropna()
                value = low = high = np.nan
                if len(scored):
                    value, low, high, *_ = grouped_bootstrap(
                        scored,
                        range(len(scored)),
                        seed=scoring.seed,
                        resamples=scoring.resamples,
                    )
                row = {
                    "convention": convention,
                    "mode": mode,
                    "metric": metric,
                    "group": group,
                    "lambda": least,
                    "value": value,
                    "low": low,
                    "high": high,
                    "n": len(scored),
                    "unscored": int(members.sum()) - len(scored),
                }
                table.append(row)
    return pd.DataFrame(table)


def _measures(
    rows: pd.DataFrame, scoring: Scoring, convention: str
) -> Iterator[tuple[str, str, float, pd.Series]]:
    """Mode, metric, λ, and the value of each claim."""
    for step in ("questions", *scoring.modes):
        mode, name = ("", "Q-Eval") if step == "questions" else (step, "evidence")
        for kind in ("recall", "precision"):
            yield mode, f"{name} {kind}", np.nan, rows[f"{step}_{kind}_{convention}"]
    condition = scoring.modes[-1]
    recall = rows[f"{condition}_recall_{convention}"]
    right, justified = rows[f"verdict_{convention}"], rows[f"rouge_{scoring.rouge}"]
    yield "", "verdict accuracy", np.nan, right
    yield "", "justification", np.nan, justified
    for least in LAMBDAS:
        supported = (recall > least).astype(float).where(recall.notna())
        yield condition, "verdict accuracy", least, supported * right
        yield condition, "justification", least, supported * justified
