"""What rows see of others: how far neighbours are, at ranks that go with the number of mates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.among import NEVER

__all__ = ["RANKS", "nearest_few", "see", "thin"]

# Neighbours that are looked at, over the number of class mates: of few mates and of many alike.
RANKS = np.array([0.06, 0.12, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2, 1.7, 2.5, 4, 7])

Floats = NDArray[np.float32]
Rate = NDArray[np.float64]


def nearest_few(d: Floats, count: float, last: int) -> Floats:
    """Return the smallest distances of each row, as many as `see` needs.

    Parameters
    ----------
    d : ndarray of shape (r, n)
        Distances to others.
    count, last : float, int
        As in `see`.

    Returns
    -------
    near : ndarray of shape (r, k)
        Ascending.
    """
    most = int(min(RANKS[-1] * count, last)) + 2
    if 4 * most < d.shape[1]:  # or else to sort everything is faster
        d = np.partition(d, most - 1, axis=1)[:, :most]
    return np.sort(d, axis=1)


def thin(d: Floats, part: float, lots: Floats) -> Floats:
    """Put all but a part of others out of sight.

    Parameters
    ----------
    d : ndarray of shape (r, n)
        Distances to them.
    part : float
        How many stay.
    lots : ndarray of shape (r, n) or wider
        In [0, 1): those below `part` stay.

    Returns
    -------
    d : ndarray of shape (r, n)
        With `NEVER` for the others.
    """
    if part > 0.995:  # nearly all make no difference
        return d
    return np.where(lots[:, : d.shape[1]] < part, d, np.float32(NEVER))


def see(near: Floats, count: float, last: int, known: Rate) -> Rate:
    """Return what rows see: log distances at ranks, over D_cal's median, and how many mates.

    Parameters
    ----------
    near : ndarray of shape (r, k)
        Distances to others, ascending.
    count : float
        How many class mates they have.
    last : int
        Rank beyond which nobody is sure to be.
    known : ndarray of shape (24,)
        Quantiles of same-class distances.

    Returns
    -------
    seen : ndarray of shape (r, 13)
        At `RANKS`, and the logarithm of `count`.
    """
    ranks = np.clip(RANKS * count, 1, last) - 1
    low = np.floor(ranks).astype(int)
    high = np.minimum(low + 1, near.shape[1] - 1)
    below, above = (np.log(near[:, at].clip(1e-3, 2)) for at in (low, high))
    seen = below + (ranks - low) * (above - below) - np.log(max(known[len(known) // 2], 1e-3))
    return np.column_stack([seen, np.full(len(near), np.log(count))])
