"""A baseline that verifies image-text claims with evidence.

Questions, tools, answers, verdict, justification (paper, section 7).

:func:`verify_claims` runs it, with any :class:`averimatec.Model` and any
:class:`Search`. :class:`RuleModel` stands in for a language model where there is none,
and says so.
"""

from __future__ import annotations

from averimatec.pipeline.bm25 import BM25, chunks
from averimatec.pipeline.command import run_files
from averimatec.pipeline.examples import Examples
from averimatec.pipeline.rules import RuleModel
from averimatec.pipeline.runs import Outcome, verify_claims
from averimatec.pipeline.search import Picture, Search, StoreSearch
from averimatec.pipeline.steps import Steps
from averimatec.pipeline.tools import TOOLS, Found, Passage, find
from averimatec.pipeline.verify import EVIDENCE, STRATEGIES, Settings, Trace, verify
from averimatec.pipeline.web import SearchError, WebSearch

__all__ = [
    "BM25",
    "EVIDENCE",
    "STRATEGIES",
    "TOOLS",
    "Examples",
    "Found",
    "Outcome",
    "Passage",
    "Picture",
    "RuleModel",
    "Search",
    "SearchError",
    "Settings",
    "Steps",
    "StoreSearch",
    "Trace",
    "WebSearch",
    "chunks",
    "find",
    "run_files",
    "verify",
    "verify_claims",
]
