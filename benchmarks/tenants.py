"""Thresholds for many tenants: rates of the engines, the cost of a tenant, exact counts at scale.

    python benchmarks/tenants.py bulk --tenants 1000     # plain loop, local and Ray, in turns
    python benchmarks/tenants.py cost                    # seconds and memory by size of tenant
    python benchmarks/tenants.py exact --minutes 2       # block rates, and a plan for 1,000,000

Data are made on the spot, and so is a model unless --model names one: what it has learned does
not change what an estimate costs. Engines are run as a user runs them, by `opengcn tenants` in a
process of its own; the plain loop is timed without its start. Rates on a shared machine wander:
bulk takes the ways in turns, so that the ratios travel, and the rest is in seconds of a core.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

import opengcn as og
from opengcn.pairs import count_pairs
from opengcn.rehearsal.readout import Readout
from opengcn.tenants.columns import Columns, index_tenants
from opengcn.tenants.exact import count_pairs_on
from opengcn.threads import cores, one_blas_thread

DIM = 128
CLASS_SIZE = 20
SIZES = (10, 100, 1_000, 4_096, 16_384, 131_072)  # rows of a tenant
LOOPED = 100  # tenants of the plain loop, whose rate does not depend on how many there are
PLANNED = 1_000_000  # rows of the set whose exact curve is planned
CLUSTER = (2, 16, 64, 256)  # cores

console = Console(width=110)


def rows_of(n: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return n vectors in classes of about 20, spread like a real embedder's."""
    labels = rng.integers(max(n // CLASS_SIZE, 2), size=n)
    centres = rng.standard_normal((labels.max() + 1, DIM), dtype=np.float32)
    return centres[labels] + rng.standard_normal((n, DIM), dtype=np.float32)


def write_tenants(path: Path, tenants: int, rows: int) -> None:
    """Write a parquet file with a tenant column, sorted by tenant."""
    rng = np.random.default_rng(0)
    schema = pa.schema([("tenant", pa.string()), ("embedding", pa.list_(pa.float32(), DIM))])
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, tenants, 64):
            names = [f"tenant-{k:06}" for k in range(first, min(first + 64, tenants))]
            vectors = pa.array(np.concatenate([rows_of(rows, rng) for _ in names]).ravel())
            column = pa.FixedSizeListArray.from_arrays(vectors, DIM)
            writer.write_table(pa.table([np.repeat(names, rows), column], schema=schema))


def a_model(path: Path | None) -> og.OpenGCN:
    """Return the model in a file, or fit one that has rehearsed little."""
    if path is not None:
        return og.load(path)
    data = og.datasets.synthetic(60, CLASS_SIZE, DIM, concentration=300)
    return og.OpenGCN(episodes=10).fit(*data.split_classes(0.2)[::-1])


@contextmanager
def timed(into: list[float], clock: Callable[[], float] = time.perf_counter) -> Iterator[None]:
    """Append the seconds that the body takes."""
    begin = clock()
    yield
    into.append(clock() - begin)


# Seconds of a core, which other people's work on the machine disturbs far less.
core_seconds = partial(timed, clock=time.process_time)


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as docs/tenants.md has it."""
    table = Table(title=title, box=MARKDOWN, title_justify="left")
    for name in columns:
        table.add_column(name, justify="left" if name in ("job", "way") else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def duration(seconds: float) -> str:
    """Return seconds in a unit that people read."""
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def bulk(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Time the plain loop and both engines on the same tenants, in turns."""
    model = a_model(given.model)
    data = folder / "tenants.parquet"
    write_tenants(data, given.tenants, given.rows)
    looped = min(LOOPED, given.tenants)
    column = pq.read_table(data, columns=["embedding"]).slice(0, looped * given.rows)
    flat = column.column(0).combine_chunks().flatten().to_numpy()
    sets = np.split(flat.reshape(-1, DIM), looped)
    model.estimate(sets[0])  # compiles

    def loop() -> None:
        for rows in sets:
            model.estimate(rows).threshold(tpr=0.9)

    def engine(name: str) -> None:
        out = folder / f"{name}.parquet"
        out.unlink(missing_ok=True)
        files = [str(folder / "model.ogcn"), str(data), "-o", str(out)]
        command = ["opengcn", "tenants", *files, "--tpr", "0.9", "--engine", name]
        subprocess.run([sys.executable, "-m", *command], check=True, stdout=subprocess.DEVNULL)

    model.save(folder / "model.ogcn")
    ways: dict[str, Callable[[], None]]
    ways = {"loop": loop, "local": partial(engine, "local"), "ray": partial(engine, "ray")}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(given.repeats):
        for name, way in ways.items():
            with timed(seconds[name]):
                way()
    count = {"loop": looped, "local": given.tenants, "ray": given.tenants}
    rate = {name: count[name] / min(took) for name, took in seconds.items()}
    overhead = median(r / n for r, n in zip(seconds["ray"], seconds["local"], strict=True)) - 1
    tables = [pq.read_table(folder / f"{name}.parquet") for name in ("local", "ray")]
    local, remote = (table.column("distance").to_numpy() for table in tables)
    apart = float(np.abs(local - remote).max())
    show(
        f"{given.tenants:,} tenants x {given.rows:,} rows x {DIM}, end to end",
        ("way", "tenants a second", "of the loop"),
        [(name, f"{rate[name]:.1f}", f"{rate[name] / rate['loop']:.2f} x") for name in ways],
    )
    console.print(f"Ray over local: {overhead:+.0%} of the time; thresholds differ by {apart:.0e}")
    return {"rate": rate, "seconds": seconds, "ray_overhead": overhead, "difference": apart}


def cost(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Measure what a tenant costs while every core is busy, and what that means for many."""
    model = a_model(given.model)
    by_size = [one_size(model, n) for n in SIZES]
    show(
        "One tenant, with every core busy",
        ("rows", "core seconds", "of it reading", "peak memory of the worker"),
        [
            (f"{n:,}", f"{one['seconds']:.4f}", f"{one['reading']:.1%}", f"{one['peak_mb']:.0f} MB")
            for n, one in zip(SIZES, by_size, strict=True)
        ],
    )
    reading = reading_rate(folder)
    console.print(f"Reading parquet: {reading:,.0f} rows a second and core")
    at = {n: one["seconds"] for n, one in zip(SIZES, by_size, strict=True)}
    plans = {
        "10,000 tenants x 1,000 rows": 10_000 * at[1_000] + 1e7 / reading,
        "1e9 vectors: 1,000,000 tenants x 1,000 rows": 1e6 * at[1_000] + 1e9 / reading,
        "1e9 vectors: 10,000 tenants x 100,000 rows": 10_000 * at[131_072] + 1e9 / reading,
        "1e9 vectors: 100 tenants x 10,000,000 rows": 100 * at[131_072] + 1e9 / reading,
    }
    show(
        "Planned from these, by number of cores",
        ("job", *map(str, CLUSTER)),
        [(job, *(duration(seconds / n) for n in CLUSTER)) for job, seconds in plans.items()],
    )
    return {"by_size": by_size, "rows_read_a_second": reading, "core_seconds": plans}


def one_size(model: og.OpenGCN, rows: int) -> dict[str, Any]:
    """Measure estimates in fresh processes of one thread, as many as there are cores."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(cores()) as pool:
        found = pool.starmap(_estimates, [(model, rows)] * cores(), chunksize=1)
    return {name: median(one[name] for one in found) for name in found[0]}


def _estimates(model: og.OpenGCN, rows: int) -> dict[str, float]:
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    X = rows_of(rows, np.random.default_rng(0))
    model.estimate(X[:100])
    reading: list[float] = []
    predict = Readout.predict

    def watched(*arguments: Any) -> Any:
        with core_seconds(reading):
            return predict(*arguments)

    Readout.predict = watched  # type: ignore[method-assign,assignment]
    seconds: list[float] = []
    with one_blas_thread():
        for _ in range(3 if rows > 5_000 else 10):
            gc.collect()
            with core_seconds(seconds):
                model.estimate(X)
    share = sum(reading) / sum(seconds)
    return {"rows": rows, "seconds": median(seconds), "reading": share, "peak_mb": peak_memory()}


def peak_memory() -> float:
    """Return the most memory, in MB, that this program has held; getrusage has its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def reading_rate(folder: Path) -> float:
    """Return how many rows a second one core reads, decodes and sorts by tenant."""
    path = folder / "reading.parquet"
    write_tenants(path, 256, 1_000)
    seconds: list[float] = []
    with core_seconds(seconds):
        found = index_tenants([path], Columns("tenant", "embedding"), DIM)
        read = [one for batch in found.batches() for one in batch.read(DIM)]
    return sum(one.total or 0 for one in read) / seconds[0]


def exact(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Count pairs by blocks: the rate of a core, a plan from it, and the largest run in time."""
    small = labelled(32_768)
    count_pairs_on(small.subset(np.arange(100)), workers=1)  # compiles
    took: list[float] = []
    with core_seconds(took):
        blocks = count_pairs_on(small, workers=1)
    alone = count_pairs(small, small.codes, threads=1)
    assert np.array_equal(blocks.same, alone.same)
    assert np.array_equal(blocks.different, alone.different)
    alone_rate = pairs_of(len(small)) / took[0]
    n = int(np.sqrt(2 * alone_rate * cores() * 60 * given.minutes * 0.6)) // 1024 * 1024
    data, seconds = labelled(n), list[float]()
    with timed(seconds):
        count_pairs_on(data)
    rate = pairs_of(n) / seconds[0] / cores()  # cores that share caches are slower together
    console.print(
        f"Local engine, {cores()} cores: n = {n:,} in {duration(seconds[0])}. Block rate: "
        f"{rate:.3g} pairs a second and core; {alone_rate:.3g} on one core alone."
    )
    hours = pairs_of(PLANNED) / rate / 3600
    each = ", ".join(f"{duration(3600 * hours / n)} on {n}" for n in CLUSTER)
    console.print(
        f"n = {PLANNED:,}: {pairs_of(PLANNED):.2e} pairs, {hours:.2f} core hours ({each} cores), "
        f"{4 * DIM * PLANNED / 2**20:.0f} MB of vectors a machine."
    )
    return {"pairs_a_core_second": rate, "core_hours": hours, "n": n, "seconds": seconds[0]}


def pairs_of(n: int) -> float:
    """Return how many pairs n rows have."""
    return n * (n - 1) / 2


def labelled(n: int) -> og.EmbeddingSet:
    """Return a labelled set of n rows in classes of about 20."""
    rng = np.random.default_rng(0)
    return og.EmbeddingSet(rows_of(n, rng), rng.integers(n // CLASS_SIZE, size=n))


def main() -> None:
    """Run one part of the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", choices=["bulk", "cost", "exact"])
    parser.add_argument("--tenants", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=1_000, help="rows of each tenant")
    parser.add_argument("--repeats", type=int, default=1, help="turns of the bulk part")
    parser.add_argument("--minutes", type=float, default=10, help="of the largest exact count")
    parser.add_argument("--model", type=Path, help="a model of 128 dimensions")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results"), help="a folder")
    given = parser.parse_args()
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    part = {"bulk": bulk, "cost": cost, "exact": exact}[given.part]
    with TemporaryDirectory() as folder:
        result = part(Path(folder), given)
    given.json.mkdir(parents=True, exist_ok=True)
    target = given.json / f"tenants-{given.part}.json"
    command = f"python benchmarks/tenants.py {given.part}"
    about = {"command": command, "python": platform.python_version(), **result}
    target.write_text(json.dumps(about, indent=1) + "\n")
    console.print(f"Written to {target}")


if __name__ == "__main__":
    main()
