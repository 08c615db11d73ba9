"""Copies of rows in a test set: pairs that no graph needs to be asked about.

Copies are of one class, unless D_train and D_cal have some that are not: short texts, say, or
boilerplate, which documents of different kinds share to the letter.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opengcn.curve import OperatingCurve
from opengcn.distinct_rows import distinct_rows
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import OpenGCNWarning

__all__ = ["alike_share", "copies_apart", "doubles_share", "with_copies", "without_copies"]

COPIES = 0.1  # share of rows that are copies of others, above which they are counted apart
LOOKED = 16_384  # labelled rows that are looked at
# Copies that are fewer than so many of the labelled rows say nothing of a set that has many: most
# data sets have a few under two labels. Of more, so many are of one class to begin with.
RARE, USUAL = 0.05, 5


def alike_share(*labelled: EmbeddingSet) -> float:
    """Return how many copies are of one class.

    Parameters
    ----------
    *labelled : EmbeddingSet
        D_train and D_cal.

    Returns
    -------
    share : float
        In (0, 1]: 1 where there are few copies, or only within classes. Rows count alike, not
        pairs: one blank image, often repeated, is no reason to think of all copies as strangers.
    """
    same = copies = 0.0
    rows = 0
    for data in labelled:
        chosen = np.sort(np.random.default_rng(0).choice(len(data), min(len(data), LOOKED), False))
        group = distinct_rows(np.asarray(data.take(chosen), np.float32))[1]
        size = np.bincount(group)
        (kind, _), count = np.unique(
            np.stack([group, data.codes[chosen]]), axis=1, return_counts=True
        )
        rows += len(chosen)
        copies += float((size - 1).sum())
        same += float((count * (count - 1) / size[kind]).sum())
    return 1.0 if copies < RARE * rows else (same + USUAL) / (copies + USUAL)


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
    first, group = distinct_rows(rows)
    if len(first) < fewest:
        warnings.warn(
            f"{source}: expected {fewest} rows or more that differ, received {len(first)}; the "
            "estimate rests on D_cal",
            OpenGCNWarning,
            stacklevel=6,
        )
    if len(first) > (1 - COPIES) * len(rows) or len(first) < fewest:
        return rows, np.ones(len(rows), np.int64)
    return rows[first], np.bincount(group)


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


def copies_apart(prior: float, doubles: float, alike: float) -> tuple[float, float]:
    """Say what a known prior means where there are copies.

    Parameters
    ----------
    prior : float
        Share of same-class pairs.
    doubles : float
        Share of pairs of copies: see `doubles_share`; below 1.
    alike : float
        How many of these are believed to be of one class.

    Returns
    -------
    alike, rest : float
        The former, as far as the prior allows it, and the prior of the rows without copies. A
        prior that is lower than copies would make it says that fewer of them are of one class.
    """
    if 0 < prior < alike * doubles:
        alike *= (prior / (alike * doubles)) ** 2
    if doubles > 0:  # all other pairs are no more than all
        alike = max(alike, 1 - (1 - prior) / doubles)
    return alike, min(max((prior - alike * doubles) / (1 - doubles), 1e-9), 1.0)


def with_copies(
    curve: OperatingCurve,
    copies: NDArray[np.int64],
    alike: float,
    priors: Sequence[float],
) -> OperatingCurve:
    """Return the curve of the rows with their copies, which are at distance 0.

    Parameters
    ----------
    curve : OperatingCurve
        Estimated of the rows without copies, with a band.
    copies : ndarray of shape (m,)
        How often each row is there.
    alike : float
        How many pairs of copies are of one class: see `alike_share`.
    priors : sequence of three floats
        Of the rows without copies, and its band: the fewer other same-class pairs there are, the
        more of all are copies.

    Returns
    -------
    curve : OperatingCurve
        Rates, their bands and the prior with copies.
    """
    doubles = doubles_share(copies)
    same, other = alike * doubles, (1 - alike) * doubles
    prior, prior_low, prior_high = priors

    def lifted(rate: NDArray[np.float64], added: float, share: float) -> NDArray[np.float64]:
        whole = added + share * (1 - doubles)
        part = added / whole if whole > 0 else 0.0  # of the pairs of this kind
        found: NDArray[np.float64] = part + (1 - part) * rate
        found[0] = 0.0  # strictly below 0 there is nothing
        return found

    def lowered(tnr: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1 - lifted(1 - tnr, other, 1 - prior)

    assert curve.tpr_low is not None
    assert curve.tpr_high is not None
    assert curve.tnr_low is not None
    assert curve.tnr_high is not None
    return replace(
        curve,
        tpr=lifted(curve.tpr, same, prior),
        tpr_low=lifted(curve.tpr_low, same, prior_high),
        tpr_high=lifted(curve.tpr_high, same, prior_low),
        tnr=lowered(curve.tnr),
        tnr_low=lowered(curve.tnr_low),
        tnr_high=lowered(curve.tnr_high),
        info=dict(curve.info) | {"prior": same + prior * (1 - doubles)},
    )
