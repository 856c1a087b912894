"""Feeding the detector.

Indexing tensors against a loader that looks up one row at a time in a data frame.

Both make the same batches of 512 pairs of 768-dimensional vectors, in one run, on one
machine. Two ratios are printed: of the pairs per second that each can *feed*, and of
the pairs per second of whole training steps (feed, forward, backward, update) on top of
either. The second is bounded by the arithmetic of the step, which is the same for both;
the first is what the way of loading decides.

Run: python benchmarks/training.py [--pairs 20000] [--threads 0]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

from verite.detector import Detector, as_tokens

BATCH, WIDTH, ROUNDS = 512, 768, 5
Batches = Callable[[], Iterable[tuple[torch.Tensor, torch.Tensor]]]


class RowByRow(Dataset[tuple[np.ndarray, int]]):
    """One pair per call: its row from a table, its vectors from data frames by id."""

    def __init__(
        self, pairs: pd.DataFrame, images: pd.DataFrame, texts: pd.DataFrame
    ) -> None:
        self.pairs, self.images, self.texts = pairs, images, texts

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.pairs)

    def __getitem__(self, at: int) -> tuple[np.ndarray, int]:
        """Look one pair up."""
        row = self.pairs.iloc[at]
        return np.stack(
            [
                self.images.loc[row["image_id"]].to_numpy(),
                self.texts.loc[row["text_id"]].to_numpy(),
            ]
        ), int(row["label"])


def main() -> None:
    """Measure both and print the ratios."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pairs", type=int, default=20_000)
    options.add_argument(
        "--threads", type=int, default=0, help="threads of torch; 0 leaves its choice"
    )
    given = options.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    rng = np.random.default_rng(0)
    ids = [f"id{number}" for number in range(given.pairs)]
    vectors = rng.standard_normal((2, given.pairs, WIDTH)).astype(np.float32)
    pairs = pd.DataFrame(
        {"image_id": ids, "text_id": ids, "label": rng.integers(0, 3, given.pairs)}
    )
    X, y = (
        torch.from_numpy(np.ascontiguousarray(vectors.swapaxes(0, 1))),
        torch.tensor(pairs["label"].to_numpy(copy=True)),
    )
    frames = [pd.DataFrame(one, index=ids) for one in vectors]

    def indexed() -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
        for rows in torch.split(torch.randperm(len(X)), BATCH):
            yield X[rows], y[rows]

    def looked_up() -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
        return iter(
            DataLoader(RowByRow(pairs, *frames), batch_size=BATCH, shuffle=True)
        )

    threads = torch.get_num_threads()
    print(
        f"{given.pairs:,} pairs of 2 × {WIDTH} float32, batches of {BATCH}, {threads}"
        f" thread(s), median of {ROUNDS} rounds"
    )
    for what, steps in (("feeding alone", False), ("whole training steps", True)):
        # In turn, so that a machine whose speed drifts is as fast for the one as for
        # the other.
        rates = [
            (_rate(indexed, steps), _rate(looked_up, steps)) for _ in range(ROUNDS)
        ]
        fast, slow = (statistics.median(column) for column in zip(*rates, strict=True))
        ratio = statistics.median(one / other for one, other in rates)
        print(
            f"{what:22} indexing tensors {fast:>11,.0f} pairs/s   row by row"
            f" {slow:>8,.0f} pairs/s   ratio {ratio:.1f}"
        )


def _rate(batches: Batches, steps: bool, seconds: float = 2.0) -> float:
    """Pairs per second over at least ``seconds``, the first batch left out."""
    torch.manual_seed(0)
    network = Detector(WIDTH, 3, layers=1, feedforward=128, heads=2)
    optimiser = torch.optim.Adam(network.parameters(), lr=5e-5)
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for at, (X, y) in enumerate(batches()):
            if at == 0 and count == 0:
                begin = time.perf_counter()
                continue
            if steps:
                optimiser.zero_grad(set_to_none=True)
                logits, _ = network(as_tokens(X, "image+text"))
                torch.nn.functional.cross_entropy(logits, y).backward()
                optimiser.step()
            count += len(X)
            if time.perf_counter() - begin > seconds:
                break
    return count / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
