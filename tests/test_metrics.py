from __future__ import annotations

import numpy as np
import pytest

from opengcn import OperatingCurve
from opengcn.metrics import ae_tnr, ae_tpr, mae_comb, mae_parts, rank_methods
from opengcn.pairs import GRID


def step(at: float) -> np.ndarray:
    return np.clip((GRID - at) / 0.4, 0, 1)


TRUTH = OperatingCurve(step(0.4), 1 - step(1.0))


def test_mae_by_hand() -> None:
    # Ramps moved by 0.1 enclose an area of 0.1 each; half their sum is the error.
    shifted = OperatingCurve(step(0.5), 1 - step(1.2))
    assert mae_parts(shifted, TRUTH) == pytest.approx((0.05, 0.1), abs=1e-12)
    assert mae_comb(shifted, TRUTH) == pytest.approx(0.15)
    assert shifted.mae(TRUTH) == mae_comb(TRUTH, shifted)
    assert TRUTH.mae(TRUTH) == 0


def test_worst_case_is_two() -> None:
    ones, zeros = np.ones(201), np.zeros(201)
    assert mae_comb(OperatingCurve(ones, zeros), OperatingCurve(zeros, ones)) == pytest.approx(2)


def test_absolute_errors_by_hand() -> None:
    estimate = OperatingCurve(step(0.5), 1 - step(1.04))
    # The estimated threshold for 80 % lies 0.1 too far: true TPR there is 105 %, clipped to 100.
    assert ae_tpr(estimate, TRUTH, 0.8) == pytest.approx(0.2)
    assert ae_tpr(estimate, TRUTH, 0.5) == pytest.approx(0.25)
    assert ae_tnr(estimate, TRUTH, 0.9) == pytest.approx(0.1)
    assert ae_tpr(TRUTH, TRUTH, 0.83) == pytest.approx(0, abs=1e-12)


def test_the_grid_costs_accuracy() -> None:
    assert ae_tpr(TRUTH, TRUTH, 0.81, grid=True) == pytest.approx(0.015)
    assert ae_tnr(TRUTH, TRUTH, 0.81, grid=True) == pytest.approx(0.015)


def test_ranks_follow_the_mean_error() -> None:
    # Global SameDist errors as printed in the paper (Cars, CUB, iNaturalist, in 1e-4), whose
    # printed ranks are 6, 5, 3, 4, 7, 2, 1.
    printed = {
        "platt": [155, 359, 123],
        "beta": [153, 359, 118],
        "isotonic": [138, 361, 118],
        "histogram": [138, 362, 118],
        "dbscan": [1020, 1100, 365],
        "hilander": [129, 194, 214],
        "opengcn": [52.5, 65.0, 48.2],
    }
    assert list(rank_methods(printed).values()) == [6, 5, 3, 4, 7, 2, 1]


def test_ranks_with_ties_and_failures() -> None:
    assert rank_methods({"a": [1.0], "b": [np.nan], "c": [1.0]}) == {"a": 1, "b": 3, "c": 1}
