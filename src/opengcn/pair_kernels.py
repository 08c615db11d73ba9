"""The two compiled loops of `opengcn.pairs`: one tile of similarities in, cells out.

20,000 (1 - s) is truncated towards zero, so similarities that rounding pushed a little
beyond 1 or -1 fall into the first and the last cell without a clip; and cells are numbered
by 16 bits, all of which exist, so that no input can write outside of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.compiled import compiled

__all__ = ["count_tile", "weigh_tile"]

SCALE = np.float32(20_000)
ONE = np.uint32(1)


@compiled()
def count_tile(
    product: NDArray[np.float32],
    row: int,
    column: int,
    stop: NDArray[np.intp],
    scratch: NDArray[np.uint16],
    same: NDArray[np.uint32],
    different: NDArray[np.uint32],
) -> None:
    """Count the pairs i < j of a tile.

    Parameters
    ----------
    product : ndarray of shape (r, c), float32
        Similarities of rows [row, row + r) with columns [column, column + c).
    row, column : int
        First row and column of the tile.
    stop : ndarray of shape (r,), int
        Where the class of each row ends: columns (i, stop_i) are of the same class.
    scratch : ndarray of shape (>= c,), uint16
        Room for one row of cells.
    same, different : ndarray of shape (65536,), uint32
        Cells to add to.
    """
    width = product.shape[1]
    for i in range(product.shape[0]):
        similarity = product[i]
        # Apart from the counting: the compiler vectorises this loop, and cannot the others.
        for j in range(width):
            scratch[j] = np.uint16(np.int32(SCALE - SCALE * similarity[j]))
        first = max(row + i + 1 - column, 0)
        middle = min(max(stop[i] - column, first), width)
        for j in range(first, middle):
            same[scratch[j]] += ONE
        for j in range(middle, width):
            different[scratch[j]] += ONE


@compiled()
def weigh_tile(
    product: NDArray[np.float32],
    p: NDArray[np.floating[Any]],
    row: int,
    column: int,
    bin_of_cell: NDArray[np.uint8],
    same: NDArray[np.float64],
    different: NDArray[np.float64],
) -> bool:
    """Add the weights p and 1 - p of the pairs i < j of a tile.

    Parameters
    ----------
    product : ndarray of shape (r, c), float32
        Similarities, as in `count_tile`.
    p : ndarray of shape (r, c)
        Weights.
    row, column : int
        First row and column of the tile.
    bin_of_cell : ndarray of shape (65536,), uint8
        The bin that each cell belongs to.
    same, different : ndarray of shape (201,), float64
        Bins to add to.

    Returns
    -------
    sound : bool
        False when a weight lies outside of [0, 1] or is NaN; the sums are void then.
    """
    width = product.shape[1]
    for i in range(product.shape[0]):
        for j in range(max(row + i + 1 - column, 0), width):
            if not 0 <= p[i, j] <= 1:
                return False
            cell = np.uint16(np.int32(SCALE - SCALE * product[i, j]))
            same[bin_of_cell[cell]] += p[i, j]
            different[bin_of_cell[cell]] += 1 - p[i, j]
    return True
