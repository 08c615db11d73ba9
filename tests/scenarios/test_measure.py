from __future__ import annotations

import numpy as np
import pytest

from opengcn.curve import OperatingCurve
from opengcn.scenarios.measure import curves_of, measure

D = np.linspace(0, 2, 201)
TRUTH = OperatingCurve(D / 2, 1 - D / 2)


def test_the_truth_has_no_error() -> None:
    values = measure(TRUTH, TRUTH)
    assert values["mae"] == 0
    assert values["ae_tpr_90"] == pytest.approx(0)
    assert values["fpr_at_tnr_99"] == pytest.approx(0.01)
    assert values["fpr_at_tnr_99.9"] == pytest.approx(0.001)
    assert "tpr_covered" not in values


def test_parts_and_points_of_a_known_error() -> None:
    wrong = OperatingCurve(np.minimum(D, 1), TRUTH.tnr)  # TPR twice as large, up to 1
    values = measure(wrong, TRUTH)
    assert values["mae_tpr"] == pytest.approx(0.25)
    assert values["mae_tnr"] == 0
    assert values["mae"] == pytest.approx(0.25)
    assert values["ae_tpr_80"] == pytest.approx(0.4)  # at 0.8, where the truth is 0.4
    assert values["ae_tnr_80"] == pytest.approx(0)


def test_a_target_out_of_reach_is_nan() -> None:
    low = OperatingCurve(D / 2.5, TRUTH.tnr)
    values = measure(low, TRUTH)
    assert np.isnan(values["ae_tpr_90"])
    assert not np.isnan(values["ae_tpr_80"])


def test_coverage_looks_at_the_inner_range() -> None:
    low, high = np.maximum(TRUTH.tpr - 0.1, 0), np.minimum(TRUTH.tpr + 0.1, 1)
    sure = TRUTH.tnr
    half = np.where(D < 1, sure, np.minimum(sure, 0.4))  # misses where 0.02 < truth, beyond 1.2
    curve = OperatingCurve(TRUTH.tpr, half, tpr_low=low, tpr_high=high, tnr_low=half, tnr_high=half)
    values = measure(curve, TRUTH)
    assert values["tpr_covered"] == 1
    assert values["tpr_width"] == pytest.approx(0.19, abs=0.01)
    # Of 0.02 < truth < 0.98 all but 0.4 < truth <= 0.5 is met.
    assert values["tnr_covered"] == pytest.approx(1 - 0.1 / 0.96, abs=0.02)
    assert values["tnr_width"] == 0


def test_kept_curves_are_curves_still() -> None:
    rates = curves_of(TRUTH)
    assert set(rates) == {"tpr", "tnr"}
    again = OperatingCurve(**{k: np.array(v) for k, v in rates.items()})
    assert np.abs(again.tpr - TRUTH.tpr).max() <= 5e-6
