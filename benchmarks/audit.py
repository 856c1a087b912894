"""Auditing a large benchmark: seconds and peak memory, from files to files.

Writes a made-up benchmark of 100,000 rows to a folder: each group has a true pair, a
pair with another image, and a pair with another caption; captions are drawn from a
vocabulary of 20,000 words with Zipf's frequencies, half of the false ones opening with
a word of their own; images and texts have random vectors of 768 dimensions; one caption
in fifty is nearly an earlier one. Then it runs ``verite audit`` on it in a process of
its own, and reports how long that took and how much memory was resident at most. What
must be found is checked: the probe of first words fires, the probe of length does not.

``--newsroom`` asks another question: what fires in newsrooms of 300 events, with no
knob turned in 20 seeds and two presets, and with one knob turned in a few seeds: the
probe that matches it, and how many others.

Run: python benchmarks/audit.py [--rows 100000] [--width 768] [--permutations 1000]
[--folder FOLDER]
     python benchmarks/audit.py --newsroom [--seeds 20] [--knob-seeds 3] [--permutations
     1000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verite.audit import Benchmark, audit
from verite.datasets import load
from verite.embeddings import Embeddings

WORDS = 20_000
KNOBS: tuple[tuple[dict[str, Any], set[str]], ...] = (
    ({"giveaway_rate": 0.5}, {"first words"}),
    ({"length_gap": 4}, {"length"}),
    ({"length_gap": -4}, {"length"}),
    ({"template_leak": 0.8}, {"first words", "punctuation and case"}),
    ({"manipulation_rate": 0.6}, {"image embedding"}),
    ({"asymmetric_rate": 0.5}, set()),
    ({"duplicate_rate": 0.2}, set()),
    ({"ooc_hardness": 0.0}, set()),
    ({"ooc_hardness": 1.0}, set()),
    ({"entity_visibility": 0.3}, set()),
    ({"balanced": False}, set()),
    ({"preset": "plain", "label_noise": 0.1}, set()),
    ({"preset": "plain", "posts_per_image": 3}, set()),
)
"""Knobs, and the probes that match them: those that look at what the knob changes."""


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--width", type=int, default=768)
    options.add_argument("--permutations", type=int, default=1000)
    options.add_argument("--folder", type=Path, help="where files go, and stay")
    options.add_argument("--newsroom", action="store_true")
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--knob-seeds", type=int, default=3)
    given = options.parse_args()
    if given.newsroom:
        newsrooms(given.seeds, given.knob_seeds, given.permutations)
    else:
        large(given)


def newsrooms(seeds: int, knob_seeds: int, permutations: int) -> None:
    """Count what fires."""
    for preset in ("verite", "plain"):
        tests, small, fired = 0, 0, []
        for seed in range(seeds):
            found = audit(
                Benchmark.of(load("newsroom", preset=preset, events=300, seed=seed)),
                permutations=permutations,
            )
            alone = found.probes[found.probes["modality"] != "both"]
            tests, small = (
                tests + len(alone),
                small + int((alone["p_value"] < 0.01).sum()),
            )
            fired += [f"{name} (seed {seed})" for name in found.firing]
        print(
            f"{preset}, no knob: {tests} probes in {seeds} seeds, p < .01 in {small},"
            f" {len(fired)} fire {', '.join(fired)}",
            flush=True,
        )
    for knob, matching in KNOBS:
        missed, others, tests = 0, [], 0
        for seed in range(knob_seeds):
            found = audit(
                Benchmark.of(load("newsroom", events=300, seed=seed, **knob)),
                permutations=permutations,
            )
            missed += len(matching - set(found.firing))
            others += [
                f"{name} (seed {seed})" for name in found.firing if name not in matching
            ]
            tests += int((found.probes["modality"] != "both").sum()) - len(matching)
        said = (
            f"{', '.join(sorted(matching)) or 'nothing'} should fire, missed {missed}"
        )
        print(
            f"{knob}: {said}; {len(others)} of {tests} other probes fire"
            f" {', '.join(others)}",
            flush=True,
        )


def large(given: argparse.Namespace) -> None:
    """Measure time and memory."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        write(folder, given.rows, given.width)
        command = [
            sys.executable,
            "-m",
            "verite",
            "audit",
            str(folder / "pairs.csv"),
            "--out",
            str(folder / "out"),
            "--force",
        ]
        command += [
            "--images",
            str(folder / "images.safetensors"),
            "--texts",
            str(folder / "texts.safetensors"),
        ]
        command += ["--permutations", str(given.permutations)]
        start = time.perf_counter()
        child = subprocess.Popen(command)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit(f"the audit ended with status {status}")
        found = {
            one["probe"]: one
            for one in json.loads(
                (folder / "out" / "audit.json").read_text(encoding="utf8")
            )["probes"]
        }
    for name, one in found.items():
        print(
            f"{name:22}{one['accuracy']:7.1%}  p {one['p_value']:.3f} "
            f" {'fires' if one['fires'] else ''}"
        )
    print(
        f"{given.rows:,} rows × {given.width}: {seconds:,.0f} s, at most"
        f" {usage.ru_maxrss / 1e6:.2f} GB resident, {os.cpu_count()} cores"
    )
    if not found["first words"]["fires"] or found["length"]["fires"]:
        raise SystemExit(
            "expected the probe of first words to fire and that of length not to"
        )


def write(folder: Path, rows: int, width: int) -> None:
    """Write the made-up benchmark."""
    rng = np.random.default_rng(0)
    groups = -(-rows // 3)
    chance = 1 / np.arange(1, WORDS + 1)
    words = np.array([f"w{at:05d}" for at in range(WORDS)], dtype=object)
    captions = []
    for _ in range(2 * groups):
        captions.append(
            " ".join(
                words[rng.choice(WORDS, rng.integers(8, 30), p=chance / chance.sum())]
            )
            if not _near(rng, captions)
            else _changed(rng, captions)
        )
    openers = np.where(rng.random(groups) < 0.5, "allegedly", "today")
    group = np.arange(groups)
    parts = [
        pd.DataFrame(
            {"group": group, "image_id": group, "text_id": group, "label": "true"}
        ),
        pd.DataFrame(
            {
                "group": group,
                "image_id": groups + group,
                "text_id": group,
                "label": "out-of-context",
            }
        ),
        pd.DataFrame(
            {
                "group": group,
                "image_id": group,
                "text_id": groups + group,
                "label": "miscaptioned",
            }
        ),
    ]
    table = (
        pd.concat(parts)
        .sort_values("group", kind="stable", ignore_index=True)
        .head(rows)
    )
    text = np.array(
        [f"today {one}" for one in captions[:groups]]
        + [
            f"{opener} {one}"
            for opener, one in zip(openers, captions[groups:], strict=True)
        ]
    )
    table = table.assign(
        pair_id=[f"p{at}" for at in range(len(table))], caption=text[table["text_id"]]
    )
    table.to_csv(folder / "pairs.csv", index=False)
    for name in ("images", "texts"):
        vectors = rng.standard_normal((2 * groups, width), dtype=np.float32)
        Embeddings(
            [str(at) for at in range(2 * groups)], vectors, encoder="random"
        ).save(folder / f"{name}.safetensors")


def _near(rng: np.random.Generator, captions: list[str]) -> bool:
    return len(captions) > 100 and rng.random() < 0.02


def _changed(rng: np.random.Generator, captions: list[str]) -> str:
    return f"{captions[rng.integers(len(captions))]} again"


if __name__ == "__main__":
    main()
