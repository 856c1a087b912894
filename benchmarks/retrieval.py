"""Exact nearest neighbours.

The package's search against one query at a time, a matrix product, and FAISS.

All ways look for the nearest of the same 100,000 random candidates of 768 dimensions,
in one process and in turn, round by round. One query at a time means
``torch.nn.CosineSimilarity`` and ``argmax``, as the authors' released code does it. The
machine's single-precision peak is the best product of several shapes, with nothing
around it; the package's figure counts all it does: preparing candidates, screening,
scoring again. FAISS is ``IndexFlatIP`` on vectors of length 1, without its ``add``.
Agreement is with products in double precision, over a sample of the queries.

``--paper-size`` writes 400,000 candidates and 1,259,732 queries, the paper's numbers,
to files (5 GB), maps them, and searches a slice of the queries in a process of its own:
measured time, time projected to all, peak resident memory.

Run: python benchmarks/retrieval.py [--candidates 100000] [--queries 10240] [--rounds 3]
[--threads 0] [--spread 0]
     python benchmarks/retrieval.py --paper-size [--slice 16384] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from verite.embeddings import Embeddings
from verite.search import nearest
from verite.search.screening import int8_is_faster

WIDTH = 768
PAPER_CANDIDATES, PAPER_QUERIES = 400_000, 1_259_732
SHAPES = ((1024, 16_384), (4096, 4096), (512, 8192))
SINGLE = 8  # queries asked one at a time in each round
SAMPLE = 1024  # queries asked in double precision


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--candidates", type=int, default=100_000)
    options.add_argument("--queries", type=int, default=10_240)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument(
        "--threads",
        type=int,
        default=0,
        help="threads of torch and FAISS; 0 leaves their choice",
    )
    options.add_argument(
        "--spread",
        type=float,
        default=0,
        help="length of a shift that all vectors share, as in CLIP's narrow cone",
    )
    options.add_argument("--paper-size", action="store_true")
    options.add_argument(
        "--slice",
        type=int,
        default=16_384,
        help="queries of the paper's size to search for",
    )
    options.add_argument(
        "--folder", type=Path, help="where files of the paper's size go, and stay"
    )
    options.add_argument("--search-in", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    if given.search_in:
        _search_mapped(given.search_in, given.slice)
    elif given.paper_size:
        _paper_size(given)
    else:
        _compare(given)


def _compare(given: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    C, Q = (
        _random(rng, given.candidates, "c", given.spread),
        _random(rng, given.queries, "q", given.spread),
    )
    c, q = torch.from_numpy(C.matrix), torch.from_numpy(Q.matrix)
    work = 2 * given.queries * given.candidates * WIDTH / 1e9
    found = {}

    def singly() -> None:
        cosine = torch.nn.CosineSimilarity(dim=1)
        for one in q[:SINGLE]:
            cosine(one[None], c).argmax()

    def ours(screen: str) -> None:
        found[screen] = nearest(Q, C, screen=screen)

    ways: dict[str, Callable[[], object]] = {
        "one at a time": singly,
        "verite": lambda: ours("auto"),
        "verite, float32": lambda: ours("float32"),
    }
    try:
        import faiss
    except ImportError:
        print("FAISS is not installed, so it is not compared")
    else:
        faiss.omp_set_num_threads(torch.get_num_threads())
        index = faiss.IndexFlatIP(WIDTH)
        index.add(C.normalised().matrix)
        unit = Q.normalised().matrix
        ways["faiss.IndexFlatIP"] = lambda: index.search(unit, 1)
    print(
        f"{given.queries:,} queries, {given.candidates:,} candidates, {WIDTH}"
        f" dimensions, spread {given.spread:g};"
    )
    print(
        f"{torch.get_num_threads()} thread(s); eight bits are"
        f" {'' if int8_is_faster() else 'not '}faster here\n"
    )
    rounds: list[dict[str, float]] = []
    for number in range(given.rounds + 1):
        speeds = {"float32 peak": _peak()}
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            seconds = time.perf_counter() - begin
            speeds[name] = work / (
                seconds * given.queries / SINGLE if name == "one at a time" else seconds
            )
        if number:  # the first round warms up
            rounds.append(speeds)
            print(
                "  ".join(f"{name} {speed:,.1f}" for name, speed in speeds.items()),
                "GFLOP/s",
                flush=True,
            )
    print()
    for name in (
        "one at a time",
        "float32 peak",
        "faiss.IndexFlatIP",
        "verite, float32",
    ):
        if name in rounds[0]:
            ratios = [speeds["verite"] / speeds[name] for speeds in rounds]
            print(
                f"verite against {name}: {statistics.median(ratios):.2f} × (rounds"
                f" {min(ratios):.2f} to {max(ratios):.2f})"
            )
    _agreement(Q, C, found["auto"].ids[:, 0])


def _agreement(Q: Embeddings, C: Embeddings, ids: np.ndarray) -> None:
    sample = min(SAMPLE, len(Q))
    c = C.matrix.astype(np.float64)
    c /= np.linalg.norm(c, axis=1, keepdims=True)
    same = 0
    for at in range(0, sample, 128):
        products = Q.matrix[at : at + 128].astype(np.float64) @ c.T
        same += sum(
            C.ids[best] == one
            for best, one in zip(
                products.argmax(axis=1), ids[at : at + 128], strict=False
            )
        )
    print(
        f"agreement with double precision: {100 * same / sample:.2f} % of {sample:,}"
        " queries"
    )


def _paper_size(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, count in (
            ("candidates", PAPER_CANDIDATES),
            ("queries", PAPER_QUERIES),
        ):
            path = folder / f"{name}.safetensors"
            if not path.exists():
                print(f"writing {count:,} × {WIDTH} to {path.name}", flush=True)
                _random(
                    np.random.default_rng(count), count, name[0], given.spread
                ).save(path)
        words = [
            sys.executable,
            __file__,
            "--search-in",
            str(folder),
            "--slice",
            str(given.slice),
            "--threads",
            str(given.threads),
        ]
        subprocess.run(words, check=True)


def _search_mapped(folder: Path, count: int) -> None:
    begin = time.perf_counter()
    C, Q = (
        Embeddings.load(folder / f"{name}.safetensors")
        for name in ("candidates", "queries")
    )
    opened = time.perf_counter() - begin
    chosen = Q.ids[: 2 * count]
    seconds = []
    for part in (
        chosen[:count],
        chosen,
    ):  # twice as many queries, the same preparation: so both can be told apart
        begin = time.perf_counter()
        nearest(Q, C, query_ids=part)
        seconds.append(time.perf_counter() - begin)
    rate = count / (seconds[1] - seconds[0])
    peak = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        / (1 if sys.platform != "darwin" else 1024)
        / 1024
    )
    print(
        f"opened and checked in {opened:,.1f} s; {count:,} queries in {seconds[0]:,.1f}"
        f" s, {2 * count:,} in {seconds[1]:,.1f} s"
    )
    print(
        f"{rate:,.0f} queries/s ({2 * rate * len(C) * WIDTH / 1e9:,.0f} GFLOP/s) after"
        f" {seconds[0] - count / rate:,.1f} s of preparation"
    )
    print(
        f"projected to {PAPER_QUERIES:,} queries:"
        f" {(seconds[0] - count / rate + PAPER_QUERIES / rate) / 60:,.1f} min"
    )
    print(f"peak resident memory: {peak:,.0f} MiB")


def _peak() -> float:
    """Best single-precision product of several shapes, in GFLOP/s."""
    best = 0.0
    for rows, columns in SHAPES:
        a, b = torch.ones((rows, WIDTH)), torch.ones((columns, WIDTH))
        for _ in range(5):
            begin = time.perf_counter()
            a @ b.T
            best = max(
                best, 2 * rows * columns * WIDTH / (time.perf_counter() - begin) / 1e9
            )
    return best


def _random(
    rng: np.random.Generator, count: int, prefix: str, spread: float
) -> Embeddings:
    matrix = rng.standard_normal((count, WIDTH), dtype=np.float32)
    if spread:
        matrix += spread * np.random.default_rng(1).standard_normal(
            WIDTH, dtype=np.float32
        )
    return Embeddings(
        [f"{prefix}{at}" for at in range(count)], matrix, encoder="random"
    )


if __name__ == "__main__":
    main()
