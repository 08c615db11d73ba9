"""Which rows stand for a large tenant: a random sample that depends on its name alone."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.arrow_columns import list_vectors
from opengcn.tenants.batch import Name

__all__ = ["BLOCK", "PassingRows", "chosen_rows", "most_rows"]

FLOATS = 2**24  # kept of one tenant: 64 MB as float32, 131,072 rows of 128 dimensions
BLOCK = 8192  # rows that pass at a time, whatever the row groups of a file
LEAST = 16_384  # rows, in any dimension: as many as the default preset looks at


def most_rows(dim: int) -> int:
    """Return how many rows of a tenant are kept at most.

    Parameters
    ----------
    dim : int
        Dimension of the embeddings.

    Returns
    -------
    rows : int
        16,384 or more.
    """
    return max(LEAST, FLOATS // max(dim, 1))


def chosen_rows(tenant: Name, total: int, dim: int) -> NDArray[np.intp] | None:
    """Choose the rows of a tenant that are kept.

    Parameters
    ----------
    tenant : str or int
        Its name, whose hash is the seed: same name and size, same rows, on any machine.
    total : int
        How many rows it has.
    dim : int
        Dimension of the embeddings.

    Returns
    -------
    rows : ndarray of shape (m,) or None
        Ascending row numbers; None for all rows.
    """
    most = most_rows(dim)
    if total <= most:
        return None
    seed = int.from_bytes(sha256(str(tenant).encode()).digest()[:8])
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(total, most, replace=False, shuffle=False))


class PassingRows:
    """Picks the chosen rows of a tenant while its rows pass by in order.

    Parameters
    ----------
    tenant : str or int
        Its name.
    total : int
        How many rows will pass.
    dim : int
        Dimension that they should have.
    """

    def __init__(self, tenant: Name, total: int, dim: int) -> None:
        self.tenant = tenant
        self.dim = dim
        self._chosen = chosen_rows(tenant, total, dim)
        self._passed = 0

    def pick(self, lists: Any) -> NDArray[Any]:
        """Return the chosen ones among the next rows.

        Parameters
        ----------
        lists : pyarrow.Array of shape (n,)
            The next rows of the tenant, as lists of floats.

        Returns
        -------
        raw : ndarray of shape (m, D)
            Those of them that are kept.
        """
        first, self._passed = self._passed, self._passed + len(lists)
        rows = np.arange(first, self._passed)
        if self._chosen is not None:
            begin, end = np.searchsorted(self._chosen, [first, self._passed])
            rows = self._chosen[begin:end]
            lists = lists.take(rows - first)
        return list_vectors(
            lists, self.dim, lambda i: f"tenant {self.tenant!r}: row {rows[i]}", "D_train"
        )
