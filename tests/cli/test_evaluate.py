from __future__ import annotations

import json
from pathlib import Path

import pytest

import opengcn as og


def test_json_is_what_the_library_says(run, files: Path) -> None:
    ran = run("evaluate", files / "model.ogcn", files / "test.parquet", "--json")
    assert ran.code == 0, ran.err
    answer = json.loads(ran.out)
    test = og.EmbeddingSet.load(files / "test.parquet")
    curve = og.load(files / "model.ogcn").estimate(test.unlabelled())
    truth = og.OperatingCurve.from_labels(test)
    assert answer["mae"] == pytest.approx(curve.mae(truth), abs=1e-12)
    assert answer["mae"] == pytest.approx(answer["mae_tpr"] + answer["mae_tnr"])
    assert (answer["samples"], answer["classes"]) == (252, 21)
    one = next(t for t in answer["targets"] if (t["rate"], t["target"]) == ("tpr", 0.9))
    assert one["distance"] == curve.threshold(tpr=0.9).distance
    assert one["true_distance"] == truth.threshold(tpr=0.9).distance
    assert one["reached"] == truth.at(one["distance"]).tpr
    assert one["error"] == pytest.approx(abs(one["reached"] - 0.9))
    cal = og.OperatingCurve.from_labels(og.EmbeddingSet.load(files / "cal.npz"))
    theirs = truth.at(cal.threshold(tpr=0.9).distance).tpr
    assert one["reached_by_calibration"] == pytest.approx(theirs)
    assert answer["mae_calibration"] == pytest.approx(cal.mae(truth))
    strict = answer["targets"][-1]
    assert strict["distance"] is None
    assert "Too little data" in strict["reason"]


def test_table(run, files: Path) -> None:
    ran = run("evaluate", files / "model.ogcn", files / "test.npy", "--labels", files / "test.txt")
    assert ran.code == 0, ran.err
    assert "MAE_comb" in ran.out
    assert "252 samples of 21 classes, every pair" in ran.out
    assert "TNR 99.99 %" in ran.out


def test_classes_that_the_model_has_seen(run, files: Path) -> None:
    ran = run("evaluate", files / "model.ogcn", files / "cal.npz")
    assert ran.code == 1
    assert "expected classes that are not in D_train or D_cal" in ran.err
    again = run("evaluate", files / "model.ogcn", files / "cal.npz", "--label-space", "separate")
    assert again.code == 0, again.err


def test_without_labels(run, files: Path) -> None:
    ran = run("evaluate", files / "model.ogcn", files / "parts")
    assert ran.code == 1
    assert "parts: expected labels, received a set without them; --label-column names" in ran.err


def test_an_address_is_of_a_ray_cluster(run, files: Path) -> None:
    ran = run("evaluate", files / "model.ogcn", files / "test.parquet", "--address", "auto")
    assert ran.code == 1
    assert "address: expected with engine 'ray' only" in ran.err


def test_pairs_counted_by_ray_are_the_same(process, files: Path) -> None:
    pytest.importorskip("ray")
    data = ("evaluate", files / "model.ogcn", files / "test.parquet", "--json")
    here, there = process(*data), process(*data, "--engine", "ray")
    assert (there.returncode, there.stderr) == (0, b"")
    assert there.stdout == here.stdout
