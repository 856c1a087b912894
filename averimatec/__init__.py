"""AVerImaTeC: image-text claims verified with evidence from the web, and their scoring.

:func:`read_claims` and :func:`make_claims` give claims, :func:`read_store` pages to
verify them by, :func:`score_submission` scores a system's output by a
:class:`LexicalJudge` or a :class:`ModelJudge`, :func:`check_judge` checks the judge.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from averimatec.agreement import fleiss_kappa, randolph_kappa, rating_counts
    from averimatec.claims import (
        VERDICTS,
        Answer,
        Claim,
        Question,
        image_files,
        read_claims,
        write_claims,
    )
    from averimatec.conventions import MODES
    from averimatec.corpus import (
        duplicate_claims,
        late_evidence,
        split_order,
        statistics,
    )
    from averimatec.judges import LexicalJudge, ModelJudge
    from averimatec.made import MadeClaims, make_claims
    from averimatec.models import (
        CachedModel,
        EndpointModel,
        Model,
        ModelError,
        Reply,
        ScriptedModel,
    )
    from averimatec.newsdesk import RECIPES
    from averimatec.robustness import CHECKS, check_judge
    from averimatec.scoring import LAMBDAS, Scores, score_submission
    from averimatec.store import Page, Store, read_store, write_store
    from averimatec.submission import (
        Evidence,
        Prediction,
        read_submission,
        reference_evidence,
        write_submission,
    )

__all__ = [
    "CHECKS",
    "LAMBDAS",
    "MODES",
    "RECIPES",
    "VERDICTS",
    "Answer",
    "CachedModel",
    "Claim",
    "EndpointModel",
    "Evidence",
    "LexicalJudge",
    "MadeClaims",
    "Model",
    "ModelError",
    "ModelJudge",
    "Page",
    "Prediction",
    "Question",
    "Reply",
    "Scores",
    "ScriptedModel",
    "Store",
    "check_judge",
    "duplicate_claims",
    "fleiss_kappa",
    "image_files",
    "late_evidence",
    "make_claims",
    "randolph_kappa",
    "rating_counts",
    "read_claims",
    "read_store",
    "read_submission",
    "reference_evidence",
    "score_submission",
    "split_order",
    "statistics",
    "write_claims",
    "write_store",
    "write_submission",
]

_MODULES = (
    *("claims", "conventions", "submission", "store", "models", "newsdesk", "made"),
    *("agreement", "corpus", "judges", "scoring", "robustness"),
)
"""Where public names are defined, modules that import quickly first."""


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that commands start quickly."""
    if name in __all__:
        for module in map(import_module, (f"{__name__}.{part}" for part in _MODULES)):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module 'averimatec' has no attribute {name!r}")
