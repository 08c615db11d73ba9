"""The baseline that is hard to beat: TPR from D_cal, TNR from the test set itself."""

from __future__ import annotations

import numpy as np

from opengcn.calibrators.base import Calibrator
from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError
from opengcn.memo import exact_curve
from opengcn.pairs import PairHistogram, count_pairs

__all__ = ["SplitCurve"]


class SplitCurve(Calibrator):
    """TPR as on D_cal, TNR as if all pairs of the test set were of different classes.

    Nearly all of them are, when the test set has many classes: with 100 classes of equal
    size 1 % of the pairs are not, and TNR is wrong by at most that share. It learns
    nothing and has no setting, and halves the error of the inductive baselines.

    Attributes
    ----------
    tpr_ : ndarray of shape (201,)
        D_cal's exact TPR.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.2)
    >>> curve = og.SplitCurve().fit(train, cal).estimate(test)
    >>> bool((curve.tpr == og.OperatingCurve.from_labels(cal).tpr).all())
    True
    """

    def _fit(self, train: EmbeddingSet, cal: EmbeddingSet) -> None:
        self.tpr_ = exact_curve(cal).tpr

    def _estimate(self, test: EmbeddingSet) -> OperatingCurve:
        if len(test) < 2:
            raise DataError(f"{test.source}: expected two rows or more, received {len(test)}")
        pairs = count_pairs(test)
        everything = OperatingCurve.from_histogram(PairHistogram(pairs.different, pairs.different))
        return OperatingCurve(np.array(self.tpr_), everything.tnr, "SplitCurve")
