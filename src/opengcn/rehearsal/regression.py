"""Regressions of shares and of numbers on what is seen, by Newton's method.

Generalised linear models with a canonical link and a ridge: the shares may be any numbers from 0
to 1, not only 0 and 1, which is why scikit-learn's logistic regression will not do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["linear", "number_of", "regress_numbers", "regress_shares", "share_of"]

RIDGE = 0.0015  # penalty, over the number of rows
STEPS = 10  # of Newton's method
LARGEST = 4.0  # logarithm of a number that is still believed

Rate = NDArray[np.float64]


def share_of(odds: Rate) -> Rate:
    """Return shares whose log-odds these are.

    Parameters
    ----------
    odds : ndarray
        Log-odds.

    Returns
    -------
    shares : ndarray
        In (0, 1).
    """
    return np.asarray(1 / (1 + np.exp(-odds)), np.float64)


def number_of(logarithm: Rate) -> Rate:
    """Return numbers whose logarithms these are, none beyond e ** 4 or below e ** -4.

    Parameters
    ----------
    logarithm : ndarray
        Logarithms.

    Returns
    -------
    numbers : ndarray
        Above 0.
    """
    return np.asarray(np.exp(logarithm.clip(-LARGEST, LARGEST)), np.float64)


def linear(x: Rate, weights: Rate) -> Rate:
    """Return what weights say of rows.

    Parameters
    ----------
    x : ndarray of shape (r, f)
        Inputs, standardised.
    weights : ndarray of shape (f + 1, ...)
        A constant last.

    Returns
    -------
    said : ndarray of shape (r, ...)
        Log-odds, or logarithms.
    """
    return np.asarray(x @ weights[:-1] + weights[-1], np.float64)


def regress_shares(x: Rate, shares: Rate) -> Rate:
    """Regress shares on inputs: a logistic regression for each column.

    Parameters
    ----------
    x : ndarray of shape (r, f)
        Inputs, standardised.
    shares : ndarray of shape (r, l)
        From 0 to 1.

    Returns
    -------
    weights : ndarray of shape (f + 1, l)
        Of the log-odds, a constant last.
    """
    columns = [_newton(x, column, share_of, lambda p: p * (1 - p)) for column in shares.T]
    return np.stack(columns, 1)


def regress_numbers(x: Rate, numbers: Rate) -> Rate:
    """Regress numbers on inputs: a Poisson regression.

    Parameters
    ----------
    x : ndarray of shape (r, f)
        Inputs, standardised.
    numbers : ndarray of shape (r,)
        Not negative.

    Returns
    -------
    weights : ndarray of shape (f + 1,)
        Of the logarithms, a constant last.
    """
    return _newton(x, numbers, number_of, lambda m: m)


def _newton(
    x: Rate, y: Rate, mean: Callable[[Rate], Rate], variance: Callable[[Rate], Rate]
) -> Rate:
    """Return the weights of one regression."""
    inputs = np.column_stack([x, np.ones(len(x))])
    penalty = np.full(inputs.shape[1], RIDGE * len(x))
    penalty[-1] = 1e-6 * len(x)  # for shares that are all 0, or all 1
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        found = mean(inputs @ weights)
        curvature = (inputs.T * variance(found)) @ inputs + np.diag(penalty)
        slope = inputs.T @ (y - found) - penalty * weights
        weights += np.linalg.solve(curvature, slope).clip(-2, 2)
    return weights
