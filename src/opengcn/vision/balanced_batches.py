"""Class-balanced batches: a few rows of each of some classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError, OpenGCNError

__all__ = ["BalancedBatches"]


class BalancedBatches:
    """Draws batches with the same number of rows of every class in them.

    Parameters
    ----------
    codes : ndarray of shape (n,), int
        Class of each row. Classes of a single row are left out: they have no positive pair.
    size : int
        Rows of a batch. It is rounded down to whole classes, and to all classes there are.
    per_class : int
        Rows of each class, 2 or more. Of smaller classes some rows come twice.
    """

    def __init__(self, codes: NDArray[np.intp], size: int, per_class: int) -> None:
        if per_class < 2:
            raise OpenGCNError(f"per_class: expected 2 or more, received {per_class}")
        if size < 2 * per_class:
            raise OpenGCNError(
                f"batch: expected room for two classes of {per_class}, received {size}"
            )
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        self._classes = [rows for rows in np.split(order, starts[1:]) if len(rows) > 1]
        if len(self._classes) < 2:
            raise DataError(
                f"training images: expected two classes with two images or more, received "
                f"{len(self._classes)}"
            )
        self.per_class = per_class
        self._count = min(size // per_class, len(self._classes))

    def __len__(self) -> int:
        """Return the number of rows of a batch."""
        return self._count * self.per_class

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw one batch.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        rows : ndarray of shape (len(self),), int
            Row numbers; those of a class follow each other.
        """
        m = self.per_class
        chosen = rng.choice(len(self._classes), self._count, replace=False)
        return np.concatenate(
            [rng.choice(self._classes[c], m, replace=len(self._classes[c]) < m) for c in chosen]
        )
