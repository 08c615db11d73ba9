from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opengcn as og
from opengcn.distance import Metric
from opengcn.errors import DataError, OpenGCNError

METRICS: list[Metric] = ["l2", "squared_l2", "cosine", "cosine_distance"]


@given(st.floats(0, 2), st.sampled_from(METRICS), st.sampled_from(METRICS))
def test_conversions_go_both_ways(d: float, a: Metric, b: Metric) -> None:
    value = og.convert(d, "l2", a)
    back = og.convert(og.convert(value, a, b), b, a)
    assert back == pytest.approx(value, abs=1e-7)


def test_conversions_by_hand() -> None:
    assert og.convert(0.9, "l2", "cosine") == pytest.approx(0.595)
    assert og.convert(0.595, "cosine", "l2") == pytest.approx(0.9)
    assert og.convert(0.9, "l2", "squared_l2") == pytest.approx(0.81)
    assert og.convert(0.9, "l2", "cosine_distance") == pytest.approx(0.405)
    assert og.convert(2, "l2", "cosine") == -1


@pytest.mark.parametrize(
    ("value", "metric"),
    [(2.1, "l2"), (-0.1, "l2"), (1.01, "cosine"), (4.1, "squared_l2"), (math.nan, "l2")],
)
def test_impossible_thresholds_are_refused(value: float, metric: Metric) -> None:
    with pytest.raises(OpenGCNError, match="threshold: expected a"):
        og.convert(value, metric, "l2")
    with pytest.raises(OpenGCNError, match="threshold: expected a"):
        og.Threshold.of(value, metric)


def test_impossible_rates_are_refused() -> None:
    with pytest.raises(OpenGCNError, match=r"expected tpr in \[0, 1\] or NaN, received 7"):
        og.Threshold(1.0, tpr=7)
    with pytest.raises(DataError, match="expected JSON of a threshold"):
        og.Threshold.from_json('{"distance": "abc", "tpr": 1, "tnr": 1, "target": ""}')


def test_numbers_of_numpy_become_plain() -> None:
    assert json.loads(og.Threshold(np.float32(1), np.float32(0.5)).to_json())["tpr"] == 0.5


def test_unknown_metric() -> None:
    with pytest.raises(OpenGCNError, match="expected one of l2, .*received 'euclid'"):
        og.convert(1, "euclid", "l2")  # type: ignore[arg-type]


def test_text_spells_out_the_direction() -> None:
    text = str(og.Threshold(0.9, 0.8, 0.99))
    assert "match if distance < 0.9000" in text
    assert "cosine similarity > 0.5950" in text
    assert "squared L2 distance < 0.8100" in text
    assert "finds 80.00 % of the true matches (TPR) and rejects 99.00 % of the strangers" in text
    assert og.Threshold(0.9).rule("cosine_distance") == "match if cosine distance < 0.4050"
    assert "finds" not in str(og.Threshold(0.9))


@given(st.floats(0, 2), st.floats(0, 1), st.one_of(st.floats(0, 1), st.just(math.nan)))
def test_json_round_trip(d: float, tpr: float, tnr: float) -> None:
    t = og.Threshold(d, tpr, tnr, "tpr >= 0.9")
    back = og.Threshold.from_json(t.to_json())
    assert (back.distance, back.tpr, back.target) == (d, tpr, "tpr >= 0.9")
    assert back.tnr == tnr or (math.isnan(tnr) and math.isnan(back.tnr))
    assert json.loads(t.to_json())["cosine"] == t.cosine


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"distance": null, "tpr": 1, "tnr": 1, "target": ""}']
)
def test_bad_json(text: str) -> None:
    with pytest.raises(DataError, match="expected JSON of a threshold"):
        og.Threshold.from_json(text)
