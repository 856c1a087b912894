"""Auditing a benchmark.

What it lets a model get away with that sees one modality, or the source, alone.
"""

from verite.audit.core import SCHEMA, Audit, audit
from verite.audit.fix import fix
from verite.audit.probes import ALPHA, PROBES
from verite.audit.reading import Benchmark, read_benchmark

__all__ = [
    "ALPHA",
    "PROBES",
    "SCHEMA",
    "Audit",
    "Benchmark",
    "audit",
    "fix",
    "read_benchmark",
]
