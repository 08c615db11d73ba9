"""A tenant that is far larger than what is kept of it must not be in memory at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS, DIM, BLOCKS = 200_000, 128, 12  # 1.2 GB

READER = """
import json, sys
from pathlib import Path
from threading import Event, Thread
from opengcn.tenants.layout import open_tenants

def held():  # pages of a mapped file are not: the system takes them back when it likes
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024

before, most, stop = held(), [0.0], Event()

def watch():
    while not stop.wait(0.005):
        most[0] = max(most[0], held())

watcher = Thread(target=watch)
watcher.start()
tenants = open_tenants(Path(sys.argv[1]), tenant="tenant", embedding=None, dim=128)
shapes = {one.tenant: one.raw.shape for batch in tenants.batches() for one in batch.read(128)}
stop.set()
watcher.join()
print(json.dumps({"shapes": shapes, "grown": most[0] - before}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["column", "npy"])
def test_memory_stays_flat(layout: str, tmp_path: Path, rng: np.random.Generator) -> None:
    data = tmp_path / "data"
    data.mkdir()
    block = rng.standard_normal((ROWS, DIM), dtype=np.float32)
    if layout == "npy":
        rows = np.lib.format.open_memmap(
            data / "large.npy", "w+", dtype=np.float32, shape=(BLOCKS * ROWS, DIM)
        )
        for k in range(BLOCKS):
            rows[k * ROWS : (k + 1) * ROWS] = block
        del rows
        np.save(data / "small.npy", block[:100])
    else:
        schema = pa.schema([("tenant", pa.string()), ("embedding", pa.list_(pa.float32(), DIM))])
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), DIM)
        with pq.ParquetWriter(data / "all.parquet", schema) as writer:
            for k in range(BLOCKS):
                names = np.where(np.arange(ROWS) < (100 if k == 3 else 0), "small", "large")
                writer.write_table(pa.table([names, vectors], schema=schema))
    done = subprocess.run(
        [sys.executable, "-c", READER, str(data)], capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert answer["shapes"] == {"large": [131_072, 128], "small": [100, 128]}
    assert answer["grown"] < 300  # MB, of 1,230
