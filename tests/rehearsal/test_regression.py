from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from opengcn.rehearsal.regression import (
    RIDGE,
    linear,
    number_of,
    regress_numbers,
    regress_shares,
    share_of,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 4))


def test_shares_are_regressed_as_scikit_learn_does() -> None:
    """Which knows 0 and 1 alone: a share is so much of a 1, and the rest of a 0."""
    shares = share_of(X @ [[1.0], [-2.0], [0.5], [0.0]] + RNG.standard_normal((500, 2)))
    found = regress_shares(X, shares)
    assert found.shape == (5, 2)
    for column, weights in zip(shares.T, found.T, strict=True):
        peer = LogisticRegression(C=1 / (RIDGE * len(X)), tol=1e-10, max_iter=1000)
        peer.fit(
            np.concatenate([X, X]), np.repeat([1, 0], len(X)), np.concatenate([column, 1 - column])
        )
        np.testing.assert_allclose(weights[:-1], peer.coef_[0], atol=1e-4)
        assert weights[-1] == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_numbers_are_regressed_as_scikit_learn_does() -> None:
    numbers = RNG.poisson(np.exp(X @ [0.5, -0.3, 0.0, 0.1] - 0.2))
    peer = PoissonRegressor(alpha=RIDGE, tol=1e-10, max_iter=1000).fit(X, numbers)
    found = regress_numbers(X, numbers.astype(float))
    np.testing.assert_allclose(found, [*peer.coef_, peer.intercept_], atol=1e-4)


def test_means_are_those_of_the_data() -> None:
    shares, numbers = RNG.random((500, 3)), RNG.random(500) * 5
    by_share = share_of(linear(X, regress_shares(X, shares))).mean(0)
    np.testing.assert_allclose(by_share, shares.mean(0), atol=1e-4)
    assert number_of(linear(X, regress_numbers(X, numbers))).mean() == pytest.approx(
        numbers.mean(), rel=1e-4
    )


def test_shares_that_are_all_alike_give_numbers() -> None:
    found = regress_shares(X, np.tile([0.0, 1.0, 0.5], (len(X), 1)))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(share_of(linear(X, found)).mean(0), [0, 1, 0.5], atol=1e-3)
    assert np.isfinite(regress_numbers(X[:3], np.ones(3))).all()
