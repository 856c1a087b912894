"""Two coarse products, and the bounds of their errors.

Both multiply a tile of queries with a block of candidates and shortlist all candidates
whose upper bound reaches the k-th highest lower bound. One product is in float32. The
other is of 8-bit integers, which processors with VNNI or AMX multiply several times as
fast. Sums of integers are exact, so its only error is that of writing vectors as
integers, which is measured for each block. (bfloat16 would be between the two, but its
products are rounded again, in ways that differ between libraries.)
"""

from __future__ import annotations

import concurrent.futures
import functools
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verite.errors import DataError
from verite.mapped import release
from verite.search.plain import U, rounding_bound, row_lengths

if TYPE_CHECKING:
    import torch

LOWEST = -(2**31)  # below every product of integers
FEW = 32  # neighbours for which the maxima of segments give a good bar
TILE = 512  # queries multiplied at once: with 8,192 candidates a product of 16 MB
_SEGMENT = 64  # candidates side by side of which at first only the best is looked at
_LONGEST = 2048  # a longer shortlist costs more than a product in float32
_PIECE = 1024  # vectors written as integers at once: few enough for the caches


class Vectors(NamedTuple):
    """Some rows of a matrix, which may be mapped from a file, in some order."""

    matrix: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, which: slice | np.ndarray) -> np.ndarray:
        """Copy some of the rows, float32."""
        return np.asarray(self.matrix[self.rows[which]], dtype=np.float32)

    def blocks(self, size: int = 8192) -> Iterator[np.ndarray]:
        """All rows in order, in blocks; mapped pages do not stay in memory."""
        for start in range(0, len(self), size):
            yield self.read(slice(start, start + size))
            release(self.matrix)

    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of some thousand rows from everywhere, and the rows."""
        places = np.linspace(0, len(self) - 1, min(len(self), 4096)).astype(np.intp)
        rows = Vectors(self.matrix, self.rows[places])
        return places, np.concatenate(list(rows.blocks(256)))

    def lengths(self, where: str) -> np.ndarray:
        """Length of each row; a DataError where float32 could over- or underflow."""
        lengths = np.concatenate([row_lengths(block) for block in self.blocks()])
        if lengths.min() < 1e-30 or lengths.max() > 1e30:
            raise DataError(
                f"{where}: expected vectors with a length from 1e-30 to 1e30, found"
                f" {lengths.min():.1e} to {lengths.max():.1e}. Normalise them."
            )
        return lengths

    def digest(self) -> str:
        """SHA-256 of the rows in their order."""
        state = hashlib.sha256()
        for block in self.blocks():
            state.update(block.tobytes())
        return state.hexdigest()


class Codes(NamedTuple):
    """Candidates as 8-bit integers.

    A candidate c of length 1 becomes x = (c - centre) / stretch, and x becomes step
    times integers. Queries are multiplied by stretch instead, so that a dimension that
    is large on the other side is not coarse on this one. The centre shifts all cosines
    of a query alike. Candidates are ordered by their largest element, so that one step
    fits all of a block.
    """

    values: np.ndarray  # int8 (candidates, dimensions), zeros to the next segment
    order: np.ndarray  # position of each row among the candidates
    centre: np.ndarray
    stretch: np.ndarray
    steps: np.ndarray  # one per block
    errors: np.ndarray  # upper bound of the length of x - step * integers, per block
    lengths: np.ndarray  # upper bound of the length of x, per block
    block: int  # candidates per block, whole segments


Mask = Callable[["torch.Tensor", int, int], None]
"""Writes the lowest value where query and candidate share a group, into the product of
candidates from one number to the other."""

Pairs = tuple[np.ndarray, np.ndarray]
"""Positions of queries and of candidates, side by side."""


def unit(vectors: np.ndarray, lengths: np.ndarray) -> torch.Tensor:
    """Divide rows by their lengths, in place."""
    import torch

    factors = torch.from_numpy((1 / lengths).astype(np.float32))
    scaled: torch.Tensor = torch.from_numpy(vectors).mul_(factors[:, None])
    return scaled


def screen_float32(
    Q: torch.Tensor,
    candidates: Vectors,
    lengths: np.ndarray,
    k: int,
    *,
    block: int,
    highest: float,
    mask: Mask,
) -> Iterator[Pairs]:
    """One shortlist per block of candidates, for queries of length 1."""
    import torch

    bound = rounding_bound(Q.shape[1])
    lowest = torch.finfo(torch.float32).min
    # The k highest products so far.
    floor = torch.full((len(Q), k), -torch.inf, device=Q.device)
    for left in range(0, len(candidates), block):
        columns = np.arange(left, min(left + block, len(candidates)))
        product = Q @ unit(candidates.read(columns), lengths[columns]).to(Q.device).T
        mask(product, left, left + len(columns))
        padding = (0, _segments(len(columns)) - len(columns))
        product = torch.nn.functional.pad(product, padding, value=-torch.inf)
        # Only what is allowed for sure may raise the bar; what may be allowed is scored
        # again and decided then.
        sure = product
        if highest < np.inf:
            sure = product.masked_fill(product > highest - bound, -torch.inf)
            product.masked_fill_(product > highest + bound, -torch.inf)
        high = _maxima(sure) if k <= FEW else sure
        floor = torch.cat([floor, high], dim=1).topk(k, dim=1)[0]
        bar = (floor[:, -1] - 2 * bound).clamp_min(lowest)
        rows, places, _ = _reaching(product, bar)
        yield rows.cpu().numpy(), columns[places.cpu().numpy()]


def screen_int8(
    Q: torch.Tensor, codes: Codes, k: int, *, highest: float, mask: Mask
) -> tuple[Pairs, np.ndarray]:
    """One shortlist for queries of length 1, and those it is too coarse for."""
    import torch

    y = Q * torch.from_numpy(codes.stretch)
    step = (y.abs().amax(dim=1, keepdim=True) / 127).clamp_min(1e-30)
    numbers = (y / step).round()
    size = _above(y)
    error = _above(y - numbers * step) + 8 * U * size
    q, size, step = numbers.to(torch.int8), size + error, step[:, 0].double()
    offset = Q.double() @ torch.from_numpy(codes.centre).double()
    # The k highest lower bounds so far.
    floor = torch.full((len(Q), k), -torch.inf, dtype=torch.float64)
    parts: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    counts = torch.zeros(len(Q), dtype=torch.int64)
    values = torch.from_numpy(codes.values)
    for number, left in enumerate(range(0, len(codes.order), codes.block)):
        right = min(left + codes.block, len(codes.order))
        product = torch._int_mm(q, values[left : left + _segments(right - left)].T)
        product[:, right - left :] = LOWEST
        mask(product, left, right)
        scale = step * codes.steps[number]
        slack = error * codes.lengths[number] + size * codes.errors[number]
        slack += 4 * U
        sure = product
        if highest < np.inf:
            low, high = (
                _whole((highest - offset + sign * slack) / scale)[:, None]
                for sign in (-1, 1)
            )
            sure = product.masked_fill(product > low, LOWEST)
            product.masked_fill_(product > high, LOWEST)
        best = _maxima(sure)
        lower = best.double() * scale[:, None] - slack[:, None]
        lower.masked_fill_(best == LOWEST, -torch.inf)
        floor = torch.cat([floor, lower], dim=1).topk(k, dim=1)[0]
        bar = _whole((floor[:, -1] - slack) / scale).clamp_min(LOWEST + 1)
        rows, places, reached = _reaching(product, bar)
        upper = reached.double() * scale[rows] + slack[rows]
        parts.append((rows, left + places, upper))
        counts += torch.bincount(rows, minlength=len(Q))
        floor[counts > _LONGEST] = torch.inf  # let no more of them in
    rows, columns, upper = (torch.cat(part) for part in zip(*parts, strict=True))
    few = upper >= floor[rows, -1]
    crowded = np.flatnonzero(counts.numpy() > _LONGEST)
    return (rows[few].numpy(), codes.order[columns[few].numpy()]), crowded


def as_codes(
    candidates: Vectors, lengths: np.ndarray, queries: Vectors, block: int
) -> Codes:
    """Write candidates as 8-bit integers, for queries like these."""
    import torch

    places, some = candidates.sample()
    near = unit(some, lengths[places])
    centre = near.mean(dim=0)
    _, some = queries.sample()
    spreads = [unit(some, row_lengths(some)), near - centre]
    q_spread, c_spread = (_not_zero(x.square().mean(dim=0).sqrt()) for x in spreads)
    stretch = torch.sqrt(c_spread / q_spread)
    shift, count, block = centre / stretch, len(candidates), _segments(block)

    def x(rows: np.ndarray) -> torch.Tensor:
        return unit(candidates.read(rows), lengths[rows]).div_(stretch).sub_(shift)

    pieces = _parts(np.arange(count), _PIECE)
    largest = torch.cat(in_threads(lambda rows: x(rows).abs_().amax(dim=1), pieces))
    release(candidates.matrix)
    order = largest.argsort(stable=True).numpy()
    values = torch.zeros((_segments(count), len(stretch)), dtype=torch.int8)

    def write(left: int) -> tuple[float, float, float]:
        rows = order[left : left + block]
        step = max(float(largest[rows].max()) / 127, 1e-30)
        size = error = 0.0
        for at, piece in enumerate(_parts(rows, _PIECE)):
            vectors = x(piece)
            size = max(size, float(_above(vectors).max()))
            numbers = (vectors / step).round_().clamp_(-127, 127)
            begin = left + at * _PIECE
            values[begin : begin + len(piece)] = numbers
            error = max(error, float(_above(vectors.sub_(numbers.mul_(step))).max()))
        release(candidates.matrix)
        rounding = 8 * U * (size + 2 * float(_above(shift[None])))
        return step, error + rounding, size + rounding

    steps, errors, sizes = np.array(in_threads(write, range(0, count, block))).T
    written = values.numpy(), order, centre.numpy(), stretch.numpy()
    return Codes(*written, steps, errors, sizes, block)


def in_threads(
    work: Callable[[Any], Any], items: Iterable[Any], threads: int = 0
) -> list[Any]:
    """Do independent work in as many threads as torch uses, each with one of torch's.

    The work is many short operations: torch's own threads meet after each of them, and
    would all wait for one whose core is busy with something else.
    """
    import torch

    before = torch.get_num_threads()
    if (threads or before) == 1:
        return [work(item) for item in items]
    try:
        with concurrent.futures.ThreadPoolExecutor(
            before, initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            return list(pool.map(work, items))
    finally:
        torch.set_num_threads(before)  # the number set above holds for later threads


@functools.cache
def int8_is_exact() -> bool:
    """Whether this processor multiplies 8-bit integers without error.

    Some without VNNI saturate sums of large products.
    """
    import torch

    generator = torch.Generator().manual_seed(0)
    signs = torch.randint(0, 2, (64 + 128, 768), generator=generator) * 2 - 1
    numbers = (signs * 127).to(torch.int8)
    numbers[0], numbers[64] = 127, 127  # the largest sum there can be
    try:
        product = torch._int_mm(numbers[:64], numbers[64:].T)
    except (RuntimeError, AttributeError):
        return False
    return bool((product == (numbers[:64].double() @ numbers[64:].double().T)).all())


@functools.cache
def int8_is_faster() -> bool:
    """Whether 8-bit products are exact and clearly faster than those in float32."""
    import torch

    if not int8_is_exact():
        return False
    a, b = torch.ones((256, 768)), torch.ones((2048, 768))
    q, c = a.to(torch.int8), b.to(torch.int8)

    def seconds(work: Callable[[], object]) -> float:
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
        return min(times)

    # In one thread each, as tiles are multiplied.
    eight, single = in_threads(
        seconds, [lambda: torch._int_mm(q, c.T), lambda: a @ b.T]
    )
    return bool(eight < single / 1.5)


def _above(vectors: torch.Tensor) -> torch.Tensor:
    """Upper bound of the length of each row, in spite of rounding."""
    import torch

    lengths: torch.Tensor = torch.linalg.vector_norm(vectors, dim=1).double()
    return lengths * (1 + rounding_bound(vectors.shape[1]))


def _maxima(product: torch.Tensor) -> torch.Tensor:
    """The highest of each segment: the k-th of them is a bar for the k best."""
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
    """The next lower integer that 32 bits hold."""
    import torch

    return bars.floor().clamp(LOWEST, 2**31 - 129).to(torch.int32)


def _not_zero(sizes: torch.Tensor) -> torch.Tensor:
    return sizes.clamp_min(float(sizes.max()) * 1e-3 or 1.0)


def _segments(count: int) -> int:
    return -(-count // _SEGMENT) * _SEGMENT


def _parts(rows: np.ndarray, block: int) -> Iterator[np.ndarray]:
    for left in range(0, len(rows), block):
        yield rows[left : left + block]
