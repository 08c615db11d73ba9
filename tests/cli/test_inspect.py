from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opengcn as og
from opengcn.cli.checkup import rows_needed


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    X = 3 * np.random.default_rng(0).standard_normal((10, 4))
    X[2] = np.nan
    X[3, 1] = np.inf
    X[4] = 0
    X[5] = X[6]
    path = tmp_path / "bad.npz"
    np.savez(path, embeddings=X, labels=np.arange(10) // 3, ids=np.array(list("aabcdefghi")))
    return path


def test_a_sound_set(run, files: Path) -> None:
    ran = run("inspect", files / "test.parquet")
    assert ran.code == 0
    assert "252 of 16 dimensions, float32" in ran.out
    assert "for TNR up to 99.9 %; 99.99 % takes 448" in ran.out
    answer = json.loads(run("inspect", files / "test.parquet", "--json").out)
    assert answer["sound"] is True
    assert answer["problems"] == answer["remarks"] == []
    assert (answer["rows"], answer["dim"], answer["classes"]) == (252, 16, 21)
    assert answer["class_size"] == {"min": 12, "median": 12.0, "max": 12, "singletons": 0}
    assert answer["same_class_pairs"] == 21 * 12 * 11 // 2
    assert answer["supported_tnr"] == [0.9, 0.99, 0.999]


def test_an_unsound_set_is_described_whole(run, bad: Path) -> None:
    """Unlike loading it, which stops at the first bad row."""
    ran = run("inspect", bad, "--json")
    assert ran.code == 1
    answer = json.loads(ran.out)
    assert answer["sound"] is False
    assert (answer["not_finite"], answer["zero"], answer["duplicates"]) == (2, 1, 1)
    assert answer["repeated_ids"] == 1
    assert answer["problems"][-1] == f"the first of them is {bad}: row 2, column 'embeddings'"
    assert answer["norm"]["min"] > 1
    people = run("inspect", bad)
    assert people.code == 1
    assert "not sound" in people.out


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(10, 0.5), "labels: expected integers or strings, received float64"),
        (np.arange(9), "labels: expected one for each of 10 rows, received shape (9,)"),
    ],
)
def test_labels_that_cannot_be_used(run, tmp_path: Path, labels: np.ndarray, message: str) -> None:
    path = tmp_path / "odd.npz"
    np.savez(path, embeddings=np.eye(10), labels=labels)
    ran = run("inspect", path, "--json")
    assert ran.code == 0  # it will do for `threshold`
    answer = json.loads(ran.out)
    assert answer["classes"] is None
    assert answer["remarks"][0] == f"columns beside the vectors are left out: {message}"
    assert "no labels: good for `threshold`" in answer["remarks"][1]
    asked = run("inspect", path, "--label-column", "labels")
    assert asked.code == 1
    assert asked.err == f"opengcn: {message}\n"


def test_gaps_in_piped_labels(run, tmp_path: Path) -> None:
    path = tmp_path / "gaps.parquet"
    pq.write_table(pa.table({"embedding": list(np.eye(3)), "label": ["a", None, "b"]}), path)
    answer = json.loads(run("inspect", "-", "--json", given=path.read_bytes()).out)
    assert answer["remarks"][0].endswith(
        "-: row 1, column 'label': expected a value, received null"
    )


def test_formats(run, files: Path) -> None:
    for place in ("parts", "test.npz", "test.npy"):
        assert json.loads(run("inspect", files / place, "--json").out)["rows"] == 252
    piped = run("inspect", "-", "--json", given=(files / "test.npz").read_bytes())
    assert json.loads(piped.out)["classes"] == 21
    labelled = run("inspect", files / "test.npy", "--labels", files / "test.txt", "--json")
    assert json.loads(labelled.out)["classes"] == 21


def test_vectors_without_a_norm_of_one(run, tmp_path: Path) -> None:
    np.save(tmp_path / "long.npy", np.outer([1e200, 1e-200], np.ones(4)))
    ran = run("inspect", tmp_path / "long.npy", "--json")
    assert ran.code == 0
    answer = json.loads(ran.out)
    assert "vectors are not of length 1: they will be scaled to it" in answer["remarks"]
    assert answer["norm"]["min"] == pytest.approx(2e-200)
    assert answer["norm"]["max"] == pytest.approx(2e200)


def test_an_empty_set(run, tmp_path: Path) -> None:
    np.save(tmp_path / "empty.npy", np.empty((0, 3)))
    ran = run("inspect", tmp_path / "empty.npy")
    assert ran.code == 1
    assert "expected two rows or more, received 0" in ran.out
    assert "nan" not in ran.out
    assert "length 1" not in ran.out


def test_a_model(run, files: Path) -> None:
    ran = run("inspect", files / "model.ogcn")
    assert ran.code == 0
    assert "trained on 360 rows of 30 classes and calibrated on 108 rows of 9 classes" in ran.out
    assert "no code" in ran.out
    answer = json.loads(run("inspect", files / "model.ogcn", "--json").out)
    assert answer["kind"] == "model"
    assert answer["version"] == og.__version__
    assert answer["cal"] == {"rows": 108, "classes": 9}


def test_a_damaged_model(run, files: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.ogcn"
    path.write_bytes((files / "model.ogcn").read_bytes()[:1000])
    ran = run("inspect", path)
    assert ran.code == 1
    assert "truncated, damaged or of another format" in ran.err


@pytest.mark.parametrize("tnr", [0.5, 0.9, 0.99, 0.999, 0.9999])
def test_rows_needed_is_the_smallest_number_that_will_do(tnr: float) -> None:
    n = rows_needed(tnr)
    assert n * (n - 1) / 2 * (1 - tnr) >= 10 - 1e-6
    assert (n - 1) * (n - 2) / 2 * (1 - tnr) < 10
