from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import opengcn as og
from opengcn.calibrators.inductive import _logistic_fit, _logit
from opengcn.memo import exact_curve

METHODS = [og.PlattScaling, og.BetaCalibration, og.IsotonicCalibration, og.HistogramCalibration]


def sets(
    seed: int, spread: float = 0.8
) -> tuple[og.EmbeddingSet, og.EmbeddingSet, og.EmbeddingSet]:
    """Compact training classes, looser open-world classes."""
    rng = np.random.default_rng(seed)
    made = []
    for first, classes, noise in ((0, 12, 0.5), (100, 4, spread), (200, 10, spread)):
        y = np.repeat(np.arange(first, first + classes), 15)
        X = rng.standard_normal((classes, 16))[y - first] + noise * rng.standard_normal(
            (len(y), 16)
        )
        made.append(og.EmbeddingSet(X, y))
    return made[0], made[1], made[2]


@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 1000), spread=st.floats(0.01, 3))
def test_estimates_are_curves(method: type, seed: int, spread: float) -> None:
    train, cal, test = sets(seed, spread)
    curve = method().fit(train, cal).estimate(test)  # the curve itself checks its invariants
    assert curve.source == method.__name__
    assert not np.isnan(curve.tpr).any()


@pytest.mark.parametrize("seed", range(3))
def test_isotonic_reproduces_cal(seed: int) -> None:
    """Also beyond the distance at which every match of D_train is found."""
    train, cal, test = sets(seed)
    curve = og.IsotonicCalibration().fit(train, cal).estimate(test)
    assert (exact_curve(train).tpr == 1).sum() > 40
    np.testing.assert_allclose(curve.tpr, exact_curve(cal).tpr, atol=1e-12)
    np.testing.assert_allclose(curve.tnr, exact_curve(cal).tnr, atol=1e-12)


def test_histogram_with_many_bins_is_isotonic_and_with_few_is_not() -> None:
    train, cal, test = sets(1)
    rate = exact_curve(train).tpr
    inside = (rate > 0.001) & (rate < 0.999)
    isotonic = og.IsotonicCalibration().fit(train, cal).estimate(test).tpr[inside]
    fine = og.HistogramCalibration().fit(train, cal).estimate(test).tpr[inside]
    coarse = og.HistogramCalibration(bins=10).fit(train, cal).estimate(test).tpr[inside]
    assert np.abs(fine - isotonic).mean() < 2e-3
    assert np.abs(coarse - isotonic).mean() > 5 * np.abs(fine - isotonic).mean()


def test_parametric_maps_recover_their_own_family() -> None:
    """Rates made by a sigmoid of the logit are found again by the method that assumes it."""
    x = np.linspace(0.01, 0.99, 201)
    z = 1 / (1 + np.exp(-(1.7 * _logit(x) - 0.6)))
    np.testing.assert_allclose(og.PlattScaling()._map(x, z), z, atol=1e-9)
    np.testing.assert_allclose(og.BetaCalibration()._map(x, z), z, atol=1e-9)
    beta = 1 / (1 + np.exp(-(0.5 * np.log(x) - 2.0 * np.log(1 - x) + 0.3)))
    np.testing.assert_allclose(og.BetaCalibration()._map(x, beta), beta, atol=1e-9)
    assert np.abs(og.PlattScaling()._map(x, beta) - beta).max() > 1e-3


def test_beta_drops_a_negative_coefficient() -> None:
    x = np.linspace(0.01, 0.99, 201)
    z = 1 / (1 + np.exp(-(3.0 * np.log(x) + 0.8 * np.log(1 - x) + 2)))  # b would be -0.8
    g = og.BetaCalibration()._map(x, z)
    assert (np.diff(g) >= 0).all()


def observations(
    x: NDArray[np.float64], z: NDArray[np.float64]
) -> tuple[NDArray, NDArray, NDArray]:
    """The weighted pseudo-observations written out: two rows a grid point."""
    return np.r_[x, x], np.r_[np.ones_like(z), np.zeros_like(z)], np.r_[z, 1 - z]


@pytest.mark.parametrize("seed", range(5))
def test_newton_agrees_with_scikit_learn(seed: int) -> None:
    from sklearn.linear_model import LogisticRegression

    train, cal, _ = sets(seed)
    inside = (exact_curve(train).tpr > 0) & (exact_curve(train).tpr < 1)
    x, z = exact_curve(train).tpr[inside], exact_curve(cal).tpr[inside]
    score, outcome, weight = observations(_logit(x), z)
    other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(
        score[:, None], outcome, weight
    )
    w, b = _logistic_fit(_logit(x)[:, None], z)
    assert w == pytest.approx(other.coef_[0, 0], rel=1e-4)
    assert b == pytest.approx(other.intercept_[0], rel=1e-4, abs=1e-4)


def test_beta_agrees_with_betacal() -> None:
    betacal = pytest.importorskip("betacal")
    train, cal, _ = sets(0)
    inside = (exact_curve(train).tpr > 0) & (exact_curve(train).tpr < 1)
    x, z = exact_curve(train).tpr[inside], exact_curve(cal).tpr[inside]
    # betacal takes no weights: write the observations out.
    repeats = 2000
    ones = np.round(z * repeats).astype(int)
    s = np.repeat(np.r_[x, x], np.r_[ones, repeats - ones])
    y = np.repeat([1, 0], [ones.sum(), (repeats - ones).sum()])
    other = betacal.BetaCalibration(parameters="abm").fit(s[:, None], y)
    np.testing.assert_allclose(
        og.BetaCalibration()._map(x, ones / repeats), other.predict(x), atol=1e-3
    )


def test_histogram_agrees_with_a_loop() -> None:
    rng = np.random.default_rng(0)
    x, z = np.sort(rng.random(201)), np.sort(rng.random(201))
    x[-1] = 1.0
    found = og.HistogramCalibration(bins=20)._map(x, z)
    for k in range(201):
        mine = min(int(x[k] * 20), 19)
        inside = [z[i] for i in range(201) if min(int(x[i] * 20), 19) == mine]
        assert found[k] == pytest.approx(np.mean(inside))
    with pytest.raises(og.OpenGCNError, match="bins: expected 1 or more, received 0"):
        og.HistogramCalibration(bins=0)._map(x, z)
