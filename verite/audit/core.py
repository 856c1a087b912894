"""The audit itself: everything that is looked at, in order, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from verite.audit.alignment import alignment, cosines
from verite.audit.counting import Near, ceilings, leaks, multiplicity, thresholds
from verite.audit.images import ImageFile, read_files
from verite.audit.probes import (
    MOST_COLUMNS,
    PROBES,
    is_chosen,
    list_probes,
    run_probes,
    with_holm,
)
from verite.audit.reading import Benchmark
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
"""Name and version of the JSON's shape.

A change that breaks readers raises the number.
"""

_PROBE_COLUMNS = [
    "probe", "modality", "accuracy", "low", "high", "chance", "balanced_accuracy", "balanced_low", "balanced_high", "balanced_chance",
    "p_value", "holm", "fires", "explained_by", "permutations", "n", "items", "groups", "carriers",
]  # fmt: skip


@dataclass(frozen=True)
class Audit:
    """What a benchmark lets a one-eyed model get away with.

    Attributes
    ----------
    labels
        Rows by label, and by split where there are splits: ``split``, ``label``,
        ``rows``.
    multiplicity, ceilings, leaks, thresholds
        See the functions of these names in :mod:`verite.audit.counting`.
    near
        Near-duplicates by modality: ``first``, ``second``, ``similarity``.
    probes
        One row a probe: ``accuracy`` under grouped cross-validation with a 95 %
        interval ``low`` to ``high``, ``chance`` (share of the largest label); the same
        for balanced accuracy, where chance is one over the number of labels;
        ``p_value`` of a permutation test that refits (:mod:`verite.audit.permuting`
        says what is permuted), Holm's adjustment over all probes, whether the probe
        ``fires``, which narrow probes it is ``explained_by``
        (:func:`verite.audit.probes.run_probes`), and the features that ``carriers``
        names. ``similarity`` looks at both modalities: it is a reference line, and
        never fires.
    skipped
        Why a probe was not fitted, by its name.
    suspects
        Rows to look at: ``pair_id``, ``problem``, ``evidence``, ``suggestion``.
    verdicts
        One sentence by modality: ``text``, ``image``, ``source``.
    alignment
        Mean cosine of image and caption in their own pairs and in pairs of the next
        row, and whether table and vectors ``seem`` to belong together; None without
        vectors of both.
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

        Tables as lists of objects, None where there is no number.
        """
        problems = self.suspects["problem"].value_counts().sort_index()
        return {
            "schema": SCHEMA,
            "about": dict(self.about),
            "verdicts": dict(self.verdicts),
            "labels": _records(self.labels),
            "multiplicity": _records(self.multiplicity),
            "ceilings": _records(self.ceilings),
            "leaks": _records(self.leaks),
            "thresholds": _records(self.thresholds),
            "near_duplicates": {name: len(table) for name, table in self.near.items()},
            "probes": _records(self.probes),
            "skipped": dict(self.skipped),
            "alignment": None if self.alignment is None else dict(self.alignment),
            "suspects": {str(name): int(count) for name, count in problems.items()},
        }

    def html(self) -> str:
        """One page that needs nothing else: see :mod:`verite.audit.page`."""
        from verite.audit.page import page

        return page(self)


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
        As :func:`verite.audit.read_benchmark` or :meth:`verite.audit.Benchmark.of`
        gives it.
    probes
        Which families of probes to fit, of :data:`verite.audit.PROBES`.
    folds
        Folds of the cross-validation, 2 or more; groups stay whole. Fewer where there
        are fewer groups.
    seed
        Decides folds, permutations and resamples: the same seed gives the same audit.
    resamples
        Of the bootstrap.
    permutations
        Of each test, 200 to 1,999: p cannot be less than 2 over one more than this.
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
    >>> found = audit(Benchmark.of(load("newsroom", events=40, encoder=None, giveaway_rate=1.)), probes=["first words"], permutations=200)
    >>> found.firing
    ['first words']
    """
    _check(
        folds=(folds, 2, 1000),
        seed=(seed, 0, 2**63),
        resamples=(resamples, 1, 10**6),
        permutations=(permutations, 200, 1999),
    )
    from tqdm import tqdm

    with tqdm(
        desc="audit", unit="step", disable=None if progress is None else not progress
    ) as bar:
        near, files, notes = _near(
            benchmark, same_picture, same_caption, _step(bar, "near-duplicates")
        )
        chosen = [
            probe
            for probe in list_probes(benchmark, files, probes)
            if is_chosen(probe, probes)
        ]
        bar.total = len(chosen) + 3
        results, skipped = run_probes(
            benchmark,
            chosen,
            lambda name: _step(bar, name)(""),
            folds=folds,
            seed=seed,
            resamples=resamples,
            permutations=permutations,
        )
        skipped |= {
            f"column {name}": f"only the first {MOST_COLUMNS} columns are"
            for name in benchmark.source.columns[MOST_COLUMNS:]
        }
        _step(bar, "counting")("")
        table = (
            with_holm(pd.DataFrame(results))
            if results
            else pd.DataFrame(columns=_PROBE_COLUMNS).astype({"fires": bool})
        )
        cosine = cosines(benchmark)
        limits = ceilings(benchmark, near)
        done = Audit(
            labels=_labels(benchmark),
            multiplicity=multiplicity(benchmark),
            ceilings=limits,
            leaks=leaks(benchmark, near),
            thresholds=thresholds(benchmark, cosine),
            near=near,
            probes=table[_PROBE_COLUMNS],
            skipped=skipped,
            suspects=suspects(benchmark, near),
            verdicts=verdicts(table, limits),
            alignment=alignment(benchmark, cosine, seed),
            about={
                "benchmark": benchmark.name,
                "rows": len(benchmark.pairs),
                "groups": int(benchmark.pairs["group"].nunique()),
                "notes": [*benchmark.notes, *notes],
                "files": dict(benchmark.digests),
                "parameters": {
                    "folds": folds,
                    "seed": seed,
                    "resamples": resamples,
                    "permutations": permutations,
                    "same_picture": same_picture,
                    "same_caption": same_caption,
                    "probes": list(probes),
                },
            },
        )
        _step(bar, "done")("")
    return done


def _check(**limits: tuple[int, int, int]) -> None:
    for name, (value, least, most) in limits.items():
        if (
            isinstance(value, bool)
            or not isinstance(value, int | np.integer)
            or not least <= value <= most
        ):
            raise ParameterError(
                f"audit: expected {name} to be a whole number from {least} to {most:,},"
                f" found {value!r}."
            )


def _step(bar: Any, name: str) -> Callable[[str], None]:
    def say(_: str) -> None:
        bar.set_postfix_str(name, refresh=False)
        bar.update(1)

    return say


def _near(
    benchmark: Benchmark,
    same_picture: float,
    same_caption: float,
    done: Callable[[str], None],
) -> tuple[Near, dict[str, ImageFile], list[str]]:
    captions = benchmark.pairs["caption"].unique()
    texts = near_captions(list(captions), same_caption)
    texts = (
        texts.assign(first=captions[texts["first"]], second=captions[texts["second"]])
        if len(texts)
        else texts
    )
    named = benchmark.pairs[benchmark.pairs["image_id"] != ""].drop_duplicates(
        "image_id"
    )
    files: dict[str, ImageFile] = {}
    notes: list[str] = []
    if benchmark.folder is not None:
        files, bad = read_files(
            benchmark.folder,
            dict(zip(named["image_id"], named["image_path"], strict=True)),
        )
        if bad:
            notes.append(
                f"images: {len(bad):,} of {len(named):,} files in"
                f" {benchmark.folder.name} could not be read, such as {bad[0]}"
            )
    images = pd.DataFrame(columns=["first", "second", "similarity"])
    if benchmark.images is not None and len(named) > 1:
        images = near_images(benchmark.images, list(named["image_id"]), same_picture)
    elif files:
        images = near_hashes({name: file.hash for name, file in files.items()})
    done("")
    return {"image": images, "text": texts}, files, notes


def _labels(benchmark: Benchmark) -> pd.DataFrame:
    counts = benchmark.pairs.groupby(["split", "label"]).size()
    return counts.rename("rows").reset_index()


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(key): _value(value) for key, value in row.items()}
        for row in table.to_dict("records")
    ]


def _value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
