"""Recall@1: how good an embedding is, before any threshold."""

from __future__ import annotations

import numpy as np

from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError
from opengcn.knn import knn

__all__ = ["recall_at_1"]


def recall_at_1(embeddings: EmbeddingSet, *, progress: bool = True) -> float:
    """Return the share of rows whose nearest other row is of the same class.

    Parameters
    ----------
    embeddings : EmbeddingSet
        A labelled set. Rows that are alone in their class are not counted.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    recall : float
        In [0, 1].

    Examples
    --------
    >>> import opengcn as og
    >>> from opengcn.vision import recall_at_1
    >>> recall_at_1(og.EmbeddingSet([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.2, 1.0]], [0, 0, 1, 1]))
    1.0
    """
    codes = embeddings.codes
    counted = np.bincount(codes)[codes] > 1
    if not counted.any():
        raise DataError(f"{embeddings.source}: expected a class with two rows, received none")
    nearest = knn(embeddings.embeddings, 2, progress=progress)[0][:, 1]
    return float((codes[nearest] == codes)[counted].mean())
