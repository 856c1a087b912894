"""The audit: everything that is looked at, in order, and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from verite.audit import findings
from verite.audit.findings import Near
from verite.audit.images import ImageFile, read_files
from verite.audit.probes import MOST_COLUMNS, PROBES, list_probes
from verite.audit.reading import Benchmark
from verite.audit.run import Plan, run_probes, with_holm
from verite.audit.suspects import suspects
from verite.audit.verdicts import verdicts
from verite.errors import ParameterError
from verite.similar import (
    SAME_CAPTION,
    SAME_IMAGE,
    near_captions,
    near_hashes,
    near_images,
)

__all__ = ["SCHEMA", "Audit", "audit"]

SCHEMA = "verite-audit-1"
"""Name and version of the JSON's shape; a change that breaks readers raises it."""

# fmt: off
_PROBE_COLUMNS = [
    "probe", "modality", "accuracy", "low", "high", "chance", "balanced_accuracy",
    "balanced_low", "balanced_high", "balanced_chance", "p_value", "holm", "fires",
    "explained_by", "permutations", "n", "items", "groups", "carriers",
]
# fmt: on


@dataclass(frozen=True)
class Audit:
    """What a benchmark lets a unimodal model get away with.

    Attributes
    ----------
    labels
        Rows by ``split`` and ``label``.
    multiplicity, ceilings, leaks, thresholds, alignment
        See the functions of these names in :mod:`verite.audit.findings`.
    near
        Near-duplicates by modality: ``first``, ``second``, ``similarity``.
    probes
        One row per probe: ``accuracy`` under grouped cross-validation with a 95 %
        interval ``low`` to ``high``, ``chance`` (share of the largest label); the same
        for balanced accuracy, where chance is one over the number of labels;
        ``p_value`` of a permutation test that refits (:mod:`verite.audit.permutation`),
        Holm's adjustment over all probes, whether the probe ``fires``, which narrow
        probes it is ``explained_by`` (:func:`verite.audit.run.run_probes`), and its
        ``carriers``, the features that matter most.
    skipped
        Why a probe was not fitted, by its name.
    suspects
        Rows to look at: ``pair_id``, ``problem``, ``evidence``, ``suggestion``.
    verdicts
        One sentence by modality: ``text``, ``image``, ``source``.
    about
        Name, notes, digests, parameters, seed.
    """

    labels: pd.DataFrame
    multiplicity: pd.DataFrame
    ceilings: pd.DataFrame
    leaks: pd.DataFrame
    thresholds: pd.DataFrame
    near: Near
    probes: pd.DataFrame
    skipped: Mapping[str, str]
    suspects: pd.DataFrame
    verdicts: Mapping[str, str]
    alignment: Mapping[str, Any] | None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def firing(self) -> list[str]:
        """Names of the probes that fire."""
        return [str(name) for name in self.probes.loc[self.probes["fires"], "probe"]]

    def to_json(self) -> dict[str, Any]:
        """Everything but texts of the data, as JSON can hold it.

        Tables are lists of objects; None is a missing number.
        """
        problems = self.suspects["problem"].value_counts().sort_index()
        return {
            "schema": SCHEMA,
            "about": dict(self.about),
            "verdicts": dict(self.verdicts),
            "labels": _to_records(self.labels),
            "multiplicity": _to_records(self.multiplicity),
            "ceilings": _to_records(self.ceilings),
            "leaks": _to_records(self.leaks),
            "thresholds": _to_records(self.thresholds),
            "near_duplicates": {name: len(table) for name, table in self.near.items()},
            "probes": _to_records(self.probes),
            "skipped": dict(self.skipped),
            "alignment": None if self.alignment is None else dict(self.alignment),
            "suspects": {str(name): int(count) for name, count in problems.items()},
        }


def audit(
    benchmark: Benchmark,
    *,
    probes: Sequence[str] = PROBES,
    folds: int = 5,
    seed: int = 0,
    resamples: int = 2000,
    permutations: int = 1000,
    same_picture: float = SAME_IMAGE,
    same_caption: float = SAME_CAPTION,
    progress: bool | None = False,
) -> Audit:
    """Audit a benchmark.

    Parameters
    ----------
    benchmark
        From :func:`verite.audit.read_benchmark` or :meth:`verite.audit.Benchmark.of`.
    probes
        Which families of probes to fit, of :data:`verite.audit.PROBES`.
    folds
        Folds of the cross-validation, 2 or more; groups stay whole. Fewer where there
        are fewer groups.
    seed
        Of folds, permutations and resamples: the same seed gives the same audit.
    resamples
        Of the bootstrap.
    permutations
        Of each test, 200 to 1,999: p is at least 2 over one more than this.
    same_picture, same_caption
        From which cosine two images, and from which Jaccard similarity two captions,
        count as near-duplicates.
    progress
        Whether to show a bar; None shows it on a terminal only.

    Raises
    ------
    ParameterError
        A parameter is out of range, or a probe unknown.

    >>> from verite.datasets import load
    >>> world = load("newsroom", events=40, encoder=None, giveaway_rate=1.0)
    >>> audit(Benchmark.of(world), probes=["first words"], permutations=200).firing
    ['first words']
    """
    _check_range("folds", folds, 2, 1000)
    _check_range("seed", seed, 0, 2**63)
    _check_range("resamples", resamples, 1, 10**6)
    _check_range("permutations", permutations, 200, 1999)
    plan = Plan(int(folds), int(seed), int(resamples), int(permutations))
    bar = tqdm(
        desc="audit", unit="step", disable=None if progress is None else not progress
    )

    def step(name: str) -> None:
        bar.set_postfix_str(name, refresh=False)
        bar.update(1)

    with bar:
        step("near-duplicates")
        near, files, notes = _near_duplicates(benchmark, same_picture, same_caption)
        chosen = list_probes(benchmark, files, probes)
        bar.total = len(chosen) + 2
        results, skipped = run_probes(benchmark, chosen, plan, step)
        for name in benchmark.source.columns[MOST_COLUMNS:]:
            skipped[f"column {name}"] = f"only the first {MOST_COLUMNS} columns are"
        step("counting")
        table = pd.DataFrame(columns=_PROBE_COLUMNS).astype({"fires": bool})
        if results:
            table = with_holm(pd.DataFrame(results))[_PROBE_COLUMNS]
        cosines = benchmark.cosines()
        limits = findings.ceilings(benchmark, near)
        return Audit(
            labels=findings.label_counts(benchmark),
            multiplicity=findings.multiplicity(benchmark),
            ceilings=limits,
            leaks=findings.leaks(benchmark, near),
            thresholds=findings.thresholds(benchmark, cosines),
            near=near,
            probes=table,
            skipped=skipped,
            suspects=suspects(benchmark, near),
            verdicts=verdicts(table, limits),
            alignment=findings.alignment(benchmark, cosines, plan.seed),
            about={
                "benchmark": benchmark.name,
                "rows": len(benchmark.pairs),
                "groups": int(benchmark.pairs["group"].nunique()),
                "notes": [*benchmark.notes, *notes],
                "files": dict(benchmark.digests),
                "parameters": {
                    **asdict(plan),
                    "same_picture": same_picture,
                    "same_caption": same_caption,
                    "probes": list(probes),
                },
            },
        )


def _check_range(name: str, value: object, low: int, high: int) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not low <= int(value) <= high:  # type: ignore[call-overload]
        raise ParameterError(
            f"audit: expected {name} to be a whole number from {low} to {high:,}, found"
            f" {value!r}."
        )


def _near_duplicates(
    benchmark: Benchmark, same_picture: float, same_caption: float
) -> tuple[Near, dict[str, ImageFile], list[str]]:
    """Near-duplicates, the image files, and notes."""
    pairs = benchmark.pairs
    captions = pairs["caption"].unique()
    texts = near_captions(list(captions), same_caption)
    for side in ("first", "second"):
        texts[side] = captions[texts[side].to_numpy(dtype=int)]
    named = pairs[pairs["image_id"] != ""].drop_duplicates("image_id")
    files: dict[str, ImageFile] = {}
    notes: list[str] = []
    if benchmark.folder is not None:
        paths = dict(zip(named["image_id"], named["image_path"], strict=True))
        files, bad = read_files(benchmark.folder, paths)
        if bad:
            notes.append(
                f"images: {len(bad):,} of {len(paths):,} files in"
                f" {benchmark.folder.name} could not be read, such as {bad[0]}"
            )
    if benchmark.images is not None and len(named) > 1:
        images = near_images(benchmark.images, list(named["image_id"]), same_picture)
    else:
        images = near_hashes({name: file.hash for name, file in files.items()})
    return {"image": images, "text": texts}, files, notes


def _to_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(name): _to_json(value) for name, value in row.items()}
        for row in table.to_dict("records")
    ]


def _to_json(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
