"""Class-specific scores (Eq. 6) and what the densities say about them (Theorems 1 and 2).

Let N be a cluster of class k alone, and let each i in N have a neighbourhood N_i that holds
N and other samples. With a_ij the cosine similarity and s_avg, s_nbr the densities of Eq. 5:

- Theorem 1: (TPR^k)^2 = |N_i| / |N| avg s_avg = |N_i| / (2 |N|) (avg s_nbr + avg a_avg),
  exactly when N is the whole class and the pairs i = i count;
- Theorem 2, as it must read: TNR^k = 1 - |N| |N_i| / |N|_k- avg(s_avg - s_nbr), with |N|_k-
  the number of pairs of a member of N and a sample of another class in its neighbourhood.
  The paper prints it without the factor |N_i|, and then the two sides differ by it.

When N or the neighbourhoods are samples of the class and of the others, both hold in the
limit of large samples. They do not hold for a cluster that is not pure: at 90 % purity the
estimate of TPR^k keeps a bias that no sample size removes, since the strangers in N count as
members. `tests/graph/test_class_scores.py` shows both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opengcn.embeddings import EmbeddingSet

__all__ = ["ClassScores", "class_scores"]


class ClassScores(NamedTuple):
    """Scores of each class of a labelled set.

    Attributes
    ----------
    classes : ndarray of shape (k,)
        The labels, sorted.
    tpr : ndarray of shape (k,)
        TPR^k: length of the mean embedding of the class; 1 when all its samples coincide.
    tnr : ndarray of shape (k,)
        TNR^k: mean of 1 - cosine similarity to samples of other classes. NaN when there is
        only one class.
    """

    classes: NDArray[np.generic]
    tpr: NDArray[np.float64]
    tnr: NDArray[np.float64]


def class_scores(X: ArrayLike | EmbeddingSet, y: ArrayLike | None = None) -> ClassScores:
    """Return TPR^k and TNR^k of each class (Eq. 6).

    Takes time in n D: both are functions of the sums of the classes' embeddings.

    Parameters
    ----------
    X : array_like of shape (n, D) or EmbeddingSet
        The embeddings.
    y : array_like of shape (n,), optional
        Their labels; not needed when X is a set with labels.

    Returns
    -------
    scores : ClassScores
        In the order of the sorted labels.

    Examples
    --------
    >>> class_scores([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], ["a", "a", "b"]).tpr
    array([1., 1.])
    """
    data = X if isinstance(X, EmbeddingSet) else EmbeddingSet(X, y)
    codes = data.codes
    sizes = np.bincount(codes)
    sums = np.zeros((len(sizes), data.dim))
    np.add.at(sums, codes, data.embeddings.astype(np.float64))
    others = sums.sum(axis=0) - sums
    pairs = sizes * (len(codes) - sizes)
    with np.errstate(invalid="ignore"):
        tnr = np.where(pairs > 0, 1 - np.einsum("kd,kd->k", sums, others) / pairs, np.nan)
    return ClassScores(np.unique(data.require_labels()), np.linalg.norm(sums, axis=1) / sizes, tnr)
