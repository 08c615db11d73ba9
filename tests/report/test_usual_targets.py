from __future__ import annotations

import numpy as np
import pytest

import opengcn as og
from opengcn.pairs import GRID
from opengcn.report.target import Target
from opengcn.report.usual_targets import USUAL, look_up


def with_info(curve: og.OperatingCurve, **info: float) -> og.OperatingCurve:
    return og.OperatingCurve(curve.tpr, curve.tnr, curve.source, info)


def test_every_usual_target_has_a_threshold_that_meets_it(estimate) -> None:
    assert len(USUAL) == 8
    for target in USUAL:
        row = look_up(estimate, target)
        assert row.reason == ""
        assert row.threshold == target.on(estimate)
        assert getattr(row.threshold, target.rate) >= target.value
        assert row.threshold.distance_low <= row.threshold.distance <= row.threshold.distance_high


@pytest.mark.parametrize(("nodes", "enough"), [(142, False), (143, True)])
def test_ten_different_class_pairs_must_lie_below(estimate, nodes: int, enough: bool) -> None:
    # 143 rows have 10,153 pairs: 1 in 1,000 of them are ten; 142 rows have 10,011, less the
    # one pair in a hundred that is same-class.
    row = look_up(with_info(estimate, nodes=nodes, prior=0.01), Target("tnr", 0.999))
    assert (row.threshold is not None) == enough
    assert row.reason.startswith("Too little data" if not enough else "")


@pytest.mark.parametrize(("prior", "enough"), [(0.0202, False), (0.0203, True)])
def test_ten_same_class_pairs_must_lie_beyond(estimate, prior: float, enough: bool) -> None:
    row = look_up(with_info(estimate, nodes=100, prior=prior), Target("tpr", 0.9))  # 4,950 pairs
    assert (row.threshold is not None) == enough


def test_exactly_ten_pairs_are_enough(estimate) -> None:
    curve = with_info(estimate, nodes=25, prior=1 / 3)  # 300 pairs: 100 same-class, 200 others
    assert look_up(curve, Target("tpr", 0.9)).threshold is not None
    assert look_up(curve, Target("tnr", 0.95)).threshold is not None


@pytest.mark.parametrize("info", [{}, {"prior": 0.01}, {"nodes": None}, {"nodes": "many"}])
def test_without_a_number_of_rows_nothing_is_called_too_little(estimate, info) -> None:
    curve = with_info(estimate, **info)
    assert all(look_up(curve, target).threshold is not None for target in USUAL)


def test_without_a_prior_all_pairs_count_as_different(estimate) -> None:
    curve = with_info(estimate, nodes=50)  # 1,225 pairs
    assert look_up(curve, Target("tpr", 0.99)).threshold is not None
    assert "1.2 of about 1,225" in look_up(curve, Target("tnr", 0.999)).reason


def test_a_curve_that_never_gets_there_says_so() -> None:
    curve = og.OperatingCurve(0.7 * (GRID >= 1), 1.0 - (GRID > 0) * 0.02)
    assert "70.0" in look_up(curve, Target("tpr", 0.8)).reason
    # 2 % of the strangers are at distance 0: no threshold above it rejects 99 %.
    assert "98.0" in look_up(curve, Target("tnr", 0.99)).reason
    assert look_up(curve, Target("tnr", 0.9)).threshold is not None


def test_unknown_rates_say_so(estimate) -> None:
    curve = og.OperatingCurve(np.full(201, np.nan), estimate.tnr)
    assert look_up(curve, Target("tpr", 0.8)).reason.startswith("Unknown: no same-class pair")
    assert look_up(curve, Target("tnr", 0.9)).threshold is not None
