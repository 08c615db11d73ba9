"""A cluster of several nodes on one machine, whose workers and nodes are killed on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import ray
from numpy.typing import NDArray
from ray.cluster_utils import Cluster

import opengcn as og
from opengcn.tenants import batch

pytestmark = pytest.mark.slow

Read = Callable[[Path], dict[Any, dict[str, Any]]]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("RAY_worker_niceness", "0")  # or a busy machine starves them
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        started.add_node(num_cpus=1)
    started.wait_for_nodes()
    processes = [
        info.process
        for node in (started.head_node, *started.worker_nodes)
        for infos in node.all_processes.values()
        for info in infos
    ]
    yield started
    ray.shutdown()
    started.shutdown()
    for process in processes:  # Ray kills them and does not wait
        process.wait(60)


@pytest.fixture
def data(
    tmp_path: Path,
    rows_like: Callable[[int, int], NDArray[np.float32]],
    write_column: Callable[..., Path],
) -> Path:
    return write_column(tmp_path / "x.parquet", {f"t{k:02}": rows_like(1000, k) for k in range(40)})


def workers_of(node: Any) -> list[int]:
    """Return the processes of a node that run our tasks."""
    raylet = node.all_processes["raylet"][0].process.pid
    children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
    return [
        int(pid) for pid in children if b"ray::attempt" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def wait_for(happens: Callable[[], Any], seconds: float = 600) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = happens()
        if found:
            return found
        time.sleep(0.05)
    pytest.fail("it did not happen")


@pytest.mark.parametrize("victim", ["worker", "node"])
def test_what_is_killed_is_made_up_for(
    victim: str,
    cluster: Cluster,
    tmp_path: Path,
    model: og.OpenGCN,
    data: Path,
    thresholds: Read,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch, "TENANTS", 5)  # eight batches
    node = next(iter(cluster.worker_nodes))
    out, killed = tmp_path / "ray.parquet", []

    def kill() -> None:
        parts = out.with_name("ray.parquet.parts")
        wait_for(lambda: len(list(parts.glob("part-*"))) >= 2)
        pid = wait_for(lambda: workers_of(node))[0]
        if victim == "worker":
            os.kill(pid, signal.SIGKILL)
        else:
            cluster.remove_node(node, allow_graceful=False)
        killed.append(len(list(parts.glob("part-*"))))

    killer = Thread(target=kill)
    killer.start()
    counts = og.calibrate_tenants(model, data, out, tpr=0.9, engine="ray", address=cluster.address)
    killer.join()
    assert killed
    assert killed[0] < 8  # it was half way
    assert counts == {"ok": 40}
    assert not ray.is_initialized()
    og.calibrate_tenants(model, data, tmp_path / "local.parquet", tpr=0.9)
    local, remote = thresholds(tmp_path / "local.parquet"), thresholds(out)
    for name, row in local.items():
        assert remote[name]["distance"] == pytest.approx(row["distance"], abs=1e-6)


def test_a_killed_driver_goes_on_where_it_was(
    cluster: Cluster,
    tmp_path: Path,
    model_file: Path,
    rows_like: Callable[[int, int], NDArray[np.float32]],
    write_column: Callable[..., Path],
    thresholds: Read,
) -> None:
    tenants = {f"t{k:02}": rows_like(4000, k) for k in range(24)}  # four a batch
    data = write_column(tmp_path / "x.parquet", tenants)
    out = tmp_path / "t.parquet"
    files = [str(model_file), str(data), "-o", str(out)]
    command = [
        sys.executable,
        "-m",
        "opengcn",
        "tenants",
        *files,
        "--tpr",
        "0.9",
        "--engine",
        "ray",
    ]
    command += ["--address", cluster.address]
    parts = out.with_name("t.parquet.parts")
    with subprocess.Popen(command) as driver:
        wait_for(lambda: list(parts.glob("part-*")))
        driver.kill()
    assert not out.exists()
    kept = {
        row["tenant"]: row
        for part in parts.glob("part-*")
        for row in pq.read_table(part).to_pylist()
    }
    assert 0 < len(kept) < 24
    again = subprocess.run(command, capture_output=True, check=True)
    assert again.stderr == b""
    found = thresholds(out)
    assert list(found) == list(tenants)
    assert {name: found[name] for name in kept} == kept  # to the second: not done again
    assert not parts.exists()
