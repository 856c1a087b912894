"""Scoring a file of predictions.

Every protocol in use, with intervals, from ids and labels alone.
"""

from verite.scoring.benchmark import (
    BENCHMARKS,
    Benchmark,
    Matched,
    match,
    open_benchmark,
)
from verite.scoring.measures import compare, consistency, measure, scorable
from verite.scoring.predictions import (
    ID_COLUMNS,
    PREDICTION_COLUMNS,
    SPELLINGS,
    read_predictions,
)
from verite.scoring.report import check_free, model_card, readable, tidy, write_scores
from verite.scoring.scores import MISSING, Scores, score_predictions

__all__ = [
    "BENCHMARKS",
    "ID_COLUMNS",
    "MISSING",
    "PREDICTION_COLUMNS",
    "SPELLINGS",
    "Benchmark",
    "Matched",
    "Scores",
    "check_free",
    "compare",
    "consistency",
    "match",
    "measure",
    "model_card",
    "open_benchmark",
    "read_predictions",
    "readable",
    "scorable",
    "score_predictions",
    "tidy",
    "write_scores",
]
