"""A baseline that verifies image-text claims with evidence (paper, section 7).

:func:`verify_claims` runs it, with any :class:`averimatec.Model` and any
:class:`Search`. :class:`RuleModel` replaces a language model where there is none.
"""

from __future__ import annotations

from averimatec.pipeline.rules import RuleModel
from averimatec.pipeline.runs import Outcome, verify_claims
from averimatec.pipeline.search import Picture, Search, StoreSearch
from averimatec.pipeline.verify import EVIDENCE, STRATEGIES, Settings
from averimatec.pipeline.web import SearchError, WebSearch

__all__ = [
    "EVIDENCE",
    "STRATEGIES",
    "Outcome",
    "Picture",
    "RuleModel",
    "Search",
    "SearchError",
    "Settings",
    "StoreSearch",
    "WebSearch",
    "verify_claims",
]
