from __future__ import annotations

import numpy as np
import pytest

import opengcn as og
from opengcn.calibrators.pseudo_label import _whole_classes, _without_noise
from opengcn.errors import OpenGCNError


def make(classes: int, first: int, noise: float = 0.3, n: int = 12) -> og.EmbeddingSet:
    rng = np.random.default_rng(first)
    y = np.repeat(np.arange(first, first + classes), n)
    X = rng.standard_normal((classes, 16))[y - first] + noise * rng.standard_normal((len(y), 16))
    return og.EmbeddingSet(X, y)


TRAIN, CAL, TEST = make(10, 0), make(5, 100), make(12, 200)


def test_separated_clusters_are_found() -> None:
    model = og.DBSCANCalibration().fit(TRAIN, CAL)
    clusters = model.cluster(TEST)
    assert len(np.unique(clusters)) == 12
    assert model.estimate(TEST).mae(og.OperatingCurve.from_labels(TEST)) < 1e-3


def test_the_setting_is_the_one_with_the_smallest_error_on_cal() -> None:
    model = og.DBSCANCalibration(eps=(0.05, 0.4, 0.6, 1.3), min_samples=(2, 5)).fit(TRAIN, CAL)
    assert len(model.tuning_) == 8
    from sklearn.cluster import DBSCAN

    truth = og.OperatingCurve.from_labels(CAL)
    by_hand = {}
    for row in model.tuning_:
        found = DBSCAN(eps=row["eps"], min_samples=row["min_samples"]).fit_predict(CAL.embeddings)
        labels = np.where(found < 0, 1000 + np.arange(len(found)), found)
        if len(np.unique(labels)) in (1, len(labels)):
            assert np.isnan(row["mae"])  # nothing but one cluster, or nothing but singletons
        else:
            error = og.OperatingCurve.from_labels(CAL.embeddings, labels).mae(truth)
            assert row["mae"] == pytest.approx(error, abs=1e-4)
            by_hand[row["eps"], row["min_samples"]] = row["mae"]
    assert tuple(model.setting_.values()) == min(by_hand, key=by_hand.__getitem__)


def test_no_setting_that_works() -> None:
    with pytest.raises(
        OpenGCNError, match="expected a setting that finds both.*none among 1 tried"
    ):
        og.DBSCANCalibration(eps=(1e-6,), min_samples=(2,)).fit(TRAIN, CAL)


def test_noise_points_are_classes_of_their_own() -> None:
    np.testing.assert_array_equal(_without_noise(np.array([0, -1, 1, -1, 0])), [0, 2, 1, 3, 0])
    np.testing.assert_array_equal(_without_noise(np.array([-1, -1])), [0, 1])


def test_a_test_set_without_clusters_has_no_tpr() -> None:
    model = og.DBSCANCalibration(eps=(0.4,), min_samples=(2,)).fit(TRAIN, CAL)
    lonely = og.EmbeddingSet(np.eye(16))
    with pytest.warns(og.OpenGCNWarning, match="no same-class pair"):
        assert np.isnan(model.estimate(lonely).tpr).all()


def test_large_cal_sets_are_tuned_on_whole_classes() -> None:
    part = _whole_classes(TRAIN, 40)
    assert 24 <= len(part) <= 40
    assert (np.bincount(part.codes) == 12).all()
    assert _whole_classes(TRAIN, 1000) is TRAIN


def test_hilander_trains_once_and_chooses_tau_on_cal(monkeypatch: pytest.MonkeyPatch) -> None:
    from opengcn.calibrators import lander

    trained: list[int] = []

    class Counted(lander.Lander):
        def fit(self, *data: object, **options: object) -> Counted:
            trained.append(1)
            return super().fit(*data, **options)

    monkeypatch.setattr(lander, "Lander", Counted)
    train = make(40, 1000)
    model = og.HiLander(taus=(0.5, 0.8, 0.95)).fit(train, CAL)
    assert [row["tau"] for row in model.tuning_] == [0.5, 0.8, 0.95]
    errors = [row["mae"] for row in model.tuning_]
    assert model.setting_ == {"tau": (0.5, 0.8, 0.95)[int(np.nanargmin(errors))]}
    truth = og.OperatingCurve.from_labels(TEST)
    curve = model.estimate(TEST)
    assert curve.source == "HiLander"
    assert curve.mae(truth) < 0.2  # training rounds otherwise on another processor
    og.HiLander(taus=(0.5,)).fit(train, make(4, 300))
    assert len(trained) == 1  # D_train is the same
