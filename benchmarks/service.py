"""Requests a second and latency of the service, for 500-row requests.

    python benchmarks/service.py
    python benchmarks/service.py --model model.ogcn --seconds 20

Starts `opengcn serve` and sends it parquet of 500 rows from 1, 8 and 64 clients, each of
which sends its next request when it has its answer. Clients and service share the cores.
First the same estimates in threads and in processes, without a service: workers could be
either. A model that is not given is fitted on the spot, on little data: what an estimate
costs does not depend on how well it was trained.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import httpx
import numpy as np

import opengcn as og
from opengcn.threads import cores

ROWS, CLIENTS = 500, (1, 8, 64)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="model file; fitted on the spot by default")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    given = parser.parse_args()
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    with tempfile.TemporaryDirectory() as folder:
        path = given.model or _fit(Path(folder, "model.ogcn"))
        dim = og.load(path).dim_
        data = og.datasets.synthetic(50, ROWS // 50, dim, seed=2)
        data.unlabelled().save(Path(folder, "rows.parquet"))
        body = Path(folder, "rows.parquet").read_bytes()
        print(f"{ROWS} rows of {dim} dimensions, {len(body):,} bytes of parquet, {cores()} cores")
        _threads_or_processes(path, data.embeddings, given.seconds)
        with _service(path) as url:
            asyncio.run(_measure(url, body, 4, 2.0))  # both workers have read parquet
            unloaded = 0.0
            for clients in CLIENTS:
                begun = time.perf_counter()
                latency = asyncio.run(_measure(url, body, clients, given.seconds))
                rate = len(latency) / (time.perf_counter() - begun)
                p50, p99 = (float(np.quantile(latency, q)) for q in (0.5, 0.99))
                unloaded = unloaded or p50
                print(
                    f"{clients:3d} clients: {rate:6.1f} requests a second, "
                    f"p50 {1000 * p50:6.0f} ms, p99 {1000 * p99:6.0f} ms"
                )
    bound = 2 * CLIENTS[-1] / cores() * unloaded
    print(
        f"p99 at {CLIENTS[-1]} clients is {p99 / bound:.0%} of the bound, 2 x (clients / cores) x "
        f"the unloaded median = {1000 * bound:.0f} ms"
    )


def _fit(path: Path) -> Path:
    data = og.datasets.synthetic(60, 12, 128, concentration=200)
    og.OpenGCN(episodes=10).fit(*data.split_classes(0.7)).save(path)
    return path


def _threads_or_processes(path: Path, rows: np.ndarray, seconds: float) -> None:
    pools: dict[str, Executor] = {
        "threads": ThreadPoolExecutor(cores(), initializer=_load, initargs=(path,)),
        "processes": ProcessPoolExecutor(
            cores(), get_context("spawn"), initializer=_load, initargs=(path,)
        ),
    }
    for name, pool in pools.items():
        with pool:
            list(pool.map(_estimate, [rows] * 4 * cores()))  # loaded and compiled
            done, begun = 0, time.perf_counter()
            while time.perf_counter() < begun + seconds:
                done += len(list(pool.map(_estimate, [rows] * 4 * cores())))
            print(
                f"{cores()} {name}: {done / (time.perf_counter() - begun):.1f} estimates a second"
            )


_model: og.OpenGCN


def _load(path: Path) -> None:
    global _model
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    _model = og.load(path)


def _estimate(rows: np.ndarray) -> float:
    return _model.estimate(rows).threshold(tpr=0.9).distance


@contextmanager
def _service(path: Path) -> Iterator[str]:
    """Run the service and yield its address."""
    command = [sys.executable, "-m", "opengcn", "serve", str(path), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        log = ""
        while "startup complete" not in log:
            line = process.stderr.readline()
            assert line, log
            log += line
        found = re.search(r"http://\S+", log)
        assert found is not None
        drain = ThreadPoolExecutor(1)
        drain.submit(process.stderr.read)  # or its log would fill the pipe and stop it
        yield found[0]
        process.terminate()
        drain.shutdown()


async def _measure(url: str, body: bytes, clients: int, seconds: float) -> list[float]:
    """Return the seconds that each request took."""
    latency: list[float] = []
    end = time.perf_counter() + seconds

    async def client(http: httpx.AsyncClient) -> None:
        while (begun := time.perf_counter()) < end:
            answer = await http.post(
                "/v1/threshold?tpr=0.9",
                content=body,
                headers={"Content-Type": "application/vnd.apache.parquet"},
            )
            assert answer.status_code == 200, answer.text
            latency.append(time.perf_counter() - begun)

    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with (
        httpx.AsyncClient(base_url=url, limits=limits, timeout=120) as http,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(clients):
            group.create_task(client(http))
    return latency


if __name__ == "__main__":
    main()
