"""The reference: what D_cal's labels say about same-class and different-class distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.memo import exact_curve
from opengcn.pairs import GRID
from opengcn.rehearsal.graph_profile import distances

__all__ = ["LEVELS", "Reference", "quantiles_to_rate", "rate_to_quantiles", "reference_curve"]

LEVELS = (np.arange(24) + 0.5) / 24  # of the quantiles that stand for a curve
ROWS = 1024  # of D_cal that are kept, to be compared with a test set
COUNTED = 32_768  # rows of D_cal whose pairs are counted
ONE_CLASS_ERROR = 0.2  # of the quantiles, when a single class has pairs: nobody can tell
CLASS_ROWS, DRAWS = 64, 100  # rows of a class, and draws of classes, to estimate the error
USUAL, WORTH = 0.03, 5  # scatter of classes of a usual set, and of how many classes that is worth

Floats = NDArray[np.float32]
Rate = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """A labelled set in short.

    Attributes
    ----------
    quantiles : ndarray of shape (24,)
        Of the distances of same-class pairs, at `LEVELS`.
    negatives : ndarray of shape (3,)
        Mean, standard deviation and 5 % quantile of the distances of other pairs.
    classes : int
        How many classes.
    class_size : float
        Mean size of the class of a row.
    rows : ndarray of shape (m, D)
        Some of its rows.
    labels : ndarray of shape (m,)
        Their classes, whole numbers.
    size : int
        How many rows it has.
    error : float, default 0
        Of the quantiles, for other classes of the same world would have given others: root
        mean square over choices of classes of the absolute error, which is a mean over levels.
    scatter, row_scatter : float, default 0.03
        How much its classes, and rows of one, differ in how far they are from strangers, in
        logarithms.
    """

    quantiles: Rate
    negatives: Rate
    classes: int
    class_size: float
    rows: Floats
    labels: NDArray[np.int64]
    size: int
    error: float = 0.0
    scatter: float = USUAL
    row_scatter: float = USUAL

    @classmethod
    def of(cls, cal: EmbeddingSet, curve: OperatingCurve, rng: np.random.Generator) -> Self:
        """Make the reference of D_cal, from its exact curve.

        Parameters
        ----------
        cal : EmbeddingSet
            D_cal, labelled.
        curve : OperatingCurve
            See `reference_curve`.
        rng : Generator
            Chooses the rows that are kept, and classes for the error.

        Returns
        -------
        reference : Reference
            The reference.
        """
        below = 1 - curve.tnr
        middle, share = (GRID[1:] + GRID[:-1]) / 2, np.diff(below)
        mean = float(middle @ share)
        spread = float(np.sqrt((middle - mean) ** 2 @ share))
        low = float(np.interp(0.05, below, GRID))
        chosen = _choose(len(cal), ROWS, rng)
        rows = np.asarray(cal.take(chosen), np.float32)
        labels = np.asarray(cal.codes[chosen], np.int64)
        return cls(
            rate_to_quantiles(curve.tpr),
            np.array([mean, spread, low]),
            *_classes(cal.codes),
            rows,
            labels,
            len(cal),
            _class_error(cal, rng),
            *_scatter(rows, labels),
        )

    @classmethod
    def of_rows(cls, rows: Floats, labels: NDArray[Any]) -> Self:
        """Make the reference of a small labelled set, from every pair.

        Parameters
        ----------
        rows : ndarray of shape (m, D)
            Unit vectors.
        labels : ndarray of shape (m,)
            Classes 0, 1, ...

        Returns
        -------
        reference : Reference
            The reference.
        """
        i, j = np.triu_indices(len(rows), 1)
        d = distances(rows, rows)[i, j]
        same = labels[i] == labels[j]
        other = d[~same]
        negatives = np.array([other.mean(), other.std(), np.quantile(other, 0.05)])
        quantiles = np.quantile(d[same], LEVELS).astype(np.float64)
        return cls(quantiles, negatives, *_classes(labels), rows, labels, len(rows))


def reference_curve(cal: EmbeddingSet, rng: np.random.Generator) -> OperatingCurve:
    """Return the exact curve of D_cal, or of 32,768 of its rows when it has more.

    Parameters
    ----------
    cal : EmbeddingSet
        D_cal, labelled.
    rng : Generator
        Chooses the rows.

    Returns
    -------
    curve : OperatingCurve
        The curve.
    """
    part = cal if len(cal) <= COUNTED else cal.subset(_choose(len(cal), COUNTED, rng))
    return exact_curve(part)


def _class_error(cal: EmbeddingSet, rng: np.random.Generator) -> float:
    """Return how far the quantiles are off when classes are drawn again (bootstrap)."""
    counts, codes = [], cal.codes
    for label in range(int(codes.max()) + 1):
        own = np.flatnonzero(codes == label)
        rows = rng.permutation(own)[:CLASS_ROWS]
        members = np.asarray(cal.take(np.sort(rows)), np.float32)
        i, j = np.triu_indices(len(members), 1)
        bins = np.minimum((distances(members, members)[i, j] * 100).astype(int), len(GRID) - 1)
        # As many pairs as the whole class has: it counts for that much in the curve.
        weight = len(own) * (len(own) - 1) / 2 / max(len(bins), 1)
        counts.append(weight * np.bincount(bins, minlength=len(GRID)))
    table = np.stack([c for c in counts if c.sum()])
    if len(table) < 2:
        return ONE_CLASS_ERROR
    drawn = rng.multinomial(len(table), np.full(len(table), 1 / len(table)), size=DRAWS) @ table
    rates = np.concatenate([np.zeros((DRAWS, 1)), np.cumsum(drawn, 1)[:, :-1]], 1)
    rates /= drawn.sum(1, keepdims=True)
    found = np.stack([rate_to_quantiles(rate) for rate in rates])
    sizes = np.abs(found - found.mean(0)).mean(1)
    k = len(table)
    # A bootstrap of few is too narrow, and the spread is a guess from these few. A t distribution
    # of k + 1 degrees of freedom says by how much, and has a variance for two classes as well.
    few = np.sqrt(k / (k - 1) * (k + 1) / (k - 1))
    return float(np.sqrt(np.square(sizes).mean()) * few)


def _scatter(rows: Floats, labels: NDArray[np.int64]) -> tuple[float, float]:
    """Return how much classes differ in their distance from strangers, and rows of a class.

    The former is a guess from few classes: what is usual counts as well.
    """
    codes = np.unique(labels, return_inverse=True)[1]
    size = np.bincount(codes)
    k = len(size)
    if k < 3:  # of two, one is as far from the other as the other from it
        return USUAL, USUAL
    strangers = codes[:, None] != codes
    away = (distances(rows, rows) * strangers).sum(1, dtype=np.float64) / strangers.sum(1)
    away = np.log(np.maximum(away, 1e-6))
    means = np.bincount(codes, away) / size
    within = float(np.square(away - means[codes]).sum()) / max(len(codes) - k, 1)
    far = ((k - 1) / (k - 2)) ** 2  # a class that is far off makes all others so
    between = max(float(far * means.var(ddof=1) - within * np.mean(1 / size)), 0.0)
    return float(np.sqrt((k * between + WORTH * USUAL**2) / (k + WORTH))), float(np.sqrt(within))


def _choose(n: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.sort(rng.choice(n, min(n, count), replace=False))


def _classes(labels: NDArray[Any]) -> tuple[int, float]:
    size = np.bincount(labels)
    return int((size > 0).sum()), float((size**2).sum() / size.sum())


def rate_to_quantiles(rate: Rate) -> Rate:
    """Return the quantiles at `LEVELS` of a rising rate on the grid.

    Parameters
    ----------
    rate : ndarray of shape (201,)
        TPR.

    Returns
    -------
    quantiles : ndarray of shape (24,)
        Distances at which it reaches the levels.
    """
    # Flat stretches have no single inverse; a hair of slope picks one.
    return np.interp(LEVELS, rate + GRID * 1e-12, GRID)


def quantiles_to_rate(quantiles: Rate) -> Rate:
    """Return the rising rate on the grid that has these quantiles.

    Parameters
    ----------
    quantiles : ndarray of shape (24,)
        Ascending distances at `LEVELS`.

    Returns
    -------
    rate : ndarray of shape (201,)
        Linear between them; beyond, it goes on for half a level as steeply, and a bit more.
    """
    low = max(0.0, quantiles[0] - 1.2 * (quantiles[1] - quantiles[0]))
    high = min(2.0, quantiles[-1] + 1.2 * (quantiles[-1] - quantiles[-2]))
    at = np.concatenate([[low], quantiles, [high]])
    at = np.maximum.accumulate(at) + 1e-9 * np.arange(len(at))
    rate: Rate = np.interp(GRID, at, np.concatenate([[0.0], LEVELS, [1.0]]))
    rate[-1] = 1.0  # no distance is larger, whatever was cut off there
    return rate
