"""Many claims verified, one resumable block each; a failed one stops no other."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from averimatec.claims import Claim, claims_json
from averimatec.models import Model
from averimatec.pipeline.search import Search
from averimatec.pipeline.steps import Steps, Usage, unanswered
from averimatec.pipeline.verify import Examples, Settings, Trace, usable, verify
from averimatec.prompts import versions as prompt_versions
from averimatec.submission import Evidence, Prediction, write_submission
from verite.blocks import content_key, run_blocks
from verite.errors import DataError, ParameterError, VeriteError
from verite.files import atomic_path, read_text, sha256, write_json
from verite.provenance import code_digest, commit, versions


@dataclass(frozen=True)
class Outcome:
    """Results of a run.

    Attributes
    ----------
    predictions
        Of the claims that are done, in their order.
    failed
        Reasons of the claims that failed, by id.
    record
        Content of ``run.json``.
    """

    predictions: tuple[Prediction, ...]
    failed: Mapping[str, str]
    record: Mapping[str, Any]


def verify_claims(
    claims: Sequence[Claim],
    search: Search,
    model: Model,
    out: Path,
    *,
    settings: Settings | None = None,
    files: Mapping[str, Path] | None = None,
    training: Sequence[Claim] = (),
) -> Outcome:
    """Verify claims and write the results.

    Writes ``claims/``, one trace per claim; ``submission.json`` in the official format,
    of the claims that are done; ``images/``, the pictures that its evidence names; and
    ``run.json``, the record: model, search, settings, prompts, failures, problems, and
    what the replies took. The next run skips claims that are done, unless something
    that the result depends on has changed, and retries failed ones (no reply from a
    model or a search).

    Parameters
    ----------
    files
        Image files of the claims by name.
    training
        Claims to take demonstrations from.
    """
    settings = settings or Settings()
    _check(claims, settings, training)
    known = dict(files or {})
    examples = Examples(training, settings.shots)
    source = search.name
    if settings.evidence != "search":
        source = f"none ({settings.evidence} evidence)"
    folder = Path(__file__).parent
    base: dict[str, Any] = {
        "model": model.name,
        "search": source,
        "settings": asdict(replace(settings, workers=1)),
        "prompts": prompt_versions(),
        "training": content_key(claims_json(training)) if settings.shots else "",
        "code": content_key(
            {path.name: code_digest(path) for path in sorted(folder.glob("*.py"))}
        ),
    }
    blocks = {}
    for claim in claims:
        images = {name: sha256(known[name]) for name in claim.images if name in known}
        blocks[content_key(base, claim.id, claims_json([claim]), images)] = (claim,)
    lock = threading.Lock()

    def work(claim: Claim) -> dict[str, Any]:
        own, problems = dict(known), list[str]()
        shown = claim.images[: settings.images]
        shown = tuple(name for name in shown if usable(name, own, problems))
        steps = Steps(claim, shown, model, own, problems=problems)
        trace, failure = Trace(claim.id), ""
        try:
            verify(steps, search, settings, examples, trace)
        except VeriteError as error:
            failure = f"{type(error).__name__}: {error}"
        with lock:
            _keep_images(trace, own, out / "images")
        return {
            "claim": claim.id,
            "status": "failed" if failure else "done",
            "failure": failure,
            "model": model.name,
            "trace": asdict(trace),
            "problems": problems,
            "usage": asdict(steps.usage),
        }

    _remove_outdated(out / "claims", blocks)
    with ThreadPoolExecutor(settings.workers) as pool:
        rows = run_blocks(
            work,
            blocks,
            directory=out / "claims",
            executor=pool if settings.workers > 1 else None,
        )
    rows = {row["claim"]: row for row in rows.values()}
    failed = {name: row["failure"] for name, row in rows.items() if row["failure"]}
    traces = {
        name: _trace(row["trace"]) for name, row in rows.items() if name not in failed
    }
    predictions = tuple(trace.prediction() for trace in traces.values())
    about = {"commit": commit(), "versions": versions()}
    record = base | _summary(rows, traces) | {"failed": failed, "about": about}
    write_submission(out / "submission.json", predictions)
    write_json(out / "run.json", record)
    return Outcome(predictions, failed, record)


def _check(
    claims: Sequence[Claim], settings: Settings, training: Sequence[Claim]
) -> None:
    counts = Counter(claim.id for claim in claims)
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise ParameterError(f"duplicate claim ids: {', '.join(repeated[:5])}.")
    if settings.shots and not any(claim.questions for claim in training):
        raise ParameterError(
            f"{settings.shots} demonstrations need training claims with questions."
        )
    bare = [claim.id for claim in claims if not claim.questions]
    if settings.evidence == "gold" and bare:
        raise ParameterError(f"gold evidence: claim {bare[0]} has no questions.")


def _remove_outdated(folder: Path, keys: Collection[str]) -> None:
    """Remove traces of other settings, and of failed claims, which are retried."""
    for path in folder.glob("*.json"):
        try:
            failed = json.loads(read_text(path))["result"]["status"] == "failed"
        except (DataError, ValueError, KeyError, TypeError):
            failed = True  # damaged
        if failed or path.stem not in keys:
            path.unlink()


def _trace(row: Mapping[str, Any]) -> Trace:
    evidence = [Evidence(x["text"], tuple(x["images"])) for x in row["evidence"]]
    return Trace(**{**row, "evidence": evidence})


def _keep_images(trace: Trace, files: Mapping[str, Path], folder: Path) -> None:
    for name in {name for item in trace.evidence for name in item.images}:
        if name in files:
            with atomic_path(folder / name) as temporary:
                temporary.write_bytes(files[name].read_bytes())


def _summary(
    rows: Mapping[str, Mapping[str, Any]], traces: Mapping[str, Trace]
) -> dict[str, Any]:
    usage = asdict(Usage())
    for row in rows.values():
        usage = {name: usage[name] + value for name, value in row["usage"].items()}
    questions = [question for trace in traces.values() for question in trace.questions]
    verdicts = Counter(trace.verdict or "none" for trace in traces.values())
    tools = Counter(question["tool"] for question in questions)
    return {
        "claims": len(rows),
        "done": len(traces),
        "verdicts": dict(sorted(verdicts.items())),
        "questions": len(questions),
        "tools": dict(sorted(tools.items())),
        "unanswered": sum(unanswered(q.get("answer", "")) for q in questions),
        "pages left out as too late": sum(len(q.get("late", ())) for q in questions),
        "problems": {k: row["problems"] for k, row in rows.items() if row["problems"]},
        "usage": usage,
    }
