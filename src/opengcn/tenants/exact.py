"""The exact curve of a large labelled set: its pairs, counted by the workers of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import OpenGCNError
from opengcn.pairs import PairHistogram, Strip, by_class, count_strip, strips
from opengcn.progress import progress_bar
from opengcn.tenants.engine import EngineName, Failure, open_engine

__all__ = ["count_pairs_on", "exact_curve_on"]

STRIPS = 64  # of a task: 134 million pairs, about a second


class Ordered(NamedTuple):
    """Unit vectors in the order of their classes, of shape (n, D), and where classes end."""

    vectors: NDArray[np.float32]
    stop: NDArray[np.intp]


def exact_curve_on(
    data: EmbeddingSet,
    engine: EngineName = "local",
    *,
    workers: int | None = None,
    address: str | None = None,
    progress: bool = True,
) -> OperatingCurve:
    """Return `OperatingCurve.from_labels(data)`, computed by an engine.

    Parameters
    ----------
    data : EmbeddingSet
        A labelled set of n rows. Its vectors are held in memory once a machine.
    engine, workers, address, progress
        As for `count_pairs_on`.

    Returns
    -------
    curve : OperatingCurve
        The exact curve.
    """
    pairs = count_pairs_on(data, engine, workers=workers, address=address, progress=progress)
    return OperatingCurve.from_histogram(pairs, source="exact")


def count_pairs_on(
    data: EmbeddingSet,
    engine: EngineName = "local",
    *,
    workers: int | None = None,
    address: str | None = None,
    progress: bool = True,
) -> PairHistogram:
    """Count every pair i < j of a labelled set by distance, as `opengcn.pairs.count_pairs` does.

    Parameters
    ----------
    data : EmbeddingSet
        A labelled set of n rows.
    engine : {"local", "ray"}, default "local"
        Processes of this machine, or tasks of a Ray cluster.
    workers : int, optional
        Tasks at a time; by default one a core.
    address : str, optional
        Of a running Ray cluster.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    histogram : PairHistogram
        The same int64 counts as on one core, on machines with the same kind of processor.
    """
    order, stop = by_class(data.codes)
    ordered = Ordered(np.ascontiguousarray(data.take(order)), stop)
    tasks = list(_tasks(len(data)))
    runner = open_engine(engine, workers=workers, address=address)
    total = np.zeros((2, 201), np.int64)
    with progress_bar("Counting pairs", len(tasks), show=progress) as advance:
        for task, counts in runner.run(_count, ordered, tasks):
            if isinstance(counts, Failure):
                raise OpenGCNError(
                    f"{data.source}: expected the pairs of rows from {task[0].row} on to be "
                    f"counted, received a failure: {counts.reason}"
                )
            total += counts
            advance(1)
    return PairHistogram(*total)


def _tasks(n: int) -> Iterator[list[Strip]]:
    whole = strips(n)
    for begin in range(0, len(whole), STRIPS):
        yield whole[begin : begin + STRIPS]


def _count(ordered: Ordered, task: list[Strip]) -> NDArray[np.int64]:
    """Return the counts of some strips, of shape (2, 201)."""
    counts = np.zeros((2, 201), np.int64)
    for strip in task:
        counts += count_strip(lambda i, j: ordered.vectors[i:j], ordered.stop, strip)
    return counts
