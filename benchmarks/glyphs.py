"""Time the data sets that are made on the spot, and show how open-world the glyphs are.

python benchmarks/glyphs.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import opengcn as og
from opengcn.pairs import GRID, count_pairs


def seconds(job: Callable[[], object]) -> str:
    """Return how long a job takes, as text."""
    begin = time.perf_counter()
    job()
    return f"{time.perf_counter() - begin:.2f} s"


def describe(data: og.EmbeddingSet) -> tuple[str, str, str, str]:
    """Return rows, mean same-class and different-class distance, and recall at 1."""
    pairs = count_pairs(data, data.codes)
    middle = GRID + 0.005
    same, different = (float(h @ middle / h.sum()) for h in (pairs.same, pairs.different))
    similarity = data.embeddings @ data.embeddings.T
    np.fill_diagonal(similarity, -1)
    recall = float((data.codes[similarity.argmax(axis=1)] == data.codes).mean())
    return f"{len(data):,}", f"{same:.3f}", f"{different:.3f}", f"{recall:.1%}"


def main() -> None:
    """Run the benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        times = {
            "glyphs, from nothing": seconds(lambda: og.datasets.glyphs(cache=cache)),
            "glyphs, kept": seconds(lambda: og.datasets.glyphs(cache=cache)),
            "glyphs, another blur": seconds(lambda: og.datasets.glyphs(blur=1.5, cache=cache)),
            "synthetic, 100,000 x 128": seconds(lambda: og.datasets.synthetic(1000, 100, 128)),
        }
        split = og.datasets.glyphs(cache=cache)
        blurred = og.datasets.glyphs(blur=1.5, cache=cache)
    clock = Table("data set", "time", title="Making data")
    for name, took in times.items():
        clock.add_row(name, took)
    headings = ("part", "images", "same-class distance", "other distance", "recall at 1")
    parts = Table(*headings, title="Glyphs, seed 0")
    for name, part in (
        ("train", split.train),
        ("cal", split.cal),
        ("test", split.test),
        ("test, blurred", blurred.test),
    ):
        parts.add_row(name, *describe(part))
    console = Console(width=100)
    console.print(clock)
    console.print(parts)


if __name__ == "__main__":
    main()
