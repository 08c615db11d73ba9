"""Pseudo-label baselines: cluster the test set, then take the clusters for classes.

The settings of the clustering are those that give D_cal the smallest MAE_comb, so that a bad
choice cannot be blamed. A setting that suits the few classes of D_cal may still merge many of
D_test's; the pairs of such a cluster are far apart, and TPR(d) comes out too low.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.calibrators.base import Calibrator
from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import OpenGCNError, OpenGCNWarning
from opengcn.memo import exact_curve, remembered
from opengcn.progress import progress_bar

__all__ = ["DBSCANCalibration", "HiLander"]

TUNING_ROWS = 4096  # of D_cal, whole classes: the clusterings tried on it are many

Clusters = NDArray[np.int64]


class _PseudoLabel(Calibrator):
    """Base: subclasses cluster; this chooses their setting on D_cal and makes curves.

    Attributes
    ----------
    setting_ : dict
        The setting that gives D_cal the smallest MAE_comb.
    tuning_ : list of dict
        Every setting tried, with its ``mae`` on D_cal (NaN where no curve came out).
    """

    def _tune(self, cal: EmbeddingSet, tried: Iterable[tuple[dict[str, Any], Clusters]]) -> None:
        truth = exact_curve(cal)
        self.tuning_ = []
        for setting, clusters in tried:
            self.tuning_.append(setting | {"mae": _error(cal, clusters, truth)})
        errors = [row["mae"] for row in self.tuning_]
        if np.isnan(errors).all():
            raise OpenGCNError(
                f"{type(self).__name__}: expected a setting that finds both matches and "
                f"strangers in D_cal, received none among {len(errors)} tried"
            )
        best = dict(self.tuning_[int(np.nanargmin(errors))])
        best.pop("mae")
        self.setting_ = best

    def _estimate(self, test: EmbeddingSet) -> OperatingCurve:
        curve = OperatingCurve.from_labels(test.embeddings, self.cluster(test))
        return OperatingCurve(curve.tpr, curve.tnr, type(self).__name__)

    @abstractmethod
    def cluster(self, test: EmbeddingSet) -> Clusters:
        """Return the clusters of a set under the chosen setting, of shape (n,).

        Parameters
        ----------
        test : EmbeddingSet
            The set.

        Returns
        -------
        clusters : ndarray of shape (n,), int64
            Pseudo-labels 0, 1, ...
        """


class DBSCANCalibration(_PseudoLabel):
    """Pseudo-labels by DBSCAN; points that it calls noise are classes of their own.

    Parameters
    ----------
    eps : sequence of float, default 0.1, 0.125, ..., 1.4
        Neighbourhood radii (L2 distances) to try on D_cal.
    min_samples : sequence of int, default (2, 4, 8)
        Neighbourhood sizes to try on D_cal.

    Attributes
    ----------
    setting_ : dict
        The ``eps`` and ``min_samples`` that give D_cal the smallest MAE_comb.
    tuning_ : list of dict
        Every setting tried, with its ``mae`` on D_cal.

    References
    ----------
    Ester, Kriegel, Sander and Xu (1996), A density-based algorithm for discovering clusters
    in large spatial databases with noise.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.2)
    >>> model = og.DBSCANCalibration(eps=(0.8, 1.0), min_samples=(2,)).fit(train, cal)
    >>> sorted(model.setting_)
    ['eps', 'min_samples']
    >>> model.cluster(test).shape
    (160,)
    """

    def __init__(
        self,
        eps: tuple[float, ...] = tuple(np.arange(4, 57) / 40),
        min_samples: tuple[int, ...] = (2, 4, 8),
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples

    def _fit(self, train: EmbeddingSet, cal: EmbeddingSet) -> None:
        from sklearn.cluster import DBSCAN

        cal = _whole_classes(cal, TUNING_ROWS)
        X = cal.embeddings.astype(np.float64)
        distance = np.sqrt(np.maximum(2 - 2 * X @ X.T, 0))

        def tried() -> Iterable[tuple[dict[str, Any], Clusters]]:
            total = len(self.eps) * len(self.min_samples)
            with progress_bar("Tuning DBSCAN", total) as advance:
                for eps in self.eps:
                    for size in self.min_samples:
                        model = DBSCAN(eps=eps, min_samples=size, metric="precomputed")
                        yield (
                            {"eps": float(eps), "min_samples": size},
                            _without_noise(model.fit_predict(distance)),
                        )
                        advance(1)

        self._tune(cal, tried())

    def cluster(self, test: EmbeddingSet) -> Clusters:
        """Return the clusters of a set, of shape (n,); see the base class."""
        from sklearn.cluster import DBSCAN

        return _without_noise(DBSCAN(**self.setting_).fit_predict(test.embeddings))


class HiLander(_PseudoLabel):
    """Pseudo-labels by Hi-LANDER: a graph network that clusters level by level.

    Parameters
    ----------
    taus : sequence of float, default 0.05, 0.1, ..., 0.95
        Connectivity thresholds to try on D_cal.
    seed : int, default 0
        Seed of the training.

    Attributes
    ----------
    setting_ : dict
        The ``tau`` that gives D_cal the smallest MAE_comb.
    tuning_ : list of dict
        Every tau tried, with its ``mae`` on D_cal.
    model_ : opengcn.calibrators.lander.Lander
        The network, trained on D_train.

    References
    ----------
    Xing, He, Xiao, Wang, Xiong, Xia, Wipf, Zhang and Soatto (2021), Learning hierarchical
    graph neural networks for image clustering.

    Examples
    --------
    Its training takes half a minute or more; then it fits and estimates as the others do.

    >>> import opengcn as og
    >>> og.HiLander(taus=(0.4, 0.6), seed=1)
    HiLander(seed=1, taus=(0.4, 0.6))
    """

    def __init__(
        self, taus: tuple[float, ...] = tuple(np.arange(5, 100, 5) / 100), seed: int = 0
    ) -> None:
        self.taus = taus
        self.seed = seed

    def _fit(self, train: EmbeddingSet, cal: EmbeddingSet) -> None:
        from opengcn.calibrators.lander import Lander

        # Training looks at D_train alone: every split of one data set shares it.
        self.model_ = remembered(
            train,
            ("Lander", self.seed),
            lambda: Lander(seed=self.seed).fit(train.embeddings, train.codes, progress=True),
        )
        many = self.model_.cluster_many(cal.embeddings, self.taus)
        self._tune(cal, (({"tau": float(t)}, c) for t, c in zip(self.taus, many, strict=True)))

    def cluster(self, test: EmbeddingSet) -> Clusters:
        """Return the clusters of a set, of shape (n,); see the base class."""
        return self.model_.cluster(test.embeddings, **self.setting_)


def _error(cal: EmbeddingSet, clusters: Clusters, truth: OperatingCurve) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpenGCNWarning)  # that no pair is left is told by NaN
        curve = OperatingCurve.from_labels(cal.embeddings, clusters)
    if np.isnan(curve.tpr).any() or np.isnan(curve.tnr).any():
        return float("nan")
    return curve.mae(truth)


def _without_noise(clusters: NDArray[np.integer[Any]]) -> Clusters:
    """Make each noise point (-1) a cluster of its own."""
    labels = clusters.astype(np.int64)
    noise = labels < 0
    labels[noise] = labels.max(initial=-1) + 1 + np.arange(noise.sum())
    return labels


def _whole_classes(cal: EmbeddingSet, rows: int) -> EmbeddingSet:
    """Return classes of D_cal, at random, while they have at most `rows` rows together."""
    codes = cal.codes
    order = np.random.default_rng(0).permutation(codes.max() + 1)
    sizes = np.bincount(codes)[order].cumsum()
    if sizes[-1] <= rows:
        return cal
    keep = order[: max(2, int(np.searchsorted(sizes, rows, side="right")))]
    return cal.subset(np.isin(codes, keep))
