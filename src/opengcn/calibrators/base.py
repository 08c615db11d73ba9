"""What a calibrator is: it learns from labelled sets, then estimates unlabelled ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError, OpenGCNError
from opengcn.labels import shared_labels
from opengcn.open_world import check_open_world

__all__ = ["Calibrator"]


class Calibrator(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all calibrators.

    A calibrator learns from D_train (the classes that the embedder has seen) and D_cal (a
    few other classes), both labelled, and estimates the operating curve of D_test, whose
    classes are new and whose labels nobody needs to know.

    Subclasses implement `_fit` and `_estimate`. Constructor arguments are stored as they
    are, results of `fit` end in an underscore, as scikit-learn has it.
    """

    def fit(
        self,
        train_X: ArrayLike | EmbeddingSet,
        train_y: ArrayLike | EmbeddingSet | None = None,
        cal_X: ArrayLike | None = None,
        cal_y: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled sets: ``fit(train, cal)`` or ``fit(X, y, cal_X, cal_y)``.

        Parameters
        ----------
        train_X : EmbeddingSet, or array_like of shape (n, D)
            D_train.
        train_y : EmbeddingSet, or array_like of shape (n,)
            D_cal when `train_X` is a set, else the labels of `train_X`.
        cal_X : array_like of shape (m, D), optional
            D_cal, in the form with four arrays.
        cal_y : array_like of shape (m,), optional
            Its labels.

        Returns
        -------
        self : Calibrator
            The fitted calibrator.
        """
        train, cal = _two_sets(train_X, train_y, cal_X, cal_y)
        check_open_world(train, cal)
        # A fit that fails must not leave half of itself, or an earlier one, behind.
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)
        self._fit(train, cal)
        self.seen_: dict[str, list[NDArray[Any]]] = {}
        for one in (train, cal):
            classes = np.unique(one.require_labels())
            self.seen_.setdefault(one.label_space, []).append(classes)
        self.summary_ = {
            name: {"rows": len(data), "classes": int(data.codes.max()) + 1}
            for name, data in (("train", train), ("cal", cal))
        }
        self.dim_ = train.dim
        return self

    def estimate(self, test_X: ArrayLike | EmbeddingSet) -> OperatingCurve:
        """Estimate the operating curve of a set; its labels, if any, are not looked at.

        Parameters
        ----------
        test_X : EmbeddingSet, or array_like of shape (n, D)
            D_test.

        Returns
        -------
        curve : OperatingCurve
            The estimated curve.
        """
        return self._estimate(self._checked(test_X))

    def _checked(self, test_X: ArrayLike | EmbeddingSet) -> EmbeddingSet:
        """Return D_test as a set that this calibrator can estimate."""
        if not hasattr(self, "dim_"):
            raise NotFittedError(f"{type(self).__name__}: expected fit before estimate")
        test = test_X if isinstance(test_X, EmbeddingSet) else EmbeddingSet(test_X)
        if test.dim != self.dim_:
            raise DataError(
                f"{test.source}: expected dimension {self.dim_} as in D_train, received {test.dim}"
            )
        self._check_new_classes(test)
        return test

    def _check_new_classes(self, test: EmbeddingSet) -> None:
        if test.labels is None:
            return
        for classes in self.seen_.get(test.label_space, []):
            shared = shared_labels(classes, test.labels)
            if shared:
                raise DataError(
                    f"{test.source}: expected classes that are not in D_train or D_cal, received "
                    f"{len(shared)} shared ({shared[0]!r}, ...); if these are other classes under "
                    f"the same names, give the set another label_space"
                )

    @abstractmethod
    def _fit(self, train: EmbeddingSet, cal: EmbeddingSet) -> None:
        """Learn from checked sets."""

    @abstractmethod
    def _estimate(self, test: EmbeddingSet) -> OperatingCurve:
        """Estimate the curve of a checked set."""


def _two_sets(
    train_X: ArrayLike | EmbeddingSet,
    train_y: ArrayLike | EmbeddingSet | None,
    cal_X: ArrayLike | None,
    cal_y: ArrayLike | None,
) -> tuple[EmbeddingSet, EmbeddingSet]:
    if isinstance(train_X, EmbeddingSet):
        if isinstance(train_y, EmbeddingSet) and cal_X is None and cal_y is None:
            return train_X, train_y
    elif not isinstance(train_y, EmbeddingSet) and not any(
        part is None for part in (train_y, cal_X, cal_y)
    ):
        assert train_y is not None
        assert cal_X is not None
        return (
            EmbeddingSet(train_X, train_y, source="D_train"),
            EmbeddingSet(cal_X, cal_y, source="D_cal"),
        )
    raise OpenGCNError(
        "fit: expected two labelled EmbeddingSets, fit(train, cal), or four arrays, "
        "fit(train_X, train_y, cal_X, cal_y); received something else"
    )
