"""Shortlists: products too coarse to rank candidates by cosine, and bounds that say
which of them can still be nearest.

Two screens multiply a tile of queries with a block of candidates. One does so in single
precision. The other writes vectors as whole numbers of eight bits, which processors
with VNNI or AMX instructions multiply several times as fast; sums of whole numbers are
exact, so all its error is that of writing them down, and that is measured for each
vector. bfloat16 would lie between the two, but its products are rounded again, in ways
that differ from one library to the next.

Each screen gives lower and upper bounds of every cosine. What has an upper bound below
the k-th highest of the lower bounds is not among the nearest k; all else is
shortlisted. See :mod:`verite.search.blockwise` for what follows.
"""

from __future__ import annotations

import concurrent.futures
import functools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verite.embeddings import release

if TYPE_CHECKING:
    import torch

__all__ = [
    "DECIMALS",
    "FEW",
    "LOWEST",
    "TILE",
    "Codes",
    "Mask",
    "Shortlist",
    "Vectors",
    "as_codes",
    "in_threads",
    "int8_is_exact",
    "int8_is_faster",
    "rounding_bound",
    "row_lengths",
    "screen_float32",
    "screen_int8",
    "unit",
]

DECIMALS = 12
"""Cosines are rounded to so many decimals.

Those that then agree are equal, and the smaller id comes first.
"""

LOWEST = -(2**31)
"""Below every product of whole numbers."""

FEW = 32
"""Neighbours for which the highest of each segment give a good bar."""

TILE = 512
"""Queries multiplied at once: with 8,192 candidates a product of 16 MB."""

_SEGMENT = 64  # neighbouring candidates of which at first only the best is looked at
_LONGEST = (
    2048  # candidates; a longer shortlist costs more than a product in single precision
)
_PIECE = 1024  # vectors written down at once: few enough for the caches
_READ = 8192  # vectors read together: 25 MB at 768 dimensions
_SAMPLE = 4096  # vectors that tell where the candidates lie
_U = 2.0**-24  # unit roundoff of single precision


class Vectors(NamedTuple):
    """Some rows of a matrix, which may lie on the disk, in some order."""

    matrix: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, which: slice | np.ndarray) -> np.ndarray:
        """Copy of some of the rows, float32."""
        return np.asarray(self.matrix[self.rows[which]], dtype=np.float32)

    def blocks(self) -> Iterator[np.ndarray]:
        """All rows in order, a few thousand at a time.

        What is mapped does not stay in memory.
        """
        for start in range(0, len(self), _READ):
            yield self.read(slice(start, start + _READ))
            release(self.matrix)

    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of some rows from everywhere, and the rows."""
        places = np.unique(
            np.linspace(0, len(self) - 1, min(len(self), _SAMPLE)).astype(np.intp)
        )
        found = []
        for some in _parts(
            places, _PIECE // 4
        ):  # far apart, each brings many others of a mapped file to memory
            found.append(self.read(some))
            release(self.matrix)
        return places, np.concatenate(found)


class Codes(NamedTuple):
    """Candidates as whole numbers of eight bits.

    A candidate c of length 1 is written as x = (c - centre) / stretch, x in turn as
    step times its numbers. A query is multiplied by stretch instead, so that no
    dimension is coarse for being large in the other side. The centre shifts all cosines
    of a query alike.
    """

    values: np.ndarray
    """int8 of shape ``(candidates, dimensions)``, zeros to the next whole segment."""
    order: np.ndarray
    """Position of each row of ``values`` among the candidates.

    Those with alike largest numbers are neighbours, so that one
    step fits all of a block."""
    centre: np.ndarray
    stretch: np.ndarray
    steps: np.ndarray
    """For each block."""
    errors: np.ndarray
    """Upper bound of the length of what writing down left out, for each block."""
    lengths: np.ndarray
    """Upper bound of the length of x, for each block."""
    block: int
    """Candidates of a block, whole segments."""


class Shortlist(NamedTuple):
    """Pairs of a query and a candidate, both as positions."""

    rows: np.ndarray
    columns: np.ndarray
    crowded: np.ndarray
    """Queries for which this screen is too coarse; they are not among ``rows``."""


Mask = Callable[["torch.Tensor", int, int], None]
"""Put the lowest value into a product wherever query and candidate are of one group.

The candidates stand from one place to the next.
"""


def rounding_bound(dimensions: int) -> float:
    """How far a product of two unit vectors in single precision can be from their
    cosine, whatever the order of its sums.

    Normalised elements are off by a relative 2u each, u = 2⁻²⁴, a sum of n products by
    n·u/(1 - n·u) of the sum of their sizes, and that is at most 1 for unit vectors
    (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1). A few more
    u stand for the comparisons themselves, and the last place of :data:`DECIMALS` for
    rounded cosines.

    >>> f"{rounding_bound(768):.1e}"
    '4.6e-05'
    """
    return (dimensions + 8) * _U / (1 - (dimensions + 8) * _U) + 10.0**-DECIMALS


def unit(vectors: np.ndarray, lengths: np.ndarray) -> torch.Tensor:
    """Divide rows by their lengths, in place."""
    import torch

    scaled: torch.Tensor = torch.from_numpy(vectors).mul_(
        torch.from_numpy((1 / lengths).astype(np.float32))[:, None]
    )
    return scaled


def screen_float32(
    Q: torch.Tensor,
    candidates: Vectors,
    lengths: np.ndarray,
    k: int,
    *,
    block: int,
    highest: float | None,
    mask: Mask,
) -> Iterator[Shortlist]:
    """One shortlist for each block of candidates, from products in single precision of
    queries of length 1.
    """
    import torch

    bound = rounding_bound(Q.shape[1])
    floor = torch.full(
        (len(Q), k), -torch.inf, device=Q.device
    )  # the k highest products so far
    for left in range(0, len(candidates), block):
        columns = np.arange(left, min(left + block, len(candidates)))
        product = Q @ unit(candidates.read(columns), lengths[columns]).to(Q.device).T
        mask(product, left, left + len(columns))
        product = torch.nn.functional.pad(
            product, (0, _segments(len(columns)) - len(columns)), value=-torch.inf
        )
        # Only what is allowed for sure may raise the bar; what may be allowed is scored
        # again and decided then.
        sure = product
        if highest is not None:
            sure = product.masked_fill(product > highest - bound, -torch.inf)
            product.masked_fill_(product > highest + bound, -torch.inf)
        high = _maxima(sure) if k <= FEW else sure
        floor = torch.cat([floor, high], dim=1).topk(k, dim=1)[0]
        rows, places, _ = _reaching(
            product,
            (floor[:, -1] - 2 * bound).clamp_min(torch.finfo(torch.float32).min),
        )
        yield Shortlist(
            rows.cpu().numpy(),
            columns[places.cpu().numpy()],
            np.empty(0, dtype=np.intp),
        )


def screen_int8(
    Q: torch.Tensor, codes: Codes, k: int, *, highest: float | None, mask: Mask
) -> Shortlist:
    """Shortlist of all candidates, from products of whole numbers, for queries of
    length 1.
    """
    import torch

    y = Q * torch.from_numpy(codes.stretch)
    step = (y.abs().amax(dim=1, keepdim=True) / 127).clamp_min(1e-30)
    numbers = (y / step).round()
    size = _above(y)
    error = _above(y - numbers * step) + 8 * _U * size
    q, size, step = numbers.to(torch.int8), size + error, step[:, 0].double()
    offset = (
        (Q.double() @ torch.from_numpy(codes.centre).double())
        if highest is not None
        else None
    )
    floor = torch.full(
        (len(Q), k), -torch.inf, dtype=torch.float64
    )  # the k highest lower bounds so far
    found: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    counts = torch.zeros(len(Q), dtype=torch.int64)
    values = torch.from_numpy(codes.values)
    for number, left in enumerate(range(0, len(codes.order), codes.block)):
        right = min(left + codes.block, len(codes.order))
        product = torch._int_mm(q, values[left : left + _segments(right - left)].T)
        product[:, right - left :] = LOWEST
        mask(product, left, right)
        scale = step * codes.steps[number]
        slack = error * codes.lengths[number] + size * codes.errors[number] + 4 * _U
        sure = product
        if highest is not None and offset is not None:
            sure = product.masked_fill(
                product > _whole((highest - offset - slack) / scale)[:, None], LOWEST
            )
            product.masked_fill_(
                product > _whole((highest - offset + slack) / scale)[:, None], LOWEST
            )
        high = _maxima(sure)
        lower = (high.double() * scale[:, None] - slack[:, None]).masked_fill_(
            high == LOWEST, -torch.inf
        )
        floor = torch.cat([floor, lower], dim=1).topk(k, dim=1)[0]
        rows, places, reached = _reaching(
            product, _whole((floor[:, -1] - slack) / scale).clamp_min(LOWEST + 1)
        )
        found.append(
            (rows, left + places, reached.double() * scale[rows] + slack[rows])
        )
        counts += torch.bincount(rows, minlength=len(Q))
        floor[counts > _LONGEST] = torch.inf  # let no more of them in
    rows, columns, upper = (torch.cat(one) for one in zip(*found, strict=True))
    kept = upper >= floor[rows, -1]
    return Shortlist(
        rows[kept].numpy(),
        codes.order[columns[kept].numpy()],
        np.flatnonzero(counts.numpy() > _LONGEST),
    )


def as_codes(
    candidates: Vectors, lengths: np.ndarray, queries: Vectors, *, block: int
) -> Codes:
    """Write candidates as whole numbers of eight bits, for queries like these."""
    import torch

    places, offered = candidates.sample()
    near = unit(offered, lengths[places])
    centre = near.mean(dim=0)
    _, asked = queries.sample()
    asked_rms, near_rms = (
        one.square().mean(dim=0).sqrt()
        for one in (unit(asked, row_lengths(asked)), near - centre)
    )
    stretch = torch.sqrt(_not_zero(near_rms) / _not_zero(asked_rms))
    shift, count, block = centre / stretch, len(candidates), _segments(block)

    def x(rows: np.ndarray) -> torch.Tensor:
        return unit(candidates.read(rows), lengths[rows]).div_(stretch).sub_(shift)

    largest = torch.cat(
        in_threads(
            lambda rows: x(rows).abs_().amax(dim=1), _parts(np.arange(count), _PIECE)
        )
    )
    release(candidates.matrix)
    order = largest.argsort(stable=True).numpy()
    values = torch.zeros((_segments(count), len(stretch)), dtype=torch.int8)

    def write(left: int) -> tuple[float, float, float]:
        rows = order[left : left + block]
        step = max(float(largest[rows].max()) / 127, 1e-30)
        size = error = 0.0
        for at, piece in zip(
            range(left, count, _PIECE), _parts(rows, _PIECE), strict=False
        ):
            vectors = x(piece)
            size = max(size, float(_above(vectors).max()))
            numbers = (vectors / step).round_().clamp_(-127, 127)
            values[at : at + len(piece)] = numbers
            error = max(error, float(_above(vectors.sub_(numbers.mul_(step))).max()))
        release(candidates.matrix)
        rounding = 8 * _U * (size + 2 * float(_above(shift[None])))
        return step, error + rounding, size + rounding

    steps, errors, sizes = np.array(in_threads(write, range(0, count, block))).T
    return Codes(
        values.numpy(),
        order,
        centre.numpy(),
        stretch.numpy(),
        steps,
        errors,
        sizes,
        block,
    )


def in_threads(
    work: Callable[[Any], Any], items: Iterable[Any], *, one: bool = False
) -> list[Any]:
    """Do independent work in as many threads as torch would use, each with one of
    torch's, or all in this ``one``.

    Work here is many short operations. Torch's own threads meet after each of them, and
    where something else runs on one of the cores all wait for that one.
    """
    import torch

    threads = 1 if one else torch.get_num_threads()
    if threads == 1:
        return [work(item) for item in items]
    try:
        with concurrent.futures.ThreadPoolExecutor(
            threads, initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            return list(pool.map(work, items))
    finally:
        torch.set_num_threads(
            threads
        )  # for threads that start later: the number just set was theirs too


def row_lengths(vectors: np.ndarray) -> np.ndarray:
    """Length of each row, summed in double precision."""
    return np.asarray(
        np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    )


@functools.cache
def int8_is_exact() -> bool:
    """Whether this processor multiplies whole numbers without error.

    Some without VNNI cut off sums of large products.
    """
    import torch

    signs = (
        torch.randint(0, 2, (64 + 128, 768), generator=torch.Generator().manual_seed(0))
        * 2
        - 1
    )
    numbers = (signs * 127).to(torch.int8)
    numbers[0], numbers[64] = 127, 127  # the largest sum there can be
    try:
        product = torch._int_mm(numbers[:64], numbers[64:].T)
    except (RuntimeError, AttributeError):
        return False
    return bool((product == (numbers[:64].double() @ numbers[64:].double().T)).all())


@functools.cache
def int8_is_faster() -> bool:
    """Whether products of whole numbers are exact and take less than two thirds of the
    time of those in single precision.
    """
    import torch

    if not int8_is_exact():
        return False
    a, b = torch.ones((256, 768)), torch.ones((2048, 768))
    numbers = a.to(torch.int8), b.to(torch.int8)
    ways = (lambda: torch._int_mm(numbers[0], numbers[1].T)), (lambda: a @ b.T)
    # In one thread, as tiles are multiplied: two would wait for each other on a busy
    # machine, and tell of that.
    whole, single = in_threads(_seconds, ways)
    return bool(whole < single / 1.5)


def _seconds(work: Callable[[], object]) -> float:
    best = np.inf
    for _ in range(5):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return float(best)


def _above(vectors: torch.Tensor) -> torch.Tensor:
    """Upper bound of the length of each row.

    The sum is rounded, so it is made a little longer.
    """
    import torch

    lengths: torch.Tensor = torch.linalg.vector_norm(vectors, dim=1).double()
    return lengths * (1 + rounding_bound(vectors.shape[1]))


def _maxima(product: torch.Tensor) -> torch.Tensor:
    """The highest of each segment.

    They stand for as many candidates, so the k-th highest of them is a bar for the k
    best.
    """
    return product.view(len(product), -1, _SEGMENT).amax(dim=2)


def _reaching(
    product: torch.Tensor, bar: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows, columns and values of what reaches its row's bar.

    Most segments are passed over as a whole.
    """
    row, segment = (_maxima(product) >= bar[:, None]).nonzero(as_tuple=True)
    inside = product.view(len(product), -1, _SEGMENT)[row, segment]
    at, place = (inside >= bar[row, None]).nonzero(as_tuple=True)
    return row[at], segment[at] * _SEGMENT + place, inside[at, place]


def _whole(bars: torch.Tensor) -> torch.Tensor:
    """The next lower whole number that 32 bits hold."""
    import torch

    return bars.floor().clamp(LOWEST, 2**31 - 129).to(torch.int32)


def _not_zero(sizes: torch.Tensor) -> torch.Tensor:
    import torch

    floor: float = float(sizes.max()) * 1e-3 or 1.0
    return torch.clamp(sizes, min=floor)


def _segments(count: int) -> int:
    return -(-count // _SEGMENT) * _SEGMENT


def _parts(rows: np.ndarray, block: int) -> Iterator[np.ndarray]:
    for left in range(0, len(rows), block):
        yield rows[left : left + block]
