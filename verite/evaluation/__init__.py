"""Accuracies and their protocols, intervals, unimodal bias, shortcuts and baselines."""

from verite.evaluation.bias import cohens_d, delta_percent
from verite.evaluation.intervals import (
    Interval,
    PairedTest,
    grouped_bootstrap,
    paired_test,
)
from verite.evaluation.perturbations import (
    PERTURBATIONS,
    exchange,
    near_duplicates,
    perturb,
    with_flips,
)
from verite.evaluation.protocols import (
    PROTOCOLS,
    Protocol,
    accuracy,
    protocol_named,
    score,
)
from verite.evaluation.shortcuts import (
    Ceiling,
    Threshold,
    best_threshold,
    length_probe,
    similarity_threshold,
    tfidf_predict,
    tfidf_probe,
    unimodal_ceiling,
)
from verite.evaluation.similarity import (
    SIMILARITY_MODELS,
    ThresholdClassifier,
    evidence_similarity,
    recall_at,
    similarity_baseline,
    similarity_line,
)

__all__ = [
    "PERTURBATIONS",
    "PROTOCOLS",
    "SIMILARITY_MODELS",
    "Ceiling",
    "Interval",
    "PairedTest",
    "Protocol",
    "Threshold",
    "ThresholdClassifier",
    "accuracy",
    "best_threshold",
    "cohens_d",
    "delta_percent",
    "evidence_similarity",
    "exchange",
    "grouped_bootstrap",
    "length_probe",
    "near_duplicates",
    "paired_test",
    "perturb",
    "protocol_named",
    "recall_at",
    "score",
    "similarity_baseline",
    "similarity_line",
    "similarity_threshold",
    "tfidf_predict",
    "tfidf_probe",
    "unimodal_ceiling",
    "with_flips",
]
