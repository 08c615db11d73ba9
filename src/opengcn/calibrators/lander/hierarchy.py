"""From one level to the next, for training with labels and for clustering without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opengcn.calibrators.lander.decode import parents, roots
from opengcn.calibrators.lander.levels import Level, next_level, true_density

__all__ = ["LabelledLevel", "ScoredLevel", "cluster_levels", "training_levels"]


@dataclass(frozen=True)
class LabelledLevel:
    """A level with the classes of its nodes and the densities that follow from them.

    Attributes
    ----------
    level : Level
        The graph of n nodes.
    labels : ndarray of shape (n,), int64
        Classes; a peak's own class.
    density : ndarray of shape (n,), float32
        See `true_density`.
    """

    level: Level
    labels: NDArray[np.int64]
    density: NDArray[np.float32]


@dataclass(frozen=True)
class ScoredLevel:
    """A level with the network's view of it.

    Attributes
    ----------
    level : Level
        The graph of n nodes with m neighbours each.
    probability : ndarray of shape (n, m), float32
        Estimated probability that node and neighbour are of one class.
    density : ndarray of shape (n,), float32
        Estimated densities.
    """

    level: Level
    probability: NDArray[np.float32]
    density: NDArray[np.float32]


def training_levels(
    first: Level, labels: NDArray[np.int64], k: int, levels: int
) -> Iterator[LabelledLevel]:
    """Build the hierarchy of a labelled set, section 3.3 of Hi-LANDER.

    Between levels every node links to the most similar of its truly denser neighbours, whatever its
    class, so that the upper levels hold the mistakes that the network is to prevent.

    Parameters
    ----------
    first : Level
        Level 0, built with k or more.
    labels : ndarray of shape (n,), int64
        Classes of the samples.
    k : int
        Length of the neighbour lists.
    levels : int
        How many levels at most; a level of k nodes or fewer is not built.

    Yields
    ------
    level : LabelledLevel
        From the samples upwards.
    """
    X = first.features
    level = first.shortened(k)
    nodes = root = np.arange(len(X))
    for number in range(levels):
        density = true_density(level, labels[nodes])
        yield LabelledLevel(level, labels[nodes], density)
        above = nodes[roots(parents(level, density, level.similarity, 0.0))]
        root = above[np.searchsorted(nodes, root)]
        peaks = np.unique(root)
        if number + 1 == levels or len(peaks) <= k or len(peaks) == len(nodes):
            return
        nodes, level = peaks, next_level(X, root, k)


def cluster_levels(
    first: ScoredLevel,
    score: Callable[[Level], ScoredLevel],
    tau: float,
    k: int,
    max_levels: int,
) -> NDArray[np.int64]:
    """Merge samples level by level until nothing more links, section 3.1 of Hi-LANDER.

    Parameters
    ----------
    first : ScoredLevel
        Level 0 of n samples.
    score : callable
        Applies the network to a level.
    tau : float
        Smallest probability of a link, exclusive.
    k : int
        Length of the neighbour lists. An upper level of k nodes or fewer is not built: its graph
        would be complete and no longer say who is near.
    max_levels : int
        How many levels at most.

    Returns
    -------
    cluster : ndarray of shape (n,), int64
        Cluster labels 0 to c - 1, numbered by the index of their peak.
    """
    X = first.level.features
    scored = first
    nodes = root = np.arange(len(X))
    for number in range(max_levels):
        above = nodes[roots(parents(scored.level, scored.density, scored.probability, tau))]
        root = above[np.searchsorted(nodes, root)]
        peaks = np.unique(root)
        if number + 1 == max_levels or len(peaks) <= k or len(peaks) == len(nodes):
            break
        nodes, scored = peaks, score(next_level(X, root, k))
    return np.unique(root, return_inverse=True)[1]
