"""Test sets with a long tail: classes thinned to Zipf sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["zipf_rows"]

EXPONENT = 0.7  # of the Zipf law: 90 classes then differ by a factor of 23
FEWEST = 3  # rows of a class, so that each still has same-class pairs


def zipf_rows(codes: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Thin classes, in random order, to sizes in proportion to rank ** -0.7.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Classes 0, 1, ...
    seed : int
        Chooses the order of the classes and the rows.

    Returns
    -------
    rows : ndarray of int, shape (m,)
        Row numbers, sorted; at least three of a class, or all that it has.
    """
    rng = np.random.default_rng(1000 + seed)  # not the numbers that chose D_cal
    kept = []
    for rank, code in enumerate(rng.permutation(int(codes.max()) + 1), 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        kept.append(rows[: max(FEWEST, int(len(rows) * rank**-EXPONENT))])
    return np.sort(np.concatenate(kept))
