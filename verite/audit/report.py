"""The audit as one HTML page without scripts, fonts or links to other hosts.

The template escapes all text of the data and isolates its direction (``bdi``), so that
neither markup nor right-to-left text in a caption can change the page around it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined

from verite.audit.auditing import Audit
from verite.audit.verdicts import describe_carrier

__all__ = ["render"]

_MOST_SUSPECTS = 100
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def render(audit: Audit) -> str:
    """Write the page of an audit.

    Captions occur only as evidence, in the first 100 suspects.
    """
    environment = Environment(
        loader=PackageLoader("verite.audit"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["printable"] = lambda value: _CONTROL.sub("\ufffd", str(value))
    problems = audit.suspects["problem"].value_counts().rename_axis("problem")
    return environment.get_template("report.html").render(
        audit=audit,
        warnings=_warnings(audit),
        problems=problems.reset_index(name="rows"),
        describe=describe_carrier,
        most=_MOST_SUSPECTS,
        skipped=_lines(audit.skipped),
        parameters=_lines(audit.about["parameters"]),
        digests=_lines(audit.about["files"]),
    )


def _warnings(audit: Audit) -> list[str]:
    """What makes all other results doubtful."""
    notes = audit.about["notes"]
    warnings = [note for note in notes if note.startswith(("reindexed", "left out"))]
    if audit.alignment is not None and not audit.alignment["seem"]:
        warnings.append(
            "captions fit their own images no better than those of other rows (mean"
            f" cosine {audit.alignment['own']:.3f} against"
            f" {audit.alignment['other']:.3f}): table and vectors may be of different"
            " orders"
        )
    return warnings


def _lines(items: Mapping[str, object]) -> list[str]:
    return [f"{key}: {value}" for key, value in items.items()]
