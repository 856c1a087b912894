"""Many claims verified.

Claim by claim on disk, so that a run can stop anywhere, and one that fails does not
stop the rest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from averimatec.claims import Claim, claims_json
from averimatec.models import Model
from averimatec.pipeline.examples import Examples
from averimatec.pipeline.prompts import versions
from averimatec.pipeline.search import Search
from averimatec.pipeline.steps import Steps, Usage
from averimatec.pipeline.verify import Settings, Trace, verify
from averimatec.submission import Evidence, Prediction, write_submission
from verite.blocks import content_key
from verite.errors import ParameterError, VeriteError
from verite.files import atomic_path, sha256, write_json

__all__ = ["Outcome", "verify_claims"]


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes
    ----------
    predictions
        Of the claims that are done, in their order.
    failed
        Why a claim is not done, by its id.
    record
        What stands in ``run.json``.
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
    seeing: Model | None = None,
    files: Mapping[str, Path] | None = None,
    training: Sequence[Claim] = (),
    about: Mapping[str, Any] | None = None,
    workers: int = 1,
) -> Outcome:
    """Verify claims and write what came of it.

    Writes ``claims/``, a trace a claim; ``submission.json`` in the official format, of
    the claims that are done; ``images/``, the pictures that its evidence names; and
    ``run.json``, the record: models, search, settings, prompts, failures, problems, and
    what the replies took. A claim that is done is not done again, unless something that
    its result hangs on has changed. One that failed (a model or a search that gave no
    reply) is tried again by the next run.

    Parameters
    ----------
    model, seeing
        For steps with text alone, and for those with pictures; the same if one is
        given.
    files
        Image files of the claims by name.
    training
        Claims to take demonstrations from.
    about
        More for the record, such as digests of input files. Nothing hangs on it.
    workers
        Claims at a time.

    Raises
    ------
    ParameterError
        Demonstrations are asked for and there is nothing to take them from, or a
        claim's id stands twice.
    """
    chosen = settings or Settings()
    _check(claims, chosen, training, workers)
    looking, known = seeing or model, dict(files or {})
    examples = Examples(training, chosen.shots)
    base: dict[str, Any] = {
        "model": model.name,
        "model for pictures": looking.name,
        "search": (
            search.name
            if chosen.evidence == "search"
            else f"none ({chosen.evidence} evidence)"
        ),
        "settings": asdict(chosen),
        "prompts": versions(),
        "training": content_key(claims_json(training)) if chosen.shots else "",
        "code": _code(),
    }
    lock = threading.Lock()

    def one(claim: Claim) -> dict[str, Any]:
        given = {name: sha256(known[name]) for name in claim.images if name in known}
        key = content_key(base, claim.id, claims_json([claim]), given)
        path = (
            out
            / "claims"
            / f"{hashlib.sha256(claim.id.encode()).hexdigest()[:16]}.json"
        )
        done = _done(path, key, out / "images")
        if done is not None:
            return done
        steps, trace, why = Steps(model, looking, dict(known)), Trace(claim.id), ""
        try:
            verify(claim, steps, search, chosen, examples, trace)
        except (VeriteError, UnicodeError) as error:
            why = f"{type(error).__name__}: {error}"
        with lock:
            _keep_images(trace, steps.files, out / "images")
        row: dict[str, Any] = {
            "claim": claim.id,
            "status": "failed" if why else "done",
            "failure": why,
            "key": key,
            "model": model.name,
        }
        row |= {
            "trace": asdict(trace),
            "problems": steps.problems,
            "usage": asdict(steps.usage),
        }
        row = json.loads(
            json.dumps(row, ensure_ascii=False).encode("utf8", "replace")
        )  # halves of surrogate pairs cannot be written
        write_json(path, row)
        return row

    rows = _all(one, claims, workers)
    traces = {
        claim.id: _read_trace(rows[claim.id])
        for claim in claims
        if rows[claim.id]["status"] == "done"
    }
    predictions = tuple(trace.prediction() for trace in traces.values())
    failed = {
        claim.id: rows[claim.id]["failure"]
        for claim in claims
        if claim.id not in traces
    }
    record = base | _summary(rows, traces, failed) | {"about": dict(about or {})}
    write_submission(out / "submission.json", predictions)
    write_json(out / "run.json", record)
    return Outcome(predictions, failed, record)


def _code() -> str:
    """Digest of the pipeline's own source.

    A claim that other code made is done again.
    """
    folder = Path(__file__).parent
    return content_key(
        {
            path.name: path.read_text(encoding="utf8")
            for path in sorted(folder.glob("*.py"))
        }
    )


def _all(one: Any, claims: Sequence[Claim], workers: int) -> dict[str, dict[str, Any]]:
    if workers == 1:
        return {claim.id: one(claim) for claim in claims}
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(one, claim): claim.id for claim in claims}
        try:
            return {
                futures[future]: future.result() for future in as_completed(futures)
            }
        finally:  # Ctrl-C: what has begun is finished and kept, the rest is left
            for future in futures:
                future.cancel()


def _done(path: Path, key: str, images: Path) -> dict[str, Any] | None:
    """What an earlier run wrote of a claim, if it is done, was made from the same, and
    its pictures are there.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        row: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
        named = [name for item in _read_trace(row).evidence for name in item.images]
        if (
            row["key"] == key
            and row["status"] == "done"
            and all((images / name).is_file() for name in named)
        ):
            return row
    return None


def _read_trace(row: Mapping[str, Any]) -> Trace:
    trace = dict(row["trace"])
    evidence = [
        Evidence(item["text"], tuple(item["images"])) for item in trace.pop("evidence")
    ]
    return Trace(**trace, evidence=evidence)


def _keep_images(trace: Trace, files: Mapping[str, Path], folder: Path) -> None:
    for name in {name for item in trace.evidence for name in item.images}:
        if name in files:
            with atomic_path(folder / name) as temporary:
                temporary.write_bytes(files[name].read_bytes())


def _summary(
    rows: Mapping[str, Mapping[str, Any]],
    traces: Mapping[str, Trace],
    failed: Mapping[str, str],
) -> dict[str, Any]:
    usage = Usage()
    for row in rows.values():
        for name, value in row["usage"].items():
            setattr(usage, name, getattr(usage, name) + value)
    asked = [question for trace in traces.values() for question in trace.questions]
    return {
        "claims": len(rows),
        "done": len(traces),
        "failed": dict(failed),
        "verdicts": dict(
            sorted(
                Counter(trace.verdict or "none" for trace in traces.values()).items()
            )
        ),
        "questions": len(asked),
        "tools": dict(sorted(Counter(question["tool"] for question in asked).items())),
        "unanswered": sum(
            question.get("answer", "").startswith("No answer could be found")
            for question in asked
        ),
        "pages left out as too late": sum(
            len(question.get("late", ())) for question in asked
        ),
        "problems": {
            name: row["problems"] for name, row in rows.items() if row["problems"]
        },
        "usage": asdict(usage),
    }


def _check(
    claims: Sequence[Claim], settings: Settings, training: Sequence[Claim], workers: int
) -> None:
    names = [claim.id for claim in claims]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ParameterError(
            f"claim {twice} stands in the claims more than once. Give each an id of its"
            " own."
        )
    if settings.shots and not any(claim.questions for claim in training):
        raise ParameterError(
            f"{settings.shots} demonstrations are asked for, and there are no training"
            " claims. Give some, or ask for none."
        )
    if settings.evidence == "gold" and (
        bare := [claim.id for claim in claims if not claim.questions]
    ):
        raise ParameterError(
            f"gold evidence: claim {bare[0]} has no questions. Take an annotated split."
        )
    if workers < 1:
        raise ParameterError(f"workers: expected 1 or more, found {workers}.")
