from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opengcn as og
from opengcn.tenants.parts import Parts
from opengcn.tenants.row import error_row, row_schema

JOB = {"model": "m", "target": "tpr 0.9"}
SCHEMA = row_schema(["a"], curves=False)


def ok(tenant: str, distance: float = 1.0) -> dict[str, Any]:
    return {"tenant": tenant, "status": "ok", "distance": distance}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "out.parquet"


def test_parts_become_one_table_in_order(out: Path) -> None:
    parts = Parts(out, JOB, SCHEMA)
    parts.commit([ok("c"), ok("a")])
    parts.commit([ok("b"), error_row("d", 5, "bad")])
    assert not out.exists()
    assert parts.finish(["a", "b", "c", "d"]) == {"ok": 3, "error": 1}
    table = pq.read_table(out)
    assert table.column("tenant").to_pylist() == ["a", "b", "c", "d"]
    assert table.schema.equals(SCHEMA)
    assert list(out.parent.iterdir()) == [out]


def test_another_run_of_the_job_goes_on(out: Path) -> None:
    Parts(out, JOB, SCHEMA).commit([ok("a"), error_row("b", None, "out of memory")])
    half = out.with_name("out.parquet.parts") / ".gathered-0.npy"
    half.touch()
    again = Parts(out, JOB, SCHEMA)
    assert not half.exists()
    assert again.done() == {"a"}  # errors are tried again
    again.commit([ok("b", 0.5)])
    assert again.finish(["a", "b"]) == {"ok": 2}
    assert pq.read_table(out).column("distance").to_pylist() == [1.0, 0.5]
    third = Parts(out, JOB, SCHEMA)
    assert third.done() == {"a", "b"}
    assert third.finish(["a", "b"]) == {"ok": 2}


def test_parts_of_another_job_are_not_mixed_in(out: Path) -> None:
    Parts(out, JOB | {"target": "tpr 0.8"}, SCHEMA)  # one that came to nothing is in no one's way
    parts = Parts(out, JOB, SCHEMA)
    parts.commit([ok("a")])
    with pytest.raises(og.DataError, match="received those of one with another target; go on with"):
        Parts(out, JOB | {"target": "tpr 0.95"}, SCHEMA)
    parts.finish(["a"])
    assert Parts(out, JOB | {"target": "tpr 0.95"}, SCHEMA).done() == set()


@pytest.mark.parametrize("content", [b"no table", None])
def test_a_file_of_another_kind_is_replaced(out: Path, content: bytes | None) -> None:
    out.parent.mkdir()
    if content is None:
        pq.write_table(pa.table({"x": [1]}), out)
    else:
        out.write_bytes(content)
    parts = Parts(out, JOB, SCHEMA)
    assert parts.done() == set()
    parts.commit([ok("a")])
    parts.finish(["a"])
    assert pq.read_table(out).column("tenant").to_pylist() == ["a"]


def test_a_crash_between_the_result_and_the_clean_up(out: Path) -> None:
    parts = Parts(out, JOB, SCHEMA)
    parts.commit([ok("a")])
    shutil.copytree(parts.folder, out.parent / "kept")
    parts.finish(["a"])
    (out.parent / "kept").rename(parts.folder)
    assert Parts(out, JOB, SCHEMA).finish(["a"]) == {"ok": 1}
