from __future__ import annotations

import json

import numpy as np
import pytest

import opengcn as og
from opengcn.calibrators.base import Calibrator


class Broken(Calibrator):
    """Fails, to see what becomes of the others."""

    def _fit(self, train: og.EmbeddingSet, cal: og.EmbeddingSet) -> None:
        raise RuntimeError("no luck today")

    def _estimate(self, test: og.EmbeddingSet) -> og.OperatingCurve:
        raise AssertionError


class Oracle(Calibrator):
    """Would cheat if it could: asks the test set for its labels."""

    def _fit(self, train: og.EmbeddingSet, cal: og.EmbeddingSet) -> None:
        pass

    def _estimate(self, test: og.EmbeddingSet) -> og.OperatingCurve:
        return og.OperatingCurve.from_labels(test)


def make(seed: int = 0) -> tuple[og.EmbeddingSet, og.EmbeddingSet]:
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(30), 8)
    X = rng.standard_normal((30, 8))[y] + 0.5 * rng.standard_normal((240, 8))
    data = og.EmbeddingSet(X, y)
    return data.subset(y < 10), data.subset(y >= 10)


def test_errors_are_those_of_the_curves() -> None:
    train, rest = make()
    cal, test = rest.split_classes(0.2)
    row = og.compare([og.SplitCurve()], train, cal, test).rows()[0]
    curve, truth = (
        og.SplitCurve().fit(train, cal).estimate(test),
        og.OperatingCurve.from_labels(test),
    )
    assert row.mean["mae"] == curve.mae(truth)
    assert row.mean["mae_tpr"] + row.mean["mae_tnr"] == pytest.approx(row.mean["mae"])
    assert row.mean["ae_tpr_90"] == og.metrics.ae_tpr(curve, truth, 0.9)
    assert row.mean["ae_tnr_80"] == og.metrics.ae_tnr(curve, truth, 0.8)
    assert np.isnan(row.spread["mae"])
    assert row.rank == 1


def test_splits_are_summarised_by_mean_and_spread() -> None:
    train, rest = make()
    result = og.compare_splits([og.SplitCurve(), og.IsotonicCalibration()], train, rest, splits=3)
    each = []
    for seed in range(3):
        cal, test = rest.split_classes(0.1, seed)
        each.append(
            og.SplitCurve().fit(train, cal).estimate(test).mae(og.OperatingCurve.from_labels(test))
        )
    row = result.rows()[0]
    assert row.mean["mae"] == pytest.approx(np.mean(each))
    assert row.spread["mae"] == pytest.approx(np.std(each, ddof=1))
    assert sorted(r.rank for r in result.rows()) == [1, 2]


def test_a_method_that_fails_does_not_take_the_others_down() -> None:
    train, rest = make()
    result = og.compare_splits(
        {"broken": Broken(), "split": og.SplitCurve()}, train, rest, splits=2
    )
    broken, split = result.rows()
    assert broken.failures == ("RuntimeError: no luck today",) * 2
    assert split.rank == 1
    assert split.mean["mae"] > 0
    for text in (str(result), result.to_markdown()):
        assert "broken failed on 2 of 2: RuntimeError: no luck today" in text


def test_methods_do_not_see_the_labels() -> None:
    train, rest = make()
    result = og.compare([Oracle()], train, *rest.split_classes(0.2))
    assert "expected labels, received a set without them" in result.rows()[0].failures[0]


def test_tables_and_json() -> None:
    train, rest = make()
    result = og.compare_splits([og.SplitCurve(), og.PlattScaling()], train, rest, splits=2)
    lines = result.to_markdown().split("\n")
    assert len(lines) == 4
    assert {line.count("|") for line in lines} == {12}
    mean, spread = result.rows()[0].mean["mae"], result.rows()[0].spread["mae"]
    assert f"{mean:.4f} ± {spread:.4f}" in lines[2]
    assert f"{mean:.4f} ± {spread:.4f}" in str(result)
    assert og.Comparison.from_json(result.to_json()) == result
    assert (
        json.loads(og.compare([og.SplitCurve()], train, *rest.split_classes(0.2)).to_json())[
            "rows"
        ][0]["spread"]["mae"]
        is None
    )
    with pytest.raises(og.DataError, match="expected JSON of one"):
        og.Comparison.from_json("[]")


class Flat(Calibrator):
    """Knows only that half of all matches are near: no threshold finds 80 %."""

    def _fit(self, train: og.EmbeddingSet, cal: og.EmbeddingSet) -> None:
        pass

    def _estimate(self, test: og.EmbeddingSet) -> og.OperatingCurve:
        return og.OperatingCurve(np.full(201, 0.5), np.linspace(1, 0, 201))


class Uncloneable(Flat):
    def __init__(self, setting: int = 1) -> None:
        self.setting = setting + 1


def test_an_estimate_that_misses_the_target_keeps_its_other_errors() -> None:
    train, rest = make()
    result = og.compare([Flat()], train, *rest.split_classes(0.2))
    row = result.rows()[0]
    assert row.failures == ()
    assert row.mean["mae"] > 0
    assert np.isnan(row.mean["ae_tpr_80"])
    assert row.mean["ae_tnr_80"] >= 0
    back = og.Comparison.from_json(result.to_json())
    assert back.to_markdown() == result.to_markdown()


def test_methods_that_cannot_be_cloned_are_reported() -> None:
    train, rest = make()
    methods = {"odd": Uncloneable(), "class": og.SplitCurve, "split": og.SplitCurve()}
    rows = og.compare(methods, train, *rest.split_classes(0.2)).rows()
    assert [bool(row.failures) for row in rows] == [True, True, False]


def test_names_are_text_and_not_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    train, rest = make()
    names = ["a [eps=0.5]", "[/x]", "a|b"]
    result = og.compare({name: og.SplitCurve() for name in names}, train, *rest.split_classes(0.2))
    text = str(result)
    assert "\x1b" not in text
    assert all(name in text for name in names)
    assert {line.count(" | ") for line in result.to_markdown().split("\n")[2:]} == {10}


def test_names() -> None:
    train, rest = make()
    sets = train, *rest.split_classes(0.2)
    with pytest.raises(og.OpenGCNError, match="expected names for several of one class"):
        og.compare([og.HistogramCalibration(10), og.HistogramCalibration(20)], *sets)
    with pytest.raises(og.OpenGCNError, match="expected at least one"):
        og.compare([], *sets)
    with pytest.raises(og.DataError, match="D_test"):
        og.compare([og.SplitCurve()], train, rest, rest)
