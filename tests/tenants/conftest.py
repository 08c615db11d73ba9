from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import opengcn as og

DIM = 8
Floats = NDArray[np.float32]


def embeddings(rows: int, seed: int) -> Floats:
    classes = max(rows // 10, 1)
    data = og.datasets.synthetic(classes, -(-rows // classes), DIM, concentration=60.0, seed=seed)
    return np.random.default_rng(seed).permutation(data.embeddings)[:rows]


@pytest.fixture(scope="session")
def rows_like() -> Callable[[int, int], Floats]:
    """``rows_like(n, seed)``: embeddings of a tenant."""
    return embeddings


@pytest.fixture(scope="session")
def model() -> og.OpenGCN:
    """A model that has learned little, quickly."""
    train, cal = (og.datasets.synthetic(12, 10, DIM, seed=seed) for seed in (0, 1))
    cal = og.EmbeddingSet(cal.embeddings, cal.labels, label_space="cal")
    return og.OpenGCN(episodes=10).fit(train, cal)


@pytest.fixture(scope="session")
def model_file(model: og.OpenGCN, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.ogcn"
    model.save(path)
    return path


@pytest.fixture(scope="session")
def write_column() -> Callable[..., Path]:
    """``write_column(path, {tenant: rows})``: a parquet file with a tenant column."""

    def write(
        path: Path,
        tenants: Mapping[Any, Floats],
        *,
        shuffle: bool = False,
        row_group: int = 1000,
        lists: bool = False,
    ) -> Path:
        names = [name for name, rows in tenants.items() for _ in range(len(rows))]
        if lists:
            vectors = pa.array([row.tolist() for rows in tenants.values() for row in rows])
        else:
            flat = np.concatenate(list(tenants.values()))
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])
        table = pa.table({"tenant": names, "embedding": vectors})
        if shuffle:
            table = table.take(np.random.default_rng(0).permutation(len(table)))
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, row_group_size=row_group)
        return path

    return write


@pytest.fixture(scope="session")
def thresholds() -> Callable[[Path], dict[Any, dict[str, Any]]]:
    """``thresholds(path)``: the result of a run, by tenant."""

    def read(path: Path) -> dict[Any, dict[str, Any]]:
        return {row["tenant"]: row for row in pq.read_table(path).to_pylist()}

    return read


@pytest.fixture(scope="session")
def scaled() -> Callable[[NDArray[np.float64], int], tuple[float, bool]]:
    """Work for an engine: task 3 and 4 raise. Local, so that it is pickled with its code."""

    def work(by: NDArray[np.float64], task: int) -> tuple[float, bool]:
        if task == 3:
            raise og.DataError("three: expected another number")
        if task == 4:
            raise RuntimeError("bug")
        return float(by[task]), bool(by.flags.writeable)

    return work


@pytest.fixture(scope="session")
def dies() -> Callable[[Path, str], str]:
    """Work for an engine: "once" and "always" kill their worker."""

    def work(folder: Path, task: str) -> str:
        mark = folder / task
        if task == "always" or (task == "once" and not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    return work
