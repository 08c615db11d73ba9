"""Copies of rows in a test set: sure pairs of one class, which no graph needs to be asked about."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opengcn.curve import OperatingCurve
from opengcn.errors import OpenGCNWarning

__all__ = ["doubles_share", "with_copies", "without_copies"]

COPIES = 0.1  # share of rows that are copies of others, above which they are counted apart


def without_copies(
    rows: NDArray[np.float32], fewest: int, source: str
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows without copies.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        Rows. A few copies among them are left where they are, since they do no harm.
    fewest : int
        When fewer rows would remain, all stay, with a warning.
    source : str
        What the warning calls the set.

    Returns
    -------
    rows : ndarray of shape (m, D)
        In the order in which they come first.
    copies : ndarray of shape (m,)
        How often each was there; all 1 when nothing was taken out.
    """
    as_bytes = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    _, first, count = np.unique(as_bytes[:, 0], return_index=True, return_counts=True)
    if len(first) < fewest:
        warnings.warn(
            f"{source}: expected {fewest} rows or more that differ, received {len(first)}; the "
            "estimate rests on D_cal",
            OpenGCNWarning,
            stacklevel=6,
        )
    if len(first) > (1 - COPIES) * len(rows) or len(first) < fewest:
        return rows, np.ones(len(rows), np.int64)
    order = np.argsort(first)
    return rows[first[order]], count[order]


def doubles_share(copies: NDArray[np.int64]) -> float:
    """Return the share of all pairs that are two copies of one row.

    Parameters
    ----------
    copies : ndarray of shape (m,)
        How often each row is there.

    Returns
    -------
    share : float
        In [0, 1].
    """
    n = int(copies.sum())
    return float((copies * (copies - 1)).sum() / (n * (n - 1)))


def with_copies(
    curve: OperatingCurve, copies: NDArray[np.int64], prior_low: float, prior_high: float
) -> OperatingCurve:
    """Return the curve of the rows with their copies, which are of one class at distance 0.

    Parameters
    ----------
    curve : OperatingCurve
        Estimated of the rows without copies, with a band, and its ``prior`` in `info`.
    copies : ndarray of shape (m,)
        How often each row is there.
    prior_low, prior_high : float
        Band of the prior without copies: the fewer other same-class pairs there are, the
        more of all are copies.

    Returns
    -------
    curve : OperatingCurve
        TPR, its band and the prior with copies; TNR stays.
    """
    doubles = doubles_share(copies)
    prior = curve.info["prior"]

    def lifted(rate: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
        part = doubles / (doubles + prior * (1 - doubles))  # of the same-class pairs
        found: NDArray[np.float64] = part + (1 - part) * rate
        found[0] = 0.0  # strictly below 0 there is nothing
        return found

    assert curve.tpr_low is not None
    assert curve.tpr_high is not None
    return replace(
        curve,
        tpr=lifted(curve.tpr, prior),
        tpr_low=lifted(curve.tpr_low, max(prior, prior_high)),
        tpr_high=lifted(curve.tpr_high, min(prior, prior_low)),
        info=dict(curve.info) | {"prior": doubles + prior * (1 - doubles)},
    )
