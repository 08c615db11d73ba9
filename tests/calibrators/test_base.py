from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import opengcn as og
from opengcn.errors import DataError, OpenGCNError


def make(classes: int, first: int, n: int = 8, dim: int = 6, **kwargs: str) -> og.EmbeddingSet:
    rng = np.random.default_rng(first)
    y = np.repeat(np.arange(first, first + classes), n)
    X = rng.standard_normal((classes, dim))[y - first] + 0.4 * rng.standard_normal((len(y), dim))
    return og.EmbeddingSet(X, y, **kwargs)  # type: ignore[arg-type]


TRAIN, CAL, TEST = make(5, 0), make(3, 10), make(6, 20)


def test_sets_and_arrays_are_the_same() -> None:
    by_sets = og.SplitCurve().fit(TRAIN, CAL).estimate(TEST)
    by_arrays = og.SplitCurve().fit(TRAIN.embeddings, TRAIN.labels, CAL.embeddings, CAL.labels)
    assert by_arrays.estimate(TEST.embeddings) == by_sets


@pytest.mark.parametrize(
    "given",
    [
        (TRAIN,),
        (TRAIN, CAL.embeddings),
        (TRAIN.embeddings, TRAIN.labels),
        (TRAIN.embeddings, CAL),
        (TRAIN, CAL, CAL.embeddings),
    ],
)
def test_other_forms_of_fit_are_refused(given: tuple[object, ...]) -> None:
    with pytest.raises(OpenGCNError, match="expected two labelled EmbeddingSets"):
        og.SplitCurve().fit(*given)  # type: ignore[arg-type]


def test_estimate_before_fit() -> None:
    with pytest.raises(NotFittedError, match="SplitCurve: expected fit before estimate"):
        og.SplitCurve().estimate(TEST)


def test_dimension_of_the_test_set() -> None:
    with pytest.raises(DataError, match="expected dimension 6 as in D_train, received 4"):
        og.SplitCurve().fit(TRAIN, CAL).estimate(np.ones((3, 4)))


@pytest.mark.parametrize("first", [0, 10])
def test_a_labelled_test_set_must_have_new_classes(first: int) -> None:
    model = og.SplitCurve().fit(TRAIN, CAL)
    with pytest.raises(
        DataError, match="expected classes that are not in D_train or D_cal.*label_space"
    ):
        model.estimate(make(4, first))
    model.estimate(make(4, first, label_space="another data set"))
    model.estimate(make(4, first).unlabelled())


def test_class_overlap_between_train_and_cal() -> None:
    with pytest.raises(DataError, match="expected classes of D_cal that are not in D_train"):
        og.SplitCurve().fit(TRAIN, make(3, 2))


def test_a_failed_fit_leaves_nothing_behind() -> None:
    model = og.HistogramCalibration().fit(TRAIN, CAL)
    model.set_params(bins=0)
    with pytest.raises(OpenGCNError, match="bins"):
        model.fit(TRAIN, CAL)
    with pytest.raises(NotFittedError):
        model.estimate(TEST)


def test_scikit_learn_conventions() -> None:
    model = og.HistogramCalibration(bins=7)
    assert model.get_params() == {"bins": 7}
    copy = clone(model.fit(TRAIN, CAL))
    assert copy.get_params() == {"bins": 7}
    assert not hasattr(copy, "curve_")


def test_split_curve_by_hand() -> None:
    curve = og.SplitCurve().fit(TRAIN, CAL).estimate(TEST)
    np.testing.assert_array_equal(curve.tpr, og.OperatingCurve.from_labels(CAL).tpr)
    X = TEST.embeddings.astype(float)
    d = np.sqrt(2 - 2 * (X @ X.T)[np.triu_indices(len(X), 1)])
    np.testing.assert_allclose(curve.tnr, [(d >= t).mean() for t in curve.distances], atol=1e-3)
    with pytest.raises(DataError, match="expected two rows or more, received 1"):
        og.SplitCurve().fit(TRAIN, CAL).estimate(TEST.subset([0]))
