from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import opengcn as og
from opengcn.tenants import batch, bulk

Rows = Callable[[int, int], NDArray[np.float32]]
Write = Callable[..., Path]
Read = Callable[[Path], dict[Any, dict[str, Any]]]


@pytest.fixture(scope="module")
def tenants(rows_like: Rows) -> dict[str, NDArray[np.float32]]:
    sizes = [5, 10, 40, 300, 700, 20, 1200, 60]
    return {f"t{k}": rows_like(n, k) for k, n in enumerate(sizes)}


@pytest.fixture(scope="module")
def data(
    tmp_path_factory: pytest.TempPathFactory,
    write_column: Write,
    tenants: dict[str, NDArray[np.float32]],
) -> Path:
    return write_column(tmp_path_factory.mktemp("data") / "all.parquet", tenants)


def test_every_row_is_the_estimate_of_that_tenant_alone(
    tmp_path: Path,
    model: og.OpenGCN,
    data: Path,
    tenants: dict[str, NDArray[np.float32]],
    thresholds: Read,
) -> None:
    counts = og.calibrate_tenants(model, data, tmp_path / "t.parquet", tpr=0.9, workers=1)
    assert counts == {"ok": 7, "too few samples": 1}
    found = thresholds(tmp_path / "t.parquet")
    assert list(found) == list(tenants)
    assert found.pop("t0")["status"] == "too few samples"
    for name, row in found.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", og.OpenGCNWarning)
            expected = model.estimate(tenants[name]).threshold(tpr=0.9)
        assert row["distance"] == pytest.approx(expected.distance, abs=1e-6)
        assert row["samples"] == len(tenants[name])


def test_workers_and_order_change_nothing(
    tmp_path: Path,
    model_file: Path,
    data: Path,
    write_column: Write,
    tenants: dict[str, NDArray[np.float32]],
    thresholds: Read,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    og.calibrate_tenants(model_file, data, tmp_path / "1.parquet", tnr=0.99, workers=1)
    monkeypatch.setattr(batch, "TENANTS", 2)
    turned = dict(reversed(tenants.items()))
    other = write_column(tmp_path / "turned.parquet", turned, row_group=97)
    og.calibrate_tenants(model_file, other, tmp_path / "2.parquet", tnr=0.99, workers=2)
    first, second = (thresholds(tmp_path / f"{k}.parquet") for k in (1, 2))
    assert first.keys() == second.keys()
    for name, row in first.items():
        for column in set(row) - {"seconds", "tenant", "status", "note"}:
            assert second[name][column] == pytest.approx(row[column], abs=1e-6), (name, column)


def test_scattered_rows_are_gathered(
    tmp_path: Path,
    model: og.OpenGCN,
    write_column: Write,
    rows_like: Rows,
    thresholds: Read,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenants = {f"t{k:02}": rows_like(12, k) for k in range(50)}
    data = write_column(tmp_path / "s.parquet", tenants, shuffle=True)
    og.calibrate_tenants(model, data, tmp_path / "1.parquet", tpr=0.9, workers=1)
    monkeypatch.setattr(batch, "TENANTS", 2)
    gathered = []
    real = bulk.gather
    monkeypatch.setattr(bulk, "gather", lambda *a, **k: gathered.append(k) or real(*a, **k))
    og.calibrate_tenants(model, data, tmp_path / "2.parquet", tpr=0.9, workers=1)
    assert len(gathered) == 1
    first, second = (thresholds(tmp_path / f"{k}.parquet") for k in (1, 2))
    assert {n: r["distance"] for n, r in first.items()} == {
        n: r["distance"] for n, r in second.items()
    }
    assert not (tmp_path / "2.parquet.parts").exists()


def test_bad_tenants_spoil_their_own_row_only(
    tmp_path: Path, model: og.OpenGCN, rows_like: Rows, thresholds: Read
) -> None:
    folder = tmp_path / "users"
    folder.mkdir()
    for name in ("good", "nan", "wrong"):
        X = rows_like(30, 0).copy()
        if name == "nan":
            X[7, 3] = np.nan
        np.save(folder / f"{name}.npy", X[:, :5] if name == "wrong" else X)
    (folder / "damaged.npz").write_bytes(b"PK not")
    (folder / "empty.parquet").touch()
    counts = og.calibrate_tenants(model, folder, tmp_path / "t.parquet", tpr=0.9, workers=2)
    assert counts == {"ok": 1, "error": 4}
    found = thresholds(tmp_path / "t.parquet")
    assert found["nan"]["status"] == (
        "error: tenant 'nan': row 7: expected finite numbers, received nan in dimension 3"
    )
    assert "expected dimension 8 as in D_train, received 5" in found["wrong"]["status"]
    assert "damaged.npz" in found["damaged"]["status"]
    assert found["nan"]["distance"] is None
    # Other data are another job, and take the place of the result.
    np.save(folder / "nan.npy", rows_like(30, 1))
    assert og.calibrate_tenants(model, folder, tmp_path / "t.parquet", tpr=0.9, workers=1) == {
        "ok": 2,
        "error": 3,
    }


def test_a_row_group_that_cannot_be_read_spoils_its_tenants_only(
    tmp_path: Path, model: og.OpenGCN, write_column: Write, rows_like: Rows, thresholds: Read
) -> None:
    tenants = {name: rows_like(200, k) for k, name in enumerate("abc")}
    data = write_column(tmp_path / "x.parquet", tenants, row_group=200)
    column = pq.ParquetFile(data).metadata.row_group(1).column(1)
    content = bytearray(data.read_bytes())
    begin = column.data_page_offset
    content[begin : begin + 40] = b"\xff" * 40
    data.write_bytes(content)
    assert og.calibrate_tenants(model, data, tmp_path / "t.parquet", tpr=0.9, workers=1) == {
        "ok": 2,
        "error": 1,
    }
    assert "expected a whole .parquet file" in thresholds(tmp_path / "t.parquet")["b"]["status"]


def test_a_second_run_has_nothing_to_do(
    tmp_path: Path, model: og.OpenGCN, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "t.parquet"
    counts = og.calibrate_tenants(model, data, out, tpr=0.9, workers=1)
    before = pq.read_table(out)
    monkeypatch.setattr(bulk, "rows_of", lambda *_: pytest.fail("done again"))
    assert og.calibrate_tenants(model, data, out, tpr=0.9, workers=1) == counts
    assert pq.read_table(out).equals(before)


def test_a_tenant_in_several_files_is_one_tenant(
    tmp_path: Path, model: og.OpenGCN, write_column: Write, rows_like: Rows, thresholds: Read
) -> None:
    X = rows_like(60, 0)
    write_column(tmp_path / "d" / "1.parquet", {"é∞ ": X[:25], "b": X})
    write_column(tmp_path / "d" / "2.parquet", {"é∞ ": X[25:]})
    og.calibrate_tenants(model, tmp_path / "d", tmp_path / "t.parquet", tpr=0.9, workers=1)
    found = thresholds(tmp_path / "t.parquet")
    assert list(found) == ["é∞ ", "b"]
    assert [row["samples"] for row in found.values()] == [60, 60]
    assert found["é∞ "]["distance"] == found["b"]["distance"]


def test_names_that_are_no_text_or_larger_than_most_integers(
    tmp_path: Path, model: og.OpenGCN, rows_like: Rows, thresholds: Read
) -> None:
    folder = tmp_path / "users"
    folder.mkdir()
    np.save(folder / os.fsdecode(b"caf\xe9.npy"), rows_like(30, 0))
    og.calibrate_tenants(model, folder, tmp_path / "t.parquet", tpr=0.9, workers=1)
    assert thresholds(tmp_path / "t.parquet")["caf\\xe9"]["status"] == "ok"
    names = pa.array([2**64 - 1] * 10 + [5] * 10, pa.uint64())
    table = pa.table({"tenant": names, "embedding": rows_like(20, 0).tolist()})
    pq.write_table(table, tmp_path / "x.parquet")
    og.calibrate_tenants(model, tmp_path / "x.parquet", tmp_path / "u.parquet", tpr=0.9, workers=1)
    assert list(thresholds(tmp_path / "u.parquet")) == [2**64 - 1, 5]


def test_the_result_must_not_become_data(tmp_path: Path, model: og.OpenGCN, data: Path) -> None:
    before = sorted(data.parent.iterdir())
    for where in (data.parent, data.parent / "new"):
        with pytest.raises(og.DataError, match="expected a place outside .*, received one among"):
            og.calibrate_tenants(model, data.parent, where / "t.parquet", tpr=0.9)
    with pytest.raises(og.DataError, match="expected another place than the data"):
        og.calibrate_tenants(model, data, data, tpr=0.9)
    assert sorted(data.parent.iterdir()) == before
    og.calibrate_tenants(model, data, data.with_name("t.parquet"), tpr=0.9, workers=1)
    data.with_name("t.parquet").unlink()


def test_rows_of_nobody_are_told(tmp_path: Path, model: og.OpenGCN, rows_like: Rows) -> None:
    names = ["a"] * 20 + [None] * 5
    vectors = pa.array(rows_like(25, 0).tolist(), pa.list_(pa.float32()))
    pq.write_table(pa.table({"tenant": names, "embedding": vectors}), tmp_path / "x.parquet")
    with pytest.warns(og.OpenGCNWarning, match="5 rows without a tenant .null. are left out"):
        counts = og.calibrate_tenants(
            model, tmp_path / "x.parquet", tmp_path / "t.parquet", tpr=0.9, workers=1
        )
    assert counts == {"ok": 1}


def test_the_paper_preset_works_too(
    tmp_path: Path, data: Path, rows_like: Rows, thresholds: Read
) -> None:
    train, cal = rows_like(100, 0), rows_like(100, 1)
    labels = np.arange(100) // 10
    paper = og.OpenGCN("paper", pretrain_steps=2, finetune_steps=2).fit(
        train, labels, cal, labels + 100
    )
    og.calibrate_tenants(paper, data, tmp_path / "t.parquet", tnr=0.5, workers=1)
    found = thresholds(tmp_path / "t.parquet")
    assert found["t6"]["graphs"] > 1
    assert found["t6"]["tpr_low"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected one target, tpr= or tnr=, received neither"),
        ({"tpr": 0.9, "tnr": 0.9}, "received both"),
        ({"tpr": 1.5}, r"expected tpr in \(0, 1\], received 1.5"),
        ({"tpr": 0.9, "confidence": 2}, "expected confidence in"),
        ({"tpr": 0.9, "engine": "dask"}, "expected 'local' or 'ray'"),
        ({"tpr": 0.9, "out": "t.csv"}, "t.csv: expected a name in .parquet to write to"),
        ({"tpr": 0.9, "data": "nowhere"}, "nowhere: expected a file or a folder"),
        ({"tpr": 0.9, "model": "nowhere.ogcn"}, "nowhere.ogcn: expected a model file"),
    ],
)
def test_bad_arguments(
    options: dict[str, Any],
    message: str,
    tmp_path: Path,
    model: og.OpenGCN,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"model": model, "data": data, "out": "t.parquet"} | options
    with pytest.raises(og.OpenGCNError, match=message):
        og.calibrate_tenants(**given)
    assert list(tmp_path.iterdir()) == []
