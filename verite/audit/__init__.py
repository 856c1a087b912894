"""Auditing a benchmark: what it lets a model get away with that sees one modality."""

from verite.audit.auditing import SCHEMA, Audit, audit
from verite.audit.probes import PROBES
from verite.audit.reading import Benchmark, read_benchmark
from verite.audit.report import render
from verite.audit.run import ALPHA
from verite.audit.suspects import fix

__all__ = [
    "ALPHA",
    "PROBES",
    "SCHEMA",
    "Audit",
    "Benchmark",
    "audit",
    "fix",
    "read_benchmark",
    "render",
]
