"""Time and memory to score as many claims as AVerImaTeC has, without a model.

Claims and pictures are the newsroom's; the submission is the annotated evidence without
every tenth word. Run it on an idle machine: ``python benchmarks/averimatec.py``.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from averimatec import (
    Evidence,
    LexicalJudge,
    Prediction,
    image_files,
    make_claims,
    reference_evidence,
    score_submission,
)
from averimatec.claims import Claim


def worn(text: str) -> str:
    """A text without every tenth word."""
    return " ".join(word for at, word in enumerate(text.split(), 1) if at % 10)


def said(claim: Claim) -> Prediction:
    """What a system would hand in that found everything, in slightly fewer words."""
    evidence = tuple(
        Evidence(worn(item.text), item.images) for item in reference_evidence(claim)
    )
    return Prediction(
        claim.id,
        tuple(worn(one.text) for one in claim.questions),
        evidence,
        claim.label,
        worn(claim.justification),
    )


def main() -> None:
    """Make claims, score them, print seconds and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=1300, help="how many")
    count = parser.parse_args().claims
    with tempfile.TemporaryDirectory() as folder:
        made = make_claims(Path(folder), claims=2 * count)
        claims, files = made.splits["train"], image_files(made.images)
        begin = time.perf_counter()
        scores = score_submission(
            claims, [said(claim) for claim in claims], LexicalJudge(), files=files
        )
        seconds = time.perf_counter() - begin
    recall = scores.table.query(
        "convention == 'official' and group == 'all' and mode == 'separated' and metric"
        " == 'evidence recall'"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )
    print(
        f"{len(claims):,} claims, three modes, both conventions, intervals:"
        f" {seconds:.1f} s, peak {peak:,.0f} MB"
    )
    print(
        f"evidence recall of the worn evidence: {recall['value'].iloc[0]:.3f},"
        f" problems: {len(scores.problems)}"
    )


if __name__ == "__main__":
    main()
