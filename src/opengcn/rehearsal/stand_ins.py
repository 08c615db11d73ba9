"""D_cal's rows in the place of nodes: what a graph would show if its classes were D_cal's.

Of such a graph the answer is known: its same-class distances are D_cal's. Where nothing has
shifted, its strangers are those of the set, which no rehearsal can be sure to be like. So what
is read of it beyond that answer is, for the most part, what is wrong with readings here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.examples import View, view
from opengcn.rehearsal.graph_profile import profile_graph
from opengcn.rehearsal.reference import Reference

__all__ = ["see_stand_ins"]

MOST = 0.5  # of the graph that are D_cal's rows
FEWEST = 32  # of D_cal's rows that tell anything
LEAST = 0.25  # of the graph that is left where D_cal's classes are smaller than the set's

Floats = NDArray[np.float32]


def see_stand_ins(
    nodes: Floats, reference: Reference, log_prior: float, rng: np.random.Generator
) -> View | None:
    """Look at a graph from D_cal's rows, with as many class mates as nodes have, in their place.

    Parameters
    ----------
    nodes : ndarray of shape (n, D)
        Unit vectors, in random order.
    reference : Reference
        D_cal.
    log_prior : float
        Logarithm of the share of same-class pairs.
    rng : Generator
        Chooses rows.

    Returns
    -------
    seen : View or None
        None where D_cal has too few rows, or too few of a class.
    """
    graph = _graph(len(nodes), reference.labels, np.exp(log_prior) * (len(nodes) - 1), rng)
    if graph is None:
        return None
    rows, n = graph
    stand_ins = np.concatenate([reference.rows[rows], nodes[: n - len(rows)]])
    profile = profile_graph(stand_ins, rng, looking=len(rows))
    return view(nodes[:n], profile, reference, rng)  # as many nodes as the graph has


def _graph(
    nodes: int, labels: NDArray[np.int64], mates: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], int] | None:
    """Return which of D_cal's rows are in the graph, in random order, and how large it is."""
    size = np.bincount(labels)
    part = mates / max(float((size * (size - 1)).sum() / size.sum()), 1e-9)
    n = nodes if part <= 1 else int(nodes / part)  # fewer nodes have fewer mates
    kept = rng.permutation(np.flatnonzero(rng.random(len(labels)) < part))
    # Whole classes, so that rows keep their mates.
    classes = rng.permutation(len(size))
    count = np.bincount(labels[kept], minlength=len(size))[classes]
    kept = kept[np.isin(labels[kept], classes[np.cumsum(count) <= MOST * n])]
    if n < LEAST * nodes or len(kept) < FEWEST:
        return None
    return kept, n
