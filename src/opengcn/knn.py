"""Exact k nearest neighbours of unit vectors by cosine similarity, without an n x n array.

The work is a float32 matrix product over the tiles of the upper triangle; a tile serves the
neighbours of its rows and of its columns. The product only *screens*: BLAS rounds one and the same
pair differently at different places of a tile, which would break ties between duplicated rows at
random. A pair that comes within the rounding error of the current k-th neighbour is scored again by
one fixed routine in float64, so the result does not depend on tiles, on threads or on the BLAS.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from opengcn.compiled import compiled
from opengcn.errors import DataError, OpenGCNError
from opengcn.progress import progress_bar
from opengcn.threads import cores, one_blas_thread

__all__ = ["check_unit_rows", "knn"]

PANEL = 1024  # rows and columns of a tile: 4 MB, which stay in the cache between product and scan
RUN = 64  # similarities compared at once, which vectorises, before one is looked at alone
NORM_TOLERANCE = 1e-3


def knn(
    X: NDArray[np.float32], k: int, *, threads: int | None = None, progress: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Find the k nearest rows of every row, the row itself first.

    Takes time in n^2 D / 2 and, beyond input and result, memory for one tile a thread. The lists
    are kept sorted by insertion, which suits k up to a few hundred.

    Parameters
    ----------
    X : ndarray of shape (n, D), float32
        Unit vectors.
    k : int
        Length of the lists, 1 <= k <= n. The row itself counts: a list holds k - 1 others.
    threads : int, optional
        Workers; all cores by default. The result does not depend on it.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    index : ndarray of shape (n, k), int64
        ``index[i, 0] == i``; then the other rows by decreasing similarity. Rows of equal similarity
        come in the order of their index, duplicates of row i as well.
    similarity : ndarray of shape (n, k), float32
        The float64 inner product rounded to float32 and clipped to [-1, 1]; 1 in the first column.

    Raises
    ------
    DataError
        If a row is not a unit vector.
    OpenGCNError
        If k is out of range.
    """
    X = check_unit_rows(X)
    n = len(X)
    if not 1 <= k <= n:
        raise OpenGCNError(f"k: expected 1 to {n}, the number of rows, received {k}")
    index = np.full((n, k), n, np.int64)
    similarity = np.full((n, k), -np.inf, np.float32)
    index[:, 0] = np.arange(n)
    similarity[:, 0] = 1.0
    if k > 1:
        workers = threads or cores()
        _fill(X, index[:, 1:], similarity[:, 1:], workers, progress)
        np.clip(similarity, -1, 1, out=similarity)
    return index, similarity


def check_unit_rows(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return X as C-contiguous float32 after checking that it holds unit vectors.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Rows of Euclidean norm 1 (within 0.001), n >= 1.

    Returns
    -------
    X : ndarray of shape (n, D), float32
        The same rows.

    Raises
    ------
    DataError
        With the first row that is not a unit vector.
    """
    X = np.ascontiguousarray(X, np.float32)
    if X.ndim != 2 or len(X) == 0:
        raise DataError(f"vectors: expected shape (n, D) with n >= 1, received {X.shape}")
    norm = np.sqrt(np.einsum("ij,ij->i", X, X))
    wrong = ~(np.abs(norm - 1) <= NORM_TOLERANCE)  # the negation also catches NaN
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"vectors: expected rows of norm 1, received norm {norm[row]} in row {row}")
    return X


def _fill(
    X: NDArray[np.float32],
    index: NDArray[np.int64],
    similarity: NDArray[np.float32],
    workers: int,
    progress: bool,
) -> None:
    """Fill the lists of the other rows; one task takes one panel of rows."""
    n, dimension = len(X), X.shape[1]
    # |fl(x.y) - x.y| <= D u |x||y| for any order of summation; two more u for the rounding of the
    # float64 score to float32 and for norms that are 1 only within the tolerance.
    margin = np.float32((dimension + 2) * 2.0**-24 * (1 + NORM_TOLERANCE) ** 2)
    floor = np.full(n, -np.inf, np.float32)
    lists = floor, margin, index, similarity
    starts = range(0, n, PANEL)
    # Tasks meet in the columns, so a panel's lists belong to whoever holds its lock. Who comes
    # first does not matter: what is kept is the top of a total order.
    locks = [Lock() for _ in starts]

    def work(row: int) -> int:
        buffer = np.empty((PANEL, PANEL), np.float32)
        rows = X[row : row + PANEL]
        for column in range(row, n, PANEL):
            columns = X[column : column + PANEL]
            tile = buffer[: len(rows), : len(columns)]
            np.matmul(rows, columns.T, out=tile)
            with locks[row // PANEL]:
                _scan_rows(X, tile, row, column, *lists)
            with locks[column // PANEL]:
                _scan_columns(X, tile, row, column, *lists)
        return (n - row) // PANEL + 1

    # One BLAS thread a worker: the workers are the parallelism.
    with (
        one_blas_thread(),
        ThreadPoolExecutor(min(workers, len(starts))) as pool,
        progress_bar("Nearest neighbours", (n / PANEL) ** 2 / 2, show=progress) as advance,
    ):
        for tiles in pool.map(work, starts):
            advance(tiles)


@compiled(fastmath={"reassoc", "contract"})
def _dot(x: NDArray[np.float32], y: NDArray[np.float32]) -> np.float32:
    """Inner product in float64: the same bits for the same two rows in either order."""
    total = 0.0
    for d in range(len(x)):
        total += np.float64(x[d]) * np.float64(y[d])
    return np.float32(total)


@compiled()
def _offer(
    X: NDArray[np.float32],
    i: int,
    j: int,
    floor: NDArray[np.float32],
    margin: np.float32,
    index: NDArray[np.int64],
    similarity: NDArray[np.float32],
) -> None:
    """Insert j into the sorted list of i if it beats the last entry."""
    s = _dot(X[i], X[j])
    place = index.shape[1]
    while place > 0 and (
        s > similarity[i, place - 1] or (s == similarity[i, place - 1] and j < index[i, place - 1])
    ):
        place -= 1
        if place + 1 < index.shape[1]:
            index[i, place + 1] = index[i, place]
            similarity[i, place + 1] = similarity[i, place]
    if place < index.shape[1]:
        index[i, place] = j
        similarity[i, place] = s
        floor[i] = similarity[i, -1] - margin


@compiled()
def _scan_rows(
    X: NDArray[np.float32],
    tile: NDArray[np.float32],
    row: int,
    column: int,
    floor: NDArray[np.float32],
    margin: np.float32,
    index: NDArray[np.int64],
    similarity: NDArray[np.float32],
) -> None:
    """Offer the columns j > i of a tile to its rows i."""
    for a in range(tile.shape[0]):
        i = row + a
        for start in range(max(0, i + 1 - column), tile.shape[1], RUN):
            run = tile[a, start : start + RUN]
            bar = floor[i]
            hit = np.int32(0)
            for b in range(len(run)):
                hit |= np.int32(run[b] >= bar)
            if hit:
                for b in range(len(run)):
                    if run[b] >= floor[i]:
                        _offer(X, i, column + start + b, floor, margin, index, similarity)


@compiled()
def _scan_columns(
    X: NDArray[np.float32],
    tile: NDArray[np.float32],
    row: int,
    column: int,
    floor: NDArray[np.float32],
    margin: np.float32,
    index: NDArray[np.int64],
    similarity: NDArray[np.float32],
) -> None:
    """Offer the rows i < j of a tile to its columns j."""
    for a in range(tile.shape[0]):
        i = row + a
        for start in range(max(0, i + 1 - column), tile.shape[1], RUN):
            run = tile[a, start : start + RUN]
            bars = floor[column + start : column + start + len(run)]
            hit = np.int32(0)
            for b in range(len(run)):
                hit |= np.int32(run[b] >= bars[b])
            if hit:
                for b in range(len(run)):
                    if run[b] >= bars[b]:
                        _offer(X, column + start + b, i, floor, margin, index, similarity)
