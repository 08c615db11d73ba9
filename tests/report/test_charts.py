from __future__ import annotations

import re

import numpy as np
import pytest

import opengcn as og
from opengcn.pairs import GRID
from opengcn.report.frame import Frame
from opengcn.report.histogram import histogram
from opengcn.report.rates_chart import rates_chart


def points(html: str, kind: str) -> np.ndarray:
    """Points of the path of a class, as shares of the canvas from the lower left."""
    path = re.search(rf'<path class="{kind}" d="M([^"]*)"', html)
    assert path, kind
    numbers = np.array([pair.split() for pair in path[1].strip("Z").split("L")], float) / 1000
    return np.column_stack([numbers[:, 0], 1 - numbers[:, 1]])


def test_frame_holds_what_moves_and_every_distance(estimate) -> None:
    frame = Frame.around([estimate], [1.0])
    low, high = frame.ends
    assert estimate.at(low).tpr < 0.002
    assert estimate.at(high).tnr < 0.002
    assert 0 < low < 0.5
    assert 1.5 < high < 2
    assert Frame.around([estimate], [0.013]).ends[0] == 0
    assert Frame.around([estimate], [1.99]).ends[1] == 2


def test_frame_holds_a_single_jump() -> None:
    curve = og.OperatingCurve(1.0 * (GRID > 0), 1.0 * (GRID <= 1.2))
    assert Frame.around([curve], []).ends == (0.0, 1.3)


def test_frame_is_everything_when_nothing_moves() -> None:
    still = og.OperatingCurve(np.full(201, np.nan), np.ones(201))
    assert Frame.around([still], [1.0]).ends == (0.0, 2.0)


def test_curves_are_drawn_where_they_are(estimate, reference) -> None:
    frame = Frame.around([estimate, reference], [])
    html = rates_chart(frame, estimate, reference, estimate.at(0.9))
    for kind, rate in (
        ("line tpr", estimate.tpr),
        ("line tnr", estimate.tnr),
        ("line tpr reference", reference.tpr),
        ("line tnr reference", reference.tnr),
    ):
        x, y = points(html, kind).T
        low, high = frame.ends
        np.testing.assert_allclose(np.interp(low + x * (high - low), GRID, rate), y, atol=2e-3)
    band = points(html, "band tpr")
    half = len(band) // 2
    np.testing.assert_allclose(band[:half, 1], estimate.tpr_low[frame.steps], atol=1e-4)
    np.testing.assert_allclose(band[half:, 1][::-1], estimate.tpr_high[frame.steps], atol=1e-4)


def test_bars_are_the_increments_of_the_rates(estimate) -> None:
    frame, prior = Frame.around([estimate], []), 0.004
    html = histogram(frame, estimate, prior, 50.0)["zoom"]
    same = np.diff(estimate.tpr[frame.steps][::2])
    drawn = points(html, "line tpr")[::2, 1]
    np.testing.assert_allclose(drawn / drawn.sum(), same / same.sum(), atol=1e-3)
    # Different-class bars stand on the same-class ones, and the scale ends a bit above these.
    other = np.diff(1 - estimate.tnr[frame.steps][::2])
    stacked = (prior * same + (1 - prior) * other) / (prior * same.max() * 1.3)
    np.testing.assert_allclose(points(html, "line tnr")[::2, 1], stacked.clip(0, 1.01), atol=1e-3)


def test_logarithmic_view_shows_both_kinds_on_one_scale(estimate) -> None:
    frame, prior = Frame.around([estimate], []), 0.004
    html = histogram(frame, estimate, prior, 50.0)["log"]
    heights = {kind: points(html, f"line {kind}")[::2, 1].max() for kind in ("tpr", "tnr")}
    ratio = (1 - prior) * np.diff(1 - estimate.tnr[frame.steps][::2]).max()
    ratio /= prior * np.diff(estimate.tpr[frame.steps][::2]).max()
    decade = re.findall(r'class="y" style="top:([\d.]+)%"', html)
    step = (float(decade[0]) - float(decade[1])) / 100
    assert (heights["tnr"] - heights["tpr"]) / step == pytest.approx(np.log10(ratio), abs=0.01)


def test_without_a_prior_each_kind_stands_by_itself(estimate) -> None:
    frame = Frame.around([estimate], [])
    views = histogram(frame, estimate, None, 50.0)
    assert list(views) == ["own"]
    sums = [points(views["own"], f"line {kind}")[::2, 1].sum() for kind in ("tpr", "tnr")]
    assert sums[0] == pytest.approx(sums[1], rel=0.01)


def test_nothing_is_drawn_of_unknown_or_constant_rates(estimate) -> None:
    frame = Frame(0, 200)
    unknown = og.OperatingCurve(np.full(201, np.nan), estimate.tnr)
    constant = og.OperatingCurve(estimate.tpr, np.ones(201))  # every stranger at distance 2
    assert histogram(frame, unknown, 0.01, 50.0) == {}
    assert histogram(frame, constant, 0.01, 50.0) == {}
