"""From files to a run: what ``verite averimatec run`` does, and what it says on a
terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from averimatec.claims import image_files, read_claims
from averimatec.models import Model
from averimatec.pipeline.runs import Outcome, verify_claims
from averimatec.pipeline.search import Search, StoreSearch
from averimatec.pipeline.verify import Settings
from averimatec.store import Store, read_store
from verite.errors import ParameterError, name_some
from verite.files import sha256

__all__ = ["readable", "run_files"]


def run_files(
    claims: Path,
    out: Path,
    model: Model,
    *,
    settings: Settings,
    store: Path | None = None,
    search: Search | None = None,
    images: Path | None = None,
    training: Path | None = None,
    limit: int = 0,
    about: Mapping[str, Any] | None = None,
    seeing: Model | None = None,
    encoder: Any = None,
    workers: int = 1,
) -> list[str]:
    """Verify the claims of a file with a knowledge store or another search.

    Lines for a terminal.

    Parameters
    ----------
    store, search
        One of them. Neither is needed if evidence is not searched for.
    limit
        How many claims, from the first one on; 0 for all.
    encoder
        A CLIP for the store's pictures; perceptual hashes otherwise.

    Raises
    ------
    ParameterError
        There is nothing to search in, or the folder holds something else.
    DataError, MissingDataError
        Files cannot be read.
    """
    if (out / "made.json").exists() or (out / "train.json").exists():
        raise ParameterError(f"{out} holds claims. Choose another folder for the run.")
    chosen = read_claims(claims)
    found = search
    if found is None:
        if store is None and settings.evidence == "search":
            raise ParameterError(
                "where to search? Name a knowledge store, or choose gold or no"
                " evidence."
            )
        found = StoreSearch(
            read_store(store) if store else Store(()),
            undated=settings.undated,
            encoder=encoder,
        )
    inputs = {path.name: sha256(path) for path in (claims, training) if path}
    outcome = verify_claims(
        chosen[:limit] if limit else chosen,
        found,
        model,
        out,
        settings=settings,
        seeing=seeing,
        files=image_files(images) if images else None,
        training=read_claims(training) if training else (),
        about={**(about or {}), "inputs": inputs},
        workers=workers,
    )
    return [
        *readable(outcome),
        "",
        *(
            f"{name}: {out / name}"
            for name in ("submission.json", "run.json", "claims", "images")
        ),
    ]


def readable(outcome: Outcome) -> list[str]:
    """A run as lines for a terminal."""
    record = outcome.record
    used = record["usage"]
    lines = [
        f"model:    {record['model']}",
        f"search:   {record['search']}",
        (
            f"strategy: {record['settings']['strategy']}, evidence:"
            f" {record['settings']['evidence']}"
        ),
        f"claims:   {record['done']:,} done, {len(outcome.failed):,} failed",
        f"verdicts: {_counts(record['verdicts'])}",
        (
            f"tools:    {_counts(record['tools'])}; {record['unanswered']:,} of"
            f" {record['questions']:,} questions without an answer"
        ),
        (
            f"replies:  {used['replies']:,}, {used['tokens_in'] + used['tokens_out']:,}"
            f" tokens, cost {used['cost']:.4g}"
        ),
    ]
    problems = record["problems"]
    if problems:
        count = sum(len(each) for each in problems.values())
        first = next(iter(problems.values()))[0]
        lines.append(
            f"problems: {count:,} (claims {name_some(problems)}), such as: {first}"
        )
    if outcome.failed:
        name, why = next(iter(outcome.failed.items()))
        lines.append(f"failed:   claims {name_some(outcome.failed)}; {name}: {why}")
        lines.append(
            "          what was found is kept; run the same command to try them again"
        )
    return lines


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counted.items()) or "none"
