"""Judge the clustering of Hi-LANDER beside DBSCAN's, and time it.

    python benchmarks/hilander.py --data FOLDER          # CUB and Cars, 4 class splits
    python benchmarks/hilander.py                        # vectors made on the spot

Quality: trained on D_train; tau, and the eps and min_samples of DBSCAN, are those with the best
BCubed F on D_cal; scores are of D_test. FOLDER holds .npz packs.

Time: clustering against the number of vectors. The bare product multiplies the same pairs in
tiles of the same size on the same threads, in turns with the search, so that a noisy machine
disturbs both alike. Memory is the peak of a whole process of its own that clusters.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from packs import load_pack
from rich.console import Console
from rich.table import Table
from sklearn.cluster import DBSCAN

import opengcn as og
from opengcn.calibrators.lander import Lander
from opengcn.clustering_metrics import bcubed_f, nmi, pairwise_f
from opengcn.knn import PANEL, knn
from opengcn.threads import cores, one_blas_thread

TAUS = [round(0.05 * step, 2) for step in range(1, 20)]
GRID = [(round(eps, 2), size) for eps in np.arange(0.3, 1.21, 0.05) for size in range(2, 11)]
TAU = 0.3  # when only time counts
COLUMNS = ("precision", "recall", "bcubed_f", "pairwise_f", "nmi")

Clusters = NDArray[np.int64]


def seconds(job: Callable[[], object]) -> float:
    """Return how long a job takes."""
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def made(n: int, seed: int = 0) -> og.EmbeddingSet:
    """Return n vectors in classes of 50; the nearest is of another class for 4 % of 20,000."""
    return og.datasets.synthetic(n // 50, 50, 128, concentration=120.0, seed=seed)


def data_sets(
    folder: Path | None, names: list[str]
) -> Iterator[tuple[str, og.EmbeddingSet, og.EmbeddingSet]]:
    """Yield name, D_train and open-world classes of each set."""
    if folder is None:
        yield "synthetic", *made(10_000).split_classes(0.5)
        return
    for name in names:
        yield name, *load_pack(folder / f"{name}.npz")


def dbscan(X: NDArray[np.float32], eps: float, size: int) -> Clusters:
    """Cluster by DBSCAN, every noise point a cluster of its own."""
    cluster: Clusters = DBSCAN(eps=eps, min_samples=size).fit_predict(X).astype(np.int64)
    noise = cluster < 0
    cluster[noise] = cluster.max() + 1 + np.arange(noise.sum())
    return cluster


def scores(test: og.EmbeddingSet, cluster: Clusters) -> dict[str, float]:
    """Return the scores of a clustering by name."""
    both = bcubed_f(test.codes, cluster)
    values = (*both, pairwise_f(test.codes, cluster).f, nmi(test.codes, cluster))
    return dict(zip(COLUMNS, values, strict=True)) | {"clusters": float(cluster.max() + 1)}


def judge(train: og.EmbeddingSet, rest: og.EmbeddingSet, splits: int) -> list[dict[str, Any]]:
    """Return a row a method and split."""
    model = Lander()
    fit = seconds(lambda: model.fit(train.embeddings, train.codes))
    rows: list[dict[str, Any]] = []
    for split in range(splits):
        cal, test = rest.split_classes(0.1, seed=split)
        many = model.cluster_many(cal.embeddings, TAUS)
        tau = TAUS[int(np.argmax([bcubed_f(cal.codes, one).f for one in many]))]
        begin = time.perf_counter()
        cluster = model.cluster(test.embeddings, tau)
        took = {"fit_seconds": fit, "cluster_seconds": time.perf_counter() - begin}
        rows.append({"method": "Hi-LANDER", "tau": tau} | scores(test, cluster) | took)
        tried = [bcubed_f(cal.codes, dbscan(cal.embeddings, *setting)).f for setting in GRID]
        eps, size = GRID[int(np.argmax(tried))]
        begin = time.perf_counter()
        cluster = dbscan(test.embeddings, eps, size)
        took = {"cluster_seconds": time.perf_counter() - begin}
        setting = {"method": "DBSCAN", "eps": eps, "min_samples": size}
        rows.append(setting | scores(test, cluster) | took)
    return rows


def bare_product(X: NDArray[np.float32]) -> None:
    """Multiply the tiles of the upper triangle and throw the products away."""

    def row(r: int) -> None:
        buffer = np.empty((PANEL, PANEL), np.float32)
        for c in range(r, len(X), PANEL):
            a, b = X[r : r + PANEL], X[c : c + PANEL]
            np.matmul(a, b.T, out=buffer[: len(a), : len(b)])

    with one_blas_thread(), ThreadPoolExecutor(cores()) as pool:
        list(pool.map(row, range(0, len(X), PANEL)))


def peak_memory(n: int, arrays: dict[str, NDArray[Any]], pipe: Any) -> None:
    """Send the peak memory of this process in MB, after clustering n vectors in it."""
    Lander.from_arrays(arrays).cluster(made(n).embeddings, TAU, progress=False)
    pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def memory(n: int, arrays: dict[str, NDArray[Any]]) -> float:
    """Measure `peak_memory` in a fresh process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=peak_memory, args=(n, arrays, there))
    child.start()
    result = float(here.recv())
    child.join()
    return result


def measure(n: int, model: Lander, repeats: int) -> dict[str, float]:
    """Return the times of one n."""
    X = made(n).embeddings
    knn(X[:64], 2)  # compiles
    bare, search = [], []
    for _ in range(repeats):
        bare.append(seconds(lambda: bare_product(X)))
        search.append(seconds(lambda: knn(X, 10)))
    return {
        "n": n,
        "bare_seconds": min(bare),
        "knn_seconds": min(search),
        "knn_ratio": min(search) / min(bare),
        "cluster_seconds": seconds(lambda: model.cluster(X, TAU)),
        "memory_mb": memory(n, model.to_arrays()),
    }


def quality_table(name: str, rows: list[dict[str, Any]]) -> Table:
    """Show the mean over the splits of every method."""
    table = Table("method", title=f"{name}: mean of {len(rows) // 2} class splits")
    columns = (*COLUMNS, "clusters", "fit_seconds", "cluster_seconds")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="right")
    for method in ("Hi-LANDER", "DBSCAN"):
        own = [row for row in rows if row["method"] == method]
        means = [np.mean([row[c] for row in own]) if c in own[0] else np.nan for c in columns]
        table.add_row(
            method, *("-" if np.isnan(v) else f"{v:.3f}" if v < 1 else f"{v:.1f}" for v in means)
        )
    return table


def time_table(rows: list[dict[str, float]]) -> Table:
    """Show times against n."""
    table = Table(title=f"Clustering, D = 128, k = 10, {cores()} threads")
    for column in ("n", "bare product", "10 nearest", "ratio", "clustering", "peak memory"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            f"{row['n']:,}",
            f"{row['bare_seconds']:.2f} s",
            f"{row['knn_seconds']:.2f} s",
            f"{row['knn_ratio']:.2f} x",
            f"{row['cluster_seconds']:.2f} s",
            f"{row['memory_mb']:.0f} MB",
        )
    return table


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the packs")
    parser.add_argument("--sets", nargs="+", default=["cub", "cars"])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--n", type=int, nargs="*", default=[5000, 10_000, 20_000, 50_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/hilander.json"))
    given = parser.parse_args()

    console = Console(width=130)
    quality = {}
    for name, train, rest in data_sets(given.data, given.sets):
        quality[name] = judge(train, rest, given.splits)
        console.print(quality_table(name, quality[name]))
    small = made(5000, seed=1)
    model = Lander(rounds=30).fit(small.embeddings, small.codes)
    times = [measure(n, model, given.repeats) for n in given.n]
    console.print(time_table(times))
    machine = {"cpu": platform.machine(), "cores": cores(), "python": platform.python_version()}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    result = {"quality": quality, "times": times, "machine": machine}
    given.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
