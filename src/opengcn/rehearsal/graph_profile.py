"""What a graph of unlabelled embeddings shows: distances to neighbours, shared neighbours.

Distances are relative to the mean distance of the graph: on shifted sets relative profiles
keep their meaning, absolute ones do not. The cost is linear in the number of nodes, since
only `ANCHORS` nodes and their five neighbours are looked at from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.nearest import RUN, nearest

__all__ = [
    "SHARED",
    "Described",
    "GraphProfile",
    "Ordered",
    "distances",
    "profile_graph",
    "reach_of",
]

ANCHORS = 256
NEIGHBOURS = 5  # whose own profiles are averaged: one round of message passing
RANKS = np.array([1, 2, 3, 5, 8, 12, 20])
SHARES = np.array(
    [0.001, 0.002, 0.004, 0.008, 0.012, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.32, 0.5, 0.8]
)
SHARED = 2 * (len(RANKS) + len(SHARES) + 2) + 2  # place of the share of neighbours in common
NEAR = 128  # neighbours of a node that are put in order; farther ones are sampled
AT_ONCE = 64  # nodes whose distances to all others fit into the cache

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class GraphProfile:
    """Label-free description of a graph.

    Attributes
    ----------
    statistics : ndarray of shape (F,)
        Pooled over the anchors.
    mean_distance : float
        Of all pairs.
    pair_distances : ndarray of shape (a, n)
        From the anchors to all nodes; -1 from an anchor to itself.
    """

    statistics: Floats
    mean_distance: float
    pair_distances: Floats


def distances(A: Floats, B: Floats) -> Floats:
    """Return the distances of unit vectors.

    Parameters
    ----------
    A, B : ndarray of shape (a, D), (b, D)
        Unit vectors.

    Returns
    -------
    d : ndarray of shape (a, b)
        Distances.
    """
    squared: Floats = A @ B.T
    squared *= -2
    squared += 2
    np.maximum(squared, 0, out=squared)
    np.sqrt(squared, out=squared)
    return squared


class Ordered:
    """Distances from nodes to others, in order: the nearest of all, the rest of a sample.

    Parameters
    ----------
    d : ndarray of shape (r, n)
        Distances; with `itself`, -1 from a node to itself.
    itself : bool
        Whether the nodes are among the others; then they do not count.

    Attributes
    ----------
    near : ndarray of shape (r, k)
        The 128 smallest distances, ascending, each right up to a factor of 1 +- 2 ** -12.
    at : ndarray of shape (r, k)
        To which others.
    """

    def __init__(self, d: Floats, *, itself: bool) -> None:
        n, skip = d.shape[1], int(itself)
        self._others = n - skip
        near, at = nearest(d, min(NEAR + skip, n))
        self.near, self.at = near[:, skip:], at[:, skip:]
        self._sample: Floats | None = None
        if self._others > NEAR:
            sample = np.array(d[:, :: -(-n // RUN)])
            sample[sample < 0] = np.inf
            sample.sort(axis=1)
            self._sample = sample

    def profile(self) -> Floats:
        """Return the distances (r, 21) at `RANKS` and at `SHARES` of the others."""
        ranks = np.concatenate([RANKS, (SHARES * self._others).round().astype(int)])
        at = ranks.clip(1, self._others) - 1
        if self._sample is None:
            return self.near[:, at]
        near = at < NEAR
        size = self._sample.shape[1]
        far = ((at[~near] + 0.5) / self._others * size).astype(int)
        return np.concatenate([self.near[:, at[near]], self._sample[:, far]], 1)


class Described:
    """Nodes of a graph as they see the others, each worked out once however often it is asked.

    Anchors have neighbours in common, and are neighbours of each other.

    Parameters
    ----------
    nodes : ndarray of shape (n, D)
        Unit vectors, 8 <= n <= 4,096. Classes must not take turns in them: of nodes far away,
        every eighth or so is looked at.

    Attributes
    ----------
    nodes : ndarray of shape (n, D)
        The same.
    reach : int
        How many neighbours of a node are kept.
    """

    def __init__(self, nodes: Floats) -> None:
        n = len(nodes)
        self.nodes = nodes
        self.reach = reach_of(n)
        self._known = np.zeros(n, bool)
        self._profile = np.empty((n, len(RANKS) + len(SHARES) + 2), np.float32)
        self._near = np.empty((n, self.reach), np.int32)

    def of(self, rows: NDArray[Any]) -> tuple[Floats, NDArray[np.int32]]:
        """Describe some nodes.

        Parameters
        ----------
        rows : ndarray of shape (r,)
            Which.

        Returns
        -------
        profile : ndarray of shape (r, 23)
            Distances at fixed ranks and shares, their mean and spread.
        near : ndarray of shape (r, reach)
            Nearest neighbours, the nearest first.
        """
        new = np.unique(rows[~self._known[rows]])
        for start in range(0, len(new), AT_ONCE):
            part = new[start : start + AT_ONCE]
            self.take(part, _from(self.nodes, part))
        return self._profile[rows], self._near[rows]

    def take(self, rows: NDArray[Any], d: Floats) -> None:
        """Describe nodes whose distances (r, n) to all others are at hand."""
        for start in range(0, len(rows), AT_ONCE):
            part = rows[start : start + AT_ONCE]
            described = _describe(d[start : start + AT_ONCE], self.reach)
            self._profile[part], self._near[part] = described
        self._known[rows] = True

    def scattered(self, rows: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Return what the graph would show at ranks and shares (21,) had it no classes.

        Each node keeps how far it is from the centre along each principal axis, and is
        thrown to either side at random. So spread, dimension and outliers stay, and groups
        are gone: nearer neighbours than these show are the work of groups.

        Parameters
        ----------
        rows : ndarray of shape (r,)
            From which nodes to look.
        rng : Generator
            Throws.

        Returns
        -------
        profile : ndarray of shape (21,)
            Mean over the nodes, relative to the mean distance.
        """
        d = _from(_thrown(self.nodes, self.axes, rng), rows)
        return np.asarray(Ordered(d, itself=True).profile().mean(0) / np.float32(_mean(d)))

    @cached_property
    def variance(self) -> NDArray[Any]:
        """Variances along the principal axes, ascending; D is no larger than `ANCHORS`."""
        return np.maximum(self._principal[0], 0)

    @cached_property
    def axes(self) -> Floats:
        """Principal axes (D, a) in columns, those of some nodes if D is larger than `ANCHORS`."""
        if self.nodes.shape[1] <= ANCHORS:
            return self._principal[1]
        some = np.linspace(0, len(self.nodes) - 1, min(len(self.nodes), ANCHORS)).astype(int)
        centred = self.nodes[some] - self.nodes.mean(0)
        return np.asarray(np.linalg.svd(centred, full_matrices=False)[2].T, np.float32)

    @cached_property
    def _principal(self) -> tuple[Floats, Floats]:
        centred = self.nodes - self.nodes.mean(0)
        variance, axes = np.linalg.eigh(centred.T @ centred / np.float32(len(centred)))
        return variance, axes


def reach_of(nodes: int) -> int:
    """Return how many neighbours of a node are kept: 2 % of the graph, from 20 to 80.

    Parameters
    ----------
    nodes : int
        Of the graph.

    Returns
    -------
    reach : int
        At most all others.
    """
    return min(max(20, min(80, round(0.02 * nodes))), nodes - 1)


def profile_graph(
    nodes: Floats, rng: np.random.Generator, *, looking: int | None = None
) -> GraphProfile:
    """Describe a graph.

    Parameters
    ----------
    nodes : ndarray of shape (n, D)
        Unit vectors, 8 <= n <= 4,096, in random order, or class by class as rehearsals are.
    rng : Generator
        Chooses the anchors.
    looking : int or None, default None
        From how many of the nodes, the first ones, it may be looked; None for all.

    Returns
    -------
    profile : GraphProfile
        Equal for equal graphs and generators.
    """
    described = Described(nodes)
    k = described.reach
    n = len(nodes)
    anchors = rng.permutation(n if looking is None else looking)[:ANCHORS]
    d = _from(nodes, anchors)
    mean = _mean(d)
    described.take(anchors, d)
    own, near = described.of(anchors)
    theirs, their_near = described.of(near[:, :NEIGHBOURS].ravel())
    own, theirs = own / np.float32(mean), theirs / np.float32(mean)
    around = theirs.reshape(len(anchors), -1, theirs.shape[1]).mean(1)
    overlap = _overlap(anchors, near, their_near.reshape(len(anchors), -1, k), n, k)
    by_node = np.concatenate([own, around, overlap], 1)
    some = anchors if looking is None else rng.permutation(n)[:ANCHORS]
    few = nodes.shape[1] <= len(some)
    variance = described.variance if few else _spectrum(nodes[some])
    total = max(float(variance.sum()), 1e-12)
    top = np.zeros(3)
    top[-min(3, len(variance)) :] = variance[-3:] / total
    at_ranks = own[:, : len(RANKS) + len(SHARES)].mean(0)
    scattered = described.scattered(anchors, rng)
    grouped = np.log(np.maximum(at_ranks, 1e-3) / np.maximum(scattered, 1e-3))
    statistics = np.concatenate(
        [
            by_node.mean(0),
            overlap.std(0),
            np.quantile(overlap[:, :3], [0.1, 0.9], axis=0).ravel(),
            [mean, np.log(total**2 / max(float((variance**2).sum()), 1e-12))],
            top,
            [np.log(n)],
            grouped,
        ]
    ).astype(np.float32)
    return GraphProfile(statistics, mean, d)


def _mean(d: Floats) -> float:
    """Return the mean of distances, each row with one of -1, from a node to itself."""
    return max(float(d.sum() + len(d)) / (d.size - len(d)), 1e-6)  # all rows may be the same


def _spectrum(rows: Floats) -> NDArray[Any]:
    """Return the variances along principal axes, ascending, of fewer rows than dimensions."""
    centred = rows - rows.mean(0)
    return np.maximum(np.linalg.eigvalsh(centred @ centred.T / len(rows)), 0)


def _from(nodes: Floats, rows: NDArray[Any]) -> Floats:
    d = distances(nodes[rows], nodes)
    d[np.arange(len(rows)), rows] = -1  # a node comes first in its own row, before duplicates
    return d


def _thrown(nodes: Floats, axes: Floats, rng: np.random.Generator) -> Floats:
    """Return unit vectors with each coordinate about the centre mirrored, or not, at random."""
    centre = nodes.mean(0)
    centred = nodes - centre
    along = centred @ axes
    thrown = (along * _signs(along.shape, rng)) @ axes.T
    if axes.shape[1] < len(axes):  # beyond these axes, along the coordinates as they are
        beside = centred - along @ axes.T
        thrown += beside * _signs(beside.shape, rng)
    thrown += centre
    thrown /= np.maximum(np.linalg.norm(thrown, axis=1, keepdims=True), 1e-12)
    return np.asarray(thrown, np.float32)


def _signs(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return rng.integers(2, size=shape, dtype=np.int8) * np.float32(2) - 1


def _describe(d: Floats, k: int) -> tuple[Floats, NDArray[np.int32]]:
    """Return profiles (r, 23) of nodes, and their k nearest neighbours (r, k), from distances."""
    ordered, others = Ordered(d, itself=True), d.shape[1] - 1
    mean = (d.sum(1) + 1) / others  # a node is at -1 from itself
    square = (np.einsum("ij,ij->i", d, d) - 1) / others
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    return np.column_stack([ordered.profile(), mean, spread]), ordered.at[:, :k]


def _overlap(
    anchors: NDArray[Any], near: NDArray[Any], theirs: NDArray[Any], n: int, k: int
) -> Floats:
    """Return how far anchors and their neighbours share neighbours (a, 6).

    Shared among the nearest 5, 20 and 2 % of the graph; with the first neighbour alone
    among 20; how often a neighbour has the anchor among its own 5 and 20.
    """
    shared = []
    for size in (5, 20, k):
        member = np.zeros((len(anchors), n), bool)
        np.put_along_axis(member, near[:, :size], True, axis=1)
        member[np.arange(len(anchors)), anchors] = True
        hit = np.take_along_axis(member, theirs[:, :, :size].reshape(len(anchors), -1), 1)
        shared.append(hit.reshape(len(anchors), theirs.shape[1], -1).mean(2))
    back = [(theirs[:, :, :size] == anchors[:, None, None]).any(2).mean(1) for size in (5, 20)]
    columns = [*(s.mean(1) for s in shared), shared[1][:, 0], *back]
    return np.stack(columns, 1).astype(np.float32)
