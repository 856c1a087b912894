"""Exact nearest neighbours against one query at a time, a matrix product, and FAISS.

All look for the nearest of the same random candidates of 768 dimensions, in one process
and in turn, round by round. "One at a time" is ``torch.nn.CosineSimilarity`` and
``argmax``, as in the authors' released code. The float32 peak is the best product of
several shapes, with nothing around it; the package's figure counts all it does. FAISS
is ``IndexFlatIP`` on unit vectors, without its ``add``. Agreement is with products in
double precision, on a sample of the queries.

``--paper-size`` writes 400,000 candidates and 1,259,732 queries, the paper's numbers,
to files (5 GB), maps them, and searches a slice of the queries in a process of its own:
measured time, time projected to all, peak memory.

Run: python benchmarks/retrieval.py [--candidates 100000] [--queries 10240] [--spread 0]
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
PAPER = {"candidates": 400_000, "queries": 1_259_732}
SHAPES = ((1024, 16_384), (4096, 4096), (512, 8192))
SINGLE = 8  # queries searched one at a time in each round
SAMPLE = 1024  # queries searched in double precision


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=10_240)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="0: torch's own choice")
    shared = "length of a shift that all vectors share, as in CLIP's narrow cone"
    parser.add_argument("--spread", type=float, default=0, help=shared)
    parser.add_argument("--paper-size", action="store_true")
    parser.add_argument("--slice", type=int, default=16_384, help="its queries")
    parser.add_argument("--folder", type=Path, help="where its files go, and stay")
    parser.add_argument("--search-in", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.search_in:
        search_mapped(options.search_in, options.slice)
    elif options.paper_size:
        search_paper_size(options)
    else:
        compare(options)


def compare(options: argparse.Namespace) -> None:
    """Compare all ways on random vectors, and print ratios."""
    rng = np.random.default_rng(0)
    C = random_vectors(rng, options.candidates, "c", options.spread)
    Q = random_vectors(rng, options.queries, "q", options.spread)
    c, q = torch.from_numpy(C.matrix), torch.from_numpy(Q.matrix)
    cosine = torch.nn.CosineSimilarity(dim=1)
    ways: dict[str, Callable[[], object]] = {
        "one at a time": lambda: [cosine(x[None], c).argmax() for x in q[:SINGLE]],
        "verite": lambda: nearest(Q, C),
        "verite, float32": lambda: nearest(Q, C, screen="float32"),
    }
    try:
        import faiss
    except ImportError:
        print("FAISS is not installed, so it is not compared")
    else:
        faiss.omp_set_num_threads(torch.get_num_threads())
        index, unit = faiss.IndexFlatIP(WIDTH), Q.normalised().matrix
        index.add(C.normalised().matrix)
        ways["faiss.IndexFlatIP"] = lambda: index.search(unit, 1)
    print(f"{len(Q):,} queries, {len(C):,} candidates, spread {options.spread:g};")
    faster = "" if int8_is_faster() else "not "
    print(f"{torch.get_num_threads()} thread(s); eight bits are {faster}faster here\n")
    rounds: list[dict[str, float]] = []
    for number in range(options.rounds + 1):
        speeds = {"float32 peak": peak()}
        for name, way in ways.items():
            seconds = timed(way)
            count = SINGLE if name == "one at a time" else len(Q)
            speeds[name] = 2 * count * len(C) * WIDTH / seconds / 1e9
        if number:  # the first round warms up
            rounds.append(speeds)
            text = "  ".join(f"{name} {speed:,.1f}" for name, speed in speeds.items())
            print(text, "GFLOP/s", flush=True)
    print()
    for name in rounds[0]:
        if name != "verite":
            r = [speeds["verite"] / speeds[name] for speeds in rounds]
            low, middle, high = min(r), statistics.median(r), max(r)
            print(f"verite against {name}: {middle:.2f} × ({low:.2f} to {high:.2f})")
    ids = nearest(Q, C).ids[:SAMPLE, 0]
    unit_c = C.matrix.astype(np.float64)
    unit_c /= np.linalg.norm(unit_c, axis=1, keepdims=True)
    same = 0
    for at in range(0, len(ids), 128):
        products = Q.matrix[at : at + 128].astype(np.float64) @ unit_c.T
        best = products.argmax(axis=1)[: len(ids) - at]
        same += sum(C.ids[i] == x for i, x in zip(best, ids[at:], strict=False))
    print(f"agreement with double precision: {100 * same / len(ids):.2f} %")


def search_paper_size(options: argparse.Namespace) -> None:
    """Write files of the size of the paper's, and search them in a process."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, count in PAPER.items():
            path = folder / f"{name}.safetensors"
            if not path.exists():
                print(f"writing {count:,} × {WIDTH} to {path.name}", flush=True)
                rng = np.random.default_rng(count)
                random_vectors(rng, count, name[0], options.spread).save(path)
        words = ["--search-in", folder, "--slice", options.slice]
        words += ["--threads", options.threads]
        subprocess.run([sys.executable, __file__, *map(str, words)], check=True)


def search_mapped(folder: Path, count: int) -> None:
    """Search mapped files, and print times and memory."""
    begin = time.perf_counter()
    C = Embeddings.load(folder / "candidates.safetensors")
    Q = Embeddings.load(folder / "queries.safetensors")
    print(f"opened and checked in {time.perf_counter() - begin:,.1f} s")
    # Twice as many queries need the same preparation, so both can be told apart.
    once, twice = (
        timed(lambda n=n: nearest(Q, C, query_ids=Q.ids[:n]))  # type: ignore[misc]
        for n in (count, 2 * count)
    )
    rate = count / (twice - once)
    first = once - count / rate
    speed = 2 * rate * len(C) * WIDTH / 1e9
    print(f"{count:,} queries in {once:,.1f} s, {2 * count:,} in {twice:,.1f} s")
    print(f"{rate:,.0f} queries/s ({speed:,.0f} GFLOP/s) after {first:,.1f} s")
    minutes = (first + len(Q) / rate) / 60
    print(f"projected to {len(Q):,} queries: {minutes:,.1f} min")
    unit = 1024 if sys.platform != "darwin" else 1024**2
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(f"peak resident memory: {memory:,.0f} MiB")


def peak() -> float:
    """Best float32 product of several shapes, in GFLOP/s."""
    speeds = []
    for rows, columns in SHAPES:
        a, b = torch.ones((rows, WIDTH)), torch.ones((columns, WIDTH))
        seconds = min(timed(lambda a=a, b=b: a @ b.T) for _ in range(5))  # type: ignore[misc]
        speeds.append(2 * rows * columns * WIDTH / seconds / 1e9)
    return max(speeds)


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def random_vectors(
    rng: np.random.Generator, count: int, prefix: str, spread: float
) -> Embeddings:
    """Normal vectors, shifted by a vector of length about ``spread``."""
    matrix = rng.standard_normal((count, WIDTH), dtype=np.float32)
    if spread:
        shift = np.random.default_rng(1).standard_normal(WIDTH, dtype=np.float32)
        matrix += spread * shift
    ids = [f"{prefix}{at}" for at in range(count)]
    return Embeddings(ids, matrix, encoder="random")


if __name__ == "__main__":
    main()
