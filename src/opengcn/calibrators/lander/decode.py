"""Decoding of one level: every node links to one denser neighbour, which makes a forest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opengcn.calibrators.lander.levels import Level

__all__ = ["denser", "parents", "roots"]


def denser(density: NDArray[np.float32], neighbors: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which neighbours are denser than their node.

    Equal densities are ordered by index, the smaller index being denser. Without an order among
    them no node of a group of identical vectors could ever link to another.

    Parameters
    ----------
    density : ndarray of shape (n,), float32
        Density of every node.
    neighbors : ndarray of shape (n, m), int64
        Neighbours of every node.

    Returns
    -------
    denser : ndarray of shape (n, m), bool
        Whether ``(density, -index)`` of the neighbour is larger: a strict order of all nodes.
    """
    own, other = density[:, None], density[neighbors]
    above: NDArray[np.bool_] = (other > own) | (
        (other == own) & (neighbors < np.arange(len(density))[:, None])
    )
    return above


def parents(
    level: Level,
    density: NDArray[np.float32],
    score: NDArray[np.float32],
    threshold: float,
) -> NDArray[np.int64]:
    """Link every node to the best scored of its denser neighbours.

    Parameters
    ----------
    level : Level
        A level of n nodes with m neighbours each.
    density : ndarray of shape (n,), float32
        Density of every node.
    score : ndarray of shape (n, m), float32
        How likely node and neighbour are of one class.
    threshold : float
        Only neighbours with a larger score are candidates.

    Returns
    -------
    parent : ndarray of shape (n,), int64
        The candidate of the largest score, the nearer of equals; the node itself where there is no
        candidate, which makes it a peak. Links lead to denser nodes only, so they form no cycle.
    """
    candidate = level.linked & denser(density, level.neighbors) & (score > threshold)
    node = np.arange(len(level))
    if not candidate.any():  # also when there are no neighbours at all
        return node
    best = np.argmax(np.where(candidate, score, -np.inf), axis=1)
    return np.where(candidate.any(axis=1), level.neighbors[node, best], node)


def roots(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Follow the links of a forest to the peaks.

    Parameters
    ----------
    parent : ndarray of shape (n,), int64
        Links without cycles; a peak links to itself.

    Returns
    -------
    root : ndarray of shape (n,), int64
        The peak above every node.
    """
    root = parent
    while not np.array_equal(above := root[root], root):  # doubles the length of the step
        root = above
    return root
