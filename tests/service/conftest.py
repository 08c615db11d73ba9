from __future__ import annotations

import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn
from fastapi import FastAPI
from numpy.typing import NDArray

import opengcn as og
from opengcn.service.app import create_app
from opengcn.service.pool import Pool

DIM = 16
MEDIA = {
    "json": "application/json",
    "arrow": "application/vnd.apache.arrow.stream",
    "arrow file": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "npy": "application/x-npy",
    "npz": "application/x-npz",
}


@pytest.fixture(scope="session")
def model_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two models by name, quick rather than good: they are only compared with themselves."""
    folder = tmp_path_factory.mktemp("models")
    train, rest = og.datasets.synthetic(40, 10, DIM, concentration=30).split_classes(0.6)
    files = {}
    for name, cal in zip(("birds", "faces"), rest.split_classes(0.5), strict=True):
        files[name] = str(folder / f"{name}.ogcn")
        og.OpenGCN(episodes=10).fit(train, cal).save(files[name])
    return files


@pytest.fixture(scope="session")
def model(model_files: dict[str, str]) -> og.OpenGCN:
    return og.load(model_files["birds"])


@pytest.fixture(scope="session")
def rows() -> NDArray[np.float32]:
    """Embeddings of shape (120, 16), not of unit length."""
    return 3 * og.datasets.synthetic(12, 10, DIM, concentration=30, seed=9).embeddings


def _table(rows: NDArray[Any], tenants: list[str] | None) -> pa.Table:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    return pa.table({"embedding": vectors} | ({} if tenants is None else {"tenant": tenants}))


def _encode(kind: str, rows: NDArray[Any], tenants: list[str] | None = None) -> bytes:
    file = io.BytesIO()
    if kind == "json":
        return json.dumps({"embeddings": rows.tolist()}).encode()
    if kind == "npy":
        np.save(file, rows)
    elif kind == "npz":
        columns = {} if tenants is None else {"tenants": np.array(tenants)}
        np.savez(file, embeddings=rows, **columns)
    elif kind == "parquet":
        pq.write_table(_table(rows, tenants), file)
    else:
        table = _table(rows, tenants)
        new = pa.ipc.new_file if kind == "arrow file" else pa.ipc.new_stream
        with new(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    return file.getvalue()


@pytest.fixture(scope="session")
def encode() -> Callable[..., tuple[bytes, dict[str, str]]]:
    """Return a body of some kind, with its headers."""
    return lambda kind, *what: (_encode(kind, *what), {"Content-Type": MEDIA[kind]})


@pytest.fixture(scope="session")
def pool(model_files: dict[str, str]) -> Iterator[Pool]:
    """One worker with both models, for requests one after the other."""
    with Pool(model_files, 1, 8) as pool:
        yield pool


@contextmanager
def _running(app: FastAPI) -> Iterator[httpx.Client]:
    """Run an application on a thread and return a client of it."""
    # A browser may keep a connection open on which it never asks anything.
    waiting = {"timeout_graceful_shutdown": 5, "log_config": None, "lifespan": "off"}
    server = uvicorn.Server(uvicorn.Config(app, port=0, **waiting))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=[[listener]])
        thread.start()
        port = listener.getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield client
        server.should_exit = True
        thread.join()


@pytest.fixture
def serving() -> Callable[[FastAPI], AbstractContextManager[httpx.Client]]:
    """Run an application of the test's own."""
    return _running


@pytest.fixture(scope="session")
def client(pool: Pool) -> Iterator[httpx.Client]:
    """A client of an application with two models, without token, with small limits."""
    with _running(create_app(pool, max_body=200_000, max_rows=1000)) as client:
        yield client


class Service:
    """A running `opengcn serve`, as a user starts it."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "opengcn", "serve", *arguments, "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | (env or {}),
        )
        self.log: list[str] = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if "startup complete" in line:
                break
        else:
            raise AssertionError("".join(self.log))
        found = re.search(r"http://127\.0\.0\.1:\d+", "".join(self.log))
        assert found is not None
        self.url = found[0]
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)

    def workers(self) -> list[int]:
        """Return the ids of its worker processes."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [
            int(pid)
            for pid in path.read_text().split()
            if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()
        ]

    def memory(self) -> int:
        """Return the bytes that the service and its workers hold in memory."""
        pids = [self.process.pid, *self.workers()]
        pages = (int(Path(f"/proc/{p}/statm").read_text().split()[1]) for p in pids)
        return sum(pages) * os.sysconf("SC_PAGE_SIZE")

    def end(self) -> int:
        """End it, if it still runs, and return its exit code."""
        self.process.terminate()
        code = self.process.wait(60)
        self._reader.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@pytest.fixture(scope="session")
def start(model_files: dict[str, str]) -> Iterator[Callable[..., Service]]:
    """Start services, which end with the tests at the latest."""
    with ExitStack() as stack:

        def start(*arguments: str, **options: Any) -> Service:
            service = Service(*arguments, **options)
            stack.callback(service.end)
            return service

        yield start


@pytest.fixture(scope="session")
def service(start: Callable[..., Service], model_files: dict[str, str]) -> Service:
    """A service with one model and two workers."""
    return start(model_files["birds"], "--workers", "2")
