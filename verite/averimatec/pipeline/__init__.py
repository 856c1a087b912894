"""A baseline that verifies image-text claims with evidence: questions, tools, answers, verdict, justification (paper, section 7).

:func:`verify_claims` runs it, with any :class:`verite.averimatec.Model` and any :class:`Search`. :class:`RuleModel` stands in
for a language model where there is none, and says so.
"""

from __future__ import annotations

from verite.averimatec.pipeline.bm25 import BM25, chunks
from verite.averimatec.pipeline.command import run_files
from verite.averimatec.pipeline.examples import Examples
from verite.averimatec.pipeline.rules import RuleModel
from verite.averimatec.pipeline.runs import Outcome, verify_claims
from verite.averimatec.pipeline.search import Picture, Search, StoreSearch
from verite.averimatec.pipeline.steps import Steps
from verite.averimatec.pipeline.tools import TOOLS, Found, Passage, find
from verite.averimatec.pipeline.verify import EVIDENCE, STRATEGIES, Settings, Trace, verify
from verite.averimatec.pipeline.web import SearchError, WebSearch

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
