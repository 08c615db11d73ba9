"""Histograms of the distances of all pairs i < j: the hot loop of the package.

The grid of distances is 0, 0.01, ..., 2. For unit vectors (100 d)^2 = 20,000 (1 - s) with
s the cosine similarity, so an edge of the grid lies at a whole number q = k^2. Counting
``floor(20,000 (1 - s))`` in 40,001 cells and summing cells k^2 to (k + 1)^2 - 1 afterwards
gives the exact bin without a square root or a search, at one increment a pair.

All pairs are cut into strips, a panel of rows times a few panels of columns. A worker
multiplies one tile of a strip (BLAS on one thread) and counts it while it is in the cache.
Rows are taken in the order of their labels, so the partners of one class are a run of
columns and each row of a tile splits into a same-class part and the rest: no comparison of
labels a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError
from opengcn.progress import progress_bar
from opengcn.threads import cores, one_blas_thread

__all__ = [
    "GRID",
    "PairHistogram",
    "Strip",
    "by_class",
    "count_pairs",
    "count_strip",
    "strips",
    "weigh_graph",
    "weigh_pairs",
]

GRID: NDArray[np.float64] = np.arange(201) / 100
GRID.flags.writeable = False
SQUARES = np.arange(201) ** 2  # cells at which the bins begin

CELLS = 2**16  # 40,001 are used; every 16-bit number is one, so no index is out of bounds
BIN_OF_CELL = np.repeat(np.arange(201, dtype=np.uint8), np.diff(SQUARES, append=CELLS))

PANEL = 1024  # vectors gathered at once
TILE = 256  # rows multiplied at once: TILE x PANEL floats stay in the second-level cache
SORTED_COPY = 2**27  # bytes: sets up to this size are sorted once, others a panel at a time
STRIP = 2  # panels of columns a task: few enough to share the work evenly between cores


Fetch = Callable[[int, int], NDArray[np.float32]]


class Strip(NamedTuple):
    """A task: the pairs of rows [row, row + PANEL) with columns [first, last)."""

    row: int
    first: int
    last: int


class Vectors(Protocol):
    """What pairs are counted over: unit vectors that can be taken row by row."""

    def __len__(self) -> int: ...

    @property
    def dim(self) -> int:
        """Number of dimensions."""

    def take(self, rows: NDArray[np.intp], /) -> NDArray[np.float32]:
        """Return the unit vectors of some rows, of shape (m, D)."""


@dataclass(frozen=True)
class PairHistogram:
    """Pairs by distance, in 201 bins [0, 0.01), ..., [1.99, 2), {2}.

    Attributes
    ----------
    same : ndarray of shape (201,)
        Pairs of one class: int64 counts, or float64 sums of weights.
    different : ndarray of shape (201,)
        Pairs of two classes, likewise.
    """

    same: NDArray[Any]
    different: NDArray[Any]

    def __add__(self, other: PairHistogram) -> PairHistogram:
        return PairHistogram(self.same + other.same, self.different + other.different)


def count_pairs(
    vectors: Vectors,
    codes: NDArray[np.intp] | None = None,
    *,
    threads: int | None = None,
    progress: bool = True,
) -> PairHistogram:
    """Count every pair i < j by distance, same-class pairs apart.

    Takes time in n^2 D and memory for a few panels, whatever n is.

    Parameters
    ----------
    vectors : Vectors of length n
        Unit vectors, float32.
    codes : ndarray of int, shape (n,), optional
        Class of each row. Without it every pair counts as different.
    threads : int, optional
        Workers; all cores by default. The counts do not depend on it.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    histogram : PairHistogram
        int64 counts.
    """
    n = len(vectors)
    order, stop = (np.arange(n), np.arange(1, n + 1)) if codes is None else by_class(codes)
    fetch = _fetcher(vectors, order)
    work = partial(count_strip, fetch, stop)
    return _sum_strips(work, n, np.dtype(np.int64), threads, progress)


def by_class(codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the order in which rows are counted, and where the class of each ends.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each row.

    Returns
    -------
    order : ndarray of shape (n,)
        Rows sorted by class.
    stop : ndarray of shape (n,)
        For each place in that order the first place of the next class.
    """
    order = np.argsort(codes, kind="stable")
    ranked = codes[order]
    return order, np.searchsorted(ranked, ranked, side="right")


def strips(n: int) -> list[Strip]:
    """Cut all pairs i < j of n rows into tasks.

    Parameters
    ----------
    n : int
        Rows.

    Returns
    -------
    strips : list of Strip
        Together every pair once. They are the same whoever counts them, so the products, and
        with them pairs at the very edge of a bin, are too.
    """
    return [
        Strip(row, first, min(first + STRIP * PANEL, n))
        for row in range(0, n, PANEL)
        for first in range(row, n, STRIP * PANEL)
    ]


def count_strip(
    fetch: Fetch, stop: NDArray[np.intp], strip: Strip
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the pairs of one strip, with whatever number of BLAS threads is set.

    Parameters
    ----------
    fetch : callable
        ``fetch(begin, end)`` returns unit vectors in the order of their classes.
    stop : ndarray of shape (n,)
        Where classes end; see `by_class`.
    strip : Strip
        The task.

    Returns
    -------
    same, different : ndarray of shape (201,), int64
        Pairs by distance.
    """
    from opengcn.pair_kernels import count_tile  # here, since it takes half a second

    cells = np.zeros((2, CELLS), np.uint32)  # a strip has fewer than 2^32 pairs
    scratch = np.empty(PANEL, np.uint16)
    for row, column, product in _tiles(fetch, strip):
        count_tile(product, row, column, stop[row : row + len(product)], scratch, *cells)
    same, different = np.add.reduceat(cells, SQUARES, axis=1, dtype=np.int64)
    return same, different


def weigh_pairs(
    vectors: Vectors,
    weight: Callable[[slice, slice], NDArray[np.floating[Any]]],
    *,
    threads: int | None = None,
    progress: bool = True,
) -> PairHistogram:
    """Sum weights p (same) and 1 - p (different) of every pair i < j by distance.

    Parameters
    ----------
    vectors : Vectors of length n
        Unit vectors, float32.
    weight : callable
        ``weight(rows, columns)`` returns p for a block of pairs, of shape
        (len(rows), len(columns)), each in [0, 1]. Called from several threads.
    threads : int, optional
        Workers; all cores by default. The sums do not depend on it, to the bit.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    histogram : PairHistogram
        float64 sums.
    """
    n = len(vectors)
    fetch = _fetcher(vectors, np.arange(n))

    def work(strip: Strip) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        sums = np.zeros((2, 201))
        for row, column, product in _tiles(fetch, strip):
            rows = slice(row, row + product.shape[0])
            columns = slice(column, column + product.shape[1])
            _weigh(product, weight(rows, columns), row, column, sums)
        same, different = sums
        return same, different

    return _sum_strips(work, n, np.dtype(np.float64), threads, progress)


def weigh_graph(
    similarity: NDArray[np.float32], p: NDArray[np.floating[Any]] | NDArray[np.bool_]
) -> PairHistogram:
    """Sum weights of the pairs i < j of one small graph whose similarities are known.

    Parameters
    ----------
    similarity : ndarray of shape (n, n), float32
        Cosine similarities.
    p : ndarray of shape (n, n)
        Weights in [0, 1].

    Returns
    -------
    histogram : PairHistogram
        float64 sums.
    """
    sums = np.zeros((2, 201))
    _weigh(similarity, p, 0, 0, sums)
    return PairHistogram(*sums)


def _weigh(
    product: NDArray[np.float32], weights: Any, row: int, column: int, sums: NDArray[np.float64]
) -> None:
    """Add the weights of a tile to `sums`, of shape (2, 201)."""
    from opengcn.pair_kernels import weigh_tile

    p = np.asarray(weights)
    if p.dtype.kind not in "fbiu":
        raise DataError(f"pair weights: expected numbers in [0, 1], received {p.dtype}")
    if p.dtype not in (np.float32, np.float64, np.bool_):  # half precision, other byte orders
        p = p.astype(np.float64)
    if p.shape != product.shape:
        raise DataError(
            f"pair weights: expected a block of shape {product.shape}, received {p.shape}"
        )
    if not weigh_tile(product, p, row, column, BIN_OF_CELL, *sums):
        raise DataError("pair weights: expected numbers in [0, 1], received others")


def _sum_strips(
    work: Callable[[Strip], tuple[NDArray[Any], NDArray[Any]]],
    n: int,
    dtype: np.dtype[Any],
    threads: int | None,
    progress: bool,
) -> PairHistogram:
    """Run `work` on every strip and add up in a fixed order."""
    tasks = strips(n)
    same, different = np.zeros(201, dtype), np.zeros(201, dtype)
    workers = max(1, min(threads or cores(), len(tasks)))
    # One BLAS thread a worker: the workers are the parallelism.
    with (
        one_blas_thread(),
        ThreadPoolExecutor(workers) as pool,
        progress_bar("Counting pairs", len(tasks), show=progress) as advance,
    ):
        for strip_same, strip_different in pool.map(work, tasks):
            same += strip_same
            different += strip_different
            advance(1)
    return PairHistogram(same, different)


def _fetcher(vectors: Vectors, order: NDArray[np.intp]) -> Fetch:
    """Return what hands out vectors [begin, end) of an order.

    Gathering scattered rows again for every strip costs 5 % at 100,000 rows, and decoding
    them again from a file far more.
    """
    if 4 * len(vectors) * vectors.dim > SORTED_COPY:
        return lambda begin, end: vectors.take(order[begin:end])
    ordered = vectors.take(order)
    return lambda begin, end: ordered[begin:end]


def _tiles(fetch: Fetch, strip: Strip) -> Iterator[tuple[int, int, NDArray[np.float32]]]:
    """Yield (first row, first column, similarities) of the tiles of a strip.

    Tiles on the diagonal begin at their own first row, so that little of the lower
    triangle is multiplied.
    """
    left = fetch(strip.row, strip.row + PANEL)
    buffer = np.empty(TILE * PANEL, np.float32)
    for column in range(strip.first, strip.last, PANEL):
        diagonal = column == strip.row
        right = left if diagonal else fetch(column, min(column + PANEL, strip.last))
        for begin in range(0, len(left), TILE):
            skip = begin if diagonal else 0
            a, b = left[begin : begin + TILE], right[skip:]
            product = buffer[: len(a) * len(b)].reshape(len(a), len(b))
            np.matmul(a, b.T, out=product)
            yield strip.row + begin, column + skip, product
