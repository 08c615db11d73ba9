"""Errors of an estimated operating curve against the true one (Sec. 4.1 of the paper).

Examples
--------
>>> import opengcn as og
>>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
>>> cal, test = data.split_classes(0.2)
>>> estimate, truth = (og.OperatingCurve.from_labels(part) for part in (cal, test))
>>> bool(0 < og.metrics.mae_comb(estimate, truth) < 0.05)
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from opengcn.errors import OpenGCNError

if TYPE_CHECKING:
    from opengcn.curve import OperatingCurve

__all__ = ["ae_tnr", "ae_tpr", "mae_comb", "mae_parts", "rank_methods"]


def mae_parts(estimate: OperatingCurve, truth: OperatingCurve) -> tuple[float, float]:
    """Return the TPR part and the TNR part of `mae_comb`; the latter is their sum.

    Parameters
    ----------
    estimate, truth : OperatingCurve
        The curves.

    Returns
    -------
    tpr_part, tnr_part : float
        Half the integral over [0, 2] of the absolute error of TPR, and of TNR.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> cal, test = data.split_classes(0.2)
    >>> estimate, truth = (og.OperatingCurve.from_labels(part) for part in (cal, test))
    >>> sum(mae_parts(estimate, truth)) == estimate.mae(truth)
    True
    """
    parts = []
    for name in ("tpr", "tnr"):
        e, t = getattr(estimate, name), getattr(truth, name)
        if np.isnan(t).any() or np.isnan(e).any():
            raise OpenGCNError(
                f"MAE_comb: expected curves with both rates, received a {name.upper()} without "
                f"any pair behind it"
            )
        parts.append(0.5 * float(np.trapezoid(np.abs(e - t), truth.distances)))
    return parts[0], parts[1]


def mae_comb(estimate: OperatingCurve, truth: OperatingCurve) -> float:
    """Return the combined mean absolute error, the paper's global metric.

    Half the integral over distances [0, 2] of |error of TPR| + |error of TNR|, by the
    trapezoid rule on the grid of 0.01.

    Parameters
    ----------
    estimate, truth : OperatingCurve
        The curves.

    Returns
    -------
    error : float
        0 when they are the same; at most 2.

    Examples
    --------
    >>> import opengcn as og
    >>> curve = og.OperatingCurve.from_labels(og.datasets.synthetic(n_classes=20, samples=5))
    >>> mae_comb(curve, curve)
    0.0
    """
    return sum(mae_parts(estimate, truth))


def ae_tpr(
    estimate: OperatingCurve, truth: OperatingCurve, target: float, *, grid: bool = False
) -> float:
    """Return the paper's AE_TPR: |true TPR at the estimated threshold - target|.

    Parameters
    ----------
    estimate, truth : OperatingCurve
        The curves.
    target : float
        The TPR asked for, in (0, 1].
    grid : bool, default False
        Choose the threshold on the grid of 0.01, as the paper does.

    Returns
    -------
    error : float
        In [0, 1].

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> cal, test = data.split_classes(0.2)
    >>> estimate, truth = (og.OperatingCurve.from_labels(part) for part in (cal, test))
    >>> ae_tpr(truth, truth, 0.9) < 1e-9
    True
    >>> ae_tpr(estimate, truth, 0.9) < 0.1
    True
    """
    return abs(truth.at(estimate.threshold(tpr=target, grid=grid).distance).tpr - target)


def ae_tnr(
    estimate: OperatingCurve, truth: OperatingCurve, target: float, *, grid: bool = False
) -> float:
    """Return the paper's AE_TNR: |true TNR at the estimated threshold - target|.

    Parameters
    ----------
    estimate, truth : OperatingCurve
        The curves.
    target : float
        The TNR asked for, in (0, 1].
    grid : bool, default False
        Choose the threshold on the grid of 0.01, as the paper does.

    Returns
    -------
    error : float
        In [0, 1].

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> cal, test = data.split_classes(0.2)
    >>> estimate, truth = (og.OperatingCurve.from_labels(part) for part in (cal, test))
    >>> ae_tnr(truth, truth, 0.9) < 1e-9
    True
    >>> ae_tnr(estimate, truth, 0.9) < 0.1
    True
    """
    return abs(truth.at(estimate.threshold(tnr=target, grid=grid).distance).tnr - target)


def rank_methods(errors: Mapping[str, Sequence[float]]) -> dict[str, int]:
    """Rank methods by their mean error over all columns, 1 for the smallest.

    This reproduces the ranks that the paper prints; averaging the ranks of each column
    does not.

    Parameters
    ----------
    errors : mapping of str to sequence of float
        The errors of each method, the same columns for all.

    Returns
    -------
    ranks : dict of str to int
        Equal means share the better rank. A method with NaN among its errors comes last.

    Examples
    --------
    >>> rank_methods({"a": [0.1, 0.3], "b": [0.1, 0.1], "c": [0.2, 0.2]})
    {'a': 2, 'b': 1, 'c': 2}
    """
    means = {name: float(np.mean(row)) for name, row in errors.items()}
    keys = {name: round(mean, 12) if mean == mean else np.inf for name, mean in means.items()}
    return {name: 1 + sum(other < key for other in keys.values()) for name, key in keys.items()}
