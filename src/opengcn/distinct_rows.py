"""Which rows are copies of others, to the bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct_rows"]


def distinct_rows(X: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tell copies of rows apart from their first ones.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Rows.

    Returns
    -------
    first : ndarray of shape (m,)
        Where each row comes first, ascending.
    group : ndarray of shape (n,)
        Which of those each row is.

    Examples
    --------
    >>> first, group = distinct_rows(np.float32([[3, 0], [1, 2], [3, 0], [0, 4]]))
    >>> first.tolist(), group.tolist()
    ([0, 1, 3], [0, 1, 0, 2])
    """
    whole = np.ascontiguousarray(X)  # each row as one value, to be compared with others
    rows = whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1])))[:, 0]
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[group]
