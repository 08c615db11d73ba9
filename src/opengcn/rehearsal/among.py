"""D_cal's rows among the nodes of a graph, each with its class mates.

Where nothing has shifted, a row of D_cal with its class mates sees what every node sees: its own
class, and a crowd of strangers. What tells the two apart is known for D_cal. So how much nearer
neighbours are to nodes than to such rows shows how much tighter the classes of the graph are, and
how many strangers come between class mates shows how far nearness can be believed at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.graph_profile import RANKS, SHARES, distances

__all__ = ["FEATURES", "NEVER", "see_among", "to_mates"]

AT_LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])  # of a row's class mates
FEATURES = 2 * len(RANKS) + len(SHARES) + len(AT_LEVELS) + 1
NEVER = 9.0  # a distance beyond all others
LEAST = 1e-3  # distance that still counts: logarithms of 0 do not exist

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def see_among(
    rows: Floats, labels: Ints, chosen: Ints, crossing: Floats, profile: Floats, mean: float
) -> Floats:
    """Look at a graph from rows of D_cal that are put into it with their class mates.

    Parameters
    ----------
    rows : ndarray of shape (m, D)
        Unit vectors of D_cal.
    labels : ndarray of shape (m,)
        Their classes.
    chosen : ndarray of shape (r,)
        From which rows to look; those without class mates do not count.
    crossing : ndarray of shape (r, n)
        Their distances to the nodes.
    profile : ndarray of shape (21,)
        What nodes see at `RANKS` and at `SHARES` of the others, over the mean distance.
    mean : float
        Mean distance of the graph.

    Returns
    -------
    features : ndarray of shape (34,)
        How much farther than in `profile` neighbours are; how many of those within each of
        `RANKS` are class mates; the share of nodes nearer than class mates at `AT_LEVELS`;
        how many class mates there are. Not numbers when there are none.
    """
    mates = np.bincount(labels)[labels[chosen]] - 1
    some = mates > 0
    if not some.any():
        return np.full(FEATURES, np.nan, np.float32)
    chosen, crossing, mates = chosen[some], crossing[some], mates[some]
    own = to_mates(rows, labels, chosen)
    everything = np.concatenate([own, crossing], axis=1)
    everything.sort(axis=1)
    n = crossing.shape[1]
    at_shares = (SHARES * (n + mates[:, None])).round().astype(int)
    ranks = np.concatenate([np.broadcast_to(RANKS, (len(chosen), len(RANKS))), at_shares], 1)
    seen = np.take_along_axis(everything, ranks.clip(1, n) - 1, axis=1)
    farther = np.log(np.maximum(seen.mean(0) / mean, LEAST) / np.maximum(profile, LEAST))
    found = [
        (np.minimum((own <= seen[:, [k]]).sum(1), rank) / np.minimum(rank, mates)).mean()
        for k, rank in enumerate(RANKS)
    ]
    at = np.ceil(AT_LEVELS * mates[:, None]).astype(int) - 1
    nearer = [
        (crossing < far[:, None]).sum(1).mean() for far in np.take_along_axis(own, at, axis=1).T
    ]
    strangers = np.log((np.array(nearer) + 0.5) / n)
    parts = [farther, found, strangers, [np.log(mates.mean() / n)]]
    return np.concatenate(parts).astype(np.float32)


def to_mates(rows: Floats, labels: Ints, chosen: Ints) -> Floats:
    """Return the distances of rows to their class mates.

    Parameters
    ----------
    rows : ndarray of shape (m, D)
        Unit vectors.
    labels : ndarray of shape (m,)
        Their classes.
    chosen : ndarray of shape (r,)
        From which rows.

    Returns
    -------
    d : ndarray of shape (r, k)
        Ascending; k is the largest number of class mates, and `NEVER` stands for those that
        others have more.
    """
    d = distances(rows[chosen], rows)
    d[labels[chosen, None] != labels] = NEVER
    d[np.arange(len(chosen)), chosen] = NEVER
    d.sort(axis=1)
    return d[:, : int(np.bincount(labels)[labels[chosen]].max()) - 1]
