"""Time the exact curve against the bare matrix product of the same pairs.

    python benchmarks/exact_curve.py                     # n = 16,384, 65,536 and 123,047
    python benchmarks/exact_curve.py --n 16384 --repeats 9

Both run on the same number of threads, in turns, in one process, so that a noisy machine
disturbs both alike; the ratio of the two is the figure that travels. Other ways to the same
histogram run at the sizes that they can hold. Memory is the growth of the peak over the
embeddings, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import opengcn as og
from opengcn.pairs import GRID, count_pairs

DIM = 128
CLASS_SIZE = 56  # as in the iNaturalist test set of the paper
LOOP_LIMIT = 16_384  # the others take too long, or too much memory, beyond


def make(n: int) -> og.EmbeddingSet:
    """Return n vectors in classes of about 56, spread like a real embedder's."""
    rng = np.random.default_rng(0)
    labels = rng.integers(max(n // CLASS_SIZE, 2), size=n)
    centres = rng.standard_normal((labels.max() + 1, DIM), dtype=np.float32)
    return og.EmbeddingSet(
        centres[labels] + rng.standard_normal((n, DIM), dtype=np.float32), labels
    )


def bare_product(X: NDArray[np.float32], threads: int, block: int) -> None:
    """Multiply all block pairs (r, c) with c >= r and throw the products away."""
    begins = range(0, len(X), block)

    def row(r: int) -> None:
        buffer = np.empty(block * block, np.float32)
        a = X[r : r + block]
        for c in range(r, len(X), block):
            b = X[c : c + block]
            np.matmul(a, b.T, out=buffer[: len(a) * len(b)].reshape(len(a), len(b)))

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        list(pool.map(row, begins))  # longest rows first


def numpy_histogram(X: NDArray[np.float32], codes: NDArray[np.intp]) -> None:
    """Blocked product, square root and np.histogram, as most people would write it."""
    for r in range(0, len(X), 1024):
        d = np.sqrt(np.maximum(2 - 2 * X[r : r + 1024] @ X[r:].T, 0))
        upper = np.arange(d.shape[1])[None] > np.arange(d.shape[0])[:, None]
        same = codes[r : r + 1024, None] == codes[None, r:]
        np.histogram(d[upper & same], GRID)
        np.histogram(d[upper & ~same], GRID)


def scipy_pdist(X: NDArray[np.float32], codes: NDArray[np.intp]) -> None:
    """All distances at once by scipy; one histogram, without regard to classes."""
    from scipy.spatial.distance import pdist

    np.histogram(pdist(X), GRID)


def sklearn_pairwise(X: NDArray[np.float32], codes: NDArray[np.intp]) -> None:
    """Distances in chunks by scikit-learn; one histogram of every ordered pair."""
    from sklearn.metrics import pairwise_distances_chunked

    for chunk in pairwise_distances_chunked(X, working_memory=256):
        np.histogram(chunk, GRID)


def seconds(job: Callable[[], object]) -> float:
    """Return how long a job takes."""
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def peak_memory(n: int, threads: int, pipe: Any) -> None:
    """Send by how many MB the exact curve raises the peak memory of this process."""
    data = make(n)
    codes = data.codes
    count_pairs(data.subset(np.arange(64)), codes[:64], progress=False)  # compile first
    # The peak so far is that of making the data: fill it up, so that growth can be seen.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Path("/proc/self/statm").open() as file:
        now = int(file.read().split()[1]) * resource.getpagesize() // 1024
    ballast = np.ones(max(before - now, 0) * 128)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count_pairs(data, codes, threads=threads, progress=False)
    pipe.send(
        (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 + 0 * ballast[:1].sum()
    )


def memory(n: int, threads: int) -> float:
    """Measure `peak_memory` in a fresh process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=peak_memory, args=(n, threads, there))
    child.start()
    result = float(here.recv())
    child.join()
    return result


def measure(n: int, threads: int, repeats: int) -> dict[str, Any]:
    """Return the row of one n."""
    data = make(n)
    X = data.embeddings
    codes = data.codes
    count_pairs(data.subset(np.arange(64)), codes[:64], progress=False)
    block = min(
        (512, 1024, 2048), key=lambda b: seconds(lambda: bare_product(X[:16384], threads, b))
    )
    bare, exact = [], []
    for _ in range(repeats):
        bare.append(seconds(lambda: bare_product(X, threads, block)))
        exact.append(seconds(lambda: count_pairs(data, codes, threads=threads, progress=False)))
    row: dict[str, Any] = {
        "n": n,
        "pairs": n * (n - 1) // 2,
        "bare_block": block,
        "bare_seconds": min(bare),
        "exact_seconds": min(exact),
        "ratio_of_best": min(exact) / min(bare),
        "ratio_median": median(e / b for e, b in zip(exact, bare, strict=True)),
        "memory_mb": memory(n, threads),
    }
    if n <= LOOP_LIMIT:
        for other in (numpy_histogram, scipy_pdist, sklearn_pairwise):
            row[other.__name__] = seconds(partial(other, X, codes)) / min(bare)
    return row


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[16_384, 65_536, 123_047])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/exact_curve.json"))
    given = parser.parse_args()

    rows = [measure(n, given.threads, given.repeats) for n in given.n]
    table = Table(title=f"Exact curve, D = {DIM}, {given.threads} threads; x: of the bare product")
    columns = [
        "n",
        "bare product",
        "exact curve",
        "ratio (best)",
        "ratio (median)",
        "memory",
        "numpy",
        "pdist",
        "sklearn",
    ]
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        others = [
            f"{row[k]:.1f} x" if k in row else "-"
            for k in ("numpy_histogram", "scipy_pdist", "sklearn_pairwise")
        ]
        table.add_row(
            f"{row['n']:,}",
            f"{row['bare_seconds']:.2f} s",
            f"{row['exact_seconds']:.2f} s",
            f"{row['ratio_of_best']:.2f} x",
            f"{row['ratio_median']:.2f} x",
            f"{row['memory_mb']:.0f} MB",
            *others,
        )
    console = Console(width=120)
    console.print(table)
    growth = None
    if len(rows) > 1:
        size, took = (np.log([row[key] for row in rows]) for key in ("n", "exact_seconds"))
        growth = float(np.polyfit(size, took, 1)[0])
        console.print(f"Time grows as n^{growth:.2f} (least squares on logarithms).")
    given.json.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "command": "python benchmarks/exact_curve.py",
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "dim": DIM,
        "threads": given.threads,
        "growth_exponent": growth,
        "rows": rows,
    }
    given.json.write_text(json.dumps(result, indent=1) + "\n")
    console.print(f"Written to {given.json}")


if __name__ == "__main__":
    main()
