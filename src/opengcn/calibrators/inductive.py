"""The four inductive baselines: rates of D_train mapped to rates of D_cal.

The paper maps "the ground truth TPR (or TNR) as a function of the distance threshold from
D_train to D_cal" with calibrators of binary probabilities. Read so: at each grid point d_k
the score is x_k = TPR_train(d_k), and every same-class pair of D_cal is an observation that
is 1 when its distance is below d_k. Those observations have mean z_k = TPR_cal(d_k), so 201
weighted rows (x_k, z_k) hold all of them. The fitted map g gives TPR(d) = g(TPR_train(d))
for any test set, and likewise TNR: an inductive method does not look at the test set.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from opengcn.calibrators.base import Calibrator
from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import OpenGCNError
from opengcn.memo import exact_curve

__all__ = ["BetaCalibration", "HistogramCalibration", "IsotonicCalibration", "PlattScaling"]

Vector = NDArray[np.float64]
TINY = float(np.finfo(np.float64).eps)  # rates of 0 and 1 have no logarithm: moved by this


class _Inductive(Calibrator):
    """Base of the four: fits one map for TPR and one for TNR."""

    def _fit(self, train: EmbeddingSet, cal: EmbeddingSet) -> None:
        before, after = exact_curve(train), exact_curve(cal)
        tpr, tnr = (self._map(x, z) for x, z in ((before.tpr, after.tpr), (before.tnr, after.tnr)))
        # What holds for any set, and a parametric map need not know.
        tpr[0], tpr[-1], tnr[0] = 0, 1, 1
        self.curve_ = OperatingCurve(tpr, tnr, type(self).__name__)

    def _estimate(self, test: EmbeddingSet) -> OperatingCurve:
        return self.curve_

    @abstractmethod
    def _map(self, x: Vector, z: Vector) -> Vector:
        """Fit the map from rates x of D_train to rates z of D_cal, and return it at x.

        Parameters
        ----------
        x, z : ndarray of shape (201,)
            Rates on the grid of distances.

        Returns
        -------
        g : ndarray of shape (201,)
            The calibrated rates.
        """


class PlattScaling(_Inductive):
    """Platt scaling: g(x) = sigmoid(w logit(x) + b), by maximum likelihood.

    Attributes
    ----------
    curve_ : OperatingCurve
        The estimate for any test set.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.2)
    >>> og.PlattScaling().fit(train, cal).estimate(test).tpr.shape
    (201,)
    """

    def _map(self, x: Vector, z: Vector) -> Vector:
        return _logistic_map(_logit(x)[:, None], z)


class BetaCalibration(_Inductive):
    """Beta calibration: g(x) = sigmoid(a log x - b log(1 - x) + c) with a, b >= 0.

    A coefficient that comes out negative is left out and the rest is fitted again.

    Attributes
    ----------
    curve_ : OperatingCurve
        The estimate for any test set.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Beta calibration.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.2)
    >>> og.BetaCalibration().fit(train, cal).estimate(test).source
    'BetaCalibration'
    """

    def _map(self, x: Vector, z: Vector) -> Vector:
        x = x.clip(TINY, 1 - TINY)
        features = np.stack([np.log(x), -np.log1p(-x)], axis=1)
        weights = _logistic_fit(features, z)[:2]
        if (weights < 0).any():
            features = features[:, [int(np.argmax(weights))]]
        return _logistic_map(features, z)


class IsotonicCalibration(_Inductive):
    """Isotonic regression of the rates of D_cal on those of D_train.

    Both rise (or fall) with the threshold, so the best monotone map is D_cal's own curve.
    Thresholds at which D_train's rate is the same, as where it has reached 1, are kept in
    their order rather than merged, since the map is one of functions of the threshold.

    Attributes
    ----------
    curve_ : OperatingCurve
        The estimate for any test set.

    References
    ----------
    Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass
    probability estimates.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.2)
    >>> curve = og.IsotonicCalibration().fit(train, cal).estimate(test)
    >>> bool(abs(curve.tpr - og.OperatingCurve.from_labels(cal).tpr).max() < 1e-9)
    True
    """

    def _map(self, x: Vector, z: Vector) -> Vector:
        from sklearn.isotonic import IsotonicRegression

        order = np.arange(len(x)) if x[-1] >= x[0] else np.arange(len(x))[::-1]
        rank = np.empty(len(x))
        rank[np.lexsort((order, x))] = np.arange(len(x))
        fitted = IsotonicRegression(y_min=0, y_max=1).fit(rank, z)
        return np.asarray(fitted.predict(rank), dtype=np.float64)


class HistogramCalibration(_Inductive):
    """Histogram binning: the mean rate of D_cal in bins of the rate of D_train.

    Parameters
    ----------
    bins : int, default 1000
        Bins of equal width on [0, 1]. The ten bins that are usual for classifiers are far
        too coarse here; 1,000 agree with the isotonic map, as the paper's tables do, except
        where D_train's rate is within a bin of 0 or 1: there all thresholds share a value.

    Attributes
    ----------
    curve_ : OperatingCurve
        The estimate for any test set.

    References
    ----------
    Zadrozny and Elkan (2001), Obtaining calibrated probability estimates from decision
    trees and naive Bayesian classifiers.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.2)
    >>> og.HistogramCalibration(bins=100).fit(train, cal).estimate(test).source
    'HistogramCalibration'
    """

    def __init__(self, bins: int = 1000) -> None:
        self.bins = bins

    def _map(self, x: Vector, z: Vector) -> Vector:
        if self.bins < 1:
            raise OpenGCNError(f"bins: expected 1 or more, received {self.bins}")
        index = np.minimum((x * self.bins).astype(np.intp), self.bins - 1)
        total = np.bincount(index, z, minlength=self.bins)
        # Rates are asked for where they were observed, so no bin that counts is empty.
        return total[index] / np.bincount(index, minlength=self.bins)[index]


def _logit(x: Vector) -> Vector:
    x = x.clip(TINY, 1 - TINY)
    return np.log(x) - np.log1p(-x)


def _logistic_map(features: Vector, z: Vector) -> Vector:
    """Return the fitted sigmoid at its own features, of shape (n, k)."""
    weights = _logistic_fit(features, z)
    return _sigmoid(features @ weights[:-1] + weights[-1])


def _sigmoid(t: Vector) -> Vector:
    return 0.5 * (1 + np.tanh(0.5 * t))


def _logistic_fit(features: Vector, z: Vector) -> Vector:
    """Maximise sum z log g + (1 - z) log(1 - g), g = sigmoid(features w + b), by Newton.

    Parameters
    ----------
    features : ndarray of shape (n, k)
        The scores.
    z : ndarray of shape (n,)
        Targets in [0, 1]: the share of ones among the observations of each row.

    Returns
    -------
    weights : ndarray of shape (k + 1,)
        The w, then b.
    """
    A = np.column_stack([features, np.ones(len(z))])
    weights = np.zeros(A.shape[1])

    def loss(w: Vector) -> float:
        t = A @ w
        return float((np.logaddexp(0, t) - z * t).sum())

    best = loss(weights)
    for _ in range(100):
        g = _sigmoid(A @ weights)
        hessian = (A * (g * (1 - g))[:, None]).T @ A
        step = np.linalg.lstsq(hessian, A.T @ (z - g), rcond=None)[0]
        size = 1.0
        # Newton overshoots where the sigmoid is flat: halve until the loss falls.
        while (now := loss(weights + size * step)) > best and size > 1e-10:
            size /= 2
        weights = weights + size * step
        if best - now <= 1e-13 * (1 + abs(best)):
            break
        best = now
    return weights
