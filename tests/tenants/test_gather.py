from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opengcn.tenants import batch, sample
from opengcn.tenants.columns import Columns, ColumnTenants, index_tenants
from opengcn.tenants.gather import gather, is_scattered

Write = Callable[..., Path]


@pytest.fixture
def scattered(
    tmp_path: Path, write_column: Write, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> ColumnTenants:
    monkeypatch.setattr(batch, "TENANTS", 2)
    rows = {f"t{k:02}": rng.standard_normal((30, 3), np.float32) for k in range(60)}
    path = write_column(tmp_path / "x.parquet", rows, shuffle=True, row_group=100)
    return index_tenants([path], Columns("tenant", "embedding"), 3)


def test_gathered_rows_are_those_of_the_data_set(
    scattered: ColumnTenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "LEAST", 25)
    monkeypatch.setattr(sample, "FLOATS", 0)
    together = gather(scattered, tmp_path / "g.npy", progress=False)
    assert together.names == scattered.names
    direct = {r.tenant: r for one in scattered.batches() for r in one.read(3)}
    batches = list(together.batches())
    assert len(batches) == 30
    for one in [*batches[::2], *(single for two in batches[1::2] for single in two.split())]:
        for rows in one.read(3):
            assert rows.total == 30
            np.testing.assert_array_equal(rows.raw, direct.pop(rows.tenant).raw)
    assert not direct
    assert set(together.without({"t00"}).names) == set(scattered.names) - {"t00"}


def test_only_scattered_data_is_gathered(
    scattered: ColumnTenants, tmp_path: Path, write_column: Write, rng: np.random.Generator
) -> None:
    assert is_scattered(scattered)
    rows = {f"t{k:02}": rng.standard_normal((30, 3), np.float32) for k in range(60)}
    path = write_column(tmp_path / "sorted.parquet", rows, row_group=100)
    assert not is_scattered(index_tenants([path], Columns("tenant", "embedding"), 3))


def test_errors_and_types_survive(tmp_path: Path) -> None:
    table = pa.table(
        {"tenant": ["a", "b", "a"], "embedding": pa.array([[0.1, 0.2], [1.0], [3.0, 4.0]])}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    tenants = index_tenants([tmp_path / "x.parquet"], Columns("tenant", "embedding"), 2)
    (one,) = gather(tenants, tmp_path / "g.npy", progress=False).batches()
    a, b = one.read(2)
    assert a.raw is not None
    assert a.raw.dtype == np.float64
    np.testing.assert_array_equal(a.raw, [[0.1, 0.2], [3, 4]])
    assert "expected 2 numbers" in b.error
    assert b.raw is None
