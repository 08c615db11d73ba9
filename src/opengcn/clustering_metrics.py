"""How well a clustering agrees with the classes: pairwise F, BCubed F and NMI.

The F scores come from the non-zero cells of the contingency table, so memory is linear in the
number of samples however many clusters and classes there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import normalized_mutual_info_score

from opengcn.errors import DataError

__all__ = ["FScore", "bcubed_f", "nmi", "pairwise_f"]


class FScore(NamedTuple):
    """Precision, recall and their harmonic mean `f`, each in [0, 1]."""

    precision: float
    recall: float
    f: float


class _Cells(NamedTuple):
    """Non-zero cells of the contingency table, each with the sums of its row and its column."""

    size: NDArray[np.float64]
    class_size: NDArray[np.float64]
    cluster_size: NDArray[np.float64]


def pairwise_f(classes: ArrayLike, clusters: ArrayLike) -> FScore:
    """Compare the pairs i < j of one cluster with the pairs of one class.

    Parameters
    ----------
    classes : array_like of shape (n,)
        True classes, integers or strings.
    clusters : array_like of shape (n,)
        Cluster labels.

    Returns
    -------
    score : FScore
        Precision is the share of same-cluster pairs that are of one class, recall the share of
        same-class pairs that are in one cluster. A share of no pairs counts as 1.
    """
    size, class_size, cluster_size = _contingency(classes, clusters)
    # Summed over its samples, a cell contributes size * (partners in the same cell, row, column).
    both = np.sum(size * (size - 1))
    same_cluster = np.sum(size * (cluster_size - 1))
    same_class = np.sum(size * (class_size - 1))
    return _f_score(
        both / same_cluster if same_cluster else 1.0, both / same_class if same_class else 1.0
    )


def bcubed_f(classes: ArrayLike, clusters: ArrayLike) -> FScore:
    """Average over the samples how pure and how complete their own cluster is.

    Parameters
    ----------
    classes : array_like of shape (n,)
        True classes, integers or strings.
    clusters : array_like of shape (n,)
        Cluster labels.

    Returns
    -------
    score : FScore
        Precision is the mean over the samples of the share of their cluster that is of their class,
        recall the mean of the share of their class that is in their cluster; a sample counts as a
        member of its own cluster and class.

    References
    ----------
    Amigo et al., "A comparison of extrinsic clustering evaluation metrics based on formal
    constraints", Information Retrieval 12 (2009).
    """
    size, class_size, cluster_size = _contingency(classes, clusters)
    n = np.sum(size)
    return _f_score(np.sum(size * size / cluster_size) / n, np.sum(size * size / class_size) / n)


def nmi(classes: ArrayLike, clusters: ArrayLike) -> float:
    """Return the mutual information over the arithmetic mean of the two entropies.

    Parameters
    ----------
    classes : array_like of shape (n,)
        True classes, integers or strings.
    clusters : array_like of shape (n,)
        Cluster labels.

    Returns
    -------
    nmi : float
        In [0, 1]; 1 when both partitions are the same.
    """
    return float(normalized_mutual_info_score(*_codes(classes, clusters)))


def _codes(classes: ArrayLike, clusters: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    a, b = np.asarray(classes), np.asarray(clusters)
    if a.ndim != 1 or a.shape != b.shape or len(a) == 0:
        raise DataError(
            "classes and clusters: expected two arrays of the same length n >= 1,"
            f" received shapes {a.shape} and {b.shape}"
        )
    return np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]


def _contingency(classes: ArrayLike, clusters: ArrayLike) -> _Cells:
    a, b = _codes(classes, clusters)
    cells, size = np.unique(a * (b.max() + 1) + b, return_counts=True)
    row, column = np.divmod(cells, b.max() + 1)
    return _Cells(
        size.astype(np.float64),
        np.bincount(a).astype(np.float64)[row],
        np.bincount(b).astype(np.float64)[column],
    )


def _f_score(precision: float, recall: float) -> FScore:
    total = precision + recall
    f = 2 * precision * recall / total if total else 0.0
    return FScore(float(precision), float(recall), float(f))
