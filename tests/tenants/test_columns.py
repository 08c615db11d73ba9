from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opengcn.tenants import batch, sample
from opengcn.tenants.columns import Columns, index_tenants

Write = Callable[..., Path]
COLUMNS = Columns("tenant", "embedding")


def test_the_index_knows_who_is_where(
    tmp_path: Path, write_column: Write, rng: np.random.Generator
) -> None:
    rows = {name: rng.standard_normal((n, 3), np.float32) for name, n in (("a", 10), ("b", 25))}
    path = write_column(tmp_path / "x.parquet", rows, row_group=10)
    tenants = index_tenants([path], COLUMNS, 3)
    assert tenants.totals == {"a": 10, "b": 25}
    assert {n: g.tolist() for n, g in tenants.holders.items()} == {"a": [0], "b": [1, 2, 3]}
    assert [group.rows for group in tenants.groups] == [10, 10, 10, 5]
    left = tenants.without({"a"})
    assert left.names == ("b",)
    (only,) = left.batches()
    assert [group.number for group in only.groups] == [1, 2, 3]


def test_large_tenants_are_sampled_while_reading(
    tmp_path: Path, write_column: Write, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "LEAST", 40)
    monkeypatch.setattr(sample, "FLOATS", 0)
    rows = {name: rng.standard_normal((n, 3), np.float32) for name, n in (("a", 500), ("b", 30))}
    path = write_column(tmp_path / "x.parquet", rows, row_group=64)
    tenants = index_tenants([path], COLUMNS, 3)
    found = {r.tenant: r for one in tenants.batches() for r in one.read(3)}
    chosen = sample.chosen_rows("a", 500, 3)
    assert found["a"].total == 500
    np.testing.assert_array_equal(found["a"].raw, rows["a"][chosen])
    np.testing.assert_array_equal(found["b"].raw, rows["b"])


def test_batches_are_read_alone_or_together_alike(
    tmp_path: Path, write_column: Write, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "TENANTS", 3)
    rows = {f"t{k}": rng.standard_normal((20, 3), np.float32) for k in range(10)}
    path = write_column(tmp_path / "x.parquet", rows, shuffle=True, row_group=64)
    batches = list(index_tenants([path], COLUMNS, 3).batches())
    assert [len(one.names) for one in batches] == [3, 3, 3, 1]
    for whole in batches:
        together = {r.tenant: r.raw for r in whole.read(3)}
        for one in whole.split():
            (alone,) = one.read(3)
            np.testing.assert_array_equal(alone.raw, together[alone.tenant])
    assert {name for one in batches for name in one.names} == rows.keys()


def test_bad_vectors_spoil_their_own_tenant_only(tmp_path: Path) -> None:
    vectors = [[1.0, 2.0], [1.0], None, [1.0, None], [3.0, 4.0]]
    table = pa.table({"tenant": ["a", "b", "c", "d", "a"], "embedding": vectors})
    pq.write_table(table, tmp_path / "x.parquet")
    (one,) = index_tenants([tmp_path / "x.parquet"], COLUMNS, 2).batches()
    found = {rows.tenant: rows for rows in one.read(2)}
    np.testing.assert_array_equal(found["a"].raw, [[1, 2], [3, 4]])
    assert found["b"].error == ("tenant 'b': row 0: expected 2 numbers as in D_train, received 1")
    assert found["c"].error == "tenant 'c': row 0: expected a vector, received null"
    assert "expected numbers, received null inside" in found["d"].error


def test_rows_of_nobody_are_counted(tmp_path: Path) -> None:
    table = pa.table(
        {"tenant": ["a", None, "a", None], "embedding": [[float(k)] for k in range(4)]}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    tenants = index_tenants([tmp_path / "x.parquet"], COLUMNS, 1)
    assert tenants.unowned == 2
    (one,) = tenants.batches()
    (rows,) = one.read(1)
    np.testing.assert_array_equal(rows.raw, [[0], [2]])
