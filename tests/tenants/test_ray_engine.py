from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from numpy.typing import NDArray

import opengcn as og
from opengcn.pairs import count_pairs
from opengcn.tenants import batch
from opengcn.tenants.engine import Failure, open_engine
from opengcn.tenants.exact import count_pairs_on


@pytest.fixture(scope="module", autouse=True)
def two_workers() -> Iterator[None]:
    """A Ray that the caller has started: the engine uses it and leaves it running."""
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    assert ray.is_initialized()
    ray.shutdown()


def test_a_cluster_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(og.OpenGCNError, match="address 127.0.0.1:1: expected a Ray cluster, rec"):
        list(open_engine("ray", address="127.0.0.1:1").run(pow, 2, [3]))


def test_every_task_has_its_result(scaled: Callable[..., Any]) -> None:
    by = np.arange(300_000.0)
    found = dict(open_engine("ray").run(scaled, by, iter(range(6))))
    assert [found[k] for k in (0, 1, 2, 5)] == [(float(k), False) for k in (0, 1, 2, 5)]
    assert found[3] == Failure("three: expected another number")
    assert found[4] == Failure("unexpected RuntimeError('bug')")


def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path, dies: Callable[..., Any]) -> None:
    tasks = ["a", "once", "always", "b", "c"]
    found = dict(open_engine("ray", workers=2).run(dies, tmp_path, tasks))
    assert found["always"].reason.startswith("the worker process died (WorkerCrashedError: ")
    assert {k: v for k, v in found.items() if k != "always"} == {
        k: k for k in ("a", "once", "b", "c")
    }


def test_thresholds_are_those_of_the_local_engine(
    tmp_path: Path,
    model: og.OpenGCN,
    rows_like: Callable[[int, int], NDArray[np.float32]],
    write_column: Callable[..., Path],
    thresholds: Callable[[Path], dict[Any, dict[str, Any]]],
) -> None:
    tenants = {f"t{k}": rows_like(n, k) for k, n in enumerate([5, 10, 300, 1200])}
    data = write_column(tmp_path / "x.parquet", tenants)
    results = []
    for engine in ("local", "ray"):
        out = tmp_path / f"{engine}.parquet"
        og.calibrate_tenants(model, data, out, tpr=0.9, curves=True, engine=engine, workers=1)
        results.append(thresholds(out))
    local, remote = results
    assert list(local) == list(remote)
    for name, row in local.items():
        for column in set(row) - {"seconds", "tenant", "status", "note"}:
            assert remote[name][column] == pytest.approx(row[column], abs=1e-6), (name, column)


def test_scattered_rows_are_found_from_any_folder(
    tmp_path: Path,
    model: og.OpenGCN,
    rows_like: Callable[[int, int], NDArray[np.float32]],
    write_column: Callable[..., Path],
    thresholds: Callable[[Path], dict[Any, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Workers of a cluster are not where the command was given, so no path may be relative."""
    monkeypatch.setattr(batch, "TENANTS", 2)
    tenants = {f"t{k:02}": rows_like(12, k) for k in range(50)}
    write_column(tmp_path / "x.parquet", tenants, shuffle=True)
    monkeypatch.chdir(tmp_path)  # after Ray has started
    og.calibrate_tenants(model, "x.parquet", "t.parquet", tpr=0.9, engine="ray")
    assert {row["status"] for row in thresholds(tmp_path / "t.parquet").values()} == {"ok"}


def test_exact_counts_are_those_of_one_core(rng: np.random.Generator) -> None:
    data = og.EmbeddingSet(rng.standard_normal((3000, 24)), rng.integers(500, size=3000))
    found, alone = count_pairs_on(data, "ray"), count_pairs(data, data.codes, threads=1)
    np.testing.assert_array_equal(found.same, alone.same)
    np.testing.assert_array_equal(found.different, alone.different)
