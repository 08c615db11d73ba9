from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opengcn as og

KEYS = {
    "distance", "tpr", "tnr", "target", "tpr_low", "tpr_high", "tnr_low", "tnr_high",
    "distance_low", "distance_high", "cosine", "squared_l2", "rule", "metric", "rules", "samples",
    "pairs", "graphs", "nodes", "prior", "source", "model", "calibration", "notes", "version",
}  # fmt: skip


@pytest.fixture
def ask(run, files: Path):
    return lambda *rest, **given: run("threshold", files / "model.ogcn", *rest, **given)


@pytest.fixture
def curve(files: Path) -> og.OperatingCurve:
    test = og.EmbeddingSet.load(files / "test.parquet").unlabelled()
    return og.load(files / "model.ogcn").estimate(test)


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        (("--tpr", "0.9"), {"tpr": 0.9}),
        (("--find", "90%"), {"tpr": 0.9}),
        (("--find", "90 %"), {"tpr": 0.9}),
        (("--tnr", "0.99"), {"tnr": 0.99}),
        (("--reject", "99%"), {"tnr": 0.99}),
        (("--find", "90%", "--confidence", "0.9"), {"tpr": 0.9, "confidence": 0.9}),
        (("--find", "90%", "--confidence", "90%"), {"tpr": 0.9, "confidence": 0.9}),
    ],
)
def test_json_is_the_threshold_of_the_library(
    ask, files: Path, curve: og.OperatingCurve, asked: tuple[str, ...], target: dict[str, float]
) -> None:
    ran = ask(files / "test.parquet", *asked, "--json")
    assert ran.code == 0, ran.err
    expected = curve.threshold(**target)  # type: ignore[arg-type]
    assert og.Threshold.from_json(ran.out) == expected
    answer = json.loads(ran.out)
    assert set(answer) == KEYS
    assert answer["samples"] == 252
    assert answer["pairs"] == 252 * 251 // 2
    assert answer["graphs"] >= 1
    assert answer["metric"] == "l2"
    assert answer["rules"]["cosine"] == f"match if cosine similarity > {expected.cosine:.4f}"
    assert answer["source"].startswith(f"estimated from {files / 'test.parquet'} by ")
    assert "trained on 360 rows of 30 classes" in answer["model"]


@pytest.mark.parametrize("name", ["test.npz", "test.npy", "parts"])
def test_every_format_gives_the_same_answer(
    ask, files: Path, curve: og.OperatingCurve, name: str
) -> None:
    ran = ask(files / name, "--find", "90%", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["distance"] == curve.threshold(tpr=0.9).distance


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".parquet"])
def test_every_format_can_be_piped(ask, files: Path, curve: og.OperatingCurve, suffix: str) -> None:
    ran = ask("-", "--find", "90%", "--json", given=(files / f"test{suffix}").read_bytes())
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["distance"] == curve.threshold(tpr=0.9).distance


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_labels_are_not_looked_at(
    ask, files: Path, curve: og.OperatingCurve, tmp_path: Path, suffix: str
) -> None:
    """A column called label may hold gaps, or scores."""
    X = np.load(files / "test.npy")
    path = tmp_path / f"odd{suffix}"
    if suffix == ".npz":
        np.savez(path, embeddings=X, labels=np.full(len(X), 0.5), ids=np.zeros(3))
    else:
        gaps: list[str | None] = [None, *"ab" * (len(X) // 2)][: len(X)]
        pq.write_table(pa.table({"embedding": list(X), "label": gaps, "id": gaps}), path)
    for given in ((path,), ("-",)):
        ran = ask(*given, "--find", "90%", "--json", given=path.read_bytes())
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["distance"] == curve.threshold(tpr=0.9).distance


def test_several_files_are_one_set(ask, files: Path) -> None:
    ran = ask(
        files / "parts" / "a.parquet", files / "parts" / "b.parquet", "--tpr", "0.9", "--json"
    )
    assert json.loads(ran.out)["samples"] == 252


def test_standard_input_for_real(process, files: Path) -> None:
    ran = process(
        "threshold", files / "model.ogcn", "-", "--tnr", "0.99", "--json",
        given=(files / "test.parquet").read_bytes(),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["source"].startswith("estimated from standard input by ")
    assert ran.stderr == b""


def test_the_table_tells_everything(ask, files: Path, curve: og.OperatingCurve) -> None:
    ran = ask(files / "test.parquet", "--find", "90%")
    text = ran.out.replace("\N{NO-BREAK SPACE}", " ")
    found = curve.threshold(tpr=0.9)
    assert "find 90 % of the true matches" in text
    assert re.search(rf"distance +< {found.distance:.4f}", text)
    assert re.search(rf"cosine similarity +> {found.cosine:.4f}", text)
    assert re.search(rf"squared L2 distance +< {found.squared_l2:.4f}", text)
    assert re.search(r"\(TPR\) +90.0 % +[\d.]+\N{EN DASH}[\d.]+ %", text)
    assert "252 samples (31,626 pairs), no labels" in text
    assert f"estimated from {files / 'test.parquet'}" in text.replace("\n", "")
    assert "trained on 360 rows" in text


def test_what_the_calibration_set_would_have_said(
    ask, files: Path, curve: og.OperatingCurve
) -> None:
    cal = og.OperatingCurve.from_labels(og.EmbeddingSet.load(files / "cal.npz"))
    theirs = cal.threshold(tpr=0.9).distance
    ran = ask(files / "test.parquet", "--find", "90%")
    assert f"distance < {theirs:.4f}, would here find" in " ".join(ran.out.split())
    answer = json.loads(ask(files / "test.parquet", "--find", "90%", "--json").out)
    assert answer["calibration"]["distance"] == pytest.approx(theirs)
    assert answer["calibration"]["tpr"] == pytest.approx(curve.at(theirs).tpr)


def test_hints_change_the_answer(ask, files: Path) -> None:
    def answer(*hint: object) -> float:
        return float(
            json.loads(ask(files / "test.npz", "--tpr", "0.9", *hint, "--json").out)["prior"]
        )

    few, many = answer("--n-classes", 5), answer("--n-classes", 80)
    assert few > many
    assert answer("--prior", 0.1) > answer("--prior", 0.01)


def test_too_strict_a_target_is_said(process, files: Path) -> None:
    ran = process(
        "threshold", files / "model.ogcn", files / "test.npz", "--reject", "99.99%", "--json"
    )
    assert ran.returncode == 0
    (note,) = json.loads(ran.stdout)["notes"]
    assert "do not rely on this threshold: Too little data" in note
    assert "it takes 448 rows or more" in note
    assert ran.stderr.decode().startswith("opengcn: warning: do not rely on this threshold")


def test_curve(ask, files: Path, curve: og.OperatingCurve, tmp_path: Path) -> None:
    ask(files / "test.npz", "--tpr", "0.9", "--curve", tmp_path / "curve.json")
    assert og.OperatingCurve.from_json((tmp_path / "curve.json").read_text()) == curve
    ask(files / "test.npz", "--tpr", "0.9", "--curve", tmp_path / "curve.csv")
    text = (tmp_path / "curve.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 201
    np.testing.assert_array_equal([float(row["tpr_low"]) for row in rows], curve.tpr_low)
    np.testing.assert_allclose([float(row["cosine"]) for row in rows], 1 - curve.distances**2 / 2)
    piped = ask(files / "test.npz", "--tpr", "0.9", "--curve", "-")
    assert piped.out.splitlines() == text.splitlines()
    assert "two samples match if" in piped.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.csv", "curve.json"]


def test_report(ask, files: Path, tmp_path: Path) -> None:
    page = tmp_path / "out" / "report.html"
    ran = ask(files / "test.npz", "--tpr", "0.9", "--report", page)
    assert ran.code == 0, ran.err
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    for expected in ("Model fingerprint", "Data fingerprint", "252 rows of 16 dimensions"):
        assert expected in text
    assert ask(files / "test.npz", "--tpr", "0.9", "--report", "-").out.startswith(
        "<!doctype html>"
    )


def test_snippet(ask, files: Path) -> None:
    ran = ask(files / "test.npz", "--tpr", "0.9", "--snippet", "qdrant")
    assert "score_threshold" in ran.out
    assert "two samples match if" not in ran.out
    assert "two samples match if" in ran.err
    answer = json.loads(
        ask(files / "test.npz", "--tpr", "0.9", "--snippet", "pgvector", "--json").out
    )
    assert "SELECT" in answer["snippet"].upper()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "expected one target, --find SHARE (--tpr) or --reject SHARE (--tnr), received none"),
        (("--tpr", "0.9", "--tnr", "0.9"), 2, "received both"),
        (("--tpr", "90"), 2, "received '90'; did you mean 90%?"),
        (("--tpr", "1.5"), 2, "expected a share such as 90% or 0.9, received '1.5' ("),
        (("--tpr", "0.9", "--confidence", "95"), 2, "received '95'; did you mean 95%?"),
        (("--tpr", "0.9", "--confidence", "10%"), 2, "a confidence from 50% to 99.9%, received '10%'"),
        (("--tpr", "0"), 2, "expected a share such as 90% or 0.9, received '0'"),
        (("--find", "most"), 2, "expected a share such as 90% or 0.9, received 'most'"),
        (("--find", "101%"), 2, "expected a share such as 90% or 0.9, received '101%'"),
        (("--tpr", "0.9", "--snippet", "oracle"), 2, "expected an engine of deepface, faiss"),
        (("--tpr", "0.9", "--curve", "c.xls"), 1, "c.xls: expected a curve in .csv or .json"),
        (("--tpr", "0.9", "--json", "--curve", "-"), 2, "standard output for one thing only"),
        (("--tpr", "0.9", "--report", "."), 1, "received a folder"),
        (("--tpr", "0.9", "--n-classes", "5", "--prior", "0.1"), 1, "received both"),
    ],
)  # fmt: skip
def test_wrong_options(
    ask, files: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = ask(files / "test.npz", *arguments)
    assert ran.code == code
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.out == ""


def test_wrong_files(run, ask, files: Path, tmp_path: Path) -> None:
    def refused(ran) -> str:
        assert ran.code == 1
        assert len(ran.err.splitlines()) == 1
        assert ran.out == ""
        return str(ran.err)

    assert "expected a model file" in refused(
        run("threshold", files / "cal.npz", files / "test.npz", "--tpr", "0.9")
    )
    assert "standard input: expected a .npz, .npy or .parquet file, received nothing" in refused(
        ask("-", "--tpr", "0.9")
    )
    assert "received something else (it begins with b'distance')" in refused(
        ask("-", "--tpr", "0.9", given=b"distance,tpr\n")
    )
    broken = (files / "test.npz").read_bytes()[:3000]
    assert "opengcn: standard input: expected a whole .npz file" in refused(
        ask("-", "--tpr", "0.9", given=broken)
    )
    X = np.load(files / "test.npy")
    np.save(tmp_path / "narrow.npy", X[:, :5])
    assert "expected dimension 16 as in D_train, received 5" in refused(
        ask(tmp_path / "narrow.npy", "--tpr", "0.9")
    )
    X[3, 2] = np.nan
    np.save(tmp_path / "nan.npy", X)
    assert "nan.npy: row 3: expected finite numbers, received nan" in refused(
        ask(tmp_path / "nan.npy", "--tpr", "0.9", "--report", tmp_path / "report.html")
    )
    assert not (tmp_path / "report.html").exists()
