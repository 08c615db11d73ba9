from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opengcn as og
from opengcn.tenants.batch import TenantRows
from opengcn.tenants.columns import ColumnTenants
from opengcn.tenants.folders import FolderTenants
from opengcn.tenants.layout import open_tenants

Write = Callable[..., Path]


def opened(data: Path, **options: Any) -> ColumnTenants | FolderTenants:
    return open_tenants(data, **({"tenant": "tenant", "embedding": None, "dim": 8} | options))


def read(data: Path, **options: Any) -> dict[Any, TenantRows]:
    batches = opened(data, **options).batches()
    return {rows.tenant: rows for batch in batches for rows in batch.read(8)}


@pytest.fixture
def tenants(rng: np.random.Generator) -> dict[str, Any]:
    return {
        name: rng.standard_normal((n, 8), dtype=np.float32)
        for name, n in {"a": 30, "b": 5, "c": 200}.items()
    }


def assert_same(found: dict[Any, TenantRows], tenants: dict[Any, Any]) -> None:
    assert found.keys() == tenants.keys()
    for name, rows in tenants.items():
        assert found[name].error == ""
        assert found[name].total == len(rows)
        np.testing.assert_array_equal(found[name].raw, rows)


def test_a_file_with_a_tenant_column(
    tmp_path: Path, write_column: Write, tenants: dict[str, Any]
) -> None:
    assert_same(read(write_column(tmp_path / "all.parquet", tenants, row_group=7)), tenants)


def test_a_folder_with_a_tenant_column(
    tmp_path: Path, write_column: Write, tenants: dict[str, Any]
) -> None:
    for part, (begin, end) in enumerate([(0, 3), (3, 100), (100, 1000)]):
        some = {name: rows[begin:end] for name, rows in tenants.items()}
        write_column(tmp_path / "sub" / f"{part}.parquet", some)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "_notes.parquet").write_bytes(b"not data")
    (tmp_path / "README.txt").write_text("not data")
    assert_same(read(tmp_path), tenants)


def test_integers_and_dictionaries_as_tenants(tmp_path: Path, tenants: dict[str, Any]) -> None:
    flat = np.concatenate(list(tenants.values()))
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), 8)
    codes = np.repeat([7, 8, 9], [len(rows) for rows in tenants.values()])
    pq.write_table(pa.table({"user": codes, "v": vectors}), tmp_path / "i.parquet")
    found = read(tmp_path / "i.parquet", tenant="user", embedding="v")
    assert_same(found, dict(zip([7, 8, 9], tenants.values(), strict=True)))
    names = pa.array(codes.astype(str)).dictionary_encode()
    pq.write_table(pa.table({"tenant": names, "embedding": vectors}), tmp_path / "d.parquet")
    found = read(tmp_path / "d.parquet")
    assert_same(found, dict(zip("789", tenants.values(), strict=True)))


def test_folders_named_by_a_key(tmp_path: Path, tenants: dict[str, Any]) -> None:
    for name, rows in tenants.items():
        for half in (0, 1):
            part = og.EmbeddingSet(rows[half::2])
            folder = tmp_path / f"day={half}" / f"tenant={name}%2F1"
            folder.mkdir(parents=True)
            part.save(folder / "part.parquet")
    found = read(tmp_path)
    assert list(found) == ["a/1", "b/1", "c/1"]
    for name, rows in tenants.items():
        expected = np.concatenate([og.EmbeddingSet(rows[h::2]).embeddings for h in (0, 1)])
        np.testing.assert_array_equal(found[f"{name}/1"].raw, expected)


def test_a_file_or_folder_a_tenant(tmp_path: Path, tenants: dict[str, Any]) -> None:
    np.save(tmp_path / "a.npy", tenants["a"])
    np.savez(tmp_path / "b.npz", embeddings=tenants["b"])
    (tmp_path / "c").mkdir()
    for k, part in enumerate(np.split(tenants["c"], [50, 120])):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), 8)
        pq.write_table(pa.table({"embedding": vectors}), tmp_path / "c" / f"{k}.parquet")
    (tmp_path / "d.npy").write_bytes(b"damaged")
    (tmp_path / "e.parquet").write_bytes(b"damaged")
    found = read(tmp_path)
    assert "d.npy: expected a whole .npy file" in found.pop("d").error
    assert "e.parquet: expected a whole .parquet file" in found.pop("e").error
    assert_same(found, tenants)


def test_other_names_of_arrays(tmp_path: Path, tenants: dict[str, Any]) -> None:
    np.savez(tmp_path / "a.npz", mine=tenants["a"])
    np.save(tmp_path / "b.npy", tenants["b"])
    assert_same(read(tmp_path, embedding="mine"), {n: tenants[n] for n in "ab"})
    assert "expected an array named 'embeddings'" in read(tmp_path)["a"].error


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p / "none", "received a path where there is none"),
        (lambda p: p, "expected a folder with .npy, .npz, .parquet files, received none"),
        (lambda p: _touch(p / "a.npz"), "expected a parquet file with a tenant column"),
        (
            lambda p: _touch(p / "x" / "a.npz", p / "x" / "a.npy").parent,
            "expected one file or folder a tenant, received a.npy and a.npz",
        ),
        (
            lambda p: _touch(p / "x" / "a" / "1.npy", p / "x" / "a" / "2.npy").parent.parent,
            "tenant 'a': expected one .npy or .npz file, or parquet files, received 1.npy, 2.npy",
        ),
        (
            lambda p: _touch(p / "x" / "tenant=a" / "1.npy", p / "x" / "2.npy").parent,
            "expected every file of .* in a folder 'tenant=NAME', received one outside",
        ),
    ],
)
def test_bad_layouts(tmp_path: Path, make: Callable[[Path], Path], message: str) -> None:
    with pytest.raises(og.DataError, match=message):
        opened(make(tmp_path))


def _touch(*paths: Path) -> Path:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return paths[-1]


def test_bad_columns(tmp_path: Path, write_column: Write, tenants: dict[str, Any]) -> None:
    write_column(tmp_path / "1.parquet", tenants)
    with pytest.raises(og.DataError, match="expected a column 'vector', received 'tenant', 'emb"):
        opened(tmp_path, embedding="vector")
    with pytest.raises(og.DataError, match="expected a column 'user'"):
        opened(tmp_path / "1.parquet", tenant="user")
    with pytest.raises(
        og.DataError, match="column 'tenant': expected lists of floats, received st"
    ):
        opened(tmp_path, embedding="tenant")
    write_column(tmp_path / "2.parquet", {1: tenants["a"]})
    with pytest.raises(
        og.DataError, match="expected strings or integers in all files, received str"
    ):
        opened(tmp_path)
    pq.write_table(pa.table({"tenant": [0.5], "embedding": [[1.0]]}), tmp_path / "2.parquet")
    with pytest.raises(og.DataError, match="2.parquet: column 'tenant': expected strings or int"):
        opened(tmp_path)
    (tmp_path / "2.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(og.DataError, match="2.parquet: expected a whole .parquet file"):
        opened(tmp_path)
    none = pa.table({"tenant": pa.array([None], pa.string()), "embedding": [[1.0]]})
    pq.write_table(none, tmp_path / "null.parquet")
    with pytest.raises(og.DataError, match="expected rows with a tenant, received none"):
        opened(tmp_path / "null.parquet")
