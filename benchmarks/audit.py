"""Auditing a large benchmark: seconds and peak memory, from files to files.

Writes a made-up benchmark of 100,000 rows to a folder: each group has a true pair, a
pair with another image, and a pair with another caption; captions are drawn from a
vocabulary of 20,000 words with Zipf's frequencies, half of the false ones opening with
a word of their own; images and texts have random vectors of 768 dimensions; one caption
in fifty is nearly an earlier one. Then it runs ``verite audit`` on it in a process of
its own, and reports how long that took and how much memory was resident at most. It
also checks that the probe of first words fires, and that of length does not.

Run: python benchmarks/audit.py [--rows 100000] [--width 768] [--permutations 1000]
[--folder FOLDER]
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

import numpy as np
import pandas as pd

from verite.embeddings import Embeddings

WORDS = 20_000


def main() -> None:
    """Measure time and memory, and print them."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--width", type=int, default=768)
    options.add_argument("--permutations", type=int, default=1000)
    options.add_argument("--folder", type=Path, help="where the files stay")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        write(folder, given.rows, given.width)
        words = ["audit", str(folder / "pairs.csv"), "--out", str(folder / "out")]
        words += ["--force", "--permutations", str(given.permutations)]
        for name in ("images", "texts"):
            words += [f"--{name}", str(folder / f"{name}.safetensors")]
        start = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-m", "verite", *words])
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit(f"the audit ended with status {status}")
        content = json.loads((folder / "out" / "audit.json").read_text("utf8"))
    fires = {row["probe"]: row["fires"] for row in content["probes"]}
    for row in content["probes"]:
        print(
            f"{row['probe']:22}{row['accuracy']:7.1%}  p {row['p_value']:.3f} "
            f" {'fires' if row['fires'] else ''}"
        )
    print(
        f"{given.rows:,} rows × {given.width}: {seconds:,.0f} s, at most"
        f" {usage.ru_maxrss / 1e6:.2f} GB resident, {os.cpu_count()} cores"
    )
    if not fires["first words"] or fires["length"]:
        raise SystemExit(
            "expected the probe of first words to fire and that of length not to"
        )


def write(folder: Path, rows: int, width: int) -> None:
    """Write the made-up benchmark."""
    rng = np.random.default_rng(0)
    groups = -(-rows // 3)
    chance = 1 / np.arange(1, WORDS + 1)
    words = np.array([f"w{at:05d}" for at in range(WORDS)], dtype=object)
    captions: list[str] = []
    for _ in range(2 * groups):
        if len(captions) > 100 and rng.random() < 0.02:
            captions.append(f"{captions[rng.integers(len(captions))]} again")
        else:
            size = rng.integers(8, 30)
            chosen = rng.choice(WORDS, size, p=chance / chance.sum())
            captions.append(" ".join(words[chosen]))
    openers = np.where(rng.random(groups) < 0.5, "allegedly", "today")
    openers = np.concatenate([np.full(groups, "today"), openers])
    texts = [f"{word} {text}" for word, text in zip(openers, captions, strict=True)]
    group = np.arange(groups)
    table = pd.concat(
        [
            pd.DataFrame(
                {"group": group, "image_id": image, "text_id": text, "label": label}
            )
            for image, text, label in (
                (group, group, "true"),
                (groups + group, group, "out-of-context"),
                (group, groups + group, "miscaptioned"),
            )
        ]
    )
    table = table.sort_values("group", kind="stable", ignore_index=True).head(rows)
    table["pair_id"] = [f"p{at}" for at in range(len(table))]
    table["caption"] = np.array(texts)[table["text_id"]]
    table.to_csv(folder / "pairs.csv", index=False)
    ids = [str(at) for at in range(2 * groups)]
    for name in ("images", "texts"):
        vectors = rng.standard_normal((2 * groups, width), dtype=np.float32)
        path = folder / f"{name}.safetensors"
        Embeddings(ids, vectors, encoder="random").save(path)


if __name__ == "__main__":
    main()
