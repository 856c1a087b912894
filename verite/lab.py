"""The bias lab: how far a detector of each modality gets in a newsroom.

One newsroom is one block of work, so a whole grid of knobs runs in any executor and
continues where it was stopped.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from verite.blocks import content_key, run_blocks
from verite.datasets import load
from verite.errors import ParameterError
from verite.evaluation import grouped_bootstrap, paired_test
from verite.newsroom.dataset import encoder_named
from verite.newsroom.knobs import preset_named
from verite.pairs import to_binary
from verite.provenance import code_digest

__all__ = ["INPUTS", "RECIPE", "SWEEPS", "World", "grid", "measure", "measure_all"]

INPUTS = ("text", "image", "image+text")
"""What is compared: each modality alone, and both."""

RECIPE: Mapping[str, Any] = {
    "learning_rate": 2e-3,
    "batch_size": 64,
    "epochs": 40,
    "patience": 10,
}
"""How detectors are trained here.

Vectors of 128 dimensions and a few hundred pairs ask for more than the paper's own
values.
"""

_FIFTHS = (0.0, 0.25, 0.5, 0.75, 1.0)

SWEEPS: Mapping[str, tuple[float, ...]] = {
    "giveaway_rate": _FIFTHS,
    "length_gap": (0, 3, 6, 9, 12),
    "template_leak": _FIFTHS,
    "manipulation_rate": _FIFTHS,
    "posts_per_image": (1, 2, 4, 8, 16),
    "asymmetric_rate": _FIFTHS,
    "duplicate_rate": _FIFTHS,
    "ooc_hardness": _FIFTHS,
    "entity_visibility": _FIFTHS,
}
"""Five values for each knob that is worth turning."""


class World(NamedTuple):
    """A newsroom of the grid.

    One knob at one value, under one setting of two others.
    """

    knob: str
    value: float
    balanced: bool
    asymmetric: float

    @property
    def knobs(self) -> dict[str, Any]:
        """All that is turned."""
        return {
            "balanced": self.balanced,
            "asymmetric_rate": self.asymmetric,
            self.knob: self.value,
        }

    @property
    def split_by(self) -> str:
        """Images that stand in many posts pay only where posts are dealt one by one."""
        return "post" if self.knob == "posts_per_image" else "event"

    @property
    def setting(self) -> str:
        """What the newsrooms of one sweep share, in words."""
        told = f", {self.asymmetric:.0%} asymmetric" if self.asymmetric else ""
        return f"{self.knob}, {'balanced' if self.balanced else 'not balanced'}{told}"


def grid(
    knobs: Sequence[str] = tuple(SWEEPS),
    balanced: Sequence[bool] = (True, False),
    asymmetric: Sequence[float] = (0, 0.5),
) -> list[World]:
    """All newsrooms of some sweeps.

    >>> len(grid(["giveaway_rate"], asymmetric=[0]))
    10
    """
    settings = itertools.product(knobs, balanced, asymmetric)
    return [
        World(knob, value, on, share)
        for knob, on, share in settings
        if knob != "asymmetric_rate" or not share
        for value in SWEEPS[knob]
    ]


def measure(
    preset: str,
    knobs: Mapping[str, Any],
    *,
    events: int = 300,
    folds: int = 5,
    seed: int = 0,
    seeds: int = 1,
    split_by: str = "event",
    resamples: int = 1000,
    inputs: Sequence[str] = INPUTS,
) -> dict[str, Any]:
    """Make one newsroom and measure unimodal bias in it.

    Parameters
    ----------
    preset, knobs
        See :func:`verite.newsroom.make`. With more than one post an image, ``events``
        is divided by ``posts_per_image``, so that the number of pairs stays.
    folds, seeds
        Detectors predict the pairs of each fold in turn; seeds deal other folds and
        start from other weights.
    split_by
        ``"event"``: all pairs of an event lie in one fold. ``"post"``: pairs are dealt
        one by one, as in benchmarks whose splits share images; what a detector knows by
        heart then counts.

    Returns
    -------
    dict
        ``accuracy``: for each of ``inputs`` value, low, high (95 %, events drawn anew),
        n, groups. ``ahead``: for each single modality the same of its accuracy less
        that of ``image+text``, paired. ``largest class``: the share of the more
        frequent label.

    Raises
    ------
    ParameterError
        A knob, preset or ``split_by`` is unknown or out of range.
    """
    if split_by not in ("event", "post"):
        raise ParameterError(f"split_by: expected event or post, found {split_by!r}.")
    from verite.detector import DetectorClassifier
    from verite.training import cross_validate

    chosen = preset_named(preset, knobs)
    data = load(
        "newsroom",
        events=max(folds, events // chosen.knobs.posts_per_image),
        seed=seed,
        preset=preset,
        **knobs,
    )
    pairs = (
        data.pairs
        if split_by == "event"
        else data.pairs.assign(group=data.pairs["pair_id"])
    )
    table = cross_validate(
        DetectorClassifier(device="cpu", **RECIPE),
        pairs,
        data.tokens(),
        inputs=inputs,
        folds=folds,
        seeds=range(seed, seed + seeds),
        binary=chosen.binary,
    )
    event = data.pairs.set_index("pair_id")["group"]
    labels = (
        to_binary(table["label"])
        if chosen.binary
        else table["label"].to_numpy(dtype=object)
    )
    table = table.assign(
        group=table["pair_id"].map(event),
        right=(table["prediction"].to_numpy() == labels).astype(float),
    )
    sides = {
        what: table[table["inputs"] == what].reset_index(drop=True) for what in inputs
    }
    found: dict[str, Any] = {
        "accuracy": {},
        "ahead": {},
        "largest class": float(
            data.pairs["label"].value_counts(normalize=True).iloc[0]
        ),
    }
    for what, side in sides.items():
        interval = grouped_bootstrap(
            side["right"], side["group"], seed=seed, resamples=resamples
        )
        found["accuracy"][what] = {
            name: float(value) for name, value in interval._asdict().items()
        }
        if what != "image+text" and "image+text" in sides:
            test = paired_test(
                side["right"],
                sides["image+text"]["right"],
                side["group"],
                seed=seed,
                resamples=resamples,
            )
            found["ahead"][what] = {
                "value": test.difference,
                "low": test.low,
                "high": test.high,
                "n": side["group"].nunique(),
            }
    return found


def measure_all(
    worlds: Sequence[tuple[str, Mapping[str, Any], str]],
    *,
    directory: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    progress: str = "",
    **options: Any,
) -> list[dict[str, Any]]:
    """Measure many newsrooms, each one block.

    Results in the order of ``worlds``: preset, knobs and ``split_by``.

    Parameters
    ----------
    directory, executor, progress
        See :func:`verite.blocks.run_blocks`.
    options
        For :func:`measure`.
    """
    # The encoder is trained here, not in every worker. Results are stale when the code
    # changes that makes, encodes or measures a newsroom.
    folder = Path(__file__).parent
    files = ["lab.py", "detector.py", "training.py"]
    files += [f"newsroom/{name}.py" for name in ("dataset", "desk", "knobs")]
    made_by = [
        encoder_named("newsroom").identity,
        *(code_digest(folder / name) for name in files),
    ]
    blocks: dict[str, tuple[Any, ...]] = {}
    order = []
    for preset, knobs, split_by in worlds:
        turned = asdict(preset_named(preset, knobs).knobs)
        asked = {**options, "split_by": split_by}
        key = content_key(preset, turned, asked, dict(RECIPE), made_by)
        blocks[key] = (preset, dict(knobs), asked)
        order.append(key)  # two worlds that are one are measured once
    found = run_blocks(
        _measure, blocks, directory=directory, executor=executor, progress=progress
    )
    return [found[key] for key in order]


def _measure(
    preset: str, knobs: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    return measure(preset, knobs, **options)
