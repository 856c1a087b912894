"""Scoring a file of predictions under every protocol, from ids and labels alone."""

from verite.scoring.benchmark import BENCHMARKS, Benchmark, match, open_benchmark
from verite.scoring.measures import compare, consistency, find_unscorable, measure
from verite.scoring.predictions import read_predictions
from verite.scoring.report import check_output, model_card, readable, write_scores
from verite.scoring.scores import MISSING, Scores, score_predictions

__all__ = [
    "BENCHMARKS",
    "MISSING",
    "Benchmark",
    "Scores",
    "check_output",
    "compare",
    "consistency",
    "find_unscorable",
    "match",
    "measure",
    "model_card",
    "open_benchmark",
    "read_predictions",
    "readable",
    "score_predictions",
    "write_scores",
]
