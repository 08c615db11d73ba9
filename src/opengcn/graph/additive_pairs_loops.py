"""The compiled loops of `opengcn.graph.additive_pairs`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opengcn.compiled import compiled

__all__ = ["differentiate", "score"]

Array = NDArray[np.float32]

# Sums over h may be reordered, or they could not be vectorised.
REORDER = ("reassoc", "contract", "nsz")


@compiled(fastmath=REORDER)
def score(a: Array, b: Array, w: Array, begin: int, end: int, out: Array) -> None:
    """Fill rows [begin, end) of `out`, rows of all graphs counted through.

    Parameters
    ----------
    a, b : ndarray of shape (graphs, nodes, hidden), float32
        The two halves.
    w : ndarray of shape (hidden,), float32
        Weights.
    begin, end : int
        Rows to fill.
    out : ndarray of shape (graphs, nodes, nodes), float32
        Filled with sum_h w_h relu(a_ih + b_jh).
    """
    nodes, hidden = a.shape[1], a.shape[2]
    for row in range(begin, end):
        g, i = row // nodes, row % nodes
        for j in range(b.shape[1]):
            total = np.float32(0)
            for h in range(hidden):
                v = a[g, i, h] + b[g, j, h]
                total += w[h] * (v if v > 0 else np.float32(0))
            out[g, i, j] = total


@compiled(fastmath=REORDER)
def differentiate(
    a: Array, b: Array, w: Array, gradient: Array, begin: int, end: int, of_a: Array, of_w: Array
) -> None:
    """Fill the derivatives of rows [begin, end), rows of all graphs counted through.

    Parameters
    ----------
    a, b : ndarray of shape (graphs, nodes, hidden), float32
        The two halves.
    w : ndarray of shape (hidden,), float32
        Weights.
    gradient : ndarray of shape (graphs, nodes, nodes), float32
        Derivative of the loss by the scores.
    begin, end : int
        Rows to fill.
    of_a : ndarray of shape (graphs, nodes, hidden), float32
        Filled with the derivative by `a`.
    of_w : ndarray of shape (graphs * nodes, hidden), float32
        Filled with each row's share of the derivative by `w`.
    """
    nodes, hidden = a.shape[1], a.shape[2]
    active = np.empty(hidden, np.float32)
    value = np.empty(hidden, np.float32)
    for row in range(begin, end):
        g, i = row // nodes, row % nodes
        active[:] = 0
        value[:] = 0
        for j in range(b.shape[1]):
            d = gradient[g, i, j]
            for h in range(hidden):
                v = a[g, i, h] + b[g, j, h]
                on = d if v > 0 else np.float32(0)
                active[h] += on
                value[h] += on * v
        for h in range(hidden):
            of_a[g, i, h] = w[h] * active[h]
            of_w[row, h] = value[h]
