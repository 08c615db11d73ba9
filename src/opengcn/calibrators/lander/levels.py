"""One level of the hierarchy: nodes, their features and the graph of their nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opengcn.knn import knn

__all__ = ["Level", "next_level", "true_density"]


@dataclass(frozen=True)
class Level:
    """Nodes and their nearest neighbours, m of them each.

    Attributes
    ----------
    features : ndarray of shape (n, D), float32
        Identity features f, unit vectors: of the samples themselves, then of their peaks.
    means : ndarray of shape (n, D), float32
        Mean of the samples that a node stands for, c; equal to `features` at level 0.
    neighbors : ndarray of shape (n, m), int64
        Nearest other nodes by decreasing similarity.
    similarity : ndarray of shape (n, m), float32
        Their cosine similarity a, negative values set to 0.
    linked : ndarray of shape (n, m), bool
        Which of them are edges: neighbours of negative similarity are not.
    """

    features: NDArray[np.float32]
    means: NDArray[np.float32]
    neighbors: NDArray[np.int64]
    similarity: NDArray[np.float32]
    linked: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.features)

    @classmethod
    def build(
        cls,
        features: NDArray[np.float32],
        means: NDArray[np.float32],
        k: int,
        *,
        progress: bool = True,
    ) -> Level:
        """Search the neighbours and wire the graph.

        Parameters
        ----------
        features : ndarray of shape (n, D), float32
            Unit vectors.
        means : ndarray of shape (n, D), float32
            Cluster means of the same nodes.
        k : int
            Length of the neighbour lists with the node itself, so m = k - 1 others; n or more
            means all the others.
        progress : bool, default True
            Show a bar when it takes more than two seconds.

        Returns
        -------
        level : Level
            The graph.
        """
        index, similarity = knn(features, min(k, len(features)), progress=progress)
        return cls(
            features, means, index[:, 1:], np.maximum(similarity[:, 1:], 0), similarity[:, 1:] >= 0
        )

    def shortened(self, k: int) -> Level:
        """Return the graph of the k - 1 nearest neighbours, at no further search.

        Parameters
        ----------
        k : int
            At most the k that the level was built with.

        Returns
        -------
        level : Level
            The same nodes with shorter lists.
        """
        m = k - 1
        return Level(
            self.features,
            self.means,
            self.neighbors[:, :m],
            self.similarity[:, :m],
            self.linked[:, :m],
        )


def next_level(X: NDArray[np.float32], root: NDArray[np.int64], k: int) -> Level:
    """Make the peaks of a forest the nodes of the next level.

    Parameters
    ----------
    X : ndarray of shape (n, D), float32
        The samples of level 0.
    root : ndarray of shape (n,), int64
        The peak of every sample, ``root[p] == p`` for a peak p.
    k : int
        Length of the neighbour lists, see `Level.build`.

    Returns
    -------
    level : Level
        One node a peak, in the order of their index: the feature is the peak's own, the mean that
        of all samples under it, not normalised again.
    """
    order = np.argsort(root, kind="stable")
    peaks, first, size = np.unique(root[order], return_index=True, return_counts=True)
    total = np.add.reduceat(X[order], first, axis=0, dtype=np.float64)
    return Level.build(X[peaks], (total / size[:, None]).astype(np.float32), k)


def true_density(level: Level, labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the density that a node has by its neighbours' labels.

    ``d_i = mean over the m neighbours j of a_ij (+1 if y_j = y_i, else -1)``, section 3.2 of
    Hi-LANDER.

    Parameters
    ----------
    level : Level
        A level of n nodes.
    labels : ndarray of shape (n,)
        Their classes.

    Returns
    -------
    density : ndarray of shape (n,), float32
        In [-1, 1]; 0 for a node without neighbours.
    """
    same = labels[level.neighbors] == labels[:, None]
    signed: NDArray[np.float32] = np.where(same, level.similarity, -level.similarity)
    total: NDArray[np.float32] = signed.sum(axis=1)
    return total / np.float32(max(1, signed.shape[1]))
